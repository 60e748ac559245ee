"""Complete phrases: a date with its clock time, a range, an open end. "since May", "from March to June 2024"."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, tzinfo

from remanence.schema import UTC, Window
from remanence.text.temporal import time_vocabulary as vocab
from remanence.text.temporal.calendar_spans import ONE_DAY, Span, add_clamped, in_zone, midnight, shift
from remanence.text.temporal.relative_times import RelativeTimeRules
from remanence.text.temporal.token_reader import SpanMatch, TokenReader

_CLOCK_CUES = {"at", "@", "around", "by", "before", "after", "until", "till", "since", "from", "between"}
CLOCK_WORDS = {*vocab.NOON_WORDS, *vocab.NUMBERS, "half", "quarter", "from", "between", "at"}
_LATE = ("afternoon", "evening", "night", "tonight", "tonite")


@dataclass(frozen=True, slots=True)
class Hour:
    """Hour, minute and second as far as given; `mark` is "a" or "p" (am, pm), "24", or "" if there is none."""

    digits: tuple[int, ...]
    mark: str = ""

    def on(self, day: datetime, hint: str = "") -> datetime:
        """The time on `day`. Without a mark the part of day in `hint` decides; without both, 1 to 6 are pm."""
        hour, minute, second = (*self.digits, 0, 0)[:3]
        if hour > 24 or minute > 59 or second > 59:
            raise ValueError(f"no such time of day: {self.digits}")
        if self.mark == "p" or (not self.mark and (hint in _LATE or (not hint and 1 <= hour <= 6))):
            hour = hour + 12 if hour < 12 else hour
        elif self.mark == "a":
            hour = hour % 12
        return day + timedelta(hours=hour, minutes=minute, seconds=second)

    @property
    def duration(self) -> timedelta:
        return timedelta(seconds=(3600, 60, 1)[len(self.digits) - 1])


@dataclass(frozen=True, slots=True)
class ClockTime:
    """One time of day, or a range of two."""

    first: Hour
    final: Hour | None = None
    zone: tzinfo = UTC

    def on_day(self, day: datetime, hint: str) -> Span:
        start = self.first.on(day, hint)
        end = self.final.on(day, hint) if self.final else start + self.first.duration
        if end <= start:
            end += timedelta(days=1)  # "from 10pm to 2am"
        return Span(in_zone(start, self.zone), in_zone(end, self.zone), "clock")


class TimeOfDayRules(TokenReader):
    """The rules for times of day."""

    def clock_time(self, i: int, allow_ambiguous: bool = False) -> tuple[ClockTime, int] | None:
        """A range, or one time. With `allow_ambiguous` a day is next to it, so that bare numbers may be hours."""
        if ranged := self.clock_range(i, allow_ambiguous):
            return ranged
        announced = self.word(i - 1) in _CLOCK_CUES
        if (match := self.hour(i)) is None:
            return None
        hour, j = match
        if self.unit(j):  # "around 14:30 minutes"
            return None
        in_day_part = self.is_day_part(j)
        bare_number = self.token(i).kind == "number" and j == i + 1 and not in_day_part  # not "3 in the morning"
        if bare_number and not (allow_ambiguous and announced and self.may_end_before(j)):
            return None
        ambiguous = self.token(i).kind == "hm" or self.word(i) in vocab.NOON_WORDS
        if ambiguous and not (
            announced or allow_ambiguous or in_day_part or self.whole_text
        ):  # a score, a verse, a ratio
            return None
        zone, j = self.time_zone(j)
        return ClockTime(hour, zone=zone), j

    def clock_range(self, i: int, allow_ambiguous: bool) -> tuple[ClockTime, int] | None:
        """As in "from 3 to 5pm", "10:30 - 11"; two bare numbers only next to a day: "Monday 11-4"."""
        opener = self.word(i) in ("from", "between", "at")
        if (begin := self.hour(i + opener)) is None:
            return None
        first, j = begin
        _, j = self.time_zone(j)
        if not (self.word(j) in vocab.RANGE_WORDS or (self.word(j) == "and" and self.word(i) == "between")):
            return None
        if (end := self.hour(j + 1)) is None:
            return None
        final, k = end
        if self.unit(k) or self.month(self.skip(k, "of")):
            return None
        is_certain = any(self.token(at).kind in ("clock", "hm") for at in (i + opener, j + 1))
        if not is_certain and not (allow_ambiguous and (opener or self.word(j) in ("-", "–"))):
            return None
        if not first.mark and final.mark in ("a", "p"):
            same = first.digits[0] % 12 <= final.digits[0] % 12
            first = replace(first, mark=final.mark if same else "a")
        elif not first.mark and not final.mark and 12 > first.digits[0] > final.digits[0]:
            first, final = replace(first, mark="a"), replace(final, mark="p")
        zone, k = self.time_zone(k)
        return ClockTime(first, final, zone), k

    def hour(self, i: int) -> tuple[Hour, int] | None:
        """As in "3pm", "15:30", "5 o'clock", "half past three", "noon", or a bare number up to 24."""
        token = self.token(i)
        if token.kind in ("clock", "hm"):
            digits = tuple(map(int, re.findall("[0-9]+", token.normalized.partition("+")[0])[:3]))
            if token.kind == "clock":
                return Hour(digits, "24" if digits[0] > 12 else "p" if "p" in token.normalized else "a"), i + 1
            return Hour(digits, "24" if token.normalized[0] == "0" or digits[0] > 12 else ""), i + 1
        if token.normalized in vocab.NOON_WORDS:
            return Hour((vocab.NOON_WORDS[token.normalized],), "24"), i + 1
        if token.normalized in ("half", "quarter") and self.word(i + 1) == "past":
            if past := self.hour(i + 2):
                minute = 30 if token.normalized == "half" else 15
                return Hour((past[0].digits[0], minute), past[0].mark), past[1]
            return None
        number = int(token.normalized) if token.kind == "number" else vocab.NUMBERS.get(token.normalized, 99)
        if number > 24:
            return None
        after = self.word(i + 1)
        if after in ("o'clock", "oclock"):
            return Hour((number,)), i + 2
        if after in ("am", "pm") and token.kind == "word":
            return Hour((number,), after[0]), i + 2
        return (Hour((number,)), i + 1) if token.kind == "number" else None


OPENERS = {"since", "starting", "beginning", "before", "prior", "until", "till", "til", "after", "by", "later"}
# The words with which a phrase can begin; at any other word no rule is tried.
PHRASE_START_WORDS = OPENERS | vocab.TIME_NOUNS | vocab.MODIFIERS
PHRASE_START_WORDS |= {*vocab.RELATIVE_DAYS, *vocab.NUMBERS, *vocab.ORDINALS, *vocab.VAGUE_NUMBERS}
PHRASE_START_WORDS |= {"this", "final", "a", "an", "in", "more", "over", "less", "between", "from", "half"}
# In a statement, these too.
_LASTING_FIRST_WORDS = {"as", "effective", "just"} | {name.split()[0] for name in vocab.NOW_WORDS}
STATEMENT_START_WORDS = PHRASE_START_WORDS | _LASTING_FIRST_WORDS
# The words "in", "a" and "an" rarely begin a phrase: the word after them, or a number, decides.
_AFTER_ARTICLE = {*vocab.VAGUE_NUMBERS, *vocab.UNITS, *vocab.RANGE_WORDS, "or"}
_FOLLOWERS = {"in": {"a", "an", *vocab.VAGUE_NUMBERS, *vocab.NUMBERS}, "a": _AFTER_ARTICLE, "an": _AFTER_ARTICLE}
_PLACE_WORDS = frozenset("about around at from here in into out there to".split())
"""Between a verb and "from", they tell of a movement in space: "I moved to Rome from March to May"."""
_MICROSECOND = timedelta(microseconds=1)


class TimePhraseParser(RelativeTimeRules, TimeOfDayRules):
    """The top rules of the grammar."""

    def parse_phrase(self, i: int) -> tuple[Window, int] | None:
        """The longest time phrase that begins at token `i`, and the token after it."""
        self.phrase_start, self.chosen, self.leaves_year_open = i, None, False
        try:
            match = self._phrase(i)
        except (ValueError, OverflowError):
            return None  # the time lies outside the calendar
        start, end = (match[0].start, match[0].end) if match else (None, None)
        return None if start and end and start >= end else match

    def _phrase(self, i: int) -> tuple[Window, int] | None:
        word = self.word(i)
        followers = _FOLLOWERS.get(word)
        if followers is not None and self.word(i + 1) not in followers and self.token(i + 1).kind != "number":
            return None
        if self.is_statement and word in _LASTING_FIRST_WORDS and (lasting := self.lasting(i)):
            return lasting
        if self.is_statement and word in ("this", "next") and self.is_length_before(i):
            return None
        if word in OPENERS:
            return self.open_range(i)
        if word in ("more", "over", "less"):
            return self.beyond(i)
        if word in ("between", "from"):
            return self.between(i)
        # "May to March", "Jan-Feb 2017": a range of two months needs no other cue.
        months = word in vocab.MONTHS and self.word(i + 2) in vocab.MONTHS and not self.may_be_verb(i)
        months = months and self.word(i + 1) in vocab.RANGE_WORDS
        if not (match := self.time_span(i, months)):
            return None
        span, j = match
        other = self.endpoint(j + 1) if self.word(j) in vocab.RANGE_WORDS and span.granularity != "range" else None
        if other and (ranged := self.join_range(span, other[0])):
            return ranged, other[1]
        if self.word(j) in ("onwards", "onward") or (self.is_statement and self.lasts_until_now(i, span)):
            return Window(span.start, None), self.skip(j, "onwards", "onward")
        return span.window, j

    def lasting(self, i: int) -> tuple[Window, int] | None:
        """A span that begins now ("currently", "effective immediately") or at a time ("as of May")."""
        word, after = self.word(i), self.word(i + 1)
        if word == "effective" and after in ("immediately", "now"):
            return Window(self.today, None), i + 2
        if word == "effective" or (word == "as" and after == "of"):
            j = self.skip(self.skip(i + 1, "of", "from", "as"), "of", "the")
            return (Window(self.today, None), j + 1) if self.word(j) == "now" else self.open_range(i)
        if word == "just" and after == "now":
            return Span.enclosing(self.today, "day").window, i + 2
        names = (" ".join(self.word(i + k) for k in range(size)) for size in (4, 3, 2, 1))
        if not (name := next((name for name in names if name in vocab.NOW_WORDS), None)):
            return None
        end = i + len(name.split())
        if self.direction.is_future is False and self.direction.is_certain:
            return None
        return Window(self.today, None), end

    def is_length_before(self, i: int) -> bool:
        """Whether token `i` follows how long something lasts by then: "vegan for six years this spring"."""
        number = self.token(i - 2)
        is_number = number.kind == "number" or self.word(i - 2) in vocab.NUMBERS
        return i > 1 and self.word(i - 1) == "years" and is_number

    def lasts_until_now(self, i: int, span: Span) -> bool:
        """As in "for the past two years"."""
        counted = self.word(i) in vocab.PAST_WORDS and span.granularity == "range"
        return counted and self.word(i - 1) == "the" and self.word(i - 2) == "for"

    def open_range(self, i: int) -> tuple[Window, int] | None:
        """A range with an open end: "since May", "before 2020", "by Friday", "later than 2018"."""
        word, j = self.word(i), i + 1
        if (word == "later" and self.word(j) != "than") or (word == "beginning" and self.word(j) == "of"):
            match = self.time_span(i)
            return (match[0].window, match[1]) if match else None
        if word == "later":
            word, j = ("by" if self.word(i - 1) == "no" else "after"), j + 1
        elif word == "prior":
            j = self.skip(j, "to")
        elif word in ("starting", "beginning", "as", "effective"):
            j = self.skip(self.skip(j, "on", "from", "in", "as", "of"), "of")
        if not (match := self.time_span(self.skip(j, "the"), True)):
            return None
        span, end = match
        if word in vocab.BEGINNING_WORDS:
            return Window(span.start, None), end
        clock = span.granularity == "clock"  # after 3pm is from 3pm on
        ending = self.word(self.skip(j, "the")) == "end"  # until the end of May is all of May
        if self.is_statement and word in ("by", "until", "till", "til"):
            deadline = Window(span.end - ONE_DAY, span.end) if ending else span.window
            return deadline if word == "by" else self.lasting_until(span), end
        if word == "after":
            return Window(span.start if clock else span.end, None), end
        return Window(None, span.end if (word == "by" or ending) and not clock else span.start), end

    def lasting_until(self, span: Span) -> Window:
        """As in "I'm away until Sunday", from today on, "I lived there until 2019", "we slept until noon"."""
        if span.granularity == "clock":
            return Window(midnight(span.start - _MICROSECOND), span.start)
        is_ahead = span.end > self.now and self.direction.is_future is not False
        return Window(self.today if is_ahead else None, span.end)

    def beyond(self, i: int) -> tuple[Window, int] | None:
        """As in "more than two weeks ago", "over a year ago", "less than a month ago"."""
        word, j = self.word(i), self.skip(i + 1, "than")
        if j == i + 1 and word != "over":
            return None
        if not (match := self.counted_units(j)) or match[0].start > self.now:
            return None
        if word == "less":
            return Window(match[0].start, add_clamped(self.now, _MICROSECOND)), match[1]
        return Window(None, match[0].end), match[1]

    def between(self, i: int) -> tuple[Window, int] | None:
        """As in "between A and B", "from A to B", "from A onwards"; "from A" alone is A."""
        if match := self.time_span(i):
            return match[0].window, match[1]
        if not (begin := self.endpoint(i + 1)):
            return None
        span, j = begin
        if span.granularity == "range":  # "between the 3rd and the 12th of May" is one date already
            return span.window, j
        if self.is_statement and self.word(i) == "from" and self.word(j) == "to" and self.is_moved(i):
            self.phrase_start = j + 1  # the tense is that of the new time
            moved_to = self.endpoint(j + 1)
            return (moved_to[0].window, moved_to[1]) if moved_to else None
        is_range = self.word(j) in vocab.RANGE_WORDS or (self.word(j) == "and" and self.word(i) == "between")
        if is_range and (other := self.endpoint(j + 1)) and (ranged := self.join_range(span, other[0])):
            return ranged, other[1]
        onward = self.word(j) in ("onwards", "onward", "forward")
        onward = onward or (self.word(j) == "on" and self.may_end_before(j + 1))
        if onward and self.word(i) == "from":
            return Window(span.start, None), j + 1
        opens = self.is_statement and self.word(i) == "from" and span.granularity in ("day", "week", "month")
        if opens and (span.end > self.today or i == 0 or self.token(i - 1).kind == "mark"):
            return Window(span.start, None), j  # "from tomorrow", "from this week", "From May I worked at Bosch"
        return None  # the phrase, if there is one, begins after "from"

    def is_moved(self, i: int) -> bool:
        """Whether "from" at token `i` names the old time of what is moved: "slipped from 30 June to 15 September"."""
        for k in range(i - 1, max(-1, i - 5), -1):
            if self.word(k) in vocab.MOVING_VERBS:
                return True
            if self.token(k).kind != "word" or self.word(k) in _PLACE_WORDS:
                return False
        return False

    def endpoint(self, i: int) -> SpanMatch:
        """One end of a range; here "now" and "date" are times too."""
        i = self.skip(i, "the")
        if self.word(i) in ("now", "date", "present"):
            return Span(self.today, add_clamped(self.now, _MICROSECOND), "now"), i + 1
        return self.time_span(i, True)

    def join_range(self, begin: Span, final: Span) -> Window | None:
        """From the start of one to the end of the other; a year written once counts for both."""
        if begin.in_year and not final.in_year and final.granularity != "now":
            year = final.start.year
            begin = next((span for y in (year, year - 1) if (span := begin.in_year(y)).start < final.end), begin)
        elif final.in_year:
            year = begin.start.year
            final = next((span for y in (year, year + 1) if (span := final.in_year(y)).start >= begin.start), final)
        elif self.chosen == "month" and final.end <= begin.start:  # "from the 28th to the 3rd"
            if self.direction.is_future is False:
                begin = Span.enclosing(shift(begin.start, -1, "month"), "day")
            else:
                final = Span.enclosing(shift(final.start, 1, "month"), "day")
        elif final.granularity == begin.granularity == "day" and final.end <= begin.start:
            final = Span.enclosing(final.start + timedelta(days=7), "day")  # "from Friday to Monday"
        return Window(begin.start, final.end) if begin.start < final.end else None

    def time_span(self, i: int, allow_ambiguous: bool = False) -> SpanMatch:
        """One span: a date with its part of the day and clock time in either order, or a clock time alone."""
        try:
            token = self.token(i)
            may_be_clock = token.kind != "word" or token.normalized in CLOCK_WORDS
            if token.kind == "number" and self.word(i + 1) in vocab.MONTHS:
                may_be_clock = False  # "7 May" is not seven o'clock
            if may_be_clock and (clock := self.clock_time(i)):
                return self.with_day(*clock)
            if not (match := self.relative_time(i) or self.calendar_date(i, allow_ambiguous)):
                return None
            span, j = self.in_stated_year(*match)
            return self.with_clock(span, j) if span.granularity in ("day", "part") else (span, j)
        except (ValueError, OverflowError):
            return None  # a date that does not exist or lies outside the calendar is not a time

    def in_stated_year(self, span: Span, j: int) -> tuple[Span, int]:
        """As in "May last year", "Thanksgiving of next year"."""
        k = self.skip(j, "of", "in", ",")
        step = self.year_step(k)
        if span.in_year and step is not None:
            return span.in_year(self.now.year + step), k + 2
        return span, j

    def with_clock(self, span: Span, j: int) -> tuple[Span, int]:
        """A day, narrowed by the part of the day and the clock time that follow it."""
        day = midnight(span.start)
        hint = "" if span.granularity == "day" else "morning" if span.start.hour < 12 else "night"
        k = self.skip(j, ",", "early", "late")
        if self.word(k) == "in" and self.word(k + 1) == "the":
            k = self.skip(k + 2, "early", "late")
        if span.granularity == "day" and self.word(k) in vocab.DAY_PARTS and self.word(k + 1) != "of":
            hint = self.word(k)
            span, j = self.day_part(day, hint), k + 1
        k = self.skip(j, ",", "-")
        k = self.skip(k, "at", "@", "around") if not self.clock_range(k, True) else k
        if timed := self.clock_time(k, True):
            clock, part, end = self.with_day_part(*timed)
            return clock.on_day(day, part or hint), end
        return span, j

    def with_day_part(self, clock: ClockTime, j: int) -> tuple[ClockTime, str, int]:
        """A clock time with the part of the day after it and a time zone after that: "8 in the evening Berlin time"."""
        if not self.is_day_part(j):
            return clock, "", j
        zone, end = self.time_zone(j + 3)
        return (clock if end == j + 3 else replace(clock, zone=zone)), self.word(j + 2), end

    def with_day(self, clock: ClockTime, j: int) -> SpanMatch:
        """A clock time on the day that follows it ("3pm on 5 May", "8am this morning"), else today. In a statement it
        is a time of today only with a verb in the past: "we met at 3pm", but "no calls before noon" is every day."""
        clock, hint, j = self.with_day_part(clock, j)
        k = self.skip(j, ",", "on", "-")
        match = self.relative_time(self.skip(k, "the")) if self.word(k) != "in" else None
        if match := match or self.calendar_date(self.skip(k, "the"), k > j):
            span, end = match
            if span.granularity == "part":
                return clock.on_day(midnight(span.start), "morning" if span.start.hour < 12 else "night"), end
            if span.granularity == "day":
                if self.word(end) in vocab.DAY_PARTS:
                    hint, end = self.word(end), end + 1
                return clock.on_day(span.start, hint), end
        if self.is_statement and not (self.direction.is_certain and self.direction.is_future is False):
            return None
        return clock.on_day(self.today, hint), j
