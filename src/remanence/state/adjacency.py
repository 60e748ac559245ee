"""A growing graph: which edges meet at a vertex, and since when an edge no longer holds.

igraph stores the edges up to the last rebuild. Adding one there takes time for all of them, so newer edges
are collected in a small overlay until there are enough for a rebuild.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from remanence.schema import OPEN_END
from remanence.state.columns import Codec, Column, pack, run_starts, unpack

_MIN_REBUILD = 32
_MIN_CACHED = 64


class Adjacency:
    """Edges by number, in the order in which they were added."""

    def __init__(self, endpoints: NDArray[Any] | None = None) -> None:
        self._endpoints = Column(np.int32, endpoints, width=2)
        self._graph: Any = None
        self._graph_size = self._vertex_count = 0
        self._cached: dict[int, list[int]] = {}  # edges in igraph of vertices that have many
        self._overlay: dict[int, list[int]] = {}
        self._overlay_end = 0

    def __len__(self) -> int:
        return len(self._endpoints)

    @property
    def endpoints(self) -> NDArray[np.int32]:
        return self._endpoints.values

    def extend(self, endpoints: Sequence[tuple[int, int]]) -> None:
        """Add edges. They are indexed by the next `edges_of`."""
        self._endpoints.extend(endpoints)

    def edges_of(self, vertex: int) -> list[int]:
        """The edges at a vertex, oldest first. The list is shared: do not change it."""
        return self.edges_of_each((vertex,))[0]

    def edges_of_each(self, vertices: Iterable[int]) -> list[list[int]]:
        """The edges at each of these vertices."""
        self._update()
        out: list[list[int]] = []
        for vertex in vertices:
            newer = self._overlay.get(vertex)
            if vertex >= self._vertex_count:
                out.append(newer or [])
                continue
            older = self._cached.get(vertex)
            if older is None:
                older = sorted(self._graph.incident(vertex, mode="all"))
                if len(older) > _MIN_CACHED:
                    self._cached[vertex] = older
            out.append(older + newer if newer else older)
        return out

    def _update(self) -> None:
        size = len(self._endpoints)
        if size == self._overlay_end:
            return
        if size - self._graph_size > max(_MIN_REBUILD, self._graph_size // 4):
            self._rebuild()
            return
        new = self.endpoints[self._overlay_end :]
        is_loop = new[:, 0] == new[:, 1]
        ends = np.concatenate((new[:, 0], new[~is_loop, 1]))
        edges = np.concatenate((np.arange(len(new)), np.flatnonzero(~is_loop)))
        order = np.lexsort((edges, ends))
        starts = run_starts(ends[order])
        by_vertex = (edges[order] + self._overlay_end).tolist()
        for vertex, (start, end) in zip(
            ends[order[starts]].tolist(), pairwise([*starts.tolist(), len(by_vertex)]), strict=True
        ):
            self._overlay.setdefault(vertex, []).extend(by_vertex[start:end])
        self._overlay_end = size

    def _rebuild(self) -> None:
        import igraph

        self._vertex_count = int(self.endpoints.max()) + 1
        self._graph = igraph.Graph(n=self._vertex_count, edges=self.endpoints.astype(np.int64))
        self._graph_size = self._overlay_end = len(self.endpoints)
        self._overlay, self._cached = {}, {}


class Endings:
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
ENDINGS = Codec(lambda endings: pack(list(endings._by_edge.items())), lambda array: Endings(unpack(array)))
