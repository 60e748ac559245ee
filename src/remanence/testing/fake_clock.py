"""A clock for tests that moves only when told to."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from remanence.schema import UTC


class FakeClock:
    """A clock for `remanence.open(..., clock=clock)`. Time passes only by `advance`.

    Args:
        start: The first moment, as a datetime or ISO text. Without a time zone it is UTC.

    Example:
        >>> clock = FakeClock("2026-05-04")
        >>> clock.advance(days=1).isoformat()
        '2026-05-05T00:00:00+00:00'
        >>> clock() == clock.now()
        True
    """

    def __init__(self, start: datetime | str = "2026-01-01") -> None:
        moment = datetime.fromisoformat(start) if isinstance(start, str) else start
        self._now = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)

    def __call__(self) -> datetime:
        return self._now

    def now(self) -> datetime:
        """The current moment of this clock."""
        return self._now

    def advance(self, **by: Any) -> datetime:
        """Move the clock by the arguments of `timedelta`, such as `days=1`. Returns the new moment."""
        self._now += timedelta(**by)
        return self._now
