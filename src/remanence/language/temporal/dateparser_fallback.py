"""Dates that the grammar does not cover, read by dateparser, one isolated phrase at a time.

Never running text and never with language detection: in running text dateparser takes "we", "May I" and
port numbers for dates, and language detection costs tens of milliseconds.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from functools import lru_cache
from threading import Lock

from remanence.language.temporal.calendar_spans import Span, midnight, to_utc
from remanence.schema import UTC

_ISO = re.compile(
    r"([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})"
    r"(?:[t ]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:[.,]([0-9]{1,6}))?)?"
    r"\s?(z|utc|[+-][0-9]{2}:?[0-9]{2})?)?",
    re.IGNORECASE,
)
_LOCK = Lock()


def iso_span(text: str) -> Span:
    """A date, or a date and time, in ISO 8601; ValueError if it does not exist.

    >>> str(iso_span("2026-05-03T10:00+02:00").window)
    '2026-05-03 08:00 to 2026-05-03 08:01'
    """
    match = _ISO.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"not an ISO date: {text!r}")
    year, month, day, hour, minute, second, fraction, zone = match.groups()
    start = datetime(int(year), int(month), int(day), int(hour or 0), int(minute or 0), int(second or 0), tzinfo=UTC)
    if fraction:
        start += timedelta(microseconds=int(fraction.ljust(6, "0")))
        return Span(_without_zone(start, zone), _without_zone(start, zone) + timedelta(microseconds=1), "instant")
    return Span.enclosing(_without_zone(start, zone), "second" if second else "minute" if hour else "day")


def parse_with_dateparser(phrase: str, now: datetime) -> Span | None:
    """What dateparser reads in one isolated English phrase, as long as the period it names.

    >>> str(parse_with_dateparser("23-Sep-2020", datetime(2026, 5, 1)).window)
    '2020-09-23 to 2020-09-24'
    """
    needs_clock = re.search(r"hour|minute|second|\bnow\b|\bmin|\bsec|\bhr", phrase)
    return _parse(phrase, now if needs_clock else midnight(now))


@lru_cache(maxsize=4096)
def _parse(phrase: str, base: datetime) -> Span | None:
    from dateparser.date import DateDataParser  # imported when needed: it takes half a second

    with _LOCK:  # its parsers share settings and caches and are not documented as thread-safe
        settings = {
            "RELATIVE_BASE": base.replace(tzinfo=None),
            "PREFER_DATES_FROM": "past",
            "TIMEZONE": "UTC",
            "RETURN_TIME_AS_PERIOD": True,
        }
        data = DateDataParser(languages=["en"], settings=settings).get_date_data(phrase)
    if data.date_obj is None:
        return None
    moment = to_utc(data.date_obj)
    # Other periods, such as "part_of_day", count as a day.
    units = {"time": "minute", "week": "week", "month": "month", "year": "year"}
    return Span.enclosing(moment, units.get(data.period or "day", "day"))


def _without_zone(moment: datetime, zone: str | None) -> datetime:
    if not zone or zone.lower() in ("z", "utc"):
        return moment
    hours, minutes = int(zone[1:3]), int(zone[-2:])
    if hours > 23 or minutes > 59:
        raise ValueError(f"no such time zone: {zone}")
    by = timedelta(hours=hours, minutes=minutes)
    return moment + by if zone[0] == "-" else moment - by
