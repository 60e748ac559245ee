"""What happened to a memory or an entity, in ledger order: who did it, when, and why.

Most events are ledger entries. Two kinds follow from entries about something else: a relation ends when a later one
replaces it, and a memory is superseded when everything that it claims has been replaced.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Literal, TypeAlias, cast

import numpy as np

from remanence.events import (
    Demoted,
    Extracted,
    Invalidated,
    Linked,
    Merged,
    Promoted,
    Registered,
    Related,
    Renamed,
    Served,
    Split,
    Undone,
)
from remanence.graph.graph_at_time import MENTIONS, GraphAtTime, GraphNode, KnownEntities
from remanence.index.claims.predicates import normalize_predicate, states_after_event
from remanence.index.index import Index
from remanence.index.numbers import MemoryNumber, Position, Row
from remanence.recall.receipts import Receipt
from remanence.recall.show import TIMES
from remanence.recall.validity.superseded import replacement_row
from remanence.schema import Entity, Entry, Link, Memory, Relation, Snapshot, format_moment
from remanence.schema.display import data_frame, html_table
from remanence.text.text import truncate

if TYPE_CHECKING:
    import pandas

EventKind: TypeAlias = (
    Literal["memory added", "memory revised", "superseded", "forgotten", "restored", "erased", "expired"]
    | Literal["promoted", "demoted", "edge added", "edge corroborated", "edge invalidated"]
    | Literal["registered", "renamed", "merged", "split", "undone", "extracted", "served"]
)
_VERBS: dict[EventKind, str] = {
    "memory added": "learned",
    "memory revised": "revised",
    "edge added": "added",
    "edge corroborated": "also stated",
    "edge invalidated": "ended",
    "extracted": "read",
    "served": "returned by a recall",
}
_EVENT_COLUMNS = ("at", "kind", "description", "actor", "why", "edge_name", "about", "position")


@dataclass(frozen=True, slots=True)
class HistoryEvent:
    """One event in the history of a memory, an entity or an edge. As text it is a sentence.

    Attributes:
        kind: What happened.
        description: A text that names what it happened to.
        value: What it is about; for "superseded" the replacement. None if its text was erased.
        edge_name: The predicate or kind of an edge; "mentions" for events of a memory, and "supersedes" where a memory
            was superseded without a link.
    """

    recorded_at: datetime
    position: Position
    kind: EventKind
    description: str
    actor: str | None = None
    why: str | None = None
    value: Memory | Entity | Relation | Link | Receipt | Extracted | None = None
    edge_name: str | None = None

    def __str__(self) -> str:
        actor = "" if self.actor is None else f" by {self.actor}"
        why = "" if self.why is None else f": {self.why}"
        verb = _VERBS.get(self.kind, self.kind)
        return f"{format_moment(self.recorded_at)}: {self.description} was {verb}{actor}{why}."


class Timeline(list[HistoryEvent]):
    """What happened, in ledger order. A notebook shows it as a table."""

    def to_df(self) -> pandas.DataFrame:
        """The events as a data frame, a row for each; `about` is the id of what an event is about. Needs pandas.

        Raises:
            MissingExtra: pandas is not installed.
        """
        records = [
            {name: getattr(event, name, None) for name in _EVENT_COLUMNS}
            | {"at": event.recorded_at, "about": getattr(event.value, "id", None)}
            for event in self
        ]
        return data_frame(records, _EVENT_COLUMNS, TIMES)

    def _repr_html_(self) -> str:
        rows = [(format_moment(e.recorded_at), e.kind, e.description, e.actor or "", e.why or "") for e in self]
        return html_table("", ("at", "what", "of", "by", "why"), rows)


class HistoryReader:
    """Histories as of one snapshot. Use it with the lock of the index.

    Only entries after the position `after` and up to the position `upto` are read.
    """

    def __init__(self, index: Index, snapshot: Snapshot, after: int = 0, upto: int | None = None) -> None:
        self._index, self._snapshot = index, snapshot
        self._after_position, self._until_position = (
            after,
            snapshot.position if upto is None else min(upto, snapshot.position),
        )
        rows = np.arange(len(index.catalog)) < index.catalog.row_count(snapshot.position)
        self.full_snapshot = Snapshot(snapshot.position, snapshot.now, rows, index.catalog.memories_of_rows(rows))
        """Every version learned by then, since forgotten and revised ones have a history too."""

    def memory_history(self, number: MemoryNumber) -> Timeline:
        """What happened to a memory, to its links, and to the relations that it is evidence for."""
        own = f"{self._index.catalog.ids[number]}:"
        ever = self.evidenced_relations(number, self.full_snapshot)
        edge_ids = [*self._index.links.edge_ids(number), *self._index.relations.edge_ids(number)]
        return _to_timeline(
            [
                *self._memory_events([number]),
                *self._edge_events(edge_ids),
                *self._claims(relation for relation in ever if relation.id.startswith(own)),
                *self._supersessions([number]),
                *self._replacements(self.evidenced_relations(number, self._snapshot)),
            ]
        )

    def entity_history(self, graph: GraphAtTime, node: GraphNode) -> Timeline:
        """What happened to an entity, to its relations, and to the memories that mention it."""
        catalog, registry, relations = self._index.catalog, self._index.registry, self._index.relations
        rows = graph.rows_naming(node)
        memories = list(dict.fromkeys(map(catalog.memory_of, rows[self.full_snapshot.row_mask[rows]].tolist())))
        position = self._snapshot.position
        entries = self._entries(registry.positions_of_entity(registry.entity_of(node.number, position), position))
        ever = relations.relations_of(node.number, self.full_snapshot)
        return _to_timeline(
            [
                *self._memory_events(memories),
                *map(self.entity_event, entries.values()),
                *self._claims(ever),
                *self._edge_events([*self._stated_relation_ids(graph, node), *(relation.id for relation in ever)]),
                *self._supersessions(memories),
                *self._replacements(relations.relations_of(node.number, self._snapshot)),
            ]
        )

    def evidenced_relations(self, number: MemoryNumber, snapshot: Snapshot) -> list[Relation]:
        """The relations in a snapshot that a memory claims, in any of its versions."""
        catalog, relations, names = self._index.catalog, self._index.relations, self._index.names
        versions = [] if catalog.hidden.is_erased(number) else self._index.memories(catalog.rows_of(number))
        claims = {
            (subject, predicate)
            for version in versions
            for triple in version.triples
            if (subject := names.number(triple.subject)) is not None
            for predicate in (triple.predicate, *states_after_event(normalize_predicate(triple.predicate)))
        }
        return [
            relation
            for subject, predicate in sorted(claims)
            for relation in relations.relations_of(subject, snapshot, predicates=[predicate])
            if catalog.ids[number] in relation.evidence
        ]

    def entity_event(self, entry: Entry) -> HistoryEvent | None:
        """The event of an entry about the names of an entity, or about merging or splitting it; None for others."""
        event = entry.event
        if not isinstance(event, Registered | Renamed | Merged | Split | Undone):
            return None
        target = event.into if isinstance(event, Merged | Split) else event.entity
        before = KnownEntities(self._index, Position(entry.position - 1)).get(event.entity)
        after = KnownEntities(self._index, entry.position).get(target)
        name = getattr(before or after, "name", event.entity)
        why = getattr(event, "why", None)
        if isinstance(event, Merged | Split) and after is not None:
            preposition = "with" if isinstance(event, Merged) else "from"
            why = f"{preposition} {after.name}" + (f", {why}" if why else "")
        return HistoryEvent(entry.at, entry.position, cast(EventKind, entry.kind), name, event.by, why, after)

    # Memories

    def _memory_events(self, numbers: Iterable[MemoryNumber]) -> Iterator[HistoryEvent | None]:
        catalog, journal, links = self._index.catalog, self._index.journal, self._index.links
        positions = {
            number: {
                *catalog.positions_of_rows(catalog.rows_of(number)),
                *catalog.hidden.changes_of(number),
                *journal.positions_of_memory(catalog.ids[number]),
                *links.positions_of_memory(number),
            }
            for number in numbers
        }
        entries = self._entries(position for memory_positions in positions.values() for position in memory_positions)
        for number, about in positions.items():
            yield from (self._memory_event(number, entries[position]) for position in sorted(about & entries.keys()))

    def _memory_event(self, number: MemoryNumber, entry: Entry) -> HistoryEvent | None:
        event, memory = entry.event, self._version_at(number, entry.position)
        make = partial(HistoryEvent, entry.at, entry.position, description=_quote(memory), edge_name=MENTIONS)
        if entry.kind == "remembered":
            first = entry.position == self._index.catalog.positions_of_memory(number)[0]
            observer = None if memory is None else memory.observed_by
            return make("memory added" if first else "memory revised", actor=observer, value=memory)
        is_target = isinstance(event, Linked) and self._index.catalog.number(event.target) == number
        if isinstance(event, Linked) and event.kind == "supersedes" and is_target:
            new = self._latest_version(event.source)
            return _supersession_event(memory, new, event.observed_by, event.why, entry, MENTIONS)
        if isinstance(event, Extracted):
            return make("extracted", actor=event.by, why=event.problem, value=event)
        if isinstance(event, Served):
            receipt = Receipt.from_dict(event.asked)
            return make("served", why=f"asked {receipt.question!r}", value=receipt)
        if isinstance(event, Promoted):
            return make("promoted", why=event.note and f"as the note {event.note}", value=memory)
        if isinstance(event, Demoted):
            return make("demoted", value=memory)
        if entry.kind in ("forgotten", "restored", "erased", "expired"):
            return make(cast(EventKind, entry.kind), why=getattr(event, "why", None), value=memory)
        return None

    def _supersessions(self, numbers: Iterable[MemoryNumber]) -> Iterator[HistoryEvent]:
        """Memories of which everything that they claim was replaced, though no link supersedes them."""
        catalog, snapshot = self._index.catalog, self._snapshot
        for number in numbers:
            latest = catalog.row_at(number, snapshot.position)
            linked = self._index.links.links_of(number, snapshot, kinds=("supersedes",), direction="in")
            if latest is None or not snapshot.row_mask[latest] or linked:
                continue
            replacement = replacement_row(self._index, latest, snapshot)
            if replacement is not None:
                old, new = self._index.memories([latest, replacement])
                entries = self._entries([max(catalog.positions_of_rows([latest, replacement]))])
                yield from (
                    _supersession_event(old, new, new.observed_by, None, entry, "supersedes")
                    for entry in entries.values()
                )

    def _latest_version(self, memory_id: str) -> Memory | None:
        return self._version_at(self._index.catalog.number(memory_id), self._snapshot.position)

    def _version_at(self, number: MemoryNumber | None, position: Position) -> Memory | None:
        row = version_row(self._index, number, position)
        return None if row is None else self._index.memories([row])[0]

    # Relations and links

    def _edge_events(self, edge_ids: Iterable[str]) -> Iterator[HistoryEvent]:
        """The events of the entries that add or end these edges. What several observers stated is one edge: the first
        statement adds it, the others corroborate it, and it ends once."""
        known: set[tuple[type, str]] = set()
        for entry in self._entries(self._edge_positions(edge_ids)).values():
            event, edge = entry.event, self._edge(entry.subject)
            if edge is None or not isinstance(event, Linked | Related | Invalidated):
                continue
            # The statements of a link have one id here. Those of a relation are the same as text.
            key = type(event), edge.id if isinstance(edge, Link) else str(edge)
            repeats = key in known or (isinstance(edge, Link) and edge.id != entry.subject)
            known.add(key)
            if not isinstance(event, Invalidated):
                kind: EventKind = "edge corroborated" if repeats else "edge added"
                yield self._edge_event(kind, edge, event.observed_by, getattr(event, "why", None), entry)
            elif not repeats:
                why = event.why or f"it held until {format_moment(event.until)}"
                yield self._edge_event("edge invalidated", edge, event.by, why, entry)

    def _edge_event(
        self, kind: EventKind, edge: Relation | Link, actor: str | None, why: str | None, entry: Entry
    ) -> HistoryEvent:
        if isinstance(edge, Relation):
            return HistoryEvent(entry.at, entry.position, kind, str(edge), actor, why, edge, edge.predicate)
        source, target = (_quote(self._latest_version(end)) for end in (edge.source, edge.target))
        text = f"{source} —{edge.kind}→ {target}"
        return HistoryEvent(entry.at, entry.position, kind, text, actor, why, edge, edge.kind)

    def _edge(self, edge_id: str) -> Relation | Link | None:
        """A relation or link as it is in this snapshot, or as it ever was."""
        for snapshot in (self._snapshot, self.full_snapshot):
            edge = self._index.links.get(edge_id, snapshot) or self._index.relations.get(edge_id, snapshot)
            if edge is not None:
                return edge
        return None

    def _edge_positions(self, edge_ids: Iterable[str]) -> list[int]:
        """The positions of the entries that state or end these edges, oldest first."""
        tables = (self._index.links, self._index.relations)
        return sorted({position for edge in edge_ids for table in tables for position in table.positions_of_edge(edge)})

    def _stated_relation_ids(self, graph: GraphAtTime, node: GraphNode) -> list[str]:
        """The ids of the relations that a caller stated about an entity, whether they ever held or not."""
        own, number = set(graph.name_numbers(node)), self._index.names.number
        same = self._index.registry.names_of_same_entity(node.number, self._snapshot.position)
        edges = {edge_id: self._edge(edge_id) for edge_id in self._index.relations.asserted_ids(same)}
        # A name with several owners may have meant another entity in some of them.
        return [
            edge_id
            for edge_id, edge in edges.items()
            if isinstance(edge, Relation) and own & {number(edge.subject), number(edge.object)}
        ]

    def _claims(self, relations: Iterable[Relation]) -> Iterator[HistoryEvent]:
        """The relations among these that a memory claims, once for each period in which it holds."""
        claimed = {relation.id: relation for relation in relations if ":" in relation.id}
        positions = {edge_id: self._position_of(relation) for edge_id, relation in claimed.items()}
        entries = self._entries(positions.values())
        for edge_id, position in positions.items():
            if position in entries:
                periods = self._index.relations.periods_of(edge_id, self._snapshot)
                edges: Sequence[Relation | Link] = periods or [self._edge(edge_id) or claimed[edge_id]]
                for edge in edges:
                    yield self._edge_event("edge added", edge, edge.observed_by, None, entries[position])

    def _replacements(self, relations: Iterable[Relation]) -> Iterator[HistoryEvent]:
        """The ends of relations that a later relation replaced."""
        for relation in relations:
            after = None if relation.replaced_by is None else self._edge(relation.replaced_by)
            if isinstance(after, Relation):
                position = max(self._position_of(relation), self._position_of(after))
                for entry in self._entries([position]).values():
                    why = f"followed by {after}"
                    yield self._edge_event("edge invalidated", relation, after.observed_by, why, entry)

    def _position_of(self, relation: Relation) -> int:
        """The position of the entry that first states a relation."""
        catalog = self._index.catalog
        memory_id, _, digest = relation.id.rpartition(":")
        number = catalog.number(memory_id) if digest else None
        if number is None:
            return self._edge_positions([relation.id])[0]
        rows = [row for row in catalog.rows_of(number) if catalog.times.recorded_at(row) >= relation.recorded_at]
        return catalog.positions_of_rows(rows)[0]

    def _entries(self, positions: Iterable[int]) -> dict[int, Entry]:
        """The entries at those of these positions that are wanted."""
        selected = sorted(
            {position for position in positions if self._after_position < position <= self._until_position}
        )
        return self._index.entries_at(selected)


def version_row(index: Index, number: MemoryNumber | None, position: Position) -> Row | None:
    """The row of the version of a memory at a position, forgotten or not; None if there is none, or it was erased."""
    if number is None or index.catalog.hidden.is_erased(number):
        return None
    return index.catalog.row_at(number, position)


def _quote(memory: Memory | None) -> str:
    return "an erased memory" if memory is None else repr(truncate(memory.text, 80))


def _to_timeline(events: Iterable[HistoryEvent | None]) -> Timeline:
    """These events by position, each once: one entry may be found twice, as from both ends of a relation."""
    made = sorted((event for event in events if event is not None), key=lambda event: event.position)
    return Timeline({(e.position, e.kind, e.description): e for e in made}.values())


def _supersession_event(
    old: Memory | None, new: Memory | None, actor: str | None, why: str | None, entry: Entry, edge_name: str
) -> HistoryEvent:
    reason = why or f"replaced by {_quote(new)}"
    return HistoryEvent(entry.at, entry.position, "superseded", _quote(old), actor, reason, new, edge_name)
