"""A picture to play with: one HTML file that asks nothing of the network.

Everything is worked out here, so that the page opens at once; what the page does is in `graph.html`.
"""

from __future__ import annotations

import json
import re
from datetime import datetime
from html import escape
from importlib.resources import files
from typing import Any

from remanence.graph.graph_at_time import MENTIONS
from remanence.graph.pictures.layout import lay_out
from remanence.graph.pictures.svg_text import replace_invalid_xml, subgraph_title
from remanence.graph.traversal import Edge, Node, Subgraph
from remanence.schema import format_moment


def graph_page(subgraph: Subgraph) -> str:
    """A part of the graph as one HTML page."""
    template = (files(__package__) / "graph.html").read_text("utf-8")
    parts = {"title": escape(replace_invalid_xml(subgraph_title(subgraph))), "graph": as_script(_drawn(subgraph))}
    # In one go, so that no label is taken for a place to fill.
    return re.sub("@@(title|graph)@@", lambda found: parts[found[1]], template)


def as_script(value: Any) -> str:
    """A value as JSON that may stand in a <script>: nothing in it can end the element, or begin a comment.

    >>> as_script("</script>")
    '"\\\\u003c/script\\\\u003e"'
    """
    text = json.dumps(value, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _drawn(walked: Subgraph) -> dict[str, Any]:
    """What the page is told.

    Times go in as places in the line of all moments at which anything begins or ends, which a browser
    cannot get wrong.
    """
    layout = lay_out(walked)
    ends = {end for edge in walked.edges for end in (edge.valid.start, edge.valid.end) if end is not None}
    moments = {moment: place for place, moment in enumerate(sorted(ends))}
    nodes = zip(walked.nodes, layout.labels, layout.coordinates, strict=True)
    edges = zip(walked.edges, layout.edge_ends, layout.bends, strict=True)
    return {
        "moments": [format_moment(moment) for moment in moments],
        "nodes": [{**_node(node), "lines": lines, "x": x, "y": y} for node, lines, (x, y) in nodes],
        "edges": [
            {**_edge(edge, moments), "source": source, "target": target, "bend": bend}
            for edge, (source, target), bend in edges
        ],
    }


def _node(node: Node) -> dict[str, Any]:
    return {"id": node.id, "kind": node.kind, "sort": node.sort, "label": node.label, "depth": node.depth}


def _edge(edge: Edge, moments: dict[datetime, int]) -> dict[str, Any]:
    return {
        "name": edge.name,
        "mention": edge.name == MENTIONS,
        "when": str(edge.valid) if edge.valid.has_bound else "",
        "since": -1 if edge.valid.start is None else moments[edge.valid.start],
        "until": len(moments) if edge.valid.end is None else moments[edge.valid.end],
        "learned": format_moment(edge.recorded_at),
        "observed_by": edge.observed_by,
        "confidence": edge.confidence,
        "evidence": edge.evidence,
    }
