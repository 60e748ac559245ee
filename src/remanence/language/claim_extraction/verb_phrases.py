"""The verb phrases that make a claim, and the objects that they take.

To read more phrases, add a line to verb_phrases.txt, which also explains the object types. The phrases are
looked up by their first two words, so a longer table costs no time.
"""

from __future__ import annotations

import re
from itertools import product
from typing import NamedTuple

from remanence.language.claim_extraction import claim_phrases
from remanence.language.claim_extraction.claim_phrases import (
    NamesByStart,
    ObjectPhrase,
    name_at,
    name_list_from,
    plain_words_at,
    role_at,
)
from remanence.language.lexicon import word_lists
from remanence.language.lexicon.word_lists import (
    PLURAL_RELATIONSHIP_NOUNS,
    compile_on_use,
    compile_pattern,
    load_pattern,
    load_words,
    word_set,
)
from remanence.language.named_entities.name_spans import NameSpan
from remanence.schema import SELF, Triple

PREDICATE_NOUNS = load_words("predicate_nouns")
"""In "plays the position of center" or "is located in the continent of Asia" this noun is the predicate."""

_PLACE_NOUNS = "city|country|county|island|municipality|province|region|state|town|village"
_PREDICATE_NOUN = compile_pattern("predicate_noun_phrase")
_WORK_CITY = re.compile(r" work(?:s|ed) in the city of ")
_MAX_PREDICATE_NOUN = 100
"""Within how many characters after the verb the "of" of such a noun is looked for. In the whole rest of a text, time
would grow with the square of its length."""
_ADVERBS = load_words("adverbs")
_FIRST_WORD = compile_pattern("first_word_after_subject")
_ADVERB_INSIDE = r"(?: (?:currently|now|also|still|originally|really)(?= ))?"  # is currently living in
_SECOND_WORD = re.compile(rf"{_ADVERB_INSIDE} ([A-Za-z][\w'’-]*)")
_PREDICATE_NOUN_VERBS = word_set("is was are were play plays speak speaks work works worked practices practises")


class VerbMatch(NamedTuple):
    """A verb phrase in a text: its predicate, the type of its object, and where the object begins."""

    predicate: str
    object_type: str
    end: int


def may_open_claim(text: str, start: int) -> bool:
    """Whether the word after a subject that ends at `start` can begin a claim. A fast test; most words cannot."""
    if text[start] != " ":
        return True
    stop = text.find(" ", start + 1)
    return text[start + 1 : stop if stop > 0 else None] in _OPENING_WORDS


def verb_at(text: str, start: int) -> VerbMatch | None:
    """The verb phrase at `start`, which is where a subject ends.

    >>> verb_at("Alice now lives in Porto.", 5)
    VerbMatch(predicate='lives_in', object_type='name', end=19)
    >>> verb_at("Thomas Kyd was born in the city of London.", 10)
    VerbMatch(predicate='born_in', object_type='name', end=35)
    """
    first = _FIRST_WORD.match(text, start)
    if first is None:
        return None
    by_second_word = _TABLE.get(first[1].replace("’", "'"))
    if by_second_word is None:
        return None
    if first[1] in _PREDICATE_NOUN_VERBS and text.find(" of ", first.end(), first.end() + _MAX_PREDICATE_NOUN) >= 0:
        noun = _PREDICATE_NOUN.match(text, start)
        if noun:
            return VerbMatch(noun[1], "plain_words", noun.end())
        work_city = _WORK_CITY.match(text, start)
        if work_city:
            return VerbMatch("work_city", "name", work_city.end())
    second = _SECOND_WORD.match(text, first.end())
    for word in (second[1], "") if second else ("",):
        if word in by_second_word:
            pattern, meanings = by_second_word[word]
            rest = pattern.match(text, first.end())
            if rest is not None and rest.lastindex is not None:
                return VerbMatch(*meanings[rest.lastindex - 1], rest.end())
    return None


_Phrases = tuple[re.Pattern[str], list[tuple[str, str]]]
"""A pattern for what follows the first word, and the predicate and object type of each of its groups."""


def _load_table() -> dict[str, dict[str, _Phrases]]:
    """The phrases by their first and second word; the second is "" where there is none."""
    phrases: dict[str, dict[str, list[tuple[str, str, str]]]] = {}
    for line in word_lists.data_lines("verb_phrases.txt"):
        slots, _, meaning = line.partition(" = ")
        predicate, object_type = meaning.split()
        for words in product(*(slot.split("/") for slot in slots.split(" + "))):
            first, _, rest = " ".join(words).partition(" ")
            same_words = phrases.setdefault(first, {}).setdefault(rest.partition(" ")[0], [])
            same_words.append((rest, predicate.format(*words[1:2]), object_type))
    return {first: {second: _compile(same) for second, same in seconds.items()} for first, seconds in phrases.items()}


