"""Words with a capital, their position in the sentence, and the kind of the names they form."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from remanence.language.rules import lexicon
from remanence.language.rules.lexicon import LOWERCASE_TITLE_WORDS, ORGANIZATIONS, is_common_word
from remanence.language.rules.name_spans import NameSpan
from remanence.language.text import ABBREVIATIONS


@dataclass(slots=True)
class CapitalizedWord:
    """A word with a capital and its position."""

    text: str
    start: int
    end: int
    lowercase: str
    starts_sentence: bool  # at the start of a sentence, line, quote or bracket
    possessive: bool = False
    in_heading: bool = False  # in a heading, a list label or in bold, where every word may have a capital


def find_capitalized_words(text: str, marked: list[NameSpan]) -> list[CapitalizedWord]:
    """The words with a capital that are not part of a `marked` name, in order.

    >>> [(token.text, token.starts_sentence) for token in find_capitalized_words("Then Alice's iPhone rang.", [])]
    [('Then', True), ('Alice', False), ('iPhone', False)]
    """
    tokens: list[CapitalizedWord] = []
    index = 0
    for match in _TOKEN.finditer(text):
        start, end = match.span()
        if end - start == 1 and text[start] == "I":
            continue
        while index < len(marked) and marked[index].end <= start:
            index += 1
        if index < len(marked) and marked[index].start < end:
            continue
        before = text[start - 1] if start else "\n"
        if before.isalnum() or before in "_#@/\\":
            start = _camel_case_start(text, start)  # iPhone, eBay
            if start < 0:
                continue
        word = text[start:end]
        if word == "I" or "_" in word:
            continue
        possessive = False
        if "'" in word or "’" in word:
            plain, ending = word.replace("’", "'"), ""
            if plain.endswith("n't"):
                continue
            if plain.endswith(_ENDINGS) and plain.lower() not in ORGANIZATIONS:
                ending = plain[plain.rindex("'") :]
                word, end = word[: -len(ending)], end - len(ending)
            possessive = ending == "'s"
        if "-" in word:
            stem, _, tail = word.rpartition("-")
            if tail.islower() and (tail.endswith("ed") or is_common_word(tail)):  # Keras-based
                end -= len(word) - len(stem)
                word = stem
        tokens.append(CapitalizedWord(word, start, end, word.lower(), _starts_sentence(text, start), possessive))
    if "\n" in text or "**" in text:
        _mark_labels(text, tokens)
    return tokens


_UPPER = "".join(
    re.escape(chr(code)) for low, high in ((0x41, 0x590), (0x1E00, 0x2000)) for code in range(low, high)
    if chr(code).isupper()
)  # fmt: skip
_TOKEN = re.compile(  # one class of letters first: the regex engine searches for it fast
    rf"[{_UPPER}](?:"
    rf"(?:\.[ ]?[{_UPPER}])+\."  # J. R. R. (Tolkien), U.S.
    rf"|(?<!I)\.(?=[ ][{_UPPER}]\w)"  # J. (Smith)
    r"|\w*(?:[-'’&]\w+|\.(?:com|net|org|io|js|ai)\b)*)"
)
_LABEL = re.compile(
    r"\*\*[^*\n]{1,120}\*\*"
    r"|^[ \t>]*(?:\#+|[-*+•|]|\d{1,3}[.)])[ \t]+[^\n:.!?]{1,100}(?=:|$)"
    r"|^[^\n:.!?]{1,80}:?$",
    re.MULTILINE,
)
_ENDINGS = ("'s", "'re", "'ve", "'ll", "'m", "'d", "'em")
_SPACE_BEFORE = frozenset(" \t\u00a0")
_CONTINUES = frozenset(",'’)&/%$+”;")


def _mark_labels(text: str, tokens: list[CapitalizedWord]) -> None:
    """Mark the tokens inside headings and labels."""
    index = 0
    for match in _LABEL.finditer(text):
        start, end = match.span()
        while index < len(tokens) and tokens[index].start < start:
            index += 1
        first = index
        while index < len(tokens) and tokens[index].end <= end:
            index += 1
        lowercase = sum(word.islower() and word not in LOWERCASE_TITLE_WORDS for word in match.group().split())
        if index - first >= lowercase:
            for token in tokens[first:index]:
                token.in_heading = True


def _camel_case_start(text: str, start: int) -> int:
    """Where a name such as iPhone begins; -1 if the capital is only inside a word."""
    for size in (1, 2):
        begin = start - size
        if begin >= 0 and text[begin:start].isalpha() and text[begin:start].islower():
            if begin == 0 or not (text[begin - 1].isalnum() or text[begin - 1] in "_#@/\\.'’-"):
                return begin
        else:
            break
    return -1


def _starts_sentence(text: str, start: int) -> bool:
    """Whether a sentence, a line, a quotation or a bracket begins at `start`."""
    at = start - 1
    while at >= 0 and text[at] in _SPACE_BEFORE:
        at -= 1
    if at < 0:
        return True
    before = text[at]
    if before.isalnum():
        return False
    if before == ".":
        word = at
        while word > 0 and at - word < 6 and (text[word - 1].isalpha() or text[word - 1] == "."):
            word -= 1
        return not (text[word:at].lower() in ABBREVIATIONS or (at - word == 1 and text[word].isupper()))
    if before == '"':
        return at == start - 1 or text[at - 1 : at] in ".!?"
    return before not in _CONTINUES


def kind_of_name(name: str, words: list[CapitalizedWord]) -> str:
    """The kind of a name made of these words: person, place, organization, product or thing."""
    return _kind_of_name(name, words[0].lowercase, words[-1].lowercase, len(words) > 1)


@lru_cache(1 << 14)
def _kind_of_name(name: str, first: str, last: str, several: bool) -> str:
    lower = name.lower()
    if lower in lexicon.PLACES or name in lexicon.PLACE_ACRONYMS:
        return "place"
    if lower in ORGANIZATIONS or lower.replace("’", "'") in ORGANIZATIONS:
        return "organization"
    if first in lexicon.HONORIFICS and several and last not in lexicon.PLACE_WORDS and " of " not in lower:
        return "place" if first == "st" else "person"
    if several:
        if last in lexicon.ORGANIZATION_WORDS or (first in lexicon.ORGANIZATION_WORDS and " of " in name):
            return "organization"
        if last in lexicon.PLACE_WORDS or first in ("mount", "lake", "san", "fort", "port"):
            return "place"
    if first in lexicon.FIRST_NAMES or (name[1:2] == "." and several):
        return "person"
    if first in lexicon.PRODUCTS or name[0].islower() or (not name.isalpha() and re.search(r"\d", name)):
        return "product"
    return "thing"
