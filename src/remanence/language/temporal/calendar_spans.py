"""Stretches of the calendar, and the arithmetic on them. All UTC, all half-open."""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from remanence.language.temporal.time_vocabulary import HOLIDAYS, WEEKDAYS
from remanence.schema import UTC, Window

LAST = datetime.max.replace(tzinfo=UTC)
ONE_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Span:
    """A closed stretch, how finely it was named, and how it reads in another year.

    "May" is the latest May until "2024" is read beside it: `in_year` gives the May of any year.
    """

    start: datetime
    end: datetime
    granularity: str
    in_year: Callable[[int], Span] | None = None

    @property
    def window(self) -> Window:
        return Window(self.start, self.end)


def to_utc(moment: datetime) -> datetime:
    """`moment` in UTC; without a time zone it is taken to be UTC already."""
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def midnight(moment: datetime) -> datetime:
    """The first moment of that day."""
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)


def start_of_date(day: date) -> datetime:
    """The first moment of a date."""
    return datetime(day.year, day.month, day.day, tzinfo=UTC)


def add_clamped(moment: datetime, by: timedelta) -> datetime:
    """`moment + by`, stopping at the last moment the calendar has (9999 is people's "for ever")."""
    return LAST if by > LAST - moment else moment + by


def shift(moment: datetime, count: int, unit: str) -> datetime:
    """`moment` moved by `count` units; a month keeps its last day.

    >>> shift(datetime(2026, 3, 31, tzinfo=UTC), -1, "month").day
    28
    """
    days = {"day": 1, "weekend": 7, "week": 7, "fortnight": 14}
    months = {"month": 1, "quarter": 3, "season": 3, "year": 12, "decade": 120, "century": 1200}
    if unit in months:
        year, month = divmod(moment.year * 12 + moment.month - 1 + count * months[unit], 12)
        if year == 10_000:
            return LAST
        return moment.replace(year=year, month=month + 1, day=min(moment.day, monthrange(year, month + 1)[1]))
    by = timedelta(days=count * days[unit]) if unit in days else timedelta(seconds=count * SECONDS[unit])
    return add_clamped(moment, by)


