"""Candidates for names in a text: addresses, handles, quoted titles, the first person, and words with a capital."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from remanence.schema import SELF
from remanence.text.lexicon import word_lists
from remanence.text.lexicon.word_lists import LOWERCASE_TITLE_WORDS, ORGANIZATIONS, is_common_word
from remanence.text.text import ABBREVIATIONS

CODE_KIND = "code"
"""The kind of a span that is not prose. No name is searched inside."""


class NameSpan(NamedTuple):
    """A name and its position: `text[start:end]`, without the possessive ending."""

    text: str
    kind: str
    start: int
    end: int


def find_marked_names(text: str) -> list[NameSpan]:
    """Code, URLs, e-mail addresses, handles and quoted titles, in order. Of two that overlap the first is kept.

    >>> [(name.text, name.kind) for name in find_marked_names('ask @bob for "The Hobbit"')]
    [('@bob', 'handle'), ('The Hobbit', 'title')]
    """
    names: list[NameSpan] = []
    # Most texts have none of these marks, and to search for one takes less time than a pattern.
    if "`" in text:
        names += _matches(_CODE, CODE_KIND, text)
    if "://" in text or "www." in text:
        names += _without_overlaps(_matches(_URL, "url", text), names)
    if "@" in text:
        names += _without_overlaps(_matches(_EMAIL, "email", text), names)
        names += _without_overlaps(_matches(_HANDLE, "handle", text), names)
    if '"' in text or "“" in text:
        names += _without_overlaps(_titles(text, _matches(_QUOTED, "title", text)), names)
    if "'" in text or "‘" in text:
        names += _without_overlaps(_titles(text, _matches(_SINGLE_QUOTED, "title", text)), names)
    return sorted(names, key=lambda name: name.start) if names else names


_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)
_URL = re.compile(r"(?:https?://|www\.)[^\s<>\"'“”`|\[\]]*[^\s<>\"'“”`|\[\].,;:!?)]")
_EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}")
_HANDLE = re.compile(r"(?<![\w@/.])@\w{2,30}")
_QUOTED = re.compile(r"[\"“]([^\"“”\n]{2,80})[\"”]")
_SINGLE_QUOTED = re.compile(r"['‘](?<![\w'’].)((?:[^'‘’\"\n]|['’](?=\w)){2,80})['’](?!\w)")
_TITLE_CUE = re.compile(rf"\b(?:{word_lists.load_pattern('titled_works')})s?,? (?:the |is |was )?$")


def _matches(pattern: re.Pattern[str], kind: str, text: str) -> list[NameSpan]:
    """The text of a match: its group if it has one, else all of it."""
    spans = (match.span(pattern.groups) for match in pattern.finditer(text))
    return [NameSpan(text[start:end], kind, start, end) for start, end in spans]


def _titles(text: str, quoted: list[NameSpan]) -> list[NameSpan]:
    """The quoted texts that are titles, without a comma or full stop at the end."""
    titles = []
    for _, kind, start, end in quoted:
        end -= text[end - 1] in ",."
        if _is_title(text[start:end], text[max(0, start - 25) : start - 1]):
            titles.append(NameSpan(text[start:end], kind, start, end))
    return titles


def _without_overlaps(names: list[NameSpan], earlier: list[NameSpan]) -> list[NameSpan]:
    """The names that overlap no earlier one, in time linear in both."""
    covered = sorted((name.start, name.end) for name in earlier)
    separate, index = [], 0
    for name in names:
        while index < len(covered) and covered[index][1] <= name.start:
            index += 1
        if index == len(covered) or covered[index][0] >= name.end:
            separate.append(name)
    return separate


def _is_title(quoted: str, before: str) -> bool:
    """Whether a quoted text is written like a title: every word has a capital, except words such as "of"."""
    words = quoted.split()
    if not words or len(words) > 12 or not quoted[0].isalnum() or not (quoted[0].isupper() or quoted[0].isdigit()):
        return False
    if any(word[0].islower() and word not in LOWERCASE_TITLE_WORDS for word in words):
        return False
    if quoted[0].isdigit() and len(words) == 1:
        return False
    if _TITLE_CUE.search(before):
        return True
    if quoted[-1] in "!?:;,…":
        return False
    capitalized = sum(word[0].isupper() for word in words)
    return capitalized > 1 or (len(words) == 1 and not is_common_word(quoted.lower()) and not quoted.isupper())


def find_first_person_singular(text: str) -> list[NameSpan]:
    """The positions of "I", "me", "my" and the like, as names of `SELF`.

    >>> [name.start for name in find_first_person_singular("I gave my dog a bone, and we left.")]
    [0, 7]
    """
    return [name for name in find_first_person(text, SELF) if not is_first_person_plural(text, name)]


def find_first_person(text: str, speaker: str) -> list[NameSpan]:
    """The positions of the first person, as names of `speaker`. "We" and "our" count too.

    >>> [name.start for name in find_first_person("I gave our dog a bone, and we left.", "Ann")]
    [0, 7, 27]
    """
    return [
        NameSpan(speaker, "person", *match.span())
        for match in _FIRST_PERSON.finditer(text)
        if match.group() != "I" or not _is_numeral(text, match.start())
    ]


def is_first_person_plural(text: str, name: NameSpan) -> bool:
    """Whether this name is written "we" or "our"."""
    return text[name.start : name.end] in _PLURAL


_PLURAL = frozenset(("we", "We", "our", "Our"))
_WORDS_BEFORE_NUMERAL = word_lists.load_words("words_before_numeral")
_FIRST_PERSON = re.compile(  # a letter first: the regex engine searches for it fast
    r"[IiMmWwOo](?<![\w.@#'’&-].)(?:(?<=[Ii])(?!\.\w|[\w&@-])|(?<=[Mm])(?:e|y|ine|yself)(?![\w&@-])"
    r"|(?<=[Ww])e(?=['’ ])|(?<=[Oo])ur(?= ))"
)


def _is_numeral(text: str, start: int) -> bool:
    """Whether an "I" is a number: World War I, Elizabeth I."""
    if start < 2 or text[start - 1] != " " or not text[start - 2].isalpha():
        return False
    word = text[text.rfind(" ", max(0, start - 20), start - 1) + 1 : start - 1]
    return word[0].isupper() and word.lower() in _WORDS_BEFORE_NUMERAL


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
        if _JOINS.match(before):
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
_OTHER_SCRIPTS = r"\u0590-\u1dff\u2e80-\U0010ffff"
"""Scripts without capitals: from Hebrew on, and from Chinese on. Many are written without spaces around a name
("AnaさんはPortoに住む"), so a name ends and begins where the script changes."""
_LETTER = rf"[^\W{_OTHER_SCRIPTS}]"
_TOKEN = re.compile(  # one class of letters first: the regex engine searches for it fast
    rf"[{_UPPER}](?:"
    rf"(?:\.[ ]?[{_UPPER}])+\."  # J. R. R. (Tolkien), U.S.
    rf"|(?<!I)\.(?=[ ][{_UPPER}]{_LETTER})"  # J. (Smith)
    rf"|{_LETTER}*(?:[-'’&]{_LETTER}+|\.(?:com|net|org|io|js|ai)\b)*)"
)
_JOINS = re.compile(rf"{_LETTER}|[#@/\\]")
"""A capital directly after one of these is inside a word, a path or a handle."""
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
    return _kind(name, words[0].lowercase, words[-1].lowercase, len(words) > 1)


@lru_cache(1 << 14)  # the same names occur again and again
def _kind(name: str, first: str, last: str, several: bool) -> str:
    lower = name.lower()
    if lower in word_lists.PLACES or name in word_lists.PLACE_ACRONYMS:
        return "place"
    if lower in ORGANIZATIONS or lower.replace("’", "'") in ORGANIZATIONS:
        return "organization"
    if first in word_lists.HONORIFICS and several and last not in word_lists.PLACE_WORDS and " of " not in lower:
        return "place" if first == "st" else "person"
    if several:
        if last in word_lists.ORGANIZATION_WORDS or (first in word_lists.ORGANIZATION_WORDS and " of " in name):
            return "organization"
        if last in word_lists.PLACE_WORDS or first in ("mount", "lake", "san", "fort", "port"):
            return "place"
    if several and first in word_lists.KINSHIP_TITLES:
        return "person"
    if first in word_lists.FIRST_NAMES or (name[1:2] == "." and several):
        return "person"
    if first in word_lists.PRODUCTS or name[0].islower() or (not name.isalpha() and re.search(r"\d", name)):
        return "product"
    return "thing"
