"""The phrases that a claim can end in: a name, a few plain words, a date, and lists of them.

Each function starts at a place in the text and says where what it found ends.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from remanence.language.rules import verb_patterns
from remanence.language.rules.lexicon import MONTH_PATTERN, word_set
from remanence.language.rules.marked_names import NameSpan

NamesByStart = dict[int, NameSpan]
"""The names of a text by where they begin."""


class ObjectPhrase(NamedTuple):
    """What a verb has behind it, several where it is a list, and where that ends."""

    values: tuple[str, ...]
    end: int


DATE_PATTERN = (
    rf"(?:\d{{1,2}}(?:st|nd|rd|th)? (?:of )?(?:{MONTH_PATTERN})\b(?:(?:, ?| )\d{{4}}\b)?"
    rf"|(?:{MONTH_PATTERN}) \d{{1,2}}(?:st|nd|rd|th)?\b(?:(?:, ?| )\d{{4}}\b)?|\d{{4}}-\d\d-\d\d)"
)
_ITEM = r"(?:(?:a|an|the|my|his|her|their|our) )?((?:[\w'’&-]+ ){0,4}?[\w'’&-]+?)"
_END = (
    r"(?: too| though| a lot| so much| very much| as well| the most| in general| right now| now| here"
    r"| there)?"
    r"(?=[.;:!\n)]|$|, (?:[A-Z]|the user\b)|, not\b|,? (?:but|because|so|which|named|called|since|over|when"
    r"|while|with|every|on|at|last|this|next|today|tomorrow|tonight|yesterday|soon|again|coming|these days"
    r"|instead)\b"
    rf"|,? and (?:I|my|he|she|it|we|they|his|her|{verb_patterns.CONTINUATION_PATTERN}"
    r"|(?:also |now )?[a-z]+s (?:at|in|for|to|an?)"
    r"|[a-z]{3,}ed (?:with|for|in|at|by|as|to|on|the|an?|my|their))\b"
)
_WORDS = re.compile(rf"{_ITEM}{_END})")
COUNT_PATTERN = r"an?|one|two|three|four|five|six|seven|eight|nine|ten|\d{1,2}"
_ENDS_OF = {  # where else the words end
    "prefers": re.compile(rf"(?![a-z]+ing to\b){_ITEM}{_END}| (?:to|than|rather than)\b)"),
    "studies": re.compile(rf"{_ITEM}{_END}| in\b)"),
    "studied": re.compile(rf"{_ITEM}{_END}| (?:in|from)\b)"),
    "has": re.compile(rf"{_ITEM}{_END}|,? and (?:{COUNT_PATTERN}) | for\b(?! (?:you|me)\b))"),
}
_LISTED_ITEM = re.compile(rf"{_ITEM}{_END}|,? (?:and|or) |, )")
_LIST_JOINT = re.compile(r"(?P<last>,? and )|, (?![A-Z])")
_NAME_JOINT = re.compile(r",? and |, (?=[A-Z])")
_AFTER_NAMES = re.compile(r"[.;:!\n)]|$|,? (?:and|but|because|so|when|since|with|in|on|at|last|this|every|too)\b|, ")
_FIXED_PAIRS = re.compile(
    r"(?:fish and chips|rock and roll|mac and cheese|ham and cheese|peanut butter and jelly|arts and crafts"
    r"|bread and butter|gin and tonic|drum and bass|rhythm and blues|bed and breakfast|salt and vinegar"
    r"|cookies and cream|research and development|history and politics)",
    re.IGNORECASE,
)
_DATED = re.compile(rf"(?:the )?({DATE_PATTERN})(?![\w-])")
_EMPTY_WORDS = word_set("""
it that this them him her you me us these those to how when what being lot lots bit few couple ton number all
some any every everything something nothing of now then anymore yet anyway if idea sound suggestion question
feeling time chance way mr mrs dr following also so such no one made email call message surprise reply
especially promotion raise
""")
_VERBAL = word_set("is are was were has have had - –")
_EMPTY_FIRST = word_set("for in at with on by from as is are was not")
_LONGEST = 40
_WORDS_OVER = re.compile(rf"{_END})")


def name_at(text: str, start: int, starts: NamesByStart) -> NameSpan | None:
    """The name that begins at `start`, unless it goes on as "Bob's" or "Porto-based"."""
    name = starts.get(start)
    if name is None and text[start : start + 1] in ('"', "“", "'", "‘"):
        name = starts.get(start + 1)
    if name is None or (text[name.end : name.end + 1] in ("'", "’", "-") and name.kind != "title"):
        return None
    return name


def plain_words_at(text: str, start: int, predicate: str = "") -> tuple[str, int] | None:
    """A few plain words up to the end of the clause, or to where those of this predicate end."""
    found = _ENDS_OF.get(predicate, _WORDS).match(text, start)
    return (found[1], found.end()) if found is not None and _is_something(found[1]) else None


def date_at(text: str, start: int) -> tuple[str, int] | None:
    """A day of the year, with its year or without."""
    found = _DATED.match(text, start)
    return (found[1], found.end()) if found else None


def name_list_from(text: str, first: NameSpan, starts: NamesByStart) -> ObjectPhrase:
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
    return ObjectPhrase(tuple(found), end)


def plain_list_at(text: str, start: int, starts: NamesByStart) -> ObjectPhrase | None:
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
        return ObjectPhrase((whole,), at) if len(whole) <= _LONGEST else None
    return ObjectPhrase(tuple(found), at)


def _item_at(text: str, at: int, starts: NamesByStart) -> tuple[str, int] | None:
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


def _is_something(written: str) -> bool:
    plain = written.lower().split()
    return (
        len(written) <= _LONGEST
        and bool(plain)
        and plain[0] not in _EMPTY_FIRST
        and _EMPTY_WORDS.isdisjoint(plain)
        and _VERBAL.isdisjoint(plain)
    )
