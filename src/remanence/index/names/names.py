"""Every name in a space, numbered in the order of first occurrence.

Graph, relations and registry all use these numbers. Two spellings with one normal form are one name. The
registry records that different names denote one entity.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from remanence.events import Remembered
from remanence.index.arrays.codecs import GROWING_TEXTS, INTERNED, TEXTS, SavedPart
from remanence.index.arrays.columns import Interner, TextList
from remanence.index.batch import Batch
from remanence.schema import SELF
from remanence.text.lexicon.word_lists import is_common_word
from remanence.text.text import normalize_name, split_words


class Names(SavedPart):
    """Names by number."""

    _saved: ClassVar = {"spellings": GROWING_TEXTS, "kinds": TEXTS, "_normalized": INTERNED}

    def __init__(self) -> None:
        self.spellings = TextList()
        """Each name as it was first written."""
        self.kinds: list[str] = []
        """The kind of each name: the first one other than "thing"."""
        self._normalized: Interner[str] = Interner()
        # Made when they are first needed: names of several words by each, and names with other signs by their words.
        self._by_word: dict[str, list[int]] | None = None
        self._by_words: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self.spellings)

    def number(self, name: str) -> int | None:
        return self._normalized.number(normalize_name(name))

    def intern(self, name: str, kind: str = "thing") -> int:
        normalized = normalize_name(name)
        number = self._normalized.intern(normalized)
        if number == len(self.spellings):
            self.spellings.append(name)
            self.kinds.append(kind)
            if self._by_word is not None:
                self._add_words(self._by_word, normalized, number)
        elif kind != "thing" and self.kinds[number] == "thing":
            self.kinds[number] = kind
        return number

    def find_in_text(self, text: str) -> dict[int, float]:
        """The names in a text, whatever its capitals, each with 1; and those of which only an uncommon word is there,
        each with its share: half for each of two people called Jones. A word in more names stands for none of them.

        >>> names = Names()
        >>> _ = names.intern("Robert Jones"), names.intern("Porto"), names.intern("New York")
        >>> names.find_in_text("does jones live in new york?")
        {2: 1.0, 0: 1.0}
        >>> _ = names.intern("billing-api")
        >>> names.find_in_text("what does billing-api cost?")
        {3: 1.0}
        """
        by_word = self._names_by_word()
        words = [normalize_name(word) for word in split_words(text)]
        weights: dict[int, float] = {}
        in_names: set[int] = set()
        for count in range(4, 0, -1):
            for first in range(len(words) - count + 1):
                word_range = range(first, first + count)
                joined = " ".join(words[first : first + count])
                number = self._normalized.number(joined)
                if number is None:
                    number = self._by_words.get(joined)
                is_name = number is not None and (count > 1 or not is_common_word(words[first]))
                if number is not None and is_name and in_names.isdisjoint(word_range):
                    weights[number] = 1.0
                    in_names.update(word_range)
        for place, word in enumerate(words):
            if place not in in_names and len(word) >= 3 and not is_common_word(word):
                having = by_word.get(word, [])
                if len(having) <= 2:
                    weights |= {number: 1 / len(having) for number in having if number not in weights}
        return weights

    def with_word(self, word: str) -> list[int]:
        """The names of several words that have this one, given in its normal form."""
        return self._names_by_word().get(word, [])

    def _names_by_word(self) -> dict[str, list[int]]:
        if self._by_word is None:
            by_word: dict[str, list[int]] = {}
            for number, name in enumerate(self._normalized.values):
                self._add_words(by_word, name, number)
            self._by_word = by_word
        return self._by_word

    def _add_words(self, by_word: dict[str, list[int]], normalized: str, number: int) -> None:
        words = normalized.split()
        for word in dict.fromkeys(words) if len(words) > 1 else ():
            by_word.setdefault(word, []).append(number)
        if not all(map(str.isalnum, words)):  # alpha-one, acme.io
            self._by_words.setdefault(" ".join(split_words(normalized)), number)

    def apply(self, batch: Batch) -> None:
        for version in batch.versions:
            for name, kind in () if version is None else version_names(version):
                self.intern(name, kind)


def version_names(version: Remembered) -> Iterable[tuple[str, str]]:
    """All names in a version with their kinds: the speaker, mentions, subjects and objects of claims."""
    speaker = version_speaker(version)
    if speaker:
        yield speaker, "person"
    for mention in version.mentions:
        yield mention.name, mention.kind
    for triple in version.triples:
        yield triple.subject, "thing"
        yield triple.object, "thing"


def version_speaker(version: Remembered) -> str | None:
    """The speaker of a memory: of its turn, else its observer, else "me" if its text says "I"."""
    if version.turn is not None:
        return version.turn.speaker
    if version.observed_by is not None:
        return version.observed_by
    for mention in version.mentions:
        if mention.name == SELF:
            return SELF
    return None
