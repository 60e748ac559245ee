"""The phrases of a statement about a thing: its words, its subject, its objects and times.

A subject is a name ("Stripe"), an identifier ("billing-api") or a definite description ("the launch", "our staging
cluster"). An object is a noun phrase up to the next preposition, conjunction or comma.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from remanence.language.rules.lexicon import (
    PLURAL_RELATIONSHIP_NOUNS,
    RELATIONSHIP_NOUNS,
    compile_pattern,
    load_words,
    word_set,
)
from remanence.language.rules.verb_forms import BASE_FORMS, PARTICIPLES, PAST_FORMS, PRESENT_FORMS

BE = word_set("is are was were")
HAVE = word_set("has have had")
PREPOSITIONS = word_set(
    "in on at to from by with for as into onto under behind through via over inside within between against about"
    " across above below near around toward towards without using"
)
ADVERBS = load_words("thing_adverbs")
_MODALS = word_set("will would can could may might must shall should cannot")
_NO_SUBJECT = load_words("no_thing_subjects")
_INSIDE_SUBJECT = word_set("of for with in at from on")
_ARTICLES = word_set("the our a an")
_PLURALS = word_set("people data staff children men women police media criteria")
_OBJECT_STOPS = load_words("thing_object_stops") | PREPOSITIONS | ADVERBS | BE | HAVE | _MODALS
_EMPTY_OBJECTS = load_words("empty_thing_objects")
_UNCLEAR_OWNERS = word_set("its their his her your whose this that these those some any no another other such")
_MAX_SUBJECT_WORDS, _MAX_OBJECT_WORDS = 7, 7
_IDENTIFIER = re.compile(r"`[^`]+`|(?=[\w./-]*[a-z])(?:[A-Za-z0-9]+[-_./:@])+[A-Za-z0-9]+|[a-z]+\d\w*|[a-z]+[A-Z]\w*")
_WORD = re.compile(r"`[^`\n]+`|[^\s,;:()\"“”…—–!?\[\]{}]+(?::\d+)?|[,;:()\"“”…—–!?\[\]{}]")
_TIME = compile_pattern("thing_time", re.IGNORECASE)
PUNCTUATION = frozenset(',;:()"“”…—–!?[]{}')


class Word(NamedTuple):
    """A word or a punctuation mark of a sentence, and its position in the text."""

    text: str
    lower: str
    start: int
    end: int


class Phrase(NamedTuple):
    """A noun phrase, and the index of the word after it."""

    text: str
    next: int
    is_time: bool = False
    is_indefinite: bool = False


class Subject(NamedTuple):
    """The subjects of a clause (several where "and" joins them), and the index of its verb."""

    names: tuple[str, ...]
    verb: int


def split_words(text: str, start: int, end: int) -> list[Word]:
    """The words of a part of the text; an ending full stop is no part of the last one."""
    words = []
    for found in _WORD.finditer(text, start, end):
        begin, stop = found.span()
        word = found.group()
        if stop >= end - 1 and word[-1] == "." and len(word) > 1:
            word, stop = word[:-1], stop - 1
        if word != ".":
            words.append(Word(word, word.lower(), begin, stop))
    return words


def is_identifier(word: str) -> bool:
    """Whether a word is written as names in code are.

    >>> [word for word in ("billing-api", "eu-west-1", "user_id", "k8s", "launch", "2026-05-01") if is_identifier(word)]
    ['billing-api', 'eu-west-1', 'user_id', 'k8s']
    """
    return _IDENTIFIER.fullmatch(word) is not None


def subject_at(words: Sequence[Word], at: int, text: str) -> Subject | None:
    """The subject that begins at a word, up to the verb that agrees with it."""
    if at >= len(words):
        return None
    first = words[at].lower
    has_article = first in ("the", "our")
    begin = at + has_article
    if begin >= len(words) or words[begin].lower in _NO_SUBJECT or words[begin].text in PUNCTUATION:
        return None
    joints: list[int] = []
    for place in range(begin, min(begin + _MAX_SUBJECT_WORDS, len(words))):
        lower = words[place].lower
        if place > begin and _is_verb(words, place, is_plural=bool(joints)):
            return _subject(words, at, begin, place, joints, text)
        if lower in _MODALS or words[place].text in PUNCTUATION:
            return None
        if lower == "and":
            joints.append(place)
        elif place > begin and lower in _INSIDE_SUBJECT | _ARTICLES:
            continue
        elif lower in _NO_SUBJECT or lower in ADVERBS or lower in PREPOSITIONS:
            if lower not in ADVERBS:
                return None
    return None


def _subject(
    words: Sequence[Word], at: int, begin: int, verb: int, joints: Sequence[int], text: str
) -> Subject | None:
    """The subject before a verb; adverbs before the verb are no part of it."""
    parts: list[str] = []
    starts = [begin, *(joint + 1 for joint in joints)]
    stops = [*joints, verb]
    for start, stop in zip(starts, stops, strict=True):
        while stop > start and words[stop - 1].lower in ADVERBS:
            stop -= 1
        while start < stop and words[start].lower in _ARTICLES:
            start += 1
        if start >= stop or not _may_be_subject(words[start:stop]):
            return None
        parts.append(text[words[start].start : words[stop - 1].end].strip("`"))
    return Subject(tuple(parts), verb)


def _may_be_subject(words: Sequence[Word]) -> bool:
    heads = [index for index, word in enumerate(words) if word.lower in _INSIDE_SUBJECT]
    head = words[heads[0] - 1 if heads else -1].lower
    if heads and (heads[0] == 0 or heads[-1] == len(words) - 1):
        return False
    return not (
        head in RELATIONSHIP_NOUNS
        or head in PLURAL_RELATIONSHIP_NOUNS
        or head in ("user", "users", "assistant")
        or head in _EMPTY_OBJECTS
        or head.endswith("ing") and len(words) > 1 and words[0].lower.endswith("ing")
    )


def _is_verb(words: Sequence[Word], at: int, *, is_plural: bool) -> bool:
    """Whether the word is the finite verb of the subject before it."""
    lower = words[at].lower
    if words[at].text != lower:
        return False
    if lower in BE or lower in HAVE:
        return True
    before = words[at - 1].lower
    if before in _INSIDE_SUBJECT or before in _ARTICLES or before == "and":
        return False
    after = words[at + 1].lower if at + 1 < len(words) else ""
    if lower in PRESENT_FORMS:
        # "the tests run", "the builds are": then this is a plural noun
        return not (after in ("are", "were", "have") or after in BASE_FORMS or (after in PAST_FORMS and after not in PARTICIPLES))
    if lower in PAST_FORMS:
        return True
    if lower in BASE_FORMS:
        plural = is_plural or before in _PLURALS or (before.endswith("s") and not before.endswith(("ss", "us", "is")))
        return plural and after not in PRESENT_FORMS and after not in BE and after not in HAVE
    return False


def time_at(words: Sequence[Word], at: int, text: str) -> Phrase | None:
    """The time that begins at a word: "12 May", "next Friday", "the end of June", "3 pm", "Q3"."""
    if at >= len(words):
        return None
    found = _TIME.match(text, words[at].start)
    if found is None:
        return None
    following = next((index for index in range(at, len(words)) if words[index].start >= found.end()), len(words))
    if words[following - 1].end > found.end():
        return None
    return Phrase(found.group().strip(), following, is_time=True)


def phrase_at(words: Sequence[Word], at: int, text: str) -> Phrase | None:
    """The noun phrase that begins at a word, without its article; None if it says nothing by itself."""
    begin = at
    if begin < len(words) and words[begin].text in "\"“" and len(words[begin].text) == 1:
        return _quoted_at(words, begin, text)
    is_indefinite = begin < len(words) and words[begin].lower in ("a", "an")
    if begin < len(words) and words[begin].lower in _ARTICLES:
        begin += 1
    stop = begin
    while stop < len(words) and stop - begin < _MAX_OBJECT_WORDS + 1:
        lower = words[stop].lower
        if words[stop].text in PUNCTUATION:
            break
        if lower == "of" and stop > begin:
            stop += 1
            if stop < len(words) and words[stop].lower in _ARTICLES:
                stop += 1
            continue
        if lower in _OBJECT_STOPS and not (lower == "per" and stop > begin):
            break
        stop += 1
    if stop <= begin or stop - begin > _MAX_OBJECT_WORDS:
        return None
    chosen = words[begin:stop]
    last, first = chosen[-1].lower, chosen[0].lower
    if last == "of" or last in _EMPTY_OBJECTS or first in _UNCLEAR_OWNERS or first in _EMPTY_OBJECTS:
        return None
    return Phrase(text[chosen[0].start : chosen[-1].end].strip("`"), stop, is_indefinite=is_indefinite)


def _quoted_at(words: Sequence[Word], at: int, text: str) -> Phrase | None:
    close = next((index for index in range(at + 1, min(at + 10, len(words))) if words[index].text in '"”'), None)
    if close is None or close == at + 1:
        return None
    return Phrase(text[words[at + 1].start : words[close - 1].end].rstrip("."), close + 1)
