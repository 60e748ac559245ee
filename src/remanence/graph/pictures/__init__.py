"""Pictures of the graph as files and in notebooks, and exports to other libraries.

A page loads nothing from the network. Python computes the layout of a graph, so that its page opens at once; the script
of the page is in `graph.html`.

In exports times are ISO text, "" where an end is open. `evidence` is the ids of the memories, separated by spaces:
plain values, which every file format can hold.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from functools import partial
from html import escape
from importlib.resources import files
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any

from remanence.errors import MissingExtra
from remanence.graph.graph_at_time import MENTIONS
from remanence.graph.pictures.layout import graph_svg, lay_out, subgraph_title
from remanence.graph.pictures.timeline_picture import timeline_svg, timeline_title
from remanence.schema import format_moment
from remanence.schema.notebook_pictures import NotebookPicture, fill_template, replace_invalid_xml, svg_picture

if TYPE_CHECKING:
    import igraph
    import networkx

    from remanence.graph.history import HistoryEvent
    from remanence.graph.traversal import Edge, Node, Subgraph
    from remanence.schema import Relation

__all__ = ["graph_picture", "timeline_picture", "to_igraph", "to_networkx"]

_NODE_FIELDS = ("label", "kind", "sort", "depth")
_EDGE_FIELDS = ("name", "valid_from", "valid_until", "recorded_at", "confidence", "evidence", "observed_by", "id")


def graph_picture(subgraph: Subgraph) -> NotebookPicture:
    """A picture of a part of the graph: interactive as HTML, or as SVG, or GraphML for other programs."""
    draw = {".html": graph_page, ".svg": graph_svg, ".graphml": _to_graphml}
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
            {"id": node.id, **_node_fields(node), "lines": lines, "x": x, "y": y} for node, lines, (x, y) in nodes
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


def to_igraph(subgraph: Subgraph) -> igraph.Graph:
    """A directed igraph graph. The ids are the names of its vertices."""
    import igraph

    nodes = [{"name": node.id, **_node_fields(node)} for node in subgraph.nodes]
    edges = [_edge_fields(edge) for edge in subgraph.edges]
    numbers = {node.id: number for number, node in enumerate(subgraph.nodes)}
    return igraph.Graph(
        n=len(nodes),
        edges=[(numbers[edge.source], numbers[edge.target]) for edge in subgraph.edges],
        directed=True,
        vertex_attrs={name: [fields[name] for fields in nodes] for name in ("name", *_NODE_FIELDS)},
        edge_attrs={name: [fields[name] for fields in edges] for name in _EDGE_FIELDS},
    )


def to_networkx(subgraph: Subgraph) -> networkx.MultiDiGraph:
    """A networkx graph whose nodes are the ids."""
    try:
        import networkx
    except ImportError as error:
        raise MissingExtra("to_networkx() needs the package networkx. Run: pip install networkx") from error

    graph = networkx.MultiDiGraph()
    graph.add_nodes_from((node.id, _node_fields(node)) for node in subgraph.nodes)
    # Ids are not keys here: a relation that held twice is two edges with one id.
    graph.add_edges_from((edge.source, edge.target, _edge_fields(edge)) for edge in subgraph.edges)
    return graph


def _to_graphml(subgraph: Subgraph) -> str:
    """The content of a GraphML file, for Gephi, yEd, Cytoscape and the like."""
    graph = to_igraph(subgraph)
    for sequence in (graph.vs, graph.es):
        for name in sequence.attributes():
            values = sequence[name]
            sequence[name] = [replace_invalid_xml(value) if isinstance(value, str) else value for value in values]
    with TemporaryFile() as file:
        graph.write_graphml(file)
        file.seek(0)
        return file.read().decode()


def _node_fields(node: Node) -> dict[str, Any]:
    """What a picture or an export says of a node, besides its id."""
    return {name: getattr(node, name) for name in _NODE_FIELDS}


def _edge_fields(edge: Edge) -> dict[str, Any]:
    ends = (edge.valid.start, edge.valid.end, edge.recorded_at)
    moments = ("" if end is None else end.isoformat() for end in ends)
    details = (float(edge.confidence), " ".join(edge.evidence), edge.observed_by or "", edge.id)
    return dict(zip(_EDGE_FIELDS, (edge.name, *moments, *details), strict=True))
