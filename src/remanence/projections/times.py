"""Which memories are about the time the question asks for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from remanence.arrays import Column, top
from remanence.events import Remembered
from remanence.model import Query, Ranking, Window, from_micros, micros

EARLIEST, LATEST = np.iinfo(np.int64).min // 4, np.iinfo(np.int64).max // 4
_DAY = 86_400 * 1_000_000


class Times:
    """Memories by the window in which they are true, and by the moment they were said.

    Only speaks when the question names a time.
    """

    name = "times"

    def __init__(self) -> None:
        self._from = Column(np.int64)
        self._until = Column(np.int64)
        self._said = Column(np.int64)

    def apply(self, first: int, versions: Sequence[Remembered | None]) -> None:
        """Take in versions numbered from row `first`."""
        for row, version in enumerate(versions, first):
            if row < len(self._from):
                continue
            valid = version.valid if version is not None else Window()
            said = version.turn.at if version is not None and version.turn is not None else None
            start, end = bounds(valid)
            self._from.append(start)
            self._until.append(end)
            self._said.append(LATEST if said is None else micros(said))

    def rank(self, query: Query, limit: int) -> Ranking:
        """The rows nearest in time to the window asked for, those inside it first."""
        if query.during is None:
            return Ranking.abstain(self.name, "the question names no time")
        start, end = bounds(query.during)
        begins, ends, said = self._from.values, self._until.values, self._said.values
        dated = query.allowed & ((begins > EARLIEST) | (ends < LATEST) | (said < LATEST))
        rows = np.flatnonzero(dated)
        if not len(rows):
            return Ranking.abstain(self.name, "no memory that may answer has a date")
        begins, ends, said = begins[rows], ends[rows], said[rows]
        scores = np.maximum(
            nearness(begins, ends, start, end), 0.8 * nearness(said, said + 1, start, end) * (said < LATEST)
        )
        kept = scores > 0.01
        rows, scores = rows[kept], scores[kept]
        if not len(rows):
            return Ranking.abstain(self.name, f"nothing is remembered from {query.during} or near it")
        order = top(scores, limit)
        asked = query.during
        return Ranking(
            self.name, rows[order].tolist(), scores[order].tolist(), why=lambda row: self._why(row, asked)
        )

    def save(self) -> Mapping[str, NDArray[Any]]:
        """The windows."""
        return {"from": self._from.values, "until": self._until.values, "said": self._said.values}

    def load(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Become the index that `save` wrote."""
        self._from = Column(np.int64, arrays["from"])
        self._until = Column(np.int64, arrays["until"])
        self._said = Column(np.int64, arrays["said"])

    def _why(self, row: int, asked: Window) -> str:
        start, end, said = (
            int(self._from.values[row]),
            int(self._until.values[row]),
            int(self._said.values[row]),
        )
        if start > EARLIEST or end < LATEST:
            window = Window(
                from_micros(start) if start > EARLIEST else None, from_micros(end) if end < LATEST else None
            )
            return f"true {window}, {'inside' if window.overlaps(asked) else 'near'} {asked}"
        return f"said {Window.at(from_micros(said))}, near {asked}"


def bounds(window: Window) -> tuple[int, int]:
    """A window as two whole numbers; open ends become the ends of time."""
    return (
        EARLIEST if window.start is None else micros(window.start),
        LATEST if window.end is None else micros(window.end),
    )


def nearness(begins: NDArray[np.int64], ends: NDArray[np.int64], start: int, end: int) -> NDArray[np.float64]:
    """How well windows fit [start, end): 1 for one inside it, down to a half for one much wider than it;
    beside it at most a half, falling with the gap as measured against the length asked for.

    >>> day = 86_400_000_000
    >>> nearness(np.array([0, 2 * day]), np.array([day, 3 * day]), 0, day).round(2).tolist()
    [1.0, 0.18]
    """
    asked = max(end - start, _DAY)
    gap = np.maximum(np.maximum(begins - end, start - ends), 0)
    inside = np.minimum(ends, end) - np.maximum(begins, start)
    length = np.maximum(ends - begins, 1)
    fit = np.clip(inside / np.minimum(length, LATEST), 0.0, 1.0)
    overlaps = (begins < end) & (ends > start)
    return np.where(overlaps, 0.5 + 0.5 * fit, 0.5 * np.exp(-gap / asked))
