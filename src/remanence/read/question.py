"""A question made exact: its times, its names, whether it asks about the past."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

from remanence.language.rules.common_words import is_common_word
from remanence.language.temporal import TimePhrase, find_times
from remanence.language.text import tokens
from remanence.models.extractors import find_question_names
from remanence.schema import Window

Beside: TypeAlias = Literal["before", "after", "during"]

# The first of these verbs says whether a question asks of now, whatever else it speaks of.
_DID = re.compile(r"\b(?:did|was|were|had)\b", re.IGNORECASE)
_FINITE = re.compile(
    r"\b(?:did|was|were|had|do|does|is|are|am|has|have|can|could|should|will|would|may|must)\b", re.IGNORECASE
)
_LAST = r"used to|previous(?:ly)?|former(?:ly)?|before (?:that|then|it changed)"
_ONCE = r"in the past|back then|back when|at the time|no longer|any ?more|over the years"
# Asks for what no longer holds: the last of it, or the first.
_OVER = re.compile(
    rf"\b(?:{_LAST})\b|{_DID.pattern}[^.?!]{{0,99}}\b"
    r"(?:before\W*$|use to (?:be|have|live|work|like|love|own|study)\b)",
    re.IGNORECASE,
)
_FIRST = re.compile(
    rf"\b(?:originally|at first|initially|in the beginning)\b|{_DID.pattern}[^.?!]{{0,99}}\bfirst\W*$", re.IGNORECASE
)
# Lets in what was replaced. Plain past tense does not: "Where did Alice meet Bob?" asks for an event that is
# as true today as it was then.
_PAST = re.compile(
    rf"\b(?:{_LAST}|{_ONCE}|originally|at first|earlier version|history of|how has|changed over time|"
    r"how did [^.?!]{1,99} change|first version|old(?:er)? version)\b",
    re.IGNORECASE,
)
# Says when, and not what is asked.
_OF_THE_PAST = re.compile(
    rf"\b(?:{_LAST}|{_ONCE}|use to|before|originally|at first|initially|in the beginning|first)\b", re.IGNORECASE
)
# Asks in the past tense, beside something else that held: "before she moved to Lisbon", "while at Google".
_BESIDE = re.compile(r"\s(before|prior to|after|when|while)\s+(?=\S)", re.IGNORECASE)
_SENTENCE_ENDS = re.compile(r"[.?!;:]")
_WHEN: Mapping[str, Beside] = {
    "before": "before",
    "prior to": "before",
    "after": "after",
    "when": "during",
    "while": "during",
}
# Talk about asking: "I was going through our last chat. I was wondering if you could remind me of ...".
# What may be the matter itself ("what was it I wanted to check") is so only where a sentence begins.
_TALK = (
    r"our (?:previous|last|earlier|past|recent) (?:conversation|chat|discussion|talk|session|exchange)s?"
    r"(?: (?:about|on))?"
)
_ASIDE = re.compile(
    r"(?:(?:^|(?<=[.!?] ))(?:"
    r"I(?:['’]m| am| was|['’]ve been)? (?:just )?(?:going|looking|thinking|reading) (?:back )?"
    rf"(?:at|to|through|over|about|on) {_TALK}"
    r"|I(?: want(?:ed)?| would like|['’]d like) to (?:follow up on|confirm|clarify|check|ask)"
    rf"(?: something)?(?: about)?(?: {_TALK})?)"
    rf"|\b(?:in |from |during )?{_TALK}"
    r"|\bI(?:['’]m| am| was)? (?:just )?wondering,?(?: (?:if|whether) you (?:could|can))?"
    r"|\b(?:(?:can|could|would|will) you (?:please )?)?remind me(?: again)?(?: (?:of|about))?"
    r"|\b(?:can|could|would|will) you (?:please )?tell me(?: again)?(?: about)?"
    r"|\bdo you (?:remember|recall)|\bI(?:['’]m| am) trying to (?:remember|recall)"
    r")\b",
    re.IGNORECASE,
)
# Asks for what the one it is put to said: in a chat with an assistant, its words are to be looked among.
_YOU_SAID = re.compile(
    r"\byou(?:['’]ve| have| had)? (?:said|told|mentioned|recommended|suggested|gave|given|provided|wrote"
    r"|written|listed|described|explained|advised|proposed)\b"
    r"|\bdid you (?:say|tell|mention|recommend|suggest|give|provide|write|list|describe|explain|advise"
    r"|propose)\b",
    re.IGNORECASE,
)
# Says what sort of answer is wanted, and stands in texts that have nothing to do with it.
_HOW_MUCH = re.compile(r"\bhow (?:many|much)\b|\bin total\b", re.IGNORECASE)
_SMALL = re.compile(r"(?<![\w'’])[^\W\d_]{2,}")
# Of a time only names and numbers are looked for: memories of May may say so, those of two weeks ago did not.
_NAMED_TIME, _NO_WORD = re.compile(r"\b(?:[A-Z]\w*|\w*\d\w*)"), re.compile(r"(?!)")


@dataclass(frozen=True, slots=True)
class TimeRelation:
    """How a question asks for what held at another time, besides the times it names."""

    asked: str = ""
    """The clause that asks, without its times."""
    order: Literal["last", "first"] | None = None
    """Whether it asks for what holds no longer: the last of it ("previously") or the first ("originally")."""
    relation: Beside | None = None
    """Whether it asks for what held before, after or during something else, and names no time besides."""
    anchor_words: frozenset[str] = frozenset()
    """The words for that: "she moved to Lisbon"."""

    def topic_words(self, names: Iterable[str]) -> frozenset[str]:
        """What it asks: the words of the clause without wording of the past, and without these names."""
        return frozenset(tokens(_OF_THE_PAST.sub(" ", self.asked))).difference(*map(tokens, names))


@dataclass(frozen=True, slots=True)
class ParsedQuestion:
    """What a question says about itself."""

    times: tuple[Window, ...]
    names: tuple[str, ...]
    """Who and what it names; "I" is `SELF`."""
    uncommon_words: tuple[str, ...]
    """Words in small letters that are no ordinary ones: where somebody is called so, they are meant."""
    asks_assistant: bool
    """Whether it asks for what the one it is put to has said."""
    asks_about_past: bool
    search_text: str
    """The text without how it asks and what only the calendar answers: "could you remind me", "how many",
    "two weeks ago"."""
    time_relation: TimeRelation


def parse_question(text: str, now: datetime) -> ParsedQuestion:
    """Read a question against `now`.

    >>> from remanence.schema import UTC
    >>> reading = parse_question("Where did Alice live in May 2026?", datetime(2026, 11, 15, tzinfo=UTC))
    >>> reading.names, str(reading.times[0])
    (('Alice',), '2026-05-01 to 2026-06-01')
    """
    bare = _ASIDE.sub(" ", text)
    text = bare if tokens(bare) else text
    phrases = find_times(text, now)
    times = tuple(phrase.window for phrase in phrases)
    ended = any(window.end is not None and window.end <= now for window in times)
    then = _then(text, phrases)
    return ParsedQuestion(
        times=times,
        names=find_question_names(text),
        uncommon_words=tuple(word for word in _SMALL.findall(text) if word.islower() and not is_common_word(word)),
        asks_assistant=bool(_YOU_SAID.search(text)),
        asks_about_past=ended or bool(_PAST.search(text)),
        search_text=_words(text, phrases, _NAMED_TIME),
        time_relation=then,
    )


def in_first_person(text: str, speakers: Iterable[str]) -> str:
    """A question as those would put it whom it is about: what they tell of themselves has no name in it.

    >>> in_first_person("Where did Elise go with Elise's sister?", ["Elise"]), in_first_person("Elise?", ["Elise"])
    ('Where did I go with my sister?', 'Elise?')
    """
    out = text
    for name in speakers:
        whole = rf"\b{re.escape(name)}"
        out = re.sub(rf"{whole}(?:['’`]s?\b|['’`](?=\s))", "my", out)
        out = re.sub(rf"{whole}\b", "I", out)
    return out if tokens(out) else text


def _then(text: str, phrases: Sequence[TimePhrase]) -> TimeRelation:
    verb = _FINITE.search(text)
    if verb is None or not _DID.fullmatch(verb[0]):
        return TimeRelation(asked=_words(text, phrases, _NO_WORD))  # asks of now, whatever else it speaks of
    found = _BESIDE.search(text, verb.end())
    if found is None or _SENTENCE_ENDS.search(text, verb.end(), found.start()):
        asked, beside, what = text, None, ""
    else:
        asked, beside, what = text[: found.start()], _WHEN[found[1].lower()], text[found.end() :]
    return TimeRelation(
        asked=_words(asked, phrases, _NO_WORD),
        order="last" if _OVER.search(asked) else "first" if _FIRST.search(asked) else None,
        relation=None if phrases else beside,
        anchor_words=frozenset(tokens(what)).difference(tokens(asked)) if not phrases else frozenset(),
    )


def _words(text: str, phrases: Sequence[TimePhrase], of_times: re.Pattern[str]) -> str:
    """What to look for; of the times in it only the words that `of_times` finds."""
    kept, at = [], 0
    for phrase in phrases:
        kept += [text[at : phrase.start], *of_times.findall(text[phrase.start : phrase.end])]
        at = phrase.end
    return _HOW_MUCH.sub(" ", " ".join([*kept, text[at:]]))
