"""Names that may denote one entity, for a person to check. Similar spelling is weak evidence, so nothing is merged."""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

from remanence.index.names.names import Names
from remanence.text.lexicon.word_lists import FIRST_NAMES
from remanence.text.named_entities.person_names import NameParts, SamePerson, parts_of, same_person

_LEAST_RATIO = 85


class NameSimilarity(NamedTuple):
    """How similar two names are, 0..1, and the reason in words."""

    score: float
    reason: str


def name_similarity(one: str, other: str) -> NameSimilarity | None:
    """How similar two names are; None if there is no reason to compare them, or a reason against it."""
    a, b = parts_of(one), parts_of(other)
    if not a.words or not b.words or a.others != b.others or (a.titles and b.titles and a.titles != b.titles):
        return None
    if sorted(a.words) == sorted(b.words) or a.joined == b.joined:
        is_long = len(a.joined) > 3 or (a.is_upper and b.is_upper)
        # "Dr. Smith" and "Smith" only share a surname.
        is_whole = len(a.words) > 1 or a.titles == b.titles
        return NameSimilarity(0.95, "the same words") if is_long and is_whole else None
    for short, full in ((a, b), (b, a)):
        if short.is_upper and len(short.words) == 1 and short.joined == full.initials:
            return NameSimilarity(0.6, f"{short.joined.upper()!r} are the initials of the other")
    if SamePerson.SHORT_FORM in (same_person(one, other), same_person(other, one)):
        return NameSimilarity(0.85, "a short form of the first name")
    is_part = SamePerson.FIRST_NAME in (same_person(one, other), same_person(other, one))
    if is_part and a.words[0] in FIRST_NAMES:  # not "Google" and "Google Cloud"
        return NameSimilarity(0.6, SamePerson.FIRST_NAME.value)
    return _initials(a, b) or _spelling(a, b)


def _initials(a: NameParts, b: NameParts) -> NameSimilarity | None:
    """Words against their first letters, where the others are the same: "A. Smith" and "Alice Smith"."""
    common = set(a.words) & set(b.words)
    if not any(len(word) > 1 for word in common):
        return None
    first, second = ([word for word in parts.words if word not in common] for parts in (a, b))
    for letters, words in ((first, second), (second, first)):
        if all(len(letter) == 1 for letter in letters) and letters == [word[0] for word in words]:
            return NameSimilarity(0.7, f"{' '.join(letters)!r} may stand for {' '.join(words)!r}")
        if not words and letters and all(len(letter) == 1 for letter in letters):
            return NameSimilarity(0.75, f"the same but for {' '.join(letters)!r}")
    return None


def _spelling(a: NameParts, b: NameParts) -> NameSimilarity | None:
    from rapidfuzz import fuzz  # most programs compare no names

    short = [sorted(word for word in parts.words if len(word) < 3) for parts in (a, b)]
    if short[0] != short[1] or min(len(a.joined), len(b.joined)) < 7:
        return None
    ratio = fuzz.ratio(_form(a), _form(b))
    return NameSimilarity(round(0.008 * ratio, 2), "a similar spelling") if ratio >= _LEAST_RATIO else None


def _form(parts: NameParts) -> str:
    return " ".join(sorted(parts.words))


class SimilarNames:
    """The names of a space by words, initials and first letters, so that few have to be compared."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._forms: list[str] = []
        self._by_key: dict[str, list[int]] = defaultdict(list)
        self._by_letters: dict[str, list[int]] = defaultdict(list)

    def find(self, name: str) -> list[tuple[int, NameSimilarity]]:
        """The names similar to this one, by number, most similar first."""
        from rapidfuzz import fuzz, process

        numbers = dict.fromkeys(self.candidates(name))
        near = process.extract(
            _form(parts_of(name)), self._forms, scorer=fuzz.ratio, score_cutoff=_LEAST_RATIO, limit=64
        )
        numbers |= dict.fromkeys(number for _, _, number in near)
        spellings = self._names.spellings
        found = [(number, like) for number in numbers if (like := name_similarity(name, spellings[number]))]
        return sorted(found, key=lambda item: (-item[1].score, item[0]))

    def with_first_letters(self, letters: str) -> list[int]:
        """The names whose first word begins with these letters, at least two, by number."""
        self._index_new()
        spellings = self._names.spellings
        return [n for n in self._by_letters.get(letters[:2], ()) if spellings[n].casefold().startswith(letters)]

    def candidates(self, name: str) -> list[int]:
        """The names that share a word with this one, or whose initials it is, by number."""
        self._index_new()
        sharing = (self._by_key.get(key, ()) for key in _keys(name))
        return list(dict.fromkeys(number for numbers in sharing if len(numbers) <= 2_000 for number in numbers))

    def _index_new(self) -> None:
        spellings = self._names.spellings
        for number in range(len(self._forms), len(spellings)):
            self._forms.append(_form(parts_of(spellings[number])))
            for key in _keys(spellings[number]):
                self._by_key[key].append(number)
            self._by_letters[spellings[number][:2].casefold()].append(number)


def _keys(name: str) -> set[str]:
    """Keys of which two similar names have at least one in common, unless only their spelling is similar."""
    parts = parts_of(name)
    return {key for key in (parts.joined, parts.initials, *parts.words) if len(key) > 1}
