"""What reaches the prompt for a message that asks for everything: the profile, or what a time was about."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from remanence.schema import ASSISTANT, Hit, Memory, Window
from remanence.text.lexicon.word_lists import compile_pattern, load_words
from remanence.text.temporal import TimePhrase, find_times

_WORD = re.compile(r"[^\W\d_]+")
_ABOUT_USER = compile_pattern("overview_of_user", re.IGNORECASE)
_OF_TIME = compile_pattern("overview_of_time", re.IGNORECASE)
_PAST = re.compile(r"\b(?:did|done|was|were|went|happened|told|had|said|talked|been)\b", re.IGNORECASE)
_AHEAD = re.compile(r"\b(?:plans?|planned|coming|will|(?:do|have) (?:i|we)|(?:am|are) (?:i|we))\b", re.IGNORECASE)


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
    if len(message) > 200:
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


def recall_overview(
    view: Any, message: str, in_prompt: Sequence[str], now: datetime, max_tokens: int | None
) -> tuple[list[Hit], int]:
    """The memories for a message that asks for all of the user or of a time, and the ledger position of the recall.
    None for any other message."""
    window = asked_overview(message, now)
    if window is None:
        return [], 0
    if window.has_bound:
        return _of_time(view, message, window, in_prompt, now)
    if not hasattr(view, "profile"):  # a view of checkpoints has none
        return [], 0
    profile = view.profile(max_tokens=max_tokens or 600)
    context = {memory: each.context for each in profile.statements for memory in each.memories}
    found = view.get_many(list(context)) if context else ()
    return [Hit(each.memory, 0.0, context=context[each.memory.id]) for each in found], profile.position


def _of_time(view: Any, message: str, window: Window, in_prompt: Sequence[str], now: datetime) -> tuple[list[Hit], int]:
    """What was told in a time or is about it, in its order. Of a time to come nothing was told in it."""
    is_ahead = window.start is not None and window.start > now
    recall = view.recall(
        message,
        during=window if is_ahead else None,
        limit=60,
        signals=["times"],
        reader="none",
        informative_only=True,
        exclude_texts=in_prompt,
    )
    hits = [hit for hit in recall if (hit.memory.turn is None or hit.memory.turn.speaker != ASSISTANT)]
    dated = [(moment, hit) for hit in hits if (moment := _moment_in(hit.memory, window)) is not None]
    return [hit for _, hit in sorted(dated, key=lambda pair: pair[0])], recall.position


def _moment_in(memory: Memory, window: Window) -> datetime | None:
    """When in a time a memory happened or was told; None if it did neither."""
    moments = (memory.valid.start, memory.told_at)
    return next((moment for moment in moments if moment is not None and moment in window), None)
