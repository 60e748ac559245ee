"""A growing graph: which edges meet at a vertex, and since when an edge no longer holds.

igraph has the edges. It takes all edges of a graph in one call, during which no other thread can run, so it gets them
in parts of 131,072: 30 ms each. The vertices of a part of a large graph have numbers of their own, so a part costs
about the same in every graph. The newest edges are in a small overlay.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from remanence.schema import OPEN_END
from remanence.state.arrays.background import BackgroundBuild
from remanence.state.arrays.columns import Codec, Column, pack, unpack

_MAX_PART = 1 << 17
_MAX_AT_ONCE = 1 << 14
"""How many edges are indexed in the thread that asks for them; for more, another thread does it while others read."""
_MAX_SPARSITY = 4
"""The vertices of a part keep their numbers if at least one number in so many is used."""
_MIN_OVERLAY = 32
_OVERLAY_SHARE = 4
"""The overlay has no more than this part of the edges in igraph, or of those of one part."""
_MIN_CACHED = 64
_MAX_SCANS = 12
"""For how many vertices the edges of a small graph are searched one by one before it is given to igraph: a first recall
in a space asks for a few only."""


class Adjacency:
    """Edges by number, in the order in which they were added."""

    def __init__(self, endpoints: NDArray[Any] | None = None) -> None:
        self._endpoints = Column(np.int32, endpoints, width=2)
        self._base = _IndexedEdges()
        self._cached: dict[int, list[int]] = {}  # edges in the base of vertices that have many
        self._overlay: dict[int, list[int]] = {}
        self._overlay_end = 0
        self._build: BackgroundBuild[_IndexedEdges] = BackgroundBuild()
        self._scans = 0 if endpoints is not None and _MIN_OVERLAY < len(endpoints) <= _MAX_AT_ONCE else _MAX_SCANS

    def __len__(self) -> int:
        return len(self._endpoints)

    @property
    def endpoints(self) -> NDArray[np.int32]:
        return self._endpoints.values

    def extend(self, endpoints: Sequence[tuple[int, int]]) -> None:
        """Add edges. Those of a small graph are indexed by the next `edges_of`."""
        self._endpoints.extend(endpoints)
        if len(self) > _MAX_AT_ONCE:
            self._update()

    def edges_of(self, vertex: int) -> list[int]:
        """The edges at a vertex, oldest first. The list is shared: do not change it."""
        if self._scans < _MAX_SCANS:
            self._scans += 1
            found: list[int] = (self.endpoints == vertex).any(axis=1).nonzero()[0].tolist()
            return found
        return self.edges_of_each((vertex,))[0]

    def edges_of_each(self, vertices: Iterable[int]) -> list[list[int]]:
        """The edges at each of these vertices."""
        self._scans = _MAX_SCANS
        self._update()
        edges: list[list[int]] = []
        for vertex in vertices:
            older, newer = self._edges_in_base(vertex), self._overlay.get(vertex)
            edges.append(older + newer if newer else older)
        return edges

    def _edges_in_base(self, vertex: int) -> list[int]:
        edges = self._cached.get(vertex)
        if edges is None:
            edges = self._base.edges_of(vertex)
            if len(edges) > _MIN_CACHED:
                self._cached[vertex] = edges
        return edges

    def _update(self) -> None:
        size = len(self._endpoints)
        if (made := self._build.pop_result()) is not None:
            self._set_base(made)
        if size == self._overlay_end:
            return
        base, present = self._base, self.endpoints  # what is added later is behind its end
        if size - base.end > max(_MIN_OVERLAY, min(base.end, _MAX_PART) // _OVERLAY_SHARE):
            if not base.end or size <= _MAX_AT_ONCE:
                self._set_base(base.with_newer(present))
            else:
                self._build.start(lambda: base.with_newer(present))
        self._extend_overlay()

    def _extend_overlay(self) -> None:
        """Add the edges that neither the base nor the overlay has."""
        overlay = self._overlay
        try:
            for edge, (first, second) in enumerate(self.endpoints[self._overlay_end :].tolist(), self._overlay_end):
                overlay.setdefault(first, []).append(edge)
                if second != first:  # an edge from a vertex to itself is there once
                    overlay.setdefault(second, []).append(edge)
        except BaseException:  # an interrupt: some edges would be there twice
            self._set_base(self._base)
            raise
        self._overlay_end = len(self._endpoints)

    def _set_base(self, base: _IndexedEdges) -> None:
        self._base, self._cached, self._overlay = base, {}, {}
        self._overlay_end = base.end


class _IndexedEdges:
    """The first edges of a graph, in igraph. It does not change: `with_newer` makes another one."""

    def __init__(self, parts: tuple[_Part, ...] = (), part_sets: NDArray[np.uint64] | None = None) -> None:
        self.parts = parts
        self.end = parts[-1].end if parts else 0
        self._part_sets = np.empty(0, np.uint64) if part_sets is None else part_sets
        """Which parts have edges at a vertex: bit `n % 64` for the part number `n`."""

    def edges_of(self, vertex: int) -> list[int]:
        part_set = self._part_sets.item(vertex) if vertex < len(self._part_sets) else 0
        edges: list[int] = []
        while part_set:
            lowest = part_set & -part_set
            for part in self.parts[lowest.bit_length() - 1 :: 64]:
                edges += part.edges_of(vertex)
            part_set ^= lowest
        if len(self.parts) > 64:
            edges.sort()
        return edges

    def with_newer(self, endpoints: NDArray[np.int32]) -> _IndexedEdges:
        """All these edges. Parts that are full stay as they are."""
        full = self.parts if self.parts and len(self.parts[-1]) == _MAX_PART else self.parts[:-1]
        begin = full[-1].end if full else 0
        vertex_count = max(len(self._part_sets), int(endpoints[begin:].max()) + 1)
        part_sets = np.zeros(vertex_count, np.uint64)
        part_sets[: len(self._part_sets)] = self._part_sets
        parts = list(full)
        for start in range(begin, len(endpoints), _MAX_PART):
            ends = endpoints[start : start + _MAX_PART]
            part_sets[ends] |= np.uint64(1 << len(parts) % 64)
            parts.append(_Part(ends, start))
        return _IndexedEdges(tuple(parts), part_sets)


class _Part:
    """The edges from the number `start` on, before the number `end`, as a graph of igraph."""

    def __init__(self, endpoints: NDArray[np.int32], start: int) -> None:
        import igraph

        self.start, self.end = start, start + len(endpoints)
        is_present = np.zeros(int(endpoints.max()) + 1, bool)
        is_present[endpoints] = True
        vertices = is_present.nonzero()[0].astype(np.int32)
        self._vertices: array[int] | None = None  # by their numbers in igraph, if these are others
        if len(is_present) > _MAX_SPARSITY * len(vertices):
            self._vertices = array("i", vertices.tobytes())
            numbers = np.empty(len(is_present), np.int32)
            numbers[vertices] = np.arange(len(vertices))
            endpoints = numbers[endpoints]
        self._vertex_count = len(is_present) if self._vertices is None else len(vertices)
        # As tuples: igraph takes more than twice as long for an array.
        first, second = endpoints.T.tolist()
        self.graph = igraph.Graph(n=self._vertex_count, edges=list(zip(first, second, strict=True)))
        self._has_loops = bool((endpoints[:, 0] == endpoints[:, 1]).any())

    def __len__(self) -> int:
        return self.end - self.start

    def edges_of(self, vertex: int) -> list[int]:
        """The edges at a vertex, oldest first."""
        number = vertex if self._vertices is None else bisect_left(self._vertices, vertex)
        if number >= self._vertex_count or (self._vertices is not None and self._vertices[number] != vertex):
            return []
        edges = self.graph.incident(number)
        # igraph lists an edge from a vertex to itself twice.
        edges = sorted(set(edges) if self._has_loops else edges)
        return [self.start + edge for edge in edges] if self.start else edges


class EdgeEnds:
    """When edges were ended by an `Invalidated` event, by ledger position."""

    def __init__(self, stored: Iterable[tuple[int, Iterable[tuple[int, int]]]] = ()) -> None:
        self._by_edge = {edge: [(position, end) for position, end in ends] for edge, ends in stored}

    def __len__(self) -> int:
        return len(self._by_edge)

    def add(self, edge: int, position: int, end: int) -> None:
        self._by_edge.setdefault(edge, []).append((position, end))

    def copy(self, edge: int, to: int) -> None:
        """Give an edge the endings of another one."""
        if edge in self._by_edge:
            self._by_edge[to] = list(self._by_edge[edge])

    def end_of(self, edge: int, position: int) -> int:
        """When an edge was ended, in microseconds, as known at a position; OPEN_END if it was not."""
        ends = self._by_edge.get(edge)
        if ends is None:  # nearly always
            return OPEN_END
        return min((end for ended_at, end in ends if ended_at <= position), default=OPEN_END)

    def positions_of(self, edge: int) -> list[int]:
        return [position for position, _ in self._by_edge.get(edge, ())]

    def ended_edges(self, position: int, moment: int) -> list[int]:
        """The edges that had ended by a moment, as known at a position."""
        return [edge for edge in self._by_edge if self.end_of(edge, position) <= moment]


GRAPH = Codec(lambda graph: graph.endpoints, Adjacency)
ENDINGS = Codec(lambda endings: pack(list(endings._by_edge.items())), lambda array: EdgeEnds(unpack(array)))
