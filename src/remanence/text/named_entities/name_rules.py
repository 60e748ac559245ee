"""Which names a text has, found by capitals, quotes, addresses and the words around them.

A capital is evidence, not proof. In the middle of a sentence it is good evidence, unless the word is an
ordinary one. At the start of a sentence or a line, or in a text in capitals, it is none: there a name needs
other evidence, which is a gazetteer, a possessive, a verb after it, or a second occurrence inside a sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property

from remanence.text.lexicon import word_lists
from remanence.text.lexicon.word_lists import FIRST_NAMES, FUNCTION_WORDS, PROPER_ADJECTIVES, is_common_word, load_words
from remanence.text.named_entities import name_spans
from remanence.text.named_entities.lowercase_names import find_lowercase_names
from remanence.text.named_entities.name_spans import CapitalizedWord, NameSpan, kind_of_name
from remanence.text.text import ABBREVIATIONS, normalize_name


def find_question_names(text: str) -> tuple[str, ...]:
    """The names a question asks about, in order, each once. The first person is `SELF`.

    >>> find_question_names("Where does Alice live?")
    ('Alice',)
    >>> find_question_names("When did I last see Bob at the University of Porto?")
    ('me', 'Bob', 'University of Porto')
    """
    names = [*find_names(text, is_question=True), *name_spans.find_first_person_singular(text)]
    spellings: dict[str, str] = {}
    for name in sorted(names, key=lambda name: name.start):
        spellings.setdefault(normalize_name(name.text), name.text)
    return tuple(spellings.values())


def find_names(text: str, *, is_question: bool = False) -> list[NameSpan]:
    """Every name in `text`, in order, repetitions included.

    In a question a capitalised ordinary word counts as a name too: to look up a name that does not exist
    costs nothing, while to store one would.

    >>> [(name.text, name.kind) for name in find_names("Hey Melanie! Dr. Smith lives in New York City.")]
    [('Melanie', 'person'), ('Dr. Smith', 'person'), ('New York City', 'place')]
    """
    marked = name_spans.find_marked_names(text)
    tokens = name_spans.find_capitalized_words(text, marked)
    if "`" in text:
        marked = [name for name in marked if name.kind != name_spans.CODE_KIND]
    if not tokens:
        # In a text that begins with a small letter, the absence of capitals says nothing. "I" is no evidence.
        return marked if is_question or not text[:1].islower() else [*marked, *find_lowercase_names(text)]
    names = _NameFinder(text, tokens, is_question).names()
    return sorted([*marked, *names], key=lambda name: name.start) if marked else names


_PARTICLES = frozenset(f" {particle} " for particle in load_words("name_particles"))
_NON_NAME_ACRONYMS = load_words("non_name_acronyms")
_NON_NAME_ENDINGS = tuple(sorted(load_words("non_name_endings")))
_PAST_FORMS = load_words("irregular_past")
_NAME_SUFFIXES = load_words("name_suffixes")
_TOOLS = frozenset(word_lists.load_tool_kinds())
_LOWERCASE_WORD = re.compile(r"(?<![\w'’-])[a-z][a-z]+")
_FOLLOWING_WORD = re.compile(r"(['’]s\b)?,? ?([a-z]+?(?=n['’]t\b)|[a-z]+)?")
_INSERTION = re.compile(r", (?:(?:my|our|his|her|their|the|an?) [a-z][^,.;!?]{2,40}|who [^,.;!?]{2,40}),(?= [a-z])")
_VERB_IN_PRESENT = word_lists.compile_pattern("verb_in_present")
_SINGULAR_AFTER = re.compile(r" (?:is|was|has|does|doesn['’]t|isn['’]t|hasn['’]t|wasn['’]t)\b")
_PLURAL_IN_FORM = re.compile(r"(?:ss|ics|itis|osis|etes|ies)$")
_AND_I = re.compile(r" and (?:I|me|the user)\b")
_VERSION = re.compile(r"[ ]\d{1,3}[ ]")
_NUMBER_AFTER = re.compile(r"[ ](\d{1,3}(?:\.\d)?[A-Za-z]?|(?:19|20)\d\d)(?![\w:%./-]|[ ][a-z]|,\d)")
_PLACE_CUE = re.compile(r"\b(?:in|from|to|near|of|around|visit(?:ed|ing)?|across|,) $")
_MAX_TOKENS = 8
"""Words of a name, at most: a longer run of capitals is a heading or a list."""
_MAX_RUN = 3 * _MAX_TOKENS
"""Words of a run of capitals, at most, before the words that only open a sentence are dropped."""


class _NameFinder:
    """Finds the names among the capitalized words of one text."""

    def __init__(self, text: str, tokens: list[CapitalizedWord], is_question: bool) -> None:
        self.text = text
        self.tokens = tokens
        self.is_question = is_question
        uppercase = [token for token in tokens if len(token.text) > 1 and token.text.isupper()]
        self.in_capitals = (
            len(uppercase) > 1
            and len(uppercase) * 2 > len(tokens)
            and any(is_common_word(token.lowercase) and token.text not in _NON_NAME_ACRONYMS for token in uppercase)
        )

    def names(self) -> list[NameSpan]:
        names = []
        for run in self._runs():
            first = run[0].lowercase
            if len(run) > _MAX_RUN:
                continue
            if len(run) == 1 and run[0].starts_sentence and is_common_word(first) and first not in FIRST_NAMES:
                continue  # an ordinary first word of a sentence: the most frequent case
            name = self._name(run)
            if name is not None:
                names.append(name)
        return names

    def _runs(self) -> Iterator[list[CapitalizedWord]]:
        """Tokens that may be one name: neighbours, or joined by a word such as "of" or "van"."""
        run: list[CapitalizedWord] = []
        for token in self.tokens:
            possible = self._may_be_name(token)
            if run and (not possible or not self._continues(run[-1], token) or self._is_member(run, token)):
                yield run
                run = []
            if possible:
                run.append(token)
        if run:
            yield run

    def _continues(self, last: CapitalizedWord, token: CapitalizedWord) -> bool:
        """Whether a token belongs to the same name as the last one."""
        if last.possessive or token.starts_sentence:
            return False
        gap = self.text[last.end : token.start]
        if gap == " ":
            function_word = token.lowercase in FUNCTION_WORDS or token.lowercase in word_lists.DETERMINERS
            return not (last.text[-1] == "." and function_word)
        if gap in _PARTICLES and gap != " the ":
            return True
        if gap == ", ":
            return token.lowercase in _NAME_SUFFIXES
        if gap == " the ":  # Winnie the Pooh, but not "See the Alps"
            return not is_common_word(last.lowercase)
        if gap == ". ":
            return last.lowercase in ABBREVIATIONS and token.lowercase not in FUNCTION_WORDS
        return _VERSION.fullmatch(gap) is not None and kind_of_name(last.text, [last]) == "product"  # iPhone 15 Pro

    def _is_member(self, run: Sequence[CapitalizedWord], token: CapitalizedWord) -> bool:
        """Whether a full name of a person stands before "of" and a token: "Vera Garcia of Delta Systems" are two names,
        "University of Porto" and "Catherine of Aragon" are one."""
        is_person = len(run) > 1 and run[-2].lowercase in FIRST_NAMES and not is_common_word(run[-1].lowercase)
        return is_person and self.text[run[-1].end : token.start] == " of "

    def _may_be_name(self, token: CapitalizedWord) -> bool:
        text, lower = token.text, token.lowercase
        if len(text) > 1 and text.isupper():
            if self.in_capitals or text in _NON_NAME_ACRONYMS:
                return False
            return text in word_lists.PLACE_ACRONYMS or not is_common_word(lower)
        if text[-1] == "s" and text[:-1].isupper():  # RPGs
            return False
        if lower not in word_lists.CALENDAR_WORDS:
            return True
        # April, May, June or Summer is a person where a verb or a possessive follows.
        is_person = token.possessive or self._precedes_verb(token, word_lists.VERBS_OF_PEOPLE)
        return lower in FIRST_NAMES and is_person

    def _name(self, run: list[CapitalizedWord]) -> NameSpan | None:
        run, greeted = self._without_openers(run)
        if not run or len(run) > _MAX_TOKENS:
            return None
        first, last = run[0], run[-1]
        start, end = first.start, last.end
        name = self.text[start:end]
        number = None if last.possessive else _NUMBER_AFTER.match(self.text, end)
        kind = kind_of_name(name, run)
        follows_place_cue = _PLACE_CUE.search(self.text, max(0, start - 10), start) is not None
        if kind == "place" and name.lower() in FIRST_NAMES and not follows_place_cue:  # Virginia, Jordan
            kind = "person"
        if number and kind in ("thing", "product") and not first.starts_sentence:
            end = number.end()
            name, kind = self.text[start:end], "product"
        if not self._is_name(run, kind, greeted) or (first.in_heading and not self._is_heading_name(run, kind)):
            return None
        if kind == "thing" and (
            greeted or self._precedes_verb(last, word_lists.VERBS_OF_PEOPLE) or self._follows_greeting(first)
        ):
            kind = "person"
        return NameSpan(name, kind, start, end)

    def _without_openers(self, run: list[CapitalizedWord]) -> tuple[list[CapitalizedWord], bool]:
        """The run without "Hey", "The" and the like at its start, and whether a greeting was among them."""
        greeted = False
        while run:
            first = run[0]
            lower = first.lowercase
            if (
                len(first.text) == 1
                or lower in word_lists.DETERMINERS
                or (lower in word_lists.HONORIFICS and len(run) == 1)
            ):
                run = run[1:]
            elif (
                first.starts_sentence
                and (is_common_word(lower) or lower in word_lists.GREETINGS)
                and not self._is_known_name(run)
            ):
                if len(run) == 1:
                    break
                if all(is_common_word(token.lowercase) for token in run) and self._precedes_verb(run[-1]):
                    break
                greeted = greeted or lower in word_lists.GREETINGS
                # After "Did" a capital is evidence; after "Compact" the words are a heading, but "Use JWT" is none.
                evidence = greeted or lower in FUNCTION_WORDS or run[1].text.isupper()
                run = [replace(run[1], starts_sentence=not evidence), *run[2:]]
            elif lower in PROPER_ADJECTIVES and (len(run) == 1 or run[1].lowercase in FIRST_NAMES):
                run = run[1:]
            else:
                break
        return run, greeted

    def _is_known_name(self, run: list[CapitalizedWord]) -> bool:
        if len(run) == 1:
            return False
        name, first = self.text[run[0].start : run[-1].end].lower(), run[0].lowercase
        if name in word_lists.PLACES or name in word_lists.ORGANIZATIONS or first in word_lists.HONORIFICS:
            return True
        return first in word_lists.ORGANIZATION_WORDS and name.startswith(" of ", len(first))

    def _is_name(self, run: list[CapitalizedWord], kind: str, greeted: bool) -> bool:
        first = run[0]
        if len(run) == 1:
            return self._is_single_name(first, kind, greeted)
        if first.lowercase in word_lists.HONORIFICS:
            return True
        if run[-1].lowercase in PROPER_ADJECTIVES:  # South Korean
            return False
        if not all(is_common_word(token.lowercase) or token.lowercase in PROPER_ADJECTIVES for token in run):
            return not (first.starts_sentence and self._also_lowercase(run))
        if self.is_question or kind in ("place", "organization"):
            return True
        if any(token.lowercase in FUNCTION_WORDS for token in run):  # You Have Got To Be Kidding
            return False
        return not first.starts_sentence or self._precedes_verb(run[-1]) or first.lowercase in self._capitalized_inside

    def _is_heading_name(self, run: list[CapitalizedWord], kind: str) -> bool:
        """In a heading most words have to be uncommon, since common words have capitals there too."""
        if kind != "thing" and not is_common_word(run[-1].lowercase):
            return True
        uncommon = [t for t in run if not (is_common_word(t.lowercase) or t.lowercase.endswith(_NON_NAME_ENDINGS))]
        return len(uncommon) * 2 > len(run) and not self._also_lowercase(uncommon)

    def _is_single_name(self, token: CapitalizedWord, kind: str, greeted: bool) -> bool:
        text, lower = token.text, token.lowercase
        if len(text) < 2 or lower in PROPER_ADJECTIVES or (lower.endswith("s") and lower[:-1] in PROPER_ADJECTIVES):
            return False
        if "-" in lower and not PROPER_ADJECTIVES.isdisjoint(lower.split("-")):
            return False
        if lower in _NAME_SUFFIXES or (len(text) < 4 and kind == "product" and lower not in word_lists.PRODUCTS):
            return False  # Jr., Q3, pH
        common = is_common_word(lower)
        if not token.starts_sentence:
            if not common:
                return not (kind == "thing" and not self.is_question and self._also_lowercase([token]))
            return self.is_question or any(
                lower in names for names in (FIRST_NAMES, word_lists.PLACES, word_lists.ORGANIZATIONS)
            )
        if common:
            return lower in FIRST_NAMES and (token.possessive or greeted or self._acts(token))
        if kind != "thing" or greeted or token.possessive or lower in _TOOLS:
            return True
        if text.isupper() or not text[1:].islower():
            return len(text) > 2 and not text.isupper()
        if _AND_I.match(self.text, token.end):
            return True
        if self._acts(token) or self._precedes_past(token) or _INSERTION.match(self.text, token.end):
            return True
        if lower.endswith("s") and _SINGULAR_AFTER.match(self.text, token.end):  # Otis is, not "Kittens are"
            return not _PLURAL_IN_FORM.search(lower)
        return not lower.endswith(_NON_NAME_ENDINGS) and (self._precedes_verb(token) or self._precedes_present(token))

    def _acts(self, token: CapitalizedWord) -> bool:
        """Whether the token is a name elsewhere in the text, or does here what people do."""
        return token.lowercase in self._capitalized_inside or self._precedes_verb(token, word_lists.VERBS_OF_PEOPLE)

    def _precedes_verb(self, token: CapitalizedWord, verbs: frozenset[str] = word_lists.VERBS_AFTER_NAMES) -> bool:
        """Whether one of the verbs follows the token, as after a subject."""
        after = _FOLLOWING_WORD.match(self.text, token.end)
        return after is not None and after[2] in verbs

    def _precedes_past(self, token: CapitalizedWord) -> bool:
        """Whether a past form that names what people do follows the token: "Georgina retired", "Terese quit"."""
        after = _FOLLOWING_WORD.match(self.text, token.end)
        verb = after[2] if after is not None and after[1] is None else None
        if verb is None or token.lowercase.endswith(_NON_NAME_ENDINGS):
            return False
        return verb in _PAST_FORMS or (verb.endswith("ed") and is_common_word(verb))

    def _precedes_present(self, token: CapitalizedWord) -> bool:
        """Whether a verb in the present and what goes with it follow the token: "Anselm uses a wheelchair"."""
        after = _VERB_IN_PRESENT.match(self.text, token.end)
        return after is not None and is_common_word(after[1])

    def _follows_greeting(self, token: CapitalizedWord) -> bool:
        """Whether the token follows a greeting, as in "Thanks, Mel"."""
        before = self.text[max(0, token.start - 12) : token.start]
        return before.endswith(", ") and before[:-2].rpartition(" ")[2].lower() in word_lists.GREETINGS

    @cached_property
    def _capitalized_inside(self) -> frozenset[str]:
        """The words that have a capital inside a sentence somewhere in the text."""
        return frozenset(token.lowercase for token in self.tokens if not token.starts_sentence)

    @cached_property
    def _lowercase_words(self) -> frozenset[str]:
        return frozenset(_LOWERCASE_WORD.findall(self.text))

    def _also_lowercase(self, run: list[CapitalizedWord]) -> bool:
        """Whether all these words are common or also in the text without capitals, so that capitals prove nothing."""
        return all(is_common_word(token.lowercase) or token.lowercase in self._lowercase_words for token in run)
