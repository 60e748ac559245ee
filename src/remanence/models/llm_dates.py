"""The dates that a model worked out, as windows of whole days: a time of day says nothing about when a fact is true.

A date is believed unless nobody named a time, or the quotation names another year.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from remanence.models.llm_source import Chunk, Piece
from remanence.schema import EPOCH, Window
from remanence.text.temporal import TimePhrase, find_stated_times, parse_window
from remanence.text.temporal.time_lexer import may_have_time

_DAY = timedelta(days=1)
"""The time by which a date may be away from the day of its turn, if nobody names one."""
_ISO = re.compile(r"(\d{4}(?:-\d\d){0,2})(?![\d-])(?:[T ][\d:.+Z-]+)?(?:/(\d{4}(?:-\d\d){0,2})\b.*)?")
_YEAR = re.compile(r"(?<!\d)\d{4}(?!\d)")
_WORD = re.compile(r"[^\W\d_]+")
_CLOCK_WORDS = frozenset(
    "a p m am pm o clock oclock h uhr um noon midday midnight at by until till from to and between half past quarter "
    "one two three four five six seven eight nine ten eleven twelve".split()
)


def checked_window(
    when: Any, until: Any, kind: str, quotation: str, piece: Piece, chunk: Chunk, now: datetime
) -> Window:
    """When a fact happened, or since when and until when it is true. An event without a time is at that of its turn.

    Args:
        when: The day, month or year that the model gives, in ISO format.
        until: The last one on which it is true.
        kind: The kind of the fact; "plan" for an event to come.
        quotation: The words that it rests on.
        piece: The turn of these words, which is read whole: its tense decides about a year that nobody said.
        chunk: What the model was shown.
        now: The moment of the extraction, for turns without a time.
    """
    told_at = piece.utterance.at or now
    phrases = [phrase for phrase in _dates_in(piece.utterance.text, told_at) if phrase.text in quotation]
    phrases = phrases or list(_dates_in(quotation, told_at))
    stated = [_whole_days(phrase.window) for phrase in phrases]

    def is_named(given: Window) -> bool:
        nearby = [Window(told_at - _DAY, told_at + _DAY)]
        for each in (*chunk.pieces, *chunk.preceding):
            nearby += [phrase.window for phrase in _dates_in(each.utterance.text, each.utterance.at or told_at)]
        return bool(stated) or may_have_time(quotation) or any(given.overlaps(window) for window in nearby)

    since, last = (window if window and is_named(window) else None for window in map(_read, (when, until)))
    dated = [window for window in stated if window.start is not None]
    if since is not None and since.start is not None:
        years = {int(year) for phrase in phrases for year in _YEAR.findall(phrase.text)}
        given = since
        if len(dated) == 1 and years and since.start.year not in years:
            since = dated[0]
        else:  # "2026" where the words are "on 12 September"
            since = next((window for window in dated if _is_inside(window, given)), since)
    if since is None and last is None and kind in ("episode", "plan"):
        if len(dated) == 1:
            return dated[0]
        return Window.from_moment(told_at) if kind == "episode" else Window()
    start, end = since.start if since else None, last.end if last else None
    if end is None and since and kind in ("episode", "plan"):
        end = since.end
    return Window(start, end if end is None or start is None or start < end else None)


def _is_inside(window: Window, other: Window) -> bool:
    bounds = window.start, window.end, other.start, other.end
    return None not in bounds and other.start <= window.start and window.end <= other.end  # type: ignore[operator]


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


def _read(value: Any) -> Window | None:
    """A day, a month or a year in ISO format, or from one to another."""
    iso = _ISO.fullmatch(value.strip()) if isinstance(value, str) else None
    if iso is None:
        return None
    try:
        first, last = (parse_window(date, EPOCH) for date in (iso[1], iso[2] or iso[1]))
    except (ValueError, OverflowError):  # InvalidInput is a ValueError
        return None
    return Window(first.start, last.end)
