"""Whole phrases: a date with its clock, a range, an open end. "since May", "between March and June 2024"."""

from __future__ import annotations

from datetime import timedelta

from remanence.language.temporal.calendar_spans import Span, around, midnight, plus
from remanence.language.temporal.relative_times import DAYS, Relatives
from remanence.language.temporal.time_of_day import CLOCK_WORDS, Clock, Clocks
from remanence.language.temporal.time_vocabulary import (
    DECADES,
    EARLY,
    FUTURE,
    HOLIDAY_STARTS,
    LATE,
    MIDDLE,
    MONTHS,
    NOONS,
    NUMBERS,
    ORDINALS,
    PARTS,
    PAST,
    SEASONS,
    UNITS,
    VAGUE,
    WEEKDAYS,
)
from remanence.language.temporal.token_reader import TO, Found
from remanence.schema import Window

OPENERS = {
    "since",
    "starting",
    "beginning",
    "before",
    "prior",
    "until",
    "till",
    "til",
    "after",
    "by",
    "later",
}
# The words a phrase can begin with; at any other word there is nothing to try.
STARTS = {*OPENERS, *MONTHS, *WEEKDAYS, *UNITS, *SEASONS, *DECADES, *PARTS, *NOONS, *HOLIDAY_STARTS, *DAYS}
STARTS |= {
    *PAST,
    *FUTURE,
    *EARLY,
    *MIDDLE,
    *LATE,
    *NUMBERS,
    *ORDINALS,
    *VAGUE,
    "this",
    "final",
    "a",
    "an",
    "in",
}
STARTS |= {"more", "over", "less", "between", "from", "half"}
# Hardly any of the small words among them begins one: the word after it tells, or a number.
_AFTER_A = {*VAGUE, *UNITS, *TO, "or"}
_BEGINS = {"in": {"a", "an", *VAGUE, *NUMBERS}, "a": _AFTER_A, "an": _AFTER_A}
_MOMENT = timedelta(microseconds=1)


