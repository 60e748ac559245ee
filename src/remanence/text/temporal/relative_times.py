"""Times relative to the reference time or to another span: "last May", "two weeks ago", "the end of last year"."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial

from remanence.text.temporal import time_vocabulary as vocab
from remanence.text.temporal.calendar_dates import CalendarDateRules
from remanence.text.temporal.calendar_spans import ONE_DAY, Span, parse_with_dateparser, shift
from remanence.text.temporal.token_reader import SpanMatch

_SIZES = ("week", "month", "quarter", "year", "decade", "century")
_WEEKEND_CUES = ("over", "on", "at", "during")


class RelativeTimeRules(CalendarDateRules):
    """The rules that count from the reference time, and those for a part of a span."""

    def relative_time(self, i: int) -> SpanMatch:
        """The first rule that applies at `i`. Rules call each other; no phrase is nested more than four deep."""
        if self.depth > 3:
            return None
        self.depth += 1
        try:
            return self._relative(i)
        finally:
            self.depth -= 1

    def _relative(self, i: int) -> SpanMatch:
        word = self.word(i)
        if word in vocab.RELATIVE_DAYS:
            day = Span.enclosing(self.today + ONE_DAY * vocab.RELATIVE_DAYS[word], "day")
            return (self.day_part(day.start, word), i + 1) if word in vocab.DAY_PARTS else (day, i + 1)
        if (word in ("last", "final") or self.ordinal(i)) and (match := self.ordinal_part(i)):
            return match
        if word in vocab.PAST_WORDS or word in vocab.FUTURE_WORDS or word == "this":
            return self.neighbour(i)
        if word in vocab.MODIFIERS or word in ("first", "second"):
            return self.period_part(i)
        if word == "in":
            return self.ahead(i)
        if (word in vocab.UNITS or word in vocab.WEEKDAYS or word in vocab.DAY_PARTS) and (match := self.next_to(i)):
            return match
        return self.counted_units(i)

    def day_part(self, day: datetime, name: str) -> Span:
        """A part of a day: its morning, its night."""
        first, final = vocab.DAY_PARTS[name]
        return Span(day + timedelta(hours=first), day + timedelta(hours=final), "part")

    def neighbour(self, i: int) -> SpanMatch:
        """As in "last week", "this May", "next Friday", "the past three months", "last night"."""
        word = self.word(i)
        j = i + 1
        if word == "this" and self.word(j) in ("past", "last", "coming"):
            word, j = self.word(j), j + 1
        step = -1 if word in vocab.PAST_WORDS else 0 if word == "this" else 1
        if (count := self.number(j)) and self.word(j) not in ("a", "an"):
            unit = self.unit(self.skip(count[2], "business", "working"))
            j = self.skip(count[2], "business", "working") + 1
            if unit is None or step == 0 or word == "following" or self.word(j) == "of":
                return None
            return self.rolling(step * count[1], unit), j
        name = self.word(j)
        if name in vocab.UNITS:
            return self.neighbour_unit(word, step, j)
        if name in vocab.DAY_PARTS and (step <= 0 or self.word(i - 1) != "the"):
            return self.day_part(self.today + ONE_DAY * step, name), j + 1
        clear = name in vocab.DAY_NAMES or self.token(j).capitalized or (step and name not in ("sat", "sun"))
        if name in vocab.WEEKDAYS and clear:
            return self.neighbour_weekday(word, step, j)
        if name in vocab.MONTHS and not (self.may_be_verb(j) and step == 0):
            number, k = self.month(j) or (0, 0)
            if self.day_number(k) or self.year(k):
                return self.month_first(j)
            return self.nearest(lambda year: Span.of_date("month", year, number), "month", step), k
        if name in vocab.SEASONS:
            first = vocab.SEASONS[name]
            return self.nearest(lambda year: Span.season(year, first), "season", step), j + 1
        if (holiday := self.holiday_name(j)) and (match := self.holiday(j, True)):
            return self.nearest(lambda year: Span.holiday(year, holiday), "day", step), match[1]
        return None

    def neighbour_unit(self, word: str, step: int, j: int) -> SpanMatch:
        """As in "last week" (a calendar week) and "the past week" (up to now); "the last minute" is not a time."""
        unit = vocab.UNITS[self.word(j)]
        if unit in ("second", "minute", "day") or (unit == "hour" and step == 0) or self.word(j).endswith("s"):
            return None
        if word == "following" or (self.word(j) == "quarter" and self.word(j + 1) in ("of", "past", "to")):
            return None
        if unit == "hour" or (word == "past" and unit != "weekend"):
            return self.rolling(step, unit), j + 1
        span = Span.enclosing(shift(self.today, step, unit), unit)
        if unit == "week":
            k = self.skip(j + 1, "on", ",")
            if self.word(k) in vocab.WEEKDAYS and (self.word(k) in vocab.DAY_NAMES or self.token(k).capitalized):
                return self.weekday_in_week(span.start, vocab.WEEKDAYS[self.word(k)]), k + 1
        return span, j + 1

    def neighbour_weekday(self, word: str, step: int, j: int) -> SpanMatch:
        """Last Friday is the latest before today; next Friday is in next week, this Friday in this week."""
        weekday = vocab.WEEKDAYS[self.word(j)]
        ahead = (weekday - self.today.weekday()) % 7
        if step < 0:
            return Span.enclosing(self.today - ONE_DAY * ((-ahead) % 7 or 7), "day"), j + 1
        if word in ("coming", "upcoming"):
            return Span.enclosing(self.today + ONE_DAY * (ahead or 7), "day"), j + 1
        return self.weekday_in_week(self.today + 7 * ONE_DAY * step, weekday), j + 1

    def nearest(self, make: Callable[[int], Span], unit: str, step: int) -> Span:
        """The last span that has ended, this year's, or the first that has not begun."""
        year = self.now.year
        if step == 0:
            previous = make(year - 1)  # a winter reaches into the next year
            return previous if previous.start <= self.now < previous.end else make(year)
        current = Span.enclosing(self.today, "month" if unit == "month" else "day")
        if step < 0:
            return next(span for back in range(3) if (span := make(year - back)).end <= current.start)
        return next(span for ahead in range(3) if (span := make(year + ahead)).start >= current.end)

    def rolling(self, count: int, unit: str) -> Span:
        """As in "the past three months": to the end of today; hours and minutes up to now."""
        if unit in vocab.SMALL_UNITS:
            ends = sorted((shift(self.now, count, unit), self.now))
            return Span(ends[0], ends[1] + timedelta(microseconds=1), "range")
        if count < 0:
            return Span(shift(self.today, count, unit), self.today + ONE_DAY, "range")
        return Span(self.today, shift(self.today, count, unit) + ONE_DAY, "range")

    def counted_units(self, i: int) -> SpanMatch:
        """As in "two weeks ago", "a few years back", "3 days from now", "two days before Christmas"."""
        if not (count := self.number(i)) or self.word(i - 1) == "half":
            return None
        if compound := self.compound(i):
            return compound
        low, high, j = count
        if self.word(j) in (*vocab.RANGE_WORDS, "or") and (other := self.number(j + 1)) and other[1] > high:
            high, j = other[1], other[2]  # "4-5 months ago"
        if high > 1 and (self.word(j) in vocab.PAST_WORDS or self.word(j) in vocab.FUTURE_WORDS):
            plural = self.word(j + 1).endswith("s") or self.whole_text  # not "turned 6 last week"
            unit = self.unit(j + 1) if plural else None
            step = -high if self.word(j) in vocab.PAST_WORDS else high
            return (self.rolling(step, unit), j + 2) if unit and self.word(j) != "following" else None
        unit = self.unit(j)
        if unit is None and low == high and self.word(j + 1) == "ago" and (match := self.recurring_ago(high, j)):
            return match
        if unit is None or high > 5000:
            return None
        after, then = self.word(j + 1), self.word(j + 2)
        back = after == "back" and self.may_end_before(j + 2) and then not in ("in", "at", "to", "from", "and")
        if after == "ago" and then == "today":
            return Span.enclosing(shift(self.today, -high, unit), "day"), j + 3
        if after == "ago" or back:
            return self.stepped(-high, -low, unit), j + 2
        if after == "hence" or (after == "from" and self.word(j + 2) == "now"):
            return self.stepped(low, high, unit), j + 2 + (after == "from")
        counted = any(k >= 0 and self.token(k).kind == "number" for k in (i - 1, i - 2))
        if after == "from" and counted and self.word(i) in ("a", "an"):
            return None  # a rate: "890 a month from October", "40 euros a week from Monday"
        if after in ("before", "after", "from") and (match := self.time_span(j + 2, True)):
            span, k = match
            if span.granularity == "range":
                return None
            start = shift(span.start, -high if after == "before" else high, unit)
            precision = unit if unit == span.granularity else "minute" if unit in vocab.SMALL_UNITS else "day"
            return Span.enclosing(start, precision), k
        return None

    def recurring_ago(self, count: int, j: int) -> SpanMatch:
        """As in "two summers ago", "three Augusts ago", "two Mondays ago"."""
        name = self.word(j).removesuffix("s")
        if name in vocab.DAY_NAMES:
            back = (self.today.weekday() - vocab.WEEKDAYS[name]) % 7 or 7
            return Span.enclosing(self.today - ONE_DAY * (back + 7 * (count - 1)), "day"), j + 2
        if name in vocab.SEASONS:
            make, unit = partial(Span.season, first_month=vocab.SEASONS[name]), "season"
        elif name in vocab.MONTH_NAMES:
            make, unit = partial(Span.of_date, "month", month=vocab.MONTHS[name]), "month"
        else:
            return None
        last = self.nearest(lambda year: make(year=year), unit, -1)
        return make(year=last.start.year - count + 1), j + 2

    def compound(self, i: int) -> SpanMatch:
        """As in "1 week, 2 days ago", which dateparser reads."""
        phrase, j = "", i
        while (count := self.number(j)) and (unit := self.unit(count[2])) and len(phrase) < 60:
            phrase += f"{count[1]} {unit} "
            j = self.skip(count[2] + 1, ",", "and")
        if self.word(j) != "ago" or phrase.count(" ") < 4:
            return None
        span = parse_with_dateparser(f"{phrase}ago", self.now)
        return (span, j + 1) if span else None

    def stepped(self, first: int, final: int, unit: str) -> Span:
        """From the unit `first` steps away to the one `final` steps away, both included."""
        enclosing = "week" if unit == "fortnight" else unit
        if self.is_statement and first == final and enclosing == "week":
            return Span.enclosing(shift(self.now, first, unit), "day")
        start = Span.enclosing(shift(self.now, first, unit), enclosing)
        end = Span.enclosing(shift(self.now, final, unit), enclosing)
        return Span(start.start, end.end, enclosing)

    def ahead(self, i: int) -> SpanMatch:
        """As in "in two weeks"; never "in a minute" or "twice in a week"."""
        if not (count := self.number(i + 1)) or self.word(i - 1) in ("times", "twice", "once", "often"):
            return None
        if any(self.word(k) in ("haven't", "hasn't", "hadn't", "not", "never", "first") for k in range(i - 6, i)):
            return None  # "we haven't talked in a few days" is not in the future
        low, high, j = count
        unit = self.unit(j)
        if unit is None or high > 5000 or (high == 1 and (unit in vocab.SMALL_UNITS or unit in ("day", "weekend"))):
            return None
        if self.word(j + 1) in ("of", "flat", "ago", "or", "and"):
            return None
        return self.stepped(low, high, unit), self.skip(j + 1, "time")

    def next_to(self, i: int) -> SpanMatch:
        """As in "the week of 9 June", "the week before last", "the Monday before 24 July"."""
        word, after, unit = self.word(i), self.word(i + 1), self.unit(i)
        if after in ("before", "after") and self.word(i + 2) in ("last", "next") and self.may_end_before(i + 3):
            step = -2 if after == "before" else 2
            if word in vocab.DAY_PARTS:
                return self.day_part(self.today + ONE_DAY * step, word), i + 3
            if unit and unit not in vocab.SMALL_UNITS:
                return Span.enclosing(shift(self.today, step, unit), unit), i + 3
        if unit == "week" and (match := self.week_of(i)):
            return match
        the_weekend = word == "weekend" and self.word(i - 1) == "the" and self.word(i - 2) in _WEEKEND_CUES
        if the_weekend and after not in ("of", "before", "after"):
            back = (self.today.weekday() - 5) % 7
            if self.is_statement and self.direction.is_future is not False:
                back -= 7 if back > 1 else 0
            return Span.enclosing(self.today - ONE_DAY * back, "weekend"), i + 1
        if after == "of" and (unit in ("weekend", "month", "year") or word in vocab.DAY_PARTS):
            if not (match := self.time_span(i + 2, True)):
                return None
            span, j = match
            if span.granularity == "day" and unit is None:
                return self.day_part(span.start, word), j
            if span.granularity == "day" and unit == "weekend":
                return Span.enclosing(span.start, "weekend"), j
            return match if span.granularity == unit else None
        if after in ("before", "after") and (unit not in (None, *vocab.SMALL_UNITS) or word in vocab.WEEKDAYS):
            return self.before_or_after(i)
        return None

    def week_of(self, i: int) -> SpanMatch:
        """As in "week of 9 June", "week starting 4 February", "week ending Sunday", "week 3 of 2027"."""
        relation = self.word(i + 1)
        if self.token(i + 1).kind == "number" and (year := self.year_after(i + 2)):
            return Span.iso_week(year[0], int(relation)), year[1]
        if relation not in ("of", "starting", "beginning", "commencing", "ending"):
            return None
        if not (match := self.time_span(self.skip(i + 2, "on"), True)) or match[0].granularity != "day":
            return None
        day, j = match
        if relation == "of":
            return Span.enclosing(day.start, "week"), j
        start = day.end - 7 * ONE_DAY if relation == "ending" else day.start
        return Span(start, start + 7 * ONE_DAY, "week"), j

    def before_or_after(self, i: int) -> SpanMatch:
        """As in "the day before Christmas", "the Monday after 24 July", "the weekend before last Friday"."""
        if self.word(i - 1) in ("one", "every", "each", "this", "a") or not (
            match := self.relative_time(i + 2) or self.calendar_date(self.skip(i + 2, "the"), True)
        ):
            return None
        span, j = match
        if span.granularity == "range":
            return None
        unit, before = self.unit(i), self.word(i + 1) == "before"
        if unit is None:
            weekday = vocab.WEEKDAYS[self.word(i)]
            if span.granularity != "day":
                return None
            gap = (span.start.weekday() - weekday) % 7 if before else (weekday - span.start.weekday()) % 7
            return Span.enclosing(span.start + ONE_DAY * (gap or 7) * (-1 if before else 1), "day"), j
        if unit == "day":
            return Span.enclosing(span.start - ONE_DAY if before else span.end, "day"), j
        if unit == "weekend":
            near = Span.enclosing(span.start, "weekend")
            while near.end > span.start if before else near.start < span.end:
                near = Span.enclosing(near.start + (-7 * ONE_DAY if before else 7 * ONE_DAY), "weekend")
            return near, j
        return Span.enclosing(shift(Span.enclosing(span.start, unit).start, -1 if before else 1, unit), unit), j

    def period_part(self, i: int) -> SpanMatch:
        """As in "early May 2023", "mid-1989", "the end of last year", "the first half of 2024"."""
        word = self.word(i)
        j = i + 1
        if word in ("first", "second"):
            if self.word(j) != "half" or self.word(j + 1) != "of":
                return None
            return self.part_of(j + 2, lambda span: span.half(word == "second"))
        index = 0 if word in vocab.EARLY_WORDS else 1 if word in vocab.MIDDLE_WORDS else 2
        if word in ("earlier", "later"):
            return self.so_far(j, word == "earlier")
        if word in ("beginning", "start", "middle", "end"):
            return self.part_of(j + 1, lambda span: span.third(index)) if self.word(j) == "of" else None
        j = self.skip(j, "-", "in")
        match = self.time_span(self.skip(j, "the"), True)
        if match and match[0].granularity in ("day", "part"):
            return match if word != "mid" else None
        return self.part_of(j, lambda span: span.third(index)) if match else None

    def part_of(self, i: int, part: Callable[[Span], Span]) -> SpanMatch:
        """A part of the span at `i`, where "the year" is the current year."""
        j = self.skip(i, "the")
        unit = self.unit(self.skip(j, "current"))
        if unit in _SIZES and self.word(j + 1) not in ("of", "before", "after") and not self.year(j + 1):
            return part(Span.enclosing(self.today, unit)), self.skip(j, "current") + 1
        if not (match := self.time_span(j, True)):
            return None
        span, end = match
        if span.granularity not in (*_SIZES, "season", "half"):
            return None
        if make := span.in_year:
            return self.in_open_year(lambda year: part(make(year))), end
        return part(span), end

    def so_far(self, i: int, earlier: bool) -> SpanMatch:
        """As in "earlier this year", which ends today, and "later this week", which begins today."""
        j = self.skip(i, "in")
        if self.word(j) == "today":
            unit, end = "day", j + 1
        elif self.word(j) in ("this", "the") and self.unit(j + 1) in _SIZES:
            unit, end = vocab.UNITS[self.word(j + 1)], j + 2
        else:
            match = self.time_span(j) if self.word(j) in vocab.PAST_WORDS else None
            return (match[0].third(0 if earlier else 2), match[1]) if match else None
        span = Span.enclosing(self.today, unit)
        middle = self.now if unit == "day" else self.today + ONE_DAY if earlier else self.today
        return (Span(span.start, middle, "range") if earlier else Span(middle, span.end, "range")), end

    def ordinal_part(self, i: int) -> SpanMatch:
        """As in "the first week of June", "last Sunday of March", "the last four months of 2021"."""
        last = self.word(i) in ("last", "final")
        ordinal = (-1, i + 1) if last else self.ordinal(i)
        if ordinal is None:
            return None
        number, j = ordinal
        size = 1
        if (count := self.number(j)) and self.word(j) not in ("a", "an") and self.unit(count[2]):
            size, j = count[1], count[2]
        weekday = vocab.WEEKDAYS.get(self.word(j))
        unit = self.unit(j)
        k = j + 1 if unit or weekday is not None else j
        if self.word(k) not in ("of", "in") or unit in vocab.SMALL_UNITS:
            return None
        if k == j and (last or self.word(k) == "in" or self.word(k + 1) not in ("this", "last", "next", "the")):
            return None  # "20th of next month" needs no "day", but "first in line" is not a time
        return self.part_of(k + 1, lambda span: _nth(span, number, size, unit or "day", weekday))


def _nth(span: Span, number: int, size: int, unit: str, weekday: int | None) -> Span:
    """The `number`-th of its days, weeks, weekends or Tuesdays; ValueError if there is none."""
    if weekday is not None:
        return span.nth_weekday(weekday, number)
    if unit == "weekend":
        saturday = span.nth_weekday(5, number).start
        return Span(saturday, saturday + 2 * ONE_DAY, "weekend")
    start = shift(span.end, -size, unit) if number < 0 else shift(span.start, (number - 1) * size, unit)
    if not span.start <= start < span.end:
        raise ValueError(f"no such {unit}")
    return Span(start, shift(start, size, unit), unit if size == 1 else "range")
