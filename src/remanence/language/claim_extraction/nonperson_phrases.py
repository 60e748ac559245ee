"""The phrases of a statement about a thing: its words, its subject, its objects and times.

A subject is a name ("Stripe"), an identifier ("billing-api") or a definite description ("the launch", "our staging
cluster"). An object is a noun phrase up to the next preposition, conjunction or comma.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from remanence.language.lexicon.verb_forms import BASE_FORMS, GERUNDS, PARTICIPLES, PAST_FORMS, PRESENT_FORMS
from remanence.language.lexicon.word_lists import (
    FIRST_NAMES,
    HONORIFICS,
    KINSHIP_TITLES,
    PLURAL_RELATIONSHIP_NOUNS,
    RELATIONSHIP_NOUNS,
    compile_pattern,
    is_common_word,
    load_words,
    word_set,
)

BE = word_set("is are was were")
EQUALS = frozenset(("=", "→", "->", "=>"))
HAVE = word_set("has have had")
GET = word_set("get gets got")
PREPOSITIONS = word_set(
    "in on at to from by with for as into onto under behind through via over inside within between against about"
    " across above below near around toward towards using every"
)
ADVERBS = load_words("thing_adverbs")
PUNCTUATION = frozenset((*',;:()"“”…—–!?[]{}', "-", "--", "/"))
_MODALS = word_set("will would can could may might must shall should cannot")
NO_SUBJECT = load_words("no_thing_subjects")
_INSIDE_SUBJECT = word_set("of for with in at from on by to between behind under")
_NAMING = word_set("called named dubbed nicknamed")
_ARTICLES = word_set("the our a an")
_GROUPS = frozenset().union(
    *map(load_words, ("groups", "workplaces", "work_fields", "organization_words", "place_heads"))
)
_PLURALS = word_set("people data staff children men women police media criteria")
_OBJECT_STOPS = load_words("thing_object_stops") | PREPOSITIONS | ADVERBS | BE | HAVE | _MODALS
_EMPTY_OBJECTS = load_words("empty_thing_objects")
_UNCLEAR_OWNERS = word_set("its their his her your whose this that these those some any no another other such")
_ROUGHLY = word_set("about roughly around approximately some nearly over almost circa exactly just")
_OR_MORE = word_set("later newer higher above more less lower older earlier below")
_UNITS = word_set("second minute hour day week month quarter year night seat user person unit key head")
_PLACING_GERUNDS = word_set("sitting running living hosted residing using serving based located standing hanging lying")
_FUTURE_VERBS = word_set("be take start begin end happen launch open close expire ship occur finish")
_NOT_ADVERBS = word_set(
    "reply supply family assembly july apply rely italy early daily weekly monthly hourly nightly"
    " yearly quarterly friendly only"
)
_NUMBERS = word_set(
    "one two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty hundred thousand"
)
_PRONOUN_CONTRACTION = re.compile(r"(?:i|you|he|she|it|we|they|that|there|what|who|here|let)['’`](?:s|m|re|ve|ll|d)\b")
_PLURAL_NOUNS = load_words("plural_nouns_like_verbs")
_MAX_SUBJECT_WORDS = 8
_MAX_OBJECT_WORDS = 7
_WORD = re.compile(r"`[^`\n]+`|[^\s,;:()\"“”…—–!?\[\]{}]+(?:[:,]\d+)*|[,;:()\"“”…—–!?\[\]{}]")
_IDENTIFIER = re.compile(
    r"`[^`]+`|(?=[\w./:@-]*[a-z])(?:[A-Za-z0-9]+[-_./:@])+[A-Za-z0-9]+|[a-z]+\d\w*|[a-z]+[A-Z]\w*|#[\w-]+"
)
_LABELLED = re.compile(r"(?=[\w./:@-]*[-_./:@])(?=[\w./:@-]*[a-z])[\w./:@-]+")
_TIME = compile_pattern("thing_time", re.IGNORECASE)


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
    is_indefinite: bool = False


class Subject(NamedTuple):
    """The subjects of a clause (several where "and" joins them), and the index of its verb.

    `insertion` is the range of the words between two commas after the subject, if there are any.
    """

    names: tuple[str, ...]
    verb: int
    insertion: tuple[int, int] | None = None
    is_definite: bool = False


def split_words(text: str, start: int, end: int) -> list[Word]:
    """The words of a part of the text; an ending full stop is not part of the last one."""
    words = []
    for match in _WORD.finditer(text, start, end):
        begin, stop = match.span()
        word = match.group()
        if word[-1] == "." and (stop >= end - 1 or len(word) > 4):
            word, stop = word[:-1], stop - 1
        if word:
            words.append(Word(word, word.lower(), begin, stop))
    return words


def is_identifier(word: str) -> bool:
    """Whether a word is written as names in code are.

    >>> [word for word in ("billing-api", "eu-west-1", "user_id", "k8s", "launch", "2026-05-01") if is_identifier(word)]
    ['billing-api', 'eu-west-1', 'user_id', 'k8s']
    """
    return _IDENTIFIER.fullmatch(word) is not None


def is_adverb(words: Sequence[Word], at: int) -> bool:
    """Whether this word of a sentence is an adverb: "usually", but not "Calendly" in "Acme uses Calendly"."""
    text, word, *_ = words[at]
    if word in ADVERBS or not (word.endswith("ly") and len(word) > 4 and word.isalpha()):
        return word in ADVERBS
    return word not in _NOT_ADVERBS and (at == 0 or not text[0].isupper())


def skip_adverbs(words: Sequence[Word], at: int) -> int:
    while at < len(words) and is_adverb(words, at):
        at += 1
    return at


def names_something(phrase: str) -> bool:
    """Whether a phrase is specific: it has a name, an identifier or a number."""
    return any(
        word[0].isupper() or word[0].isdigit() or word[0] in "$€£#" or word in _NUMBERS or is_identifier(word)
        for word in phrase.split()
    )


def subject_at(words: Sequence[Word], at: int, text: str) -> Subject | None:
    """The subject that begins at a word, up to the verb that agrees with it."""
    begin = at + (at < len(words) and words[at].lower in ("the", "our"))
    if begin >= len(words) or words[begin].lower in NO_SUBJECT or words[begin].text in PUNCTUATION:
        return None
    conjunctions: list[int] = []
    for i in range(begin, min(begin + _MAX_SUBJECT_WORDS, len(words))):
        lower = words[i].lower
        if i > begin and is_verb(words, i, is_plural=bool(conjunctions)):
            return _subject(words, begin, i, conjunctions, text, is_definite=begin > at)
        if i > begin and lower == ",":
            return _subject_with_insertion(words, begin, i, text, is_definite=begin > at)
        if lower == "and":
            conjunctions.append(i)
        elif (
            i > begin
            and lower == "("
            and (words[i - 1].text.islower() or (i + 1 < len(words) and words[i + 1].text.islower()))
        ):
            return _subject_with_insertion(words, begin, i, text, is_definite=begin > at)
        elif lower in _MODALS or words[i].text in PUNCTUATION or _PRONOUN_CONTRACTION.match(lower):
            return None
        elif i > begin and (lower in _INSIDE_SUBJECT or lower in _ARTICLES or is_adverb(words, i)):
            continue
        elif lower in NO_SUBJECT or lower in PREPOSITIONS:
            return None
    return None


def _subject_with_insertion(
    words: Sequence[Word], begin: int, comma: int, text: str, *, is_definite: bool
) -> Subject | None:
    """A subject with an insertion: "the worker, written in Elixir, handles …", "the worker (a job) handles …"."""
    closing = ")" if words[comma].text == "(" else ","
    for close in range(comma + 2, min(comma + 12, len(words))):
        if words[close].text == closing:
            verb = skip_adverbs(words, close + 1)
            if verb < len(words) and is_verb(words, verb, before=words[comma - 1].lower):
                subject = _subject(words, begin, comma, [], text, is_definite=is_definite)
                return None if subject is None else subject._replace(verb=verb, insertion=(comma + 1, close))
            return None
        if words[close].text in PUNCTUATION and closing == ",":
            return None
    return None


def _subject(
    words: Sequence[Word], begin: int, verb: int, conjunctions: Sequence[int], text: str, *, is_definite: bool
) -> Subject | None:
    """The subject before a verb; adverbs before the verb are not part of it."""
    parts: list[str] = []
    for start, stop in zip(
        [begin, *(conjunction + 1 for conjunction in conjunctions)], [*conjunctions, verb], strict=True
    ):
        while stop > start and is_adverb(words, stop - 1):
            stop -= 1
        while start < stop and words[start].lower in _ARTICLES:
            start += 1
        if start >= stop or not _may_be_subject(words[start:stop], is_definite=is_definite):
            return None
        if stop - start > 1 and _is_label(words[stop - 1].text) and words[stop - 2].lower not in _INSIDE_SUBJECT:
            start = stop - 1  # the job cleanup-tmp
        parts.append(text[words[start].start : words[stop - 1].end].strip("`"))
    return Subject(tuple(parts), verb, is_definite=is_definite)


def _may_be_subject(words: Sequence[Word], *, is_definite: bool) -> bool:
    inside = [index for index, word in enumerate(words) if word.lower in _INSIDE_SUBJECT]
    if inside and (inside[0] == 0 or inside[-1] == len(words) - 1):
        return False
    head = words[inside[0] - 1 if inside else -1].lower
    if head in PLURAL_RELATIONSHIP_NOUNS or head in _EMPTY_OBJECTS:
        return False
    if head in RELATIONSHIP_NOUNS and not (is_definite and is_of_group(" ".join(word.lower for word in words))):
        return False
    if words[0].text.endswith(("'s", "’s")) and any(
        one.lower in RELATIONSHIP_NOUNS and other.text[:1].isupper() for one, other in pairwise(words)
    ):
        return False  # the user's brother Sam
    if len(words) > 1 and words[0].lower.endswith("ing") and not is_definite and words[0].lower in GERUNDS:
        return False  # "making choices": somebody does so
    return head not in ("user", "users", "assistant") and "'" not in words[-1].text.removesuffix("'s")


def is_surely_person(name: str, kinds: Mapping[str, str]) -> bool:
    """Whether this is surely a person, by the kinds of the names in the text. A firm may have the verbs of one too."""
    first = name.partition(" ")[0].lower().rstrip(".").removesuffix("'s").removesuffix("’s")
    return (first in FIRST_NAMES and not name.islower()) or (
        kinds.get(name) == "person" and first in HONORIFICS | KINSHIP_TITLES
    )


def is_of_group(description: str) -> bool:
    """Whether this is somebody or an animal of a group or a place, not of a person.

    >>> is_of_group("office dog"), is_of_group("project manager"), is_of_group("older brother")
    (True, True, False)
    """
    owner, _, head = description.rpartition(" ")
    owner = owner.rpartition(" ")[2].removesuffix("'s").removesuffix("’s")
    return owner in _GROUPS and head in RELATIONSHIP_NOUNS


def is_verb(words: Sequence[Word], at: int, *, is_plural: bool = False, before: str | None = None) -> bool:
    """Whether the word is the finite verb of the subject before it."""
    if at >= len(words):
        return False
    lower = words[at].lower
    if lower in EQUALS:
        return True
    if words[at].text != lower:
        return False
    if lower == "can":
        return at + 2 < len(words) and words[at + 1].lower == "be" and words[at + 2].lower in PARTICIPLES
    if lower == "will":
        return at + 1 < len(words) and words[at + 1].lower in _FUTURE_VERBS
    if lower in BE or lower in HAVE or lower in ("gets", "got"):
        return True
    before = before or words[at - 1].lower
    if before in _INSIDE_SUBJECT or before in _ARTICLES or before == "and":
        return False
    after = words[at + 1].lower if at + 1 < len(words) else ""
    if after == "of" and lower not in ("consists", "consisted"):
        return False  # "small acts of love"
    if lower in PRESENT_FORMS:  # in "the tests run", "the builds are" it is a plural noun
        base_follows = after in BASE_FORMS and lower in _PLURAL_NOUNS
        return not (after in BE or after in HAVE or after == "get" or base_follows or _disagrees(words[at - 1]))
    if lower in PAST_FORMS:
        return True
    if lower in BASE_FORMS or lower == "get":
        plural = (
            is_plural
            or before in _PLURALS
            or (before.endswith("s") and not before.endswith(("ss", "us", "is", "'s", "’s")))
        )
        return plural and after not in PRESENT_FORMS and after not in BE and after not in HAVE
    return False


def _disagrees(noun: Word) -> bool:
    """Whether a noun is surely a plural, to which "stocks" and "books" are not verbs."""
    return noun.text.islower() and noun.lower.endswith("s") and not noun.lower.endswith(("ss", "us", "is", "ws", "cs"))


def time_at(words: Sequence[Word], at: int, text: str) -> Phrase | None:
    """The time that begins at a word: "12 May", "next Friday", "the end of June", "3 pm", "Q3"."""
    if at >= len(words):
        return None
    match = _TIME.match(text, words[at].start)
    if match is None:
        return None
    end = match.end() - (text[match.end() - 1] == ".")
    following = next((index for index in range(at, len(words)) if words[index].start >= end), len(words))
    return None if words[following - 1].end > end else Phrase(text[match.start() : end].strip(), following)


def phrase_at(words: Sequence[Word], at: int, text: str) -> Phrase | None:
    """The noun phrase that begins at a word, without its article; None if it says nothing by itself."""
    begin = at
    if begin < len(words) and words[begin].text in ('"', "“"):
        return _quoted_at(words, begin, text)
    is_indefinite = begin < len(words) and words[begin].lower in ("a", "an")
    while begin < len(words) and words[begin].lower in _ARTICLES | _ROUGHLY:
        begin += 1
    stop = _phrase_end(words, begin)
    if stop <= begin or stop - begin > _MAX_OBJECT_WORDS:
        return None
    last, first = words[stop - 1].lower, words[begin].lower
    if last == "of" or last in _EMPTY_OBJECTS or first in _UNCLEAR_OWNERS:
        return None
    if first in _EMPTY_OBJECTS and not (first in ("all", "most", "long", "short", "high", "low") and stop - begin > 1):
        return None
    if first in GERUNDS and stop - begin == 1:
        return None
    begin = _own_name(words, begin, stop, is_described=begin > at)
    return Phrase(text[words[begin].start : words[stop - 1].end].strip("`"), stop, is_indefinite)


def _is_label(word: str) -> bool:
    """Whether a word is the name of something in code; "go-live" is made of ordinary words."""
    return _LABELLED.fullmatch(word) is not None and not all(map(is_common_word, word.lower().split("-")))


def _own_name(words: Sequence[Word], begin: int, stop: int, *, is_described: bool) -> int:
    """Where the name begins in a phrase that first tells what it is: "the bucket tf-state", "the startup Geolith", "a
    bucket called tf-state". An abbreviation at the end is a kind of thing: "the partner API"."""
    for i in range(begin + 1, stop - 1):
        if words[i].lower in _NAMING:
            return i + 1
    if stop - begin < 2 or not words[begin].text.islower():
        return begin
    if _is_label(words[stop - 1].text):
        return begin if words[stop - 2].lower == "of" else stop - 1
    name = stop
    while name > begin and (_is_capitalized(words[name - 1]) or _is_inside_name(words, name - 1, stop)):
        name -= 1
    return name if is_described and name < stop else begin


