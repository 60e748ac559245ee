"""What stands behind a verb: what that verb wants there, and what may follow it.

Each function starts at a place in the text and says where what it found ends.
"""

from __future__ import annotations

import re

from remanence.language.rules import verb_patterns
from remanence.language.rules.claim_phrases import (
    COUNT,
    DATE,
    Names,
    Target,
    date_at,
    list_at,
    name_at,
    names_from,
    words_at,
)
from remanence.language.rules.lexicon import MONTHS, words
from remanence.language.rules.marked_names import Name
from remanence.language.rules.people_words import FIELDS, HOUSES, KIN, LANGUAGES, PLURAL_KIN, TRADES
from remanence.language.rules.verb_patterns import Verb
from remanence.schema import SELF, Triple

_LISTED = words("likes loves hates dislikes allergic_to plays visited")
_YEAR_OR_DATE = re.compile(rf",? (?:on|in) (?:the )?({DATE}|\d{{4}})(?![\w-])")
_IN = re.compile(r",? in (?:the )?")
_AT = re.compile(r" at (?:the )?")
_FROM = re.compile(r" (?:from|at) (?:the )?")
_AS = re.compile(r" as (?:an?|the) ")
_DOING = re.compile(r"([a-z]+(?: [\w'’&-]+){0,7}?)(?=[.;:!,\n)]|$| (?:but|because|so|since)\b| and I\b)")
_TRADE = re.compile(
    rf"((?:[a-z-]+ ){{0,3}}(?:{'|'.join(sorted(TRADES))}))\b(?! of\b)(?: (?:at|for) (?:the )?)?"
)
_WORD = re.compile(r"\w+")
_LANGUAGES = re.compile(r"(?:(?:,|,? and) (?:(?:a little|a bit of|some|also) )?[A-Z][a-z]+){1,6}")
_COUNTED = re.compile(
    r"(?:(?:an?|another) (?=[A-Za-z])|(?=(?:one|two|three|four|five|six|seven|eight|nine|ten|\d{1,2}) [a-z]))"
)
_AND_COUNTED = re.compile(rf",? and (?=(?:{COUNT}) [a-z])")
_NAMED = re.compile(r" (?:named|called) ")
_CALLED = re.compile(r"(?: (?:named|called)|,|:) ")
_NUMBER = re.compile(
    r"(\d{1,3})(?: years old| today| now)?(?=[.,](?!\d)|[;!\n]|$| (?:and|but|yesterday|last|on|in|this)\b)"
)
_OF_A_KIND = {
    verb_patterns.NUMBER: _NUMBER,
    verb_patterns.FIELD: re.compile(
        rf"((?i:{'|'.join(sorted(FIELDS))}))(?=[.;:!,\n)]|$| (?:and|but|so|too|as well|since|for|now|at)\b)"
    ),
    verb_patterns.HOUSE: re.compile(
        rf"((?:[\w'’&-]+ ){{0,3}}?(?:{'|'.join(sorted(HOUSES))}))\b(?! [a-z]+(?:er|or|ist)\b|['’])"
    ),
}
_YEAR = re.compile(rf"((?:(?:{MONTHS})(?: of)? )?(?:19|20)\d\d)(?![\w-])")
_KIN_OBJECT = re.compile(rf" (?:[a-z]+ )?({'|'.join(sorted(KIN | set(PLURAL_KIN)))})\b(?!['’])")
_MINE = frozenset(("my", "My"))
_POSSESSIVE = ("'s ", "’s ")
_NOT_HAD = words("""
plan plans bond hour hours minute minutes second seconds moment day days week weeks month months year years
deal point reason right problem issue hunch crush half waiting coming chat talk look laugh blast
""")
_EMPTY_DOINGS = words(
    "lunch dinner breakfast brunch bed sleep work school church be do see say have the a an my your check"
    " this that it"
)