class Phrases(Relatives, Clocks):
    """The top of the grammar."""

    def phrase(self, i: int) -> tuple[Window, int] | None:
        """The longest time phrase that begins at token `i`, and the token after it."""
        try:
            found = self._phrase(i)
        except (ValueError, OverflowError):
            return None  # it ran off the calendar's edge
        empty = found and found[0].start and found[0].end and found[0].start >= found[0].end
        return None if empty else found

    def _phrase(self, i: int) -> tuple[Window, int] | None:
        word = self.word(i)
        if word in _BEGINS and self.word(i + 1) not in _BEGINS[word] and self.token(i + 1).kind != "number":
            return None
        if word in OPENERS:
            return self.opened(i)
        if word in ("more", "over", "less"):
            return self.distant(i)
        if word in ("between", "from"):
            return self.between(i)
        # "May to March", "Jan-Feb 2017": two months beside each other need no other word.
        months = (
            word in MONTHS and self.word(i + 1) in TO and self.word(i + 2) in MONTHS and not self.verbal(i)
        )
        if not (found := self.spot(i, months)):
            return None
        span, j = found
        other = self.endpoint(j + 1) if self.word(j) in TO and span.grain != "range" else None
        if other and (ranged := self.joined(span, other[0])):
            return ranged, other[1]
        if self.word(j) in ("onwards", "onward"):
            return Window(span.start, None), j + 1
        return span.window, j

    def opened(self, i: int) -> tuple[Window, int] | None:
        """One end is open: "since May", "before 2020", "by Friday", "later than 2018"."""
        word, j = self.word(i), i + 1
        if (word == "later" and self.word(j) != "than") or (word == "beginning" and self.word(j) == "of"):
            found = self.spot(i)
            return (found[0].window, found[1]) if found else None
        if word == "later":
            word, j = ("by" if self.word(i - 1) == "no" else "after"), j + 1
        elif word == "prior":
            j = self.skip(j, "to")
        elif word in ("starting", "beginning"):
            j = self.skip(j, "on", "from", "in")
        if not (found := self.spot(self.skip(j, "the"), True)):
            return None
        span, end = found
        if word in ("since", "starting", "beginning"):
            return Window(span.start, None), end
        clock = span.grain == "clock"  # after 3pm is from 3pm on
        ending = self.word(self.skip(j, "the")) == "end"  # until the end of May is all of May
        if word == "after":
            return Window(span.start if clock else span.end, None), end
        return Window(None, span.end if (word == "by" or ending) and not clock else span.start), end

    def distant(self, i: int) -> tuple[Window, int] | None:
        """As in "more than two weeks ago", "over a year ago", "less than a month ago"."""
        word, j = self.word(i), self.skip(i + 1, "than")
        if j == i + 1 and word != "over":
            return None
        if not (found := self.counted(j)) or found[0].start > self.now:
            return None
        if word == "less":
            return Window(found[0].start, plus(self.now, _MOMENT)), found[1]
        return Window(None, found[0].end), found[1]

    def between(self, i: int) -> tuple[Window, int] | None:
        """As in "between A and B", "from A to B", "from A onwards"; "from A" alone is A."""
        if clocks := self.spot(i):
            return clocks[0].window, clocks[1]
        if not (begin := self.endpoint(i + 1)):
            return None
        span, j = begin
        if span.grain == "range":  # "between the 3rd and the 12th of May" is one date already
            return span.window, j
        joint = self.word(j) in TO or (self.word(j) == "and" and self.word(i) == "between")
        if joint and (other := self.endpoint(j + 1)) and (ranged := self.joined(span, other[0])):
            return ranged, other[1]
        onward = self.word(j) in ("onwards", "onward", "forward") or (
            self.word(j) == "on" and self.closed(j + 1)
        )
        if onward and self.word(i) == "from":
            return Window(span.start, None), j + 1
        return None  # the phrase, if there is one, begins after "from"

    def endpoint(self, i: int) -> Found:
        """One end of a range, where "now" and "date" are times too."""
        i = self.skip(i, "the")
        if self.word(i) in ("now", "date", "present"):
            return Span(self.today, plus(self.now, _MOMENT), "now"), i + 1
        return self.spot(i, True)

    def joined(self, begin: Span, final: Span) -> Window | None:
        """From the start of one to the end of the other; a year said once counts for both."""
        if begin.in_year and not final.in_year and final.grain != "now":
            year = final.start.year
            begin = next(
                (span for y in (year, year - 1) if (span := begin.in_year(y)).start < final.end), begin
            )
        elif final.in_year:
            year = begin.start.year
            final = next(
                (span for y in (year, year + 1) if (span := final.in_year(y)).start >= begin.start), final
            )
        elif final.grain == begin.grain == "day" and final.end <= begin.start:
            final = around(final.start + timedelta(days=7), "day")  # "from Friday to Monday"
        return Window(begin.start, final.end) if begin.start < final.end else None

    def spot(self, i: int, loose: bool = False) -> Found:
        """One stretch of time: a date with its part of day and clock in either order, or a clock alone."""
        try:
            token = self.token(i)
            timely = token.kind != "word" or token.low in CLOCK_WORDS
            if token.kind == "number" and self.word(i + 1) in MONTHS:
                timely = False  # "7 May" is not seven o'clock
            if timely and (clocked := self.clock(i)):
                return self.dated(*clocked)
            if not (found := self.relative(i) or self.date(i, loose)):
                return None
            span, j = self.in_its_year(*found)
            return self.clocked(span, j) if span.grain in ("day", "part") else (span, j)
        except (ValueError, OverflowError):
            return None  # a date that does not exist, or lies outside the calendar, is no time

    def in_its_year(self, span: Span, j: int) -> tuple[Span, int]:
        """As in "May last year", "Thanksgiving of next year"."""
        k = self.skip(j, "of", "in", ",")
        step = {"last": -1, "this": 0, "next": 1}.get(self.word(k))
        if span.in_year and step is not None and self.word(k + 1) == "year":
            return span.in_year(self.now.year + step), k + 2
        return span, j

    def clocked(self, span: Span, j: int) -> tuple[Span, int]:
        """A day, narrowed by the part of day and the clock time that follow it."""
        day = midnight(span.start)
        hint = "" if span.grain == "day" else "morning" if span.start.hour < 12 else "night"
        k = self.skip(j, ",", "early", "late")
        if self.word(k) == "in" and self.word(k + 1) == "the":
            k = self.skip(k + 2, "early", "late")
        if span.grain == "day" and self.word(k) in PARTS and self.word(k + 1) != "of":
            hint = self.word(k)
            span, j = self.part(day, hint), k + 1
        k = self.skip(j, ",", "-")
        k = self.skip(k, "at", "@", "around") if not self.clock_range(k, True) else k
        if timed := self.clock(k, True):
            return timed[0].on(day, hint), timed[1]
        return span, j

    def dated(self, clock: Clock, j: int) -> tuple[Span, int]:
        """A clock time on the day that follows it ("3pm on 5 May", "8am this morning"), else today's."""
        hint = ""
        if self.word(j) == "in" and self.word(j + 1) == "the" and self.word(j + 2) in PARTS:
            hint, j = self.word(j + 2), j + 3
        k = self.skip(j, ",", "on", "-")
        found = self.relative(self.skip(k, "the")) if self.word(k) != "in" else None
        if found := found or self.date(self.skip(k, "the"), k > j):
            span, end = found
            if span.grain == "part":
                return clock.on(midnight(span.start), "morning" if span.start.hour < 12 else "night"), end
            if span.grain == "day":
                if self.word(end) in PARTS:
                    hint, end = self.word(end), end + 1
                return clock.on(span.start, hint), end
        return clock.on(self.today, hint), j