def _is_capitalized(word: Word) -> bool:
    return word.text[0].isupper() and not word.text.isupper()


def _is_inside_name(words: Sequence[Word], at: int, stop: int) -> bool:
    """Whether this is the "of" of "United States of America"."""
    return words[at].lower == "of" and at + 1 < stop and at > 0 and _is_capitalized(words[at - 1])


def _phrase_end(words: Sequence[Word], begin: int) -> int:
    stop = begin
    while stop < len(words):
        lower = words[stop].lower
        if words[stop].text in PUNCTUATION or words[stop].text in EQUALS:
            break
        if lower == "or" and stop > begin and stop + 1 < len(words) and words[stop + 1].lower in _OR_MORE:
            stop += 2
            continue
        if lower.endswith(("n't", "n’t")):
            return begin  # "libvips and won't build" is not a list
        if stop > begin and lower in ("a", "an", "per") and stop + 1 < len(words) and words[stop + 1].lower in _UNITS:
            stop += 2
        elif lower == "of" and stop > begin:
            stop += 1
            if stop < len(words) and words[stop].lower in _ARTICLES:
                stop += 1
        elif stop > begin and lower in _NAMING and stop + 1 < len(words) and words[stop + 1].text not in PUNCTUATION:
            stop += 2
        elif stop > begin and lower in PARTICIPLES and _precedes_preposition(words, stop):
            break  # an alliance created by
        elif (
            lower in _OBJECT_STOPS
            or (lower.endswith("ly") and is_adverb(words, stop))
            or (stop > begin and lower in _PLACING_GERUNDS and _precedes_preposition(words, stop))
        ):
            break
        else:
            stop += 1
    return stop


def _precedes_preposition(words: Sequence[Word], at: int) -> bool:
    return at + 1 < len(words) and words[at + 1].lower in PREPOSITIONS


def _quoted_at(words: Sequence[Word], at: int, text: str) -> Phrase | None:
    close = next((index for index in range(at + 1, min(at + 10, len(words))) if words[index].text in ('"', "”")), None)
    if close is None or close == at + 1:
        return None
    return Phrase(text[words[at + 1].start : words[close - 1].end].rstrip("."), close + 1)


def is_bare_noun(name: str) -> bool:
    """Whether this is a singular noun that would have an article, were it not clear from before what is meant."""
    words = name.lower().split()
    return not name.endswith("s") and PREPOSITIONS.isdisjoint(words) and all(map(str.isalpha, words))
