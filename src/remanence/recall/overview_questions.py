"""Whether a message asks for all that is known: of the user ("What do you know about me?"), or of a time ("What did I
do in May?"). It names no matter of its own, so no memory is nearer to it than another."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from remanence.schema import Window
from remanence.text.lexicon.word_lists import compile_pattern, load_words
from remanence.text.temporal import TimePhrase, find_times

_WORD = re.compile(r"[^\W\d_]+")
_ABOUT_USER = compile_pattern("overview_of_user", re.IGNORECASE)
_OF_TIME = compile_pattern("overview_of_time", re.IGNORECASE)
_PAST = re.compile(r"\b(?:did|done|was|were|went|happened|told|had|said|talked|been)\b", re.IGNORECASE)
_AHEAD = re.compile(r"\b(?:plans?|planned|coming|will|(?:do|have) (?:i|we)|(?:am|are) (?:i|we))\b", re.IGNORECASE)
_MAX_LENGTH = 200
"""A longer message says more than that."""


def asked_overview(message: str, now: datetime) -> Window | None:
    """The time of which a message asks for everything, an open one for all that is known of the user; None if it asks
    about something else.

    >>> from remanence.schema import UTC
    >>> now = datetime(2026, 6, 10, tzinfo=UTC)
    >>> str(asked_overview("So what did I do in May?", now)), str(asked_overview("What do you know about me?", now))
    ('2026-05-01 to 2026-06-01', 'any time')
    >>> asked_overview("What did I cook in May?", now), asked_overview("What do you know about my cat?", now)
    (None, None)
    """
    if len(message) > _MAX_LENGTH:
        return None
    text = message.replace("’", "'")
    phrases = [phrase for phrase in find_times(text, now) if phrase.window.has_bound]
    for phrase in phrases:
        text = text.replace(phrase.text, " ")
    if not _general_words().issuperset(word.lower() for word in _WORD.findall(text)):
        return None
    if len(phrases) == 1 and _OF_TIME.search(text):
        [phrase] = phrases
        is_over = phrase.window.end is not None and phrase.window.end <= now
        is_ahead = is_over and _AHEAD.search(text) and not _PAST.search(text)
        return _next(phrase, message, now) if is_ahead else phrase.window
    return Window() if not phrases and _ABOUT_USER.search(text) else None


def _next(phrase: TimePhrase, message: str, now: datetime) -> Window:
    """The next Saturday or December, where the last one was read and the message asks about the future."""
    for days in (7, 366):
        again = [other for other in find_times(message, now + timedelta(days=days)) if other.text == phrase.text]
        if again and again[0].window.end is not None and again[0].window.end > now:
            return again[0].window
    return phrase.window


def _general_words() -> frozenset[str]:
    return load_words("overview words")
