"""Finds pairs of names that may denote one entity, for manual review.

Similar spelling is weak evidence, so most checks reject: for different first names with one surname, for names that
differ in a digit or a numeral, for dates, and for names that are too short to tell.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from remanence.index.names.names import Names
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
_DIGITS = re.compile(r"\d+")
_CAMEL_CASE = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_DOTTED = re.compile(r"\b(?:[^\W\d_]\.){2,}")
_ROMAN = re.compile(r"[ivx]+")

_GROUPS = {
    group: frozenset(words.split())
    for line in Path(__file__).with_name("name_words.txt").read_text("utf-8").splitlines()
    if not line.startswith("#")
    for group, _, words in [line.partition(":")]
}
_MALE, _FEMALE, _GENERATIONS = _GROUPS["male titles"], _GROUPS["female titles"], _GROUPS["generations"]
_TITLES = _MALE | _FEMALE | _GROUPS["other titles"]
_LEGAL_FORMS, _CALENDAR = _GROUPS["legal forms"], _GROUPS["calendar"]
_NOT_COMPARED = _TITLES | _GENERATIONS | _GROUPS["particles"]

_MIN_LETTERS = 4
"""Letters of the shortest name that is compared: shorter ones are similar to too many others. Chosen by hand."""
_MIN_TYPO, _MIN_TYPO_ALONE = 7, 8
"""Letters of the shortest word that may have a typo, and of the shortest that is the whole name. Chosen by hand."""
_ACRONYM_LENGTHS = range(2, 7)
"""Letters that an acronym may have."""
_MAX_SHARING = 2_000
"""Names up to which a key is used to find similar ones. It limits the work."""
_FIRST_UNSPACED = "\u0e00"  # scripts from here on need no spaces, and one more sign is another word


@dataclass(frozen=True, slots=True)
class NameSimilarity:
    """How similar two names are, 0..1, and the reason in words."""

    score: float
    reason: str


class _ParsedName(NamedTuple):
    """A name in parts: its words without titles, legal forms and particles, and those separately."""

    words: tuple[str, ...]
    spellings: tuple[str, ...]
    titles: frozenset[str]
    generations: frozenset[str]
    legal_forms: tuple[str, ...]
    inverted: bool
    numerals: tuple[str, ...]
    """Digits, and Roman numerals next to other words ("Louis XIV")."""
    is_date: bool
    """Whether it is a date or a number."""

    @property
    def joined(self) -> str:
        return "".join(self.words)

    @property
    def initials(self) -> str:
        """The first letters, if there are several; "AlphaOne" has two."""
        letters = [part[0] for word in self.spellings for part in _CAMEL_CASE.split(word)]
        return "".join(letters).casefold() if len(letters) > 1 else ""

    @property
    def is_upper(self) -> bool:
        return all(word.isupper() for word in self.spellings)


def name_similarity(one: str, other: str) -> NameSimilarity | None:
    """How similar two names are; None if there is no reason to compare them, or a reason against it."""
    a, b = _parse(one), _parse(other)
    if not a.words or not b.words or a.is_date or b.is_date or a.numerals != b.numerals:
        return None
    if a.generations != b.generations or _are_of_different_sex(a, b):
        return None
    return _same_words(a, b) or _acronym(a, b) or _initials(a, b) or _typo(a, b) or _short_form(one, other)


class SamePerson(Enum):
    """How one name can be a part or a short form of another, fuller name of a person."""

    SHORT_FORM = "a short form of the first name, with the same surname"
    SURNAME = "the surname"
    FIRST_NAME = "the first name"
    NICKNAME = "a short form of the first name"
    INITIAL = "the first letter of the first name, with the same surname"
    MIDDLE_NAME = "the name without its middle name"


def same_person(short: str, full: str) -> SamePerson | None:
    """How `short` can be a name of the person called `full`; None if it cannot.

    >>> same_person("Liz Nwosu", "Elizabeth Nwosu").name, same_person("Dr. Okafor", "Chidi Okafor").name
    ('SHORT_FORM', 'SURNAME')
    >>> same_person("Washington", "Denise Washington"), same_person("Jordan Pike", "Jordan Blake")
    (None, None)
    """
    a, b = _parse(short), _parse(full)
    if len(b.words) == 1:
        return SamePerson.NICKNAME if _is_short_first_name(a, b) else None
    if not a.words or a.is_date or a.numerals or _are_of_different_sex(a, b) or not _may_be_full_name(b):
        return None
    if len(a.words) == 1:
        return _alone(a, b)
    return _with_surname(a, b) if len(a.words) == 2 and a.words[1] == b.words[-1] else None


def _may_be_full_name(name: _ParsedName) -> bool:
    """Whether a name may be the first names and the surname of a person."""
    if not 2 <= len(name.words) <= 3 or name.numerals or name.legal_forms or name.words[0] in DETERMINERS:
        return False
    return name.words[-1] not in ORGANIZATION_WORDS and name.words[-1] not in PLACE_WORDS


def _is_short_first_name(a: _ParsedName, b: _ParsedName) -> bool:
    """Whether both are one word, the first a short form of the second."""
    if len(a.words) != 1 or a.numerals or b.numerals or not is_short_form(a.words[0], b.words[0]):
        return False
    return b.words[0] in FIRST_NAMES or not is_common_word(b.words[0])


def _with_surname(a: _ParsedName, b: _ParsedName) -> SamePerson | None:
    """How a first name with the surname of a full name can be of that person."""
    first, full_first = a.words[0], b.words[0]
    if are_nicknames(first, full_first):
        return SamePerson.SHORT_FORM if is_short_form(first, full_first) else None
    if len(first) == 1:
        return SamePerson.INITIAL if full_first.startswith(first) and len(full_first) > 1 else None
    return SamePerson.MIDDLE_NAME if len(b.words) == 3 and first == full_first else None


def _alone(a: _ParsedName, b: _ParsedName) -> SamePerson | None:
    """How a single word can be a name of the person with this full name."""
    word, first, last = a.words[0], b.words[0], b.words[-1]
    if len(word) < 2 or (first not in FIRST_NAMES and not b.titles and is_common_word(first)):
        return None
    if len(word) > 2 and word == last:
        return SamePerson.SURNAME if _may_be_surname(a) else None
    if len(word) > 2 and word == first:
        return SamePerson.FIRST_NAME
    return SamePerson.NICKNAME if are_nicknames(word, first) else None


def _may_be_surname(name: _ParsedName) -> bool:
    """Whether a single word stands for a person by the surname: not "Mrs. Weber", who may be anybody's mother, and not
    "Paris" or "May" without a title."""
    word = name.words[0]
    if name.titles & (_MALE | _FEMALE):
        return False
    is_other = word in PLACES or word in ORGANIZATIONS or word in FIRST_NAMES or is_common_word(word)
    return bool(name.titles) or not is_other


def _short_form(one: str, other: str) -> NameSimilarity | None:
    """A surname or a first name alone is too little to propose anything."""
    for short, full in ((one, other), (other, one)):
        if same_person(short, full) is SamePerson.SHORT_FORM:
            return NameSimilarity(0.85, f"{short!r} has a short form of the first name")
    return None


def _are_of_different_sex(a: _ParsedName, b: _ParsedName) -> bool:
    return bool((a.titles & _MALE and b.titles & _FEMALE) or (a.titles & _FEMALE and b.titles & _MALE))


def _same_words(a: _ParsedName, b: _ParsedName) -> NameSimilarity | None:
    if sorted(a.words) != sorted(b.words) and a.joined != b.joined:
        return None
    if len(a.joined) < _MIN_LETTERS and not (a.is_upper and b.is_upper):
        return None
    if a.words != b.words:
        if a.joined == b.joined:
            return NameSimilarity(0.95, "the same but for spaces")
        return NameSimilarity(0.9 if a.inverted or b.inverted else 0.6, "the same words in another order")
    if a.titles != b.titles:
        # "Dr. Smith" and "Mr. Smith" only share a surname.
        return NameSimilarity(0.9, _except_for(a.titles ^ b.titles)) if len(a.words) > 1 else None
    if a.legal_forms != b.legal_forms:
        different = frozenset(a.legal_forms) ^ frozenset(b.legal_forms)
        return NameSimilarity(0.7 if a.legal_forms and b.legal_forms else 0.9, _except_for(different))
    return NameSimilarity(0.95, "the same but for how it is written")


def _acronym(a: _ParsedName, b: _ParsedName) -> NameSimilarity | None:
    for short, long in ((a, b), (b, a)):
        name = short.joined
        if short.is_upper and len(short.words) == 1 and len(name) in _ACRONYM_LENGTHS and name == long.initials:
            return NameSimilarity(min(8, 3 + len(name)) / 10, f"'{name.upper()}' are the initials of the other")
    return None


def _initials(a: _ParsedName, b: _ParsedName) -> NameSimilarity | None:
    """First names against initials, with the same surname."""
    if min(len(a.words), len(b.words)) < 2 or a.words[-1] != b.words[-1] or len(a.words[-1]) < 2:
        return None
    first, second = list(a.words[:-1]), list(b.words[:-1])
    reasons: list[str] = []
    for one, other in zip(first, second, strict=False):
        if one != other:
            short, full = sorted((one, other), key=len)
            if len(short) > 1 or len(full) == 1 or not full.startswith(short):
                return None
            reasons.append(f"'{short}' may stand for '{full}'")
    middle = first[len(second) :] + second[len(first) :]
    if any(len(name) > 1 for name in middle):
        return None
    if reasons:
        return NameSimilarity(0.7, ", ".join(reasons))
    return NameSimilarity(0.75, _except_for(frozenset(middle))) if middle else None


def _typo(a: _ParsedName, b: _ParsedName) -> NameSimilarity | None:
    if len(a.words) != len(b.words):
        return None
    different = [index for index, pair in enumerate(zip(a.words, b.words, strict=True)) if pair[0] != pair[1]]
    if len(different) != 1:
        return None
    one, other = a.words[different[0]], b.words[different[0]]
    typo = _typo_kind(one, other)
    alone, is_letter = len(a.words) == 1, typo == "letter"
    if typo is None or min(len(one), len(other)) < (_MIN_TYPO_ALONE if alone else _MIN_TYPO if is_letter else 5):
        return None
    # "Martin" and "Marvin" with one surname are two people; "Micheal" and "Michael" hardly are.
    if is_letter and not alone and different[0] == 0:
        return None
    return NameSimilarity(0.6 if is_letter else 0.75, f"one letter differs in '{one}' and '{other}'")


def _typo_kind(one: str, other: str) -> str | None:
    """The typo that turns one word into the other: two letters "swapped", one "doubled", or another "letter".

    Not the first or the last letter: those distinguish Daniel and Daniela, Adam and Adams.
    """
    if not (one + other).isalpha() or max(one + other) >= _FIRST_UNSPACED:
        return None
    short, long = sorted((one, other), key=len)
    if len(long) - len(short) > 1 or short[0] != long[0] or short[-1] != long[-1]:
        return None
    first = next((i for i, pair in enumerate(zip(short, long, strict=False)) if pair[0] != pair[1]), len(short))
    if len(short) < len(long):
        if short[first:] != long[first + 1 :]:
            return None
        return "doubled" if long[first] in (long[first - 1], long[first + 1 : first + 2]) else "letter"
    if short[first + 1 :] == long[first + 1 :]:
        return "letter"
    swapped = short[first : first + 2] == long[first : first + 2][::-1]
    return "swapped" if swapped and short[first + 2 :] == long[first + 2 :] != "" else None


def _except_for(words: frozenset[str]) -> str:
    return "the same but for " + ", ".join(f"'{word}'" for word in sorted(words))


@lru_cache(1 << 15)
def _parse(name: str) -> _ParsedName:
    text = name if name.isascii() else strip_accents(unicodedata.normalize("NFKC", name))
    # "S.A." is one word; the initials of "J.R.R. Tolkien" are three.
    text = _DOTTED.sub(_join_legal_form, text)
    inverted = False
    if "," in text:
        head, _, tail = text.partition(",")
        inverted = bool({word.casefold() for word in _WORD.findall(tail)} - _LEGAL_FORMS - _GENERATIONS)
        text = f"{tail} {head}" if inverted else text
    spellings = _WORD.findall(text)
    words = [word.casefold().replace("'", "").replace("’", "") for word in spellings]
    end = len(words)
    while end > 1 and words[end - 1] in _LEGAL_FORMS:
        end -= 1
    compared = [index for index in range(end) if words[index] not in _NOT_COMPARED] or list(range(end))
    compared_words = [words[index] for index in compared]
    roman = [word for word in compared_words if len(compared_words) > 1 and _ROMAN.fullmatch(word)]
    return _ParsedName(
        words=tuple(compared_words),
        spellings=tuple(spellings[index] for index in compared),
        titles=_TITLES.intersection(words),
        generations=frozenset(word[0] for word in words if word in _GENERATIONS),
        legal_forms=tuple(words[end:]),
        inverted=inverted,
        numerals=tuple(
            numeral
            for word in compared_words
            for numeral in (_DIGITS.findall(word) or ([word] if word in roman else []))
        ),
        is_date=all(word in _CALENDAR or not any(map(str.isalpha, word)) for word in compared_words),
    )


def _join_legal_form(dotted: re.Match[str]) -> str:
    joined = dotted.group().replace(".", "")
    return joined if joined.casefold() in _LEGAL_FORMS else dotted.group()


class SimilarNames:
    """The names of a space by keys that similar names share, so that few have to be compared."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._by_key: dict[str, list[int]] = defaultdict(list)
        self._by_letters: dict[str, list[int]] = defaultdict(list)
        self._indexed = 0

    def find(self, name: str) -> list[tuple[int, NameSimilarity]]:
        """The names similar to this one, by number, most similar first."""
        spellings = self._names.spellings
        found = [
            (number, like) for number in self.candidates(name) if (like := name_similarity(name, spellings[number]))
        ]
        return sorted(found, key=lambda item: (-item[1].score, item[0]))

    def with_first_letters(self, letters: str) -> list[int]:
        """The names whose first word begins with these letters, at least two, by number."""
        self._index_new()
        return [
            number
            for number in self._by_letters.get(letters[:2], [])
            if self._names.spellings[number].casefold().startswith(letters)
        ]

    def candidates(self, name: str) -> list[int]:
        """The names that share a key with this one, such as a word, by number."""
        self._index_new()
        candidates: dict[int, None] = {}
        for key in _keys(name):
            sharing = self._by_key.get(key, [])
            if len(sharing) <= _MAX_SHARING:
                candidates |= dict.fromkeys(sharing)
        return list(candidates)

    def _index_new(self) -> None:
        spellings = self._names.spellings
        for number in range(self._indexed, len(spellings)):
            for key in _keys(spellings[number]):
                self._by_key[key].append(number)
            self._by_letters[spellings[number][:2].casefold()].append(number)
        self._indexed = len(spellings)


def _keys(name: str) -> list[str]:
    """Keys of which two similar names have at least one in common."""
    parsed = _parse(name)
    words, joined, initials = parsed.words, parsed.joined, parsed.initials
    keys = [f"all {joined}"]
    if len(initials) in _ACRONYM_LENGTHS:
        keys.append(f"all {initials}")
    if len(words) > 1:
        keys.append(f"sorted {' '.join(sorted(words))}")
        keys.append(f"surname {words[0][0]} {words[-1]}")
        keys += [f"word {word}" for word in dict.fromkeys(words) if len(word) > 2]
    elif len(joined) > 2:
        keys.append(f"word {joined}")
    if len(words) == 1 and len(joined) >= _MIN_TYPO_ALONE:
        # A typo leaves the first half unchanged, or the second.
        half = _MIN_TYPO_ALONE // 2
        keys += [f"begins {joined[:half]}", f"ends {joined[-half:]}"]
    return keys
