"""The times and importance of a fact, and corrections of facts.

"Sorry, I meant April" repeats the last fact with April in place of March.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from remanence.language.claim_extraction.predicate_rules import OPINION_PREDICATES
from remanence.language.lexicon.word_lists import (
    RELATIONSHIP_NOUNS,
    TAG_PATTERNS,
    compile_pattern,
    load_pattern,
    load_words,
)
from remanence.language.temporal import TimePhrase, find_stated_times
from remanence.language.text import upper_first
from remanence.schema import Fact, Triple, format_moment

_MONTH_NAME = load_pattern("months")
_YEAR = re.compile(r"\b\d{4}\b")
_DAY = timedelta(days=1)
NEWS = timedelta(days=62)
"""A change that began at most this long before an undated memory was told is newer than that memory: "I live in Ghent",
and then "I moved to Bruges last month"."""
_BEFORE_TIME = re.compile(
    r"(?:(?:,|\b(?:back|in|on|at|by|during|around|about|over|early|late|just|the)) ?)+$", re.IGNORECASE
)
_TIME_AS_VALUE = re.compile(r"\b(?:to|until|till|before|after|is|are|was|were|for|from|than)(?: (?:in|on|at|the))* ?$")
_TIME_AS_SUBJECT = re.compile(r" (?:is|was|will|marks|marked)\b|['’]")
_ADDED_DATE = compile_pattern("added_date")
_SCHEDULED = compile_pattern("scheduled_event")
_TEMPORARY = re.compile(rf"\b(?:{load_pattern('temporary_phrases')})\b", re.IGNORECASE)


def times_in_clause(text: str, stated: Sequence[TimePhrase]) -> list[TimePhrase]:
    """The times of a whole text that stand in this clause of it, at their position there.

    They are not read again: without the words around it "in May" may be another May.

    >>> from remanence.language.temporal import find_stated_times
    >>> stated = find_stated_times("We will fly to Rome on Friday.", datetime(2026, 5, 20))
    >>> [(time.start, str(time.window)) for time in times_in_clause("Ann will fly to Rome on Friday.", stated)]
    [(24, '2026-05-22')]
    """
    phrases, at = [], 0
    for phrase in stated:
        start = text.find(phrase.text, at)
        if start >= 0:
            at = start + len(phrase.text)
            phrases.append(replace(phrase, start=start, end=at))
    return phrases


def add_dates(text: str, phrases: list[TimePhrase]) -> str:
    """The text with a date after each relative time, so that it can be read on any other day; no doubtful date.

    >>> from remanence.language.temporal import find_stated_times
    >>> text = "Bob called yesterday."
    >>> add_dates(text, find_stated_times(text, datetime(2026, 5, 20)))
    'Bob called yesterday (2026-05-19).'
    """
    parts, at = [], 0
    for phrase in phrases:
        start, end = phrase.window.start, phrase.window.end
        if phrase.is_certain and start is not None and end is not None and not _YEAR.search(phrase.text):
            parts.append(f"{text[at : phrase.end]} ({_format_dates(start, end)})")
            at = phrase.end
    return "".join([*parts, text[at:]])


def strip_dates(text: str) -> str:
    """The text without the dates that `add_dates` adds.

    >>> strip_dates("Bob called yesterday (2026-05-19) from Rome (Italy).")
    'Bob called yesterday from Rome (Italy).'
    """
    return _ADDED_DATE.sub("", text)


def without_past_times(text: str, now: datetime, after: datetime) -> str:
    """The text without the times it names that lie between `after` and `now`.

    A time that is a value or a subject stays, and so does one since when something holds: "The meeting moved to
    Friday", "Today was Ann's last day", "Ann lives in Rome these days".

    >>> from datetime import timezone
    >>> now, after = (datetime(2026, month, 20, tzinfo=timezone.utc) for month in (5, 1))
    >>> without_past_times("Ann quit smoking in March (March 2026).", now, after)
    'Ann quit smoking.'
    >>> without_past_times("Ann will quit smoking in July.", now, after)
    'Ann will quit smoking in July.'
    """
    text = strip_dates(text)
    parts, at = [], 0
    for phrase in find_stated_times(text, now):
        start, end = phrase.window.start, phrase.window.end
        before = _BEFORE_TIME.search(text, at, phrase.start)
        if start is None or end is None or not after <= start <= now:
            continue
        if _TIME_AS_VALUE.search(text, at, phrase.start) or _TIME_AS_SUBJECT.match(text, phrase.end):
            continue
        parts.append(text[at : before.start() if before else phrase.start].rstrip())
        at = phrase.end
    return upper_first("".join([*parts, text[at:]]).strip(" ,")) if parts else text


def find_expiry(text: str, phrases: list[TimePhrase], now: datetime) -> datetime | None:
    """When the fact ends: only for what is temporary, such as a meeting today."""
    if not _TEMPORARY.search(text) and not _SCHEDULED.search(text):
        return None
    last = max((phrase.window.end for phrase in phrases if phrase.window.end is not None), default=None)
    return last if last is not None and last > now else None


def _format_dates(start: datetime, end: datetime) -> str:
    if end - start <= _DAY:
        return format_moment(start)
    if start.day == 1 and (end - _DAY).month == start.month and end.day == 1 and end - start < timedelta(days=32):
        return f"{start:%B} {start.year}"
    if start.month == start.day == end.month == end.day == 1 and end.year == start.year + 1:
        return str(start.year)
    return f"{format_moment(start)} to {format_moment(end - _DAY)}"


_TIME_KINDS = tuple(  # a time can replace only a time of the same kind; the first kind that matches decides
    re.compile(rf"(?<![\w:.-])(?:{pattern})(?![\w:-])", re.IGNORECASE)
    for pattern in (
        rf"\d{{1,2}}(?:st|nd|rd|th)?(?: of)? (?:{_MONTH_NAME})|(?:{_MONTH_NAME}) \d{{1,2}}(?:st|nd|rd|th)?",
        _MONTH_NAME,
        r"(?:mon|tues|wednes|thurs|fri|satur|sun)day",
        r"\d{1,2}(?::\d\d)? ?(?:am|pm)|\d{1,2}:\d\d|noon|midnight",
        r"(?:19|20)\d\d",
        r"\d{1,2}(?:st|nd|rd|th)",
        r"\d+",
    )
)
_CORRECTION = compile_pattern("corrected_word", re.IGNORECASE)


def apply_correction(sentence: str, earlier_facts: Sequence[Fact]) -> tuple[Fact, str] | None:
    """The fact that a sentence corrects, with its corrected text, or None.

    `earlier_facts` are of the same speaker, the latest last. A time replaces the only time of its kind in the
    latest facts, another word the object of the only claim. With "not March" it replaces that word in any fact. Nothing
    is corrected if several words may be meant.

    >>> apply_correction("Friday.", [Fact("Ann has a meeting with Bob on Thursday (2026-05-21).")])[1]
    'Ann has a meeting with Bob on Friday.'
    >>> apply_correction("Friday.", [Fact("Ann lives in Porto.")]) is None
    True
    """
    match = _CORRECTION.fullmatch(sentence) if earlier_facts else None
    if match is None:
        return None
    new, old = match["new"], match["old"]
    kind = _time_kind(new)
    latest_turns = earlier_facts[-1].source_turns
    fitting: list[tuple[Fact, str, str]] = []
    for fact in reversed(earlier_facts):
        if not old and fact.source_turns != latest_turns:
            continue
        text = strip_dates(fact.text)
        wrong = _wrong_word(fact, text, old, kind)
        if wrong is not None and wrong != new and _time_kind(wrong) == kind and wrong[0].isupper() == new[0].isupper():
            fitting.append((fact, wrong, text))
    if not fitting or len({wrong for _, wrong, _ in fitting}) > 1:
        return None
    fact, wrong, text = fitting[0]
    return fact, re.sub(rf"(?<!\w){re.escape(wrong)}(?!\w)", new, text)


def _wrong_word(fact: Fact, text: str, old: str | None, kind: int | None) -> str | None:
    """The word to replace, or None where that is not certain."""
    if old:
        return old if re.search(rf"(?<!\w){re.escape(old)}(?!\w)", text) else None
    if kind is None:
        return fact.triples[0].object if len(fact.triples) == 1 else None
    times = {match.group() for match in _TIME_KINDS[kind].finditer(text)}
    return times.pop() if len(times) == 1 else None


def _time_kind(word: str) -> int | None:
    """The index of the kind of time, or None for another word."""
    return next((number for number, kind in enumerate(_TIME_KINDS) if kind.fullmatch(word)), None)


_IDENTITY_PREDICATES = load_words("identity_predicates")
_FAMILY_NOUNS = RELATIONSHIP_NOUNS - load_words("not_family")
_CHILD_OR_SIBLING = re.compile(r"\b(?:kids?|children|sons?|daughters?|siblings|brothers?|sisters?)\b")
_ESSENTIAL = re.compile(rf"\b(?:{load_pattern('essential_words')})\b", re.IGNORECASE)


def importance_of(
    text: str, claims: Iterable[Triple], *, remember_requested: bool = False, is_minor: bool = False
) -> float:
    """0.9 for identity and for what must not be forgotten, 0.3 for what `is_minor`, 0.6 otherwise.

    >>> importance_of("Alice is allergic to nuts.", ()), importance_of("Alice likes tea.", ())
    (0.9, 0.6)
    """
    if remember_requested or _ESSENTIAL.search(text) or any(_is_identity(claim) for claim in claims):
        return 0.9
    return 0.3 if is_minor and not TAG_PATTERNS["health"].search(text) else 0.6


def _is_identity(claim: Triple) -> bool:
    predicate = claim.predicate
    if predicate in OPINION_PREDICATES:
        return False
    if predicate == "has":
        return _CHILD_OR_SIBLING.search(claim.object) is not None
    return predicate in _IDENTITY_PREDICATES or (predicate.endswith("_of") and predicate[:-3] in _FAMILY_NOUNS)
