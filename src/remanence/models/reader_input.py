"""What a reader is given: a question with its day, and memories as dated lines in the order they were told.

Each line has who says it, and the turn before it where it is not understood alone. Of a long text, the part is read
that shares most words with the question. The reader that comes with the package was trained on texts of exactly this
form.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from functools import lru_cache
from typing import NamedTuple

from remanence.ports import ReaderLine
from remanence.text.text import last_words

MAX_LINES = 16
"""How many lines are read together."""
MAX_TOKENS = 512
"""How many word pieces a question and its lines may have."""
QUESTION_WORDS, QUESTION_TOKENS = 60, 58
"""How many words, and word pieces, of a question are read. The reader was trained with these lengths."""
LINE_WORDS, LINE_TOKENS, MIN_LINE_TOKENS = 30, 40, 12
"""How many words, and word pieces, of a line are read. If all lines together are too long, fewer pieces of each."""
BEFORE_WORDS = 12
"""How many words of the turn before are read with a line, the last ones."""
ANSWER_WORDS = 14
"""A turn of at most this many words that asks nothing is read together with a question before it."""
FRAGMENT_WORDS = 4
"""A turn of at most this many words is read together with whatever stands before it."""

_MONTHS = "January February March April May June July August September October November December".split()
_WORD = re.compile(r"[^\W_]+")
_STEP = 8
_STOP_WORDS = frozenset(
    "a an and any are as at be been but by can could did do does for from had has have he her him his how i if in is "
    "it its me my of on or our she should so some than that the their them then there they this to us was we were what "
    "when where which who whom whose why will with would you your".split()
)
_QUESTION_KIND, _LINE_KIND = 0, 1
_RANK_KINDS = (2, 3, 4, 5, 5, 6, 6, 6, 7, 7, 7, 7, 8, 8, 8, 8, 9)
"""The kind of the token that ends a line, by the rank of the line by the signals."""


class SpecialTokens(NamedTuple):
    """The numbers of the tokens that are not words."""

    begin: int
    end: int
    moment: int


class ListTokens(NamedTuple):
    """A question and its lines as a model reads them."""

    ids: list[int]
    kinds: list[int]
    """What each token is part of: the question, a line, or the end of a line of a certain rank."""
    marks: list[int]
    """The places at which the model answers: the first for "none of them", then the end of each line."""


def needs_turn_before(text: str, before: str) -> bool:
    """Whether a turn may need the turn before it to be understood.

    >>> needs_turn_before("the second one", "assistant: Which of the two?"), needs_turn_before("I live in Graz.", "")
    (True, False)
    """
    count = len(text.split())
    is_answer = before.rstrip().endswith("?") and "?" not in text and count <= ANSWER_WORDS
    return bool(before) and (is_answer or count <= FRAGMENT_WORDS)


def as_line(question: str, line: ReaderLine, max_words: int = LINE_WORDS) -> str:
    """A line as it is read for a question, without its day.

    >>> as_line("Which cake?", ReaderLine("the second one", speaker="user", before="assistant: Which of the two?"))
    'assistant: Which of the two? user: the second one'
    """
    read = excerpt(question, line.text, max_words)
    if line.speaker:
        read = f"{line.speaker}: {read}"
    elif line.title and not line.text.startswith(line.title):
        read = f"{line.title}: {read}"
    return f"{last_words(line.before, BEFORE_WORDS)} {read}" if line.before else read


def shorten_question(question: str) -> str:
    """The end of a very long question: that is where it usually asks."""
    words = question.split()
    return question if len(words) <= QUESTION_WORDS else " ".join(words[-QUESTION_WORDS:])


def day_text(day: date) -> str:
    """A day as it is read.

    >>> day_text(date(2026, 5, 3))
    '3 May 2026'
    """
    return f"{day.day} {_MONTHS[day.month - 1]} {day.year}"


def join_list(
    question: Sequence[int],
    asked: Sequence[int],
    lines: Sequence[Sequence[int]],
    ranks: Sequence[int | None],
    told: int,
    special: SpecialTokens,
) -> ListTokens:
    """The tokens of a question and of its lines as one text.

    Args:
        question: The tokens of the question.
        asked: The tokens of the day on which it is asked.
        lines: The tokens of each line, in the order they were told.
        ranks: The rank of each line by the signals.
        told: How many of the lines were told by the time that the question asks about. A token marks that moment.
        special: The numbers of special tokens.
    """
    ids, marks = [special.begin, *asked, *question[-QUESTION_TOKENS:], special.end], [0]
    kinds = [_QUESTION_KIND] * len(ids)
    longest = _longest_line(lines, MAX_TOKENS - len(ids) - 1)
    for number, (line, rank) in enumerate(zip(lines, ranks, strict=True)):
        if number == told:
            ids.append(special.moment)
            kinds.append(_LINE_KIND)
        ids += [*line[:longest], special.end]
        kinds += [_LINE_KIND] * min(len(line), longest)
        kinds.append(_LINE_KIND if rank is None else _RANK_KINDS[min(rank, len(_RANK_KINDS) - 1)])
        marks.append(len(ids) - 1)
    if told >= len(lines):
        ids.append(special.moment)
        kinds.append(_LINE_KIND)
    return ListTokens(ids, kinds, marks)


def _longest_line(lines: Sequence[Sequence[int]], room: int) -> int:
    """How many tokens of each line are read, so that all of them have room."""
    longest = LINE_TOKENS
    while longest > MIN_LINE_TOKENS and sum(min(len(line), longest) + 1 for line in lines) > room:
        longest -= 1
    return longest


def excerpt(question: str, text: str, max_words: int) -> str:
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
