"""Text in a picture: its width, how it is wrapped, and which characters a file may not have."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from unicodedata import combining, east_asian_width

from remanence.language.text import pluralize

if TYPE_CHECKING:
    from remanence.graph.traversal import Subgraph

LETTER_WIDTH = 7.2
"""The width of an average letter at 12 pixels. The font is not known here, so this is rather too wide."""
_NOT_IN_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def subgraph_title(subgraph: Subgraph) -> str:
    """The title of a picture of the graph."""
    starts = [node.label for node in subgraph.nodes if node.depth == 0]
    subject = f"Around {wrap(starts[0], 60)[0]}" if len(starts) == 1 and starts[0].strip() else "The graph"
    more = ", and more that is not shown" if subgraph.truncated else ""
    return f"{subject}: {pluralize(len(subgraph.nodes), 'node')}, {pluralize(len(subgraph.edges), 'edge')}{more}"


def replace_invalid_xml(text: str) -> str:
    """A text without the characters that XML does not allow, not even escaped.

    >>> replace_invalid_xml("a\\x00b\\ud800c")
    'a�b�c'
    """
    return _NOT_IN_XML.sub("\ufffd", text)


def width_in_letters(text: str) -> int:
    """The width of a text in average letters. Wide characters, such as Chinese ones, count twice.

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
        # Between two words where possible; a word that is longer than the line is cut.
        space = rest.rfind(" ", 0, fitting + 1)
        cut = space if space > 0 else fitting
        out.append(rest[:cut])
        rest = rest[cut:].lstrip()
    return tuple(out)


def _fitting(text: str, width: int) -> int:
    """How many characters of a text fit, at least one."""
    used = 0
    for index, char in enumerate(text):
        used += width_in_letters(char)
        if used > width:
            return max(index, 1)
    return len(text)
