"""Moments and windows of time, in UTC, and how they are stored and written."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from functools import lru_cache
from typing import TypeAlias

Moment: TypeAlias = datetime | date | str
"""A datetime (a naive one is taken as UTC), a date, ISO text, or words such as "last May"."""

UTC = timezone.utc
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROS_PER_DAY = 86_400 * 1_000_000
_LATEST = datetime.max.replace(tzinfo=UTC)


def micros(moment: datetime) -> int:
    """Microseconds since 1970, exact (a float would lose the last digits).

    >>> micros(datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC))
    1000000
    """
    delta = moment - EPOCH
    return delta.days * MICROS_PER_DAY + delta.seconds * 1_000_000 + delta.microseconds


@lru_cache(1 << 14)
def from_micros(value: int) -> datetime:
    """The inverse of `micros`.

    >>> from_micros(1_000_000).isoformat()
    '1970-01-01T00:00:01+00:00'
    """
    return EPOCH + timedelta(microseconds=value)


@dataclass(frozen=True, slots=True)
class Window:
    """A period of UTC time.

    Attributes:
        start: The first moment; None if the period has no known beginning.
        end: The first moment after the period; None if it has no known end.

    Example:
        >>> may = Window(datetime(2026, 5, 1, tzinfo=UTC), datetime(2026, 6, 1, tzinfo=UTC))
        >>> may.overlaps(Window(datetime(2026, 6, 1, tzinfo=UTC), None))
        False
        >>> str(may)
        '2026-05-01 to 2026-06-01'
        >>> str(Window(datetime(2026, 6, 1, tzinfo=UTC), datetime(2026, 6, 2, tzinfo=UTC)))
        '2026-06-01'
    """

    start: datetime | None = None
    end: datetime | None = None

    @classmethod
    def from_moment(cls, moment: datetime) -> Window:
        """The shortest window that contains `moment`."""
        return cls(moment, moment + timedelta(microseconds=1) if moment < _LATEST else None)

    @property
    def has_bound(self) -> bool:
        """Whether either end is known."""
        return self.start is not None or self.end is not None

    def overlaps(self, other: Window) -> bool:
        """Whether both windows contain a common moment."""
        return (self.start is None or other.end is None or self.start < other.end) and (
            other.start is None or self.end is None or other.start < self.end
        )

    def __contains__(self, moment: datetime) -> bool:
        return (self.start is None or self.start <= moment) and (self.end is None or moment < self.end)

    @property
    def _is_day(self) -> bool:
        """Whether it is one day from midnight to midnight."""
        start, end = self.start, self.end
        if start is None or end is None or end - start != timedelta(days=1):
            return False
        return (start.hour, start.minute, start.second, start.microsecond) == (0, 0, 0, 0)

    def __str__(self) -> str:
        if self.start is None and self.end is None:
            return "any time"
        if self.start is not None and self.end is not None and self.end - self.start <= timedelta(seconds=1):
            return format_moment(self.start)
        if self._is_day:
            return format_moment(self.start)
        if self.end is None:
            return f"since {format_moment(self.start)}"
        if self.start is None:
            return f"until {format_moment(self.end)}"
        return f"{format_moment(self.start)} to {format_moment(self.end)}"


ANY_TIME = Window()


def format_moment(moment: datetime | None) -> str:
    """A moment as a date, with hours and minutes unless it is midnight.

    >>> format_moment(datetime(2026, 5, 1, tzinfo=UTC)), format_moment(datetime(2026, 5, 1, 9, 30, tzinfo=UTC))
    ('2026-05-01', '2026-05-01 09:30')
    """
    if moment is None:
        return "unknown"
    midnight = (moment.hour, moment.minute, moment.second, moment.microsecond) == (0, 0, 0, 0)
    # Not strftime("%Y"): glibc does not pad years before 1000, and they could not be parsed again.
    return moment.date().isoformat() if midnight else f"{moment.date().isoformat()} {moment:%H:%M}"


OPEN_START, OPEN_END = -(1 << 63), (1 << 63) - 1
"""An open start and an open end of a window that is stored as two integers."""


def window_to_micros(window: Window) -> tuple[int, int]:
    """The ends of a window in microseconds.

    >>> window_to_micros(Window()) == (OPEN_START, OPEN_END)
    True
    """
    start, end = window.start, window.end
    return OPEN_START if start is None else micros(start), OPEN_END if end is None else micros(end)


def window_from_micros(start: int, end: int) -> Window:
    """The window with these ends.

    >>> str(window_from_micros(0, OPEN_END))
    'since 1970-01-01'
    """
    return Window(None if start == OPEN_START else from_micros(start), None if end == OPEN_END else from_micros(end))
