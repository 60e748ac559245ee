"""Vectors in a numpy matrix in memory: the reference that the other stores are compared with."""

from __future__ import annotations

import operator
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from remanence.errors import Closed, InvalidInput
from remanence.index.arrays.columns import Column

if TYPE_CHECKING:
    from remanence.ports import Vector

Fetch = Callable[[int], list[tuple[int, float]]]
"""Takes n, returns the best n points as (id, score), best first."""


class ExactStore:
    """Vectors of one space in memory, searched by a full scan."""

    def __init__(self, dimension: int) -> None:
        self._dimension = dimension
        self._lock = threading.RLock()
        self._closed = False
        self.clear()

    def __len__(self) -> int:
        return len(self._slots)

    def __contains__(self, point: int) -> bool:
        return point in self._slots

    def memory_bytes(self) -> int:
        return self._matrix.reserved_bytes + 150 * len(self._slots)

    def problem(self) -> str | None:
        return None

    def first(self, count: int) -> tuple[list[int], Vector]:
        """The points that were added first, up to `count`, with their vectors."""
        with self._usable():
            ids = list(islice(self._slots, count))
            return ids, self._matrix.values[[self._slots[point] for point in ids]]

    def upsert(self, ids: Sequence[int], vectors: Vector) -> None:
        rows = as_rows(vectors, len(ids), self._dimension)
        with self._usable():
            if not self._slots and len(set(ids)) == len(ids):  # the first ones are not looked up one by one
                self.load(np.array(ids, np.int64), rows.copy())
                return
            slots = [self._slots.setdefault(int(point), len(self._slots)) for point in ids]
            for column, values in ((self._matrix, rows), (self._ids, ids)):
                column.fill(max(0, len(self._slots) - len(column)), 0)
                column.values[slots] = values

    def search(
        self, vector: Vector, limit: int, allowed_ids: Sequence[int] | None = None
    ) -> tuple[list[int], list[float]]:
        query = as_rows(vector, 1, self._dimension)[0]
        with self._usable():
            slots: Any = slice(0, len(self._slots))
            if allowed_ids is not None:
                slots = [self._slots[point] for point in set(allowed_ids) if point in self._slots]
            # Not `@`: BLAS may differ in the last digit between equal rows, so that ties would depend on their place,
            # and its threads wait for each other on a busy machine.
            ids, scores = self._ids.values[slots], np.einsum("ij,j->i", self._matrix.values[slots], query)
            limit = min(limit, len(ids))
            if limit <= 0:
                return [], []
            least = np.partition(scores, -limit)[-limit]
            best = np.flatnonzero(scores >= least)  # more than `limit` if it cuts among equals
            order = best[np.lexsort((ids[best], -scores[best]))[:limit]]
            return ids[order].tolist(), scores[order].tolist()

    def delete(self, ids: Sequence[int]) -> None:
        with self._usable():
            for point in ids:
                slot = self._slots.pop(point, None)
                last = len(self._slots)
                if slot is not None and slot != last:  # the last row takes its place
                    for column in (self._matrix, self._ids):
                        column.values[slot] = column.values[last]
                    self._slots[int(self._ids.values[last])] = slot

    def ids(self) -> list[int]:
        with self._usable():
            return list(self._slots)

    def clear(self) -> None:
        with self._usable():
            self._slots: dict[int, int] = {}
            self._matrix = Column(np.float32, width=self._dimension)
            self._ids = Column(np.uint64)

    def load(self, ids: NDArray[np.int64], vectors: Vector) -> None:
        """Replace everything by these points, of which each is there once. The float32 rows belong to the store now."""
        with self._usable():
            self._slots = dict(zip(ids.tolist(), range(len(ids)), strict=True))
            self._matrix = Column(np.float32, as_rows(vectors, len(ids), self._dimension))
            self._ids = Column(np.uint64, ids.astype(np.uint64))

    def flush(self) -> None:
        """Nothing to write."""

    def close(self) -> None:
        with self._lock:
            if not self._closed:
                self.clear()
                self._closed = True

    @contextmanager
    def _usable(self) -> Iterator[None]:
        with self._lock:
            if self._closed:
                raise Closed("This vector store was closed. Open the space again.")
            yield


def as_rows(vectors: Vector, count: int, dimension: int) -> Vector:
    """`vectors` as `count` float32 rows of `dimension` numbers, or InvalidInput."""
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
    """The first `limit` points, equal scores by the smaller number, whatever order `fetch` returns those in."""
    if limit <= 0:
        return [], []
    fetch_limit = limit + 1
    points = fetch(fetch_limit)
    while len(points) == fetch_limit and points[-1][1] == points[limit - 1][1]:
        fetch_limit *= 4
        points = fetch(fetch_limit)
    scores = [score for _, score in points]
    if any(map(operator.eq, scores, scores[1:])):  # without equal scores they are in order
        points = sorted(points, key=lambda point: (-point[1], point[0]))
    best = points[:limit]
    return [point for point, _ in best], [score for _, score in best]
