"""A part of the graph for other libraries: igraph, networkx, and GraphML files.

Nodes carry `label`, `kind`, `sort` and `depth`; edges `name`, `valid_from`, `valid_until`, `recorded_at`,
`confidence`, `evidence`, `observed_by` and `id`. Times are ISO text, "" where an end is open; `evidence` is
the ids of the memories, with a space between: plain values, which every file format can hold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from remanence.errors import MissingExtra
from remanence.graph.pictures.svg_text import replace_invalid_xml

if TYPE_CHECKING:
    import igraph
    import networkx

    from remanence.graph.traversal import Edge, Node, Subgraph

NODE = ("label", "kind", "sort", "depth")
EDGE = ("name", "valid_from", "valid_until", "recorded_at", "confidence", "evidence", "observed_by", "id")


def to_igraph(subgraph: Subgraph) -> igraph.Graph:
    """A directed igraph graph; the ids are its vertices' names."""
    import igraph

    nodes = [{"name": node.id, **_node(node)} for node in subgraph.nodes]
    places = {node.id: place for place, node in enumerate(subgraph.nodes)}
    return igraph.Graph(
        n=len(nodes),
        edges=[(places[edge.source], places[edge.target]) for edge in subgraph.edges],
        directed=True,
        vertex_attrs=_columns(nodes, ("name", *NODE)),
        edge_attrs=_columns([_edge(edge) for edge in subgraph.edges], EDGE),
    )


def to_networkx(subgraph: Subgraph) -> networkx.MultiDiGraph:
    """A networkx graph whose nodes are the ids."""
    try:
        import networkx
    except ImportError as error:
        raise MissingExtra("to_networkx() needs the package networkx. Run: pip install networkx") from error

    graph = networkx.MultiDiGraph()
    graph.add_nodes_from((node.id, _node(node)) for node in subgraph.nodes)
    # Numbered, not under their ids: a relation that held twice is there twice, under one id.
    graph.add_edges_from((edge.source, edge.target, _edge(edge)) for edge in subgraph.edges)
    return graph


def write_graphml(subgraph: Subgraph, path: Path) -> None:
    """Write a GraphML file, for Gephi, yEd, Cytoscape and the like."""
    graph = to_igraph(subgraph)
    for things in (graph.vs, graph.es):
        for name in things.attributes():
            things[name] = [replace_invalid_xml(value) if isinstance(value, str) else value for value in things[name]]
    graph.write_graphml(str(path))


def _node(node: Node) -> dict[str, str | int]:
    return {"label": node.label, "kind": node.kind, "sort": node.sort, "depth": node.depth}


def _edge(edge: Edge) -> dict[str, str | float]:
    return {
        "name": edge.name,
        "valid_from": _iso(edge.valid.start),
        "valid_until": _iso(edge.valid.end),
        "recorded_at": _iso(edge.recorded_at),
        "confidence": float(edge.confidence),
        "evidence": " ".join(edge.evidence),
        "observed_by": edge.observed_by or "",
        "id": edge.id,
    }


def _columns(rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> dict[str, list[Any]]:
    """Rows as columns, which are there even if no row is."""
    return {name: [row[name] for row in rows] for name in names}


def _iso(moment: datetime | None) -> str:
    return "" if moment is None else moment.isoformat()
