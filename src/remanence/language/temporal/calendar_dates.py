"""Dates the calendar names: "7 May 2023", "in 2019", "Q3 2024", "Tuesday", "Christmas", "the '90s"."""

from __future__ import annotations

import re
from collections.abc import Callable

from remanence.language.temporal.calendar_spans import (
    ONE_DAY,
    Span,
    day_span,
    enclosing_unit,
    holiday_span,
    latest_occurrence,
    month_span,
    quarter_span,
    season_span,
    shift,
    week_span,
    year_span,
)
from remanence.language.temporal.dateparser_fallback import iso_span, parse_with_dateparser
from remanence.language.temporal.time_vocabulary import (
    DAY_NAMES,
    DECADES,
    HOLIDAY_FIRST_WORDS,
    HOLIDAYS,
    MONTHS,
    NUMBERS,
    ORDINALS,
    RECURRING_DAY_PARTS,
    SEASONS,
    UNAMBIGUOUS_MONTHS,
    UNITS,
    WEEKDAYS,
)
from remanence.language.temporal.token_reader import RANGE_WORDS, SpanMatch, TokenReader


class CalendarDateRules(TokenReader):
    """The rules that need no more of the reference time than which year was meant."""

    def calendar_date(self, i: int, loose: bool = False) -> SpanMatch:
        """The first rule that holds at `i`. A date that does not exist raises ValueError."""
        token, said = self.token(i), loose
        loose = loose or self.has_cue(i)
        if token.kind not in ("word", "number", "ordinal"):
            return self.shape(i, loose, said)
        word = token.normalized
        if word in MONTHS:
            return self.month_first(i) or self.bare_month(i, loose, said)
        if word in WEEKDAYS:
            return self.weekday(i, loose)
        if word in SEASONS:
            return self.season(i, loose)
        if word in DECADES:
            return self.decade(i)
        if word in HOLIDAY_FIRST_WORDS:
            return self.holiday(i, loose)
        if token.kind == "word" and not (word in NUMBERS or word in ORDINALS or word in ("the", "year")):
            return None
        return self.day_first(i) or self.bare_year(i, said) or self.day_alone(i, loose) or self.century(i)

    def shape(self, i: int, loose: bool, said: bool) -> SpanMatch:
        """A token that is a date by its digits."""
        token = self.token(i)
        digits = [int(run) for run in re.findall("[0-9]+", token.normalized)]
        if token.kind == "iso":
            return iso_span(token.normalized), i + 1
        if token.kind == "isomonth":
            return month_span(digits[0], digits[1]), i + 1
        if token.kind == "isoweek":
            return week_span(int(token.normalized[:4]), digits[-1]), i + 1
        if token.kind == "years":
            first, final = digits
            final = final if final > 99 else first // 100 * 100 + final
            if not 1000 <= first < final <= 2100 or (digits[1] < 100 and final - first > 10):
                return None
            return Span(year_span(first).start, year_span(final).end, "range"), i + 1
        if token.kind == "ymd":
            return day_span(*digits), i + 1
        if token.kind == "days":
            return self.days(token.normalized), i + 1
        if token.kind == "compact" and loose:
            return day_span(int(token.normalized[:4]), int(token.normalized[4:6]), int(token.normalized[6:])), i + 1
        if token.kind == "dmy":
            month, day, year = digits
            if "." in token.normalized:  # whoever writes dots puts the day first
                month, day = day, month
            return self.day_or_month_first(month, day, year if year > 99 else self.expand_year(year)), i + 1
        if token.kind == "md" and self.dated_slash(i, said):
            month, day = digits
            if year_read := self.year_after(i + 1) if self.word(i + 1) == "," else None:
                return self.day_or_month_first(month, day, year_read[0]), year_read[1]
            return latest_occurrence(lambda year: self.day_or_month_first(month, day, year), self.now), i + 1
        if token.kind == "odd" and (span := parse_with_dateparser(token.normalized, self.now)):
            return span, i + 1
        if token.kind == "quarter":
            return self.quarter(i, loose)
        if token.kind == "decade":
            return self.decade(i)
        if token.kind == "yy" and loose:
            return year_span(self.expand_year(digits[0])), i + 1
        return None

    def dated_slash(self, i: int, said: bool) -> bool:
        """Whether "7/22" is a day: "on 7/22", "before the 7/22 trip", but not "2/3 cup" or "24/7"."""
        the = self.word(i - 1) == "the"
        before = self.word(i - 1 - the)
        if said or before in WEEKDAYS or self.word(i + 1) in ("at", "@"):
            return the or self.may_end_before(i + 1)
        announced = before in ("on", "by", "before", "after", "since", "until", "till", "from")
        announced = announced or (i - 1 == self.previous_end and before in (",", "and", "or"))
        return announced and (the or self.may_end_before(i + 1))

    def days(self, text: str) -> Span:
        """As in "5/1-5/7", "10/1-11/2/2017": a year said once counts for both."""
        first, final = ([int(run) for run in re.findall("[0-9]+", side)] for side in re.split("[-–]", text))

        def make(year: int) -> Span:
            end = self.day_or_month_first(final[0], final[1], year)
            start = self.day_or_month_first(first[0], first[1], first[2] if len(first) > 2 else year)
            if start.start > end.start:
                start = self.day_or_month_first(first[0], first[1], year - 1)
            return Span(start.start, end.end, "range")

        if len(final) > 2:
            return make(final[2] if final[2] > 99 else self.expand_year(final[2]))
        return latest_occurrence(make, self.now)

    def day_or_month_first(self, month: int, day: int, year: int) -> Span:
        """Month first, as the English setting of dateparser has it, unless only the other way exists."""
        return day_span(year, day, month) if month > 12 else day_span(year, month, day)

    def day_first(self, i: int) -> SpanMatch:
        """As in "7 May 2023", "the 9th of May", "13 to 15 July", "between the 3rd and the 12th of May"."""
        start = self.skip(i, "the")
        if not (day := self.day_number(start)):
            return None
        first, j = day
        final = None
        between = "between" in (self.word(i - 1), self.word(i - 2)) and self.word(j) == "and"
        if (self.word(j) in RANGE_WORDS or between) and (other := self.day_number(self.skip(j + 1, "the"))):
            final, j = other
        of = self.skip(j, "of", "-")
        if not (month := self.month(of)):
            return None
        year = self.year_after(month[1])
        if self.may_be_verb(of) and not (year or of > j or self.ordinal(start)):
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
            return month_span(year[0], number), year[1]
        day = self.ordinal(j + 1) if self.word(j) == "," else self.day_number(self.skip(j, "the", "-"))
        if not day or not 1 <= day[0] <= 31 or self.unit(day[1]):
            return None
        first, k = day
        if self.may_be_verb(i) and not (self.ordinal(k - 1) or self.year_after(k) or self.has_cue(i)):
            return None
        final = None
        if self.word(k) in RANGE_WORDS and (other := self.day_number(self.skip(k + 1, "the"))):
            clocklike = self.token(k + 2).kind in ("clock", "hm")
            if other[0] > first and not self.month(self.skip(other[1], "of")) and not clocklike:
                final, k = other
        return self.on_days(number, first, final, self.year_after(k), k)

    def on_days(
        self, month: int, first: int, final: int | None, year: tuple[int, int] | None, j: int
    ) -> tuple[Span, int]:
        """A day, or several, of a month: in the year that was said, else the latest that has begun."""

        def make(year: int) -> Span:
            day = day_span(year, month, first)
            return day if final is None else Span(day.start, day_span(year, month, final).end, "range")

        return (make(year[0]), year[1]) if year else (latest_occurrence(make, self.now), j)

    def bare_month(self, i: int, loose: bool, said: bool) -> SpanMatch:
        """As in "in May", "since June", "January"; never "May I" or "every May"."""
        before = self.word(i - 1)
        if not (month := self.month(i)) or before in ("every", "each"):
            return None
        number, j = month
        if self.may_be_verb(i):
            alone = self.whole_text and self.token_count < 4
            sure = alone or before in ("in", "since", "during", "until", "till")
        elif self.word(i) in UNAMBIGUOUS_MONTHS or (
            self.word(j) in ("last", "this", "next") and self.word(j + 1) == "year"
        ):
            sure = True
        elif before in ("to", "of", "from", "by", "at", "about", "on", "over"):
            # April, June, August and May are also people: "a gift from April".
            sure = self.word(j) in RANGE_WORDS or (said and before == "to")
            sure = sure or ((said or before in ("of", "by")) and self.may_end_before(j))
        else:
            sure = loose
        return (latest_occurrence(lambda year: month_span(year, number), self.now), j) if sure else None

    def bare_year(self, i: int, said: bool) -> SpanMatch:
        """As in "in 2019", "the year 1850", "(2019)", "from 1765 to 1803"; never "room 2012"."""
        if self.word(i) == "year" and (found := self.year(i + 1)):
            return year_span(found[0]), found[1]
        if (found := self.year(i)) is None or self.is_counted_noun(found[1]):
            return None
        year, j = found
        bracketed = self.word(i - 1) == "(" and self.word(j) == ")"
        cued = self.has_cue(i) and self.word(i - 1) not in ("at", "on", "over", "about", "to", "through")
        paired = (self.word(j) in (*RANGE_WORDS, "and") and self.year(j + 1)) or (
            self.word(i - 1) in (*RANGE_WORDS, "and") and self.year(i - 2)
        )
        if not (said or bracketed or cued) or not (1800 <= year <= 2100 or paired or self.whole_text):
            return None
        return year_span(year), self.skip(j, "ad", "ce")

    def weekday(self, i: int, loose: bool) -> SpanMatch:
        """As in "Tuesday", "Tuesday March 7", "Monday the 21st", "Tuesday of last week"."""
        word, weekday = self.word(i), WEEKDAYS[self.word(i)]
        full = word in DAY_NAMES
        if self.word(i - 1) in ("every", "each", "a", "most", "all") or self.word(i + 1) in RECURRING_DAY_PARTS:
            return None
        if word in ("sat", "sun", "wed", "mon") and not self.token(i).capitalized:
            return None
        j = self.skip(i + 1, ".") if not full and self.token(i + 2).kind in ("number", "ordinal") else i + 1
        j = self.skip(j, ",")
        if dated := self.day_first(j) or self.month_first(j):
            return dated
        if self.token(j).kind in ("dmy", "md", "iso", "ymd") and (dated := self.shape(j, True, True)):
            return dated
        if (day := self.ordinal(self.skip(j, "the"))) and self.word(day[1]) not in ("of", "time"):
            return self.weekday_numbered(weekday, day[0]), day[1]
        two_digits = self.token(i + 1).kind == "number" and len(self.word(i + 1)) == 2
        if two_digits and self.may_end_before(i + 2) and self.word(i + 2) not in (*RANGE_WORDS, ":"):
            return self.weekday_numbered(weekday, int(self.word(i + 1))), i + 2
        if not full and not loose:
            return None
        j = i + 1
        k = self.skip(j, "of", "in", ",")
        k = self.skip(k, "the")
        step = {"last": -1, "previous": -1, "this": 0, "next": 1, "following": 1}.get(self.word(k))
        if step is not None and self.unit(k + 1) == "week":
            week = enclosing_unit(shift(self.today, step, "week"), "week")
            return enclosing_unit(week.start + ONE_DAY * weekday, "day"), k + 2
        count, back = self.number(j), (self.today.weekday() - weekday) % 7
        if count and self.unit(count[2]) in ("week", "month", "year") and self.word(count[2] + 1) == "ago":
            week = enclosing_unit(shift(self.today, -count[1], UNITS[self.word(count[2])]), "week")
            return enclosing_unit(week.start + ONE_DAY * weekday, "day"), count[2] + 2
        if self.word(j) in ("before", "after") and self.word(j + 1) in ("last", "next"):
            weeks = -1 if self.word(j) == "before" else 2
            return enclosing_unit(self.today + ONE_DAY * (7 * weeks - back), "day"), j + 2
        return enclosing_unit(self.today - ONE_DAY * back, "day"), j

    def weekday_numbered(self, weekday: int, day: int) -> Span:
        """The latest "Thursday the 14th"; this month's may still be ahead."""
        month = enclosing_unit(self.today, "month").start
        for back in range(60):
            start = shift(month, -back, "month") + ONE_DAY * (day - 1)
            if start.weekday() == weekday and start.day == day:
                return enclosing_unit(start, "day")
        raise ValueError("no such weekday in five years")

    def day_alone(self, i: int, loose: bool) -> SpanMatch:
        """As in "on the 18th", but not "on the 18th floor"."""
        if self.word(i - 1) != "the" or not loose or self.token(i).kind != "ordinal":
            return None
        if self.word(i - 2) not in ("on", "by", "since", "until", "till", "before", "after"):
            return None
        day = int(self.word(i)[:-2])
        if not 1 <= day <= 31 or not self.may_end_before(i + 1) or self.word(i + 1) in ("of", "and", "or", "-"):
            return None
        start = enclosing_unit(self.today, "month").start
        for back in range(3):
            found = shift(start, -back, "month") + ONE_DAY * (day - 1)
            if found.day == day and found <= self.now:
                return enclosing_unit(found, "day"), i + 1
        return None

    def quarter(self, i: int, loose: bool) -> SpanMatch:
        """As in "Q3 2024", "2017-Q1", "in Q2", "H1 2023"."""
        word = self.word(i)
        years = re.findall("[0-9]{4}", word)
        shown = re.search("([qh])([1-4])", word)
        if shown is None or len(years) > 1:
            return None
        size, number = shown.group(1), int(shown.group(2))

        def make(year: int) -> Span:
            if size == "q":
                return quarter_span(year, number)
            half = shift(year_span(year).start, 6 * (number - 1), "month")
            return Span(half, shift(half, 6, "month"), "half")

        if years:
            return make(int(years[0])), i + 1
        k = self.skip(i + 1, "of")
        loose = loose or (self.word(k) in ("last", "this", "next") and self.word(k + 1) == "year")
        return (latest_occurrence(make, self.now), i + 1) if loose and size == "q" else None

    def decade(self, i: int) -> SpanMatch:
        """As in "1990s", "the '90s", "the nineties"; never "in her thirties"."""
        word, before = self.word(i), self.word(i - 1)
        year = DECADES[word] if word in DECADES else int(re.sub("[^0-9]", "", word))
        if year < 100:
            if not (
                before in ("the", "in", "'", "’", "‘", "early", "mid", "late")
                or self.word(i - 2) in ("early", "mid", "late")
            ):
                return None
            year = self.expand_year(year) if self.expand_year(year) <= self.now.year else self.expand_year(year) - 100
        return enclosing_unit(year_span(year).start, "decade"), i + 1

    def century(self, i: int) -> SpanMatch:
        """As in "the 19th century"; never one before Christ."""
        if found := self.ordinal(i):
            j = self.skip(found[1], "-")
            before_christ = self.word(j + 1) in ("bc", "bce")
            if UNITS.get(self.word(j)) == "century" and 1 <= found[0] <= 30 and not before_christ:
                start = year_span(max(1, found[0] * 100 - 100)).start
                return Span(start, year_span(found[0] * 100).start, "century"), j + 1
        return None

    def season(self, i: int, loose: bool) -> SpanMatch:
        """As in "summer 2023", "in the fall", but neither "a spring" nor "the fall of Rome"."""
        first = SEASONS[self.word(i)]
        make: Callable[[int], Span] = lambda year: season_span(year, first)  # noqa: E731
        if year := self.year_after(i + 1):
            return make(year[0]), year[1]
        if self.word(i - 1) in ("in", "during", "over", "since", "until") or (
            self.word(i - 1) == "the" and self.word(i - 2) in ("in", "during", "over", "since", "until")
        ):
            return (
                (latest_occurrence(make, self.now), i + 1)
                if self.may_end_before(i + 1) and self.word(i + 1) != "of"
                else None
            )
        return (latest_occurrence(make, self.now), i + 1) if loose and self.whole_text else None

    def holiday(self, i: int, loose: bool) -> SpanMatch:
        """As in "Christmas 2022", "on Halloween", but not "a Christmas tree"."""
        for size in (3, 2, 1):
            name = " ".join(self.word(i + k) for k in range(size))
            if name in HOLIDAYS:
                j = i + size
                break
        else:
            return None
        if year := self.year_after(j):
            return holiday_span(year[0], name), year[1]
        if loose or self.word(i - 1) in ("for", "this", "last", "next"):
            return (
                (latest_occurrence(lambda year: holiday_span(year, name), self.now), j)
                if self.may_end_before(j)
                else None
            )
        return (latest_occurrence(lambda year: holiday_span(year, name), self.now), j) if size > 1 else None
