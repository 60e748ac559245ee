"""Which of many vectors lie near each other: exactly, and without comparing every two of them.

Turned so that their first numbers say the most, two vectors are near only if their heads are: all that the
rest can add is the product of its lengths. One product of short vectors therefore rules out all but a few
pairs in ten thousand, and only those are compared. (Cells around centres rule out next to nothing in
hundreds of dimensions, and an approximate index would lose pairs in silence.)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from remanence.ports import Progress, Vector

Places = NDArray[np.intp]

_FEW = 4_000
"""Among no more vectors than this, comparing all of them is the quickest."""
_ROWS, _COLUMNS = 1_024, 4_096
_COMPARED = 16_384
"""Pairs compared at a time: each takes two whole vectors out of the matrix."""
_HEADS = (32, 64, 128)
_TELLING = 0.001
"""A head is long enough if it leaves no larger share of the pairs than this."""
_SAMPLE = 16_384
_ASKED = 256
_ROUNDING = 1e-4
"""More than what single precision may cost a bound."""
_HELD = 4_000_000


class Pairs(NamedTuple):
    """Places of two vectors, and how near they are (dot product)."""

    one: Places
    other: Places
    score: Vector


class Nearness:
    """The pairs among these vectors that are at least so near, of each vector no more than the nearest few.

    >>> near = Nearness(np.array([[1, 0], [0, 1], [0.8, 0.6], [1, 0]], np.float32), least=0.7, most=2)
    >>> [(int(a), int(b), round(float(score), 2)) for a, b, score in zip(*near.pairs())]
    [(0, 3, 1.0), (0, 2, 0.8), (2, 3, 0.8)]
    """

    def __init__(self, vectors: Vector, least: float, most: int, *, few: int = _FEW) -> None:
        self._vectors, self._least, self._most = vectors, least, most
        self._heads = vectors if len(vectors) <= few else _heads(vectors, least)
        self._floor = least if self._heads is vectors else least - _ROUNDING

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
        """Each block against itself and the later ones, which then need not be held against it."""
        best, count = _Best(self._most), len(self._vectors)
        for begin in range(0, count, _ROWS):
            rows = np.arange(begin, min(begin + _ROWS, count))
            for one, other, score in self._found(rows, begin):
                best.add(one, other, score)
                once = other > rows[-1]  # within the block each pair is met from both ends
                best.add(other[once], one[once], score[once])
            if progress is not None:
                # The first block is held against all, the last against itself.
                progress(count - (count - rows[-1] - 1) ** 2 // count, count)
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
            for found in self._found(rows, 0):
                best.add(*found)
            parts.append(best.settled())
            new = np.unique(parts[-1].other)
            new = new[~met[new]]
            met[new] = True
            waiting = np.concatenate([waiting, new])
            done += len(rows)
            if progress is not None:
                progress(done, done + len(waiting))
        return _joined(parts)

    def _found(self, rows: Places, begin: int) -> Iterator[Pairs]:
        """The near pairs of one of these rows with one from `begin` on."""
        heads = self._heads[rows]
        for left in range(begin, len(self._vectors), _COLUMNS):
            right = slice(left, left + _COLUMNS)
            bounds = heads @ self._heads[right].T
            inside = bounds >= self._floor
            if np.count_nonzero(inside) > bounds.size // 16 and self._heads is not self._vectors:
                bounds = self._vectors[rows] @ self._vectors[right].T
                inside = bounds >= self._least
            if np.count_nonzero(inside) > bounds.size // 16:
                # Very much is alike here, and of each row and column only the nearest can be among the
                # nearest of all. One more than those, as each is nearest to itself.
                most = self._most + 1
                inside &= _nearest(bounds, most) | _nearest(bounds.T, most).T
            at, to = np.divmod(np.flatnonzero(inside), inside.shape[1])
            yield self._compared(rows[at], to + left)

    def _compared(self, one: Places, other: Places) -> Pairs:
        parts = []
        for begin in range(0, len(one), _COMPARED):
            a, b = one[begin : begin + _COMPARED], other[begin : begin + _COMPARED]
            score = np.einsum("ij,ij->i", self._vectors[a], self._vectors[b])
            near = (score >= self._least) & (a != b)
            parts.append(Pairs(a[near], b[near], score[near]))
        return _joined(parts)


class _Best:
    """Of each place the nearest few others that it was told of; what is held does not grow with the rest."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._parts: list[Pairs] = []
        self._new = 0

    def add(self, one: Places, other: Places, score: Vector) -> None:
        self._parts.append(Pairs(one, other, score))
        self._new += len(one)
        if self._new > _HELD:
            self._parts, self._new = [self.settled()], 0

    def settled(self) -> Pairs:
        one, other, score = _joined(self._parts)
        order = np.lexsort((other, -score, one))
        one, other, score = one[order], other[order], score[order]
        first = np.flatnonzero(np.diff(one, prepend=-1))
        rank = np.arange(len(one)) - np.repeat(first, np.diff(first, append=len(one)))
        kept = rank < self._most
        return Pairs(one[kept], other[kept], score[kept])


def _heads(vectors: Vector, least: float) -> Vector:
    """Of each vector its first numbers in a better turned space, and the length of the rest: of two such
    heads the product is never less than that of their vectors. All of it where no head would tell."""
    sample = vectors[:: max(1, len(vectors) // _SAMPLE)]
    _, axes = np.linalg.eigh((sample.T @ sample).astype(np.float64))
    turned = np.ascontiguousarray(axes[:, ::-1], np.float32)
    lengths = np.einsum("ij,ij->i", vectors, vectors)
    for size in _HEADS:
        if 2 * size > vectors.shape[1]:
            break
        head = vectors @ turned[:, :size]
        rest = np.sqrt(np.maximum(0, lengths - np.einsum("ij,ij->i", head, head)))
        heads: Vector = np.column_stack([head, rest])
        some = heads[:: max(1, len(heads) // _SAMPLE)]
        asked = some[:: max(1, len(some) // _ASKED)]
        if np.count_nonzero(asked @ some.T >= least - _ROUNDING) <= _TELLING * len(asked) * len(some):
            return heads
    return vectors


def _nearest(scores: Vector, most: int) -> NDArray[np.bool_]:
    """Where the largest few of each line of a matrix stand; of equal ones, some."""
    out = np.zeros(scores.shape, np.bool_)
    if most >= scores.shape[1]:
        return ~out
    np.put_along_axis(out, np.argpartition(scores, -most, axis=1)[:, -most:], True, axis=1)
    return out


def _ordered(pairs: Pairs) -> Pairs:
    one, other = np.minimum(pairs.one, pairs.other), np.maximum(pairs.one, pairs.other)
    order = np.lexsort((other, one, -pairs.score))
    one, other, score = one[order], other[order], pairs.score[order]
    # The same pair from both ends has the very same score, so the two stand side by side.
    new = np.ones(len(one), np.bool_)
    new[1:] = (one[1:] != one[:-1]) | (other[1:] != other[:-1])
    return Pairs(one[new], other[new], score[new])


def _joined(parts: Sequence[Pairs]) -> Pairs:
    if not parts:
        return Pairs(np.empty(0, np.intp), np.empty(0, np.intp), np.empty(0, np.float32))
    return Pairs(*(np.concatenate(column) for column in zip(*parts, strict=True)))
