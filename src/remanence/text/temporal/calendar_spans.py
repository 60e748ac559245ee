"""Half-open spans of the calendar in UTC, the arithmetic on them, and their ISO and dateparser forms."""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta, tzinfo
from threading import Lock

from remanence.schema import UTC, Window
from remanence.text.temporal import time_vocabulary as vocab

LAST_MOMENT = datetime.max.replace(tzinfo=UTC)
ONE_DAY = timedelta(days=1)
_SECONDS = {"second": 1, "minute": 60, "hour": 3600}
_DAYS = {"day": 1, "weekend": 7, "week": 7, "fortnight": 14}
_MONTHS = {"month": 1, "quarter": 3, "season": 3, "year": 12, "decade": 120, "century": 1200}
# Where the middle and the late third of a span begin, as people divide it: a month at its days 11 and 21.
_THIRDS = {"week": (2, 4, "day"), "month": (10, 20, "day"), "quarter": (1, 2, "month"), "season": (1, 2, "month")}
_THIRDS |= {"year": (4, 8, "month"), "decade": (3, 7, "year"), "century": (33, 67, "year")}
_ISO = re.compile(
    r"([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})"
    r"(?:[t ]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:[.,]([0-9]{1,6}))?)?"
    r"\s?(z|utc|[+-][0-9]{2}:?[0-9]{2})?)?",
    re.IGNORECASE,
)
_DATEPARSER_LOCK = Lock()
# The periods of dateparser; others, such as "part_of_day", count as a day.
_PERIOD_UNITS = {"time": "minute", "week": "week", "month": "month", "year": "year"}


def to_utc(moment: datetime) -> datetime:
    """`moment` in UTC; one without a time zone is taken as UTC."""
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def midnight(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)


def start_of_date(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=UTC)


def add_clamped(moment: datetime, by: timedelta) -> datetime:
    """`moment + by`, at most the last moment of the calendar: people write 9999 for "for ever"."""
    return LAST_MOMENT if by > LAST_MOMENT - moment else moment + by


def shift(moment: datetime, count: int, unit: str) -> datetime:
    """`moment` moved by `count` units; a day that the month does not have becomes its last day."""
    if unit in _MONTHS:
        year, month = divmod(moment.year * 12 + moment.month - 1 + count * _MONTHS[unit], 12)
        if year == 10_000:
            return LAST_MOMENT
        return moment.replace(year=year, month=month + 1, day=min(moment.day, monthrange(year, month + 1)[1]))
    by = timedelta(days=count * _DAYS[unit]) if unit in _DAYS else timedelta(seconds=count * _SECONDS[unit])
    return add_clamped(moment, by)


