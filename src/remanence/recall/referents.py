"""Whom "he", "she" or "they" in a question means: people that the turns before it name.

A question such as "What could I serve her?" also has "I" in it, and readers take what the user said of themselves for
an answer. What is told of the user or of the user's other people answers such a question hardly ever.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from remanence.schema import SELF, Memory
from remanence.text.lexicon.word_lists import (
    KINSHIP_TITLES,
    PLURAL_RELATIONSHIP_NOUNS,
    RELATIONSHIP_NOUNS,
    compile_on_use,
    load_words,
)
from remanence.text.named_entities.alias_rules import are_nicknames
from remanence.text.named_entities.name_rules import find_names
from remanence.text.text import tokens

_PERSON_NOUNS = RELATIONSHIP_NOUNS | KINSHIP_TITLES | load_words("professions") | set(PLURAL_RELATIONSHIP_NOUNS)
_NOUN = "|".join(sorted(map(re.escape, _PERSON_NOUNS), key=len, reverse=True))
_FEMALE_NOUN = compile_on_use(
    r"\A(?:(?:.*(?:sister|mother|daughter)|mom|mum|mama|wife|girlfriend|fianc[eé]e|aunt(?:ie)?|tante|niece|grandma|granny|"
    r"gran|nana|oma|nonna|abuela|landlady|actress|waitress|policewoman|housewife|nun)(?:-in-law)?|m(?:r?s|iss))\b",
    re.IGNORECASE,
)
_MALE_NOUN = compile_on_use(
    r"\A(?:(?:.*(?:brother|father|son)|dad|papa|husband|boyfriend|fiancé|uncle|onkel|nephew|grandpa|grand?dad|opa|nonno|"
    r"abuelo|landlord|actor|waiter|policeman|monk|priest)(?:-in-law)?|mr)\b",
    re.IGNORECASE,
)
_TITLE = "|".join(sorted({*KINSHIP_TITLES, "mum", "mom", "mother", "dad", "father"}, key=len, reverse=True))
# "And his brother?" is about another person, who is not named.
_OF_REFERENT = compile_on_use(rf"\b(?:his|her|their) (?:[a-z]+ )?(?:{_NOUN})\b", re.IGNORECASE)
_OWN_PERSON = compile_on_use(rf"\b(?:my|our|the|an?) (?:[a-z]+ )?({_NOUN})\b|\b({_TITLE})\b", re.IGNORECASE)
_HER, _HIM, _THEM = r"she|hers?", r"he|him|his", r"they|them|theirs?"
_PRONOUN = re.compile(rf"\b(?:({_HER})|({_HIM})|{_THEM})\b", re.IGNORECASE)
_FIRST_PERSON = re.compile(r"\b(?:i|me|my|mine|we|us|our)\b", re.IGNORECASE)
# Who is told something is not asked about: "What did I tell her about my diet?"
_IS_TOLD = re.compile(
    r"\b(?:tell|told|ask(?:ed)?|answer(?:ed)?|remind(?:ed)?) (?:him|her|them)\b|"
    r"\blet (?:him|her|them) know\b",
    re.IGNORECASE,
)
# The subject of a clause beside the question is not either: "What must I avoid when she cooks?"
_BESIDE = re.compile(
    r"\b(?:when(?:ever)?|while|until|before|after|if|in case|because|since|as|so(?: that)?) (?:he|she|they)\b.*",
    re.IGNORECASE,
)
_WHY_ASKED = re.compile(r"(?<!\W)\W+(?:in case|because|since|as|so that) (?:he|she|they)\b.*", re.IGNORECASE)
_NO_NAMES = frozenset({"dr", "mr", "mrs", "ms", "miss", "prof"})
_OTHER_KINDS = frozenset({"place", "organization", "product", "title", "url", "code"})
_OF_USER = re.compile(r"\W*(?:I|My|Mine|We|Our|The user(?:['’]s)?)\b(?!['’]s [a-z])")
_OF_USERS_PERSON = compile_on_use(rf"\W*(?:My|Our|The user['’]s) (?:[a-z]+ )?({_NOUN})\b(?:,? ([A-Z]\w+))?")


class Referent(NamedTuple):
    """The people that a pronoun means."""

    words: frozenset[str] = frozenset()
    """The words for them: names, and nouns such as "sister"."""
    text: str = ""
    """The same as text: "sister Ana"."""
    has_noun: bool = False
    has_name: bool = False
    with_user: bool = False
    """Whether the question also has "I" or "my"."""

    def __bool__(self) -> bool:
        return bool(self.words)

    def is_named_in(self, memory: Memory) -> bool:
        """Whether a memory names them, or was said by them."""
        speaker = memory.turn.speaker if memory.turn is not None else None
        return not self.words.isdisjoint(tokens(f"{memory.text} {speaker or ''}"))


NOBODY = Referent()


class _Person(NamedTuple):
    """A person that a text names, with the noun for them, if there is one."""

    text: str
    noun: str = ""

    def is_of(self, gender: re.Pattern[str]) -> bool:
        return gender.match(self.noun or self.text) is not None


def without_reason(question: str) -> str:
    """A question of the user about themselves, without the reason for which they ask.

    >>> without_reason("What size do I take, in case she asks?"), without_reason("How long since she left?")
    ('What size do I take', 'How long since she left?')
    """
    reason = _WHY_ASKED.search(question)
    is_own = reason is not None and _FIRST_PERSON.search(question, 0, reason.start()) is not None
    return question[: reason.start()] if reason is not None and is_own else question


def find_referent(question: str, turns: Sequence[str]) -> Referent:
    """The people that "he", "she" or "they" in a question means: those whom the last of these turns names that names
    any. Nobody, if the question names somebody itself, or asks about "her brother".

    >>> sorted(find_referent("What could I serve her?", ["A dinner for my sister Ana.", "For eight."]).words)
    ['ana', 'sister']
    >>> find_referent("What must I avoid when she cooks?", ["My sister Ana cooks tonight."]).words
    frozenset()
    """
    with_user = _FIRST_PERSON.search(question) is not None
    asked = _BESIDE.sub("", _IS_TOLD.sub("", question)) if with_user else question
    pronouns = [*_PRONOUN.finditer(asked)]
    if not pronouns or any(_people(question)) or _OF_REFERENT.search(question):
        return NOBODY
    female, male = any(match[1] for match in pronouns), any(match[2] for match in pronouns)
    for turn in reversed(turns):
        people = [
            person
            for person in _people(turn)
            if not (female and person.is_of(_MALE_NOUN)) and not (male and person.is_of(_FEMALE_NOUN))
        ]
        if people:
            text = " ".join(person.text for person in people)
            return Referent(
                frozenset(tokens(text)) - _NO_NAMES,
                text,
                any(person.noun for person in people),
                any(person.text != person.noun for person in people),
                with_user,
            )
    return NOBODY


def _people(text: str) -> Iterator[_Person]:
    """The people that a text names: "my sister Ana" is one of them."""
    names = [name for name in find_names(text, is_question=True) if name.kind not in _OTHER_KINDS]
    for noun in _OWN_PERSON.finditer(text):
        word, start = noun[1] or noun[2], noun.start(1 if noun[1] else 2)
        if any(name.start <= start < name.end and name.text.lower() != word.lower() for name in names):
            continue  # "Uncle Ray" is a name
        after = next((name for name in names if 1 <= name.start - noun.end() <= 2), None)
        names = [name for name in names if name is not after and name.start != start]
        yield _Person(f"{word} {after.text}" if after else word, word)
    yield from (_Person(name.text) for name in names)


def is_about_user(memory: Memory, referent: Referent) -> bool:
    """Whether a memory tells something of the user or of the user's people, and not of the referent."""
    if not _is_by_user(memory) or referent.is_named_in(memory) or not _OF_USER.match(memory.text):
        return False
    own = _OF_USERS_PERSON.match(memory.text)
    return own is None or referent.has_noun or own[2] is not None


def is_about_other(memory: Memory, referent: Referent) -> bool:
    """Whether a memory begins with another name than that of the referent."""
    if not referent.has_name or not _is_by_user(memory) or referent.is_named_in(memory):
        return False
    first = next(iter(find_names(memory.text)), None)
    if first is None or first.start or first.kind in _OTHER_KINDS:
        return False
    return not any(are_nicknames(a, b) for a in first.text.lower().split() for b in referent.text.lower().split())


def _is_by_user(memory: Memory) -> bool:
    """Whether "I" in a memory is the user."""
    return memory.turn is None or memory.turn.speaker in (None, SELF)
