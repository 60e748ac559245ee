"""What layouts of igraph need besides: chance that gives the same result every time, and boxes that do not overlap."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

_random_lock = Lock()

Floats: TypeAlias = NDArray[np.float64]


@contextmanager
def seeded_igraph() -> Iterator[None]:
    """For what igraph does with chance: the same result every time. igraph has one random generator for the whole
    process and cannot return the one that is set. Afterwards it is `random` again, igraph's default."""
    import igraph

    with _random_lock:
        igraph.set_random_number_generator(random.Random(1))
        try:
            yield
        finally:
            igraph.set_random_number_generator(random)


def separate(points: Floats, boxes: Floats) -> Floats:
    """Move the boxes as little as possible until hardly any two overlap."""
    points = points.copy()
    for _ in range(80):
        first, second = _overlapping_pairs(points[:, 0] - boxes[:, 0] / 2, points[:, 0] + boxes[:, 0] / 2)
        distance = points[first] - points[second]
        overlap = (boxes[first] + boxes[second]) / 2 - np.abs(distance)
        both = (overlap > 0.5).all(axis=1)
        if not both.any():
            break
        first, second, distance, overlap = first[both], second[both], distance[both], overlap[both]
        # Along the axis with the smaller overlap; two boxes in one place are separated by their order.
        pair, axis = np.arange(len(first)), overlap.argmin(axis=1)
        push = overlap[pair, axis] / 2 * np.where(distance[pair, axis] >= 0, 1, -1)
        np.add.at(points, (first, axis), push)
        np.add.at(points, (second, axis), -push)
    return points


def _overlapping_pairs(left: Floats, right: Floats) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Every pair of intervals that overlap, by their numbers."""
    order = np.argsort(left, kind="stable")
    rank = np.arange(len(order))
    following = np.searchsorted(left[order], right[order]) - rank - 1
    first = np.repeat(rank, following)
    second = first + 1 + np.arange(len(first)) - np.repeat(np.cumsum(following) - following, following)
    return order[first], order[second]
