"""A word put right: "Sorry, I meant April" says again, of April, what was just said of March."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from remanence.language.rules.fact_dates import undated
from remanence.language.rules.lexicon import MONTHS
from remanence.schema import Fact

_DAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_TIMES = tuple(  # the first of these that a word is says what it may stand in place of
    re.compile(rf"(?<![\w:.-])(?:{pattern})(?![\w:-])", re.IGNORECASE)
    for pattern in (
        rf"\d{{1,2}}(?:st|nd|rd|th)?(?: of)? (?:{MONTHS})|(?:{MONTHS}) \d{{1,2}}(?:st|nd|rd|th)?",
        MONTHS,
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


class PutRight(NamedTuple):
    """Which fact had the wrong word, and its text with the right one."""

    fact: Fact
    text: str


def put_right(said: str, earlier: Sequence[Fact]) -> PutRight | None:
    """What a correction makes of the facts that its speaker told before it, the latest last.

    A time stands for the only time of its kind in what was said last, another word for the one thing that
    was claimed; with "not March" behind it, for that word wherever it stood. Anything else is left alone.

    >>> put_right("Friday.", [Fact("Ann has a meeting with Bob on Thursday (2026-05-21).")]).text
    'Ann has a meeting with Bob on Friday.'
    >>> put_right("Friday.", [Fact("Ann lives in Porto.")]) is None
    True
    """
    found = _MEANT.fullmatch(said)
    if found is None:
        return None
    new, old = found["new"], found["old"]
    kind = _kind(new)
    for fact in reversed(earlier if old else [fact for fact in earlier if fact.said == earlier[-1].said]):
        text = undated(fact.text)
        wrong = _wrong(fact, text, old, kind)
        if (
            wrong is not None
            and wrong != new
            and _kind(wrong) == kind
            and wrong[0].isupper() == new[0].isupper()
        ):
            return PutRight(fact, re.sub(rf"(?<!\w){re.escape(wrong)}(?!\w)", new, text))
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
