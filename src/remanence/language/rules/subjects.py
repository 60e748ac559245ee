"""Who else is the subject of a verb: "Ana, Ben and Carol live in Porto" says so of all three."""

from __future__ import annotations

import re
from collections.abc import Mapping

from remanence.language.rules.lexicon import word_set
from remanence.language.rules.marked_names import NameSpan
from remanence.language.rules.people_words import RELATIONSHIP_NOUNS

RELATIONSHIP_PATTERN = "|".join(sorted(RELATIONSHIP_NOUNS, key=lambda kin: (-len(kin), kin)))
"""The words for somebody's somebody, the longest first, for a pattern."""

_MARKS = frozenset('.!?;:,"“(–—-')
_JOINTS = word_set("and but that because so since now yes yeah well today currently")
_LAST_WORD = re.compile(r"([^\W_]+(?:-[^\W_]+)*)\s+$")
_OWNED = re.compile(rf"(?:\b(?:[Mm]y|[Oo]ur)|\w['’]s) (?:[a-z]+ )?(?:{RELATIONSHIP_PATTERN}) $")


def opens_clause(text: str, start: int) -> bool:
    """Whether a subject that begins at `start` may open a clause: behind a mark, a joint, or whose it is.

    >>> text = "I know that Ana and my sister Eva like Bob."
    >>> [opens_clause(text, text.index(name)) for name in ("I", "Ana", "Eva", "Bob")]
    [True, True, True, False]
    """
    before = text[max(0, start - 40) : start]
    told = before.rstrip(" \t")
    if not told or told[-1] == "\n" or told[-1] in _MARKS:
        return True
    word = _LAST_WORD.search(before)
    if word is None:
        return False
    if word[1].lower() in _JOINTS:
        return True
    return word[1] in RELATIONSHIP_NOUNS and _OWNED.search(before) is not None


def coordinated_subjects(text: str, subject: NameSpan, ends: Mapping[int, NameSpan]) -> list[NameSpan]:
    """Those who stand before this subject, joined to it by "and", and share its verb; `ends` are the names
    of the text by where they end.

    The verb has to be one that several can have: in "I met Carol and Bob lives in Porto" only Bob does.

    >>> from remanence.language.rules.name_rules import find_names
    >>> text = "Ana, Ben and Carol live in Porto."
    >>> names = find_names(text)
    >>> [name.text for name in coordinated_subjects(text, names[2], {name.end: name for name in names})]
    ['Ana', 'Ben']
    """
    if not text.endswith(" and ", 0, subject.start) or _SINGULAR.match(text, subject.end):
        return []
    found: list[NameSpan] = []
    comma = text.endswith(", and ", 0, subject.start)
    end = subject.start - 5 - comma
    while (name := ends.get(end)) is not None and name.kind in ("person", "thing"):
        found.insert(0, name)
        end = name.start - 2
        if text[end : name.start] != ", ":
            break
    if not found or (comma and len(found) == 1):
        return []
    first = found[0].start
    return found if _BOTH.search(text, 0, first) or opens_clause(text, first) else []


_SINGULAR = re.compile(
    r"(?: (?:also|now|still|currently|just|recently|really|always|already|actually|finally|usually|often))*"
    r"(?: (?:is|was|has|am|does|doesn['’]t|isn['’]t|wasn['’]t|hasn['’]t|[a-z]+s)\b(?<!ss)|['’](?:s|m)\b)"
)
_BOTH = re.compile(r"(?:^|[.!?;:\n,] ?)[Bb]oth $")
