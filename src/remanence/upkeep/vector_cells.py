"""An index of many vectors for finding the near ones of all of them: cells around centres.

Each vector lies in the cell of the centre nearest to it, and what is near a vector is looked for in the
few cells whose centres are nearest. Of n vectors there are about 2√n cells, so that to look up all of them
costs n√n and not n². (The index behind `recall` scans: for one question that is the quickest and exact,
for a hundred thousand of them it would be comparing all pairs.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from remanence.ports import Vector

Indices = NDArray[np.intp]

_FEW = 4_000
"""No more vectors than this lie in one cell: comparing all of them is the quickest, and leaves none out."""
_LOOKED_INTO = 12
"""Cells that a vector is looked for in. Of near pairs among real texts 998 in 1,000 are then found, among
vectors that lie in no groups 985."""
_MAX_STRETCH = 4_096
"""A cell that holds more than this holds much the same over and over, and is looked into by stretches."""
_TWINS = 0.999
_ROUNDS = 2
_SAMPLE = 32
"""Vectors for each centre that decide where it comes to lie."""
_BLOCK = 2_048


class VectorCells:
    """Where each of these vectors lies, and where what is near to it may lie.

    >>> cells = VectorCells(np.eye(3, dtype=np.float32))
    >>> [(looking.tolist(), there.tolist()) for looking, there in cells.candidate_groups(np.array([0, 2]))]
    [([0, 2], [0, 1, 2])]
    """

    def __init__(self, vectors: Vector, *, max_single_cell: int = _FEW) -> None:
        centres = _centres(vectors, 1 if len(vectors) <= max_single_cell else int(2 * len(vectors) ** 0.5))
        every = np.arange(len(vectors))
        self._looked_into = _blockwise(lambda at: _nearest(vectors[at] @ centres.T), every)
        """Of each vector the cells of the nearest centres, its own first."""
        homes = self._looked_into[:, 0]
        near = _blockwise(lambda at: np.einsum("ij,ij->i", vectors[at], centres[homes[at]]), every)
        # The farthest first: who comes from another cell looks into the first stretch of a crowded one.
        self._order = np.lexsort((near.round(4), homes))
        self._first, self._bounds = _cut(np.bincount(homes, minlength=len(centres)))
        self._stretch = np.empty(len(vectors), np.intp)
        self._stretch[self._order] = np.repeat(np.arange(len(self._bounds) - 1), np.diff(self._bounds))

    def candidate_groups(self, places: Indices) -> Iterator[tuple[Indices, Indices]]:
        """For each cell that one of these is looked for in: which of them, and what lies there."""
        cells = self._looked_into[places]
        at_home = cells == cells[:, :1]
        stretches = np.where(at_home, self._stretch[places][:, None], self._first[cells]).ravel()
        order = np.argsort(stretches, kind="stable")
        looking = places[order // cells.shape[1]]
        met, begins = np.unique(stretches[order], return_index=True)
        begins = np.append(begins, len(looking))
        for at, stretch in enumerate(met):
            there = self._order[self._bounds[stretch] : self._bounds[stretch + 1]]
            if len(there):
                yield looking[begins[at] : begins[at + 1]], there


def _nearest(scores: Vector) -> Indices:
    """The places of the largest few of each line, the very largest first."""
    if scores.shape[1] > _LOOKED_INTO:
        nearest = np.argpartition(-scores, _LOOKED_INTO, axis=1)[:, :_LOOKED_INTO]
        order = np.argsort(-np.take_along_axis(scores, nearest, 1), axis=1, kind="stable")
        return np.take_along_axis(nearest, order, 1)
    return np.argsort(-scores, axis=1, kind="stable")


def _centres(vectors: Vector, count: int) -> Vector:
    """So many centres at most: some of the vectors, evenly picked, each moved amid those nearest to it."""
    if count <= 1:
        return np.zeros((1, vectors.shape[1]), vectors.dtype)  # all lie there, wherever it is
    centres = vectors[np.linspace(0, len(vectors) - 1, count).astype(np.intp)]
    some = vectors[:: max(1, len(vectors) // (_SAMPLE * count))]
    for _ in range(_ROUNDS):
        nearest = _blockwise(lambda at: np.argmax(some[at] @ centres.T, axis=1), np.arange(len(some)))
        order = np.argsort(nearest, kind="stable")
        met, begins = np.unique(nearest[order], return_index=True)
        sums = np.add.reduceat(some[order], begins)
        lengths = np.linalg.norm(sums, axis=1)
        met, sums, lengths = met[lengths > 0], sums[lengths > 0], lengths[lengths > 0]
        centres[met] = sums / lengths[:, None]
    # Of twins one is enough: who looks into a dozen copies of one cell sees nothing around it.
    alone: Vector = centres[~(np.tril(centres @ centres.T, -1) >= _TWINS).any(axis=1)]
    return alone


def _cut(sizes: Indices) -> tuple[Indices, Indices]:
    """Cells of these sizes in stretches of at most `_CROWD`, as even as can be: the first stretch of each
    cell, and where each stretch begins; at the end, where the last one ends."""
    parts = np.maximum(1, -(-sizes // _MAX_STRETCH))
    first, ends = np.cumsum(parts) - parts, np.cumsum(sizes)
    cell = np.repeat(np.arange(len(sizes)), parts)
    number = np.arange(len(cell)) - first[cell]
    begins = (ends - sizes)[cell] + sizes[cell] * number // parts[cell]
    return first, np.append(begins, sizes.sum())


def _blockwise(work: Callable[[Indices], NDArray[Any]], places: Indices) -> NDArray[Any]:
    """What this gives for each of the places, a block at a time: the scores of all would fill the memory."""
    return np.concatenate([work(places[at : at + _BLOCK]) for at in range(0, max(1, len(places)), _BLOCK)])
