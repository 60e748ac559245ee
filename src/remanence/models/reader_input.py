"""What a reader is given of a memory: who says it, the question it answers, and the part of a long text that matters.

The readers that come with the package were trained on texts of exactly this form.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple

QUESTION_WORDS = 60
PASSAGE_WORDS = 64
"""How many words of a long text are read."""
ANSWER_WORDS = 14
"""A turn of at most this many words is read together with the question before it."""
ASKED_WORDS = 30
TIMELINE_LINES = 8
"""How many statements of a timeline are read together."""
LINE_WORDS, LINE_TOKENS = 40, 48
"""How many words, and how many word pieces, of each."""
QUESTION_TOKENS = 88

_MONTHS = "January February March April May June July August September October November December".split()
_WORD = re.compile(r"[^\W_]+")
_STEP = 8
_STOP_WORDS = frozenset(
    "a an and any are as at be been but by can could did do does for from had has have he her him his how i if in is "
    "it its me my of on or our she should so some than that the their them then there they this to us was we were what "
    "when where which who whom whose why will with would you your".split()
)


class TimelineTokens(NamedTuple):
    """A question and a timeline as a model reads them."""

    ids: list[int]
    kinds: list[int]
    """0 for the question, 1 for the timeline."""
    marks: list[int]
    """The places at which the model answers: the first for "none of them", then the end of each statement."""


class SpecialTokens(NamedTuple):
    """The numbers of the tokens that are not words."""

    begin: int
    end: int
    moment: int


def as_passage(
    question: str,
    text: str,
    *,
    speaker: str | None = None,
    title: str = "",
    before: str = "",
    max_words: int = PASSAGE_WORDS,
) -> str:
    """The text as it is read for a question.

    Args:
        question: What is asked; of a long text the part that shares most words with it is kept.
        text: What the memory says.
        speaker: Who says it.
        title: The title of the document it comes from.
        before: The turn before with its speaker ("assistant: Any allergies?"), see `needs_turn_before`.
        max_words: How many words of a long text are kept.
    """
    read = excerpt(question, text, max_words)
    if speaker:
        read = f"{speaker}: {read}"
    elif title and not text.startswith(title):
        read = f"{title}: {read}"
    if before:
        words = before.split()
        asked = before if len(words) <= ASKED_WORDS else "... " + " ".join(words[-ASKED_WORDS:])
        read = f"{asked} {read}"
    return read


def needs_turn_before(text: str, before: str) -> bool:
    """Whether a turn may need the turn before to be understood: it is short, asks nothing itself, and a question
    stands right before it."""
    return before.rstrip().endswith("?") and "?" not in text and len(text.split()) <= ANSWER_WORDS


def shorten_question(question: str) -> str:
    """The end of a very long question: that is where it usually asks."""
    words = question.split()
    return question if len(words) <= QUESTION_WORDS else " ".join(words[-QUESTION_WORDS:])


def with_question(question: str, earlier: str) -> str:
    """The earlier of two statements that are compared for a question: does the later one change the answer?"""
    return f"{shorten_question(question)} {earlier}"


def with_date(told_at: datetime, passage: str) -> str:
    """A statement of a timeline: a passage of at most `LINE_WORDS` words and the day it was told."""
    return f"{told_at.day} {_MONTHS[told_at.month - 1]} {told_at.year}: {passage}"


def join_timeline(
    question: Sequence[int], lines: Sequence[Sequence[int]], told: int, special: SpecialTokens
) -> TimelineTokens:
    """The tokens of a question and of the lines of a timeline in the order they were told, as one text. A special token
    separates the first `told` statements, which were known at the time asked about, from later ones."""
    ids, marks = [special.begin, *question[:QUESTION_TOKENS], special.end], [0]
    first = len(ids)
    for number, line in enumerate(lines):
        if number == told:
            ids.append(special.moment)
        ids += [*line[:LINE_TOKENS], special.end]
        marks.append(len(ids) - 1)
    if told >= len(lines):
        ids.append(special.moment)
    return TimelineTokens(ids, [0] * first + [1] * (len(ids) - first), marks)


def excerpt(question: str, text: str, max_words: int = PASSAGE_WORDS) -> str:
    """At most this many words of a text: the first of the passages that share most words with the question."""
    words = text.split()
    if len(words) <= max_words:
        return text
    wanted = _stems(question)
    shared = [_stems(word) & wanted for word in words]
    best, best_start = -1.0, 0
    for start in [*range(0, len(words) - max_words, _STEP), len(words) - max_words]:
        part = shared[start : start + max_words]
        score = len(set().union(*part)) + 0.05 * sum(map(bool, part))
        if score > best:
            best, best_start = score, start
    kept = " ".join(words[best_start : best_start + max_words])
    return kept if best_start == 0 else f"... {kept}"


@lru_cache(maxsize=50_000)
def _stems(text: str) -> frozenset[str]:
    """The first six letters of each word that means something."""
    return frozenset(word[:6] for word in _WORD.findall(text.lower()) if word not in _STOP_WORDS)
