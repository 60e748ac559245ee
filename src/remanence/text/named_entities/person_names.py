"""Names in parts, and whether one can be a part or a short form of another, fuller name of a person."""

from __future__ import annotations

import re
import unicodedata
from enum import Enum
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from remanence.text.lexicon.word_lists import (
    DETERMINERS,
    FIRST_NAMES,
    ORGANIZATION_WORDS,
    ORGANIZATIONS,
    PLACE_WORDS,
    PLACES,
    is_common_word,
)
from remanence.text.named_entities.alias_rules import are_nicknames, is_short_form
from remanence.text.text import strip_accents

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_CAMEL_CASE = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_DOTTED = re.compile(r"\b(?:[^\W\d_]\.){2,}")
_NUMERAL = re.compile(r"\d+|(?<= )[ivx]+\b")  # "Louis XIV" has one, and "X" is a name
_GROUPS = {
    group: frozenset(words.split())
    for line in Path(__file__).with_name("name_words.txt").read_text("utf-8").splitlines()
    if not line.startswith("#")
    for group, _, words in [line.partition(":")]
}
_PERSONAL = _GROUPS["male titles"], _GROUPS["female titles"]
_TITLES = _GROUPS["male titles"] | _GROUPS["female titles"] | _GROUPS["other titles"]


class NameParts(NamedTuple):
    """The words of a name in small letters, without titles, legal forms and particles, and what else it has."""

    words: tuple[str, ...]
    initials: str
    titles: frozenset[str]
    others: tuple[str, ...]
    """Generations ("Jr.") and numerals, which distinguish two names."""
    is_firm: bool
    is_upper: bool

    @property
    def joined(self) -> str:
        return "".join(self.words)


@lru_cache(1 << 15)
def parts_of(name: str) -> NameParts:
    """A name in parts.

    >>> parts_of("Dr. Ana de Souza Jr.").words, parts_of("AlphaOne LLC").initials
    (('ana', 'souza'), 'ao')
    """
    text = name if name.isascii() else strip_accents(unicodedata.normalize("NFKC", name))
    # "S.A." is one word; the initials of "J.R.R. Tolkien" are three.
    text = _DOTTED.sub(_join_legal_form, text)
    words = [(spelling, re.sub("['’]", "", spelling.casefold())) for spelling in _WORD.findall(text)]
    apart = _TITLES | _GROUPS["generations"] | _GROUPS["particles"] | _GROUPS["legal forms"]
    compared = [pair for pair in words if pair[1] not in apart] or words
    letters = [part[0] for spelling, _ in compared for part in _CAMEL_CASE.split(spelling)]
    every = {word for _, word in words}
    numerals = _NUMERAL.findall(" ".join(word for _, word in compared))
    return NameParts(
        words=tuple(word for _, word in compared),
        initials="".join(letters).casefold() if len(letters) > 1 else "",
        titles=_TITLES & every,
        others=(*sorted(_GROUPS["generations"] & every), *numerals),
        is_firm=not _GROUPS["legal forms"].isdisjoint(every),
        is_upper=all(spelling.isupper() for spelling, _ in compared),
    )


class SamePerson(Enum):
    """How one name can be a part or a short form of another, fuller name of a person."""

    SHORT_FORM = "a short form of the first name, with the same surname"
    SURNAME = "the surname"
    FIRST_NAME = "the first name"
    NICKNAME = "a short form of the first name"


def same_person(short: str, full: str) -> SamePerson | None:
    """How `short` can be a name of the person called `full`; None if it cannot.

    >>> same_person("Liz Nwosu", "Elizabeth Nwosu").name, same_person("Dr. Okafor", "Chidi Okafor").name
    ('SHORT_FORM', 'SURNAME')
    >>> same_person("Washington", "Denise Washington"), same_person("Jordan Pike", "Jordan Blake")
    (None, None)
    """
    a, b = parts_of(short), parts_of(full)
    if a.others or b.others or b.is_firm or not a.words or not b.words or len(b.words) > 3:
        return None
    if len(a.words) == len(b.words) == 1:
        is_name = b.words[0] in FIRST_NAMES or not is_common_word(b.words[0])
        return SamePerson.NICKNAME if is_name and is_short_form(a.words[0], b.words[0]) else None
    first, last = b.words[0], b.words[-1]
    if len(b.words) == 1 or first in DETERMINERS or last in ORGANIZATION_WORDS or last in PLACE_WORDS:
        return None
    if any(a.titles & one and b.titles & other for one, other in (_PERSONAL, _PERSONAL[::-1])):
        return None
    if len(a.words) == 2:
        is_short = a.words[1] == last and is_short_form(a.words[0], first)
        return SamePerson.SHORT_FORM if is_short else None
    word = a.words[0]
    if len(a.words) > 2 or len(word) < 2 or (first not in FIRST_NAMES and not b.titles and is_common_word(first)):
        return None
    if len(word) > 2 and word == last:
        return SamePerson.SURNAME if _may_be_surname(a) else None
    if len(word) > 2 and word == first:
        return SamePerson.FIRST_NAME
    return SamePerson.NICKNAME if are_nicknames(word, first) else None


def _may_be_surname(name: NameParts) -> bool:
    """Whether a single word stands for a person by the surname: not "Mrs. Weber", who may be anybody's mother, and not
    "Paris" or "May" without a title."""
    word = name.words[0]
    if name.titles:
        return not any(name.titles & titles for titles in _PERSONAL)
    return not (word in PLACES or word in ORGANIZATIONS or word in FIRST_NAMES or is_common_word(word))


def _join_legal_form(dotted: re.Match[str]) -> str:
    joined = dotted[0].replace(".", "")
    return joined if joined.casefold() in _GROUPS["legal forms"] else dotted[0]