def _compile(phrases: list[tuple[str, str, str]]) -> _Phrases:
    longest_first = sorted(phrases, key=lambda phrase: -len(phrase[0]))  # "is a fan of" before "is a"
    options = "|".join(f"( {rest})" if rest else "()" for rest, _, _ in longest_first)
    pattern = compile_on_use(rf"{_ADVERB_INSIDE}(?:{options})\b(?: the (?:{_PLACE_NOUNS}) of(?= )| the(?= ))? ?")
    return pattern, [(predicate, object_type) for _, predicate, object_type in longest_first]


_TABLE = _load_table()
_OPENING_WORDS = frozenset(_TABLE) | _ADVERBS | word_set("is are was were am became named broke split")

_LIST_PREDICATES = word_set("likes loves hates dislikes allergic_to plays visited")
_YEAR_OR_DATE = re.compile(rf",? (?:on|in) (?:the )?((?:{load_pattern('dates')})|\d{{4}})(?![\w-])")
_SECOND_OBJECT = {  # what a claim can go on with, and the predicate of the second claim
    "born_on": (re.compile(r",? in (?:the )?"), "born_in"),
    "died_on": (re.compile(r",? in (?:the )?"), "died_in"),
    "studies": (re.compile(r" at (?:the )?"), "studies_at"),
    "studied": (re.compile(r" (?:from|at) (?:the )?"), "graduated_from"),
    "moved_from": (re.compile(r" (?:back )?to (?:the )?"), "moved_to"),
    "switched_from": (re.compile(r" (?:back |over )?to (?:the )?"), "switched_to"),
    "left": (re.compile(rf"[^.;,!?]{{0,30}}? (?:{load_pattern('to_join')}) (?:the )?"), "joined"),
}
_CAPITALIZED = re.compile(r"[A-Z][\w+#-]*(?: [A-Z0-9][\w+#-]*){0,2}")
_ACTIVITY = re.compile(r"([a-z]+(?: [\w'’&-]+){0,7}?)(?=[.;:!,\n)]|$| (?:but|because|so|since)\b| and I\b)")
_PROFESSION = compile_pattern("profession")
_WORD = re.compile(r"\w+")
_MORE_LANGUAGES = re.compile(r"(?:(?:,|,? and) (?:(?:a little|a bit of|some|also) )?[A-Z][a-z]+){1,6}")
_COUNT = compile_pattern("count_before_noun")
_AND_COUNT = re.compile(rf",? and (?=(?:{load_pattern('counts')}) [a-z])")
_NAMED = re.compile(r" (?:named|called) ")
_NAMED_OR_COMMA = re.compile(r"(?: (?:named|called)|,|:) ")
_OBJECT_PATTERNS = {
    "profession": _PROFESSION,
    "number": compile_pattern("years_of_age"),
    "work_field": compile_pattern("work_field"),
    "workplace": compile_pattern("workplace"),
}
_YEAR = re.compile(rf"((?:(?:{load_pattern('months')})(?: of)? )?(?:19|20)\d\d)(?![\w-])")
_RELATIVE = re.compile(rf" (?:[a-z]+ )?({load_pattern('any_relationship')})\b(?!['’])")
_NOT_POSSESSIONS = load_words("not_possessions")
_EMPTY_ACTIVITIES = load_words("empty_activities")


def object_at(text: str, verb: VerbMatch, subject: NameSpan, names: NamesByStart) -> ObjectPhrase | None:
    """The object after the verb, if it has the type that the verb takes.

    >>> text = "Bob likes hiking, long walks and chess."
    >>> object_at(text, VerbMatch("likes", "plain_words", 10), NameSpan("Bob", "person", 0, 3), {}).values
    ('hiking', 'long walks', 'chess')
    """
    at = verb.end
    if verb.object_type in ("name", "place", "person", "plain_words"):
        return _name_or_plain_words(text, verb, subject, names)
    if verb.object_type == "language":
        return _languages_at(text, at)
    if subject.kind != "person":
        return None
    if verb.object_type in _OBJECT_PATTERNS:
        return claim_phrases.first_group(_OBJECT_PATTERNS[verb.object_type].match(text, at))
    if verb.object_type == "counted":
        count = _COUNT.match(text, at)
        thing = plain_words_at(text, count.end(), "has") if count else None
        return thing if thing and _NOT_POSSESSIONS.isdisjoint(thing.values[0].lower().split()) else None
    activity = _ACTIVITY.match(text, at)
    return (
        claim_phrases.first_group(activity) if activity and activity[1].split(" ")[0] not in _EMPTY_ACTIVITIES else None
    )


