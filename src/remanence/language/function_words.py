"""The function words of other languages, from `function_words.txt`: "und", "nicht", "wo"."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

_FILE = Path(__file__).with_suffix(".txt")
_OTHER_SCRIPTS = ("ru", "uk", "el", "ar", "fa", "he", "hi")


@lru_cache(1)
def function_words() -> Mapping[str, frozenset[str]]:
    """The function words of each language by its two-letter code; under "cjk" characters and pairs of characters.

    >>> "und" in function_words()["de"], "dog" in function_words()["da"]
    (True, False)
    """
    lines = [line for line in _FILE.read_text("utf-8").splitlines() if not line.startswith("#")]
    return {name.strip("[]"): frozenset(words.split()) for name, words in zip(lines[::2], lines[1::2], strict=True)}


@lru_cache(1)
def function_words_of_other_scripts() -> frozenset[str]:
    """Those of the languages that are not written in Latin letters."""
    return frozenset[str]().union(*(function_words()[language] for language in _OTHER_SCRIPTS))
