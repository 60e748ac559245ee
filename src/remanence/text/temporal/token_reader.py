"""The base of all rules of the grammar: access to tokens, and the reading of numbers, days, years and time zones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from typing import Literal

from remanence.schema import UTC
from remanence.text.lexicon.word_lists import FIRST_NAMES
from remanence.text.temporal import time_vocabulary as vocab
from remanence.text.temporal.calendar_spans import Span, midnight
from remanence.text.temporal.tense import PAST, Direction, TenseReader
from remanence.text.temporal.time_lexer import END_TOKEN, TimeToken

_OWN_TIME = frozenset(("local", "our", "my", "your", "their", "his", "her"))
_AMERICAN = {
    **dict.fromkeys(("et", "eastern"), "America/New_York"),
    **dict.fromkeys(("ct", "central"), "America/Chicago"),
    **dict.fromkeys(("mt", "mountain"), "America/Denver"),
    **dict.fromkeys(("pt", "pacific"), "America/Los_Angeles"),
}
"""These have summer time, so the offset depends on the day."""
_OTHER_CITIES = {
    **dict.fromkeys(("san francisco", "seattle", "la", "california"), "America/Los_Angeles"),
    **dict.fromkeys(("boston", "washington", "nyc", "miami"), "America/New_York"),
    **dict.fromkeys(("beijing", "shenzhen", "china"), "Asia/Shanghai"),
    **dict.fromkeys(("delhi", "new delhi", "mumbai", "bangalore", "india"), "Asia/Kolkata"),
    **dict.fromkeys(("uk", "british"), "Europe/London"),
    **dict.fromkeys(("munich", "hamburg", "cologne", "frankfurt", "german"), "Europe/Berlin"),
    **dict.fromkeys(("barcelona", "spanish"), "Europe/Madrid"),
    **dict.fromkeys(("milan", "italian"), "Europe/Rome"),
    **dict.fromkeys(("kyoto", "osaka", "japan"), "Asia/Tokyo"),
    "geneva": "Europe/Zurich",
}
SpanMatch = tuple[Span, int] | None
"""The result of a rule: the span and the position after it, or None if the rule does not apply."""


class TokenReader:
    """The tokens and the reference time. Rules take a position and change nothing.

    With `allow_ambiguous` the words around already announce a time (in, since, from ... to), so that a bare month or
    year is accepted. With `whole_text` the text is one phrase, and ambiguous words are accepted from its start on.
    In a statement, tense tells whether a time without a year lies ahead, if `direction` does not;
    elsewhere it lies behind.
    """

    def __init__(
        self,
        tokens: Sequence[TimeToken],
        now: datetime,
        *,
        whole_text: bool = False,
        is_statement: bool = False,
        direction: Direction | None = None,
        is_day_first: bool = False,
    ) -> None:
        self.token_count = len(tokens)
        # Rules read a few tokens past either end; index -1 is an end token too.
        self._tokens = [*tokens, *[END_TOKEN] * 8]
        self._words = [token.normalized for token in self._tokens]
        self.now = now
        self.today = midnight(now)
        self.is_day_first = is_day_first  # in dates such as 03/04/2025
        self.whole_text = whole_text
        self.depth = 0
        self.previous_end = -1  # end of the previous phrase: a list of years may continue there
        self.is_statement = is_statement
        self.chosen: Literal["year", "month", "week"] | None = None  # what the phrase left open and tense decided
        self.leaves_year_open = False  # whether the phrase is a date of the calendar without a year
        self.phrase_start = 0
        self._given_direction = direction if is_statement else PAST
        self._tense: TenseReader | None = None
        self._direction: tuple[int, Direction] | None = None

    def time_span(self, i: int, allow_ambiguous: bool = False) -> SpanMatch:
        """One span of time in any form; `TimePhraseParser` has the rule."""
        raise NotImplementedError

    @property
    def direction(self) -> Direction:
        """Where the phrase that is being read lies if it leaves that open."""
        if self._given_direction is not None:
            return self._given_direction
        if self._tense is None:
            self._tense = TenseReader(self._tokens[: self.token_count])
        if self._direction is None or self._direction[0] != self.phrase_start:
            self._direction = self.phrase_start, self._tense.direction_at(self.phrase_start)
        return self._direction[1]

    def in_open_year(self, make: Callable[[int], Span]) -> Span:
        """The latest span that has started or the next that has not ended, by the tense.

        `make` returns the span in a year. 29 February may be eight years away. Where nothing tells, the nearer one. A
        date after a mark, or with a past verb that may not be its own, may be what was agreed: "So we said later, 13
        June". It lies ahead if that is far nearer.
        """
        self.chosen, self.leaves_year_open = "year", True
        behind = (self._made(make, self.now.year - back) for back in range(min(9, self.now.year)))
        latest = next((span for span in behind if span and span.start <= self.now), None)
        is_past = self.direction.is_future is False
        after_mark = self.is_statement and self.token(self.phrase_start - 1).kind == "mark"
        if not is_past or after_mark or self.direction.is_indirect:
            ahead = (self._made(make, self.now.year + step) for step in range(-1, 9))
            coming = next((span for span in ahead if span and span.end > self.now), None)
            back = self.now - latest.start if latest else timedelta.max
            to_come = coming.start - self.now if coming else timedelta.max
            if is_past:
                latest = coming if to_come < back / 2 else latest
            elif self.direction.is_future or back >= to_come:
                latest = coming
        if latest is None:
            raise ValueError("it does not occur within nine years")
        return replace(latest, in_year=make)

    def _made(self, make: Callable[[int], Span], year: int) -> Span | None:
        try:
            return make(year)
        except ValueError:
            return None  # not every year has a 29 February

    def token(self, i: int) -> TimeToken:
        return self._tokens[i]

    def word(self, i: int) -> str:
        return self._words[i]

    def time_zone(self, i: int) -> tuple[tzinfo, int]:
        """The time zone named at `i`, as in "CET", "UTC+2", "(CET)", "Pacific", "New York time", "Europe/Vienna"; and
        where its name ends. In "15:00+02:00" it belongs to the token before `i`. UTC if there is none, and for "our
        time"."""
        before = self.token(i - 1)
        offset = before.normalized.partition("+")[2].replace(":", "") if before.kind == "hm" else ""
        if offset and int(offset[:2]) <= 14:
            return _fixed_zone(int(offset[:2]), int(offset[2:])), i
        if self.word(i) == "(":
            zone, j = self._zone_name(i + 1)
            return (zone, j + 1) if j > i + 1 and self.word(j) == ")" else (UTC, i)
        return self._zone_name(i)

    def _zone_name(self, i: int) -> tuple[tzinfo, int]:
        word = self.word(i)
        if word in vocab.TIME_ZONES and self.token(i).capitalized:
            if word in ("gmt", "utc") and (offset := self._offset(i + 1)):
                return offset
            return _zone_by_abbreviation(word.upper()), i + 1
        for size in (1, 2, 3):
            words = [self.word(k) for k in range(i, i + size)]
            if self.word(i + size) in ("time", "standard", "daylight"):
                end = self.skip(self.skip(i + size, "standard", "daylight"), "time")
                if words[0] in _OWN_TIME or all(self.token(k).capitalized for k in range(i, i + size)):
                    return _zone_by_place(" ".join(words)) or UTC, end
        if self.word(i + 1) == "/" and (zone := self._zone_of_region(i + 2)):
            return zone
        if word in ("eastern", "pacific") and self.token(i).capitalized:
            return _zone_by_place(word) or UTC, i + 1
        return UTC, i

    def _offset(self, i: int) -> tuple[tzinfo, int] | None:
        """The offset from UTC at `i`: "+2", "-05:30", "+0530"."""
        sign, hours, minutes, end = self.word(i), self.word(i + 1), "", i + 2
        if sign not in ("+", "-", "−") or not hours.isdecimal():
            return None
        if len(hours) == 4:
            hours, minutes = hours[:2], hours[2:]
        elif self.word(end) == ":" and self.word(end + 1).isdecimal():
            minutes, end = self.word(end + 1), end + 2
        if int(hours) > 14 or int(minutes or 0) > 59:
            return None
        direction = 1 if sign == "+" else -1
        return _fixed_zone(direction * int(hours), direction * int(minutes or 0)), end

    def _zone_of_region(self, i: int) -> tuple[tzinfo, int] | None:
        """The zone whose city is at `i`, after its region: Europe/Vienna, America/New_York."""
        city = self.word(i)
        while self.word(i + 1) in ("_", "/"):
            city = self.word(i + 2) if self.word(i + 1) == "/" else f"{city} {self.word(i + 2)}"
            i += 2
        zone = _zone_by_place(city)
        return None if zone is None else (zone, i + 1)

    def skip(self, i: int, *words: str) -> int:
        """The position after token `i` if it is one of these words, else `i`."""
        return i + 1 if self.word(i) in words else i

    def has_cue(self, i: int) -> bool:
        """Whether the word before (not counting "the") announces a time."""
        if self.word(i - 1) == "the":
            i -= 1
        if i == 0:
            return self.whole_text
        return self.word(i - 1) in vocab.TIME_CUES or self.continues_list(i)

    def continues_list(self, i: int) -> bool:
        """Whether only a comma, "and" or "or" is between the previous phrase and token `i`."""
        return i - 1 == self.previous_end and self.word(i - 1) in (",", "and", "or")

    def is_day_part(self, i: int) -> bool:
        """Whether "in the morning" or another part of the day begins at token `i`."""
        return self.word(i) == "in" and self.word(i + 1) == "the" and self.word(i + 2) in vocab.DAY_PARTS

    def year_step(self, i: int) -> int | None:
        """-1, 0 or 1 for "last year", "this year" or "next year" at token `i`."""
        return {"last": -1, "this": 0, "next": 1}.get(self.word(i)) if self.word(i + 1) == "year" else None

    def holiday_name(self, i: int) -> str | None:
        """The longest holiday name that begins at token `i`."""
        names = (" ".join(self.word(i + k) for k in range(size)) for size in (3, 2, 1))
        return next((name for name in names if name in vocab.HOLIDAYS), None)

    def may_end_before(self, i: int) -> bool:
        """Whether a phrase may end before token `i`: at a mark, the end, or a function word."""
        token = self.token(i)
        word = token.normalized.partition("'")[0]  # "we" of "we're"
        return token.kind in ("end", "mark", "clock") or word in vocab.FOLLOWING_WORDS

    def unit(self, i: int) -> str | None:
        return vocab.UNITS.get(self.word(i))

    def number(self, i: int) -> tuple[int, int, int] | None:
        """The lowest number, the highest, and the next position: "two" is 2 to 2, "a few" is 2 to 5."""
        word, token = self.word(i), self.token(i)
        if token.kind == "number":
            return int(word), int(word), i + 1
        if word in ("a", "an"):
            vague = self.word(i + 1) in vocab.VAGUE_NUMBERS
            return self.number(i + 1) if vague else (1, 1, i + 1)
        if word in vocab.VAGUE_NUMBERS:
            return *vocab.VAGUE_NUMBERS[word], self.skip(i + 1, "of")
        if word in vocab.TENS:
            j = self.skip(i + 1, "-")
            ones = vocab.NUMBERS.get(self.word(j), 0)
            if 0 < ones < 10:
                return vocab.TENS[word] + ones, vocab.TENS[word] + ones, j + 1
        if word in vocab.NUMBERS:
            return vocab.NUMBERS[word], vocab.NUMBERS[word], i + 1
        return None

    def ordinal(self, i: int) -> tuple[int, int] | None:
        """As in "3rd", "third", "twenty-third"."""
        word = self.word(i)
        if self.token(i).kind == "ordinal":
            return int(word[:-2]), i + 1
        if word in vocab.ORDINALS:
            return vocab.ORDINALS[word], i + 1
        if word in ("twenty", "thirty"):
            j = self.skip(i + 1, "-")
            if vocab.ORDINALS.get(self.word(j), 10) < 10:
                return vocab.TENS[word] + vocab.ORDINALS[self.word(j)], j + 1
        return None

    def day_number(self, i: int) -> tuple[int, int] | None:
        """A day of a month, with or without "th"."""
        match = self.ordinal(i)
        if match is None:
            number = self.number(i) if self.word(i) not in ("a", "an") else None
            if number is None or number[0] != number[1] or len(self.word(number[2] - 1)) > 9:
                return None
            match = number[1], number[2]
        if not 1 <= match[0] <= 31 or self.unit(match[1]) or self.word(match[1]) in ("percent", "%"):
            return None
        return match

    def month(self, i: int) -> tuple[int, int] | None:
        """A month's name, with the dot of "Oct." if a number follows it."""
        word = self.word(i)
        if word not in vocab.MONTHS:
            return None
        abbreviated = word not in vocab.MONTH_NAMES and self.word(i + 1) == "."
        dotted = abbreviated and self.token(i + 2).kind in ("number", "ordinal")
        return vocab.MONTHS[word], i + (2 if dotted else 1)

    def may_be_verb(self, i: int) -> bool:
        """Whether token `i` may be a verb: "may" and "march" in lower case."""
        return self.word(i) in vocab.VERB_MONTHS and not self.token(i).capitalized

    def is_surely_date(self, i: int, end: int) -> bool:
        """Whether a day and "march" or "may" in lower case, from token `i` to `end`, are a date by what is beside them:
        "on 15 march", "Sunday 15 march", "the dinner is 15 may."; but not "of 15 march home"."""
        weekday_before = self.word(i - 1) in vocab.WEEKDAYS or self.word(i - 2) in vocab.WEEKDAYS
        return self.has_cue(i) or weekday_before or self.ends_clause(end)

    def ends_clause(self, i: int) -> bool:
        """Whether a mark or the end of the text is at token `i`."""
        return self.token(i).kind in ("end", "mark")

    def is_named_before(self, i: int) -> bool:
        """Whether token `i` is a title or a name by the word before: "the novel 1984", "the man Friday"."""
        if self.token(i).kind == "word" and not self.token(i).capitalized:
            return False
        if self.word(i - 1) in vocab.CALLED_WORDS:  # "a cat called Sunday", not "he called Sunday"
            named = self.word(i - 2)
            return named in vocab.NAMING_WORDS or named in vocab.PRESENT_CUES or self.word(i - 3) in ("a", "an")
        return self.word(i - 1) in vocab.NAMING_WORDS

    def may_be_name(self, i: int) -> bool:
        """Whether a weekday or month is part of a name: "Girl Friday", "the Sunday Times", "Project January"."""
        if self.word(i - 1) in vocab.TIME_CUES or not self.token(i).capitalized:
            return False
        before, after = self.token(i - 1), self.token(i + 1)
        if after.normalized in ("at", "@") or after.normalized in vocab.DAY_PARTS or after.kind in ("clock", "hm"):
            return False
        if before.capitalized and before.kind == "word" and not self._is_person_or_time(before.normalized):
            return i > 1 and self.token(i - 2).kind == "word"  # the first word of a sentence has a capital anyway
        if before.capitalized and before.normalized in FIRST_NAMES and after.normalized in ("is", "was", "has"):
            return True
        joined = after.capitalized and after.kind == "word" and after.start == self.token(i).end + 1
        return joined and not self._is_person_or_time(after.normalized)

    def _is_person_or_time(self, word: str) -> bool:
        return word in FIRST_NAMES or word in vocab.TIME_NOUNS or word.partition("'")[0] in vocab.FOLLOWING_WORDS

    def year(self, i: int) -> tuple[int, int] | None:
        """Four digits or their words that are not a count: "2024", but not "2024 km"."""
        token, after = self.token(i), self.token(i + 1)
        if token.kind == "word":
            return self.year_in_words(i)
        if token.kind != "number" or len(token.normalized) != 4 or not 1000 <= int(token.normalized) <= 2100:
            return None
        if after.normalized in vocab.COUNT_NOUNS or (after.kind == "word" and after.start == token.end):
            return None
        return int(token.normalized), i + 1

    def year_in_words(self, i: int) -> tuple[int, int] | None:
        """As in "nineteen eighty-six", "two thousand and fifteen", "nineteen hundred ninety three"."""
        if self.word(i) == "two" and self.word(i + 1) == "thousand":
            century, j = 2000, i + 2
        elif self.word(i) in ("eighteen", "nineteen", "twenty"):
            century, j = vocab.NUMBERS[self.word(i)] * 100, i + 1
            if self.word(j) != "hundred" and vocab.NUMBERS.get(self.word(j), 0) < 10:
                return None
            j = self.skip(j, "hundred")
        else:
            return None
        rest = self.number(self.skip(j, "and")) if self.word(self.skip(j, "and")) in vocab.NUMBERS else None
        if rest and rest[1] < 100:
            return century + rest[1], rest[2]
        return (century, j) if j > i + 1 else None

    def is_counted_noun(self, i: int) -> bool:
        """Whether token `i` looks like what a number before it counts: "words", "calories"."""
        word, token = self.word(i), self.token(i)
        plural = word.endswith("s") and len(word) > 3 and word not in vocab.NOT_PLURAL and not token.capitalized
        return token.kind == "word" and (plural or word in vocab.COUNT_NOUNS)

    def year_after(self, i: int) -> tuple[int, int] | None:
        """A year right after a month or holiday: "2024", ", 2024", "of 2024", "'24", "of 87"."""
        j = self.skip(i, ",", "of", "in", "-")
        if self.word(j) == "the" and self.word(j + 1) == "year":
            j += 2
        if match := self.year(j):
            return match
        short = self.token(j).kind == "number" and len(self.word(j)) == 2 and self.word(i) == "of"
        if self.token(j).kind == "yy" or short:
            return self.expand_year(int(self.word(j)[-2:])), j + 1
        return None

    def expand_year(self, year: int) -> int:
        """For two digits the latest year that ends in them and is at most ten years ahead, else the year itself."""
        if year > 99:
            return year
        year += self.now.year // 100 * 100
        return year if year <= self.now.year + 10 else year - 100


