"""The times signal: memories from the time that the question names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from remanence.events import Remembered
from remanence.index.arrays.codecs import GROWING, JSON, SavedPart
from remanence.index.arrays.columns import Column, run_starts, top_indices
from remanence.ports import Stage
from remanence.schema import MICROS_PER_DAY, Query, Ranking, Window, from_micros, micros
from remanence.text.temporal import date_order_evidence

EARLIEST, LATEST = np.iinfo(np.int64).min // 4, np.iinfo(np.int64).max // 4

VALID, MENTIONED, SAID = range(3)
"""How a memory has a time, as stored: it is true then, its text names it, or it was said then."""
_LABELS = ("true", "names", "said")
_WEIGHTS = np.array([1.0, 0.9, 0.8])
"""What a time counts that a memory is true at, that its text names, and at which it was said."""
_REACH = 4
"""How many times the length of the time asked about a window may be away to be returned. It keeps what is far away out
of the ranking."""
_UNSUPPORTED_SHARE = 0.25
"""The share of the score that a memory gets for its time alone, if the other signals did not find it. Fitted on
TimeQA."""
MOSTLY_WITHIN = 0.75
"""The nearness, from 0 to 1, of a window of which half lies within the time asked about."""
_FEW, _MANY = 10, 1_000
"""Memories from the time asked about up to which the time alone counts fully, and from which on not all are
examined."""


class Times(SavedPart):
    """Memories by the window in which they are true, the times they mention, and the time of their turn. Abstains if
    the question names no time."""

    name = "times"
    weight = 0.8
    stage = Stage.SPREAD
    needs_embedding = False
    _saved: ClassVar = {
        "_rows": JSON,
        **dict.fromkeys(("_from", "_until", "_row", "_kind", "_order_row", "_order"), GROWING),
    }

    def __init__(self) -> None:
        self._rows = 0
        # For each window: its ends, its row, and its kind.
        self._from = Column(np.int64)
        self._until = Column(np.int64)
        self._row = Column(np.int32)
        self._kind = Column(np.int8)
        # For each row with dates such as 25/12/2024: whether the day comes first (1) or the month (-1).
        self._order_row = Column(np.int32)
        self._order = Column(np.int8)

    def apply(self, first: int, versions: Sequence[Remembered | None]) -> None:
        known = max(0, self._rows - first)
        found = [
            (*bounds(window), row, kind)
            for row, version in enumerate(versions[known:], first + known)
            if version is not None
            for kind, window in windows(version)
        ]
        for row, version in enumerate(versions[known:], first + known):
            if version is not None and (told := date_order_evidence(version.text)):
                self._order_row.append(row)
                self._order.append(1 if told > 0 else -1)
        if found:
            columns = (self._from, self._until, self._row, self._kind)
            for column, values in zip(columns, zip(*found, strict=True), strict=True):
                column.extend(values)
        self._rows = max(self._rows, first + len(versions))

    def date_order_evidence(self, visible: NDArray[np.bool_]) -> int:
        """How many of these rows have the day first in their dates, less those that have the month first."""
        return int(self._order.values[visible[self._order_row.values]].sum())

    def rows_within(self, times: Sequence[Window], allowed: NDArray[np.bool_]) -> NDArray[np.bool_] | None:
        """The rows that may be returned and are from these times; None if there are none, or many. Times with an open
        end ("since May") are left out."""
        closed = [window for window in times if window.start is not None and window.end is not None]
        if not closed:
            return None
        inside = np.zeros(len(allowed), np.bool_)
        inside[self._row.values[self._near(closed, 0)]] = True
        inside &= allowed
        return inside if 0 < np.count_nonzero(inside) <= _MANY else None

    def rows_mostly_within(self, times: Sequence[Window], rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which of these rows are from these times, for the most part: what was true for much longer is not."""
        within = np.zeros(max(len(rows) and int(rows.max()) + 1, 0), np.bool_)
        near = np.flatnonzero(self._near(times, 0))
        near = near[self._row.values[near] < len(within)]
        for window in times:
            fits = nearness(self._from.values[near], self._until.values[near], *bounds(window))
            within[self._row.values[near[fits >= MOSTLY_WITHIN]]] = True
        found: NDArray[np.bool_] = within[rows]
        return found

    def rank(self, query: Query, limit: int) -> Ranking:
        """The rows nearest in time to what the question names, those within it first."""
        if not query.times:
            return Ranking.abstain(self.name, "the question names no time")
        entry_indexes = self._candidates(query, limit)
        if not len(entry_indexes):
            times = " or ".join(map(str, query.times))
            return Ranking.empty(self.name, f"no memory that may be returned is from {times} or near it")
        begins, ends = self._from.values[entry_indexes], self._until.values[entry_indexes]
        fits: NDArray[np.float64] = np.zeros(len(entry_indexes))
        for window in query.times:
            fits = np.maximum(fits, nearness(begins, ends, *bounds(window)))
        fits *= _WEIGHTS[self._kind.values[entry_indexes]] * self._relevance(query, entry_indexes)
        # Windows of one row are adjacent, and the best of them counts.
        rows = self._row.values[entry_indexes]
        firsts = run_starts(rows)
        best = np.maximum.reduceat(fits, firsts)
        order = top_indices(best, limit)
        ranked_rows: list[int] = rows[firsts[order]].tolist()
        ends = np.append(firsts[1:], len(rows))
        range_of = dict(zip(ranked_rows, map(slice, firsts[order].tolist(), ends[order].tolist()), strict=True))

        def why(rows: Sequence[int]) -> list[str]:
            return [self._reason(int(entry_indexes[range_of[row]][fits[range_of[row]].argmax()])) for row in rows]

        return Ranking(self.name, ranked_rows, best[order].tolist(), ceiling=1.0, explain_rows=why)

    def _candidates(self, query: Query, limit: int) -> NDArray[np.int64]:
        """The places of the windows that may be among the first `limit`. A window that overlaps the time asked about
        scores more than any other, unless the other signals found the row of that one. So if enough windows overlap,
        only those rows are examined besides."""
        inside, near = self._near(query.times, 0), self._near(query.times, _REACH)
        rows = self._row.values[inside]
        if len(run_starts(rows[query.allowed[rows]])) >= limit:
            supported = np.zeros(len(query.allowed), np.bool_)
            supported[list(query.candidate_scores)] = True
            near &= inside | supported[self._row.values]
        places: NDArray[np.int64] = np.flatnonzero(near)
        found: NDArray[np.int64] = places[query.allowed[self._row.values[places]]]
        return found

    def _near(self, times: Sequence[Window], reaches: int) -> NDArray[np.bool_]:
        """The windows that overlap one of these times, or are at most this many times its length away."""
        found = np.zeros(len(self._row), np.bool_)
        for window in times:
            start, end = bounds(window)
            reach = reaches * max(min(end, LATEST // 8) - max(start, EARLIEST // 8), MICROS_PER_DAY)
            found |= (self._from.values < end + reach) & (self._until.values > start - reach)
        return found

    def _relevance(self, query: Query, places: NDArray[np.int64]) -> NDArray[np.float64]:
        """How far the other signals support the rows of these windows. Thousands of memories may be from the year that
        a question names: then the year only counts for those that match the question."""
        if not query.candidate_scores:
            return np.ones(len(places))
        support = np.zeros(len(query.allowed))
        support[list(query.candidate_scores)] = list(query.candidate_scores.values())
        support /= max(query.candidate_scores.values()) or 1.0  # all scores may be zero
        alone = _UNSUPPORTED_SHARE
        if query.time_mask is not None:
            alone = min(1.0, (_FEW / np.count_nonzero(query.time_mask)) ** 0.25)
        relevance: NDArray[np.float64] = alone + (1 - alone) * support[self._row.values[places]]
        return relevance

    def _reason(self, place: int) -> str:
        start, end = int(self._from.values[place]), int(self._until.values[place])
        window = Window(from_micros(start) if start > EARLIEST else None, from_micros(end) if end < LATEST else None)
        return f"{_LABELS[self._kind.values[place]]} {window}"


def windows(version: Remembered) -> Iterator[tuple[int, Window]]:
    said_at = version.turn.at if version.turn is not None else None
    # What somebody said of a state holds from then on, but "what happened in May" was said in May.
    is_open_turn = said_at is not None and version.valid == Window(said_at)
    if version.valid.has_bound and not is_open_turn:
        yield VALID, version.valid
    for window in version.times:
        if window != version.valid:
            yield MENTIONED, window
    if said_at is not None and version.valid != (window := Window.from_moment(said_at)):
        yield SAID, window


def bounds(window: Window) -> tuple[int, int]:
    """A window as two whole numbers; open ends become the earliest and latest number."""
    return (
        EARLIEST if window.start is None else micros(window.start),
        LATEST if window.end is None else micros(window.end),
    )


def nearness_of(window: Window, asked: Window) -> float:
    """How well a window fits the time asked about, as `nearness` says."""
    begin, end = bounds(window)
    return float(nearness(np.array([begin]), np.array([end]), *bounds(asked))[0])


def nearness(begins: NDArray[np.int64], ends: NDArray[np.int64], start: int, end: int) -> NDArray[np.float64]:
    """How well windows fit [start, end): 1 for one inside it, down to a half for one much wider than it; at most a
    quarter for one outside, falling with the gap relative to the length."""
    length_asked = max(end - start, MICROS_PER_DAY)
    gap = np.maximum(np.maximum(begins - end, start - ends), 0)
    inside = np.minimum(ends, end) - np.maximum(begins, start)
    length = np.maximum(ends - begins, 1)
    fit = np.clip(inside / np.minimum(length, LATEST), 0.0, 1.0)
    overlaps = (begins < end) & (ends > start)
    return np.where(overlaps, 0.5 + 0.5 * fit, 0.25 * np.exp(-gap / length_asked))
