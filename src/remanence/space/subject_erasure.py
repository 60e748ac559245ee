"""Erasing everything about one person or thing: what would go and why, and what went.

All entries of the ledger are read, of every version and of what is forgotten, since a name may be in a text, a source,
a reason or a question. A memory that says only "she" is not found.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, fields, is_dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from remanence.errors import InvalidInput, NotFound
from remanence.events import Erased, Event, Linked, Merged, Registered, Related, Remembered, Renamed, Served, Split
from remanence.index.index import Index
from remanence.index.names.entity_registry import is_entity_id
from remanence.index.numbers import Row
from remanence.remember.forget import (
    Erasable,
    Erasure,
    erasable_memories,
    erase_together,
    positions_of_edges,
    with_derived,
)
from remanence.schema import SELF, Entry, ErasureCertificate
from remanence.space.certificates import certify
from remanence.space.facets.proposal_facet import proposals_space
from remanence.text.lexicon.word_lists import is_common_word
from remanence.text.text import normalize_name, pluralize, strip_accents, text_hash
from remanence.upkeep.plans import ResultTable, TableResult
from remanence.upkeep.runs import vault_space

if TYPE_CHECKING:
    from remanence.index.engine.engine import Engine

_ENTITY_EVENTS = (Registered, Renamed, Merged, Split)


@dataclass(frozen=True, slots=True)
class SubjectMemory:
    """A memory about a subject.

    Attributes:
        text: Its last text.
        why: Why it is about the subject.
    """

    id: str
    space: str
    text: str
    why: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SubjectErasure(TableResult):
    """What is erased about a person or a thing, or would be. It prints as a table.

    Attributes:
        names: All names that were searched for.
        memories: The memories, each with the reasons.
        relations: Relations and links that somebody stated, as text.
        recalls: How many recorded recalls go because their question names it. Those that returned one of the memories
            go too, and are counted by the certificate.
        entity_entries: How many entries that register its names go.
        others: Names of others that contain one of its names. Their memories go only if they say that name, too.
        stays: What names it and stays, such as the reason of a forgetting.
        certificate: What was erased; None before.
    """

    subject: str
    names: tuple[str, ...]
    memories: tuple[SubjectMemory, ...]
    relations: tuple[str, ...] = ()
    recalls: int = 0
    entity_entries: int = 0
    others: tuple[str, ...] = ()
    stays: tuple[str, ...] = ()
    certificate: ErasureCertificate | None = None

    def __len__(self) -> int:
        return len(self.memories)

    @property
    def table(self) -> ResultTable:
        """The memories with the reasons."""
        verb = "would be erased" if self.certificate is None else "erased"
        title = f"{pluralize(len(self.memories), 'memory', 'memories')} about {self.subject!r} {verb}"
        notes = [f"searched for: {', '.join(self.names)}"]
        notes += [f"relation: {relation}" for relation in self.relations]
        notes += [f"recorded recalls that ask about it: {self.recalls}"] if self.recalls else []
        notes += [f"entries that register its names: {self.entity_entries}"] if self.entity_entries else []
        notes += [f"others with such a name: {', '.join(self.others)}"] if self.others else []
        notes += [f"stays: {item}" for item in self.stays]
        notes += str(self.certificate).splitlines() if self.certificate else []
        rows = [(memory.id, memory.text, "; ".join(memory.why)) for memory in self.memories]
        return ResultTable(title, ("memory", "text", "why"), rows, notes)


def erase_about(
    engine: Engine, space: str, name_or_id: str, names: list[str], *, dry_run: bool, left_out: int
) -> SubjectErasure:
    """Erase everything about the entity with this name or id in these spaces; with `dry_run` only say what that is."""
    hidden = [each for name in names for each in (proposals_space(name), vault_space(name))]
    names = [*names, *(name for name in hidden if name not in names and engine.ledger.count(name))]
    found = {name: _find(engine, name, name_or_id) for name in names}
    subject = found[names[0]].subject
    memories = tuple(memory for name, entries in found.items() for memory in _memories(engine, name, entries))
    stays = [item for entries in found.values() for item in entries.stays()]
    stays += [f"{pluralize(left_out, 'space')} below this one were not searched"] if left_out else []
    certificate = None
    if not dry_run:
        certificate = certify(engine, space, names, lambda name: _erase(engine, name, name_or_id))
    return SubjectErasure(
        subject=subject.name,
        names=subject.names,
        memories=memories,
        relations=tuple(text for entries in found.values() for text in entries.edges.values()),
        recalls=sum(len(entries.recalls) for entries in found.values()),
        entity_entries=sum(len(some) for entries in found.values() for some in entries.entities.values()),
        others=subject.others,
        stays=tuple(stays),
        certificate=certificate,
    )


@dataclass(frozen=True, slots=True)
class _Subject:
    """Who or what is to be erased: the ids of its entities, its names, and what finds those in a text.

    `others` are the names of other entities that contain one of its names, as "my friend Sam" does "Sam".
    """

    name: str
    ids: frozenset[str]
    names: tuple[str, ...]
    others: tuple[str, ...]
    patterns: tuple[re.Pattern[str], ...]

    def is_named_by(self, index: Index, name: str | None) -> bool:
        """Whether a name is one of this entity."""
        number = None if name is None else index.names.number(name)
        return number is not None and index.registry.entity_of(number, index.catalog.position) in self.ids

    def is_in(self, value: Any) -> bool:
        """Whether a text in a value says one of the names."""
        return any(pattern.search(strip_accents(text)) for text in _texts(value) for pattern in self.patterns)


@dataclass(slots=True)
class _Found:
    """What a space has about a subject, up to a ledger position."""

    subject: _Subject
    position: int = 0
    reasons: dict[str, dict[str, None]] = field(default_factory=dict)
    """Why each memory is about it, by the id of the memory."""
    edges: dict[str, str] = field(default_factory=dict)
    """Relations and links that somebody stated, by their ids, as text."""
    recalls: dict[str, list[int]] = field(default_factory=dict)
    """The positions of recorded recalls whose question names it, by receipt."""
    entities: dict[str, list[int]] = field(default_factory=dict)
    """The positions of the entries that name it as an entity, by the id of the entity."""
    others: list[Entry] = field(default_factory=list)
    """Other entries that name it, such as the reason of a forgetting. They go only with what they are about."""

    def read(self, index: Index, entries: Iterable[Entry]) -> None:
        """Look at more entries. Needs the lock of the index."""
        for entry in entries:
            self.position = entry.position
            if entry.event is not None and not isinstance(entry.event, Erased):
                self._read(index, entry, entry.event)

    def _read(self, index: Index, entry: Entry, event: Event) -> None:
        subject = self.subject
        if isinstance(event, Remembered):
            if reasons := dict.fromkeys(_reasons(index, subject, event)):
                self.reasons.setdefault(event.memory, {}).update(reasons)
            return
        is_named = subject.is_in(event)
        if isinstance(event, Related):
            named = (event.subject, event.object, event.observed_by)
            if is_named or any(subject.is_named_by(index, name) for name in named):
                self.edges[event.relation] = f"{event.subject} {event.predicate} {event.object}"
        elif isinstance(event, _ENTITY_EVENTS):
            if is_named or event.entity in subject.ids:
                self.entities.setdefault(event.entity, []).append(entry.position)
        elif is_named and isinstance(event, Linked):
            self.edges[event.link] = f"{event.source} {event.kind} {event.target}: {event.why or ''}"
        elif is_named and isinstance(event, Served):
            self.recalls.setdefault(event.receipt, []).append(entry.position)
        elif is_named:
            self.others.append(entry)

    def stays(self) -> list[str]:
        """What names it and is not erased, in words."""
        gone = self.reasons.keys() | self.edges.keys() | self.entities.keys()
        kept = [entry for entry in self.others if entry.subject not in gone]
        return [f"entry {entry.position} ({entry.kind} {entry.subject}) names it" for entry in kept]


def _find(engine: Engine, space: str, name_or_id: str) -> _Found:
    """What a space has about the entity with this name or id."""
    with engine.open_index(space) as index:
        with index.lock:
            found = _Found(_subject(index, name_or_id))
        entries = engine.ledger.read(space)
        while batch := list(islice(entries, 500)):  # entries that are looked at while readers wait
            with index.lock:
                found.read(index, batch)
    return found


def _memories(engine: Engine, space: str, found: _Found) -> Iterator[SubjectMemory]:
    """The memories that go, the facts that were found only in them included."""
    with engine.open_index(space) as index, index.lock:
        chosen = [index.require_number(id_) for id_ in found.reasons]
        ids = [index.catalog.ids[number] for number in with_derived(index, chosen)]
        versions = [(id_, index.latest_version(id_)) for id_ in ids]
    for id_, version in versions:
        if version is not None:
            why = found.reasons.get(id_, ("a fact that was found only in these",))
            yield SubjectMemory(id_, space, version.text, tuple(why))


def _erase(engine: Engine, space: str, name_or_id: str) -> Erasure:
    """Delete what a space has about a subject in one transaction, also what was written since it was last read."""
    found = _find(engine, space, name_or_id)

    def decide(index: Index) -> Erasable:
        found.read(index, engine.ledger.read(space, after=found.position))
        memories = erasable_memories(index, map(index.require_number, found.reasons))
        edges = positions_of_edges(index, found.edges, engine.now())
        return memories._replace(positions_of={**memories.positions_of, **edges, **found.entities, **found.recalls})

    def hashes_of_entity(index: Index, entries: Sequence[Entry], rows: Set[Row]) -> Iterator[bytes]:
        """Of the embedded names and descriptions of the subject, as far as no other memory needs them."""
        with index.lock:
            for entry in entries:
                if isinstance(entry.event, _ENTITY_EVENTS):
                    yield from (text_hash(text) for _, text in index.registry.changed_descriptions(entry))
            names = set(found.subject.names)
            yield from {text_hash(name) for name in names} - index.graph.hashes_outside(rows, names)

    return erase_together(engine, space, decide, hashes_of_entity)


def _subject(index: Index, name_or_id: str) -> _Subject:
    position, registry = index.catalog.position, index.registry
    if normalize_name(name_or_id) in (normalize_name(SELF), "i", "user"):
        raise InvalidInput(f"{name_or_id!r} is the user, whom most of a space is about: erase_space() erases all.")
    by_id = is_entity_id(name_or_id)
    if by_id:
        entity = registry.get(name_or_id, position)
        if entity is None:
            raise NotFound(f"space {index.space!r} has no entity {name_or_id!r}. See space.entities.list().")
        ids, name = {entity.id}, entity.name
    else:
        number, name = index.names.number(name_or_id), name_or_id
        same = () if number is None else registry.names_of_same_entity(number, position)
        ids = {registry.entity_of(each, position) for each in same}
    spellings = {normalize_name(name): name} if not by_id else {}
    for id_ in ids:
        spellings |= {normalize_name(each.spelling): each.spelling for each in registry.names_of(id_, position)}
    patterns = {each: _pattern(each) for each in spellings.values()}
    others: dict[str, None] = {}
    shared: set[str] = set()
    for number, spelling in enumerate(index.names.spellings):
        if registry.entity_of(number, position) not in ids:
            for each in (each for each in patterns if patterns[each].search(strip_accents(spelling))):
                others[spelling] = None
                shared.add(each)
    searched = [pattern for each, pattern in patterns.items() if not (by_id and each in shared)]
    return _Subject(name, frozenset(ids), tuple(patterns), tuple(others), tuple(searched))


def _pattern(name: str) -> re.Pattern[str]:
    """Finds a name as whole words; one that is an ordinary word too ("Rose") only as it is written."""
    flags = 0 if is_common_word(name.lower()) else re.IGNORECASE
    return re.compile(rf"(?<!\w){re.escape(strip_accents(name))}(?!\w)", flags)


def _reasons(index: Index, subject: _Subject, version: Remembered) -> Iterator[str]:
    """Why a version of a memory is about the subject."""
    turn = version.turn
    speaker = version.observed_by if turn is None else turn.speaker
    for mention in version.mentions:
        if subject.is_named_by(index, mention.name):
            is_main = normalize_name(mention.name) == normalize_name(subject.name)
            yield f"names {mention.name}" if is_main else f"names it as {mention.name!r}"
    if subject.is_named_by(index, speaker):
        yield f"said by {speaker}"
    claimed = (name for triple in version.triples for name in (triple.subject, triple.object))
    if any(subject.is_named_by(index, name) for name in claimed):
        yield "claims something of it"
    if subject.is_in(version.text):
        yield "says the name"
    if turn is not None and subject.is_in(turn.before):
        yield "quotes the turn before, which says the name"
    others = {name: getattr(version, name) for name in ("source", "key", "tags", "meta")}
    others |= {"conversation": None if turn is None else turn.conversation}
    for what, value in others.items():
        if subject.is_in(value):
            yield f"its {what} has the name"


def _texts(value: Any) -> Iterator[str]:
    """All texts in a value, such as an event."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name, item in value.items():
            yield str(name)
            yield from _texts(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)
    elif is_dataclass(value):
        for each in fields(value):
            yield from _texts(getattr(value, each.name))
