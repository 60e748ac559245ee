"""What stands behind a verb: what that verb wants there, and what may follow it.

Each function starts at a place in the text and says where what it found ends.
"""

from __future__ import annotations

import re

from remanence.language.rules import verb_patterns
from remanence.language.rules.claim_phrases import (
    COUNT_PATTERN,
    DATE_PATTERN,
    NamesByStart,
    ObjectPhrase,
    date_at,
    name_at,
    name_list_from,
    plain_list_at,
    plain_words_at,
)
from remanence.language.rules.lexicon import MONTH_PATTERN, word_set
from remanence.language.rules.marked_names import NameSpan
from remanence.language.rules.people_words import (
    LANGUAGES,
    PLURAL_RELATIONSHIP_NOUNS,
    PROFESSIONS,
    RELATIONSHIP_NOUNS,
    WORK_FIELDS,
    WORKPLACES,
)
from remanence.language.rules.verb_patterns import VerbMatch
from remanence.schema import SELF, Triple

_LISTED = word_set("likes loves hates dislikes allergic_to plays visited")
_YEAR_OR_DATE = re.compile(rf",? (?:on|in) (?:the )?({DATE_PATTERN}|\d{{4}})(?![\w-])")
_IN = re.compile(r",? in (?:the )?")
_AT = re.compile(r" at (?:the )?")
_FROM = re.compile(r" (?:from|at) (?:the )?")
_AS = re.compile(r" as (?:an?|the) ")
_DOING = re.compile(r"([a-z]+(?: [\w'’&-]+){0,7}?)(?=[.;:!,\n)]|$| (?:but|because|so|since)\b| and I\b)")
_TRADE = re.compile(rf"((?:[a-z-]+ ){{0,3}}(?:{'|'.join(sorted(PROFESSIONS))}))\b(?! of\b)(?: (?:at|for) (?:the )?)?")
_WORD = re.compile(r"\w+")
_LANGUAGES = re.compile(r"(?:(?:,|,? and) (?:(?:a little|a bit of|some|also) )?[A-Z][a-z]+){1,6}")
_COUNTED = re.compile(
    r"(?:(?:an?|another) (?=[A-Za-z])|(?=(?:one|two|three|four|five|six|seven|eight|nine|ten|\d{1,2}) [a-z]))"
)
_AND_COUNTED = re.compile(rf",? and (?=(?:{COUNT_PATTERN}) [a-z])")
_NAMED = re.compile(r" (?:named|called) ")
_CALLED = re.compile(r"(?: (?:named|called)|,|:) ")
_NUMBER = re.compile(
    r"(\d{1,3})(?: years old| today| now)?(?=[.,](?!\d)|[;!\n]|$| (?:and|but|yesterday|last|on|in|this)\b)"
)
_OF_A_KIND = {
    verb_patterns.NUMBER: _NUMBER,
    verb_patterns.WORK_FIELD: re.compile(
        rf"((?i:{'|'.join(sorted(WORK_FIELDS))}))(?=[.;:!,\n)]|$| (?:and|but|so|too|as well|since|for|now|at)\b)"
    ),
    verb_patterns.WORKPLACE: re.compile(
        rf"((?:[\w'’&-]+ ){{0,3}}?(?:{'|'.join(sorted(WORKPLACES))}))\b(?! [a-z]+(?:er|or|ist)\b|['’])"
    ),
}
_YEAR = re.compile(rf"((?:(?:{MONTH_PATTERN})(?: of)? )?(?:19|20)\d\d)(?![\w-])")
_KIN_OBJECT = re.compile(
    rf" (?:[a-z]+ )?({'|'.join(sorted(RELATIONSHIP_NOUNS | set(PLURAL_RELATIONSHIP_NOUNS)))})\b(?!['’])"
)
_MINE = frozenset(("my", "My"))
_POSSESSIVE = ("'s ", "’s ")
_NOT_HAD = word_set("""
plan plans bond hour hours minute minutes second seconds moment day days week weeks month months year years
deal point reason right problem issue hunch crush half waiting coming chat talk look laugh blast
""")
_EMPTY_DOINGS = word_set(
    "lunch dinner breakfast brunch bed sleep work school church be do see say have the a an my your check this that it"
)


def object_at(text: str, verb: VerbMatch, subject: NameSpan, starts: NamesByStart) -> ObjectPhrase | None:
    """What stands behind the verb, if it is what the verb wants.

    >>> text = "Bob likes hiking, long walks and chess."
    >>> object_at(text, VerbMatch("likes", "words", 10), NameSpan("Bob", "person", 0, 3), {}).values
    ('hiking', 'long walks', 'chess')
    """
    at, wants = verb.end, verb.object_type
    if wants in (verb_patterns.NAME, verb_patterns.PLACE, verb_patterns.PERSON, verb_patterns.PLAIN_WORDS):
        return _named_or_plain(text, verb, subject, starts)
    if wants == verb_patterns.LANGUAGE:
        return _languages_at(text, at)
    if subject.kind != "person":
        return None
    if wants == verb_patterns.PROFESSION:
        return _found(_TRADE.match(text, at))
    if wants == verb_patterns.COUNTED:
        counted = _COUNTED.match(text, at)
        had = plain_words_at(text, counted.end(), "has") if counted else None
        return _one(had) if had is not None and _NOT_HAD.isdisjoint(had[0].lower().split()) else None
    pattern = _OF_A_KIND.get(wants)
    if pattern is not None:
        return _found(pattern.match(text, at))
    doing = _DOING.match(text, at)
    return _found(doing) if doing and doing[1].split(" ")[0] not in _EMPTY_DOINGS else None


