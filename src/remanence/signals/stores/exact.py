"""Vectors in a numpy matrix in memory: the reference that the other stores are compared with."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from remanence.errors import Closed, InvalidInput

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from remanence.ports import Vector

Fetch = Callable[[int], list[tuple[int, float]]]
"""Takes n, returns the best n points as (id, score), best first."""


class ExactStore:
    """Vectors of one space in memory, searched by a full scan.

    >>> store = ExactStore(2)
    >>> store.upsert([7, 8], np.array([[1, 0], [0, 1]], np.float32))
    >>> store.search(np.array([1, 0], np.float32), limit=1)
    ([7], [1.0])
    """

    def __init__(self, dimension: int) -> None:
        self._dimension = dimension
        self._lock = threading.RLock()
        self._closed = False
        self.clear()

    def upsert(self, ids: Sequence[int], vectors: Vector) -> None:
        rows = as_rows(vectors, len(ids), self._dimension)
        with self._lock:
            self._check_open()
            slots = [self._slots.setdefault(int(point), len(self._slots)) for point in ids]
            self._grow(len(self._slots))
            self._matrix[slots] = rows
            self._ids[slots] = ids

    def search(self, vector: Vector, limit: int, only: Sequence[int] | None = None) -> tuple[list[int], list[float]]:
        query = as_rows(vector, 1, self._dimension)[0]
        with self._lock:
            self._check_open()
            size = len(self._slots)
            if only is None:
                slots: NDArray[Any] = np.arange(size)
                scores = _dot(self._matrix[:size], query)
            elif len(only) * 8 < size:
                slots = np.array([self._slots[p] for p in set(only) if p in self._slots], np.intp)
                scores = _dot(self._matrix[slots], query)
            else:  # gathering that many rows costs more than scoring all
                slots = np.flatnonzero(np.isin(self._ids[:size], np.asarray(only, np.uint64)))
                scores = _dot(self._matrix[:size], query)[slots]
            limit = min(limit, len(slots))
            if limit <= 0:
                return [], []
            least = np.partition(scores, -limit)[-limit]
            best = np.flatnonzero(scores >= least)  # more than `limit` if it cuts among equals
            ids, scores = self._ids[slots[best]], scores[best]
            order = np.lexsort((ids, -scores))[:limit]
            return ids[order].tolist(), scores[order].tolist()

    def delete(self, ids: Sequence[int]) -> None:
        with self._lock:
            self._check_open()
            for point in ids:
                slot = self._slots.pop(point, None)
                last = len(self._slots)
                if slot is not None and slot != last:  # the last row takes its place
                    self._matrix[slot], self._ids[slot] = self._matrix[last], self._ids[last]
                    self._slots[int(self._ids[last])] = slot

    def ids(self) -> list[int]:
        with self._lock:
            self._check_open()
            return list(self._slots)

    def clear(self) -> None:
        with self._lock:
            self._check_open()
            self._slots: dict[int, int] = {}
            self._matrix: Vector = np.empty((0, self._dimension), np.float32)
            self._ids: NDArray[np.uint64] = np.empty(0, np.uint64)

    def flush(self) -> None:
        """Nothing to write."""

    def close(self) -> None:
        with self._lock:
            if not self._closed:
                self.clear()
                self._closed = True

    def _grow(self, size: int) -> None:
        if size > len(self._matrix):
            added = max(size, 2 * len(self._matrix), 64) - len(self._matrix)
            self._matrix = np.concatenate([self._matrix, np.empty((added, self._dimension), np.float32)])
            self._ids = np.concatenate([self._ids, np.zeros(added, np.uint64)])

    def _check_open(self) -> None:
        if self._closed:
            raise Closed("This vector store was closed. Open the space again.")


def _dot(rows: Vector, query: Vector) -> Vector:
    """The score of each row. Not `rows @ query`: BLAS may differ in the last digit between equal rows, so that ties
    would depend on their place, and its threads wait for each other on a busy machine."""
    scores: Vector = np.einsum("ij,j->i", rows, query)
    return scores


def as_rows(vectors: Vector, count: int, dimension: int) -> Vector:
    """`vectors` as `count` float32 rows of `dimension` numbers, or InvalidInput.

    >>> as_rows(np.array([1, 2], np.float32), 1, 2).shape
    (1, 2)
    """
    rows = np.atleast_2d(np.asarray(vectors, np.float32))
    if count == 0 and rows.size == 0:
        return np.empty((0, dimension), np.float32)
    if rows.shape != (count, dimension):
        raise InvalidInput(
            f"Expected {count} vectors of {dimension} numbers, got an array of shape {np.shape(vectors)}. "
            "Give one row for each point, from the embedder this store was opened for."
        )
    return rows


def top_points(fetch: Fetch, limit: int) -> tuple[list[int], list[float]]:
    """The first `limit` points, equal scores by the smaller number, whatever order `fetch` returns those in.

    If the last one has the same score as the next, more are fetched, so that the result does not depend on the order
    in which points were written.

    >>> top_points(lambda n: [(9, 1.0), (5, 0.5), (3, 0.5)][:n], 2)
    ([9, 3], [1.0, 0.5])
    """
    if limit <= 0:
        return [], []
    wanted = limit + 1
    found = fetch(wanted)
    while len(found) == wanted and found[-1][1] == found[limit - 1][1]:
        wanted *= 4
        found = fetch(wanted)
    best = sorted(found, key=lambda point: (-point[1], point[0]))[:limit]
    return [point for point, _ in best], [score for _, score in best]
