"""Growing numpy arrays, texts and numbered values, and their indices in order."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Sequence
from itertools import islice
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T", bound=Hashable)

MAX_UNRESERVED_VALUES = 4_096
"""Values of a column up to which it reserves capacity only when it grows. Columns loaded with more reserve it at once,
so that adding the first memory does not reallocate them all."""


class Column:
    """A numpy array that grows at its end."""

    __slots__ = ("_data", "values")

    values: NDArray[Any]
    """The present content. It is a view: it shows later writes, but not later growth."""

    def __init__(
        self, dtype: type[np.generic] | np.dtype[Any], values: NDArray[Any] | None = None, *, width: int = 0
    ) -> None:
        """`values` belong to this column from now on."""
        if values is None:
            self._data = self.values = np.empty((0, width) if width else 0, dtype)
            return
        self._data = self.values = values if values.dtype == dtype else np.asarray(values, dtype)
        if len(values) > MAX_UNRESERVED_VALUES:
            self._reserve(len(values))
            self.values = self._data[: len(values)]

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, places: Any) -> Any:
        return self.values[places]

    @property
    def reserved_bytes(self) -> int:
        """How much memory it takes, with the room for what is added next."""
        return self._data.nbytes

    def append(self, value: Any) -> None:
        self.fill(1, value)

    def extend(self, values: Sequence[Any] | NDArray[Any]) -> None:
        if len(values):
            self.fill(len(values), values)

    def fill(self, count: int, value: Any) -> None:
        """Add this many rows, all with one value, or each with its own."""
        size = len(self.values) + count
        if size > len(self._data):
            self._reserve(size)
        self._data[size - count : size] = value
        self.values = self._data[:size]

    def _reserve(self, size: int) -> None:
        larger = max(size, size * 5 // 4, 16)
        grown = np.empty((larger, *self._data.shape[1:]), dtype=self._data.dtype)
        grown[: len(self.values)] = self.values
        self._data = grown


class PackedTexts:
    """The texts of a list that only grows, as an array for index files. Each call of `array` packs only those that are
    new, so that saving a million of them takes no longer than saving a few.

    >>> packed = PackedTexts()
    >>> PackedTexts.unpack(packed.array(["São", ""])), PackedTexts.unpack(packed.array(["São", "", "José"]))
    (['São', ''], ['São', '', 'José'])
    """

    __slots__ = ("_count", "_data")

    def __init__(self, array: NDArray[np.uint8] | None = None, count: int = 0) -> None:
        self._data: Column | None = None if array is None else Column(np.uint8, array)
        self._count = count

    def array(self, texts: Collection[str]) -> NDArray[np.uint8]:
        """The texts as an array, which does not change later. They begin with those of the last call."""
        if self._data is None:
            self._data = Column(np.uint8)
        new = texts[self._count :] if isinstance(texts, list) else list(islice(texts, self._count, None))
        if new:
            encoded = b"".join([text.encode("utf-8", "surrogatepass") + _END for text in new])
            self._data.extend(np.frombuffer(encoded, np.uint8))
            self._count = len(texts)
        return self._data.values

    @staticmethod
    def unpack(array: NDArray[np.uint8]) -> list[str]:
        raw = array.tobytes()
        if b"\0" in raw:
            return [part.decode("utf-8", "surrogatepass") for part in raw.split(_END)[:-1]]
        # The same, several times faster.
        return raw.replace(_END, b"\0").decode("utf-8", "surrogatepass").split("\0")[:-1]


class TextList(list[str]):
    """A list of texts that only grows."""

    def __init__(self, texts: Iterable[str] = (), packed: NDArray[np.uint8] | None = None) -> None:
        super().__init__(texts)
        self.packed = PackedTexts(packed, 0 if packed is None else len(self))

    @classmethod
    def from_array(cls, array: NDArray[np.uint8]) -> TextList:
        return cls(PackedTexts.unpack(array), array)


_END = b"\xff"
"""Ends each packed text: a byte that is in no text in UTF-8."""


class Interner(Generic[T]):
    """Values numbered in the order in which they were added."""

    def __init__(self, values: Iterable[T] = (), packed: NDArray[np.uint8] | None = None) -> None:
        """A list of values belongs to this interner from now on."""
        self.values: list[T] = values if isinstance(values, list) else list(values)
        self.packed = PackedTexts(packed, 0 if packed is None else len(self.values))
        self._numbers = dict(zip(self.values, range(len(self.values)), strict=True))

    @classmethod
    def from_array(cls, array: NDArray[np.uint8]) -> Interner[str]:
        return Interner(PackedTexts.unpack(array), array)

    def __len__(self) -> int:
        return len(self.values)

    def number(self, value: T) -> int | None:
        return self._numbers.get(value)

    def intern(self, value: T) -> int:
        number = self._numbers.setdefault(value, len(self.values))
        if number == len(self.values):
            self.values.append(value)
        return number


def split_bytes(array: NDArray[np.uint8], size: int) -> list[bytes]:
    """The bytes of an array in pieces of one size."""
    raw = array.tobytes()
    return [raw[begin : begin + size] for begin in range(0, len(raw), size)]


def round_to_half(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """These numbers, each rounded to one that float16 has."""
    return rows.astype(np.float16).astype(np.float32)


def run_starts(values: NDArray[Any]) -> NDArray[np.int64]:
    """The index of the first occurrence of each value in a sorted array."""
    changes = np.empty(len(values), np.bool_)
    changes[:1] = True
    np.not_equal(values[1:], values[:-1], out=changes[1:])
    return changes.nonzero()[0]


def top_indices(scores: NDArray[Any], limit: int) -> NDArray[np.int64]:
    """The indexes of the `limit` highest scores, highest first; equal scores by index.

    >>> top_indices(np.array([1.0, 3.0, 3.0, 2.0]), 3).tolist()
    [1, 2, 3]
    """
    if limit <= 0:
        return np.empty(0, np.int64)
    if limit < len(scores):
        # argpartition may choose any of several equal scores: take all of them, then sort.
        floor = np.partition(scores, len(scores) - limit)[len(scores) - limit]
        indices = np.flatnonzero(scores >= floor)
        return indices[np.argsort(-scores[indices], kind="stable")[:limit]]
    return np.argsort(-scores, kind="stable")
