"""Dates by their calendar names: "7 May 2023", "in 2019", "Q3 2024", "Tuesday", "Christmas", "the '90s"."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import datetime

from remanence.text.temporal import time_vocabulary as vocab
from remanence.text.temporal.calendar_spans import ONE_DAY, Span, in_zone, iso_span, parse_with_dateparser, shift
from remanence.text.temporal.token_reader import SpanMatch, TokenReader


class CalendarDateRules(TokenReader):
    """The rules that use the reference time only to choose the year."""

    def calendar_date(self, i: int, allow_ambiguous: bool) -> SpanMatch:
        """The first rule that applies at `i`. A date that does not exist raises ValueError."""
        token, expected = self.token(i), allow_ambiguous
        allow_ambiguous = allow_ambiguous or self.has_cue(i)
        if token.kind not in ("word", "number", "ordinal"):
            return self.digit_pattern(i, allow_ambiguous, expected)
        word = token.normalized
        if word in vocab.MONTHS:
            return self.month_first(i) or self.bare_month(i, allow_ambiguous, expected)
        if word in vocab.WEEKDAYS:
            return self.weekday(i, allow_ambiguous)
        if word in vocab.SEASONS:
            return self.season(i, allow_ambiguous)
        if word in vocab.DECADES:
            return self.decade(i)
        if word in vocab.HOLIDAY_FIRST_WORDS:
            return self.holiday(i, allow_ambiguous)
        if token.kind == "word" and not (word in vocab.NUMBERS or word in vocab.ORDINALS or word in ("the", "year")):
            return None
        return self.day_first(i) or self.bare_year(i, expected) or self.day_alone(i, allow_ambiguous) or self.century(i)

    def digit_pattern(self, i: int, allow_ambiguous: bool, expected: bool) -> SpanMatch:
        """A token that is a date by its digits."""
        kind, text = self.token(i).kind, self.word(i)
        digits = [int(run) for run in re.findall("[0-9]+", text)]
        span: Span | None = None
        match kind:
            case "iso":
                return self.iso_moment(i)
            case "quarter":
                return self.quarter(i, allow_ambiguous)
            case "decade":
                return self.decade(i)
            case "md" if self.is_month_and_day(i, expected):
                return self.month_and_day(i, digits[0], digits[1])
            case "dmy" if allow_ambiguous or self.word(i + 1) not in ("is", "by", "has"):  # "11/22/63 is a novel"
                span = self.day_month_year(i, *digits)
            case "ymd":
                span = Span.of_date("day", *digits)
            case "isomonth":
                span = Span.of_date("month", digits[0], digits[1])
            case "isoweek":
                span = Span.iso_week(digits[0], digits[1])
            case "compact" if allow_ambiguous:
                span = iso_span(f"{text[:4]}-{text[4:6]}-{text[6:]}")
            case "yy" if allow_ambiguous:
                span = Span.of_date("year", self.expand_year(digits[0]))
            case "years":
                span = self.year_range(digits[0], digits[1])
            case "days":
                span = self.day_range(text)
            case "odd":
                span = parse_with_dateparser(text, self.now)
        return (span, i + 1) if span else None

    def iso_moment(self, i: int) -> SpanMatch:
        """As in "2023-05-07", "2023-05-07T15:00 CET"."""
        text = self.word(i)
        span = iso_span(text)
        if ":" not in text:
            return span, i + 1
        zone, j = self.time_zone(i + 1)
        return Span(in_zone(span.start, zone), in_zone(span.end, zone), span.granularity), j

    def day_month_year(self, i: int, first: int, second: int, year: int) -> Span:
        """As in "7/5/2023". The order is that of the text, unless a weekday next to it says otherwise."""
        day_first = self.is_day_first or "." in self.word(i)  # with dots the day comes first
        span = self.numbered_day(first, second, self.expand_year(year), day_first)
        if first != second and max(first, second) < 13 and not self.fits_weekday(i, span):
            return self.numbered_day(first, second, self.expand_year(year), not day_first)
        return span

    def month_and_day(self, i: int, first: int, second: int) -> SpanMatch:
        """As in "on 7/22", "on 7/22, 2023"."""
        if year_found := self.year_after(i + 1) if self.word(i + 1) == "," else None:
            return self.numbered_day(first, second, year_found[0]), year_found[1]
        span = self.in_open_year(lambda year: self.numbered_day(first, second, year))
        return (span, i + 1) if span else None

    def fits_weekday(self, i: int, span: Span) -> bool:
        """False if a weekday stands next to the date and another is meant: "on 03/04/2025, a Thursday"."""
        after = self.skip(self.skip(i + 1, ",", "("), "a", "which", "was", "is")
        neighbours = (
            self.word(i - 1),
            self.word(i - 2),
            self.word(after),
            self.word(self.skip(after, "was", "is", "a")),
        )
        named = {vocab.WEEKDAYS[word] for word in neighbours if word in vocab.WEEKDAYS}
        return not named or span.start.weekday() in named

    def year_range(self, first: int, final: int) -> Span | None:
        """As in "2019-2021", "2019/20"."""
        last = final if final > 99 else first // 100 * 100 + final
        if not 1000 <= first < last <= 2100 or (final < 100 and last - first > 10):
            return None
        return Span(Span.of_date("year", first).start, Span.of_date("year", last).end, "range")

    def is_month_and_day(self, i: int, expected: bool) -> bool:
        """Whether "7/22" is a day: "on 7/22", "before the 7/22 trip", but not "2/3 cup" or "24/7"."""
        the = self.word(i - 1) == "the"
        before = self.word(i - 1 - the)
        announced = before in ("on", "by", "before", "after", "since", "until", "till", "from", *vocab.WEEKDAYS)
        announced = announced or expected or self.word(i + 1) in ("at", "@") or self.continues_list(i)
        return announced and (the or self.may_end_before(i + 1))

    def day_range(self, text: str) -> Span:
        """As in "5/1-5/7", "10/1-11/2/2017": a year written once counts for both days."""
        first, final = ([int(run) for run in re.findall("[0-9]+", side)] for side in re.split("[-–]", text))

        def make(year: int) -> Span:
            end = self.numbered_day(final[0], final[1], year)
            start = self.numbered_day(first[0], first[1], first[2] if len(first) > 2 else year)
            if start.start > end.start:
                start = self.numbered_day(first[0], first[1], year - 1)
            return Span(start.start, end.end, "range")

        return make(self.expand_year(final[2])) if len(final) > 2 else self.in_open_year(make)

    def numbered_day(self, first: int, second: int, year: int, day_first: bool | None = None) -> Span:
        """A day by two numbers, in the order of this text, unless that date does not exist."""
        day_first = self.is_day_first if day_first is None else day_first
        day, month = (first, second) if day_first else (second, first)
        return Span.of_date("day", year, day, month) if month > 12 else Span.of_date("day", year, month, day)

    def day_first(self, i: int) -> SpanMatch:
        """As in "7 May 2023", "the 9th of May", "13 to 15 July", "28 and 29 May", "between the 3rd and 12th of May"."""
        start = self.skip(i, "the")
        if not (day := self.day_number(start)):
            return None
        first, j = day
        final = None
        between = "between" in (self.word(i - 1), self.word(i - 2)) and self.word(j) == "and"
        if (self.word(j) in vocab.RANGE_WORDS or between) and (other := self.day_number(self.skip(j + 1, "the"))):
            final, j = other
        elif self.word(j) == "and" and (other := self.day_number(self.skip(j + 1, "the"))) and other[0] == first + 1:
            final, j = other  # two days in a row
        of = self.skip(j, "of", "-")
        if not (month := self.month(of)):
            return None
        year = self.year_after(month[1])
        is_date = year or of > j or self.ordinal(start) or self.is_surely_date(i, month[1])
        if self.may_be_verb(of) and not is_date:
            return None
        if final is not None and final <= first:
            return None
        return self.on_days(month[0], first, final, year, month[1])

    def month_first(self, i: int) -> SpanMatch:
        """As in "May 7th, 2023", "May 2023", "april 9th through 17th"."""
        if not (month := self.month(i)):
            return None
        number, j = month
        if year := self.year_after(j):
            return Span.of_date("month", year[0], number), year[1]
        day = self.ordinal(j + 1) if self.word(j) == "," else self.day_number(self.skip(j, "the", "-"))
        if not day or not 1 <= day[0] <= 31 or self.unit(day[1]):
            return None
        first, k = day
        if self.may_be_verb(i) and not (self.ordinal(k - 1) or self.year_after(k) or self.is_surely_date(i, k)):
            return None
        final = None
        if self.word(k) in vocab.RANGE_WORDS and (other := self.day_number(self.skip(k + 1, "the"))):
            clocklike = self.token(k + 2).kind in ("clock", "hm")
            if other[0] > first and not self.month(self.skip(other[1], "of")) and not clocklike:
                final, k = other
        return self.on_days(number, first, final, self.year_after(k), k)

    def on_days(
        self, month: int, first: int, final: int | None, year: tuple[int, int] | None, j: int
    ) -> tuple[Span, int]:
        """One or several days of a month, in the year given, else in the latest year in which they have begun."""

        def make(year: int) -> Span:
            day = Span.of_date("day", year, month, first)
            return day if final is None else Span(day.start, Span.of_date("day", year, month, final).end, "range")

        return (make(year[0]), year[1]) if year else (self.in_open_year(make), j)

    def bare_month(self, i: int, allow_ambiguous: bool, expected: bool) -> SpanMatch:
        """As in "in May", "since June", "January"; never "May I" or "every May"."""
        before = self.word(i - 1)
        if not (month := self.month(i)) or before in ("every", "each"):
            return None
        number, j = month
        if self.may_be_verb(i):
            alone = self.whole_text and self.token_count < 4
            is_certain = alone or before in ("in", "since", "during", "until", "till")
            is_certain = is_certain or (expected and before in vocab.RANGE_WORDS and self.ends_clause(j))
        elif not allow_ambiguous and self.may_be_name(i):
            is_certain = False
        elif self.word(i) in vocab.UNAMBIGUOUS_MONTHS or self.year_step(j) is not None:
            is_certain = True
        elif before in ("to", "of", "from", "by", "at", "about", "on", "over"):
            # April, June, August and May are also names of people: "a gift from April".
            is_certain = self.word(j) in vocab.RANGE_WORDS or (expected and before == "to")
            is_certain = is_certain or ((expected or before in ("of", "by")) and self.may_end_before(j))
        else:
            is_certain = allow_ambiguous
        return (self.in_open_year(lambda year: Span.of_date("month", year, number)), j) if is_certain else None

    def bare_year(self, i: int, expected: bool) -> SpanMatch:
        """As in "in 2019", "the year 1850", "(2019)", "from 1765 to 1803"; never "room 2012"."""
        if self.word(i) == "year" and (match := self.year(i + 1)):
            return Span.of_date("year", match[0]), match[1]
        if (match := self.year(i)) is None or self.is_counted_noun(match[1]):
            return None
        year, j = match
        before = self.word(i - 1)
        bracketed = before == "(" and self.word(j) == ")"
        cued = self.has_cue(i) and before not in ("at", "on", "over", "about", "to", "through")
        joining = {*vocab.RANGE_WORDS, "and"}
        paired = (self.word(j) in joining and self.year(j + 1)) or (before in joining and self.year(i - 2))
        if not (expected or bracketed or cued) or not (1800 <= year <= 2100 or paired or self.whole_text):
            return None
        return Span.of_date("year", year), self.skip(j, "ad", "ce")

    def weekday(self, i: int, allow_ambiguous: bool) -> SpanMatch:
        """As in "Tuesday", "Tuesday March 7", "Monday the 21st", "Tuesday of last week"."""
        word, weekday = self.word(i), vocab.WEEKDAYS[self.word(i)]
        full = word in vocab.DAY_NAMES
        if self.word(i - 1) in ("every", "each", "a", "most", "all") or self.word(i + 1) in vocab.RECURRING_DAY_PARTS:
            return None
        if word in ("sat", "sun", "wed", "mon") and not self.token(i).capitalized:
            return None
        if self.may_be_name(i):
            return None
        j = self.skip(i + 1, ".") if not full and self.token(i + 2).kind in ("number", "ordinal") else i + 1
        j = self.skip(j, ",")
        if dated := self.day_first(j) or self.month_first(j):
            return self.in_year_of_weekday(dated[0], weekday), dated[1]
        if self.token(j).kind in ("dmy", "md", "iso", "ymd") and (dated := self.digit_pattern(j, True, True)):
            return dated
        if (day := self.ordinal(self.skip(j, "the"))) and self.word(day[1]) not in ("of", "time"):
            return self.weekday_numbered(weekday, *day)
        two_digits = self.token(i + 1).kind == "number" and len(self.word(i + 1)) == 2
        if two_digits and self.may_end_before(i + 2) and self.word(i + 2) not in (*vocab.RANGE_WORDS, ":"):
            return self.weekday_numbered(weekday, int(self.word(i + 1)), i + 2)
        if not full and not allow_ambiguous:
            return None
        j = i + 1
        k = self.skip(self.skip(j, "of", "in", ","), "the")
        step = {"last": -1, "previous": -1, "this": 0, "next": 1, "following": 1}.get(self.word(k))
        if step is not None and self.unit(k + 1) == "week":
            return self.weekday_in_week(shift(self.today, step, "week"), weekday), k + 2
        count, back = self.number(j), (self.today.weekday() - weekday) % 7
        if count and self.unit(count[2]) in ("week", "month", "year") and self.word(count[2] + 1) == "ago":
            week = shift(self.today, -count[1], vocab.UNITS[self.word(count[2])])
            return self.weekday_in_week(week, weekday), count[2] + 2
        if self.word(j) in ("before", "after") and self.word(j + 1) in ("last", "next"):
            weeks = -1 if self.word(j) == "before" else 2
            return Span.enclosing(self.today + ONE_DAY * (7 * weeks - back), "day"), j + 2
        self.chosen = "week"
        if self.is_statement and self.direction.is_future is not False:
            return Span.enclosing(self.today + ONE_DAY * (7 - back), "day"), j
        if self.is_statement:
            back = back or 7  # of today people say "today"
        return Span.enclosing(self.today - ONE_DAY * back, "day"), j

    def in_year_of_weekday(self, span: Span, weekday: int) -> Span:
        """In the year in which the day is this weekday, if that is this year, the last or the next."""
        if self.is_statement and (make := span.in_year) and span.granularity == "day":
            years = (self.now.year + step for step in (0, 1, -1))
            days = [day for year in years if (day := self._made(make, year)) and day.start.weekday() == weekday]
            if days:
                self.chosen = None
                return days[0]
        return span

    def weekday_in_week(self, moment: datetime, weekday: int) -> Span:
        return Span.enclosing(Span.enclosing(moment, "week").start + ONE_DAY * weekday, "day")

    def weekday_numbered(self, weekday: int, day: int, j: int) -> SpanMatch:
        """The nearest "Thursday the 14th", in the direction of the tense."""
        return next(((span, j) for span in self.days_numbered(day) if span.start.weekday() == weekday), None)

    def days_numbered(self, day: int) -> Iterator[Span]:
        """This day of this month and of the months of five years before or after, the nearest first."""
        self.chosen = "month"
        month = Span.enclosing(self.today, "month").start
        is_future = self.direction.is_future is not False
        for step in range(60):
            start = shift(month, step if is_future else -step, "month") + ONE_DAY * (day - 1)
            behind = start <= self.now or not self.is_statement  # of a question, also later in this month
            if start.day == day and (start >= self.today if is_future else behind):
                yield Span.enclosing(start, "day")

    def day_alone(self, i: int, allow_ambiguous: bool) -> SpanMatch:
        """As in "on the 18th", but not "on the 18th floor"."""
        if self.word(i - 1) != "the" or not allow_ambiguous or self.token(i).kind != "ordinal":
            return None
        openers = ("from", "to", "between") if self.is_statement else ()
        if self.word(i - 2) not in ("on", "by", "since", "until", "till", "before", "after", *openers):
            return None
        day = int(self.word(i)[:-2])
        listed = self.word(i + 1) in ("and", "or") and self.ordinal(self.skip(i + 2, "the")) is not None
        listed = listed and self.word(i - 2) != "between"
        if not 1 <= day <= 31 or not self.may_end_before(i + 1) or self.word(i + 1) in ("of", "-") or listed:
            return None
        days = self.days_numbered(day)
        return next(((span, i + 1) for span in days if self.is_statement or span.start <= self.now), None)

    def quarter(self, i: int, allow_ambiguous: bool) -> SpanMatch:
        """As in "Q3 2024", "2017-Q1", "in Q2", "H1 2023"."""
        word = self.word(i)
        years = re.findall("[0-9]{4}", word)
        size, number = re.findall("([qh])([1-4])", word)[0]

        def make(year: int) -> Span:
            if size == "q":
                return Span.of_date("quarter", year, 3 * int(number) - 2)
            return Span.of_date("year", year).half(number == "2")

        if years:
            return make(int(years[0])), i + 1
        allow_ambiguous = allow_ambiguous or self.year_step(self.skip(i + 1, "of")) is not None
        return (self.in_open_year(make), i + 1) if allow_ambiguous and size == "q" else None

    def decade(self, i: int) -> SpanMatch:
        """As in "1990s", "the '90s", "the nineties"; never "in her thirties"."""
        word, before = self.word(i), self.word(i - 1)
        year = vocab.DECADES[word] if word in vocab.DECADES else int(re.sub("[^0-9]", "", word))
        if year < 100:
            parts = ("early", "mid", "late")
            if before not in ("the", "in", "'", "’", "‘", *parts) and self.word(i - 2) not in parts:
                return None
            year = self.expand_year(year)
            year = year if year <= self.now.year else year - 100
        return Span.of_date("decade", year), i + 1

    def century(self, i: int) -> SpanMatch:
        """As in "the 19th century"; never one before Christ."""
        number, j = self.ordinal(i) or (0, i)
        j = self.skip(j, "-")
        if not 1 <= number <= 30 or self.unit(j) != "century" or self.word(j + 1) in ("bc", "bce"):
            return None
        start = Span.of_date("year", max(1, number * 100 - 100)).start
        return Span(start, Span.of_date("year", number * 100).start, "century"), j + 1

    def season(self, i: int, allow_ambiguous: bool) -> SpanMatch:
        """As in "summer 2023", "in the fall", but neither "a spring" nor "the fall of Rome"."""
        first = vocab.SEASONS[self.word(i)]
        k = self.skip(self.skip(i + 1, "of"), "the")
        if first == 12 and self.token(k).kind == "years":  # "winter 2024/25"
            return Span.season(int(self.word(k)[:4]), first), k + 1
        if year := self.year_after(i + 1):
            other = self.year(year[1] + 1) if self.word(year[1]) in vocab.RANGE_WORDS and first == 12 else None
            return Span.season(year[0], first), other[1] if other and other[0] == year[0] + 1 else year[1]
        before = self.word(i - 2) if self.word(i - 1) == "the" else self.word(i - 1)
        if before in ("in", "during", "over", "since", "until"):
            is_certain = self.may_end_before(i + 1) and self.word(i + 1) != "of"
        else:
            is_certain = allow_ambiguous and self.whole_text
        return (self.in_open_year(lambda year: Span.season(year, first)), i + 1) if is_certain else None

    def holiday(self, i: int, allow_ambiguous: bool) -> SpanMatch:
        """As in "Christmas 2022", "on Halloween", but not "a Christmas tree"."""
        name = self.holiday_name(i)
        if name is None:
            return None
        j = i + len(name.split())
        make = self.holiday_maker(i, name)
        if year := self.year_after(j):
            return make(year[0]), year[1]
        before = self.word(i - 1)
        if name == "new year" and (before == "the" or not self.token(i).capitalized or not allow_ambiguous):
            return None  # "in the new year" is not one day
        announced = allow_ambiguous or before in ("for", "this", "last", "next")
        is_certain = self.may_end_before(j) if announced else " " in name
        return (self.in_open_year(make), j) if is_certain else None

    def holiday_maker(self, i: int, name: str) -> Callable[[int], Span]:
        """The holiday of a year; "over Easter" is Good Friday to Easter Monday."""
        first, final = vocab.HOLIDAYS_AROUND.get(name, (name, name)) if self.word(i - 1) == "over" else (name, name)

        def make(year: int) -> Span:
            begin, end = Span.holiday(year, first), Span.holiday(year, final)
            return begin if first == final else Span(begin.start, end.end, "range")

        return make