def following_claims(text: str, at: int, claim: Triple, starts: NamesByStart) -> tuple[list[Triple], int]:
    """What else is claimed right behind a claim that ends at `at`: "a nurse *at IBM*", "born … *in Rome*".

    >>> text = "Bob was born on 3 May 1990 in Rome."
    >>> rome = NameSpan("Rome", "place", 30, 34)
    >>> [str(more) for more in following_claims(text, 26, Triple("Bob", "born_on", "3 May 1990"), {30: rome})[0]]
    ['Bob —born_in→ Rome']
    """
    who, predicate = claim.subject, claim.predicate
    if predicate == "has":
        return _possessions(text, at, claim, starts)
    if predicate in ("born_in", "died_in"):
        date = _YEAR_OR_DATE.match(text, at)
        return ([Triple(who, f"{predicate[:4]}_on", date[1])], date.end()) if date else ([], at)
    if predicate == "works_at":
        way = _AS.match(text, at)
        trade = _TRADE.match(text, way.end()) if way else None
        return ([Triple(who, "works_as", trade[1])], trade.end()) if trade else ([], at)
    way, then = None, ""
    if predicate in ("born_on", "died_on"):
        way, then = _IN.match(text, at), f"{predicate[:4]}_in"
    elif predicate == "studies":
        way, then = _AT.match(text, at), "studies_at"
    elif predicate == "studied":
        way, then = _FROM.match(text, at), "graduated_from"
    place = name_at(text, way.end(), starts) if way else None
    return ([Triple(who, then, place.text)], place.end) if place else ([], at)


def _named_or_plain(text: str, verb: VerbMatch, subject: NameSpan, starts: NamesByStart) -> ObjectPhrase | None:
    at, wants = verb.end, verb.object_type
    known = starts.get(at) or (starts.get(at - 4) if text.endswith("the ", 0, at) else None)  # the user
    kin = _kin_at(text, known, starts) if known is not None else None
    if kin is not None:
        return None if wants == verb_patterns.PLACE else _one(kin)
    name = name_at(text, at, starts)
    if name is not None:
        if (wants == verb_patterns.PLACE and name.kind == "person") or (
            wants == verb_patterns.PERSON and name.kind not in ("person", "thing")
        ):
            return None
        return name_list_from(text, name, starts) if verb.predicate in _LISTED else ObjectPhrase((name.text,), name.end)
    if verb.predicate == "born_in":
        return _found(_YEAR.match(text, at))
    date = date_at(text, at) if verb.predicate.endswith("_on") or verb.predicate == "birthday" else None
    if date is not None:
        return _one(date)
    if wants != verb_patterns.PLAIN_WORDS or known is not None:
        return None
    if subject.kind != "person" and verb.predicate not in verb_patterns.PREDICATE_NOUNS:
        return None
    return (
        plain_list_at(text, at, starts) if verb.predicate in _LISTED else _one(plain_words_at(text, at, verb.predicate))
    )


def _kin_at(text: str, owner: NameSpan, starts: NamesByStart) -> tuple[str, int] | None:
    """My dog Rex, by his name; my dog, by whose he is."""
    mine = text[owner.start : owner.end] in _MINE
    at = owner.end if mine else owner.end + 2 if text.startswith(_POSSESSIVE, owner.end) else -1
    kin = _KIN_OBJECT.match(text, at) if at >= 0 else None
    if kin is None:
        return None
    known = starts.get(kin.end() + 1)
    if known is not None and text[kin.end()] == " ":
        return known.text, known.end
    whose = "my" if owner.text == SELF else f"{owner.text}'s"
    return f"{whose} {kin[1]}", kin.end()


def _languages_at(text: str, at: int) -> ObjectPhrase | None:
    first = _WORD.match(text, at)
    if first is None or first.group().lower() not in LANGUAGES:
        return None
    also = _LANGUAGES.match(text, first.end())
    rest = [word for word in _WORD.findall(also.group()) if word.lower() in LANGUAGES] if also else []
    return ObjectPhrase((first.group(), *rest), also.end() if also and rest else first.end())


def _possessions(text: str, at: int, claim: Triple, starts: NamesByStart) -> tuple[list[Triple], int]:
    """Two kids, Anna and Ben, and a dog called Rex: whose they are, by name, and what else there is."""
    found: list[Triple] = []
    thing = claim.object
    while True:
        kin = thing.rpartition(" ")[2]
        kin = PLURAL_RELATIONSHIP_NOUNS.get(kin, kin)
        called = (_CALLED if kin in RELATIONSHIP_NOUNS or kin == "child" else _NAMED).match(text, at)
        name = name_at(text, called.end(), starts) if called else None
        if name is not None:
            names, at = name_list_from(text, name, starts)
            found += [Triple(each, f"{kin}_of", claim.subject) for each in names]
        joint = _AND_COUNTED.match(text, at)
        counted = _COUNTED.match(text, joint.end()) if joint else None
        more = plain_words_at(text, counted.end(), "has") if counted else None
        if more is None:
            return found, at
        thing, at = more
        found.append(Triple(claim.subject, "has", thing))


def _found(match: re.Match[str] | None) -> ObjectPhrase | None:
    return ObjectPhrase((match[1],), match.end()) if match else None


def _one(found: tuple[str, int] | None) -> ObjectPhrase | None:
    return ObjectPhrase((found[0],), found[1]) if found else None
