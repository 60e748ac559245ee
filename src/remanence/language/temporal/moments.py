"""One moment, or one window, from whatever a caller has at hand."""

from __future__ import annotations

import re
from datetime import date, datetime
from typing import TypeAlias

from remanence.errors import InvalidInput
from remanence.language.temporal.calendar_spans import enclosing_unit, month_span, start_of_date, to_utc, year_span
from remanence.language.temporal.dateparser_fallback import iso_span, parse_with_dateparser
from remanence.language.temporal.time_lexer import lex
from remanence.language.temporal.time_phrases import TimePhraseParser
from remanence.language.text import truncate
from remanence.schema import Window

_LONGEST = 200  # no date takes more letters; a longer text is something else by mistake
_NEXT = "Give a datetime, a date, ISO text such as '2026-05-03', or words such as 'last May'."


Moment: TypeAlias = datetime | date | str


def parse_moment(value: Moment, now: datetime, *, argument: str = "date") -> datetime:
    """One moment in UTC: a datetime (naive is UTC), a date (its midnight), ISO text, or words.

    Words and partial dates mean the start of what they name.

    >>> parse_moment("2026-05", datetime(2026, 6, 20)).isoformat()
    '2026-05-01T00:00:00+00:00'
    >>> parse_moment("last May", datetime(2026, 6, 20)).isoformat()
    '2026-05-01T00:00:00+00:00'
    """
    if isinstance(value, datetime):
        return _utc(value, argument)
    if isinstance(value, date):
        return start_of_date(value)
    if not isinstance(value, str):
        raise _unreadable(value, argument)
    window = _read_text(value, to_utc(now), argument)
    if window.start is None:
        raise InvalidInput(f"{argument}={_shown(value)} has no beginning, and one moment is wanted. {_NEXT}")
    return window.start


def parse_window(
    value: Window | Moment | tuple[Moment | None, Moment | None], now: datetime, *, argument: str = "during"
) -> Window:
    """A window: "April 2026" is that month, a date that day, a datetime that instant, a pair from and until.

    Either of a pair may be None, and leaves that end open. `until` itself is outside.

    >>> now = datetime(2026, 6, 20)
    >>> str(parse_window("April 2026", now)), str(parse_window(("2026-04", None), now))
    ('2026-04-01 to 2026-05-01', 'since 2026-04-01')
    """
    if isinstance(value, Window):
        start, end = (None if side is None else _utc(side, argument) for side in (value.start, value.end))
        window = Window(start, end)
    elif isinstance(value, datetime):
        window = Window.from_moment(_utc(value, argument))
    elif isinstance(value, date):
        window = enclosing_unit(start_of_date(value), "day").window
    elif isinstance(value, str):
        window = _read_text(value, to_utc(now), argument)
    elif isinstance(value, tuple) and len(value) == 2:
        start, end = (None if side is None else parse_moment(side, now, argument=argument) for side in value)
        window = Window(start, end)
    else:
        raise _unreadable(value, argument)
    if window.start is not None and window.end is not None and window.start >= window.end:
        raise InvalidInput(f"{argument}={_shown(value)} ends before it starts ({window}). Swap its two ends.")
    return window


def _read_text(value: str, now: datetime, what: str) -> Window:
    text = value.strip()
    if not text or len(text) > _LONGEST:
        raise _unreadable(value, what)
    try:
        if re.fullmatch("[0-9]{4}", text):
            return year_span(int(text)).window
        if month := re.fullmatch("([0-9]{4})-([0-9]{2})", text):
            return month_span(int(month[1]), int(month[2])).window
        if re.match("[0-9]{4}-[0-9]{1,2}-[0-9]", text):
            return iso_span(text).window
        if text.lower() == "now":
            return Window.from_moment(now)
        if text.isdecimal() and len(text) != 8:  # not for dateparser, which takes numbers for anything
            raise _unreadable(value, what)
        return _read_words(text, now) or _ask(text, now, what)
    except (ValueError, OverflowError) as error:
        raise _unreadable(value, what) from error


def _read_words(text: str, now: datetime) -> Window | None:
    """The window, if the text is one time phrase from its first word to its last."""
    tokens = lex(text.rstrip(" .!?"))
    reader = TimePhraseParser(tokens, now, whole_text=True)
    for i in range(min(3, len(tokens))):
        if (found := reader.parse_phrase(i)) and found[1] == len(tokens):
            return found[0]
        if tokens[i].normalized not in (
            "in",
            "on",
            "at",
            "the",
            "during",
            "over",
            "from",
            "for",
            "around",
            "about",
            "@",
        ):
            break
    return None


def _ask(text: str, now: datetime, what: str) -> Window:
    span = parse_with_dateparser(text, now)
    if span is None:
        raise _unreadable(text, what)
    return span.window


def _utc(moment: datetime, what: str) -> datetime:
    try:
        return to_utc(moment)
    except OverflowError as error:
        raise InvalidInput(f"{what}={_shown(moment)} lies outside the calendar in UTC. {_NEXT}") from error


def _unreadable(value: object, what: str) -> InvalidInput:
    return InvalidInput(f"{what}={_shown(value)} cannot be read as a time. {_NEXT}")


def _shown(value: object) -> str:
    return truncate(repr(value), 60)
