"""The times of each version: when it was recorded and told, when it is valid, and when it expires."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from remanence.events import Remembered
from remanence.schema import OPEN_END, OPEN_START, Entry, Window, from_micros, micros, window_to_micros
from remanence.state.arrays.columns import GROWING, Column, SavedPart


class VersionTimes(SavedPart):
    """Times by row, in microseconds."""

    _saved: ClassVar = dict.fromkeys(("_recorded", "_said", "_valid_from", "_valid_until", "_expires"), GROWING)

    def __init__(self) -> None:
        self._recorded, self._expires = Column(np.int64), Column(np.int64)
        self._said = Column(np.int64)  # the time of a chat turn
        self._valid_from, self._valid_until = Column(np.int64), Column(np.int64)
        self._first_expiry = OPEN_END

    def load(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        super().load(arrays)
        self._first_expiry = int(self._expires.values.min(initial=OPEN_END))

    def apply(self, entries: Sequence[Entry], versions: Sequence[Remembered | None]) -> None:
        """Add a row for each version."""
        # Only `erase` removes the text of an entry, and it hides the memory in every view.
        windows = [
            (OPEN_START, OPEN_END) if remembered is None else window_to_micros(remembered.valid)
            for remembered in versions
        ]
        expiries = [None if remembered is None else remembered.expires_at for remembered in versions]
        turns = [None if remembered is None else remembered.turn for remembered in versions]
        self._valid_from.extend([start for start, _ in windows])
        self._valid_until.extend([end for _, end in windows])
        ends = [OPEN_END if expiry is None else micros(expiry) for expiry in expiries]
        self._first_expiry = min(self._first_expiry, *ends)
        self._expires.extend(ends)
        self._recorded.extend([micros(entry.at) for entry in entries])
        self._said.extend([OPEN_START if turn is None or turn.at is None else micros(turn.at) for turn in turns])

    def recorded_at(self, row: int) -> datetime:
        return from_micros(int(self._recorded.values[row]))

    def recorded(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """When each of these rows was recorded."""
        return self._recorded.values[rows]

    def recording_days(self) -> NDArray[np.datetime64]:
        """The day (UTC) on which each row was recorded."""
        return self._recorded.values.astype("M8[us]").astype("M8[D]")

    def event_times(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """The start of the window of each row; if that is open, when it was recorded."""
        starts = self._valid_from.values[rows]
        return np.where(starts == OPEN_START, self._recorded.values[rows], starts)

    def turn_times(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """The time of each row that is a chat turn; OPEN_START for others."""
        return self._said.values[rows]

    def mask_started_by(self, moment: datetime, text_rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """The rows that begin at a moment or earlier. Those without a date begin when their text was recorded, which is
        that of `text_rows`."""
        learned = self._recorded.values[text_rows]
        starts = np.where(self._valid_from.values == OPEN_START, learned, self._valid_from.values)
        # What had ended before it was learned has no known beginning.
        mask: NDArray[np.bool_] = (starts <= micros(moment)) | (self._valid_until.values <= starts)
        return mask

    def mask_stated_since(self, moment: datetime) -> NDArray[np.bool_]:
        """The rows that were told at this moment or later: for chat turns the time of the turn, for others when they
        were recorded."""
        stated_at = np.where(self._said.values == OPEN_START, self._recorded.values, self._said.values)
        mask: NDArray[np.bool_] = stated_at >= micros(moment)
        return mask

    @property
    def can_expire(self) -> bool:
        """Whether any version has a time at which it expires, or did."""
        return self._first_expiry < OPEN_END

    def unexpired_mask(self, rows: NDArray[np.int64], now: datetime) -> NDArray[np.bool_]:
        """Which of these rows have not expired."""
        return self._expires.values[rows] > micros(now)

    def remove_expired(self, mask: NDArray[np.bool_], now: datetime) -> None:
        """Set the expired rows in a mask of all rows to False."""
        if self._first_expiry <= micros(now):
            mask &= self._expires.values > micros(now)

    def valid_mask(self, during: Window) -> NDArray[np.bool_]:
        """The rows that are valid at some time in a window."""
        start, end = window_to_micros(during)
        mask: NDArray[np.bool_] = (self._valid_from.values < end) & (self._valid_until.values > start)
        return mask
