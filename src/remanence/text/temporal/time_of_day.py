"""Times of day: "3pm", "15:30", "from 3 to 5", on the day that the phrase names."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, tzinfo

from remanence.schema import UTC
from remanence.text.temporal import time_vocabulary as vocab
from remanence.text.temporal.calendar_spans import Span, in_zone
from remanence.text.temporal.token_reader import TokenReader

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
