"""Arrays that grow by one in constant time, and strings kept as arrays."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray


class Column:
    """A numpy array that grows.

    >>> column = Column(np.int64); column.append(3); column.extend([4, 5]); column.values.tolist()
    [3, 4, 5]
    """

    __slots__ = ("_data", "values")

    values: NDArray[Any]
    """What is there now. A view: later growth does not show in it, later writes do."""

    def __init__(self, dtype: DTypeLike, values: NDArray[Any] | None = None, *, width: int = 0) -> None:
        if values is not None:
            self._data = np.array(values, dtype=dtype)
            self.values = self._data
        else:
            self._data = np.empty((16, width) if width else 16, dtype=dtype)
            self.values = self._data[:0]

    def __len__(self) -> int:
        return len(self.values)

    def append(self, value: Any) -> None:
        """Add one at the end."""
        size = len(self.values)
        if size == len(self._data):
            self._reserve(1)
        self._data[size] = value
        self.values = self._data[: size + 1]

    def extend(self, values: Sequence[Any] | NDArray[Any]) -> None:
        """Add several at the end."""
        if len(values) == 1:
            self.append(values[0])  # half the price, and what one added memory does a dozen times
        elif len(values):
            self._put(len(values), values)

    def fill(self, count: int, value: Any) -> None:
        """Add so many at the end, all the same."""
        if count == 1:
            self.append(value)
        elif count:
            self._put(count, value)

    def _put(self, count: int, what: Any) -> None:
        size = len(self.values)
        self._reserve(count)
        self._data[size : size + count] = what
        self.values = self._data[: size + count]

    def _reserve(self, count: int) -> None:
        need = len(self.values) + count
        if need > len(self._data):
            shape = (max(need, len(self._data) * 3 // 2), *self._data.shape[1:])
            grown = np.empty(shape, dtype=self._data.dtype)
            grown[: len(self.values)] = self.values
            self._data = grown


def pack(value: Any) -> NDArray[np.uint8]:
    """Anything JSON can say, as an array (snapshots hold nothing else, so no pickle is ever read).

    >>> unpack(pack(["a", "b"]))
    ['a', 'b']
    """
    return np.frombuffer(json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass"), dtype=np.uint8)


def unpack(array: NDArray[np.uint8]) -> Any:
    """What `pack` was given."""
    return json.loads(array.tobytes().decode("utf-8", "surrogatepass"))


def pack_texts(texts: Collection[str]) -> NDArray[np.uint8]:
    """Many texts as an array, several times faster than `pack`: how many, how long each is, and all of them.

    >>> unpack_texts(pack_texts(["São", "", "José"]))
    ['São', '', 'José']
    """
    sizes = np.array([len(texts), *map(len, texts)], "<i8")
    return np.frombuffer(sizes.tobytes() + "".join(texts).encode("utf-8", "surrogatepass"), np.uint8)


def unpack_texts(array: NDArray[np.uint8]) -> list[str]:
    """What `pack_texts` was given."""
    raw = array.tobytes()
    [count] = np.frombuffer(raw, "<i8", 1).tolist()
    ends = [0, *np.frombuffer(raw, "<i8", count, offset=8).cumsum().tolist()]
    written = raw[8 * (count + 1) :].decode("utf-8", "surrogatepass")
    return [written[start:end] for start, end in pairwise(ends)]


def unique_inverse(values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """The values in order, each once, and for each value given its place among them.

    `np.unique` says the same in three times the time, and a recall asks for it some seven times.

    >>> [found.tolist() for found in unique_inverse(np.array([5, 3, 5]))]
    [[3, 5], [1, 0, 1]]
    """
    ordered = np.sort(values)
    found = ordered[run_starts(ordered)]
    return found, found.searchsorted(values)


def run_starts(values: NDArray[Any]) -> NDArray[np.int64]:
    """Where in a sorted array each value first stands.

    >>> run_starts(np.array([3, 3, 5])).tolist()
    [0, 2]
    """
    new = np.empty(len(values), np.bool_)
    new[:1] = True
    np.not_equal(values[1:], values[:-1], out=new[1:])
    return new.nonzero()[0]


def top_indices(scores: NDArray[Any], limit: int) -> NDArray[np.int64]:
    """Where the `limit` highest scores stand, highest first; equal ones by place, so always the same.

    >>> top_indices(np.array([1.0, 3.0, 3.0, 2.0]), 3).tolist()
    [1, 2, 3]
    """
    if limit < len(scores):
        # argpartition may cut through a run of equal scores at random: take all of the run, then sort.
        floor = np.partition(scores, len(scores) - limit)[len(scores) - limit]
        places = np.flatnonzero(scores >= floor)
        return places[np.argsort(-scores[places], kind="stable")[:limit]]
    return np.argsort(-scores, kind="stable")