def enclosing_unit(moment: datetime, unit: str) -> Span:
    """The calendar's own `unit` that holds `moment`: its week from Monday, its quarter, its decade.

    >>> str(enclosing_unit(datetime(2026, 5, 14, tzinfo=UTC), "week").window)
    '2026-05-11 to 2026-05-18'
    """
    day = midnight(moment)
    if unit in SECONDS:
        start = moment.replace(
            microsecond=0,
            second=moment.second if unit == "second" else 0,
            minute=0 if unit == "hour" else moment.minute,
        )
    elif unit == "day":
        start = day
    elif unit in ("week", "fortnight"):
        start = day - ONE_DAY * day.weekday()
    elif unit == "weekend":
        saturday = day - ONE_DAY * day.weekday() + 5 * ONE_DAY
        return Span(saturday, saturday + 2 * ONE_DAY, unit)
    elif unit == "month":
        start = day.replace(day=1)
    elif unit == "quarter":
        start = day.replace(day=1, month=(day.month - 1) // 3 * 3 + 1)
    else:
        size = {"year": 1, "decade": 10, "century": 100}[unit]
        start = day.replace(day=1, month=1, year=max(1, day.year // size * size))
    return Span(start, shift(start, 1, unit), unit)


def year_span(year: int) -> Span:
    return enclosing_unit(datetime(year, 1, 1, tzinfo=UTC), "year")


def month_span(year: int, month: int) -> Span:
    return enclosing_unit(datetime(year, month, 1, tzinfo=UTC), "month")


def day_span(year: int, month: int, day: int) -> Span:
    return enclosing_unit(datetime(year, month, day, tzinfo=UTC), "day")


def quarter_span(year: int, quarter: int) -> Span:
    return enclosing_unit(datetime(year, quarter * 3 - 2, 1, tzinfo=UTC), "quarter")


def season_span(year: int, first_month: int) -> Span:
    """Three whole months; the winter of a year begins in its December."""
    start = datetime(year, first_month, 1, tzinfo=UTC)
    return Span(start, shift(start, 3, "month"), "season")


def week_span(year: int, week: int) -> Span:
    """An ISO week."""
    start = start_of_date(date.fromisocalendar(year, week, 1))
    return Span(start, start + 7 * ONE_DAY, "week")


def holiday_span(year: int, name: str) -> Span:
    """That year's holiday, as `words.HOLIDAYS` describes it.

    >>> holiday_span(2024, "thanksgiving").start.day, holiday_span(2024, "easter").start.month
    (28, 3)
    """
    rule = HOLIDAYS[name]
    if not isinstance(rule, str):
        return day_span(year, *rule)
    if rule.startswith("easter"):
        return enclosing_unit(easter(year) + ONE_DAY * int(rule[6:]), "day")
    count, weekday, month, *later = rule.split()
    found = nth_weekday(month_span(year, int(month)), WEEKDAYS[weekday], int(count))
    return enclosing_unit(found.start + ONE_DAY * int(later[0] if later else 0), "day")


def nth_weekday(within: Span, weekday: int, count: int) -> Span:
    """The `count`-th such weekday of a stretch, from its end when negative; ValueError past its edge."""
    if count > 0:
        start = within.start + ONE_DAY * ((weekday - within.start.weekday()) % 7 + 7 * (count - 1))
    else:
        final = within.end - ONE_DAY
        start = final - ONE_DAY * ((final.weekday() - weekday) % 7 + 7 * (-count - 1))
    if not within.start <= start < within.end:
        raise ValueError(f"no such weekday: {count}")
    return enclosing_unit(start, "day")


def third_of(span: Span, which: int) -> Span:
    """The early (0), middle (1) or late (2) third, cut where people cut: a month at its days 11 and 21."""
    start, end, grain = span.start, span.end, span.granularity
    if grain == "month":
        cuts = [start, start + 10 * ONE_DAY, start + 20 * ONE_DAY, end]
    elif grain == "year":
        cuts = [start, shift(start, 4, "month"), shift(start, 8, "month"), end]
    elif grain == "week":
        cuts = [start, start + 2 * ONE_DAY, start + 4 * ONE_DAY, end]
        if which == 0:
            cuts[1] += ONE_DAY
    elif grain == "decade":
        cuts = [start, shift(start, 3, "year"), shift(start, 7, "year"), end]
    elif grain in ("quarter", "season"):
        cuts = [start, shift(start, 1, "month"), shift(start, 2, "month"), end]
    elif grain == "century":
        cuts = [start, shift(start, 33, "year"), shift(start, 67, "year"), end]
    else:
        size = (end - start) / 3
        cuts = [start, start + size, start + 2 * size, end]
    return Span(cuts[which], cuts[which + 1], "part")


def latest_occurrence(make: Callable[[int], Span], now: datetime) -> Span:
    """The most recent one that has started: `make` tells it for a year. A leap day looks back further."""
    for year in range(now.year, max(0, now.year - 9), -1):
        try:
            span = make(year)
        except ValueError:
            continue
        if span.start <= now:
            return Span(span.start, span.end, span.granularity, make)
    raise ValueError("never in the last nine years")


def easter(year: int) -> datetime:
    """Western Easter Sunday (the anonymous Gregorian computus)."""
    a, b, c = year % 19, year // 100, year % 100
    d = (19 * a + b - b // 4 - (b - (b + 8) // 25 + 1) // 3 + 15) % 30
    e = (32 + 2 * (b % 4) + 2 * (c // 4) - d - c % 4) % 7
    f = d + e - 7 * ((a + 11 * d + 22 * e) // 451) + 114
    return datetime(year, f // 31, f % 31 + 1, tzinfo=UTC)


SECONDS = {"second": 1, "minute": 60, "hour": 3600}
