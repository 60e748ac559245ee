"""Pictures of the graph, and exports to other libraries.

graph_export      igraph, networkx, and GraphML files
layout            the coordinates of each node
svg               graphs as SVG
svg_text          the width and wrapping of text
html_page         graphs as an interactive HTML page, from the template `graph.html`
timeline_picture  when relations held, as bars, from the template `timeline.html`
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from remanence.errors import InvalidInput
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


@dataclass(frozen=True, slots=True, repr=False)
class NotebookPicture:
    """A picture for a notebook. It is drawn when the notebook displays it."""

    title: str
    html: Callable[[], str]
    height: int

    def __repr__(self) -> str:
        return f"<{self.title}. A notebook draws it; elsewhere save it, for example as 'picture.html'>"

    def _repr_html_(self) -> str:
        # A frame with scripts and nothing else: neither the page nor the notebook can read the other.
        return (
            f'<iframe title="{escape(self.title)}" sandbox="allow-scripts" srcdoc="{escape(self.html())}" '
            f'style="width: 100%; height: {self.height}px; border: 0"></iframe>'
        )


def save(subgraph: Subgraph, path: str | os.PathLike[str]) -> Path:
    """Save a part of the graph as .html (interactive), .svg or .graphml (for other programs)."""
    formats: dict[str, Callable[[Path], object]] = {
        ".html": lambda file: file.write_text(graph_page(subgraph), "utf-8"),
        ".svg": lambda file: file.write_text(graph_svg(subgraph), "utf-8"),
        ".graphml": partial(write_graphml, subgraph),
    }
    return _write(path, formats)


def show(subgraph: Subgraph) -> NotebookPicture:
    """A part of the graph as an interactive picture for a notebook."""
    return NotebookPicture(subgraph_title(subgraph), partial(graph_page, subgraph), 560)


def save_timeline(
    relations: Sequence[Relation],
    path: str | os.PathLike[str],
    events: Sequence[HistoryEvent] = (),
    *,
    now: datetime | None = None,
) -> Path:
    """Save when relations held, and when they were learned, as .html or .svg."""
    formats: dict[str, Callable[[Path], object]] = {
        ".html": lambda file: file.write_text(timeline_page(relations, events, now=now), "utf-8"),
        ".svg": lambda file: file.write_text(timeline_svg(relations, events, now=now), "utf-8"),
    }
    return _write(path, formats)


def show_timeline(
    relations: Sequence[Relation], events: Sequence[HistoryEvent] = (), *, now: datetime | None = None
) -> NotebookPicture:
    """When relations held, and when they were learned, as a picture for a notebook."""
    return NotebookPicture(timeline_title(relations), partial(timeline_page, relations, events, now=now), 420)


def _write(path: str | os.PathLike[str], formats: Mapping[str, Callable[[Path], object]]) -> Path:
    """Write a file in the format that its suffix names. If that fails, an existing file stays as it was."""
    if not isinstance(path, (str, os.PathLike)):
        raise InvalidInput(f"path={path!r} is of type {type(path).__name__}. Give a file, such as 'graph.html'.")
    file = Path(os.path.realpath(path))  # if the path is a symbolic link, its target is replaced and not the link
    write = formats.get(Path(path).suffix.lower())
    if write is None:
        raise InvalidInput(f"{os.fspath(path)!r} ends in none of {', '.join(formats)}. Choose one of these.")
    if not file.parent.is_dir():
        raise InvalidInput(f"there is no folder {str(file.parent)!r} to save {file.name!r} in. Make it first.")
    if file.is_dir():
        raise InvalidInput(f"{str(file)!r} is a folder. Give another name for the file.")
    unfinished = file.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        write(unfinished)
        os.replace(unfinished, file)
    finally:
        unfinished.unlink(missing_ok=True)
    return file
