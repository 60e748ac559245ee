"""Splits a long text at paragraphs, else sentences, else words, else anywhere."""

from __future__ import annotations

import re
from collections.abc import Iterable
from math import ceil

from remanence.text.text import sentence_breaks

MAX_PASSAGES = 4_000
"""Passages of one text: their number has 12 bits in the number of a point."""
NO_PASSAGE = ((0, 0),)
"""The passages of a text that no query is to find. None at all would mean the entire text."""

_PARAGRAPH = re.compile(r"\n[ \t\r]*\n\s*")
_SPACE = re.compile(r"\s+")


def split_passages(text: str, *, target: int = 800, maximum: int = 1200) -> tuple[tuple[int, int], ...]:
    """Passages of about `target` characters, as `(start, end)`; none for a text up to `maximum` characters.

    They are in order, do not overlap, and contain every character that is not a space. None is longer than
    `maximum`, except in a text that would need more than 4,000 of them.

    >>> split_passages("A short note.")
    ()
    >>> text = "One day it rained. " * 100
    >>> [text[start:end][-7:] for start, end in split_passages(text)]
    ['rained.', 'rained.']
    """
    if len(text) <= maximum:
        return ()
    # A passage is at least half the target long, unless spaces were trimmed.
    stretch = max(1.0, 2 * len(text) / ((MAX_PASSAGES - 1) * target))
    target, maximum = ceil(target * stretch), ceil(maximum * stretch)
    passages = []
    start = 0
    while start < len(text):
        end = _passage_end(text, start, target, maximum) if len(text) - start > maximum else len(text)
        passage = text[start:end]
        left, right = len(passage) - len(passage.lstrip()), len(passage.rstrip())
        if right:
            passages.append((start + left, start + right))
        start = end
    return tuple(passages)


def split_ranges(text: str, ranges: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """These ranges of a text as its passages: long ones are split, unless there would be too many.

    >>> split_ranges("Tea. A drink.", [(0, 4), (5, 13)])
    ((0, 4), (5, 13))
    >>> split_ranges("Nobody finds this.", []) == NO_PASSAGE
    True
    """
    all_ranges = tuple(ranges)
    parts = [(start, split_passages(text[start:end]) or [(0, end - start)]) for start, end in all_ranges]
    split = tuple((offset + start, offset + end) for offset, part in parts for start, end in part)
    return (split if len(split) <= MAX_PASSAGES else all_ranges) or NO_PASSAGE


def _passage_end(text: str, start: int, target: int, maximum: int) -> int:
    """The best end for a passage that begins at `start`: the boundary nearest to `target`."""
    low, high = start + (target + 1) // 2, start + maximum
    for boundaries in (
        (match.end() for match in _PARAGRAPH.finditer(text, low, high)),
        (begin for _, begin in sentence_breaks(text, low, high)),
        (match.end() for match in _SPACE.finditer(text, low, high)),
    ):
        candidates = [boundary for boundary in boundaries if boundary < high]
        if candidates:
            return min(candidates, key=lambda boundary: abs(boundary - start - target))
    return min(high, start + target)
