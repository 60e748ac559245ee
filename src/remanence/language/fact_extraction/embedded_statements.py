"""Statements inside of other sentences: after an introduction ("Just so you know, …"), or presupposed ("my son Otis").

1. Words before a colon, a dash or a comma that only speak of telling, knowing or remembering: each of them is in
   `introduction_words` or `telling_words`, and one is in the latter.
2. A main clause that presupposes the next one: "I should mention that my brother …", "I'm so glad we moved".
3. A relation or an attribute inside of a question or a request: "a gift for my nephew Otis, who is seven".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from remanence.language.lexicon.word_lists import CALENDAR_WORDS, compile_pattern, load_words


class IntroducedStatement(NamedTuple):
    """A sentence without its introduction."""

    text: str
    remember_requested: bool = False
    """Whether the speaker asks to remember it."""


def without_introduction(sentence: str) -> IntroducedStatement:
    """The sentence without its introduction.

    >>> without_introduction("One thing you should know about me: I'm colour-blind.")
    IntroducedStatement(text="I'm colour-blind.", remember_requested=False)
    >>> without_introduction("Don't forget: I prefer tea."), without_introduction("My boss told me: no tea.").text
    (IntroducedStatement(text='I prefer tea.', remember_requested=True), 'My boss told me: no tea.')
    >>> without_introduction("I'm so glad we moved to Porto.")
    IntroducedStatement(text='we moved to Porto.', remember_requested=False)
    >>> without_introduction("I should add that Bob is vegan.").text
    'Bob is vegan.'
    """
    match = _HEAD.match(sentence)
    remember = False
    if match and _is_introduction(match["head"]):
        remember = _TO_KEEP.search(match["head"]) is not None
        sentence = sentence[match.end() :]
    frame = _FRAME.match(sentence)
    if frame:
        sentence = sentence[frame.end() :]
        if frame["asked"]:
            sentence = sentence.rstrip("? ")
    return IntroducedStatement(sentence, remember)


def _is_introduction(head: str) -> bool:
    words = [word.replace("’", "'") for word in _WORD.findall(head.lower())]
    return (
        all(word in _INTRODUCTION_WORDS or word in _TELLING_WORDS for word in words)
        and not _TELLING_WORDS.isdisjoint(words)
        and not _OF_OTHERS.search(head)
    )


_INTRODUCTION_WORDS = load_words("introduction_words")
_TELLING_WORDS = load_words("telling_words")
_WORD = re.compile(r"[\w'’]+")
# A head has at most ten words. After a comma a clause with its own subject follows.
_HEAD = re.compile(
    r"\W*(?P<head>[A-Za-z][\w'’-]*\.?(?:[ -][\w'’-]+){0,9}?)(?:\s*[:–—]|\s+-+|(?:\.\.\.|…)|,(?= ))\s+(?=[\w\"'‘“(])"
)
_OF_OTHERS = re.compile(
    r"^(?:you|they|he|she|what|how|who|why|where|when)\b(?! (?:should|may|might|must|ought|need|can|could|know\b))",
    re.IGNORECASE,
)
_TO_KEEP = re.compile(r"\b(?:remember|forget|note|mind|down|save|important|reference)\b", re.IGNORECASE)
_FRAME = compile_pattern("telling_frame", re.IGNORECASE)


class Presupposition(NamedTuple):
    """A statement that a text takes for granted, with the name of the person or the role of the speaker."""

    name: str
    statement: str


def find_presuppositions(text: str) -> Iterator[Presupposition]:
    """The relations of the speaker to the people in a text, and the clauses about them.

    >>> [one.statement for one in find_presuppositions("Where could my partner Anselm, who uses a wheelchair, park?")]
    ['Anselm is my partner', 'Anselm uses a wheelchair']
    >>> [one.statement for one in find_presuppositions("Need a text for Paula, my best friend since school.")]
    ['Paula is my best friend since school']
    >>> [one.statement for one in find_presuppositions("As a vegetarian, what can I eat in Prague?")]
    ['I am a vegetarian']
    """
    own = _ROLE_OF_SPEAKER.match(text)
    if own:
        yield Presupposition(own["role"], f"I am {own['role']}")
    for pattern in (_RELATIVE_NAMED, _NAMED_RELATIVE):
        for match in pattern.finditer(text):
            if match["name"].lower() not in CALENDAR_WORDS:
                yield Presupposition(match["name"], f"{match['name']} is {match['role'].lower()}")
    for match in _WHO.finditer(text):
        verb = "is" if match["verb"] in ("'s", "’s") else match["verb"].strip()
        yield Presupposition(match["name"], f"{match['name']} {verb} {match['rest']}")


_ROLE_OF_SPEAKER = compile_pattern("role_of_speaker")
_RELATIVE_NAMED = compile_pattern("relative_with_name")
_NAMED_RELATIVE = compile_pattern("name_with_relative")
_WHO = compile_pattern("name_with_clause")
