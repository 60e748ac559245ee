"""Pictures of the graph as files and in notebooks, and exports to other libraries.

A page loads nothing from the network. Python computes the layout of a graph, so that its page opens at once; the script
of the page is in `graph.html`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from functools import partial
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from remanence.graph.graph_at_time import MENTIONS
from remanence.graph.pictures.graph_export import node_fields, to_graphml, to_igraph, to_networkx
from remanence.graph.pictures.layout import lay_out
from remanence.graph.pictures.svg import graph_svg, subgraph_title
from remanence.graph.pictures.timeline_picture import timeline_svg, timeline_title
from remanence.schema import format_moment
from remanence.schema.notebook_pictures import NotebookPicture, fill_template, replace_invalid_xml, svg_picture

if TYPE_CHECKING:
    from remanence.graph.history import HistoryEvent
    from remanence.graph.traversal import Subgraph
    from remanence.schema import Relation

__all__ = ["graph_picture", "timeline_picture", "to_igraph", "to_networkx"]


def graph_picture(subgraph: Subgraph) -> NotebookPicture:
    """A picture of a part of the graph: interactive as HTML, or as SVG, or GraphML for other programs."""
    draw = {".html": graph_page, ".svg": graph_svg, ".graphml": to_graphml}
    formats = {suffix: partial(draw_format, subgraph) for suffix, draw_format in draw.items()}
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


def graph_page(subgraph: Subgraph) -> str:
    title = escape(replace_invalid_xml(subgraph_title(subgraph)))
    template = (files(__package__) / "graph.html").read_text("utf-8")
    return fill_template(template, title=title, graph=_as_script(_page_data(subgraph)))


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
