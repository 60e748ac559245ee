"""Names that punctuation or grammar marks: addresses, handles, titles in quotes, and the first person."""

from __future__ import annotations

import re
from typing import NamedTuple

from remanence.language.rules.lexicon import LOWERCASE_TITLE_WORDS, is_common_word, load_pattern, load_words
from remanence.schema import SELF

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
    found: list[NameSpan] = []
    if "`" in text:
        found += _matches(_CODE, CODE_KIND, text)
    if "://" in text or "www." in text:
        found += _without_overlaps(_matches(_URL, "url", text), found)
    if "@" in text:
        found += _without_overlaps(_matches(_EMAIL, "email", text), found)
        found += _without_overlaps(_matches(_HANDLE, "handle", text), found)
    if '"' in text or "“" in text:
        found += _without_overlaps(_titles(_DOUBLE_QUOTED, text), found)
    if "'" in text or "‘" in text:
        found += _without_overlaps(_titles(_SINGLE_QUOTED, text), found)
    found.sort(key=lambda name: name.start)
    return found


_URL = re.compile(r"(?:https?://|www\.)[^\s<>\"'“”`|\[\]]*[^\s<>\"'“”`|\[\].,;:!?)]")
_EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}")
_HANDLE = re.compile(r"(?<![\w@/.])@\w{2,30}")
_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)
_DOUBLE_QUOTED = re.compile(r"[\"“]([^\"“”\n]{2,80})[\"”]")
_SINGLE_QUOTED = re.compile(r"['‘](?<![\w'’].)((?:[^'‘’\"\n]|['’](?=\w)){2,80})['’](?!\w)")
_TITLE_CUE = re.compile(rf"\b(?:{load_pattern('titled_works')})s?,? (?:the |is |was )?$")


def _matches(pattern: re.Pattern[str], kind: str, text: str) -> list[NameSpan]:
    return [NameSpan(match.group(), kind, *match.span()) for match in pattern.finditer(text)]


def _titles(pattern: re.Pattern[str], text: str) -> list[NameSpan]:
    titles = []
    for match in pattern.finditer(text):
        start, end = match.span(1)
        end -= text[end - 1] in ",."
        if _is_title(text[start:end], text[max(0, start - 25) : start - 1]):
            titles.append(NameSpan(text[start:end], "title", start, end))
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


def find_first_person_singular(text: str, speaker: str = SELF) -> list[NameSpan]:
    """Where the text speaks of its speaker alone, as names of `speaker`.

    >>> [name.start for name in find_first_person_singular("I gave my dog a bone, and we left.")]
    [0, 7]
    """
    return [name for name in find_first_person(text, speaker) if not is_first_person_plural(text, name)]


def find_first_person(text: str, speaker: str = SELF) -> list[NameSpan]:
    """Where the text speaks in the first person. "We" and "our" count as the speaker too.

    >>> [name.start for name in find_first_person("I gave our dog a bone, and we left.")]
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
_WORDS_BEFORE_NUMERAL = load_words("words_before_numeral")
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
