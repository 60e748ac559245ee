"""Which names stand in a text: capitals, quotes, addresses, and what a sentence does to its first word.

A capital is evidence, not proof. In the middle of a sentence it is good evidence, unless the word is an
ordinary one; at the start of a sentence, of a line, or in a shout it is none, and something else has to
speak for the word: a gazetteer, a possessive, a verb after it, or a second, better placed appearance.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from remanence.language.rules.capitalized_words import CapitalizedWord, find_capitalized_words
from remanence.language.rules.common_words import is_common_word
from remanence.language.rules.entity_kinds import kind_of_name
from remanence.language.rules.lexicon import (
    CALENDAR_WORDS,
    DETERMINERS,
    FIRST_NAMES,
    FUNCTION_WORDS,
    GREETINGS,
    HONORIFICS,
    NAME_PARTICLES,
    NAME_SUFFIXES,
    NON_NAME_ACRONYMS,
    NON_NAME_ENDINGS,
    ORGANIZATION_WORDS,
    ORGANIZATIONS,
    PLACE_ACRONYMS,
    PLACES,
    PRODUCTS,
    PROPER_ADJECTIVES,
    VERBS_AFTER_NAMES,
    VERBS_OF_PEOPLE,
)
from remanence.language.rules.marked_names import CODE_KIND, NameSpan, find_marked_names
from remanence.language.rules.pronouns import find_first_person_singular
from remanence.language.text import ABBREVIATIONS, normalize_name


def find_question_names(text: str) -> tuple[str, ...]:
    """The names a question asks about, in order, each once. The first person is `SELF`.

    >>> find_question_names("Where does Alice live?")
    ('Alice',)
    >>> find_question_names("When did I last see Bob at the University of Porto?")
    ('me', 'Bob', 'University of Porto')
    """
    found = sorted(
        [*find_names(text, is_question=True), *find_first_person_singular(text)], key=lambda name: name.start
    )
    spellings: dict[str, str] = {}
    for name in found:
        spellings.setdefault(normalize_name(name.text), name.text)
    return tuple(spellings.values())


def find_names(text: str, *, is_question: bool = False) -> list[NameSpan]:
    """Every name that stands in `text`, in order, repetitions included.

    In a question a capitalised ordinary word counts as a name too: looking up a name that nobody bears
    costs nothing, while keeping one would.

    >>> [(name.text, name.kind) for name in find_names("Hey Melanie! Dr. Smith lives in New York City.")]
    [('Melanie', 'person'), ('Dr. Smith', 'person'), ('New York City', 'place')]
    """
    fixed = find_marked_names(text)
    tokens = find_capitalized_words(text, fixed)
    if "`" in text:
        fixed = [name for name in fixed if name.kind != CODE_KIND]
    if not tokens:
        return fixed
    found = _Reading(text, tokens, is_question).names()
    return sorted([*fixed, *found], key=lambda name: name.start) if fixed else found


_JOINTS = frozenset(f" {joint} " for joint in NAME_PARTICLES)
_LOWER_WORD = re.compile(r"(?<![\w'’-])[a-z][a-z]+")
_FOLLOWING_WORD = re.compile(r"(['’]s\b)?,? ?([a-z]+)?")
_VERSION = re.compile(r"[ ]\d{1,3}[ ]")
_NUMBER_AFTER = re.compile(r"[ ](\d{1,3}(?:\.\d)?[A-Za-z]?|(?:19|20)\d\d)(?![\w:%./-]|[ ][a-z]|,\d)")
_PLACE_CUE = re.compile(r"\b(?:in|from|to|near|of|around|visit(?:ed|ing)?|across|,) $")
_SHORT = 2_000  # characters
_MAX_TOKENS = 8  # a longer run of capitals is a heading or a list, not a name
_MAX_RUN = 3 * _MAX_TOKENS  # before openers are dropped


class _Reading:
    """One text, being read. Lives for one call."""

    def __init__(self, text: str, tokens: list[CapitalizedWord], question: bool) -> None:
        self.text = text
        self.tokens = tokens
        self.question = question
        loud = [token for token in tokens if len(token.text) > 1 and token.text.isupper()]
        self.shouting = (
            len(loud) > 1
            and len(loud) * 2 > len(tokens)
            and any(is_common_word(token.lowercase) and token.text not in NON_NAME_ACRONYMS for token in loud)
        )
        self._small: frozenset[str] | None = None
        self._seen: frozenset[str] | None = None

    def names(self) -> list[NameSpan]:
        found = []
        for run in self._runs():
            head = run[0]
            if len(run) > _MAX_RUN:
                continue
            if (
                len(run) == 1
                and head.starts_sentence
                and is_common_word(head.lowercase)
                and head.lowercase not in FIRST_NAMES
            ):
                continue  # the first word of a sentence, nine times in ten
            name = self._name(run)
            if name is not None:
                found.append(name)
        return found

    def _runs(self) -> Iterator[list[CapitalizedWord]]:
        """Tokens that may be one name: neighbours, or joined by a word such as "of" or "van"."""
        text = self.text
        run: list[CapitalizedWord] = []
        for token in self.tokens:
            if not self._may_be_named(token):
                if run:
                    yield run
                    run = []
                continue
            if run:
                last = run[-1]
                gap = text[last.end : token.start]
                if last.possessive or token.starts_sentence or not self._joins(gap, last, token):
                    yield run
                    run = []
            run.append(token)
        if run:
            yield run

    def _joins(self, gap: str, last: CapitalizedWord, token: CapitalizedWord) -> bool:
        if gap == " ":
            return not (last.text[-1] == "." and token.lowercase in FUNCTION_WORDS | DETERMINERS)
        if gap in _JOINTS and gap != " the ":
            return True
        if gap == ", ":
            return token.lowercase in NAME_SUFFIXES
        if gap == " the ":  # Winnie the Pooh, but not "See the Alps"
            return not is_common_word(last.lowercase)
        if gap == ". ":
            return last.lowercase in ABBREVIATIONS and token.lowercase not in FUNCTION_WORDS
        return _VERSION.fullmatch(gap) is not None and kind_of_name(last.text, [last]) == "product"  # iPhone 15 Pro

    def _may_be_named(self, token: CapitalizedWord) -> bool:
        text, lower = token.text, token.lowercase
        if len(text) > 1 and text.isupper():
            return (
                not self.shouting
                and text not in NON_NAME_ACRONYMS
                and (text in PLACE_ACRONYMS or not is_common_word(lower))
            )
        if text[-1] == "s" and text[:-1].isupper():  # RPGs
            return False
        return not (lower in CALENDAR_WORDS and (lower not in FIRST_NAMES or self._dated(token)))

    def _dated(self, token: CapitalizedWord) -> bool:
        """Whether April, May, June or Summer is a time: unless a verb or a possessive says otherwise."""
        after = _FOLLOWING_WORD.match(self.text, token.end)
        return not (after and after[2] in VERBS_OF_PEOPLE) and not token.possessive

    def _name(self, run: list[CapitalizedWord]) -> NameSpan | None:
        run, called = self._without_openers(run)
        if not run or len(run) > _MAX_TOKENS:
            return None
        head, last = run[0], run[-1]
        start, end = head.start, last.end
        written = self.text[start:end]
        number = None if last.possessive else _NUMBER_AFTER.match(self.text, end)
        kind = kind_of_name(written, run)
        if kind == "place" and written.lower() in FIRST_NAMES and not self._placed(head):  # Virginia, Jordan
            kind = "person"
        if number and kind in ("thing", "product") and not head.starts_sentence:
            end = number.end()
            written, kind = self.text[start:end], "product"
        if not self._is_name(run, kind, called) or (head.in_heading and not self._is_label_name(run, kind)):
            return None
        if kind == "thing" and (called or self._acts(last, VERBS_OF_PEOPLE) or self._called_out(head)):
            kind = "person"
        return NameSpan(written, kind, start, end)

    def _without_openers(self, run: list[CapitalizedWord]) -> tuple[list[CapitalizedWord], bool]:
        """Drop "Hey", "The" and the like from the front; say whether what is left was called out to."""
        called = False
        while run:
            head = run[0]
            if len(head.text) == 1 or head.lowercase in DETERMINERS or (head.lowercase in HONORIFICS and len(run) == 1):
                run = run[1:]
            elif (
                head.starts_sentence
                and (is_common_word(head.lowercase) or head.lowercase in GREETINGS)
                and not self._known(run)
            ):
                if len(run) == 1 or (all(is_common_word(token.lowercase) for token in run) and self._acts(run[-1])):
                    break
                called = called or head.lowercase in GREETINGS
                # After "Did" a capital is evidence; after "Compact" it is a heading.
                plain = called or head.lowercase in FUNCTION_WORDS
                run = [replace(run[1], starts_sentence=not plain), *run[2:]]
            elif head.lowercase in PROPER_ADJECTIVES and (len(run) == 1 or run[1].lowercase in FIRST_NAMES):
                run = run[1:]
            else:
                break
        return run, called

    def _known(self, run: list[CapitalizedWord]) -> bool:
        if len(run) == 1:
            return False
        written, head = self.text[run[0].start : run[-1].end].lower(), run[0].lowercase
        if written in PLACES or written in ORGANIZATIONS or head in HONORIFICS:
            return True
        return head in ORGANIZATION_WORDS and written.startswith(" of ", len(head))

    def _is_name(self, run: list[CapitalizedWord], kind: str, called: bool) -> bool:
        head = run[0]
        if head.lowercase in HONORIFICS and len(run) > 1:
            return True
        if len(run) == 1:
            return self._is_single(head, kind, called)
        if run[-1].lowercase in PROPER_ADJECTIVES:  # South Korean
            return False
        ordinary = all(is_common_word(token.lowercase) or token.lowercase in PROPER_ADJECTIVES for token in run)
        if not ordinary:
            return not (head.starts_sentence and self._in_small_letters(run))
        if self.question or kind in ("place", "organization"):
            return True
        if any(token.lowercase in FUNCTION_WORDS for token in run):  # You Have Got To Be Kidding
            return False
        return not head.starts_sentence or self._acts(run[-1]) or self._seen_inside(head)

    def _is_label_name(self, run: list[CapitalizedWord], kind: str) -> bool:
        """In a heading most words have to be strange ones, since ordinary words have capitals there too."""
        if kind != "thing" and not is_common_word(run[-1].lowercase):
            return True
        strange = [t for t in run if not (is_common_word(t.lowercase) or t.lowercase.endswith(NON_NAME_ENDINGS))]
        return len(strange) * 2 > len(run) and not self._in_small_letters(strange)

    def _is_single(self, token: CapitalizedWord, kind: str, called: bool) -> bool:
        text, lower = token.text, token.lowercase
        if len(text) < 2 or lower in PROPER_ADJECTIVES or (lower.endswith("s") and lower[:-1] in PROPER_ADJECTIVES):
            return False
        if "-" in lower and not PROPER_ADJECTIVES.isdisjoint(lower.split("-")):
            return False
        if lower in NAME_SUFFIXES or (len(text) < 4 and kind == "product" and lower not in PRODUCTS):
            return False  # Jr., Q3, pH
        common = is_common_word(lower)
        if not token.starts_sentence:
            if not common:
                return not (kind == "thing" and not self.question and self._in_small_letters([token]))
            return self.question or lower in FIRST_NAMES or lower in PLACES or lower in ORGANIZATIONS
        if common:
            evident = token.possessive or called or self._acts(token, VERBS_OF_PEOPLE) or self._seen_inside(token)
            return lower in FIRST_NAMES and evident
        if kind != "thing" or called or token.possessive:
            return True
        if text.isupper() or not text[1:].islower():
            return len(text) > 2 and not text.isupper()
        if self._seen_inside(token) or self._acts(token, VERBS_OF_PEOPLE):
            return True
        return self._acts(token) and not lower.endswith(NON_NAME_ENDINGS)

    def _acts(self, token: CapitalizedWord, verbs: frozenset[str] = VERBS_AFTER_NAMES) -> bool:
        """Whether a verb follows, as after a subject."""
        after = _FOLLOWING_WORD.match(self.text, token.end)
        return after is not None and after[2] in verbs

    def _placed(self, token: CapitalizedWord) -> bool:
        """Whether it stands as in "from Virginia" or "Porto, Georgia"."""
        return _PLACE_CUE.search(self.text, max(0, token.start - 10), token.start) is not None

    def _called_out(self, token: CapitalizedWord) -> bool:
        """Whether it stands as in "Thanks, Mel"."""
        before = self.text[max(0, token.start - 12) : token.start]
        return before.endswith(", ") and before[:-2].rpartition(" ")[2].lower() in GREETINGS

    def _seen_inside(self, token: CapitalizedWord) -> bool:
        """Whether the word has its capital inside a sentence somewhere in the text."""
        if self._seen is None:
            self._seen = frozenset(other.lowercase for other in self.tokens if not other.starts_sentence)
        return token.lowercase in self._seen

    def _in_small_letters(self, run: list[CapitalizedWord]) -> bool:
        """Whether the text also writes all these words without capitals, so the capitals mean nothing."""
        if len(self.text) <= _SHORT:
            return all(is_common_word(token.lowercase) or self._is_written(token.lowercase) for token in run)
        if self._small is None:
            self._small = frozenset(_LOWER_WORD.findall(self.text))
        small = self._small
        return all(token.lowercase in small or is_common_word(token.lowercase) for token in run)

    def _is_written(self, word: str) -> bool:
        """Whether a short text has this word in small letters; in a long one that would be slow."""
        if word not in self.text:
            return False
        return word in _LOWER_WORD.findall(self.text)