@lru_cache
def _zone_by_abbreviation(name: str) -> tzinfo:
    """The time zone with this abbreviation.

    >>> _zone_by_abbreviation("EST")
    datetime.timezone(datetime.timedelta(days=-1, seconds=68400))
    """
    if name.lower() in _AMERICAN:
        return _zone(_AMERICAN[name.lower()]) or UTC
    from dateparser.timezone_parser import pop_tz_offset_from_string  # imported when needed: it takes half a second

    zone = pop_tz_offset_from_string(f"10:00 {name}")[1]
    offset = zone.utcoffset(None) if isinstance(zone, tzinfo) else None
    return timezone(offset) if offset else UTC


@lru_cache
def _zone_by_place(name: str) -> tzinfo | None:
    """The time zone of a city, or "Pacific" and the like; None if it is unknown.

    >>> _zone_by_place("new york"), _zone_by_place("dinner")
    (zoneinfo.ZoneInfo(key='America/New_York'), None)
    """
    found = _AMERICAN.get(name) or _OTHER_CITIES.get(name) or _cities().get(name)
    return None if found is None else _zone(found)


def _fixed_zone(hours: int, minutes: int = 0) -> tzinfo:
    return timezone(timedelta(hours=hours, minutes=minutes))


def _zone(key: str) -> tzinfo | None:
    from zoneinfo import ZoneInfo  # imported when needed, as few texts name a zone

    try:
        return ZoneInfo(key)
    except (KeyError, OSError):  # a machine without the database of zones
        return None


@lru_cache(1)
def _cities() -> dict[str, str]:
    """The names of zones by the city in them."""
    from zoneinfo import available_timezones

    zones = sorted(zone for zone in available_timezones() if "/" in zone and not zone.startswith("Etc/"))
    return {zone.rpartition("/")[2].replace("_", " ").lower(): zone for zone in zones}