@dataclass(frozen=True, slots=True)
class Span:
    """A span of time, the unit that named it, and `in_year`: the same span in another year.

    "May" alone is the latest May. If "2024" follows, `in_year(2024)` gives the right one.
    """

    start: datetime
    end: datetime
    granularity: str
    in_year: Callable[[int], Span] | None = None

    @classmethod
    def enclosing(cls, moment: datetime, unit: str) -> Span:
        """The calendar unit that contains `moment`: its week from Monday, its quarter, its decade."""
        start = midnight(moment)
        if unit in _SECONDS:
            elapsed = (moment - start).seconds
            start += timedelta(seconds=elapsed - elapsed % _SECONDS[unit])
        elif unit in ("week", "fortnight"):
            start -= ONE_DAY * start.weekday()
        elif unit == "weekend":
            start += ONE_DAY * (5 - start.weekday())
            return cls(start, start + 2 * ONE_DAY, unit)
        elif unit == "month":
            start = start.replace(day=1)
        elif unit == "quarter":
            start = start.replace(day=1, month=(start.month - 1) // 3 * 3 + 1)
        elif unit != "day":
            years = _MONTHS[unit] // 12
            start = start.replace(day=1, month=1, year=max(1, start.year // years * years))
        return cls(start, shift(start, 1, unit), unit)

    @classmethod
    def of_date(cls, unit: str, year: int, month: int = 1, day: int = 1) -> Span:
        """The unit that contains this date; ValueError if the date does not exist."""
        return cls.enclosing(datetime(year, month, day, tzinfo=UTC), unit)

    @classmethod
    def season(cls, year: int, first_month: int) -> Span:
        """Three months from `first_month` on; the winter of a year begins in its December."""
        start = datetime(year, first_month, 1, tzinfo=UTC)
        return cls(start, shift(start, 3, "month"), "season")

    @classmethod
    def iso_week(cls, year: int, week: int) -> Span:
        return cls.enclosing(start_of_date(date.fromisocalendar(year, week, 1)), "week")

    @classmethod
    def holiday(cls, year: int, name: str) -> Span:
        """The day of a holiday in a year, by its rule in `time_vocabulary.txt`."""
        rule = vocab.HOLIDAYS[name]
        if rule.startswith("easter"):
            return cls.enclosing(_easter(year) + ONE_DAY * int(rule[6:]), "day")
        if " " not in rule:
            month, day = rule.split("-")
            return cls.of_date("day", year, int(month), int(day))
        count, weekday, month, *later = rule.split()
        day_span = cls.of_date("month", year, int(month)).nth_weekday(vocab.WEEKDAYS[weekday], int(count))
        return cls.enclosing(day_span.start + ONE_DAY * int(later[0] if later else 0), "day")

    @property
    def window(self) -> Window:
        return Window(self.start, self.end)

    def nth_weekday(self, weekday: int, count: int) -> Span:
        """The `count`-th such weekday of the span, counted from its end if negative; ValueError if there is none."""
        if count > 0:
            start = self.start + ONE_DAY * ((weekday - self.start.weekday()) % 7 + 7 * (count - 1))
        else:
            final = self.end - ONE_DAY
            start = final - ONE_DAY * ((final.weekday() - weekday) % 7 + 7 * (-count - 1))
        if not self.start <= start < self.end:
            raise ValueError(f"no such weekday: {count}")
        return Span.enclosing(start, "day")

    def third(self, index: int) -> Span:
        """The early (0), middle (1) or late (2) third of the span."""
        size = (self.end - self.start) / 3
        cuts = [self.start, self.start + size, self.start + 2 * size, self.end]
        if self.granularity in _THIRDS:
            first, second, unit = _THIRDS[self.granularity]
            # Wednesday belongs to the early and to the middle part of a week.
            first += self.granularity == "week" and index == 0
            cuts[1:3] = shift(self.start, first, unit), shift(self.start, second, unit)
        return Span(cuts[index], cuts[index + 1], "part")

    def half(self, second: bool) -> Span:
        """The first or the second half of the span."""
        middle = self.start + (self.end - self.start) / 2
        middle = midnight(shift(self.start, 6, "month") if self.granularity == "year" else middle)
        return Span(middle, self.end, "half") if second else Span(self.start, middle, "half")


def _easter(year: int) -> datetime:
    """Western Easter Sunday (the anonymous Gregorian computus)."""
    a, b, c = year % 19, year // 100, year % 100
    d = (19 * a + b - b // 4 - (b - (b + 8) // 25 + 1) // 3 + 15) % 30
    e = (32 + 2 * (b % 4) + 2 * (c // 4) - d - c % 4) % 7
    f = d + e - 7 * ((a + 11 * d + 22 * e) // 451) + 114
    return datetime(year, f // 31, f % 31 + 1, tzinfo=UTC)


def iso_span(text: str) -> Span:
    """A date, or a date and time, in ISO 8601; ValueError if it does not exist."""
    match = _ISO.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"not an ISO date: {text!r}")
    *digits, fraction, zone = match.groups()
    tzinfo = UTC if zone is None or zone.lower() in ("z", "utc") else datetime.strptime(zone, "%z").tzinfo
    year, month, day, hour, minute, second = (int(group or 0) for group in digits)
    microsecond = int((fraction or "0").ljust(6, "0"))
    start = datetime(year, month, day, hour, minute, second, microsecond, tzinfo).astimezone(UTC)
    if fraction:
        return Span(start, start + timedelta(microseconds=1), "instant")
    return Span.enclosing(start, "second" if digits[5] else "minute" if digits[3] else "day")


def in_zone(moment: datetime, zone: tzinfo) -> datetime:
    """The moment, in UTC, at which the clock of a time zone shows what the clock of UTC shows at `moment`.

    >>> from datetime import timezone
    >>> in_zone(datetime(2026, 6, 3, 15, tzinfo=UTC), timezone(timedelta(hours=2))).isoformat()
    '2026-06-03T13:00:00+00:00'
    """
    return moment.replace(tzinfo=zone).astimezone(UTC)


def parse_with_dateparser(phrase: str, now: datetime, languages: tuple[str, ...] | None = ("en",)) -> Span | None:
    """A date that the grammar does not cover, as long as the period it names.

    Only isolated phrases: in running text dateparser takes "we", "May I" and port numbers for dates. Without
    `languages` it detects the language, which costs tens of milliseconds.

    >>> str(parse_with_dateparser("23-Sep-2020", datetime(2026, 5, 1)).window)
    '2020-09-23'
    """
    from dateparser.date import DateDataParser  # imported when needed: it takes half a second

    needs_clock = re.search(r"hour|minute|second|\bnow\b|\bmin|\bsec|\bhr", phrase)
    settings = {
        "RELATIVE_BASE": (now if needs_clock else midnight(now)).replace(tzinfo=None),
        "PREFER_DATES_FROM": "past",
        "TIMEZONE": "UTC",
        "RETURN_TIME_AS_PERIOD": True,
    }
    with _DATEPARSER_LOCK:  # its parsers share settings and caches and are not documented as thread-safe
        data = DateDataParser(languages=languages, settings=settings).get_date_data(phrase)
    if data.date_obj is None:
        return None
    return Span.enclosing(to_utc(data.date_obj), _PERIOD_UNITS.get(data.period or "day", "day"))
