"""Which edges meet at a vertex, in a graph that grows.

igraph holds the edges up to the last fold. Adding one there costs time for all of them, so newer ones
wait in a small overlay until there are enough to fold; a vertex looked at has its edges from both.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from remanence.state.columns import Column

_LEAST_FOLD = 4_096
_MANY = 64


class Adjacency:
    """Edges by number, in the order they came.

    >>> ties = Adjacency()
    >>> ties.extend([(0, 1), (1, 2)])
    >>> ties.edges_of(1), ties.edges_of(7)
    ([0, 1], [])
    """

    def __init__(self, ends: NDArray[Any] | None = None) -> None:
        self._ends = Column(np.int32, ends, width=2)
        self._base: Any = None
        self._folded = 0
        self._sorted: dict[int, list[int]] = {}  # the folded edges of vertices that have many, once looked at
        self._overlay: dict[int, list[int]] = {}
        self._overlaid = 0

    def __len__(self) -> int:
        return len(self._ends)

    @property
    def endpoints(self) -> NDArray[np.int32]:
        """The two vertices of each edge."""
        return self._ends.values

    def extend(self, ends: Sequence[tuple[int, int]]) -> None:
        """Add edges. The price is paid by the next look at them."""
        self._ends.extend(ends)

    def edges_of(self, vertex: int) -> list[int]:
        """The edges that meet at a vertex, oldest first. Not to be written to: it may be given again."""
        self._catch_up()
        new = self._overlay.get(vertex, [])
        if self._base is None or vertex >= self._base.vcount():
            return new
        folded = self._sorted.get(vertex)
        if folded is None:
            folded = sorted(self._base.incident(vertex, mode="all"))
            if len(folded) > _MANY:
                self._sorted[vertex] = folded
        return folded + new if new else folded

    def _catch_up(self) -> None:
        count = len(self._ends)
        if count == self._overlaid:
            return
        if count - self._folded > max(_LEAST_FOLD, self._folded // 4):
            self._fold()
            return
        for edge, (a, b) in enumerate(self._ends.values[self._overlaid :].tolist(), self._overlaid):
            self._overlay.setdefault(a, []).append(edge)
            if a != b:
                self._overlay.setdefault(b, []).append(edge)
        self._overlaid = count

    def _fold(self) -> None:
        """Put all edges into igraph."""
        import igraph

        ends = self._ends.values
        self._base = igraph.Graph(n=int(ends.max()) + 1, edges=np.ascontiguousarray(ends))
        self._folded = self._overlaid = len(ends)
        self._overlay, self._sorted = {}, {}
