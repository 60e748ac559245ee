"""Words in a picture: how wide they are, how they are cut, and what must not stand in a file."""

from __future__ import annotations

import re
from collections.abc import Sized
from typing import TYPE_CHECKING
from unicodedata import combining, east_asian_width

if TYPE_CHECKING:
    from remanence.graph.traversal import Subgraph

LETTER_WIDTH = 7.2
"""The width of a common letter at 12 pixels. A file knows no fonts, so this is rather too wide."""
_NOT_IN_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def subgraph_title(subgraph: Subgraph) -> str:
    """What a picture is of, in a line."""
    starts = [node.label for node in subgraph.nodes if node.depth == 0]
    of = f"Around {wrap(starts[0], 60)[0]}" if len(starts) == 1 and starts[0].strip() else "The graph"
    more = ", and more that is not shown" if subgraph.truncated else ""
    return f"{of}: {count_label(subgraph.nodes, 'node')}, {count_label(subgraph.edges, 'edge')}{more}"


def count_label(things: Sized, noun: str) -> str:
    """How many there are.

    >>> count_label("a", "edge"), count_label("ab", "edge")
    ('1 edge', '2 edges')
    """
    return f"{len(things)} {noun}{'' if len(things) == 1 else 's'}"


def replace_invalid_xml(text: str) -> str:
    """A text without the characters that no XML file may hold, however they are written.

    >>> replace_invalid_xml("a\\x00b\\ud800c")
    'a�b�c'
    """
    return _NOT_IN_XML.sub("\ufffd", text)


def width_in_letters(text: str) -> int:
    """How many common letters wide a text is: Chinese ones count twice.

    >>> width_in_letters("Porto"), width_in_letters("東京")
    (5, 4)
    """
    return sum(0 if combining(char) else 2 if east_asian_width(char) in "WF" else 1 for char in text)


def wrap(text: str, width: int, lines: int = 1) -> tuple[str, ...]:
    """A text in a few lines of at most `width` letters, the last one cut with "…" if there was more.

    >>> wrap("Alice moved to Lisbon in May", 14, lines=2)
    ('Alice moved to', 'Lisbon in May')
    >>> wrap("Alice moved to Lisbon in May", 14)
    ('Alice moved t…',)
    """
    out: list[str] = []
    rest = replace_invalid_xml(" ".join(text.split()))
    while rest and len(out) < lines:
        fitting = _fitting(rest, width)
        if fitting == len(rest):
            return (*out, rest)
        if len(out) == lines - 1:
            return (*out, rest[: _fitting(rest, width - 1)].rstrip() + "…")
        # Between two words where that is possible; a word that is longer than the line is cut.
        space = rest.rfind(" ", 0, fitting + 1)
        cut = space if space > 0 else fitting
        out.append(rest[:cut])
        rest = rest[cut:].lstrip()
    return tuple(out)


def _fitting(text: str, width: int) -> int:
    """How many characters of a text fit, at least one."""
    taken = 0
    for place, char in enumerate(text):
        taken += width_in_letters(char)
        if taken > width:
            return max(place, 1)
    return len(text)
