"""Related words, so that a question about a trip finds a text about a journey.

`thesaurus.txt` is made from the table of the default embedder (benchmarks/build_thesaurus.py) and used with every
embedder: each line has a word, then the words near it, each with its similarity in hundredths.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

THESAURUS_FILE = Path(__file__).with_suffix(".txt")


@lru_cache(4_096)
def related_words(word: str) -> Sequence[tuple[str, float]]:
    """The words used like this one, in the form of `tokens`, with their similarity, 0 to 1; nearest first.

    >>> related_words("journey")[1]
    ('trip', 0.57)
    """
    related = thesaurus_lines().get(word, "").split()
    return tuple((other, int(percent) / 100) for other, percent in zip(related[::2], related[1::2], strict=True))


@lru_cache(1)
def thesaurus_lines() -> dict[str, str]:
    """The lines of the file by their word."""
    lines = THESAURUS_FILE.read_text(encoding="ascii").splitlines()
    return dict(line.split(" ", 1) for line in lines if not line.startswith("#"))
