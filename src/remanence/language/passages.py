"""Where to cut a long text: at paragraphs, else sentences, else words, else anywhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import ceil

from remanence.language.text import sentence_breaks

MAX_PASSAGES = 4_000

_PARAGRAPH = re.compile(r"\n[ \t\r]*\n\s*")
_SPACE = re.compile(r"\s+")


def split_passages(text: str, *, target: int = 800, maximum: int = 1200) -> tuple[tuple[int, int], ...]:
    """Passages of about `target` characters, as `(start, end)`; a text up to `maximum` has none.

    They lie in order, do not overlap, and together hold every character that is not a space. None is
    longer than `maximum`, except in a text so long that it would need more than 4,000 of them.

    >>> split_passages("A short note.")
    ()
    >>> text = "One day it rained. " * 100
    >>> [text[start:end][-7:] for start, end in split_passages(text)]
    ['rained.', 'rained.']
    """
    if len(text) <= maximum:
        return ()
    # Passages are at least half the target long, save where whitespace was trimmed.
    stretch = max(1.0, 2 * len(text) / ((MAX_PASSAGES - 1) * target))
    target, maximum = ceil(target * stretch), ceil(maximum * stretch)
    return tuple(_trimmed(text, _cuts(text, target, maximum)))


def _cuts(text: str, target: int, maximum: int) -> Iterator[tuple[int, int]]:
    start, size = 0, len(text)
    while size - start > maximum:
        end = _cut(text, start, target, maximum)
        yield start, end
        start = end
    if start < size:
        yield start, size


def _cut(text: str, start: int, target: int, maximum: int) -> int:
    """The best place to end a passage that begins at `start`: the boundary nearest to `target`."""
    low, high = start + (target + 1) // 2, start + maximum
    for places in (
        (match.end() for match in _PARAGRAPH.finditer(text, low, high)),
        (begin for _, begin in sentence_breaks(text, low, high)),
        (match.end() for match in _SPACE.finditer(text, low, high)),
    ):
        inside = [place for place in places if place < high]
        if inside:
            return min(inside, key=lambda place: abs(place - start - target))
    return min(high, start + target)


def _trimmed(text: str, spans: Iterator[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    for start, end in spans:
        passage = text[start:end]
        left, right = len(passage) - len(passage.lstrip()), len(passage.rstrip())
        if right:
            yield start + left, start + right
