"""Pairs of similar vectors among many, without comparing every two.

Each vector lies in the cell of the centre nearest to it, and is compared with the vectors in the few cells
whose centres are nearest. There are about 2√n cells for n vectors, so that comparing costs n√n and not n².
Up to a few thousand vectors lie in one cell and no pair is missed; among more, a pair barely above the
threshold may be. (The index behind `recall` scans all vectors, which is fast and exact for one question.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from remanence.ports import Progress
from remanence.upkeep.plans import batches

Indices = NDArray[np.intp]
Vector = NDArray[np.float32]

_MAX_SINGLE_CELL = 4_000
"""Up to this many vectors lie in one cell: comparing all of them is fastest."""
_PROBES = 12
"""Cells that a vector is compared with. This finds 998 of 1,000 similar pairs among real texts, and 985
among vectors without groups."""
_SAME_CENTRE = 0.999
_CENTRE_ROUNDS = 2
_SAMPLES_PER_CENTRE = 32
_BLOCK = 2_048
_MAX_COMPARISONS = 4_194_304
"""Pairs compared in one matrix product."""
_MAX_BUFFERED_PAIRS = 4_000_000


class Pairs(NamedTuple):
    """Indices of two vectors each, and their similarity (dot product)."""

    first: Indices
    second: Indices
    score: Vector


class NearPairFinder:
    """Finds the pairs with at least a given similarity, and for each vector no more than the nearest few."""

    def __init__(
        self, vectors: Vector, min_similarity: float, max_neighbours: int, *, max_single_cell: int = _MAX_SINGLE_CELL
    ) -> None:
        self._vectors, self._min_similarity, self._max_neighbours = vectors, min_similarity, max_neighbours
        centres = _centres(vectors, 1 if len(vectors) <= max_single_cell else int(2 * len(vectors) ** 0.5))
        probes = min(_PROBES, len(centres))

        def nearest(block: Vector) -> Indices:
            return np.argpartition(-(block @ centres.T), (0, probes - 1), axis=1)[:, :probes]

        self._probed_cells = _blockwise(nearest, vectors)
        """For each vector the cells of the nearest centres, its own cell first."""
        own = self._probed_cells[:, 0]
        ends = np.cumsum(np.bincount(own, minlength=len(centres)))
        self._members = np.split(np.argsort(own, kind="stable"), ends[:-1])

    def pairs(self, seeds: Sequence[int] | None = None, progress: Progress | None = None) -> Pairs:
        """Each pair once, the smaller index first, the most similar pairs first.

        With `seeds`, only the pairs connected to these vectors, directly or through others.
        """
        queue = np.arange(len(self._vectors)) if seeds is None else np.unique(np.asarray(seeds, np.intp))
        visited, parts = queue, list[Pairs]()
        while len(queue):
            parts.append(self._neighbours(queue, progress))
            queue = np.setdiff1d(parts[-1].second, visited)
            visited = np.union1d(visited, queue)
        return _unique(_concatenated(parts))

    def cohesion(self, indices: Sequence[int]) -> float:
        """The average similarity of all pairs among these vectors."""
        chosen = self._vectors[list(indices)]
        total = float((chosen @ chosen.T).sum() - np.einsum("ij,ij->", chosen, chosen))
        return round(min(1.0, total / (len(chosen) * (len(chosen) - 1))), 4)

    def candidate_groups(self, indices: Indices) -> Iterator[tuple[Indices, Indices]]:
        """For each cell to search: which of these vectors to compare with its members, and the members."""
        cells = self._probed_cells[indices]
        order = np.argsort(cells, axis=None, kind="stable")
        queries = indices[order // cells.shape[1]]
        found, begins = np.unique(cells.ravel()[order], return_index=True)
        for cell, group in zip(found, np.split(queries, begins[1:]), strict=False):
            if len(self._members[cell]):
                yield group, self._members[cell]

    def _neighbours(self, indices: Indices, progress: Progress | None) -> Pairs:
        """The nearest few of each of these vectors. Memory stays bounded: buffered pairs are cut regularly."""
        parts: list[Pairs] = []
        for [(queries, members)] in batches(list(self.candidate_groups(indices)), 1, progress):
            size = max(1, _MAX_COMPARISONS // len(members))
            for block in np.split(queries, range(size, len(queries), size)):
                parts.append(self._similar(block, members))
                if sum(len(part.first) for part in parts) > _MAX_BUFFERED_PAIRS:
                    parts = [_nearest_pairs(parts, self._max_neighbours)]
        return _nearest_pairs(parts, self._max_neighbours)

    def _similar(self, queries: Indices, members: Indices) -> Pairs:
        """The similar pairs of each of these vectors with one of the members."""
        scores = self._vectors[queries] @ self._vectors[members].T
        mask = scores >= self._min_similarity
        if np.count_nonzero(mask) > mask.size // 16:
            # Most are similar here. One more than the nearest, as each is nearest to itself.
            mask &= _largest(scores, self._max_neighbours + 1)
        rows, columns = np.nonzero(mask)
        first, second = queries[rows], members[columns]
        distinct = first != second
        return Pairs(first[distinct], second[distinct], scores[mask][distinct])


def _nearest_pairs(parts: Sequence[Pairs], limit: int) -> Pairs:
    """Of each first vector the pairs with the nearest few others."""
    first, second, score = _concatenated(parts)
    order = np.lexsort((second, -score, first))
    first = first[order]
    begins = np.flatnonzero(np.diff(first, prepend=-1))
    rank = np.arange(len(first)) - np.repeat(begins, np.diff(begins, append=len(first)))
    chosen = order[rank < limit]
    return Pairs(first[rank < limit], second[chosen], score[chosen])


def _largest(scores: Vector, count: int) -> NDArray[np.bool_]:
    """A mask of the largest few values of each row; of equal ones, any."""
    count = min(count, scores.shape[1])
    mask = np.zeros(scores.shape, np.bool_)
    np.put_along_axis(mask, np.argpartition(scores, -count, axis=1)[:, -count:], True, axis=1)
    return mask


def _unique(pairs: Pairs) -> Pairs:
    first, second = np.minimum(pairs.first, pairs.second), np.maximum(pairs.first, pairs.second)
    # The two directions of a pair may have scores that differ in the last digit: one of them is chosen.
    _, once = np.unique(first << 32 | second, return_index=True)
    order = once[np.lexsort((second[once], first[once], -pairs.score[once]))]
    return Pairs(first[order], second[order], pairs.score[order])


def _concatenated(parts: Sequence[Pairs]) -> Pairs:
    empty = Pairs(np.empty(0, np.intp), np.empty(0, np.intp), np.empty(0, np.float32))
    return Pairs(*(np.concatenate(column) for column in zip(empty, *parts, strict=True)))


def _centres(vectors: Vector, count: int) -> Vector:
    """At most this many centres: evenly chosen vectors, each moved to the mean of those nearest to it."""
    if count <= 1:
        return np.zeros((1, vectors.shape[1]), vectors.dtype)  # one cell holds everything, wherever its centre is
    centres = vectors[np.linspace(0, len(vectors) - 1, count).astype(np.intp)]
    sample = vectors[:: max(1, len(vectors) // (_SAMPLES_PER_CENTRE * count))]
    for _ in range(_CENTRE_ROUNDS):
        nearest = _blockwise(lambda block: np.argmax(block @ centres.T, axis=1), sample)
        sums = np.zeros_like(centres)
        np.add.at(sums, nearest, sample)
        lengths = np.linalg.norm(sums, axis=1)
        centres[lengths > 0] = sums[lengths > 0] / lengths[lengths > 0, None]
    # One of several equal centres is enough: a vector compared with copies of one cell finds nothing else.
    repeated = (np.tril(centres @ centres.T, -1) >= _SAME_CENTRE).any(axis=1)
    distinct: Vector = centres[~repeated]
    return distinct


def _blockwise(function: Callable[[Vector], NDArray[Any]], vectors: Vector) -> NDArray[Any]:
    """A function applied block by block: the scores of all vectors at once would not fit in memory."""
    return np.concatenate([function(vectors[at : at + _BLOCK]) for at in range(0, max(1, len(vectors)), _BLOCK)])