def following_claims(text: str, at: int, claim: Triple, names: NamesByStart) -> tuple[list[Triple], int]:
    """The claims that follow a claim that ends at `at`: "a nurse *at IBM*", "born … *in Rome*".

    >>> text = "Bob was born on 3 May 1990 in Rome."
    >>> rome = NameSpan("Rome", "place", 30, 34)
    >>> [str(more) for more in following_claims(text, 26, Triple("Bob", "born_on", "3 May 1990"), {30: rome})[0]]
    ['Bob —born_in→ Rome']
    """
    subject, predicate = claim.subject, claim.predicate
    if predicate == "has":
        return _possessions(text, at, claim, names)
    if predicate in ("born_in", "died_in"):
        date = _YEAR_OR_DATE.match(text, at)
        return ([Triple(subject, f"{predicate[:4]}_on", date[1])], date.end()) if date else ([], at)
    if predicate in ("works_at", "joined"):
        role = role_at(text, at)
        return ([Triple(subject, "works_as", role.name)], role.end) if role else ([], at)
    if predicate in _SECOND_OBJECT:
        pattern, second_predicate = _SECOND_OBJECT[predicate]
        conjunction = pattern.match(text, at)
        place = name_at(text, conjunction.end(), names) if conjunction else None
        if place is not None:
            return [Triple(subject, second_predicate, place.text)], place.end
        tool = _CAPITALIZED.match(text, conjunction.end()) if conjunction and predicate == "switched_from" else None
        if tool is not None:  # Teams and Linear are ordinary words as well
            return [Triple(subject, second_predicate, tool[0])], tool.end()
    return [], at


def _name_or_plain_words(text: str, verb: VerbMatch, subject: NameSpan, names: NamesByStart) -> ObjectPhrase | None:
    at, object_type, predicate = verb.end, verb.object_type, verb.predicate
    owner = names.get(at) or (names.get(at - 4) if text.endswith("the ", 0, at) else None)  # the user
    relative = _relative_at(text, owner, names) if owner is not None else None
    if relative is not None:
        return None if object_type == "place" else relative
    name = name_at(text, at, names)
    if name is not None:
        if object_type == "place" and name.kind == "person":
            return None
        if object_type == "person" and name.kind not in ("person", "thing"):
            return None
        return name_list_from(text, name, names) if predicate in _LIST_PREDICATES else _one_name(name)
    if predicate == "born_in":
        return claim_phrases.first_group(_YEAR.match(text, at))
    date = claim_phrases.date_at(text, at) if predicate.endswith("_on") or predicate == "birthday" else None
    if date is not None:
        return date
    if object_type != "plain_words" or owner is not None:
        return None
    if subject.kind != "person" and predicate not in PREDICATE_NOUNS:
        return None
    if predicate in _LIST_PREDICATES:
        return claim_phrases.plain_list_at(text, at, names)
    return plain_words_at(text, at, predicate)


def _one_name(name: NameSpan) -> ObjectPhrase:
    return ObjectPhrase((name.text,), name.end)


def _relative_at(text: str, owner: NameSpan, names: NamesByStart) -> ObjectPhrase | None:
    """ "My dog Rex" by his name; "my dog" by his owner."""
    if text[owner.start : owner.end] in ("my", "My"):
        at = owner.end
    elif text.startswith(("'s ", "’s "), owner.end):
        at = owner.end + 2
    else:
        return None
    noun = _RELATIVE.match(text, at)
    if noun is None:
        return None
    name = names.get(noun.end() + 1)
    if name is not None and text[noun.end()] == " ":
        return _one_name(name)
    possessive = "my" if owner.text == SELF else f"{owner.text}'s"
    return ObjectPhrase((f"{possessive} {noun[1]}",), noun.end())


def _languages_at(text: str, at: int) -> ObjectPhrase | None:
    first = _WORD.match(text, at)
    if first is None or first.group().lower() not in word_lists.LANGUAGES:
        return None
    more = _MORE_LANGUAGES.match(text, first.end())
    others = [word for word in _WORD.findall(more.group()) if word.lower() in word_lists.LANGUAGES] if more else []
    return ObjectPhrase((first.group(), *others), more.end() if more and others else first.end())


def _possessions(text: str, at: int, claim: Triple, names: NamesByStart) -> tuple[list[Triple], int]:
    """Two kids, Anna and Ben, and a dog called Rex: the relationship of each name, and the further possessions."""
    claims: list[Triple] = []
    thing = claim.object
    while True:
        noun = thing.rpartition(" ")[2]
        noun = PLURAL_RELATIONSHIP_NOUNS.get(noun, noun)
        is_relative = noun in word_lists.RELATIONSHIP_NOUNS or noun == "child"
        conjunction = (_NAMED_OR_COMMA if is_relative else _NAMED).match(text, at)
        name = name_at(text, conjunction.end(), names) if conjunction else None
        if name is not None:
            relatives, at = name_list_from(text, name, names)
            claims += [Triple(relative, f"{noun}_of", claim.subject) for relative in relatives]
        conjunction = _AND_COUNT.match(text, at)
        count = _COUNT.match(text, conjunction.end()) if conjunction else None
        more = plain_words_at(text, count.end(), "has") if count else None
        if more is None:
            return claims, at
        (thing,), at = more
        claims.append(Triple(claim.subject, "has", thing))
