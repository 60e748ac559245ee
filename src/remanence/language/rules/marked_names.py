"""Names that are marked as such: addresses, handles, and titles in quotes."""

from __future__ import annotations

import re
from typing import NamedTuple

from remanence.language.rules.common_words import is_common_word
from remanence.language.rules.lexicon import LOWERCASE_TITLE_WORDS

CODE_KIND = "code"
"""The kind of a stretch that is no prose, so that no name is looked for inside."""


class NameSpan(NamedTuple):
    """A name and where it stands: `text[start:end]`, without its possessive ending."""

    text: str
    kind: str
    start: int
    end: int


def find_marked_names(text: str) -> list[NameSpan]:
    """Code, URLs, e-mail addresses, handles and quoted titles, in order; where two overlap the first wins.

    >>> [(name.text, name.kind) for name in find_marked_names('ask @bob for "The Hobbit"')]
    [('@bob', 'handle'), ('The Hobbit', 'title')]
    """
    found: list[NameSpan] = []
    if "`" in text:
        found += _matches(_CODE, CODE_KIND, text, found)
    if "://" in text or "www." in text:
        found += _matches(_URL, "url", text, found)
    if "@" in text:
        found += _matches(_EMAIL, "email", text, found)
        found += _matches(_HANDLE, "handle", text, found)
    if '"' in text or "“" in text:
        found += _titles(_QUOTED, text, found)
    if "'" in text or "‘" in text:
        found += _titles(_QUOTED_ONCE, text, found)
    found.sort(key=lambda name: name.start)
    return found


_URL = re.compile(r"(?:https?://|www\.)[^\s<>\"'“”`|\[\]]*[^\s<>\"'“”`|\[\].,;:!?)]")
_EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}")
_HANDLE = re.compile(r"(?<![\w@/.])@\w{2,30}")
_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)
_QUOTED = re.compile(r"[\"“]([^\"“”\n]{2,80})[\"”]")
_QUOTED_ONCE = re.compile(r"['‘](?<![\w'’].)((?:[^'‘’\"\n]|['’](?=\w)){2,80})['’](?!\w)")
_TITLE_CUE = re.compile(
    r"\b(?:book|novel|film|movie|song|album|show|series|game|episode|poem|play|titled|called|named|entitled|read"
    r"|reading|watched|watching|single|track|documentary|musical|painting|podcast)s?,? (?:the |is |was )?$"
)


def _titles(pattern: re.Pattern[str], text: str, taken: list[NameSpan]) -> list[NameSpan]:
    titles = []
    for match in pattern.finditer(text):
        start, end = match.span(1)
        end -= text[end - 1] in ",."
        if _is_title(text[start:end], text[max(0, start - 25) : start - 1]):
            titles.append(NameSpan(text[start:end], "title", start, end))
    return _apart(titles, taken)


def _matches(pattern: re.Pattern[str], kind: str, text: str, taken: list[NameSpan]) -> list[NameSpan]:
    return _apart([NameSpan(m.group(), kind, *m.span()) for m in pattern.finditer(text)], taken)


def _apart(found: list[NameSpan], taken: list[NameSpan]) -> list[NameSpan]:
    """Those of `found` that do not overlap one already taken, in time linear in both."""
    covered = [(name.start, name.end) for name in taken]
    if not covered:
        return found
    covered.sort()
    kept, at = [], 0
    for name in found:
        while at < len(covered) and covered[at][1] <= name.start:
            at += 1
        if at == len(covered) or covered[at][0] >= name.end:
            kept.append(name)
    return kept


def _is_title(quoted: str, before: str) -> bool:
    """Whether quoted words are written like a title: every word but the small ones has its capital."""
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
    named = [word for word in words if word[0].isupper()]
    return len(named) > 1 or (len(words) == 1 and not is_common_word(quoted.lower()) and not quoted.isupper())
