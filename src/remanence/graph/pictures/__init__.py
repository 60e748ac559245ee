"""Pictures of the graph as files and in notebooks, and exports to other libraries.

A page loads nothing from the network. Python computes the layout of a graph, so that its page opens at once; the script
of the page is in `graph.html`.
"""

from __future__ import annotations

import json
import os
import re
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from remanence.errors import InvalidInput
from remanence.graph.graph_at_time import MENTIONS
from remanence.graph.pictures.graph_export import node_fields, to_graphml, to_igraph, to_networkx
from remanence.graph.pictures.layout import lay_out, replace_invalid_xml
from remanence.graph.pictures.svg import graph_svg, subgraph_title
from remanence.graph.pictures.timeline_picture import timeline_svg, timeline_title
from remanence.schema import format_moment

if TYPE_CHECKING:
    from remanence.graph.history import HistoryEvent
    from remanence.graph.traversal import Subgraph
    from remanence.schema import Relation

__all__ = ["NotebookPicture", "graph_picture", "svg_picture", "timeline_picture", "to_igraph", "to_networkx"]


@dataclass(frozen=True, slots=True, repr=False)
class NotebookPicture:
    """A picture for a notebook, which can also be saved as a file. It is drawn when it is displayed or saved."""

    title: str
    height: int
    formats: Mapping[str, Callable[[], str]]
    """The content of a file, by suffix."""

    def __repr__(self) -> str:
        return f"<{self.title}. A notebook draws it; elsewhere save it, for example as 'picture.html'>"

    def _repr_html_(self) -> str:
        # A frame with scripts and nothing else: neither the page nor the notebook can read the other.
        return (
            f'<iframe title="{escape(self.title)}" sandbox="allow-scripts" srcdoc="{escape(self.formats[".html"]())}" '
            f'style="width: 100%; height: {self.height}px; border: 0"></iframe>'
        )

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write a file in the format that its suffix names. If that fails, an existing file stays as it was."""
        if not isinstance(path, (str, os.PathLike)):
            raise InvalidInput(f"path={path!r} is of type {type(path).__name__}. Give a file, such as 'graph.html'.")
        file = Path(os.path.realpath(path))  # if the path is a symbolic link, its target is replaced and not the link
        draw = self.formats.get(Path(path).suffix.lower())
        if draw is None:
            raise InvalidInput(f"{os.fspath(path)!r} ends in none of {', '.join(self.formats)}. Choose one of these.")
        if not file.parent.is_dir():
            raise InvalidInput(f"there is no folder {str(file.parent)!r} to save {file.name!r} in. Make it first.")
        if file.is_dir():
            raise InvalidInput(f"{str(file)!r} is a folder. Give another name for the file.")
        unfinished = file.with_name(f".{secrets.token_hex(8)}.tmp")
        try:
            unfinished.write_text(draw(), "utf-8")
            os.replace(unfinished, file)
        finally:
            unfinished.unlink(missing_ok=True)
        return file


def graph_picture(subgraph: Subgraph) -> NotebookPicture:
    """A picture of a part of the graph: interactive as HTML, or as SVG, or GraphML for other programs."""
    draw = {".html": graph_page, ".svg": graph_svg, ".graphml": to_graphml}
    formats = {suffix: partial(each, subgraph) for suffix, each in draw.items()}
    return NotebookPicture(subgraph_title(subgraph), 560, formats)


def timeline_picture(
    relations: Sequence[Relation],
    events: Sequence[HistoryEvent] = (),
    *,
    now: datetime | None = None,
    total: int | None = None,
) -> NotebookPicture:
    """A picture of when relations held, and when they were learned, as HTML or SVG."""
    draw = partial(timeline_svg, relations, events, now=now, total=total)
    return svg_picture(timeline_title(relations, total), 420, draw)


def svg_picture(title: str, height: int, draw: Callable[[], str]) -> NotebookPicture:
    """A picture that is drawn as SVG; as HTML it is a page with nothing else on it."""

    def page() -> str:
        return _fill_template("svg.html", title=escape(replace_invalid_xml(title)), svg=draw())

    return NotebookPicture(title, height, {".html": page, ".svg": draw})


def graph_page(subgraph: Subgraph) -> str:
    title = escape(replace_invalid_xml(subgraph_title(subgraph)))
    return _fill_template("graph.html", title=title, graph=_as_script(_page_data(subgraph)))


def _fill_template(name: str, **parts: str) -> str:
    """A template of this package with its @@parts@@ filled in."""
    template = (files(__package__) / name).read_text("utf-8")
    # In one pass, so that a label which looks like a placeholder is not replaced.
    return re.sub(f"@@({'|'.join(parts)})@@", lambda found: parts[found[1]], template)


def _as_script(value: Any) -> str:
    """A value as JSON that is safe in a <script>: nothing in it can end the element or begin a comment."""
    text = json.dumps(value, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _page_data(subgraph: Subgraph) -> dict[str, Any]:
    """The data of the page. Times are indexes into the sorted list of all moments at which an edge begins or ends, so
    that the page need not compare dates."""
    layout = lay_out(subgraph)
    ends = {end for edge in subgraph.edges for end in (edge.valid.start, edge.valid.end) if end is not None}
    moments = {moment: index for index, moment in enumerate(sorted(ends))}
    nodes = zip(subgraph.nodes, layout.labels, layout.coordinates, strict=True)
    edges = zip(subgraph.edges, layout.edge_ends, layout.bends, strict=True)
    return {
        "moments": [format_moment(moment) for moment in moments],
        "nodes": [
            {"id": node.id, **node_fields(node), "lines": lines, "x": x, "y": y} for node, lines, (x, y) in nodes
        ],
        "edges": [
            {
                "name": edge.name,
                "mention": edge.name == MENTIONS,
                "when": str(edge.valid) if edge.valid.has_bound else "",
                "since": -1 if edge.valid.start is None else moments[edge.valid.start],
                "until": len(moments) if edge.valid.end is None else moments[edge.valid.end],
                "learned": format_moment(edge.recorded_at),
                "observed_by": edge.observed_by,
                "confidence": edge.confidence,
                "evidence": edge.evidence,
                "source": source,
                "target": target,
                "bend": bend,
            }
            for edge, (source, target), bend in edges
        ],
    }
