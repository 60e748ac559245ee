"""Ordinary English words: what a capital at the start of a sentence, or in a heading, does not make a name.

The list in commonwords.py holds base forms; `is_ordinary` also knows their plural, past, -ing and -ly forms.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from remanence.language.rules.common_word_list import COMMON_WORDS
from remanence.language.rules.lexicon import FIRST_NAMES


@lru_cache(maxsize=1 << 14)
def is_common_word(word: str) -> bool:
    """Whether this lower-case word is an ordinary one, though it may also be a name.

    >>> is_common_word("definitely"), is_common_word("stories"), is_common_word("follow-up"), is_common_word("rose")
    (True, True, True, True)
    >>> is_common_word("melanie"), is_common_word("james")  # though jam is one
    (False, False)
    """
    if word in COMMON_WORDS:
        return True
    if "-" in word:
        return all(len(part) < 3 or is_common_word(part) for part in word.split("-"))
    return word not in FIRST_NAMES and any(len(stem) > 2 and stem in COMMON_WORDS for stem in _stems(word))


def _stems(word: str) -> Iterator[str]:
    if word.endswith("s") and not word.endswith("ss"):
        yield word[:-1]
        if word.endswith("es"):
            yield word[:-2]
        if word.endswith("ies"):
            yield word[:-3] + "y"
    elif word.endswith("ly"):
        yield word[:-2]
        if word.endswith("ily"):
            yield word[:-3] + "y"
    else:
        for ending in ("ing", "ed"):
            if word.endswith(ending):
                stem = word[: -len(ending)]
                yield stem
                yield stem + "e"
                if stem[-1:] == stem[-2:-1]:
                    yield stem[:-1]
