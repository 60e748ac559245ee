"""Pictures of the graph: to look at, to play with, and to give to other libraries.

networks   for igraph, networkx, and GraphML files
layout     where each node stands
svg        a picture that stands still
page       one to play with: a single HTML file, whose other half is `graph.html`
timeline   what held when, as bars
files      writing a file, whole or not at all
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from remanence.graph.pictures.atomic_file import write_atomically
from remanence.graph.pictures.graph_export import to_igraph, to_networkx, write_graphml
from remanence.graph.pictures.html_page import graph_page
from remanence.graph.pictures.svg import graph_svg
from remanence.graph.pictures.svg_text import subgraph_title
from remanence.graph.pictures.timeline_picture import timeline_page, timeline_svg, timeline_title

if TYPE_CHECKING:
    from remanence.graph.history_events import HistoryEvent
    from remanence.graph.traversal import Subgraph
    from remanence.schema import Relation

__all__ = ["NotebookPicture", "save", "save_timeline", "show", "show_timeline", "to_igraph", "to_networkx"]


def save(subgraph: Subgraph, path: str | os.PathLike[str]) -> Path:
    """Save a part of the graph as .html (to play with), .svg (to print) or .graphml (for other programs)."""
    formats: dict[str, Callable[[Path], object]] = {
        ".html": lambda file: file.write_text(graph_page(subgraph), "utf-8"),
        ".svg": lambda file: file.write_text(graph_svg(subgraph), "utf-8"),
        ".graphml": partial(write_graphml, subgraph),
    }
    return write_atomically(path, formats)


def show(subgraph: Subgraph) -> NotebookPicture:
    """A part of the graph as a picture that a notebook shows, to play with."""
    return NotebookPicture(subgraph_title(subgraph), partial(graph_page, subgraph), 560)


def save_timeline(
    relations: Sequence[Relation],
    path: str | os.PathLike[str],
    events: Sequence[HistoryEvent] = (),
    *,
    now: datetime | None = None,
) -> Path:
    """Save what held when, and when it was learned, as .html or .svg."""
    formats: dict[str, Callable[[Path], object]] = {
        ".html": lambda file: file.write_text(timeline_page(relations, events, now=now), "utf-8"),
        ".svg": lambda file: file.write_text(timeline_svg(relations, events, now=now), "utf-8"),
    }
    return write_atomically(path, formats)


def show_timeline(
    relations: Sequence[Relation], events: Sequence[HistoryEvent] = (), *, now: datetime | None = None
) -> NotebookPicture:
    """What held when, and when it was learned, as a picture that a notebook shows."""
    return NotebookPicture(timeline_title(relations), partial(timeline_page, relations, events, now=now), 420)


@dataclass(frozen=True, slots=True, repr=False)
class NotebookPicture:
    """A picture that a notebook shows. It is drawn when it is looked at, not before."""

    title: str
    html: Callable[[], str]
    height: int

    def __repr__(self) -> str:
        return f"<{self.title}. A notebook draws it; elsewhere save it, for example as 'picture.html'>"

    def _repr_html_(self) -> str:
        # In a frame of its own, with scripts but nothing else: neither can reach into the other.
        return (
            f'<iframe title="{escape(self.title)}" sandbox="allow-scripts" srcdoc="{escape(self.html())}" '
            f'style="width: 100%; height: {self.height}px; border: 0"></iframe>'
        )
