"""The dates that a model worked out, checked against the words of the conversation.

A date has to agree with what the own date reading finds in the quotation; otherwise the date of the quotation is taken.
Windows are of whole days: a time of day says nothing about when a fact is true.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from remanence.models.llm_source import Chunk, Piece
from remanence.schema import Window
from remanence.text.temporal import TimePhrase, find_stated_times, parse_stated_window, parse_window
from remanence.text.temporal.time_lexer import lex, may_have_time
from remanence.text.temporal.time_vocabulary import MONTHS

_DAY, _WEEK, _YEAR = timedelta(days=1), timedelta(days=7), timedelta(days=366)
"""The lengths of time by which the dates of a language model are compared with those of the text."""
_ISO = re.compile(r"(\d{4}(?:-\d\d){0,2})(?![\d-])(?:[T ][\d:.+Z-]+)?(?:/(\d{4}(?:-\d\d){0,2})\b.*)?")
_WORD = re.compile(r"[^\W\d_]+")
_DAY_OF_MONTH = re.compile(r"(?:on )?(?:the )?\d{1,2}(?:st|nd|rd|th)?", re.IGNORECASE)
_CLOCK_WORDS = frozenset(
    "a p m am pm o clock oclock h uhr um noon midday midnight at by until till from to and between half past quarter "
    "one two three four five six seven eight nine ten eleven twelve".split()
)


@dataclass(frozen=True, slots=True)
class StatedTimes:
    """The times that a quotation names, as windows of days, and the chunk that it is from."""

    told_at: datetime
    statement: str
    """The whole turn, whose tense decides about the year of a date without one."""
    quoted: tuple[Window, ...]
    uncertain: frozenset[Window]
    """Those of them of which the year, or the week of a weekday, is not certain."""
    of_any_year: frozenset[Window]
    """Those of them that are dates without a year, as "12 April"."""
    of_any_week: frozenset[Window]
    """Those of them that are weekdays, as "Saturday"."""
    of_any_month: frozenset[Window]
    """Those of them that name a day and no month, as "the 24th"."""
    unread_days: frozenset[int]
    """The days of a month that the quotation names beside them: "it was the 18th actually, tuesday"."""
    unread_months: frozenset[int]
    """The months that it names beside them: "it's April"."""
    has_other_words: bool
    """Whether the quotation has words of a time that could not be read, such as "for three years"."""
    chunk: Chunk

    def nearby(self) -> Iterator[Window]:
        """The days around the quotation, and the times that any turn names."""
        yield Window(self.told_at - _DAY, self.told_at + _DAY)
        for piece in (*self.chunk.pieces, *self.chunk.preceding):
            for phrase in _dates_in(piece.utterance.text, piece.utterance.at or self.told_at):
                yield phrase.window


def stated_times(quotation: str, piece: Piece, chunk: Chunk, now: datetime) -> StatedTimes:
    """The times of a quotation of this piece. The piece is read whole, since its tense decides about the year."""
    told_at = piece.utterance.at or now
    phrases = [phrase for phrase in _dates_in(piece.utterance.text, told_at) if phrase.text in quotation]
    phrases = phrases or list(_dates_in(quotation, told_at))
    read = {token.normalized for phrase in phrases for token in lex(phrase.text)}
    unread = [token for token in lex(quotation) if token.normalized not in read]
    return StatedTimes(
        told_at,
        piece.utterance.text,
        tuple(_whole_days(phrase.window) for phrase in phrases),
        frozenset(_whole_days(phrase.window) for phrase in phrases if not phrase.is_certain),
        frozenset(_whole_days(phrase.window) for phrase in phrases if phrase.left_open == "year"),
        frozenset(_whole_days(phrase.window) for phrase in phrases if phrase.left_open == "week"),
        frozenset(_whole_days(phrase.window) for phrase in phrases if _DAY_OF_MONTH.fullmatch(phrase.text)),
        frozenset(int(token.normalized[:-2]) for token in unread if token.kind == "ordinal"),
        frozenset(MONTHS[token.normalized] for token in unread if token.normalized in MONTHS and token.capitalized),
        not phrases and may_have_time(quotation),
        chunk,
    )


def checked_window(when: Any, until: Any, kind: str, times: StatedTimes) -> Window:
    """When a fact happened, or since when and until when it is true. An event without a time is at that of its turn."""
    given = _read(when, times)
    times = _as_meant(given, kind, times)
    since, end = _checked_start(given, times), _checked_end(_read(until, times), times)
    dated = [window for window in times.quoted if window.start is not None]
    if since is None and end is None and kind in ("episode", "plan"):
        if len(dated) == 1:
            return dated[0]
        return Window.from_moment(times.told_at) if kind == "episode" else Window()
    start = since.start if since else None
    if end is None and since and kind in ("episode", "plan"):
        end = since.end
    return Window(start, end if end is None or start is None or start < end else None)


def _as_meant(given: Window | None, kind: str, times: StatedTimes) -> StatedTimes:
    """The times with dates without a year, and weekdays, in the year or week that the model gives, if a plan is then
    the next such day, or an event the last one. The tense of the turn may mislead: "We said Saturday"."""
    if given is None or given.start is None or kind not in ("episode", "plan"):
        return times
    moved = {window: _in_year(window, given.start.year) for window in times.of_any_year}
    moved |= {window: _in_week_of(window, given.start) for window in times.of_any_week}

    def is_next(old: Window, new: Window) -> bool:
        reach = _YEAR if old in times.of_any_year else _WEEK
        ahead, behind = (reach, _DAY) if kind == "plan" else (_DAY, reach)
        return new.start is not None and -behind <= new.start - times.told_at <= ahead

    fitting = {old: new for old, new in moved.items() if is_next(old, new)}
    return replace(times, quoted=tuple(fitting.get(window, window) for window in times.quoted))


def _in_year(window: Window, year: int) -> Window:
    """A window whose start is moved into this year; the same one if that day does not exist."""
    years = year - window.start.year if window.start else 0
    try:
        start, end = (moment and moment.replace(year=moment.year + years) for moment in (window.start, window.end))
    except ValueError:  # 29 February
        return window
    return Window(start, end)


def _in_week_of(window: Window, day: datetime) -> Window:
    """A weekday, moved by whole weeks to this day; the same one if that is another weekday."""
    if window.start is None or window.end is None or (day - window.start) % _WEEK >= _DAY:
        return window
    weeks = (day - window.start) // _WEEK * _WEEK
    return Window(window.start + weeks, window.end + weeks)


def _checked_start(given: Window | None, times: StatedTimes) -> Window | None:
    """The window in which something happens or begins."""
    stated = [window for window in times.quoted if window.start is not None]
    if given is None or not stated:
        return given if given and _is_supported(given, times) else None
    agreeing = [window for window in stated if _agrees(given, window, times)]
    if agreeing:
        return next((window for window in agreeing if _is_inside(window, given)), given)
    if _is_named_beside(given, times):
        return given
    return min(stated, key=lambda window: _distance(window.start, given.start))


def _checked_end(given: Window | None, times: StatedTimes) -> datetime | None:
    """The end of what is true until then."""
    stated = [window.end for window in times.quoted if window.end is not None]
    if given is None or given.end is None or not stated:
        return given.end if given and _is_supported(given, times) else None
    nearest = min(stated, key=lambda end: _distance(end, given.end))
    return given.end if _is_near(given.end, nearest, times.told_at) else nearest


def _agrees(given: Window, stated: Window, times: StatedTimes) -> bool:
    if stated.end is None:  # "since last summer"
        return _is_near(given.start, stated.start, times.told_at)
    is_other_week = stated in times.uncertain and _distance(given.start, stated.start) == _WEEK
    is_other_month = stated in times.of_any_month and _days_of_month(given) == _days_of_month(stated)
    return given.overlaps(stated) or is_other_week or is_other_month


def _is_named_beside(given: Window, times: StatedTimes) -> bool:
    """Whether a day or a month is one that the quotation names beside the times that could be read."""
    if given.start is None or given.end is None:
        return False
    length = given.end - given.start
    day, month = given.start.day in times.unread_days, given.start.month in times.unread_months
    return day if length <= _DAY else month and length <= 31 * _DAY


def _days_of_month(window: Window) -> tuple[int, int] | None:
    """The first and the last day of a window, by their numbers in the month."""
    if window.start is None or window.end is None or window.end - window.start > _WEEK:
        return None
    return window.start.day, (window.end - timedelta(microseconds=1)).day


def _is_near(given: datetime | None, stated: datetime | None, told_at: datetime) -> bool:
    """Whether two dates may be the same. What is long ago or far ahead is named less exactly."""
    return _distance(given, stated) <= max(_DAY, _distance(stated, told_at) / 3)


def _is_supported(given: Window, times: StatedTimes) -> bool:
    """Whether a date may be meant where the quotation names none that can be read."""
    return times.has_other_words or any(given.overlaps(window) for window in times.nearby())


def _is_inside(window: Window, other: Window) -> bool:
    bounds = window.start, window.end, other.start, other.end
    return None not in bounds and other.start <= window.start and window.end <= other.end  # type: ignore[operator]


def _distance(one: datetime | None, other: datetime | None) -> timedelta:
    return timedelta.max if one is None or other is None else abs(one - other)


def _dates_in(text: str, at: datetime) -> Iterator[TimePhrase]:
    """The times that a text states, without times of day."""
    for phrase in find_stated_times(text, at):
        start, end = phrase.window.start, phrase.window.end
        is_short = start is not None and end is not None and end - start < _DAY
        if not (is_short and _CLOCK_WORDS.issuperset(_WORD.findall(phrase.text.lower()))):
            yield phrase


def _whole_days(window: Window) -> Window:
    start, end = (
        moment and moment.replace(hour=0, minute=0, second=0, microsecond=0) for moment in (window.start, window.end)
    )
    return Window(start, end + _DAY if end is not None and end != window.end else end)


def _read(value: Any, times: StatedTimes) -> Window | None:
    """A date in ISO format or in words, as whole days."""
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)  # a year
    if not isinstance(value, str) or not value.strip():
        return None
    if iso := _ISO.fullmatch(value.strip()):
        first, last = (_iso_window(date, times.told_at) for date in (iso[1], iso[2] or iso[1]))
        return Window(first.start, last.end) if first and last else None
    if len(list(_dates_in(value, times.told_at))) != 1:  # such as a time of day
        return None
    window = parse_stated_window(value, times.statement, times.told_at)
    return window and _whole_days(window)


def _iso_window(date: str, at: datetime) -> Window | None:
    try:
        return parse_window(date, at)
    except (ValueError, OverflowError):  # InvalidInput is a ValueError
        return None
