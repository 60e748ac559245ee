"""Edges: which of them meet at a vertex, and when each was ended."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from remanence.index.arrays.codecs import Codec, pack, unpack
from remanence.index.arrays.columns import Column
from remanence.index.arrays.grouped import Grouped
from remanence.index.numbers import Position
from remanence.schema import OPEN_END


class Adjacency:
    """Edges by number, in the order in which they were added."""

    def __init__(self, endpoints: NDArray[Any] | None = None) -> None:
        self._endpoints = Column(np.int32, endpoints, width=2)
        self._by_vertex = Grouped()
        self._indexed = 0  # how many edges are in there

    def __len__(self) -> int:
        return len(self._endpoints)

    @property
    def endpoints(self) -> NDArray[np.int32]:
        return self._endpoints.values

    def extend(self, endpoints: Sequence[tuple[int, int]]) -> None:
        """Add edges."""
        self._endpoints.extend(endpoints)

    def edges_of(self, vertex: int) -> list[int]:
        """The edges at a vertex, oldest first; one from a vertex to itself is there once."""
        return self.edges_of_each((vertex,))[0]

    def edges_of_each(self, vertices: Iterable[int]) -> list[list[int]]:
        """The edges at each of these vertices."""
        if self._indexed < len(self):
            begin, self._indexed = self._indexed, len(self)
            numbers = np.arange(begin, self._indexed, dtype=np.int32).repeat(2)
            self._by_vertex.extend(self.endpoints[begin:].reshape(-1), numbers)
        self._by_vertex.pack_if_needed()
        found = list(vertices)
        return self._by_vertex.members_of_each(found) if found else []


class EdgeEnds:
    """When edges were ended by an `Invalidated` event, by ledger position."""

    def __init__(self, stored: Iterable[tuple[int, Iterable[tuple[int, int]]]] = ()) -> None:
        self._by_edge = {edge: [(position, end) for position, end in ends] for edge, ends in stored}

    def __len__(self) -> int:
        return len(self._by_edge)

    def stored(self) -> list[tuple[int, list[tuple[int, int]]]]:
        """What another one is made of."""
        return list(self._by_edge.items())

    def add(self, edge: int, position: Position, end: int) -> None:
        self._by_edge.setdefault(edge, []).append((position, end))

    def copy(self, edge: int, to: int) -> None:
        """Give an edge the endings of another one."""
        if edge in self._by_edge:
            self._by_edge[to] = list(self._by_edge[edge])

    def end_of(self, edge: int, position: Position) -> int:
        """When an edge was ended, in microseconds, as known at a position; OPEN_END if it was not."""
        ends = self._by_edge.get(edge)
        if ends is None:  # nearly always
            return OPEN_END
        return min((end for ended_at, end in ends if ended_at <= position), default=OPEN_END)

    def positions_of(self, edge: int) -> list[int]:
        return [position for position, _ in self._by_edge.get(edge, ())]

    def ended_edges(self, position: Position, moment: int) -> list[int]:
        """The edges that had ended by a moment, as known at a position."""
        return [edge for edge in self._by_edge if self.end_of(edge, position) <= moment]


GRAPH = Codec(lambda graph: graph.endpoints, Adjacency)
ENDINGS = Codec(lambda endings: pack(endings.stored()), lambda array: EdgeEnds(unpack(array)))
