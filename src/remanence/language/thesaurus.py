"""Words that are used alike, so that a question about a trip finds what was said of a journey.

`thesaurus.txt` is made from the default embedder's table (`models.embedders.build_thesaurus`) and serves with
every embedder: one line a word, then the words near it, each with how near, in hundredths.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

THESAURUS_FILE = Path(__file__).with_suffix(".txt")


@lru_cache(4_096)
def related_words(word: str) -> Sequence[tuple[str, float]]:
    """The words used like this one, as `tokens` gives them, and how near each is, 0 to 1; nearest first.

    >>> related_words("journey")[1]
    ('trip', 0.57)
    """
    told = _lines().get(word, "").split()
    return tuple((other, int(near) / 100) for other, near in zip(told[::2], told[1::2], strict=True))


def thesaurus_words() -> list[str]:
    """The words that have any, in order."""
    return list(_lines())


@lru_cache(1)
def _lines() -> dict[str, str]:
    lines = THESAURUS_FILE.read_text(encoding="ascii").splitlines()
    return dict(line.split(" ", 1) for line in lines if not line.startswith("#"))
