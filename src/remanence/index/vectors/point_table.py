"""Which points a space has: one for each passage of each version that has text, with the hash of its text."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from remanence.events import Remembered
from remanence.index.arrays.columns import Column, split_bytes
from remanence.text.text import text_hash

PASSAGE_BITS = 12
MAX_PASSAGES = 1 << PASSAGE_BITS


class PointTable:
    """The points of one space in order, each `row << PASSAGE_BITS | passage`, and the hashes of their texts."""

    def __init__(self) -> None:
        self._points = Column(np.int64)
        self._hashes = Column(np.uint8, width=16)
        self.row_count = 0

    def __len__(self) -> int:
        return len(self._points)

    @property
    def points(self) -> NDArray[np.int64]:
        return self._points.values

    @property
    def hashes(self) -> NDArray[np.uint8]:
        return self._hashes.values

    def add(self, first: int, versions: Sequence[Remembered | None]) -> tuple[list[int], list[bytes]]:
        """Add the points of the versions from row `first` on that are not here yet. Returns them and their hashes."""
        points: list[int] = []
        hashes: list[bytes] = []
        for row, version in enumerate(versions, first):
            if row < self.row_count:
                continue
            self.row_count = row + 1
            for number, text in enumerate(passage_texts(version)):
                points.append(row << PASSAGE_BITS | number)
                hashes.append(text_hash(text))
        if points:
            self._points.extend(points)
            self._hashes.extend(np.frombuffer(b"".join(hashes), np.uint8).reshape(-1, 16))
        return points, hashes

    def remove(self, rows: Sequence[int]) -> NDArray[np.int64]:
        """Remove the points of these rows, and return them."""
        chosen = np.zeros(len(self), np.bool_)
        for begin, end in self.ranges_of(rows).tolist():
            chosen[begin:end] = True
        removed: NDArray[np.int64] = self.points[chosen]
        if len(removed):
            self._points = Column(np.int64, self.points[~chosen])
            self._hashes = Column(np.uint8, self.hashes[~chosen])
        return removed

    def ranges_of(self, rows: Sequence[int]) -> NDArray[np.int64]:
        """For each of these rows where its points begin and end among all."""
        starts = np.array(rows, np.int64) << PASSAGE_BITS
        bounds: NDArray[np.int64] = np.searchsorted(self.points, [starts, starts + MAX_PASSAGES]).T
        return bounds

    def hashes_outside(self, rows: Sequence[int], hashes: Collection[bytes]) -> set[bytes]:
        """Those of these text hashes that a row other than these has."""
        if not hashes or not len(self):
            return set()
        wanted = np.frombuffer(b"".join(hashes), np.uint64)[::2]
        # The first half of each hash selects few candidates, which are then compared in full.
        found = np.isin(np.ascontiguousarray(self.hashes).view(np.uint64)[:, 0], wanted)
        for begin, end in self.ranges_of(rows).tolist():
            found[begin:end] = False
        return set(as_bytes(self.hashes[found])) & set(hashes)

    def text_hashes(self) -> list[bytes]:
        return list(dict.fromkeys(as_bytes(self.hashes)))

    def save(self) -> dict[str, NDArray[Any]]:
        return {"points": self.points, "hashes": self.hashes, "rows": np.array([self.row_count])}

    def load(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        self._points = Column(np.int64, arrays["points"])
        self._hashes = Column(np.uint8, arrays["hashes"])
        self.row_count = int(arrays["rows"][0])


def as_bytes(hashes: NDArray[np.uint8]) -> list[bytes]:
    return split_bytes(hashes, 16)


def passage_texts(version: Remembered | None) -> list[str]:
    """The texts of one version that are embedded: each passage that is not empty, or the whole text."""
    if version is None:
        return []
    if not version.passages:
        return [version.text]
    return [version.text[start:end] for start, end in version.passages if start < end]
