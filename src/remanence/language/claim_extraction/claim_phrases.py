"""The phrases that a claim consists of: subjects before the verb, and names, plain words, dates, lists and roles after
it.

A function that reads an object starts at a position of the text and returns where the object ends.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from remanence.language.lexicon.word_lists import (
    RELATIONSHIP_NOUNS,
    compile_pattern,
    load_pattern,
    load_words,
    word_set,
)
from remanence.language.named_entities.name_spans import NameSpan

NamesByStart = Mapping[int, NameSpan]
"""The names of a text by their start position."""
UNNAMED_RELATIVE = re.compile(r"^my |['’]s ")
"""Finds a person who is known only by a relation: "my sister", "Bob's wife"."""


class ObjectPhrase(NamedTuple):
    """The object of a verb, several values where it is a list, and where it ends."""

    values: tuple[str, ...]
    end: int


_ITEM = r"(?:(?:a|an|the|my|his|her|their|our) )?((?:[\w'’&-]+ ){0,4}?[\w'’&-]+?)"
_END = (  # the last group stays open, so that other ends can be added
    rf"(?: (?:{load_pattern('object_adverbs')}))?(?={load_pattern('object_ends')}"
)
_PLAIN_WORDS = re.compile(rf"{_ITEM}{_END})")
_PLAIN_WORDS_OF = {  # predicates whose object can end elsewhere too
    "prefers": re.compile(rf"(?![a-z]+ing to\b){_ITEM}{_END}| (?:to|than|rather than)\b)"),
    "studies": re.compile(rf"{_ITEM}{_END}| in\b)"),
    "studied": re.compile(rf"{_ITEM}{_END}| (?:in|from)\b)"),
    "has": re.compile(rf"{_ITEM}{_END}|,? and (?:{load_pattern('counts')}) | for\b(?! (?:you|me)\b))"),
}
_LIST_ITEM = re.compile(rf"{_ITEM}{_END}|,? (?:and|or) |, )")
_LIST_END = re.compile(rf"{_END})")
_LIST_CONJUNCTION = re.compile(r"(?P<last>,? and )|, (?![A-Z])")
_NAME_CONJUNCTION = re.compile(r",? and |, (?=[A-Z])")
_AFTER_NAMES = re.compile(
    r"[.;:!\n)]|$|,? (?:and|but|because|so|when|since|with|in|on|at|last|this|every|each|too)\b|, "
)
_FIXED_PAIRS = re.compile(load_pattern("fixed_pairs"), re.IGNORECASE)
_DATE = re.compile(rf"(?:the )?({load_pattern('dates')})(?![\w-])")
_EMPTY_OBJECTS = load_words("empty_objects") | word_set("is are was were has have had - –")
_EMPTY_FIRST_WORDS = word_set("for in at with on by from as is are was not")
_MAX_OBJECT_CHARS = 40


def name_at(text: str, start: int, names: NamesByStart) -> NameSpan | None:
    """The name that begins at `start`, unless it continues as "Bob's" or "Porto-based"."""
    name = names.get(start)
    if name is None and text[start : start + 1] in ('"', "“", "'", "‘"):
        name = names.get(start + 1)
    if name is None or (text[name.end : name.end + 1] in ("'", "’", "-") and name.kind != "title"):
        return None
    return name


def plain_words_at(text: str, start: int, predicate: str = "") -> ObjectPhrase | None:
    """A few plain words up to the end of the clause, or to where an object of this predicate ends."""
    match = _PLAIN_WORDS_OF.get(predicate, _PLAIN_WORDS).match(text, start)
    return first_group(match) if match is not None and _is_object(match[1]) else None


def date_at(text: str, start: int) -> ObjectPhrase | None:
    """A day of the year, with its year or without."""
    return first_group(_DATE.match(text, start))


def first_group(match: re.Match[str] | None) -> ObjectPhrase | None:
    """The first group of a match as an object."""
    return ObjectPhrase((match[1],), match.end()) if match else None


def name_list_from(text: str, first: NameSpan, names: NamesByStart) -> ObjectPhrase:
    """Rome, Florence and Siena. A further name counts only where a list can end after it."""
    values, end = [first.text], first.end
    while conjunction := _NAME_CONJUNCTION.match(text, end):
        name = name_at(text, conjunction.end(), names)
        if name is None or not _AFTER_NAMES.match(text, name.end):
            break
        values.append(name.text)
        end = name.end
    return ObjectPhrase(tuple(values), end)


def plain_list_at(text: str, start: int, names: NamesByStart) -> ObjectPhrase | None:
    """The items of a list of plain words. "Fish and chips" and "red and white wine" are one item."""
    values: list[str] = []
    at, last = start, False
    while True:
        name = name_at(text, at, names)
        item = None if name is not None else _LIST_ITEM.match(text, at)
        if name is not None:
            value, at = name.text, name.end
        elif item is not None and _is_object(item[1]):
            value, at = item[1], item.end()
        else:
            return None
        values.append(value)
        conjunction = None if _LIST_END.match(text, at) else _LIST_CONJUNCTION.match(text, at)
        if conjunction is None or last:
            break
        last = conjunction["last"] is not None
        at = conjunction.end()
    if len(values) > 1 and not last:
        return None  # "tea, especially green tea" is not a list
    if len(values) == 2 and _is_one_item(*values):
        item_text = f"{values[0]} and {values[1]}"
        return ObjectPhrase((item_text,), at) if len(item_text) <= _MAX_OBJECT_CHARS else None
    return ObjectPhrase(tuple(values), at)


def _is_one_item(first: str, second: str) -> bool:
    """Whether the two belong together, or the second would have another meaning alone."""
    if _FIXED_PAIRS.fullmatch(f"{first} and {second}"):
        return True
    words, more = first.split(), second.split()
    if more[0].endswith("ing"):
        return False
    return words[0].endswith("ing") if len(words) > 1 else len(more) > 1


def _is_object(phrase: str) -> bool:
    words = phrase.lower().split()
    return (
        len(phrase) <= _MAX_OBJECT_CHARS
        and bool(words)
        and words[0] not in _EMPTY_FIRST_WORDS
        and _EMPTY_OBJECTS.isdisjoint(words)
    )


_PUNCTUATION = frozenset('.!?;:,"“(–—-')
_CONJUNCTIONS = word_set("and but that because so since now yes yeah well today currently")
_LAST_WORD = re.compile(r"([^\W_]+(?:-[^\W_]+)*)\s+$")
_RELATIVE_BEFORE = re.compile(rf"(?:\b(?:[Mm]y|[Oo]ur)|\w['’]s) (?:[a-z]+ )?(?:{load_pattern('relationship')}) $")
_SINGULAR_VERB = compile_pattern("singular_verb")
_BOTH = re.compile(r"(?:^|[.!?;:\n,] ?)[Bb]oth $")
_BOTH_LENGTH = len(", both ")


def opens_clause(text: str, start: int) -> bool:
    """Whether a subject at `start` can open a clause: after punctuation, a conjunction or a relative ("my sister").

    >>> text = "I know that Ana and my sister Eva like Bob."
    >>> [opens_clause(text, text.index(name)) for name in ("I", "Ana", "Eva", "Bob")]
    [True, True, True, False]
    """
    before = text[max(0, start - 40) : start]
    stripped = before.rstrip(" \t")
    if not stripped or stripped[-1] == "\n" or stripped[-1] in _PUNCTUATION:
        return True
    word = _LAST_WORD.search(before)
    if word is None:
        return False
    if word[1].lower() in _CONJUNCTIONS:
        return True
    return word[1] in RELATIONSHIP_NOUNS and _RELATIVE_BEFORE.search(before) is not None


def coordinated_subjects(text: str, subject: NameSpan, ends: Mapping[int, NameSpan]) -> list[NameSpan]:
    """The names joined to this subject by "and" that share its verb; `ends` has the names by end position.

    The verb has to be a plural form: in "I met Carol and Bob lives in Porto" the subject is Bob alone.

    >>> from remanence.language.named_entities.name_rules import find_names
    >>> text = "Ana, Ben and Carol live in Porto."
    >>> names = find_names(text)
    >>> [name.text for name in coordinated_subjects(text, names[2], {name.end: name for name in names})]
    ['Ana', 'Ben']
    """
    if not text.endswith(" and ", 0, subject.start) or _SINGULAR_VERB.match(text, subject.end):
        return []
    others: list[NameSpan] = []
    comma = text.endswith(", and ", 0, subject.start)
    end = subject.start - 5 - comma
    while (name := ends.get(end)) is not None and name.kind in ("person", "thing"):
        others.insert(0, name)
        end = name.start - 2
        if text[end : name.start] != ", ":
            break
    if not others or (comma and len(others) == 1):
        return []
    first = others[0].start
    return others if _BOTH.search(text, max(0, first - _BOTH_LENGTH), first) or opens_clause(text, first) else []


class Role(NamedTuple):
    """A role, without and with its article, and where it ends."""

    name: str
    phrase: str
    end: int


def is_employer(text: str, kind: str, at: int) -> bool:
    """Whether a person who moves to a name of this kind works there: it is a firm, or a role follows at `at`, the end
    of the name ("moved to Acme as a buyer")."""
    return kind == "organization" or (kind not in ("person", "place") and role_at(text, at) is not None)


def role_at(text: str, at: int) -> Role | None:
    """The role that is stated at this position of a text.

    >>> role_at("moved to Acme as a product manager in May", 13)
    Role(name='product manager', phrase='a product manager', end=34)
    >>> role_at("moved to Acme as a family", 13), role_at("moved to Acme as planned", 13)
    (None, None)
    """
    match = _AS_ROLE.match(text, at)
    if match is None or match["role"].rpartition(" ")[2].lower() in _NO_ROLES:
        return None
    return Role(match["role"], f"{match['article'] or ''}{match['role']}", match.end())


_AS_ROLE = compile_pattern("as_role")
_NO_ROLES = load_words("no_roles")
