"""Pairs of vectors that are near each other: every two are compared, a block at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from remanence.ports import Progress
from remanence.upkeep.plans import batches

Indices = NDArray[np.intp]
Vector = NDArray[np.float32]
_MAX_SCORES = 8_388_608
"""Similarities that are in memory at a time: 32 MB."""


class Pairs(NamedTuple):
    """Indices of two vectors each, and their similarity (dot product)."""

    first: Indices
    second: Indices
    score: Vector


def find_pairs(
    vectors: Vector,
    min_similarity: float,
    max_neighbours: int,
    seeds: Sequence[int] | None = None,
    progress: Progress | None = None,
) -> Pairs:
    """The pairs with at least this similarity, for each vector no more than the nearest few. Each pair comes once, the
    smaller index first, the most similar pairs first.

    With `seeds`, only the pairs connected to these vectors, directly or through others.
    """
    queue = np.arange(len(vectors)) if seeds is None else np.unique(np.asarray(seeds, np.intp))
    visited, found = queue, [Pairs(np.empty(0, np.intp), np.empty(0, np.intp), np.empty(0, np.float32))]
    while len(queue):
        for block in batches(queue.tolist(), max(1, _MAX_SCORES // len(vectors)), progress):
            found.append(_nearest(vectors, np.array(block, np.intp), min_similarity, max_neighbours))
        queue = np.setdiff1d(np.concatenate([part.second for part in found]), visited)
        visited = np.union1d(visited, queue)
    one, other, score = (np.concatenate(column) for column in zip(*found, strict=True))
    first, second = np.minimum(one, other), np.maximum(one, other)
    # The two directions of a pair may have scores that differ in the last digit: one of them is chosen.
    _, once = np.unique(first << 32 | second, return_index=True)
    order = once[np.lexsort((second[once], first[once], -score[once]))]
    return Pairs(first[order], second[order], score[order])


def cohesion(vectors: Vector, indices: Sequence[int]) -> float:
    """The average similarity of all pairs among these vectors."""
    chosen = vectors[list(indices)]
    total = float((chosen @ chosen.T).sum() - np.einsum("ij,ij->", chosen, chosen))
    return round(min(1.0, total / (len(chosen) * (len(chosen) - 1))), 4)


def _nearest(vectors: Vector, indices: Indices, min_similarity: float, limit: int) -> Pairs:
    """The nearest few of each of these vectors."""
    scores = vectors[indices] @ vectors.T
    scores[np.arange(len(indices)), indices] = -np.inf
    near = scores >= min_similarity
    crowded = np.flatnonzero(np.count_nonzero(near, axis=1) > limit)
    near[crowded] = False
    near[crowded[:, None], np.argpartition(scores[crowded], -limit, axis=1)[:, -limit:]] = bool(len(crowded))
    rows, second = np.nonzero(near)
    return Pairs(indices[rows], second, scores[near])
