"""A word put right: "Sorry, I meant April" says again, of April, what was just said of March."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from remanence.language.rules.fact_dates import strip_dates
from remanence.language.rules.lexicon import MONTH_PATTERN
from remanence.schema import Fact

_DAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_TIMES = tuple(  # the first of these that a word is says what it may stand in place of
    re.compile(rf"(?<![\w:.-])(?:{pattern})(?![\w:-])", re.IGNORECASE)
    for pattern in (
        rf"\d{{1,2}}(?:st|nd|rd|th)?(?: of)? (?:{MONTH_PATTERN})|(?:{MONTH_PATTERN}) \d{{1,2}}(?:st|nd|rd|th)?",
        MONTH_PATTERN,
        _DAY,
        r"\d{1,2}(?::\d\d)? ?(?:am|pm)|\d{1,2}:\d\d|noon|midnight",
        r"(?:19|20)\d\d",
        r"\d{1,2}(?:st|nd|rd|th)",
        r"\d+",
    )
)
_MEANT = re.compile(
    r"(?:it['’]s |it is |make (?:that|it) |i meant )?(?:on |in |at )?"
    r"(?!(?:i|my|we|he|she|they|you|that|it|this)\b)(?:the (?=\d))?"
    r"(?P<new>[\w'’:-]+(?: [\w'’:-]+){0,2}?)(?:,? (?:and )?not (?:on |in |at )?"
    r"(?P<old>[\w'’:-]+(?: [\w'’:-]+){0,2}))?[.!]*",
    re.IGNORECASE,
)


class Correction(NamedTuple):
    """Which fact had the wrong word, and its text with the right one."""

    fact: Fact
    text: str


def apply_correction(sentence: str, earlier_facts: Sequence[Fact]) -> Correction | None:
    """What a correction makes of the facts that its speaker told before it, the latest last.

    A time stands for the only time of its kind in what was said last, another word for the one thing that
    was claimed; with "not March" behind it, for that word wherever it stood. Anything else is left alone.

    >>> apply_correction("Friday.", [Fact("Ann has a meeting with Bob on Thursday (2026-05-21).")]).text
    'Ann has a meeting with Bob on Friday.'
    >>> apply_correction("Friday.", [Fact("Ann lives in Porto.")]) is None
    True
    """
    found = _MEANT.fullmatch(sentence)
    if found is None:
        return None
    new, old = found["new"], found["old"]
    kind = _kind(new)
    for fact in reversed(
        earlier_facts
        if old
        else [fact for fact in earlier_facts if fact.source_turns == earlier_facts[-1].source_turns]
    ):
        text = strip_dates(fact.text)
        wrong = _wrong(fact, text, old, kind)
        if wrong is not None and wrong != new and _kind(wrong) == kind and wrong[0].isupper() == new[0].isupper():
            return Correction(fact, re.sub(rf"(?<!\w){re.escape(wrong)}(?!\w)", new, text))
    return None


def _wrong(fact: Fact, text: str, old: str | None, kind: int | None) -> str | None:
    """The word that the right one stands for; None where that is not certain."""
    if old:
        return old if re.search(rf"(?<!\w){re.escape(old)}(?!\w)", text) else None
    if kind is None:
        return fact.triples[0].object if len(fact.triples) == 1 else None
    times = {match.group() for match in _TIMES[kind].finditer(text)}
    return times.pop() if len(times) == 1 else None


def _kind(word: str) -> int | None:
    """Which kind of time a word is; None for one that is none."""
    return next((number for number, kind in enumerate(_TIMES) if kind.fullmatch(word)), None)
