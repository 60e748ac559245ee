"""A graph as an interactive HTML page that loads nothing from the network.

Python computes the layout, so that the page opens at once. The script of the page is in `graph.html`.
"""

from __future__ import annotations

import json
import re
from html import escape
from importlib.resources import files
from typing import Any

from remanence.graph.graph_at_time import MENTIONS
from remanence.graph.pictures.graph_export import node_fields
from remanence.graph.pictures.layout import lay_out
from remanence.graph.pictures.svg_text import replace_invalid_xml, subgraph_title
from remanence.graph.traversal import Subgraph
from remanence.schema import format_moment


def graph_page(subgraph: Subgraph) -> str:
    """A part of the graph as one HTML page."""
    title = escape(replace_invalid_xml(subgraph_title(subgraph)))
    return fill_template("graph.html", title=title, graph=as_script(_page_data(subgraph)))


def fill_template(name: str, **parts: str) -> str:
    """A template of this package with its @@parts@@ filled in."""
    template = (files(__package__) / name).read_text("utf-8")
    # In one pass, so that a label which looks like a placeholder is not replaced.
    return re.sub(f"@@({'|'.join(parts)})@@", lambda found: parts[found[1]], template)


def as_script(value: Any) -> str:
    """A value as JSON that is safe in a <script>: nothing in it can end the element or begin a comment.

    >>> as_script("</script>")
    '"\\\\u003c/script\\\\u003e"'
    """
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
