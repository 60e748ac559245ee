"""When a fact is true: the times of a sentence, read against the moment it was said."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from remanence.language.rules.ellipsis import EVENT_NOUN_PATTERN
from remanence.language.rules.lexicon import MONTH_PATTERN
from remanence.language.temporal import TimePhrase, find_times
from remanence.schema import Window, format_moment

_YEAR = re.compile(r"\b\d{4}\b")
_DAY = timedelta(days=1)
_DATED = re.compile(
    r" \((?:\d{4}|[A-Z][a-z]+ \d{4}|\d{4}-\d\d-\d\d(?: \d\d:\d\d)?(?: to \d{4}-\d\d-\d\d(?: \d\d:\d\d)?)?)\)"
)
_WEEKDAY = re.compile(r"\b(?:mon|tues?|wed(?:nes)?|thurs?|fri|sat(?:ur)?|sun)(?:day)?s?\b", re.IGNORECASE)
_MONTH = re.compile(rf"\b(?:{MONTH_PATTERN})\b|\d[./]\d", re.IGNORECASE)
_COUNT = re.compile(  # the 6 of "turned 6 last week" is no part of the time
    r"(?<!at )(?<!by )(?<!to )(?<!from )(?<!until )\b\d+(?= (?:last|next|this)\b)"
)
_PASSING = re.compile(
    rf"\b(?:{EVENT_NOUN_PATTERN}|for the next|until|reminded"
    r"|tonight|today"
    r"|tomorrow|this (?:week|weekend|month|morning|afternoon|evening)|temporarily|next (?:week|weekend"
    r"|month)|due|in \w+ (?:days?"
    r"|weeks?|hours?|minutes))\b",
    re.IGNORECASE,
)


def find_fact_times(text: str, now: datetime, *, prefer_future: bool) -> list[TimePhrase]:
    """The times in the text; where it looks `ahead`, "on Friday" is the next one and not the last.

    >>> found = find_fact_times("The flight is on Friday.", datetime(2026, 5, 20), prefer_future=True)
    >>> [str(time.window) for time in found]
    ['2026-05-22 to 2026-05-23']
    """
    phrases = find_times(_COUNT.sub(lambda found: "#" * len(found.group()), text), now)
    return [_ahead(phrase, now) for phrase in phrases] if prefer_future else phrases


def add_dates(text: str, phrases: list[TimePhrase]) -> str:
    """The text with what its relative times mean behind them, so that it can be read on any other day.

    >>> text = "Bob called yesterday."
    >>> add_dates(text, find_times(text, datetime(2026, 5, 20)))
    'Bob called yesterday (2026-05-19).'
    """
    out, at = [], 0
    for phrase in phrases:
        whole = phrase.window.start is not None and phrase.window.end is not None
        if whole and not _YEAR.search(phrase.text):
            out.append(f"{text[at : phrase.end]} ({_written(phrase.window)})")
            at = phrase.end
    return "".join([*out, text[at:]])


def strip_dates(text: str) -> str:
    """The text without what `dated` put into it.

    >>> strip_dates("Bob called yesterday (2026-05-19) from Rome (Italy).")
    'Bob called yesterday from Rome (Italy).'
    """
    return _DATED.sub("", text)


def find_expiry(text: str, phrases: list[TimePhrase], now: datetime) -> datetime | None:
    """When what is said will be over: only for what speaks of its own end, such as a meeting today."""
    if not _PASSING.search(text):
        return None
    ends = [phrase.window.end for phrase in phrases if phrase.window.end is not None]
    last = max(ends, default=None)
    return last if last is not None and last > now else None


def _ahead(phrase: TimePhrase, at: datetime) -> TimePhrase:
    window = phrase.window
    if window.end is None or window.end > _aware(at, window.end) or _YEAR.search(phrase.text):
        return phrase
    if re.search(r"\b(?:last|ago|yesterday|past)\b", phrase.text, re.IGNORECASE):
        return phrase
    by_week = _WEEKDAY.search(phrase.text) is not None
    if not (by_week or _MONTH.search(phrase.text)):
        return phrase  # "this morning" comes once
    moved = Window(_later(window.start, by_week), _later(window.end, by_week))
    return TimePhrase(phrase.text, phrase.start, phrase.end, moved)


def _later(moment: datetime | None, by_week: bool) -> datetime | None:
    if moment is None:
        return None
    if by_week:
        return moment + timedelta(days=7)
    leap = moment.month == 2 and moment.day == 29
    return moment.replace(year=moment.year + 1, day=28 if leap else moment.day)


def _aware(moment: datetime, like: datetime) -> datetime:
    return moment.replace(tzinfo=like.tzinfo) if moment.tzinfo is None else moment


def _written(window: Window) -> str:
    start, end = window.start, window.end
    if start is None or end is None:
        return str(window)
    if end - start <= _DAY:
        return format_moment(start)
    if start.day == 1 and (end - _DAY).month == start.month and end.day == 1 and end - start < timedelta(days=32):
        return f"{start:%B} {start.year}"
    if start.month == start.day == end.month == end.day == 1 and end.year == start.year + 1:
        return str(start.year)
    return f"{format_moment(start)} to {format_moment(end - _DAY)}"
