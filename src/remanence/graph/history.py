"""What happened to a memory or an entity, in the order in which it was learned: who did it, when, and why.

Most of it stands in the ledger line by line. Two things follow from lines about something else: a relation
ends when a later one takes its place, and a memory is superseded when all that it claims has been replaced.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import NamedTuple, cast

import numpy as np

from remanence import events
from remanence.core.index import Index
from remanence.graph.graph_at_time import MENTIONS, GraphAtTime, GraphNode
from remanence.graph.history_events import EventKind, HistoryEvent, quote_memory
from remanence.graph.known_entities import KnownEntities
from remanence.graph.ledger_lines import positions_about_edges, positions_about_edges_of, positions_about_memory
from remanence.ports import Ledger
from remanence.read.receipts import Receipt
from remanence.read.supersession import replacement_row
from remanence.schema import Entry, Link, Memory, Relation, Snapshot, format_moment
from remanence.state.predicates import normalize_predicate, resulting_states


class _Sketch(NamedTuple):
    """A line, and what it comes to once it has been read; what only follows from it comes after."""

    line: int
    make: Callable[[Entry], HistoryEvent | None]
    follows: bool = False


class HistoryReader:
    """Stories as one sight knows them. Use it under the lock of the index.

    Only lines after one position and up to another are read.
    """

    def __init__(
        self, index: Index, ledger: Ledger, snapshot: Snapshot, after: int = 0, upto: int | None = None
    ) -> None:
        self._index, self._ledger, self._sight = index, ledger, snapshot
        self._after, self._upto = after, snapshot.position if upto is None else min(upto, snapshot.position)
        rows = np.arange(len(index.catalog)) < index.catalog.row_count(snapshot.position)
        self.full_snapshot = Snapshot(snapshot.position, snapshot.now, rows, index.catalog.memories_among(rows))
        """All that was ever learned by then: what was forgotten or revised has a story too."""

    def memory_history(self, number: int) -> list[HistoryEvent]:
        """What happened to a memory, to its links, and to the relations that it speaks for."""
        return self._told([*self._memory(number), *self._spoken_for(number)])

    def entity_history(self, graph: GraphAtTime, place: GraphNode) -> list[HistoryEvent]:
        """What happened to an entity, to its relations, and to the memories that name it."""
        entity_id = self._index.registry.entity_of(place.number, self._sight.position)
        rows = graph.rows_naming(place)
        memories = dict.fromkeys(map(self._index.catalog.memory_of, rows[self.full_snapshot.row_mask[rows]].tolist()))
        sketches = [sketch for number in memories for sketch in self._memory(number, edges=False)]
        sketches += self._each(
            self._index.registry.positions_of_entity(entity_id, self._sight.position), self.entity_event
        )
        claimed = self._index.relations.relations_of(place.number, self.full_snapshot)
        sketches += self._claimed(claimed)
        edges = [*self._stated(graph, place), *(relation.id for relation in claimed)]
        for make in (self._related, self._ended):
            sketches += self._each(positions_about_edges(self._index, edges), make)
        sketches += self._followed(self._index.relations.relations_of(place.number, self._sight))
        return self._told(sketches)

    def _stated(self, ground: GraphAtTime, place: GraphNode) -> list[str]:
        """The ids of what was said outright of an entity, whether it ever held or not."""
        registry, names = self._index.registry, self._index.names
        same = registry.same_entity(place.number, self._sight.position)
        edges = self._index.relations.asserted_ids(same)
        if not any(registry.has_several_owners(name, self._sight.position) for name in same):
            return edges
        # A name that was passed on may have meant another one.
        ends = {
            edge: (names.number(relation.subject), names.number(relation.object))
            for edge in edges
            if (relation := self._relation(edge)) is not None
        }
        mine = set(ground.name_numbers(place))
        return [edge for edge, both in ends.items() if not mine.isdisjoint(both)]

    # Memories

    def _memory(self, number: int, edges: bool = True) -> Iterator[_Sketch]:
        catalog = self._index.catalog
        rows = catalog.rows_of(number)
        for row, position in zip(rows, catalog.positions_of_rows(rows), strict=True):
            yield _Sketch(position, partial(self._version, row == rows[0]))
        lines = positions_about_memory(self._index, number)
        yield from self._each(lines, partial(self._kept, number))
        yield from self._each(lines, partial(self._overtaken, number))
        for make in (partial(self._linked, number), self._related, self._ended) if edges else ():
            yield from self._each(positions_about_edges_of(self._index, number), make)
        yield from self._replaced(number)

    def _version(self, first: bool, entry: Entry) -> HistoryEvent:
        change = self._index.change_from_entry(entry)
        memory = None if change is None else change.memory
        what: EventKind = "memory added" if first else "memory revised"
        who = None if memory is None else memory.observed_by
        return HistoryEvent(entry.at, entry.position, what, quote_memory(memory), who, None, memory, MENTIONS)

    def _kept(self, number: int, entry: Entry) -> HistoryEvent | None:
        """A line about whether a memory is kept, read or given out."""
        event = entry.event
        memory = self._standing(number, entry.position)
        make = partial(HistoryEvent, entry.at, entry.position, description=quote_memory(memory), edge_name=MENTIONS)
        if entry.kind == "forgotten":
            return make("forgotten", why=event.why if isinstance(event, events.Forgotten) else None, value=memory)
        if isinstance(event, events.Restored):
            return make("restored", value=memory)
        if isinstance(event, events.Erased):
            return make("erased")
        if isinstance(event, events.Expired):
            return make("expired", value=memory)
        if isinstance(event, events.Extracted):
            return make("extracted", actor=event.by, why=event.problem, value=event)
        if isinstance(event, events.Served):
            receipt = Receipt.from_dict(event.asked)
            return make("served", why=f"asked {receipt.question!r}", value=receipt)
        return None

    def _overtaken(self, number: int, entry: Entry) -> HistoryEvent | None:
        """A link that puts another memory in the place of this one."""
        event = entry.event
        if not isinstance(event, events.Linked) or not self._supersedes(event, number):
            return None
        later = self._called(event.source)
        about, why = quote_memory(self._standing(number, entry.position)), event.why or _instead(later)
        who = event.observed_by
        return HistoryEvent(entry.at, entry.position, "superseded", about, who, why, later, MENTIONS)

    def _supersedes(self, event: events.Linked, number: int) -> bool:
        return event.kind == "supersedes" and self._index.catalog.number(event.target) == number

    def _replaced(self, number: int) -> Iterator[_Sketch]:
        """That all a memory claims has been replaced by what another one does, where no link says so."""
        catalog, sight = self._index.catalog, self._sight
        row = catalog.row_at(number, sight.position)
        if row is None or not sight.row_mask[row]:
            return
        if self._index.links.links_of(number, sight, kinds=("supersedes",), direction="in"):
            return
        later = replacement_row(self._index, row, sight)
        if later is not None:
            old, new = self._index.memories([row, later])
            make = partial(_superseded, old, new)
            yield _Sketch(max(catalog.positions_of_rows([row, later])), make, follows=True)

    def _called(self, memory_id: str) -> Memory | None:
        number = self._index.catalog.number(memory_id)
        return None if number is None else self._standing(number, self._sight.position)

    def _standing(self, number: int, position: int) -> Memory | None:
        """A memory in the version that stands at a position, unless its words are gone."""
        row = self._index.catalog.row_at(number, position)
        if row is None or self._index.catalog.is_erased(number):
            return None
        return self._index.memories([row])[0]

    # Edges

    def _linked(self, number: int, entry: Entry) -> HistoryEvent | None:
        event = entry.event
        if not isinstance(event, events.Linked) or self._supersedes(event, number):
            return None
        link = self._link(event.link)
        return None if link is None else self._edge(entry, "edge added", link, link.observed_by, link.why)

    def _related(self, entry: Entry) -> HistoryEvent | None:
        event = entry.event
        if not isinstance(event, events.Related):
            return None
        relation = self._relation(event.relation)
        return None if relation is None else self._added(relation, entry)

    def _ended(self, entry: Entry) -> HistoryEvent | None:
        event = entry.event
        if not isinstance(event, events.Invalidated):
            return None
        edge = self._link(event.edge) or self._relation(event.edge)
        if edge is None:
            return None
        why = event.why or f"it held until {format_moment(event.until)}"
        return self._edge(entry, "edge invalidated", edge, event.by, why)

    def _spoken_for(self, number: int) -> Iterator[_Sketch]:
        """The relations that a memory claims, and what became of them."""
        own = f"{self._index.catalog.ids[number]}:"
        yield from self._claimed(
            r for r in self.evidenced_relations(number, self.full_snapshot) if r.id.startswith(own)
        )
        yield from self._followed(self.evidenced_relations(number, self._sight))

    def evidenced_relations(self, number: int, snapshot: Snapshot) -> list[Relation]:
        """The relations in a sight that a memory is evidence of by its claims, in whichever version."""
        catalog, relations = self._index.catalog, self._index.relations
        versions = [] if catalog.is_erased(number) else self._index.memories(catalog.rows_of(number))
        asked = {
            (subject, predicate)
            for version in versions
            for triple in version.triples
            if (subject := self._index.names.number(triple.subject)) is not None
            for predicate in (triple.predicate, *resulting_states(normalize_predicate(triple.predicate)))
        }
        found = (
            r for subject, name in sorted(asked) for r in relations.relations_of(subject, snapshot, predicates=[name])
        )
        return [relation for relation in found if catalog.ids[number] in relation.evidence]

    def _claimed(self, relations: Iterable[Relation]) -> Iterator[_Sketch]:
        """The relations among these that a memory claims, each once, in however many stretches it holds."""
        for relation in {relation.id: relation for relation in relations}.values():
            line = self._line_of(relation)
            if line is not None and ":" in relation.id:
                yield _Sketch(line, partial(self._added, self._relation(relation.id) or relation))

    def _followed(self, relations: Iterable[Relation]) -> Iterator[_Sketch]:
        """That relations ended because others took their place."""
        for relation in relations:
            after = None if relation.replaced_by is None else self._relation(relation.replaced_by)
            if after is not None:
                lines = [line for each in (relation, after) if (line := self._line_of(each)) is not None]
                yield _Sketch(max(lines), partial(self._follows, relation, after), follows=True)

    def _added(self, relation: Relation, entry: Entry) -> HistoryEvent:
        return self._edge(entry, "edge added", relation, relation.observed_by, None)

    def _follows(self, relation: Relation, after: Relation, entry: Entry) -> HistoryEvent:
        return self._edge(entry, "edge invalidated", relation, after.observed_by, f"followed by {after}")

    def _edge(
        self, entry: Entry, what: EventKind, edge: Relation | Link, who: str | None, why: str | None
    ) -> HistoryEvent:
        if isinstance(edge, Relation):
            return HistoryEvent(entry.at, entry.position, what, str(edge), who, why, edge, edge.predicate)
        about = f"{quote_memory(self._called(edge.source))} —{edge.kind}→ {quote_memory(self._called(edge.target))}"
        return HistoryEvent(entry.at, entry.position, what, about, who, why, edge, edge.kind)

    def _relation(self, edge: str) -> Relation | None:
        """A relation as it stands, or as it stood."""
        relations = self._index.relations
        return relations.get(edge, self._sight) or relations.get(edge, self.full_snapshot)

    def _link(self, edge: str) -> Link | None:
        return self._index.links.get(edge, self._sight) or self._index.links.get(edge, self.full_snapshot)

    def _line_of(self, relation: Relation) -> int | None:
        """The line in which a relation was first said."""
        memory_id, _, digest = relation.id.rpartition(":")
        number = self._index.catalog.number(memory_id) if digest else None
        if number is None:
            return next(iter(positions_about_edges(self._index, [relation.id])), None)
        catalog = self._index.catalog
        rows = [row for row in catalog.rows_of(number) if catalog.recorded_at(row) >= relation.recorded_at]
        for row, version in zip(rows, self._index.memories(rows), strict=True):
            if any({relation.subject, relation.object} == {t.subject, t.object} for t in version.triples):
                return catalog.positions_of_rows([row])[0]
        return catalog.positions_of_rows(catalog.rows_of(number))[0]

    # Entities

    def entity_event(self, entry: Entry) -> HistoryEvent | None:
        """A line about what an entity is called, or what it is one with."""
        event, known = entry.event, KnownEntities(self._index, entry.position)
        if not isinstance(event, events.Registered | events.Renamed | events.Merged | events.Split | events.Undone):
            return None
        what = cast(EventKind, entry.kind)
        whole = event.into if isinstance(event, events.Merged | events.Split) else event.entity
        before, after = KnownEntities(self._index, entry.position - 1).get(event.entity), known.get(whole)
        about = getattr(before or after, "name", event.entity)
        why = getattr(event, "why", None)
        if isinstance(event, events.Merged | events.Split) and after is not None:
            joint = "with" if what == "merged" else "from"
            why = f"{joint} {after.name}" + (f", {why}" if why else "")
        return HistoryEvent(entry.at, entry.position, what, about, event.by, why, after)

    # Helpers

    def _each(self, lines: Iterable[int], make: Callable[[Entry], HistoryEvent | None]) -> list[_Sketch]:
        return [_Sketch(line, make) for line in lines]

    def _told(self, sketches: Iterable[_Sketch]) -> list[HistoryEvent]:
        """What these come to, in order, as far as it is asked for."""
        wanted = [sketch for sketch in sketches if self._after < sketch.line <= self._upto]
        entries = self._ledger.entries_at(sorted({sketch.line for sketch in wanted}))
        ordered = sorted(wanted, key=lambda sketch: (sketch.line, sketch.follows))
        found = (sketch.make(entries[sketch.line]) for sketch in ordered)
        # The same line may be met from two sides.
        return list({(h.position, h.kind, h.description): h for h in found if h is not None}.values())


def _superseded(old: Memory, new: Memory, entry: Entry) -> HistoryEvent:
    who = new.observed_by
    return HistoryEvent(entry.at, entry.position, "superseded", quote_memory(old), who, _instead(new), new, MENTIONS)


def _instead(later: Memory | None) -> str:
    return f"{quote_memory(later)} took its place"
