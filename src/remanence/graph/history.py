"""What happened to a memory or an entity, in ledger order: who did it, when, and why.

Most events are ledger entries. Two kinds follow from entries about something else: a relation ends when a later one
replaces it, and a memory is superseded when everything that it claims has been replaced.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import NamedTuple, cast

import numpy as np

from remanence.core.index import Index
from remanence.events import Extracted, Invalidated, Linked, Merged, Registered, Related, Renamed, Served, Split, Undone
from remanence.graph.graph_at_time import MENTIONS, GraphAtTime, GraphNode
from remanence.graph.history_events import EventKind, HistoryEvent, quote_memory
from remanence.graph.known_entities import KnownEntities
from remanence.ports import Ledger
from remanence.read.receipts import Receipt
from remanence.read.supersession import replacement_row
from remanence.schema import Entry, Link, Memory, Relation, Snapshot, format_moment
from remanence.state.predicates import normalize_predicate, resulting_states


class _PlannedEvent(NamedTuple):
    """An event to make once the ledger entry at `position` is read. Derived events follow the others of an entry."""

    position: int
    make: Callable[[Entry], HistoryEvent | None]
    derived: bool = False


class HistoryReader:
    """Histories as of one snapshot. Use it with the lock of the index.

    Only entries after the position `after` and up to the position `upto` are read.
    """

    def __init__(
        self, index: Index, ledger: Ledger, snapshot: Snapshot, after: int = 0, upto: int | None = None
    ) -> None:
        self._index, self._ledger, self._snapshot = index, ledger, snapshot
        self._after, self._upto = after, snapshot.position if upto is None else min(upto, snapshot.position)
        rows = np.arange(len(index.catalog)) < index.catalog.row_count(snapshot.position)
        self.full_snapshot = Snapshot(snapshot.position, snapshot.now, rows, index.catalog.memories_among(rows))
        """Every version learned by then, since forgotten and revised ones have a history too."""

    def memory_history(self, number: int) -> list[HistoryEvent]:
        """What happened to a memory, to its links, and to the relations that it is evidence for."""
        own = f"{self._index.catalog.ids[number]}:"
        ever = self.evidenced_relations(number, self.full_snapshot)
        edge_ids = [*self._index.links.edge_ids(number), *self._index.relations.edge_ids(number)]
        return self._read(
            [
                *self._memory_events(number),
                *self._edge_events(edge_ids, number),
                *self._claimed(relation for relation in ever if relation.id.startswith(own)),
                *self._replaced_relations(self.evidenced_relations(number, self._snapshot)),
            ]
        )

    def entity_history(self, graph: GraphAtTime, node: GraphNode) -> list[HistoryEvent]:
        """What happened to an entity, to its relations, and to the memories that mention it."""
        catalog, registry, relations = self._index.catalog, self._index.registry, self._index.relations
        rows = graph.rows_naming(node)
        memories = dict.fromkeys(map(catalog.memory_of, rows[self.full_snapshot.row_mask[rows]].tolist()))
        position = self._snapshot.position
        entity_positions = registry.positions_of_entity(registry.entity_of(node.number, position), position)
        ever = relations.relations_of(node.number, self.full_snapshot)
        return self._read(
            [
                *(event for number in memories for event in self._memory_events(number)),
                *(_PlannedEvent(each, self.entity_event) for each in entity_positions),
                *self._claimed(ever),
                *self._edge_events([*self._stated(graph, node), *(relation.id for relation in ever)]),
                *self._replaced_relations(relations.relations_of(node.number, self._snapshot)),
            ]
        )

    def evidenced_relations(self, number: int, snapshot: Snapshot) -> list[Relation]:
        """The relations in a snapshot that a memory claims, in any of its versions."""
        catalog, relations = self._index.catalog, self._index.relations
        versions = [] if catalog.is_erased(number) else self._index.memories(catalog.rows_of(number))
        claims = {
            (subject, predicate)
            for version in versions
            for triple in version.triples
            if (subject := self._index.names.number(triple.subject)) is not None
            for predicate in (triple.predicate, *resulting_states(normalize_predicate(triple.predicate)))
        }
        found = (
            r for subject, name in sorted(claims) for r in relations.relations_of(subject, snapshot, predicates=[name])
        )
        return [relation for relation in found if catalog.ids[number] in relation.evidence]

    def entity_event(self, entry: Entry) -> HistoryEvent | None:
        """The event of an entry about the names of an entity, or about merging or splitting it; None for others."""
        event = entry.event
        if not isinstance(event, Registered | Renamed | Merged | Split | Undone):
            return None
        target = event.into if isinstance(event, Merged | Split) else event.entity
        before = KnownEntities(self._index, entry.position - 1).get(event.entity)
        after = KnownEntities(self._index, entry.position).get(target)
        name = getattr(before or after, "name", event.entity)
        why = getattr(event, "why", None)
        if isinstance(event, Merged | Split) and after is not None:
            preposition = "with" if isinstance(event, Merged) else "from"
            why = f"{preposition} {after.name}" + (f", {why}" if why else "")
        return HistoryEvent(entry.at, entry.position, cast(EventKind, entry.kind), name, event.by, why, after)

    # Memories

    def _memory_events(self, number: int) -> Iterator[_PlannedEvent]:
        catalog, journal, links = self._index.catalog, self._index.journal, self._index.links
        rows = catalog.rows_of(number)
        for row, position in zip(rows, catalog.positions_of_rows(rows), strict=True):
            yield _PlannedEvent(position, partial(self._version_event, row == rows[0]))
        recorded = journal.positions_of_memory(catalog.ids[number])
        for position in {*catalog.visibility_changes(number), *recorded, *links.positions_of_memory(number)}:
            yield _PlannedEvent(position, partial(self._memory_event, number))
        snapshot = self._snapshot
        latest = catalog.row_at(number, snapshot.position)
        linked = links.links_of(number, snapshot, kinds=("supersedes",), direction="in")
        if latest is None or not snapshot.row_mask[latest] or linked:
            return
        replacement = replacement_row(self._index, latest, snapshot)
        if replacement is not None:
            old, new = self._index.memories([latest, replacement])
            position = max(catalog.positions_of_rows([latest, replacement]))
            yield _PlannedEvent(position, partial(_superseded, old, new, new.observed_by, None), derived=True)

    def _version_event(self, first: bool, entry: Entry) -> HistoryEvent:
        change = self._index.change_from_entry(entry)
        memory = None if change is None else change.memory
        kind: EventKind = "memory added" if first else "memory revised"
        observer = None if memory is None else memory.observed_by
        return HistoryEvent(entry.at, entry.position, kind, quote_memory(memory), observer, None, memory, MENTIONS)

    def _memory_event(self, number: int, entry: Entry) -> HistoryEvent | None:
        """The event of an entry about the visibility of a memory, its extraction, a recall, or a superseding link."""
        event, memory = entry.event, self._version_at(number, entry.position)
        make = partial(HistoryEvent, entry.at, entry.position, description=quote_memory(memory), edge_name=MENTIONS)
        if isinstance(event, Linked) and self._supersedes(event, number):
            return _superseded(memory, self._latest_version(event.source), event.observed_by, event.why, entry)
        if isinstance(event, Extracted):
            return make("extracted", actor=event.by, why=event.problem, value=event)
        if isinstance(event, Served):
            receipt = Receipt.from_dict(event.asked)
            return make("served", why=f"asked {receipt.question!r}", value=receipt)
        if entry.kind in ("forgotten", "restored", "erased", "expired"):
            return make(cast(EventKind, entry.kind), why=getattr(event, "why", None), value=memory)
        return None

    def _supersedes(self, event: Linked, number: int) -> bool:
        return event.kind == "supersedes" and self._index.catalog.number(event.target) == number

    def _latest_version(self, memory_id: str) -> Memory | None:
        number = self._index.catalog.number(memory_id)
        return None if number is None else self._version_at(number, self._snapshot.position)

    def _version_at(self, number: int, position: int) -> Memory | None:
        row = self._index.catalog.row_at(number, position)
        if row is None or self._index.catalog.is_erased(number):
            return None
        return self._index.memories([row])[0]

    # Relations and links

    def _edge_events(self, edge_ids: Iterable[str], memory: int | None = None) -> list[_PlannedEvent]:
        """The events of the entries that add or end these edges, without the links that supersede `memory`."""
        return [_PlannedEvent(each, partial(self._edge_event, memory)) for each in self._edge_positions(edge_ids)]

    def _edge_event(self, memory: int | None, entry: Entry) -> HistoryEvent | None:
        event, edge = entry.event, self._edge(entry.subject)
        if edge is None or (isinstance(event, Linked) and memory is not None and self._supersedes(event, memory)):
            return None
        if isinstance(event, Invalidated):
            why = event.why or f"it held until {format_moment(event.until)}"
            return self._describe_edge("edge invalidated", edge, event.by, why, entry)
        return self._edge_added(edge, entry) if isinstance(event, Linked | Related) else None

    def _edge_added(self, edge: Relation | Link, entry: Entry) -> HistoryEvent:
        return self._describe_edge("edge added", edge, edge.observed_by, getattr(edge, "why", None), entry)

    def _describe_edge(
        self, kind: EventKind, edge: Relation | Link, actor: str | None, why: str | None, entry: Entry
    ) -> HistoryEvent:
        if isinstance(edge, Relation):
            return HistoryEvent(entry.at, entry.position, kind, str(edge), actor, why, edge, edge.predicate)
        source, target = (quote_memory(self._latest_version(end)) for end in (edge.source, edge.target))
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
        return sorted({each for edge in edge_ids for table in tables for each in table.positions_of_edge(edge)})

    def _stated(self, graph: GraphAtTime, node: GraphNode) -> list[str]:
        """The ids of the relations that a caller stated about an entity, whether they ever held or not."""
        registry, names = self._index.registry, self._index.names
        same = registry.same_entity(node.number, self._snapshot.position)
        edge_ids = self._index.relations.asserted_ids(same)
        if not any(registry.has_several_owners(name, self._snapshot.position) for name in same):
            return edge_ids
        # A name with several owners may have meant another entity in some of them.
        own = set(graph.name_numbers(node))
        stated = ((edge_id, self._edge(edge_id)) for edge_id in edge_ids)
        return [
            edge_id
            for edge_id, edge in stated
            if isinstance(edge, Relation) and own & {names.number(edge.subject), names.number(edge.object)}
        ]

    def _claimed(self, relations: Iterable[Relation]) -> Iterator[_PlannedEvent]:
        """The relations among these that a memory claims, each once, in however many periods it holds."""
        for relation in {relation.id: relation for relation in relations}.values():
            position = self._position_of(relation)
            if position is not None and ":" in relation.id:
                yield _PlannedEvent(position, partial(self._edge_added, self._edge(relation.id) or relation))

    def _replaced_relations(self, relations: Iterable[Relation]) -> Iterator[_PlannedEvent]:
        """The ends of relations that a later relation replaced."""
        for relation in relations:
            after = None if relation.replaced_by is None else self._edge(relation.replaced_by)
            if isinstance(after, Relation):
                positions = [each for one in (relation, after) if (each := self._position_of(one)) is not None]
                why = f"followed by {after}"
                make = partial(self._describe_edge, "edge invalidated", relation, after.observed_by, why)
                yield _PlannedEvent(max(positions), make, derived=True)

    def _position_of(self, relation: Relation) -> int | None:
        """The position of the entry that first states a relation."""
        catalog = self._index.catalog
        memory_id, _, digest = relation.id.rpartition(":")
        number = catalog.number(memory_id) if digest else None
        if number is None:
            return next(iter(self._edge_positions([relation.id])), None)
        rows = [row for row in catalog.rows_of(number) if catalog.recorded_at(row) >= relation.recorded_at]
        for row, version in zip(rows, self._index.memories(rows), strict=True):
            if any({relation.subject, relation.object} == {t.subject, t.object} for t in version.triples):
                return catalog.positions_of_rows([row])[0]
        return catalog.positions_of_rows(catalog.rows_of(number))[0]

    def _read(self, planned: Iterable[_PlannedEvent]) -> list[HistoryEvent]:
        """Make the events of the wanted positions, in order."""
        wanted = [event for event in planned if self._after < event.position <= self._upto]
        entries = self._ledger.entries_at(sorted({event.position for event in wanted}))
        ordered = sorted(wanted, key=lambda event: (event.position, event.derived))
        made = (event.make(entries[event.position]) for event in ordered)
        # One entry may be planned twice, for example from both ends of a relation.
        return list({(e.position, e.kind, e.description): e for e in made if e is not None}.values())


def _superseded(
    old: Memory | None, new: Memory | None, actor: str | None, why: str | None, entry: Entry
) -> HistoryEvent:
    reason = why or f"replaced by {quote_memory(new)}"
    return HistoryEvent(entry.at, entry.position, "superseded", quote_memory(old), actor, reason, new, MENTIONS)
