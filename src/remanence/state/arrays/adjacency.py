"""A growing graph: which edges meet at a vertex, and since when an edge no longer holds.

igraph has the edges of a graph of up to 524,288 edges. It takes all edges of a graph in one call, during which no other
thread can run, so it gets them in parts of 131,072: 30 ms each. A part has an entry for every vertex, so more parts
would take gigabytes, and a larger graph is in sorted arrays. The newest edges are in a small overlay.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from remanence.schema import OPEN_END
from remanence.state.arrays.background import BackgroundBuild
from remanence.state.arrays.columns import Codec, Column, pack, unpack

_MAX_IGRAPH = 1 << 19
_MAX_PART = 1 << 17
_MAX_AT_ONCE = 1 << 14
"""How many edges are indexed in the thread that asks for them; for more, another thread does it while others read."""
_MIN_OVERLAY = 32
_OVERLAY_SHARE = 16
"""The overlay has no more than this part of the edges in arrays; beside igraph a quarter, or a quarter of a part."""
_MIN_CACHED = 64
_MAX_SCANS = 12
"""For how many vertices the edges of a small graph are searched one by one before it is given to igraph: a first recall
in a space asks for a few only."""


class Adjacency:
    """Edges by number, in the order in which they were added."""

    def __init__(self, endpoints: NDArray[Any] | None = None) -> None:
        self._endpoints = Column(np.int32, endpoints, width=2)
        self._base: tuple[_Part, ...] = ()
        self._cached: dict[int, list[int]] = {}  # edges in the base of vertices that have many
        self._overlay: dict[int, list[int]] = {}
        self._overlay_end = 0
        self._build: BackgroundBuild[tuple[_Part, ...]] = BackgroundBuild()
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
            edges = []
            for part in self._base:
                if vertex < part.vertex_count:
                    edges += part.edges_of(vertex)
            if len(edges) > _MIN_CACHED:
                self._cached[vertex] = edges
        return edges

    def _update(self) -> None:
        size = len(self._endpoints)
        if (made := self._build.pop_result()) is not None:
            self._set_base(made)
        if size == self._overlay_end:
            return
        in_base = self._base[-1].end if self._base else 0
        most = in_base // _OVERLAY_SHARE if size > _MAX_IGRAPH else min(in_base, _MAX_PART) // 4
        if size - in_base > max(_MIN_OVERLAY, most):
            present, base = self.endpoints, self._base  # what is added later is behind its end
            if not base or size <= _MAX_AT_ONCE:
                self._set_base(_with_newer(base, present))
            else:
                self._build.start(lambda: _with_newer(base, present))
        self._extend_overlay()

    def _extend_overlay(self) -> None:
        """Add the edges that neither the base nor the overlay has."""
        overlay = self._overlay
        for edge, (first, second) in enumerate(self.endpoints[self._overlay_end :].tolist(), self._overlay_end):
            overlay.setdefault(first, []).append(edge)
            if second != first:  # an edge from a vertex to itself is there once
                overlay.setdefault(second, []).append(edge)
        self._overlay_end = len(self._endpoints)

    def _set_base(self, base: tuple[_Part, ...]) -> None:
        self._base, self._cached, self._overlay = base, {}, {}
        self._overlay_end = base[-1].end


class _IgraphEdges:
    """A part of the edges, in igraph: those from the number `start` on, before the number `end`."""

    def __init__(self, endpoints: NDArray[np.int32], start: int) -> None:
        import igraph

        self.start, self.end = start, start + len(endpoints)
        self.vertex_count = int(endpoints.max()) + 1
        # As tuples: igraph takes more than twice as long for an array.
        self.graph = igraph.Graph(n=self.vertex_count, edges=list(zip(*endpoints.T.tolist(), strict=True)))
        self._has_loops = bool((endpoints[:, 0] == endpoints[:, 1]).any())

    def edges_of(self, vertex: int) -> list[int]:
        edges = self.graph.incident(vertex, mode="all")
        # igraph lists an edge from a vertex to itself twice.
        edges = sorted(set(edges) if self._has_loops else edges)
        return [self.start + edge for edge in edges] if self.start else edges


class _SortedEdges:
    """The edges of a large graph, by vertex. Every step is a call of numpy that lets other threads run."""

    def __init__(self, endpoints: NDArray[np.int32]) -> None:
        self.end, self.vertex_count = len(endpoints), int(endpoints.max()) + 1
        numbers = np.arange(self.end)
        first, second = (endpoints[:, end].astype(np.int64) << 32 | numbers for end in (0, 1))
        order = np.concatenate((first, second[first != second]))  # an edge from a vertex to itself is there once
        order.sort()
        self._starts = order.searchsorted(np.arange(self.vertex_count + 1) << 32)
        self._edges = (order & 0xFFFFFFFF).astype(np.int32)

    def edges_of(self, vertex: int) -> list[int]:
        begin, end = self._starts[vertex : vertex + 2].tolist()
        return self._edges[begin:end].tolist()  # type: ignore[no-any-return]


_Part: TypeAlias = _IgraphEdges | _SortedEdges


def _with_newer(base: tuple[_Part, ...], endpoints: NDArray[np.int32]) -> tuple[_Part, ...]:
    """The parts of all these edges. Parts of the base that are full stay as they are."""
    if len(endpoints) > _MAX_IGRAPH:
        return (_SortedEdges(endpoints),)
    full = tuple(part for part in base if isinstance(part, _IgraphEdges) and part.end - part.start == _MAX_PART)
    starts = range(full[-1].end if full else 0, len(endpoints), _MAX_PART)
    return (*full, *(_IgraphEdges(endpoints[start : start + _MAX_PART], start) for start in starts))


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
