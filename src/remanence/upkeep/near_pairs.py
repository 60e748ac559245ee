"""Which of many vectors lie near each other, without comparing every two of them.

Each is held only against what lies in the cells around it (cells.py). Up to a few thousand, that is all of
them and none is left out; of more, a pair that is barely near enough may be.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from remanence.upkeep.vector_cells import Indices, VectorCells

if TYPE_CHECKING:
    from remanence.ports import Progress, Vector

_ROWS = 1_024
"""Vectors that are followed at a time from a few seeds."""
_COMPARED = 4_194_304
"""Pairs compared at a time."""
_MAX_BUFFERED_PAIRS = 4_000_000


class Pairs(NamedTuple):
    """Places of two vectors, and how near they are (dot product)."""

    first: Indices
    second: Indices
    score: Vector


class NearPairFinder:
    """The pairs among these vectors that are at least so near, of each vector no more than the nearest few.

    >>> vectors = np.array([[1, 0], [0, 1], [0.8, 0.6], [1, 0]], np.float32)
    >>> near = NearPairFinder(vectors, min_similarity=0.7, max_neighbours=2)
    >>> [(int(a), int(b), round(float(score), 2)) for a, b, score in zip(*near.pairs())]
    [(0, 3, 1.0), (0, 2, 0.8), (2, 3, 0.8)]
    """

    def __init__(
        self, vectors: Vector, min_similarity: float, max_neighbours: int, *, cells: VectorCells | None = None
    ) -> None:
        self._vectors, self._least, self._most = vectors, min_similarity, max_neighbours
        self._cells = cells or VectorCells(vectors)

    def pairs(self, seeds: Sequence[int] | None = None, progress: Progress | None = None) -> Pairs:
        """Each pair once, the smaller place first, the nearest pairs first.

        With `seeds`, those that can be reached from these vectors: for a few new ones among many old.
        """
        if seeds is None or 2 * len(seeds) > len(self._vectors):
            return _ordered(self._all(progress))
        return _ordered(self._reached(seeds, progress))

    def cohesion(self, places: Sequence[int]) -> float:
        """How near all pairs among these vectors are, on average."""
        some = self._vectors[list(places)]
        sums = float((some @ some.T).sum() - np.einsum("ij,ij->", some, some))
        return round(min(1.0, sums / (len(some) * (len(some) - 1))), 4)

    def _all(self, progress: Progress | None) -> Pairs:
        best, count = _Best(self._most), len(self._vectors)
        for share, found in self._found(np.arange(count)):
            best.add(*found)
            if progress is not None:
                progress(int(share * count), count)
        return best.settled()

    def _reached(self, seeds: Sequence[int], progress: Progress | None) -> Pairs:
        waiting = np.unique(np.asarray(seeds, np.intp))
        met = np.zeros(len(self._vectors), np.bool_)
        met[waiting] = True
        parts: list[Pairs] = []
        done = 0
        while len(waiting):
            rows, waiting = waiting[:_ROWS], waiting[_ROWS:]
            best = _Best(self._most)
            for _, found in self._found(rows):
                best.add(*found)
            parts.append(best.settled())
            new = np.unique(parts[-1].second)
            new = new[~met[new]]
            met[new] = True
            waiting = np.concatenate([waiting, new])
            done += len(rows)
            if progress is not None:
                progress(done, done + len(waiting))
        return _joined(parts)

    def _found(self, places: Indices) -> Iterator[tuple[float, Pairs]]:
        """The near pairs of one of these with any, and which share of the work is done."""
        visits = list(self._cells.candidate_groups(places))
        whole, done = sum(len(looking) * len(there) for looking, there in visits), 0
        for looking, there in visits:
            vectors, step = self._vectors[there], max(1, _COMPARED // len(there))
            for begin in range(0, len(looking), step):
                some = looking[begin : begin + step]
                scores = self._vectors[some] @ vectors.T
                inside = scores >= self._least
                if np.count_nonzero(inside) > inside.size // 16:
                    # Very much is alike here. One more than the nearest, as each is nearest to itself.
                    inside &= _nearest(scores, self._most + 1)
                at, to = np.nonzero(inside)
                one, other = some[at], there[to]
                apart = one != other
                done += scores.size
                yield done / whole, Pairs(one[apart], other[apart], scores[inside][apart])


class _Best:
    """Of each place the nearest few others that it was told of; what is held does not grow with the rest."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._parts: list[Pairs] = []
        self._new = 0

    def add(self, one: Indices, other: Indices, score: Vector) -> None:
        self._parts.append(Pairs(one, other, score))
        self._new += len(one)
        if self._new > _MAX_BUFFERED_PAIRS:
            self._parts, self._new = [self.settled()], 0

    def settled(self) -> Pairs:
        one, other, score = _joined(self._parts)
        order = np.lexsort((other, -score, one))
        one, other, score = one[order], other[order], score[order]
        first = np.flatnonzero(np.diff(one, prepend=-1))
        rank = np.arange(len(one)) - np.repeat(first, np.diff(first, append=len(one)))
        kept = rank < self._most
        return Pairs(one[kept], other[kept], score[kept])


def _nearest(scores: Vector, most: int) -> NDArray[np.bool_]:
    """Where the largest few of each line of a matrix stand; of equal ones, some."""
    out = np.zeros(scores.shape, np.bool_)
    if most >= scores.shape[1]:
        return ~out
    np.put_along_axis(out, np.argpartition(scores, -most, axis=1)[:, -most:], True, axis=1)
    return out


def _ordered(pairs: Pairs) -> Pairs:
    one, other = np.minimum(pairs.first, pairs.second), np.maximum(pairs.first, pairs.second)
    # From its two ends a pair may have scores that differ in the last place: one of them is taken.
    _, once = np.unique(one << 32 | other, return_index=True)
    order = once[np.lexsort((other[once], one[once], -pairs.score[once]))]
    return Pairs(one[order], other[order], pairs.score[order])


def _joined(parts: Sequence[Pairs]) -> Pairs:
    if not parts:
        return Pairs(np.empty(0, np.intp), np.empty(0, np.intp), np.empty(0, np.float32))
    return Pairs(*(np.concatenate(column) for column in zip(*parts, strict=True)))
