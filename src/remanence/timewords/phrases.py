"""Whole phrases: a time with its clock, a range, an open end. "since May", "between March and June 2024"."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from remanence.model import Window
from remanence.timewords.reader import TO, Found
from remanence.timewords.relative import Relatives
from remanence.timewords.spans import Span, around, midnight, plus, shift
from remanence.timewords.words import NOONS, NUMBERS, PARTS

_AT = {"at", "@", "around", "about", "by", "before", "after", "until", "till", "since", "from", "between"}


class Phrases(Relatives):
    """The top of the grammar."""

    def phrase(self, i: int) -> tuple[Window, int] | None:
        """The longest time phrase that begins at token `i`, and the token after it."""
        word = self.word(i)
        if word in ("since", "starting", "beginning", "before", "prior", "until", "till", "til", "after", "by", "later"):
            return self.opened(i)
        if word in ("more", "over", "less"):
            return self.distant(i)
        if word == "between" or word == "from":
            return self.between(i)
        if not (found := self.spot(i)):
            return None
        span, j = found
        if self.word(j) in TO and span.grain != "range" and (other := self.endpoint(j + 1)):
            if ranged := self.joined(span, other[0]):
                return ranged, other[1]
        if self.word(j) in ("onwards", "onward"):
            return Window(span.start, None), j + 1
        return span.window, j

    def opened(self, i: int) -> tuple[Window, int] | None:
        """One end is open: "since May", "before 2020", "by Friday", "later than 2018"."""
        word, j = self.word(i), i + 1
        if word == "prior":
            j = self.skip(j, "to")
        elif word == "later":
            if self.word(j) != "than":
                return self._spot_window(i)
            word, j = ("by" if self.word(i - 1) == "no" else "after"), j + 1
        elif word in ("starting", "beginning"):
            if self.word(j) == "of":
                return self._spot_window(i)
            j = self.skip(j, "on", "from", "in")
        if not (found := self.spot(self.skip(j, "the"), True)):
            return None
        span, end = found
        if word in ("since", "starting", "beginning"):
            return Window(span.start, None), end
        if word == "after":
            return Window(span.end if not span.on_day else span.start, None), end
        return Window(None, span.end if word == "by" and not span.on_day else span.start), end

    def distant(self, i: int) -> tuple[Window, int] | None:
        """ "more than two weeks ago", "over a year ago", "less than a month ago"."""
        j = i + 1 if self.word(i) == "over" else self.skip(i + 1, "than")
        if j == i + 1 and self.word(i) != "over":
            return None
        if not (found := self.counted(j)) or found[0].start > self.now:
            return None
        if self.word(i) == "less":
            return Window(found[0].start, plus(self.now, timedelta(microseconds=1))), found[1]
        return Window(None, found[0].end), found[1]

    def between(self, i: int) -> tuple[Window, int] | None:
        """ "between A and B", "from A to B", "from A onwards"; "from A" alone is A."""
        if clocks := self.spot(i):
            return clocks[0].window, clocks[1]
        begin = self.endpoint(i + 1)
        if begin is None:
            return None
        span, j = begin
        if span.grain == "range":  # "between the 3rd and the 12th of May" is one date to the rules below
            return span.window, j
        joint = self.word(j) in TO or (self.word(j) == "and" and self.word(i) == "between")
        if joint and (other := self.endpoint(j + 1)) and (ranged := self.joined(span, other[0])):
            return ranged, other[1]
        if self.word(i) == "between":
            return None
        if self.word(j) in ("on", "onwards", "onward", "forward") and (self.word(j) != "on" or self.closed(j + 1)):
            return Window(span.start, None), j + 1
        return None  # the phrase then begins after "from"

    def endpoint(self, i: int) -> Found:
        """One end of a range, where "now" and "date" are times too."""
        i = self.skip(i, "the")
        if self.word(i) in ("now", "date", "present"):
            return Span(self.today, plus(self.now, timedelta(microseconds=1)), "day"), i + 1
        return self.spot(i, True)

    def joined(self, begin: Span, final: Span) -> Window | None:
        """From the start of one to the end of the other, the year said once counting for both."""
        if begin.in_year and not final.in_year:
            begin = begin.in_year(final.start.year)
            if begin.start > final.start and begin.grain != "year":
                begin = Span(shift(begin.start, -1, "year"), shift(begin.end, -1, "year"), begin.grain)
        elif final.in_year:
            year = begin.start.year
            final = next((span for y in (year, year + 1) if (span := final.in_year(y)).end > begin.start), final)
        elif final.grain == begin.grain == "day" and final.end <= begin.start:
            final = around(final.start + timedelta(days=7), "day")  # "from Friday to Monday"
        return Window(begin.start, final.end) if begin.start < final.end else None

    def spot(self, i: int, loose: bool = False) -> Found:
        """One stretch of time: a date with its part of day and clock in either order, or a clock alone."""
        try:
            if clocked := self.clock_range(i) or self.clock(i, loose):
                return self.dated(*clocked)
            if not (found := self.relative(i) or self.date(i, loose)):
                return None
            span, j = self.in_its_year(*found)
            return self.clocked(span, j) if span.grain in ("day", "part") else (span, j)
        except (ValueError, OverflowError, StopIteration):
            return None  # a date that does not exist, or lies outside the calendar, is no time

    def in_its_year(self, span: Span, j: int) -> tuple[Span, int]:
        """ "May last year", "Thanksgiving of next year"."""
        k = self.skip(j, "of", "in", ",")
        step = {"last": -1, "this": 0, "next": 1}.get(self.word(k))
        if span.in_year and step is not None and self.word(k + 1) == "year":
            return span.in_year(self.now.year + step), k + 2
        return span, j

    def clocked(self, span: Span, j: int) -> tuple[Span, int]:
        """A day, narrowed by the part of day and the clock time that follow it."""
        day, hint = midnight(span.start), "" if span.grain == "day" else "night"
        k = self.skip(j, ",", "early", "late")
        if self.word(k) == "in" and self.word(k + 1) == "the":
            k = self.skip(k + 2, "early", "late")
        if span.grain == "day" and self.word(k) in PARTS and self.word(k + 1) != "of":
            hint = self.word(k)
            span, j = self.part(day, hint), k + 1
        k = self.skip(j, ",", "-")
        if ranged := self.clock_range(k, True):
            return (_later(ranged[0], hint).on_day or _same)(day), ranged[1]
        m = self.skip(k, "at", "@", "around", "about")
        if timed := self.clock(m, True, number=m > k and self.word(k) != "about"):
            clock = _later(timed[0], hint)
            return (clock.on_day or _same)(day), timed[1]
        return span, j

    def dated(self, clock: Span, j: int) -> tuple[Span, int]:
        """A clock time, moved to the day that follows it: "3pm on 5 May", "8am this morning"."""
        k = self.skip(j, ",", "on", "-")
        if self.word(k) in ("in", "at"):
            m = self.skip(k + 1, "the")
            if self.word(m) in PARTS:
                clock, j = _later(clock, self.word(m)), m + 1
                k = self.skip(j, ",", "on")
        if not (found := self.relative(self.skip(k, "the")) or self.date(k, k > j)):
            return clock, j
        span, end = found
        if span.grain not in ("day", "part") or clock.on_day is None or self.word(k) == "in":
            return clock, j
        hint = self.word(end - 1) if span.grain == "part" else ""
        if span.grain == "day" and self.word(end) in PARTS:
            hint, end = self.word(end), end + 1
        return (_later(clock, hint).on_day or _same)(midnight(span.start)), end

    def clock(self, i: int, loose: bool = False, number: bool = False) -> Found:
        """ "3pm", "at 15:30", "5 o'clock", "noon"; a lone number only where `number` allows it."""
        token = self.token(i)
        said = loose or self.word(i - 1) in _AT
        digits = [int(run) for run in re.findall("[0-9]+", token.low)]
        if token.kind == "clock":
            return self.at(digits, "p" if "p" in token.low else "a"), i + 1
        if token.kind == "hm" and said:
            return self.at(digits, "0" if token.low[0] == "0" else ""), i + 1
        if token.low in NOONS and said:
            return self.at([NOONS[token.low]], "0"), i + 1
        after = self.word(i + 1)
        if token.kind == "number" or token.low in NUMBERS:
            hour = digits[0] if digits else NUMBERS[token.low]
            if after in ("am", "pm", "o'clock") and 1 <= hour <= 12:
                return self.at([hour], "" if after[0] == "o" else after[0]), i + 2
            if number and hour <= 24 and not self.unit(i + 1) and self.closed(i + 1):
                return self.at([hour], ""), i + 1
        return None

    def clock_range(self, i: int, bare: bool = False) -> Found:
        """ "from 3 to 5pm", "between 10:30 and 11"; two lone numbers only beside a day (`bare`)."""
        opener = self.word(i) in ("from", "between", "at")
        begin = self._hour(i + opener)
        if begin is None:
            return None
        j = begin[1]
        if not (self.word(j) in TO or (self.word(j) == "and" and self.word(i) == "between")):
            return None
        final = self._hour(j + 1)
        if final is None or self.unit(final[1]) or self.month(self.skip(final[1], "of")):
            return None
        real = any(self.token(k).kind in ("clock", "hm") for k in (i + opener, j + 1))
        if not real and not (bare and (opener or self.word(j) in ("-", "–"))):
            return None
        (a, mark_a), (b, mark_b) = begin[0], final[0]
        if not mark_a and mark_b in ("a", "p"):
            mark_a = mark_b if a[0] % 12 <= b[0] % 12 else "a"
        elif not mark_a and not mark_b and a[0] < 12 and b[0] < a[0]:
            mark_a, mark_b = "a", "p"

        def on_day(day: datetime) -> Span:
            start, end = self.at(a, mark_a, day).start, self.at(b, mark_b, day).start
            return Span(start, end if end > start else end + timedelta(days=1), "clocks", on_day=on_day)

        return on_day(self.today), final[1]

    def _hour(self, i: int) -> tuple[tuple[list[int], str], int] | None:
        token = self.token(i)
        digits = [int(run) for run in re.findall("[0-9]+", token.low)]
        if token.kind == "clock":
            return (digits, "p" if "p" in token.low else "a"), i + 1
        if token.kind == "hm" or (token.kind == "number" and digits[0] <= 24):
            return (digits, ""), i + 1
        return None

    def at(self, digits: list[int], mark: str, day: datetime | None = None) -> Span:
        """That time of a day. Unmarked, one to six o'clock are in the afternoon; "0" says 24 hours."""
        hour, minute, second = (*digits, 0, 0)[:3]
        if mark in ("a", "p") and not 1 <= hour <= 12 or hour > 24:
            if hour > 23 or mark == "a":
                raise ValueError(f"no such hour: {hour}")
            mark = "0"
        if mark in ("a", "p"):
            hour = hour % 12 + (12 if mark == "p" else 0)
        elif mark == "" and 1 <= hour <= 6:
            hour += 12
        size = timedelta(seconds=1 if len(digits) > 2 else 60 if len(digits) > 1 else 3600)

        def on_day(day: datetime) -> Span:
            if minute > 59 or second > 59:
                raise ValueError("no such minute")
            start = day + timedelta(hours=hour, minutes=minute, seconds=second)
            return Span(start, start + size, "clock", on_day=on_day)

        return on_day(day or self.today)

    def _spot_window(self, i: int) -> tuple[Window, int] | None:
        found = self.spot(i)
        return (found[0].window, found[1]) if found else None


def _later(clock: Span, hint: str) -> Span:
    """The clock as an evening means it: "tomorrow evening at 8" is 20:00."""
    on_day = clock.on_day
    if on_day is None or hint not in ("afternoon", "evening", "night", "tonight", "tonite") or clock.start.hour >= 12:
        return clock

    def later(day: datetime) -> Span:
        span = on_day(day)
        return Span(span.start + timedelta(hours=12), span.end + timedelta(hours=12), span.grain, on_day=later)

    return later(clock.start.replace(hour=0, minute=0, second=0, microsecond=0))


def _same(day: datetime) -> Span:
    return around(day, "day")
