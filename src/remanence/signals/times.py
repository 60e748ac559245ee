"""Which memories are about the time the question asks for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from remanence.events import Remembered
from remanence.ports import Stage
from remanence.schema import Query, Ranking, Window, from_micros, micros
from remanence.state.columns import Column, run_starts, top_indices

EARLIEST, LATEST = np.iinfo(np.int64).min // 4, np.iinfo(np.int64).max // 4
_DAY = 86_400 * 1_000_000

TRUE, NAMED, SAID = range(3)
_SAYS = ("true", "names", "said")
_WORTH = np.array([1.0, 0.9, 0.8])
_FAR = 0.01
_REACH = 4
"""A window further from what is asked for than so many times its length is worth less than `_FAR`."""
UNBACKED = 0.25
_FEW, _MANY = 10, 1_000
"""Of so few memories from the time asked for, that alone tells; of so many each need not be looked at."""


class Times:
    """Memories by the window in which they are true, the times they name, and the moment they were said.

    Only speaks when the question names a time.
    """

    name = "times"
    weight = 0.8
    stage = Stage.SPREAD
    needs_embedding = False

    def __init__(self) -> None:
        self._rows = 0
        # Of each window: its ends, the row it belongs to, and what it is to that row.
        self._from = Column(np.int64)
        self._until = Column(np.int64)
        self._row = Column(np.int32)
        self._what = Column(np.int8)

    def apply(self, first: int, versions: Sequence[Remembered | None]) -> None:
        """Take in versions numbered from row `first`."""
        known = max(0, self._rows - first)
        found = [
            (*bounds(window), row, what)
            for row, version in enumerate(versions[known:], first + known)
            if version is not None
            for what, window in windows(version)
        ]
        if found:
            starts, ends, rows, whats = zip(*found, strict=True)
            self._from.extend(starts)
            self._until.extend(ends)
            self._row.extend(rows)
            self._what.extend(whats)
        self._rows = max(self._rows, first + len(versions))

    def rows_within(self, asked: Sequence[Window], allowed: NDArray[np.bool_]) -> NDArray[np.bool_] | None:
        """Which rows may answer and are from the time asked for; None where there are none, or many.

        A time with an open end ("since May") is none to be from.
        """
        closed = [window for window in asked if window.start is not None and window.end is not None]
        if not closed:
            return None
        inside = np.zeros(len(allowed), np.bool_)
        inside[self._row.values[self._beside(closed, 0)]] = True
        inside &= allowed
        return inside if 0 < np.count_nonzero(inside) <= _MANY else None

    def rank(self, query: Query, limit: int) -> Ranking:
        """The rows nearest in time to what the question names, those inside it first."""
        if not query.times:
            return Ranking.abstain(self.name, "the question names no time")
        places = self._candidates(query, limit)
        begins, ends = self._from.values[places], self._until.values[places]
        fits: NDArray[np.float64] = np.zeros(len(places))
        for window in query.times:
            fits = np.maximum(fits, nearness(begins, ends, *bounds(window)))
        fits *= _WORTH[self._what.values[places]] * self._relevance(query, places)
        kept = fits > _FAR
        places, fits = places[kept], fits[kept]
        if not len(places):
            asked = " or ".join(map(str, query.times))
            return Ranking.empty(self.name, f"nothing that may answer is from {asked} or near it")
        # Windows of one row lie side by side, and the best of them speaks for it.
        rows = self._row.values[places]
        firsts = run_starts(rows)
        best = np.maximum.reduceat(fits, firsts)
        order = top_indices(best, limit)
        found: list[int] = rows[firsts[order]].tolist()
        ends = np.append(firsts[1:], len(rows))
        theirs = dict(zip(found, map(slice, firsts[order].tolist(), ends[order].tolist()), strict=True))

        def why(rows: Sequence[int]) -> list[str]:
            return [self._why(int(places[theirs[row]][fits[theirs[row]].argmax()])) for row in rows]

        return Ranking(self.name, found, best[order].tolist(), ceiling=1.0, explain_rows=why)

    def save(self) -> Mapping[str, NDArray[Any]]:
        """The windows."""
        return {"rows": np.array([self._rows])} | {name: getattr(self, f"_{name}").values for name in _COLUMNS}

    def load(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Become the index that `save` wrote."""
        self._rows = int(arrays["rows"][0])
        for name in _COLUMNS:
            setattr(self, f"_{name}", Column(arrays[name].dtype, arrays[name]))

    def _candidates(self, query: Query, limit: int) -> NDArray[np.int64]:
        """Where the windows stand that may come among the first `limit`.

        One that overlaps what is asked for is worth more than any beside it, unless other signals back
        that one's row. So where enough overlap, nobody else has to be looked at but the backed.
        """
        inside, near = self._beside(query.times, 0), self._beside(query.times, _REACH)
        rows = self._row.values[inside]
        if len(run_starts(rows[query.allowed[rows]])) >= limit:
            backed = np.zeros(len(query.allowed), np.bool_)
            backed[list(query.candidate_scores)] = True
            near &= inside | backed[self._row.values]
        places: NDArray[np.int64] = np.flatnonzero(near)
        found: NDArray[np.int64] = places[query.allowed[self._row.values[places]]]
        return found

    def _beside(self, asked: Sequence[Window], reaches: int) -> NDArray[np.bool_]:
        """Which windows lie in one of these, or beside it by at most so many times its length."""
        found = np.zeros(len(self._row), np.bool_)
        for window in asked:
            start, end = bounds(window)
            reach = reaches * max(min(end, LATEST // 8) - max(start, EARLIEST // 8), _DAY)
            found |= (self._from.values < end + reach) & (self._until.values > start - reach)
        return found

    def _relevance(self, query: Query, places: NDArray[np.int64]) -> NDArray[np.float64]:
        """How far the other signals back the rows of these windows.

        Thousands of memories may lie in the year a question names: being from that year tells among
        those that fit the question, and little about the rest. Of a Saturday there are a dozen.
        """
        if not query.candidate_scores:
            return np.ones(len(places))
        backing = np.zeros(len(query.allowed))
        backing[list(query.candidate_scores)] = list(query.candidate_scores.values())
        backing /= max(query.candidate_scores.values()) or 1.0  # what the others found may all be worth nothing
        alone = UNBACKED
        if query.time_mask is not None:
            alone = min(1.0, (_FEW / np.count_nonzero(query.time_mask)) ** 0.25)
        told: NDArray[np.float64] = alone + (1 - alone) * backing[self._row.values[places]]
        return told

    def _why(self, place: int) -> str:
        start, end = int(self._from.values[place]), int(self._until.values[place])
        window = Window(from_micros(start) if start > EARLIEST else None, from_micros(end) if end < LATEST else None)
        return f"{_SAYS[self._what.values[place]]} {window}"


_COLUMNS = ("from", "until", "row", "what")


def windows(version: Remembered) -> Iterator[tuple[int, Window]]:
    """The windows of a version and what each is to it."""
    if version.valid.has_bound:
        yield TRUE, version.valid
    for window in version.times:
        if window != version.valid:
            yield NAMED, window
    said = version.turn.at if version.turn is not None else None
    if said is not None and version.valid != (then := Window.from_moment(said)):
        yield SAID, then


def bounds(window: Window) -> tuple[int, int]:
    """A window as two whole numbers; open ends become the ends of time."""
    return (
        EARLIEST if window.start is None else micros(window.start),
        LATEST if window.end is None else micros(window.end),
    )


def nearness(begins: NDArray[np.int64], ends: NDArray[np.int64], start: int, end: int) -> NDArray[np.float64]:
    """How well windows fit [start, end): 1 for one inside it, down to a half for one much wider than it;
    beside it at most a quarter, falling with the gap as measured against the length asked for.

    >>> day = 86_400_000_000
    >>> nearness(np.array([0, 2 * day]), np.array([day, 3 * day]), 0, day).round(2).tolist()
    [1.0, 0.09]
    """
    asked = max(end - start, _DAY)
    gap = np.maximum(np.maximum(begins - end, start - ends), 0)
    inside = np.minimum(ends, end) - np.maximum(begins, start)
    length = np.maximum(ends - begins, 1)
    fit = np.clip(inside / np.minimum(length, LATEST), 0.0, 1.0)
    overlaps = (begins < end) & (ends > start)
    return np.where(overlaps, 0.5 + 0.5 * fit, 0.25 * np.exp(-gap / asked))
