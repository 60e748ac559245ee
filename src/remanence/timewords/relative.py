"""Times said from where the speaker stands: "yesterday", "last May", "two weeks ago", "early next year"."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from remanence.timewords.dates import Dates
from remanence.timewords.reader import Found
from remanence.timewords.spans import (
    DAY,
    Span,
    around,
    holiday_span,
    latest,
    month_span,
    nth_weekday,
    season_span,
    shift,
    third,
)
from remanence.timewords.words import (
    DAY_NAMES,
    EARLY,
    FUTURE,
    HOLIDAY_STARTS,
    HOLIDAYS,
    LATE,
    MIDDLE,
    MONTHS,
    PARTS,
    PAST,
    SEASONS,
    SMALL_UNITS,
    UNITS,
    WEEKDAYS,
)

DAYS = {"yesterday": -1, "today": 0, "tonight": 0, "tonite": 0, "tomorrow": 1, "tmrw": 1}
_SIZES = ("week", "month", "quarter", "year", "decade", "century")


class Relatives(Dates):
    """The rules that count from the reference time."""

    def relative(self, i: int) -> Found:
        """The first rule that holds at `i`."""
        word = self.word(i)
        if word in DAYS:
            day = around(self.today + DAY * DAYS[word], "day")
            return (self.part(day.start, word), i + 1) if word in PARTS else (day, i + 1)
        if word in ("first", "last", "final") or self.ordinal(i):
            if found := self.ordinal_of(i):
                return found
        if word in PAST or word in FUTURE or word == "this":
            return self.neighbour(i)
        if word in EARLY or word in MIDDLE or word in LATE or word in ("first", "second"):
            return self.portion(i)
        if word == "in":
            return self.ahead(i)
        if word in UNITS or word in WEEKDAYS or word in PARTS:
            if found := self.beside(i):
                return found
        return self.counted(i)

    def part(self, day: datetime, name: str) -> Span:
        """A part of a day: its morning, its night."""
        first, final = PARTS[name]
        return Span(day + timedelta(hours=first), day + timedelta(hours=final), "part")

    def neighbour(self, i: int) -> Found:
        """ "last week", "this May", "next Friday", "the past three months", "last night"."""
        word = self.word(i)
        j = i + 1
        if word == "this" and self.word(j) in ("past", "last", "coming"):
            word, j = self.word(j), j + 1
        step = -1 if word in PAST else 0 if word == "this" else 1
        if (count := self.number(j)) and self.word(j) not in ("a", "an"):
            unit = self.unit(self.skip(count[2], "business", "working"))
            if unit is None or step == 0 or word == "following":
                return None
            return self.rolling(step * count[1], unit), self.skip(count[2], "business", "working") + 1
        name = self.word(j)
        if name in UNITS:
            return self.neighbour_unit(word, step, j)
        if name in PARTS and (step <= 0 or name != "night"):
            return self.part(self.today + DAY * step, name), j + 1
        if name in WEEKDAYS and (name in DAY_NAMES or self.token(j).capital or (step and name not in ("sat", "sun"))):
            return self.neighbour_weekday(word, step, j)
        if name in MONTHS and not (self.verbal(j) and step == 0):
            number, k = self.month(j) or (0, 0)
            day = self.day_number(k)
            if day or self.year(k):
                return self.month_first(j)
            return self.nearest(lambda year: month_span(year, number), "month", step), k
        if name in SEASONS:
            first = SEASONS[name]
            return self.nearest(lambda year: season_span(year, first), "season", step), j + 1
        if name in HOLIDAY_STARTS and (found := self.holiday(j, True)):
            holiday = next(
                key for size in (3, 2, 1) if (key := " ".join(self.word(j + k) for k in range(size))) in HOLIDAYS
            )
            return self.nearest(lambda year: holiday_span(year, holiday), "day", step), found[1]
        return None

    def neighbour_unit(self, word: str, step: int, j: int) -> Found:
        """ "last week" is the calendar's, "the past week" runs up to now; "last minute" is no time."""
        unit = UNITS[self.word(j)]
        if unit in ("second", "minute", "day") or (unit == "hour" and step == 0) or self.word(j).endswith("s"):
            return None
        if word == "following" or (self.word(j) == "quarter" and self.word(j + 1) in ("of", "past", "to")):
            return None
        if unit == "hour" or (word == "past" and unit != "weekend"):
            return self.rolling(step, unit), j + 1
        span = around(shift(self.today, step, unit), unit)
        if unit == "week":
            k = self.skip(j + 1, "on", ",")
            if self.word(k) in WEEKDAYS and (self.word(k) in DAY_NAMES or self.token(k).capital):
                return around(span.start + DAY * WEEKDAYS[self.word(k)], "day"), k + 1
        return span, j + 1

    def neighbour_weekday(self, word: str, step: int, j: int) -> Found:
        """ "last Friday" is the latest before today; "next Friday" next week's; "this Friday" this week's."""
        weekday = WEEKDAYS[self.word(j)]
        ahead = (weekday - self.today.weekday()) % 7
        monday = around(self.today, "week").start
        if step < 0:
            start = self.today - DAY * ((-ahead) % 7 or 7)
        elif word in ("coming", "upcoming"):
            start = self.today + DAY * (ahead or 7)
        else:
            start = monday + DAY * (weekday + 7 * step)
        return around(start, "day"), j + 1

    def nearest(self, make: Callable[[int], Span], grain: str, step: int) -> Span:
        """The last one that is over, this year's, or the first one still to come."""
        year = self.now.year
        if step == 0:
            winter = make(year - 1)
            return winter if winter.start <= self.now < winter.end else make(year)
        here = around(self.today, "month" if grain == "month" else "day")
        if step < 0:
            return next(span for back in range(3) if (span := make(year - back)).end <= here.start)
        return next(span for ahead in range(3) if (span := make(year + ahead)).start >= here.end)

    def rolling(self, count: int, unit: str) -> Span:
        """ "The past three months": from that day to the end of today; hours and minutes up to now."""
        if unit in SMALL_UNITS:
            ends = sorted((shift(self.now, count, unit), self.now))
            return Span(ends[0], ends[1] + timedelta(microseconds=1), "range")
        if count < 0:
            return Span(shift(self.today, count, unit), self.today + DAY, "range")
        return Span(self.today, shift(self.today, count, unit) + DAY, "range")

    def counted(self, i: int) -> Found:
        """ "two weeks ago", "a few years back", "3 days from now", "two days before Christmas"."""
        if not (count := self.number(i)):
            return None
        low, high, j = count
        if self.word(j) in PAST or self.word(j) in FUTURE:
            unit = self.unit(j + 1)
            step = -high if self.word(j) in PAST else high
            return (self.rolling(step, unit), j + 2) if unit and self.word(j) != "following" else None
        unit = self.unit(j)
        if unit is None or high > 5000:
            return None
        after = self.word(j + 1)
        if after == "ago" or (after == "back" and self.closed(j + 2) and self.word(j + 2) not in ("in", "at", "to", "from")):
            return self.stepped(-high, -low, unit), j + 2
        if after == "hence" or (after == "from" and self.word(j + 2) == "now"):
            return self.stepped(low, high, unit), j + 2 + (after == "from")
        if after in ("before", "after", "from") and (found := self.spot(j + 2, True)):
            span, k = found
            if span.on_day or span.grain == "range":
                return None
            start = shift(span.start, -high if after == "before" else high, unit)
            return around(start, unit if unit == span.grain else "minute" if unit in SMALL_UNITS else "day"), k
        return None

    def stepped(self, first: int, final: int, unit: str) -> Span:
        """From the unit `first` steps away to the one `final` steps away, both whole."""
        whole = "week" if unit == "fortnight" else unit
        start = around(shift(self.now, first, unit), whole)
        end = around(shift(self.now, final, unit), whole)
        return Span(start.start, end.end, whole)

    def ahead(self, i: int) -> Found:
        """ "in two weeks"; never "in a minute" or "twice in a week"."""
        if not (count := self.number(i + 1)) or self.word(i - 1) in ("times", "twice", "once", "often"):
            return None
        low, high, j = count
        unit = self.unit(j)
        if unit is None or high > 5000 or (high == 1 and (unit in SMALL_UNITS or unit == "day")):
            return None
        if self.word(j + 1) in ("of", "flat", "ago", "or"):
            return None
        return self.stepped(low, high, unit), self.skip(j + 1, "time")

    def beside(self, i: int) -> Found:
        """ "the week of 9 June", "the week before last", "the Monday before 24 July", "the night of May 5"."""
        word, after = self.word(i), self.word(i + 1)
        unit = self.unit(i)
        if after in ("before", "after") and self.word(i + 2) in ("last", "next") and unit and unit not in SMALL_UNITS:
            step = -2 if after == "before" else 2
            if not (self.unit(i + 3) or self.word(i + 3) in WEEKDAYS):
                return around(shift(self.today, step, unit), unit), i + 3
        if unit == "week" and after in ("of", "starting", "beginning", "commencing", "ending"):
            j = self.skip(i + 2, "on")
            if (found := self.spot(j, True)) and found[0].grain == "day":
                start = found[0].start
                if after == "of":
                    return around(start, "week"), found[1]
                return Span(start if after != "ending" else start - 6 * DAY, start + 7 * DAY, "week"), found[1]
            return None
        if unit == "week" and self.token(i + 1).kind == "number" and (year := self.year_beside(i + 2)):
            start = datetime.fromisocalendar(year[0], int(after), 1).replace(tzinfo=self.now.tzinfo)
            return around(start, "week"), year[1]
        if unit in ("weekend", "month", "year") and after == "of" and (found := self.spot(i + 2, True)):
            if unit == "weekend" and found[0].grain == "day":
                return around(found[0].start, "weekend"), found[1]
            return found if found[0].grain == unit else None
        if word in PARTS and after == "of" and (found := self.spot(i + 2, True)):
            return (self.part(found[0].start, word), found[1]) if found[0].grain == "day" else None
        if after in ("before", "after") and (unit in ("day", "week", "weekend", "month", "year") or word in WEEKDAYS):
            return self.next_to(i)
        return None

    def next_to(self, i: int) -> Found:
        """ "the day before Christmas", "the Monday after 24 July", "the weekend before last Friday"."""
        if self.word(i - 1) in ("one", "every", "each", "this", "a") or not (found := self.spot(i + 2, True)):
            return None
        span, j = found
        if span.on_day or span.grain == "range":
            return None
        unit, before = self.unit(i), self.word(i + 1) == "before"
        if unit is None:
            weekday = WEEKDAYS[self.word(i)]
            if span.grain != "day":
                return None
            gap = (span.start.weekday() - weekday) % 7 if before else (weekday - span.start.weekday()) % 7
            return around(span.start + DAY * (gap or 7) * (-1 if before else 1), "day"), j
        if unit == "day":
            return around(span.start - DAY if before else span.end, "day"), j
        if unit == "weekend":
            near = around(span.start, "weekend")
            while near.end > span.start if before else near.start < span.end:
                near = around(near.start + (-7 * DAY if before else 7 * DAY), "weekend")
            return near, j
        return around(shift(around(span.start, unit).start, -1 if before else 1, unit), unit), j

    def portion(self, i: int) -> Found:
        """ "early May 2023", "mid-1989", "the end of last year", "the first half of 2024", "later this week"."""
        word = self.word(i)
        j = i + 1
        if word in ("first", "second"):
            if self.word(j) != "half" or self.word(j + 1) != "of":
                return None
            return self.cut(j + 2, lambda span: _half(span, word == "second"))
        which = 0 if word in EARLY else 1 if word in MIDDLE else 2
        if word in ("earlier", "later"):
            return self.so_far(j, word == "earlier")
        if word in ("beginning", "start", "middle", "end"):
            return self.cut(j + 1, lambda span: third(span, which)) if self.word(j) == "of" else None
        j = self.skip(j, "-", "in")
        if found := self.spot(self.skip(j, "the"), True):
            if found[0].grain in ("day", "part"):
                return found if word != "mid" else None
            return self.cut(j, lambda span: third(span, which))
        return None

    def cut(self, i: int, part: Callable[[Span], Span]) -> Found:
        """A part of the stretch at `i`, where "the year" is the one now."""
        j = self.skip(i, "the")
        unit = self.unit(self.skip(j, "current"))
        if unit in _SIZES and self.word(j + 1) not in ("of", "before", "after") and not self.year(j + 1):
            return part(around(self.today, unit)), self.skip(j, "current") + 1
        if not (found := self.spot(j, True)):
            return None
        span, end = found
        if span.grain not in (*_SIZES, "season", "half"):
            return None
        if make := span.in_year:
            return latest(lambda year: part(make(year)), self.now), end
        return part(span), end

    def so_far(self, i: int, earlier: bool) -> Found:
        """ "earlier this year" ends today; "later this year" begins today."""
        j = self.skip(i, "in")
        if self.word(j) == "today":
            unit, end = "day", j + 1
        elif self.word(j) in ("this", "the") and self.unit(j + 1) in ("week", "month", "year", "decade", "century"):
            unit, end = UNITS[self.word(j + 1)], j + 2
        else:
            found = self.neighbour(j) if self.word(j) in PAST else None
            return (third(found[0], 0 if earlier else 2), found[1]) if found else None
        span = around(self.today, unit)
        middle = self.now if unit == "day" else self.today + DAY if earlier else self.today
        return (Span(span.start, middle, "range") if earlier else Span(middle, span.end, "range")), end

    def ordinal_of(self, i: int) -> Found:
        """ "the first week of June", "last Sunday of March", "the last four months of 2021", "20th of next month"."""
        last = self.word(i) in ("last", "final")
        ordinal = (-1, i + 1) if last else self.ordinal(i)
        if ordinal is None:
            return None
        number, j = ordinal
        size = 1
        if (count := self.number(j)) and self.word(j) not in ("a", "an") and self.unit(count[2]):
            size, j = count[1], count[2]
        weekday = WEEKDAYS.get(self.word(j))
        unit = self.unit(j)
        k = j + 1 if unit or weekday is not None else j
        if self.word(k) not in ("of", "in") or (unit in SMALL_UNITS) or (k == j and self.word(k) == "in"):
            return None
        if k == j and (last or self.skip(k + 1, "the") == k + 1 and self.word(k + 1) not in ("this", "last", "next")):
            return None

        def part(span: Span) -> Span:
            return _nth(span, number, size, unit or "day", weekday)

        return self.cut(k + 1, part)


def _nth(span: Span, number: int, size: int, unit: str, weekday: int | None) -> Span:
    """The `number`-th of its days, weeks, weekends or Tuesdays; ValueError where it has no such."""
    if weekday is not None:
        return nth_weekday(span, weekday, number)
    if unit == "weekend":
        saturday = nth_weekday(span, 5, number).start
        return Span(saturday, saturday + 2 * DAY, "weekend")
    start = shift(span.end, -size, unit) if number < 0 else shift(span.start, (number - 1) * size, unit)
    if not span.start <= start < span.end:
        raise ValueError(f"no such {unit}")
    return Span(start, shift(start, size, unit), unit if size == 1 else "range")


def _half(span: Span, second: bool) -> Span:
    middle = shift(span.start, 6, "month") if span.grain == "year" else span.start + (span.end - span.start) / 2
    middle = middle.replace(hour=0, minute=0, second=0, microsecond=0)
    return Span(middle, span.end, "half") if second else Span(span.start, middle, "half")
