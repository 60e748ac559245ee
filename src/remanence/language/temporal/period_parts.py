"""Parts of a longer period: "early May", "the end of last year", "the first week of June"."""

from __future__ import annotations

from collections.abc import Callable

from remanence.language.temporal import time_vocabulary as vocab
from remanence.language.temporal.calendar_dates import CalendarDateRules
from remanence.language.temporal.calendar_spans import ONE_DAY, Span, shift
from remanence.language.temporal.token_reader import SpanMatch

_SIZES = ("week", "month", "quarter", "year", "decade", "century")


class PeriodPartRules(CalendarDateRules):
    """The rules for a part of a span."""

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
        found = self.time_span(self.skip(j, "the"), True)
        if found and found[0].granularity in ("day", "part"):
            return found if word != "mid" else None
        return self.part_of(j, lambda span: span.third(index)) if found else None

    def part_of(self, i: int, part: Callable[[Span], Span]) -> SpanMatch:
        """A part of the span at `i`, where "the year" is the current year."""
        j = self.skip(i, "the")
        unit = self.unit(self.skip(j, "current"))
        if unit in _SIZES and self.word(j + 1) not in ("of", "before", "after") and not self.year(j + 1):
            return part(Span.enclosing(self.today, unit)), self.skip(j, "current") + 1
        if not (found := self.time_span(j, True)):
            return None
        span, end = found
        if span.granularity not in (*_SIZES, "season", "half"):
            return None
        if make := span.in_year:
            return self.latest(lambda year: part(make(year))), end
        return part(span), end

    def so_far(self, i: int, earlier: bool) -> SpanMatch:
        """As in "earlier this year", which ends today, and "later this week", which begins today."""
        j = self.skip(i, "in")
        if self.word(j) == "today":
            unit, end = "day", j + 1
        elif self.word(j) in ("this", "the") and self.unit(j + 1) in _SIZES:
            unit, end = vocab.UNITS[self.word(j + 1)], j + 2
        else:
            found = self.time_span(j) if self.word(j) in vocab.PAST_WORDS else None
            return (found[0].third(0 if earlier else 2), found[1]) if found else None
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
            return None  # "20th of next month" needs no "day", but "first in line" is no time
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