def target_at(text: str, verb: Verb, subject: Name, starts: Names) -> Target | None:
    """What stands behind the verb, if it is what the verb wants.

    >>> text = "Bob likes hiking, long walks and chess."
    >>> target_at(text, Verb("likes", "words", 10), Name("Bob", "person", 0, 3), {}).values
    ('hiking', 'long walks', 'chess')
    """
    at, wants = verb.end, verb.wants
    if wants in (verb_patterns.NAME, verb_patterns.PLACE, verb_patterns.PERSON, verb_patterns.WORDS):
        return _named_or_plain(text, verb, subject, starts)
    if wants == verb_patterns.LANGUAGE:
        return _languages_at(text, at)
    if subject.kind != "person":
        return None
    if wants == verb_patterns.TRADE:
        return _found(_TRADE.match(text, at))
    if wants == verb_patterns.COUNTED:
        counted = _COUNTED.match(text, at)
        had = words_at(text, counted.end(), "has") if counted else None
        return _one(had) if had is not None and _NOT_HAD.isdisjoint(had[0].lower().split()) else None
    pattern = _OF_A_KIND.get(wants)
    if pattern is not None:
        return _found(pattern.match(text, at))
    doing = _DOING.match(text, at)
    return _found(doing) if doing and doing[1].split(" ")[0] not in _EMPTY_DOINGS else None


def followers(text: str, at: int, claim: Triple, starts: Names) -> tuple[list[Triple], int]:
    """What else is claimed right behind a claim that ends at `at`: "a nurse *at IBM*", "born … *in Rome*".

    >>> text = "Bob was born on 3 May 1990 in Rome."
    >>> rome = Name("Rome", "place", 30, 34)
    >>> [str(more) for more in followers(text, 26, Triple("Bob", "born_on", "3 May 1990"), {30: rome})[0]]
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


def _named_or_plain(text: str, verb: Verb, subject: Name, starts: Names) -> Target | None:
    at, wants = verb.end, verb.wants
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
        return names_from(text, name, starts) if verb.predicate in _LISTED else Target((name.text,), name.end)
    if verb.predicate == "born_in":
        return _found(_YEAR.match(text, at))
    date = date_at(text, at) if verb.predicate.endswith("_on") or verb.predicate == "birthday" else None
    if date is not None:
        return _one(date)
    if wants != verb_patterns.WORDS or known is not None:
        return None
    if subject.kind != "person" and verb.predicate not in verb_patterns.VALUE_CLASSES:
        return None
    return (
        list_at(text, at, starts) if verb.predicate in _LISTED else _one(words_at(text, at, verb.predicate))
    )


def _kin_at(text: str, owner: Name, starts: Names) -> tuple[str, int] | None:
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


def _languages_at(text: str, at: int) -> Target | None:
    first = _WORD.match(text, at)
    if first is None or first.group().lower() not in LANGUAGES:
        return None
    also = _LANGUAGES.match(text, first.end())
    rest = [word for word in _WORD.findall(also.group()) if word.lower() in LANGUAGES] if also else []
    return Target((first.group(), *rest), also.end() if also and rest else first.end())


def _possessions(text: str, at: int, claim: Triple, starts: Names) -> tuple[list[Triple], int]:
    """Two kids, Anna and Ben, and a dog called Rex: whose they are, by name, and what else there is."""
    found: list[Triple] = []
    thing = claim.object
    while True:
        kin = thing.rpartition(" ")[2]
        kin = PLURAL_KIN.get(kin, kin)
        called = (_CALLED if kin in KIN or kin == "child" else _NAMED).match(text, at)
        name = name_at(text, called.end(), starts) if called else None
        if name is not None:
            names, at = names_from(text, name, starts)
            found += [Triple(each, f"{kin}_of", claim.subject) for each in names]
        joint = _AND_COUNTED.match(text, at)
        counted = _COUNTED.match(text, joint.end()) if joint else None
        more = words_at(text, counted.end(), "has") if counted else None
        if more is None:
            return found, at
        thing, at = more
        found.append(Triple(claim.subject, "has", thing))


def _found(match: re.Match[str] | None) -> Target | None:
    return Target((match[1],), match.end()) if match else None


def _one(found: tuple[str, int] | None) -> Target | None:
    return Target((found[0],), found[1]) if found else None
