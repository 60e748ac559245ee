"""Names of people in a text without capitals: "had lunch with maria and tom yesterday".

A first name that is not an ordinary word is one. A first name that is also a word ("rose", "bill", "will"), or that is
in no list, needs evidence: a relative or a title before it, a verb such as "met" or "told" before it, or a verb that
only people are the subject of after it. Texts with capitals are read by name_rules.py instead.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise

from remanence.text.lexicon.word_lists import (
    CALENDAR_WORDS,
    FIRST_NAMES,
    KINSHIP_TITLES,
    RELATIONSHIP_NOUNS,
    compile_pattern,
    is_common_word,
    load_words,
    word_set,
)
from remanence.text.named_entities.name_spans import NameSpan

_PIECE = re.compile(r"\S+")
_WORD = re.compile(r"(?<![\w@#./'’-])[^\W\d_]{3,}(?![\w@-]|['’]t\b)")
_RELATIVE_BEFORE = compile_pattern("lowercase_relative_before")
_TITLES = word_set("mr mrs ms dr prof professor nurse sir coach") | KINSHIP_TITLES
_DEAR = word_set("little dear poor young baby lovely dearest")
_RELATIVES = RELATIONSHIP_NOUNS | word_set("colleague manager neighbour neighbor flatmate teacher called named")
_MET_BEFORE = compile_pattern("lowercase_met_before")
_ACTS_AFTER = compile_pattern("lowercase_acts_after")
_IS_DOING = compile_pattern("lowercase_is_doing")  # "will is picking up the kids": no verb stands before another
_TOLD_BEFORE = compile_pattern("lowercase_told_before")
_AFTER_TOLD = compile_pattern("lowercase_after_told")
_PAIR = re.compile(r" and ([a-z]+) (?:came|come|are|were|went|have|had|said|left|want|arrived|got|live|brought|met)\b")
_ARTICLES = word_set("the a an my your his her our their this that some no any every")
_LIST_CONJUNCTION = re.compile(r"(?: [a-z]\.)?(?:,|,? and)(?: (?:possibly|maybe|also|perhaps|then))? ")
_AFTER_LISTED = compile_pattern("after_listed_name")
_MIN_UNKNOWN = 4
"""Letters of the shortest word that may be a name in lower case without being a known first name."""
_ALSO_WORDS = load_words("names_also_words")
_BETWEEN = word_set("and possibly maybe also perhaps then")


def find_lowercase_names(text: str) -> list[NameSpan]:
    """The names of people in a text that has no capitals, each with its capital, in order.

    >>> [name.text for name in find_lowercase_names("met bill and his wife joy, pure joy. the bill was high")]
    ['Bill', 'Joy']
    >>> find_lowercase_names("mark my words, the rose will bloom in may")
    []
    """
    pieces = (piece for piece in _PIECE.finditer(text) if not _is_ordinary(piece.group()))
    unusual = (word for piece in pieces if (word := _WORD.search(text, *piece.span())))
    if not any(_is_name(text, word) for word in unusual):  # the most frequent case
        return []
    words = [word for word in _WORD.finditer(text) if word.group() not in _BETWEEN]
    name_words = {word.start(): word for word in words if _is_name(text, word)}
    pairs = list(pairwise(words)) if name_words else []
    for first, second in (*pairs, *reversed(pairs)):  # a list of names and of unknown words
        if (first.start() in name_words) != (second.start() in name_words):
            other = second if first.start() in name_words else first
            if _LIST_CONJUNCTION.fullmatch(text, first.end(), second.start()) and _may_be_unknown(text, other):
                name_words[other.start()] = other
    return [NameSpan(w.group().title(), "person", *w.span()) for _, w in sorted(name_words.items())]


@lru_cache(1 << 14)
def _is_ordinary(word: str) -> bool:
    """Whether a piece of text between spaces is not a name, in any context."""
    lower = word.strip(".,;:!?()").removesuffix("'s").removesuffix("’s")
    return lower not in FIRST_NAMES and (len(lower) < _MIN_UNKNOWN or not lower.isalpha() or is_common_word(lower))


def _is_name(text: str, word: re.Match[str]) -> bool:
    lower = word.group()
    if _is_ordinary(lower):
        return False
    before = text[max(0, word.start() - 40) : word.start()]
    last = before.rstrip(" ,.").rpartition(" ")[2]
    is_first_name = lower in FIRST_NAMES
    common = lower in _ALSO_WORDS or lower in CALENDAR_WORDS or is_common_word(lower)
    if last in _TITLES or (last in _RELATIVES and _RELATIVE_BEFORE.search(before)):
        return True
    if last in _DEAR and not common and (is_first_name or _AFTER_LISTED.match(text, word.end())):
        return True
    if last in _ARTICLES:
        return False
    if is_first_name and (not common or _MET_BEFORE.search(before) or _does_something(text, word)):
        return True
    if not common and _TOLD_BEFORE.search(before) and _AFTER_TOLD.match(text, word.end()):
        return True
    return _ACTS_AFTER.match(text, word.end()) is not None


def _does_something(text: str, word: re.Match[str]) -> bool:
    """Whether a verb follows as after a person, or after two: "will is picking up", "grace and joy came over"."""
    if word.group() in CALENDAR_WORDS:
        return False
    pair = _PAIR.match(text, word.end())
    return _IS_DOING.match(text, word.end()) is not None or (pair is not None and pair[1] in FIRST_NAMES)


def _may_be_unknown(text: str, word: re.Match[str]) -> bool:
    lower = word.group()
    last = text[max(0, word.start() - 10) : word.start()].rstrip().rpartition(" ")[2]
    if not _AFTER_LISTED.match(text, word.end()):
        return False
    return (
        len(lower) >= _MIN_UNKNOWN
        and last not in _ARTICLES
        and not is_common_word(lower)
        and lower not in CALENDAR_WORDS
    )
