"""Whether two names may be one: careful guesses, for a person to decide about.

Looking alike is weak evidence, so most of this says no: to different first names beside one surname, to
names that differ in a digit or a numeral, to dates, and to whatever is too short to tell.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from remanence.language.text import strip_accents
from remanence.state.names import Names

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_DIGITS = re.compile(r"\d+")
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_DOTTED = re.compile(r"\b(?:[^\W\d_]\.){2,}")
_ROMAN = re.compile(r"[ivx]+")

_MEN, _WOMEN = frozenset(("mr", "sir", "lord")), frozenset(("mrs", "ms", "miss", "dame", "lady", "madam"))
_TITLES = _MEN | _WOMEN | frozenset("dr prof professor doctor rev reverend captain capt president".split())
_GENERATIONS = frozenset(("jr", "sr", "junior", "senior"))
_LEGAL = frozenset(
    """ab ag as asa bv co company corp corporation cv eg ev gmbh inc incorporated kg kk lda llc llp lp ltd
    limited ltda nv oy oyj plc pte pty sa sarl sas se spa srl""".split()
)
_SMALL = frozenset("an and at da das de del der des di do dos du et for in la le of on the und".split())
_CALENDAR = frozenset(
    """january february march april may june july august september october november december jan feb mar apr
    jun jul aug sep sept oct nov dec monday tuesday wednesday thursday friday saturday sunday spring summer
    autumn fall winter q1 q2 q3 q4""".split()
)
_APART = _TITLES | _GENERATIONS | _SMALL
_NONE: frozenset[str] = frozenset()

_SHORTEST = 4
"""Names with fewer letters look like too many others."""
_TYPO, _TYPO_ALONE = 7, 8
"""A word shorter than this, or alone shorter than that, is another word when a letter differs."""
_ACRONYM = range(2, 7)
_CROWD = 2_000
"""A word in so many names leads to none of them."""
_UNSPACED_FROM = "\u0e00"
"""Scripts from here on need no spaces, and one sign more is another word."""


@dataclass(frozen=True, slots=True)
class NameSimilarity:
    """How alike two names are, 0..1, and in what a person may see it."""

    score: float
    reason: str


class _Read(NamedTuple):
    """A name taken apart: its words without titles, legal forms and small words, and these apart."""

    words: tuple[str, ...]
    spelled: tuple[str, ...]
    titles: frozenset[str]
    generations: frozenset[str]
    legal: tuple[str, ...]
    inverted: bool

    @property
    def squeezed(self) -> str:
        """The words without the spaces."""
        return "".join(self.words)

    @property
    def initials(self) -> str:
        """What the words begin with, where there are several; "AlphaOne" is two."""
        humps = [part[0] for word in self.spelled for part in _HUMP.split(word)]
        return "".join(humps).casefold() if len(humps) > 1 else ""

    @property
    def capitals(self) -> bool:
        """Whether it is written in capitals only."""
        return all(word.isupper() for word in self.spelled)

    @property
    def numerals(self) -> list[str]:
        """What numbers it: digits, and Roman numerals beside other words ("Louis XIV")."""
        roman = len(self.words) > 1
        return [
            found
            for word in self.words
            for found in (_DIGITS.findall(word) or ([word] if roman and _ROMAN.fullmatch(word) else []))
        ]

    @property
    def dated(self) -> bool:
        """Whether it is a date, or a bare number."""
        return all(word in _CALENDAR or not any(map(str.isalpha, word)) for word in self.words)


def name_similarity(one: str, other: str) -> NameSimilarity | None:
    """How alike two names are; None if nothing speaks for it, or anything against.

    >>> name_similarity("AlphaOne", "AlphaOne LLC")
    NameSimilarity(score=0.9, reason="the same but for 'llc'")
    >>> name_similarity("A. Smith", "Alice Smith").reason
    "'a' may stand for 'alice'"
    >>> name_similarity("Bob Smith", "Alice Smith"), name_similarity("GPT-4", "GPT-5")
    (None, None)
    """
    a, b = _read(one), _read(other)
    if not a.words or not b.words or a.dated or b.dated or a.numerals != b.numerals:
        return None
    if a.generations != b.generations or _one_sex_each(a.titles, b.titles):
        return None
    return _same_words(a, b) or _acronym(a, b) or _initials(a, b) or _typo(a, b)


def _same_words(a: _Read, b: _Read) -> NameSimilarity | None:
    if sorted(a.words) != sorted(b.words) and a.squeezed != b.squeezed:
        return None
    if len(a.squeezed) < _SHORTEST and not (a.capitals and b.capitals):
        return None
    if a.words != b.words:
        if a.squeezed == b.squeezed:
            return NameSimilarity(0.95, "the same but for spaces")
        inverted = a.inverted or b.inverted
        return NameSimilarity(0.9 if inverted else 0.6, "the same words in another order")
    if a.titles != b.titles:
        # "Dr. Smith" and "Mr. Smith" share a surname, which says nothing.
        return NameSimilarity(0.9, _but_for(a.titles ^ b.titles)) if len(a.words) > 1 else None
    if a.legal != b.legal:
        unlike = frozenset(a.legal) ^ frozenset(b.legal)
        return NameSimilarity(0.7 if a.legal and b.legal else 0.9, _but_for(unlike))
    return NameSimilarity(0.95, "the same but for how it is written")


def _acronym(a: _Read, b: _Read) -> NameSimilarity | None:
    for short, long in ((a, b), (b, a)):
        name = short.squeezed
        if short.capitals and len(short.words) == 1 and len(name) in _ACRONYM and name == long.initials:
            return NameSimilarity(min(8, 3 + len(name)) / 10, f"'{name.upper()}' are the initials of the other")
    return None


def _initials(a: _Read, b: _Read) -> NameSimilarity | None:
    """Given names against initials, before the same surname."""
    if min(len(a.words), len(b.words)) < 2 or a.words[-1] != b.words[-1] or len(a.words[-1]) < 2:
        return None
    mine, theirs = list(a.words[:-1]), list(b.words[:-1])
    stood: list[str] = []
    for one, other in zip(mine, theirs, strict=False):
        if one != other:
            short, full = sorted((one, other), key=len)
            if len(short) > 1 or len(full) == 1 or not full.startswith(short):
                return None
            stood.append(f"'{short}' may stand for '{full}'")
    middle = mine[len(theirs) :] + theirs[len(mine) :]
    if any(len(name) > 1 for name in middle):
        return None
    if stood:
        return NameSimilarity(0.7, ", ".join(stood))
    return NameSimilarity(0.75, _but_for(frozenset(middle))) if middle else None


def _typo(a: _Read, b: _Read) -> NameSimilarity | None:
    if len(a.words) != len(b.words):
        return None
    unlike = [place for place, pair in enumerate(zip(a.words, b.words, strict=True)) if pair[0] != pair[1]]
    if len(unlike) != 1:
        return None
    one, other = a.words[unlike[0]], b.words[unlike[0]]
    slip = _slip(one, other)
    alone = len(a.words) == 1
    if slip is None or min(len(one), len(other)) < (_TYPO_ALONE if alone else _TYPO if slip == "letter" else 5):
        return None
    # "Martin" and "Marvin" before one surname are two people; "Micheal" and "Michael" hardly are.
    if slip == "letter" and not alone and unlike[0] == 0:
        return None
    return NameSimilarity(0.6 if slip == "letter" else 0.75, f"one letter differs in '{one}' and '{other}'")


def _slip(one: str, other: str) -> str | None:
    """What a hand did that wrote one word for the other: swapped two letters, doubled one, or hit another
    "letter". Never in the first or last place: those tell apart Daniel and Daniela, Adam and Adams."""
    if not (one + other).isalpha() or max(one + other) >= _UNSPACED_FROM:
        return None
    short, long = sorted((one, other), key=len)
    if len(long) - len(short) > 1 or short[0] != long[0] or short[-1] != long[-1]:
        return None
    first = next((i for i, pair in enumerate(zip(short, long, strict=False)) if pair[0] != pair[1]), len(short))
    if len(short) == len(long):
        if short[first + 1 :] == long[first + 1 :]:
            return "letter"
        swapped = short[first : first + 2] == long[first : first + 2][::-1]
        inside = first + 2 < len(short)
        return "swapped" if swapped and inside and short[first + 2 :] == long[first + 2 :] else None
    if short[first:] != long[first + 1 :]:
        return None
    return "doubled" if long[first] in (long[first - 1], long[first + 1 : first + 2]) else "letter"


def _one_sex_each(one: frozenset[str], other: frozenset[str]) -> bool:
    return bool(one & _MEN and other & _WOMEN) or bool(one & _WOMEN and other & _MEN)


def _but_for(words: frozenset[str]) -> str:
    return "the same but for " + ", ".join(f"'{word}'" for word in sorted(words))


@lru_cache(1 << 15)
def _read(name: str) -> _Read:
    text = name if name.isascii() else strip_accents(unicodedata.normalize("NFKC", name))
    if "." in text:
        # "S.A." is one word; the initials of "J.R.R. Tolkien" are three.
        text = _DOTTED.sub(_legal_or_initials, text)
    inverted = False
    if "," in text:
        head, _, tail = text.partition(",")
        inverted = bool({word.casefold() for word in _WORD.findall(tail)} - _LEGAL - _GENERATIONS)
        text = f"{tail} {head}" if inverted else text
    spelled = _WORD.findall(text)
    folded = [word.casefold().replace("'", "").replace("’", "") for word in spelled]
    end = len(folded)
    while end > 1 and folded[end - 1] in _LEGAL:
        end -= 1
    legal = tuple(folded[end:])
    titles = generations = _NONE
    if not _APART.isdisjoint(folded):
        titles = _TITLES.intersection(folded)
        generations = frozenset(word[0] for word in folded if word in _GENERATIONS)
        core = [place for place in range(end) if folded[place] not in _APART] or list(range(end))
        folded, spelled, end = [folded[p] for p in core], [spelled[p] for p in core], len(core)
    return _Read(tuple(folded[:end]), tuple(spelled[:end]), titles, generations, legal, inverted)


def _legal_or_initials(dotted: re.Match[str]) -> str:
    joined = dotted.group().replace(".", "")
    return joined if joined.casefold() in _LEGAL else dotted.group()


class SimilarNames:
    """The names of a space by what may make another name like them, so that few have to be compared.

    >>> names = Names()
    >>> for name in ("AlphaOne LLC", "Alice Smith", "Bob Smith"):
    ...     _ = names.intern(name)
    >>> [(names.spellings[n], like.score) for n, like in SimilarNames(names).find("A. Smith")]
    [('Alice Smith', 0.7)]
    """

    def __init__(self, names: Names) -> None:
        self._names = names
        self._by_key: dict[str, list[int]] = defaultdict(list)
        self._known = 0

    def find(self, name: str) -> list[tuple[int, NameSimilarity]]:
        """The names like this one, by number, most alike first."""
        for number in range(self._known, len(self._names)):
            for key in _keys(self._names.spellings[number]):
                self._by_key[key].append(number)
        self._known = len(self._names)
        near: dict[int, None] = {}
        for key in _keys(name):
            sharing = self._by_key.get(key, [])
            if len(sharing) <= _CROWD:
                near |= dict.fromkeys(sharing)
        like = [(number, found) for number in near if (found := name_similarity(name, self._names.spellings[number]))]
        return sorted(like, key=lambda item: (-item[1].score, item[0]))


def _keys(name: str) -> list[str]:
    """What two names that are alike have at least one of in common."""
    read = _read(name)
    words, squeezed, initials = read.words, read.squeezed, read.initials
    keys = [f"all {squeezed}"]
    if len(initials) in _ACRONYM:
        keys.append(f"all {initials}")
    if len(words) > 1:
        keys.append(f"sorted {' '.join(sorted(words))}")
        keys.append(f"surname {words[0][0]} {words[-1]}")
        keys += [f"word {word}" for word in dict.fromkeys(words) if len(word) > 2]
    elif len(squeezed) >= _TYPO_ALONE:
        # A slip inside leaves the first half whole, or the second.
        half = _TYPO_ALONE // 2
        keys += [f"begins {squeezed[:half]}", f"ends {squeezed[-half:]}"]
    return keys
