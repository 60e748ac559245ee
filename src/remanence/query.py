"""A question made exact: its times, its names, whether it asks about the past."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from remanence.extractors import names_in
from remanence.extractors.common import is_ordinary
from remanence.model import Window
from remanence.text import tokens
from remanence.timewords import TimePhrase, find_times

# Wording that asks for what no longer holds. Plain past tense does not: "Where did Alice meet Bob?" asks
# for an event that is as true today as it was then.
_PAST = re.compile(
    r"\b(used to|previous(ly)?|former(ly)?|originally|at first|in the past|back then|back when|at the time|"
    r"no longer|any ?more|earlier version|before (that|then|it changed)|history of|how has|how did .* change|"
    r"changed over time|over the years|first version|old(er)? version)\b",
    re.IGNORECASE,
)
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
_NAMED_TIME = re.compile(r"\b(?:[A-Z]\w*|\w*\d\w*)")


@dataclass(frozen=True, slots=True)
class Reading:
    """What a question says about itself."""

    times: tuple[Window, ...]
    names: tuple[str, ...]
    """Who and what it names; "I" is `SELF`."""
    small: tuple[str, ...]
    """Words in small letters that are no ordinary ones: where somebody is called so, they are meant."""
    you_said: bool
    """Whether it asks for what the one it is put to has said."""
    past: bool
    words: str
    """The text without how it asks and what only the calendar answers: "could you remind me", "how many",
    "two weeks ago"."""


def read(text: str, now: datetime) -> Reading:
    """Read a question against `now`.

    >>> from remanence.model import UTC
    >>> reading = read("Where did Alice live in May 2026?", datetime(2026, 11, 15, tzinfo=UTC))
    >>> reading.names, str(reading.times[0])
    (('Alice',), '2026-05-01 to 2026-06-01')
    """
    bare = _ASIDE.sub(" ", text)
    text = bare if tokens(bare) else text
    phrases = find_times(text, now)
    times = tuple(phrase.window for phrase in phrases)
    ended = any(window.end is not None and window.end <= now for window in times)
    return Reading(
        times=times,
        names=names_in(text),
        small=tuple(word for word in _SMALL.findall(text) if word.islower() and not is_ordinary(word)),
        you_said=bool(_YOU_SAID.search(text)),
        past=ended or bool(_PAST.search(text)),
        words=_words(text, phrases),
    )


def of_oneself(text: str, speakers: Iterable[str]) -> str:
    """A question as those would put it whom it is about: what they tell of themselves has no name in it.

    >>> of_oneself("Where did Elise go with Elise's sister?", ["Elise"]), of_oneself("Elise?", ["Elise"])
    ('Where did I go with my sister?', 'Elise?')
    """
    out = text
    for name in speakers:
        whole = rf"\b{re.escape(name)}"
        out = re.sub(rf"{whole}(?:['’`]s?\b|['’`](?=\s))", "my", out)
        out = re.sub(rf"{whole}\b", "I", out)
    return out if tokens(out) else text


def _words(text: str, phrases: Sequence[TimePhrase]) -> str:
    """What to look for. Of a time only names and numbers: memories of May may say so, but those of two
    weeks ago said it otherwise."""
    kept, at = [], 0
    for phrase in phrases:
        kept += [text[at : phrase.start], *_NAMED_TIME.findall(text[phrase.start : phrase.end])]
        at = phrase.end
    return _HOW_MUCH.sub(" ", " ".join([*kept, text[at:]]))
