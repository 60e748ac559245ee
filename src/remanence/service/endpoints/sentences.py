"""What a ledger entry says, and what it would change, in sentences: for the list of decisions, and before one is made.

A preview is made of the events that would be written, so that it and the list of decisions say the same. Everything
here needs the lock of the index.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np

from remanence.events import (
    Erased,
    Event,
    Forgotten,
    Invalidated,
    Linked,
    Merged,
    Remembered,
    Renamed,
    Restored,
    Split,
    Undone,
)
from remanence.graph.graph_at_time import KnownEntities
from remanence.index.index import Index
from remanence.index.numbers import MemoryNumber, Position
from remanence.recall.validity.superseded import unsuperseded_mask
from remanence.remember.forget import with_derived
from remanence.schema import Link, Memory, Relation, Triple, format_moment
from remanence.text.text import pluralize, truncate

_MAX_TEXT = 120
_MAX_SHOWN, _MAX_EFFECTS = 5, 20
_TITLES: dict[type, str] = {Forgotten: "Forget", Restored: "Restore", Erased: "Erase", Remembered: "Correct"}
_VERBS = {"supersedes": "replaces", "contradicts": "contradicts"}
_FIELDS = {"kind": "Kind", "importance": "Importance", "strength": "Strength", "tags": "Tags", "expires_at": "Expires"}


def quote(text: str) -> str:
    """The beginning of a text in quotation marks."""
    return f"“{truncate(text, _MAX_TEXT)}”"


def statement(claim: Relation | Triple) -> str:
    """A claim as a sentence.

    >>> statement(Triple("Ana", "lives_in", "Porto"))
    'Ana lives in Porto'
    """
    words = f"{claim.subject} {claim.predicate.replace('_', ' ')} {claim.object}"
    return f"{words} ({claim.valid})" if isinstance(claim, Relation) and claim.valid.has_bound else words


@dataclass(frozen=True, slots=True)
class DecisionPreview:
    """The title of a change, and its effects in sentences."""

    title: str
    effects: tuple[str, ...]


def preview_of(index: Index, now: datetime, events: Sequence[Event]) -> DecisionPreview:
    """What writing some events of one kind would change."""
    sentences = Sentences(index, now)
    effects = dict.fromkeys(effect for event in events for effect in sentences.effects(event))
    nothing = "Nothing is different, so nothing changes."
    return DecisionPreview(sentences.title(events), tuple(effects)[:_MAX_EFFECTS] or (nothing,))


class Sentences:
    """Sentences about the entries of a space, as of a moment."""

    def __init__(self, index: Index, now: datetime) -> None:
        self._index = index
        self._snapshot = index.snapshot(index.catalog.position, now)

    def says(self, event: Event, position: Position) -> str:
        """What an entry at a position says; of a decision about a memory, an entity or a link."""
        if isinstance(event, Forgotten | Restored):
            return f"{self.quote(event.memory)} was {'restored' if isinstance(event, Restored) else 'forgotten'}"
        if isinstance(event, Linked):
            return f"{self.quote(event.source)} {_VERBS[event.kind]} {self.quote(event.target)}"
        if isinstance(event, Invalidated):
            link = self.link(event.edge)
            if link is None:
                return "A relation was ended"
            return f"No longer: {self.quote(link.source)} {_VERBS.get(link.kind, link.kind)} {self.quote(link.target)}"
        if isinstance(event, Undone):
            undone = self._index.entries_at([event.position]).get(event.position)
            if undone is None or not isinstance(undone.event, Merged | Split | Renamed):
                return "Undone: a change of an entity"
            return f"Undone: {self.says(undone.event, undone.position)}"
        assert isinstance(event, Merged | Split | Renamed), "this is the last kind of decision"
        before = self.name(event.entity, Position(position - 1))
        if isinstance(event, Renamed):
            return f"{before} was renamed to {event.name}"
        if isinstance(event, Merged):
            return f"{before} was merged into {self.name(event.into, position)}"
        return f"{', '.join(event.names)} was split off from {before}"

    def title(self, events: Sequence[Event]) -> str:
        """What is done by writing some events of one kind."""
        event, position = events[0], self._snapshot.position
        if isinstance(event, Merged):
            return f"Merge {self.name(event.entity, position)} into {self.name(event.into, position)}"
        if isinstance(event, Split):
            return f"Split {_quoted(event.names)} off {self.name(event.entity, position)}"
        if isinstance(event, Linked):
            return self.says(event, position)
        assert isinstance(event, Forgotten | Restored | Erased | Remembered), "no other event has a preview"
        if len(events) > 1:
            return f"{_TITLES[type(event)]} {pluralize(len(events), 'memory', 'memories')}"
        if isinstance(event, Remembered) and not self._versions(event.memory):
            return f"Add {quote(event.text)}"
        return f"{_TITLES[type(event)]} {self.quote(event.memory)}"

    def effects(self, event: Event) -> Iterator[str]:
        """What writing an event would change."""
        position = self._snapshot.position
        if isinstance(event, Forgotten):
            yield "No question about now finds it any more. Views of earlier days still show it."
            yield from self._effects_of_hiding(event.memory)
        elif isinstance(event, Restored):
            yield "Questions find it again, and upkeep lets it decay as before."
            claims = [triple for memory in self._versions(event.memory)[-1:] for triple in memory.triples]
            yield from (f"It states again: {statement(claim)}." for claim in claims[:_MAX_SHOWN])
        elif isinstance(event, Linked):
            yield f"Questions about now are answered by {self.quote(event.source)}."
            old = self.quote(event.target)
            yield f"{old} is kept, labelled as replaced. Questions about the past still find it."
        elif isinstance(event, Merged):
            [entity] = filter(None, [KnownEntities(self._index, position).get(event.entity)])
            verb = "becomes a name" if len(entity.names) == 1 else "become names"
            yield f"{_quoted(entity.names)} {verb} of {self.name(event.into, position)}."
            yield "Views of earlier days still show two."
        elif isinstance(event, Split):
            yield f"A new entity is called {_quoted(event.names)}."
            yield "Views of earlier days still show one."
        elif isinstance(event, Remembered):
            yield from self._effects_of_version(event)
        elif isinstance(event, Erased):
            yield from self._effects_of_erasing(event.memory)

    def _effects_of_hiding(self, memory_id: str) -> Iterator[str]:
        index, snapshot = self._index, self._snapshot
        claims = [claim for version in self._versions(memory_id) for claim in version.triples]
        numbers = [number for claim in claims if (number := index.names.number(claim.subject)) is not None]
        relations = (
            each for number in dict.fromkeys(numbers) for each in index.relations.relations_of(number, snapshot)
        )
        lost = {relation.id: relation for relation in relations if set(relation.evidence) == {memory_id}}
        for relation in list(lost.values())[:_MAX_SHOWN]:
            yield f"No longer known, as nothing else states it: {statement(relation)}."
        rows = np.zeros(len(index.catalog), np.bool_)
        rows[index.catalog.rows_of(index.require_unerased(memory_id))] = True
        without = index.without_rows(rows)
        after = without.snapshot(snapshot.position, snapshot.now)
        others = np.flatnonzero(after.row_mask & ~rows)
        others = others[~unsuperseded_mask(index, others, snapshot)]
        revived = others[unsuperseded_mask(without, others, after)].tolist()[:_MAX_SHOWN]
        yield from (f"Holds again: {quote(memory.text)}." for memory in index.memories(revived))

    def _effects_of_version(self, version: Remembered) -> Iterator[str]:
        """What differs from the version before, and what the text states."""
        before = next(iter(self._versions(version.memory)[-1:]), None)
        if before is None:
            yield "It is kept as it is written."
        elif version.text != before.text:
            yield f"The text becomes {quote(version.text)}"
        for name, label in _FIELDS.items() if before is not None else ():
            old, new = getattr(before, name), getattr(version, name)
            if old != new:
                yield f"{label}: {_value(old)} becomes {_value(new)}."
        if version.valid.has_bound and (before is None or version.valid != before.valid):
            yield f"It is true {version.valid}."
        stated = () if before is None else before.triples
        claims = [claim for claim in version.triples if claim not in stated]
        yield from (f"It states: {statement(claim)}." for claim in claims[:_MAX_SHOWN])

    def _effects_of_erasing(self, memory_id: str) -> Iterator[str]:
        journal = self._index.journal
        yield "The text is removed for good, from the past and from every file. This cannot be undone."
        number = self._index.require_unerased(memory_id)
        if facts := with_derived(self._index, [number])[1:]:
            yield f"{pluralize(len(facts), 'fact')} found in it alone would go with it."
        if recalls := journal.recall_positions.get(memory_id):
            yield f"{pluralize(len(recalls), 'record')} of what agents were told would go with it."

    def is_last_change(self, event: Forgotten | Restored, position: Position) -> bool:
        """Whether nothing has hidden, shown or erased the memory since."""
        number = self._number(event.memory)
        return number is not None and self._index.catalog.hidden.changes_of(number)[-1:] == [position]

    def link(self, link_id: str) -> Link | None:
        return self._index.links.get(link_id, self._snapshot)

    def is_active(self, link_id: str) -> bool:
        """Whether a link holds."""
        link = self.link(link_id)
        return link is not None and self._snapshot.now in link.valid

    def name(self, entity_id: str, position: Position) -> str:
        entity = KnownEntities(self._index, position).get(entity_id)
        return entity_id if entity is None else entity.name

    def quote(self, memory_id: str) -> str:
        """The text of a memory in its last version, in quotes."""
        versions = self._versions(memory_id)
        return quote(versions[-1].text) if versions else "a memory that was erased"

    def _versions(self, memory_id: str) -> Sequence[Memory]:
        number = self._number(memory_id)
        return [] if number is None else self._index.readable_memories(self._index.catalog.rows_of(number))

    def _number(self, memory_id: str) -> MemoryNumber | None:
        """The number of a memory, if it is not erased."""
        number = self._index.catalog.number(memory_id)
        return None if number is None or self._index.catalog.hidden.is_erased(number) else number


def _quoted(names: Sequence[str]) -> str:
    return ", ".join(f"“{name}”" for name in names)


def _value(value: Any) -> str:
    if value is None or value == ():
        return "none"
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    return format_moment(value) if hasattr(value, "isoformat") else f"{value:g}" if isinstance(value, float) else value
