"""Related words, so that a question about a trip finds a text about a journey.

`thesaurus.txt` is made from the table of the default embedder (benchmarks/build_thesaurus.py) and used with every
embedder: each line has a word, then the words near it, each with its similarity in hundredths.

Words that are listed one after another, such as months, are used alike but never mean each other: each line of
`word_series.txt` is such a series.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from remanence.text.text import tokens

THESAURUS_FILE = Path(__file__).with_suffix(".txt")
_SERIES_FILE = Path(__file__).with_name("word_series.txt")


@lru_cache(4_096)
def related_words(word: str) -> Sequence[tuple[str, float]]:
    """The words used like this one, in the form of `tokens`, with their similarity, 0 to 1; nearest first.

    >>> related_words("journey")[1]
    ('trip', 0.58)
    """
    related = thesaurus_lines().get(word, "").split()
    series = _series().get(word)
    return tuple(
        (other, int(percent) / 100)
        for other, percent in zip(related[::2], related[1::2], strict=True)
        if series is None or _series().get(other) != series
    )


def words_of_series(text: str) -> dict[int, set[str]]:
    """The words of a text that are in a series, in the form of `tokens`, by the number of the series.

    >>> sorted(map(sorted, words_of_series("The rooms on floors two and three are free in May.").values()))
    [['may'], ['three', 'two']]
    """
    found: dict[int, set[str]] = {}
    for word in tokens(text):
        number = _series().get(word)
        if number is not None:
            found.setdefault(number, set()).add(word)
    return found


@lru_cache(1)
def _series() -> dict[str, int]:
    """The number of the series of each word in one."""
    lines = _SERIES_FILE.read_text(encoding="ascii").splitlines()
    return {word: number for number, line in enumerate(lines) for word in tokens(line)}


@lru_cache(1)
def thesaurus_lines() -> dict[str, str]:
    """The lines of the file by their word."""
    lines = THESAURUS_FILE.read_text(encoding="ascii").splitlines()
    return dict(line.split(" ", 1) for line in lines if not line.startswith("#"))
