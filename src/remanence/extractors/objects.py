"""What stands behind a verb: a name, a few plain words, a list of them, a date; and what may follow it.

Each function starts at a place in the text and says where what it found ends.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from remanence.extractors import verbs
from remanence.extractors.lexicon import KIN, LANGUAGES, MONTHS, PLURAL_KIN, TRADES, words
from remanence.extractors.marked import Name
from remanence.extractors.verbs import Verb
from remanence.model import SELF, Triple

Names = dict[int, Name]
"""The names of a text by where they begin."""


class Target(NamedTuple):
    """What a verb has behind it, several where it is a list, and where that ends."""

    values: tuple[str, ...]
    end: int


_DATE = (
    rf"(?:\d{{1,2}}(?:st|nd|rd|th)? (?:of )?(?:{MONTHS})\b(?:(?:, ?| )\d{{4}}\b)?"
    rf"|(?:{MONTHS}) \d{{1,2}}(?:st|nd|rd|th)?\b(?:(?:, ?| )\d{{4}}\b)?|\d{{4}}-\d\d-\d\d)"
)
_ITEM = r"(?:(?:a|an|the|my|his|her|their|our) )?((?:[\w'’&-]+ ){0,4}?[\w'’&-]+?)"
_END = (
    r"(?: too| though| a lot| so much| very much| as well| the most| in general)?"
    r"(?=[.;:!\n)]|$|, (?:[A-Z]|the user\b)|, not\b|,? (?:but|because|so|which|named|called|since|over|when"
    r"|while|with|every|on|at|last|this|next|today|tomorrow|tonight|yesterday|soon|again|coming|these days"
    r"|instead)\b"
    rf"|,? and (?:I|my|he|she|it|we|they|his|her|{verbs.GOES_ON}|(?:also |now )?[a-z]+s (?:at|in|for|to|an?)"
    r"|[a-z]{3,}ed (?:with|for|in|at|by|as|to|on|the|an?|my|their))\b"
)
_WORDS = re.compile(rf"{_ITEM}{_END})")
_COUNT = r"an?|one|two|three|four|five|six|seven|eight|nine|ten|\d{1,2}"
_ENDS_OF = {  # where else the words end
    "prefers": re.compile(rf"(?![a-z]+ing to\b){_ITEM}{_END}| (?:to|than|rather than)\b)"),
    "studies": re.compile(rf"{_ITEM}{_END}| in\b)"),
    "has": re.compile(rf"{_ITEM}{_END}|,? and (?:{_COUNT}) | for\b(?! (?:you|me)\b))"),
}
_LISTED_ITEM = re.compile(rf"{_ITEM}{_END}|,? (?:and|or) |, )")
_LIST_JOINT = re.compile(r"(?P<last>,? and )|, (?![A-Z])")
_NAME_JOINT = re.compile(r",? and |, (?=[A-Z])")
_AFTER_NAMES = re.compile(
    r"[.;:!\n)]|$|,? (?:and|but|because|so|when|since|with|in|on|at|last|this|every|too)\b|, "
)
_LISTED = words("likes loves hates dislikes allergic_to plays visited")
_FIXED_PAIRS = re.compile(
    r"(?:fish and chips|rock and roll|mac and cheese|ham and cheese|peanut butter and jelly|arts and crafts"
    r"|bread and butter|gin and tonic|drum and bass|rhythm and blues|bed and breakfast|salt and vinegar"
    r"|cookies and cream|research and development|history and politics)",
    re.IGNORECASE,
)
_DATED = re.compile(rf"(?:the )?({_DATE})(?![\w-])")
_YEAR_OR_DATE = re.compile(rf",? (?:on|in) (?:the )?({_DATE}|\d{{4}})(?![\w-])")
_IN = re.compile(r",? in (?:the )?")
_AT = re.compile(r" at (?:the )?")
_AS = re.compile(r" as (?:an?|the) ")
_DOING = re.compile(r"([a-z]+(?: [\w'’&-]+){0,7}?)(?=[.;:!,\n)]|$| (?:but|because|so|since)\b| and I\b)")
_TRADE = re.compile(
    rf"((?:[a-z-]+ ){{0,3}}(?:{'|'.join(sorted(TRADES))}))\b(?! of\b)(?: (?:at|for) (?:the )?)?"
)
_WORD = re.compile(r"\w+")
_LANGUAGES = re.compile(r"(?:(?:,|,? and) (?:(?:a little|a bit of|some|also) )?[A-Z][a-z]+){1,6}")
_COUNTED = re.compile(
    r"(?:an? (?=[A-Za-z])|(?=(?:one|two|three|four|five|six|seven|eight|nine|ten|\d{1,2}) [a-z]))"
)
_AND_COUNTED = re.compile(rf",? and (?=(?:{_COUNT}) [a-z])")
_NAMED = re.compile(r" (?:named|called) ")
_CALLED = re.compile(r"(?: (?:named|called)|,|:) ")
_NUMBER = re.compile(
    r"(\d{1,3})(?: years old| today| now)?(?=[.,](?!\d)|[;!\n]|$| (?:and|but|yesterday|last|on|in|this)\b)"
)
_KIN_OBJECT = re.compile(rf" (?:[a-z]+ )?({'|'.join(sorted(KIN | set(PLURAL_KIN)))})\b(?!['’])")
_MINE = frozenset(("my", "My"))
_POSSESSIVE = ("'s ", "’s ")
_EMPTY_WORDS = words("""
it that this them him her you me us these those to how when what being lot lots bit few couple ton number all
some any every everything something nothing of if idea sound suggestion question feeling time chance way mr
mrs dr following also so such no one made email call message surprise reply especially
promotion raise
""")
_VERBAL = words("is are was were has have had - –")
_EMPTY_FIRST = words("for in at with on by from as is are was not")
_EMPTY_DOINGS = words("bed sleep work school church be do see say have the a an my your check this that it")


def target_at(text: str, verb: Verb, subject: Name, starts: Names) -> Target | None:
    """What stands behind the verb, if it is what the verb wants.

    >>> text = "Bob likes hiking, long walks and chess."
    >>> target_at(text, Verb("likes", "words", 10), Name("Bob", "person", 0, 3), {}).values
    ('hiking', 'long walks', 'chess')
    """
    at, wants = verb.end, verb.wants
    if wants in (verbs.NAME, verbs.PLACE, verbs.WORDS):
        return _named_or_plain(text, verb, subject, starts)
    if wants == verbs.LANGUAGE:
        return _languages_at(text, at)
    if subject.kind != "person":
        return None
    if wants == verbs.TRADE:
        return _found(_TRADE.match(text, at))
    if wants == verbs.COUNTED:
        counted = _COUNTED.match(text, at)
        return _one(words_at(text, counted.end(), "has")) if counted else None
    if wants == verbs.NUMBER:
        return _found(_NUMBER.match(text, at))
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
    place = name_at(text, way.end(), starts) if way else None
    return ([Triple(who, then, place.text)], place.end) if place else ([], at)


def name_at(text: str, start: int, starts: Names) -> Name | None:
    """The name that begins at `start`, unless it goes on as "Bob's" or "Porto-based"."""
    name = starts.get(start)
    if name is None and text[start : start + 1] in ('"', "“", "'", "‘"):
        name = starts.get(start + 1)
    if name is None or (text[name.end : name.end + 1] in ("'", "’", "-") and name.kind != "title"):
        return None
    return name


def words_at(text: str, start: int, predicate: str = "") -> tuple[str, int] | None:
    """A few plain words up to the end of the clause, or to where those of this predicate end."""
    found = _ENDS_OF.get(predicate, _WORDS).match(text, start)
    return (found[1], found.end()) if found is not None and _is_something(found[1]) else None


def date_at(text: str, start: int) -> tuple[str, int] | None:
    """A day of the year, with its year or without."""
    found = _DATED.match(text, start)
    return (found[1], found.end()) if found else None


def _named_or_plain(text: str, verb: Verb, subject: Name, starts: Names) -> Target | None:
    at, wants = verb.end, verb.wants
    known = starts.get(at) or (starts.get(at - 4) if text.endswith("the ", 0, at) else None)  # the user
    kin = _kin_at(text, known, starts) if known is not None else None
    if kin is not None:
        return None if wants == verbs.PLACE else _one(kin)
    name = name_at(text, at, starts)
    if name is not None:
        if wants == verbs.PLACE and name.kind == "person":
            return None
        return (
            _names_from(text, name, starts) if verb.predicate in _LISTED else Target((name.text,), name.end)
        )
    date = date_at(text, at) if verb.predicate.endswith("_on") or verb.predicate == "birthday" else None
    if date is not None:
        return _one(date)
    if wants != verbs.WORDS or known is not None:
        return None
    if subject.kind != "person" and verb.predicate not in verbs.VALUE_CLASSES:
        return None
    return (
        _list_at(text, at, starts) if verb.predicate in _LISTED else _one(words_at(text, at, verb.predicate))
    )


def _names_from(text: str, first: Name, starts: Names) -> Target:
    """Rome, Florence and Siena; only Rome if what follows is no name, or the name does something itself."""
    found, end = [first.text], first.end
    joint = _NAME_JOINT.match(text, end)
    while joint:
        name = name_at(text, joint.end(), starts)
        if name is None or not _AFTER_NAMES.match(text, name.end):
            break
        found.append(name.text)
        end = name.end
        joint = _NAME_JOINT.match(text, end)
    return Target(tuple(found), end)


def _list_at(text: str, start: int, starts: Names) -> Target | None:
    """Plain words, each thing of a list by itself: but "fish and chips" and "red and white wine" are one."""
    found: list[str] = []
    at, closed = start, False
    while True:
        item = _item_at(text, at, starts)
        if item is None:
            return None
        found.append(item[0])
        at = item[1]
        joint = None if _WORDS_OVER.match(text, at) else _LIST_JOINT.match(text, at)
        if joint is None or closed:
            break
        closed = joint["last"] is not None
        at = joint.end()
    if len(found) > 1 and not closed:
        return None  # "tea, especially green tea" is no list
    if len(found) == 2 and _is_one_thing(*found):
        whole = f"{found[0]} and {found[1]}"
        return Target((whole,), at) if len(whole) <= _LONGEST else None
    return Target(tuple(found), at)


def _item_at(text: str, at: int, starts: Names) -> tuple[str, int] | None:
    name = name_at(text, at, starts)
    if name is not None:
        return name.text, name.end
    item = _LISTED_ITEM.match(text, at)
    return (item[1], item.end()) if item is not None and _is_something(item[1]) else None


def _is_one_thing(one: str, other: str) -> bool:
    """Whether the two belong together, or the second would mean something else alone."""
    if _FIXED_PAIRS.fullmatch(f"{one} and {other}"):
        return True
    few, many = one.split(), other.split()
    doing = few[0].endswith("ing") and len(few) > 1 and not many[0].endswith("ing")
    return doing or (len(few) == 1 and len(many) > 1 and not many[0].endswith("ing"))


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
            names, at = _names_from(text, name, starts)
            found += [Triple(each, f"{kin}_of", claim.subject) for each in names]
        joint = _AND_COUNTED.match(text, at)
        counted = _COUNTED.match(text, joint.end()) if joint else None
        more = words_at(text, counted.end(), "has") if counted else None
        if more is None:
            return found, at
        thing, at = more
        found.append(Triple(claim.subject, "has", thing))


def _is_something(written: str) -> bool:
    plain = written.lower().split()
    return (
        len(written) <= _LONGEST
        and bool(plain)
        and plain[0] not in _EMPTY_FIRST
        and _EMPTY_WORDS.isdisjoint(plain)
        and _VERBAL.isdisjoint(plain)
    )


def _found(match: re.Match[str] | None) -> Target | None:
    return Target((match[1],), match.end()) if match else None


def _one(found: tuple[str, int] | None) -> Target | None:
    return Target((found[0],), found[1]) if found else None


_LONGEST = 40
_WORDS_OVER = re.compile(rf"{_END})")
