"""Links between memories: who added them, when they hold, and which memories they supersede."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from remanence.events import Erased, Invalidated, Linked
from remanence.index.arrays.adjacency import ENDINGS, GRAPH, Adjacency, EdgeEnds
from remanence.index.arrays.codecs import GROWING, JSON, TUPLES, SavedPart
from remanence.index.arrays.columns import Column
from remanence.index.batch import Batch
from remanence.index.numbers import MemoryNumber, Position
from remanence.index.versions.catalog import Catalog
from remanence.schema import (
    LINK_KINDS,
    OPEN_START,
    Entry,
    Link,
    LinkKind,
    Snapshot,
    from_micros,
    micros,
    window_from_micros,
    window_to_micros,
)

_KIND, _START, _END, _RECORDED_AT, _POSITION = range(5)
_SUPERSEDES, _DERIVED_FROM = LINK_KINDS.index("supersedes"), LINK_KINDS.index("derived_from")


class Links(SavedPart):
    """The links of one space, by number, in the order in which they were added.

    Statements with the same ends, kind and window are one link: those of other observers corroborate the first.
    A link is active in a snapshot that contains its entry and both its memories. One without a start holds from when
    it was recorded, or, if it had ended by then, without a start. A memory whose text was changed after a link
    superseded it is not superseded by that link any longer.
    """

    _saved: ClassVar = {
        "_graph": GRAPH,
        **dict.fromkeys(("_columns", "_confidence"), GROWING),
        **dict.fromkeys(("_ids", "_numbers", "_has_cycle"), JSON),
        "_observers": TUPLES,
        "_endings": ENDINGS,
    }

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._graph = Adjacency()  # edges from source to target
        self._columns = Column(np.int64, width=5)
        self._confidence = Column(np.float64)
        self._ids: list[str] = []
        self._numbers: dict[str, int] = {}
        self._observers: list[tuple[str | None, str | None]] = []  # of each link: who added it, and why
        self._endings = EdgeEnds()
        self._superseded: tuple[Snapshot, NDArray[np.bool_]] | None = None  # in the last snapshot
        self._erased: set[int] = set()  # links that are gone when the index is rebuilt
        self._has_cycle = False  # whether memories supersede each other in a cycle

    @property
    def is_empty(self) -> bool:
        """Whether there was never a link."""
        return not self._ids

    def links_of(
        self,
        memory: MemoryNumber,
        snapshot: Snapshot,
        *,
        kinds: Collection[str] | None = None,
        direction: Literal["out", "in", "both"] = "both",
        at: datetime | None = None,
    ) -> list[Link]:
        """The links of a memory, in the order in which they were added; with `at`, those that hold then."""
        if self.is_empty:
            return []
        numbers: list[int] = []
        for number in self._graph.edges_of(memory):
            source, target = self._graph.endpoints[number].tolist()
            if not ((direction == "out" and source != memory) or (direction == "in" and target != memory)):
                numbers.append(number)
        found = [_merge_statements(statements) for statements in self._statements(numbers, snapshot)]
        return [link for link in found if (kinds is None or link.kind in kinds) and (at is None or at in link.valid)]

    def are_linked(self, memory: MemoryNumber, other: int, snapshot: Snapshot) -> bool:
        """Whether a link of any kind holds between two memories now."""
        if self.is_empty:
            return False
        edges = np.array(self._graph.edges_of(memory), np.int64)
        between = edges[(self._graph.endpoints[edges] == other).any(axis=1)].tolist()
        return any(snapshot.now in _merge_statements(each).valid for each in self._statements(between, snapshot))

    def get(self, link_id: str, snapshot: Snapshot) -> Link | None:
        statements = self.statements_of(link_id, snapshot)
        return _merge_statements(statements) if statements else None

    def statements_of(self, link_id: str, snapshot: Snapshot) -> list[Link]:
        """All statements of the same link as this one, each as it was stated, oldest first."""
        number = self._numbers.get(link_id)
        if number is None:
            return []
        source = int(self._graph.endpoints[number, 0])
        every = self._statements(self._graph.edges_of(source), snapshot)
        return next((some for some in every if any(link.id == link_id for link in some)), [])

    def count(self, snapshot: Snapshot) -> int:
        numbers = self._with_visible_ends(self._columns.values[:, _POSITION] <= snapshot.position, snapshot)
        stated = np.hstack([self._graph.endpoints[numbers], self._columns.values[numbers][:, [_KIND, _START, _END]]])
        return len(np.unique(stated, axis=0))

    def superseded_mask(self, snapshot: Snapshot) -> NDArray[np.bool_]:
        """The memories, by number, that another one has superseded by now.

        If memories supersede each other in a cycle, the link that was added last counts.
        """
        if self._superseded is None or self._superseded[0] is not snapshot:  # a recall asks for each of its hits
            mask = np.zeros(len(snapshot.memory_mask), np.bool_)
            if self._ids:
                edges = self._graph.endpoints[self._superseding_links(snapshot)]
                mask[_targets_without_cycles(edges.tolist()) if self._has_cycle else edges[:, 1]] = True
            self._superseded = snapshot, mask
        return self._superseded[1]

    def contradicting(self, memory: MemoryNumber, snapshot: Snapshot) -> list[MemoryNumber]:
        """The memories, by number, with a link that contradicts this one, in either direction, now."""
        found = self.links_of(memory, snapshot, kinds=("contradicts",), at=snapshot.now)
        numbers = (self._catalog.number(end) for link in found for end in (link.source, link.target))
        return list(dict.fromkeys(n for n in numbers if n is not None and n != memory))

    def all_linked(self, memory: MemoryNumber, kind: LinkKind, direction: Literal["out", "in"]) -> list[MemoryNumber]:
        """The memories at the other end of all links of a kind, visible or not."""
        if self.is_empty:
            return []
        edges = np.array(self._graph.edges_of(memory), np.int64)
        edges = edges[self._columns.values[edges, _KIND] == LINK_KINDS.index(kind)]
        ends = self._graph.endpoints[edges] if direction == "out" else self._graph.endpoints[edges, ::-1]
        return list(dict.fromkeys(ends[ends[:, 0] == memory, 1].tolist()))

    def facts_derived_from(self, memories: NDArray[np.bool_], position: Position) -> NDArray[np.bool_]:
        """The memories that were found in one of these, and do not replace it."""
        mask = np.zeros(len(memories), np.bool_)
        columns, ends = self._columns.values, self._graph.endpoints
        until = (columns[:, _POSITION] <= position) & memories[ends[:, 1]]
        derived = ends[until & (columns[:, _KIND] == _DERIVED_FROM)]
        if len(derived):
            # A text merged from several contains more than came from these.
            merged = set(map(tuple, ends[until & (columns[:, _KIND] == _SUPERSEDES)].tolist()))
            mask[[source for source, target in derived.tolist() if (source, target) not in merged]] = True
        return mask

    def derived_only_from(self, memories: NDArray[np.bool_], position: Position) -> NDArray[np.bool_]:
        """These memories and those derived from them: facts that were found in no other memory, and texts that were
        merged from one of them, since no part of such a text can be told from another."""
        mask: NDArray[np.bool_] = memories.copy()
        columns, ends = self._columns.values, self._graph.endpoints
        known = columns[:, _POSITION] <= position
        merged = set(map(tuple, ends[known & (columns[:, _KIND] == _SUPERSEDES)].tolist()))
        sources: dict[int, list[int]] = {}
        for derived, source in ends[known & (columns[:, _KIND] == _DERIVED_FROM)].tolist():
            sources.setdefault(derived, []).append(source)
        while True:
            more = [
                fact
                for fact, of in sources.items()
                if not mask[fact] and (all(mask[of]) or any(mask[s] and (fact, s) in merged for s in of))
            ]
            if not more:
                return mask
            mask[more] = True

    def has_links(self, memory: MemoryNumber) -> bool:
        return bool(self._ids) and bool(self._graph.edges_of(memory))

    def positions_of_memory(self, memory: MemoryNumber) -> list[int]:
        edges = self._graph.edges_of(memory)
        positions: list[int] = self._columns.values[edges, _POSITION].tolist()
        return positions + [position for number in edges for position in self._endings.positions_of(number)]

    def edge_ids(self, memory: MemoryNumber) -> list[str]:
        return [self._ids[number] for number in self._graph.edges_of(memory)]

    def has(self, link_id: str) -> bool:
        """Whether a link was stated under this id, visible or not, and not erased."""
        return self._numbers.get(link_id) not in (None, *self._erased)

    def positions_of_edge(self, link_id: str) -> list[int]:
        number = self._numbers.get(link_id)
        if number is None:
            return []
        return [int(self._columns.values[number, _POSITION]), *self._endings.positions_of(number)]

    def find_duplicate(self, event: Linked, snapshot: Snapshot) -> str | None:
        source = self._catalog.number(event.source)
        statement = (event.source, event.kind, event.target, event.confidence, event.observed_by, event.why)
        for statements in [] if source is None else self._statements(self._graph.edges_of(source), snapshot):
            for link in statements:
                same = (link.source, link.kind, link.target, link.confidence, link.observed_by, link.why) == statement
                if same and self._stated_window(self._numbers[link.id], snapshot) == window_to_micros(event.valid):
                    return link.id
        return None

    # Applying entries

    def apply(self, batch: Batch) -> None:
        entry = batch.entry
        if entry is None:
            return
        event = entry.event
        if isinstance(event, Linked):
            source, target = self._catalog.number(event.source), self._catalog.number(event.target)
            if source is not None and target is not None:
                self._add(source, target, event, entry)
        elif isinstance(event, Invalidated) and (number := self._numbers.get(event.edge)) is not None:
            self._endings.add(number, entry.position, micros(event.until))
        elif isinstance(event, Erased) and (number := self._numbers.get(event.memory)) is not None:
            self._erased.add(number)

    # Helpers

    def _statements(self, numbers: Iterable[int], snapshot: Snapshot) -> list[list[Link]]:
        """These statements, those of one link together, in the order in which they were added."""
        statements: dict[tuple[object, ...], list[Link]] = {}
        for number in numbers:
            link = self._link(number, snapshot)
            if link is not None:
                key = (link.source, link.kind, link.target, self._stated_window(number, snapshot))
                statements.setdefault(key, []).append(link)
        return list(statements.values())

    def _add(self, source: MemoryNumber, target: MemoryNumber, event: Linked, entry: Entry) -> None:
        kind = LINK_KINDS.index(event.kind)
        if kind == _SUPERSEDES and not self._has_cycle:
            self._has_cycle = _reaches(target, source, lambda memory: self.all_linked(memory, "supersedes", "out"))
        self._numbers[event.link] = len(self._ids)
        self._ids.append(event.link)
        self._observers.append((event.observed_by, event.why))
        self._graph.extend([(source, target)])
        self._columns.append((kind, *window_to_micros(event.valid), micros(entry.at), entry.position))
        self._confidence.append(event.confidence)

    def _superseding_links(self, snapshot: Snapshot) -> NDArray[np.int64]:
        columns, now = self._columns.values, micros(snapshot.now)
        mask = (columns[:, _KIND] == _SUPERSEDES) & (columns[:, _POSITION] <= snapshot.position)
        undated = (columns[:, _START] == OPEN_START) & (columns[:, _RECORDED_AT] < columns[:, _END])
        mask &= (np.where(undated, columns[:, _RECORDED_AT], columns[:, _START]) <= now) & (now < columns[:, _END])
        links = self._with_visible_ends(mask, snapshot)
        # A link is about the text that the memory had then.
        targets, positions = self._graph.endpoints[links, 1], columns[links, _POSITION]
        links = links[~self._catalog.changed_after(targets, positions, snapshot.position)]
        return links[~np.isin(links, self._endings.ended_edges(snapshot.position, now))]

    def _with_visible_ends(self, mask: NDArray[np.bool_], snapshot: Snapshot) -> NDArray[np.int64]:
        links = np.flatnonzero(mask)
        if self._erased:
            links = links[~np.isin(links, list(self._erased))]
        links = links[np.all(self._graph.endpoints[links] < len(snapshot.memory_mask), axis=1)]
        return links[np.all(snapshot.memory_mask[self._graph.endpoints[links]], axis=1)]

    def _stated_window(self, number: int, snapshot: Snapshot) -> tuple[int, int]:
        """The window of a link as stated, or until it was ended."""
        start, end = self._columns.values[number, [_START, _END]].tolist()
        return start, min(end, self._endings.end_of(number, snapshot.position))

    def _link(self, number: int, snapshot: Snapshot) -> Link | None:
        kind, _, _, recorded_at, position = self._columns.values[number].tolist()
        start, end = self._stated_window(number, snapshot)
        ends, mask = self._graph.endpoints[number], snapshot.memory_mask
        if number in self._erased or position > snapshot.position:
            return None
        if not all(memory < len(mask) and mask[memory] for memory in ends):
            return None
        observer, why = self._observers[number]
        return Link(
            id=self._ids[number],
            source=self._catalog.ids[ends[0]],
            kind=LINK_KINDS[kind],
            target=self._catalog.ids[ends[1]],
            valid=window_from_micros(recorded_at if start == OPEN_START and recorded_at < end else start, end),
            recorded_at=from_micros(recorded_at),
            confidence=float(self._confidence.values[number]),
            observed_by=observer,
            why=why,
        )


def _merge_statements(statements: Sequence[Link]) -> Link:
    """One link of several statements. The last statement of each observer counts; several observers raise the
    confidence."""
    first = statements[0]
    if len(statements) == 1:
        return first
    confidences = {link.observed_by: link.confidence for link in statements}
    others = tuple(name for name in confidences if name is not None and name != first.observed_by)
    doubt = math.prod(1 - confidence for confidence in confidences.values())
    why = next((link.why for link in statements if link.why is not None), None)
    return replace(first, confidence=1 - doubt, why=why, corroborated_by=others)


def _targets_without_cycles(edges: Sequence[tuple[MemoryNumber, MemoryNumber]]) -> list[MemoryNumber]:
    """The targets of these edges, oldest first, without those that close a cycle with later ones."""
    accepted: dict[MemoryNumber, list[MemoryNumber]] = {}
    for source, target in reversed(edges):
        if not _reaches(target, source, lambda memory: accepted.get(memory, ())):
            accepted.setdefault(source, []).append(target)
    return [target for targets in accepted.values() for target in targets]


def _reaches(
    start: MemoryNumber, goal: MemoryNumber, targets_of: Callable[[MemoryNumber], Iterable[MemoryNumber]]
) -> bool:
    waiting, seen = [start], {start}
    while waiting and goal not in seen:
        targets = [neighbour for neighbour in targets_of(waiting.pop()) if neighbour not in seen]
        waiting += targets
        seen.update(targets)
    return goal in seen
