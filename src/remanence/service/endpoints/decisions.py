"""What people decided about memories and entities, read from the ledger: what, when, why, and whether it can be undone.

A decision is a ledger entry that hid or restored a memory, said that one memory replaces or contradicts another, ended
such a link, or renamed, merged or split an entity. What an upkeep run did is part of that run, and not listed here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from remanence.errors import InvalidInput, NotFound
from remanence.events import (
    Event,
    Forgotten,
    Invalidated,
    Linked,
    Merged,
    Ran,
    Renamed,
    Restored,
    Reversed,
    Split,
    Undone,
)
from remanence.graph.graph_at_time import KnownEntities
from remanence.index.index import Index
from remanence.index.numbers import Position
from remanence.ledger.codec import kinds_of
from remanence.schema import Entry, Link
from remanence.service.endpoints.decision_previews import quote
from remanence.space.space import Space

_LINKS = ("supersedes", "contradicts")
_DECISIONS = (Forgotten, Restored, Linked, Invalidated, Renamed, Merged, Split, Undone)
_KINDS = kinds_of(*_DECISIONS, Ran, Reversed)
"""What is read of the ledger: decisions, and what upkeep runs wrote, which are none."""
_FIRST_BATCH = 2_000
"""Ledger positions that are read first; each later batch has four times as many."""
_MAX_ENTRIES = 200_000
"""Ledger positions back to which decisions are looked for. It limits the work."""
UNDO_REASON = "undone by hand"


@dataclass(frozen=True, slots=True)
class Decision:
    """One decision. `text` says it in a sentence; `memories` and `entities` are the ids of what it is about."""

    position: int
    at: datetime
    kind: str
    text: str
    why: str | None
    by: str | None
    memories: tuple[str, ...]
    entities: tuple[str, ...]
    can_undo: bool


def list_decisions(space: Space, limit: int) -> list[Decision]:
    """The last decisions, newest first."""
    engine = space._engine
    with engine.open_index(space.name) as index:
        head, back = index.catalog.position, _FIRST_BATCH
        while True:
            entries = list(engine.ledger.read(space.name, after=max(0, head - back), kinds=_KINDS))
            found = _decision_entries(index, [entry for entry in entries if entry.position <= head])
            if len(found) >= limit or back >= min(head, _MAX_ENTRIES):
                break
            back *= 4
        with index.lock:
            reader = _DecisionReader(index, space._now())
            return [reader.decision(entry) for entry in found[: -limit - 1 : -1]]


def decision_about(space: Space, subject: str) -> Decision:
    """The last decision about a memory, an entity or a link."""
    last = next((entry for entry in _entries_back(space) if entry.subject == subject), None)
    if last is None:
        raise NotFound(f"space {space.name!r} has no decision about {subject!r}.")
    with space._engine.open_index(space.name) as index, index.lock:
        return _DecisionReader(index, space._now()).decision(last)


def undo_decision(space: Space, position: int) -> Decision:
    """Undo a decision by a new ledger entry, and return that one.

    Raises:
        NotFound: There is no decision at this position.
        InvalidInput: It cannot be undone, or something has changed since.
    """
    entry = space._engine.ledger.entries_at([position]).get(position)
    if entry is None or entry.space != space.name or not _is_decision(entry.event):
        raise NotFound(f"entry {position} is not a decision in space {space.name!r}. GET decisions lists them.")
    with space._engine.open_index(space.name) as index, index.lock:
        decision = _DecisionReader(index, space._now()).decision(entry)
    if not decision.can_undo:
        raise InvalidInput(f"entry {position} cannot be undone ({decision.text}): it was undone, or changed since.")
    _undo(space, entry)
    subject = entry.event.link if isinstance(entry.event, Linked) else entry.subject
    return decision_about(space, subject)


def _undo(space: Space, entry: Entry) -> None:
    event = entry.event
    if isinstance(event, Forgotten):
        space.unforget(event.memory)
    elif isinstance(event, Restored):
        space.forget(event.memory, why=UNDO_REASON)
    elif isinstance(event, Linked):
        space.graph.invalidate_edge(event.link, why=UNDO_REASON)
    else:
        space.entities.undo(entry.position, why=UNDO_REASON)


def _is_decision(event: Event | None) -> bool:
    if isinstance(event, Linked):
        return event.kind in _LINKS
    return isinstance(event, _DECISIONS)


def _decision_entries(index: Index, entries: list[Entry]) -> list[Entry]:
    """The decisions among some entries, oldest first, without those that an upkeep run wrote."""
    decisions: dict[int, Entry] = {}
    last: dict[tuple[str, str], int] = {}  # by kind and subject, the position of the last entry
    for entry in entries:
        if isinstance(entry.event, Ran):
            written = [("forgotten", memory_id) for memory_id in entry.event.hidden]
            written += [("linked", edge) for edge in entry.event.edges]
        elif isinstance(entry.event, Reversed) and (run := index.usage.runs.get(entry.event.run)) is not None:
            written = [("restored", memory_id) for memory_id in run.hidden_ids]
            written += [("forgotten", memory_id) for memory_id in run.created_ids]
            written += [("invalidated", edge) for edge in run.edges]
        else:
            written = []
        for key in written:
            decisions.pop(last.get(key, -1), None)
        if _is_decision(entry.event):
            decisions[entry.position] = entry
            last[entry.kind, entry.subject] = entry.position
    return list(decisions.values())


def _entries_back(space: Space) -> Iterator[Entry]:
    """The last decisions of a space, the newest first."""
    engine = space._engine
    with engine.open_index(space.name) as index:
        entries = engine.ledger.read(space.name, after=max(0, index.catalog.position - _FIRST_BATCH), kinds=_KINDS)
        yield from (entry for entry in reversed(list(entries)) if _is_decision(entry.event))


class _DecisionReader:
    """Says what an entry decided, as of now. Use it with the lock of the index."""

    def __init__(self, index: Index, now: datetime) -> None:
        self._index = index
        self._snapshot = index.snapshot(index.catalog.position, now)

    def decision(self, entry: Entry) -> Decision:
        text, memories, entities, can_undo = self._describe(entry)
        why, by = getattr(entry.event, "why", None), getattr(entry.event, "by", None)
        by = entry.event.observed_by if isinstance(entry.event, Linked) else by
        return Decision(entry.position, entry.at, entry.kind, text, why, by, memories, entities, can_undo)

    def _describe(self, entry: Entry) -> tuple[str, tuple[str, ...], tuple[str, ...], bool]:
        """A sentence, the memories and the entities that it is about, and whether the entry can be undone."""
        event, position = entry.event, entry.position
        if isinstance(event, Forgotten | Restored):
            verb = "was restored" if isinstance(event, Restored) else "was forgotten"
            return f"{self._quote(event.memory)} {verb}", (event.memory,), (), self._is_last_change(event, position)
        if isinstance(event, Linked):
            link = self._index.links.get(event.link, self._snapshot)
            is_active = link is not None and self._snapshot.now in link.valid
            return self._sentence(event), (event.source, event.target), (), is_active
        if isinstance(event, Invalidated):
            link = self._index.links.get(event.edge, self._snapshot)
            if link is None:
                return "A relation was ended", (), (), False
            return f"No longer: {self._sentence(link)}", (link.source, link.target), (), False
        if isinstance(event, Merged | Split | Renamed):
            registry = self._index.registry
            can_undo = position not in registry.undone and registry.spans.changed_since(position) is None
            entities = (event.entity,) if isinstance(event, Renamed) else (event.entity, event.into)
            return self._revision(event, position), (), entities, can_undo
        assert isinstance(event, Undone), "this is the last kind of decision"
        undone = self._index.entries_at([event.position]).get(event.position)
        what = "a change of an entity"
        if undone is not None and isinstance(undone.event, Merged | Split | Renamed):
            what = self._revision(undone.event, undone.position)
        return f"Undone: {what}", (), (event.entity,), False

    def _is_last_change(self, event: Forgotten | Restored, position: int) -> bool:
        """Whether nothing has hidden, shown or erased the memory since."""
        catalog = self._index.catalog
        number = catalog.number(event.memory)
        if number is None or catalog.hidden.is_erased(number):
            return False
        return catalog.hidden.changes_of(number)[-1:] == [position]

    def _sentence(self, link: Linked | Link) -> str:
        verb = "replaces" if link.kind == "supersedes" else "contradicts"
        return f"{self._quote(link.source)} {verb} {self._quote(link.target)}"

    def _revision(self, event: Merged | Split | Renamed, position: int) -> str:
        before = self._name(event.entity, Position(position - 1))
        if isinstance(event, Renamed):
            return f"{before} was renamed to {event.name}"
        if isinstance(event, Merged):
            return f"{before} was merged into {self._name(event.into, Position(position))}"
        return f"{', '.join(event.names)} was split off from {before}"

    def _name(self, entity_id: str, position: Position) -> str:
        entity = KnownEntities(self._index, position).get(entity_id)
        return entity_id if entity is None else entity.name

    def _quote(self, memory_id: str) -> str:
        """The text of a memory in its last version, in quotes."""
        number = self._index.catalog.number(memory_id)
        if number is None or self._index.catalog.hidden.is_erased(number):
            return "a memory that was erased"
        memories = self._index.readable_memories(self._index.catalog.rows_of(number)[-1:])
        return quote(memories[0].text) if memories else "a memory that was erased"
