"""A part of the graph for other libraries: igraph, networkx, and GraphML files.

Times are ISO text, "" where an end is open. `evidence` is the ids of the memories, separated by spaces: plain values,
which every file format can hold.
"""

from __future__ import annotations

from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any

from remanence.errors import MissingExtra
from remanence.schema.notebook_pictures import replace_invalid_xml

if TYPE_CHECKING:
    import igraph
    import networkx

    from remanence.graph.traversal import Edge, Node, Subgraph

_NODE_FIELDS = ("label", "kind", "sort", "depth")
_EDGE_FIELDS = ("name", "valid_from", "valid_until", "recorded_at", "confidence", "evidence", "observed_by", "id")


def to_igraph(subgraph: Subgraph) -> igraph.Graph:
    """A directed igraph graph. The ids are the names of its vertices."""
    import igraph

    nodes = [{"name": node.id, **node_fields(node)} for node in subgraph.nodes]
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
    graph.add_nodes_from((node.id, node_fields(node)) for node in subgraph.nodes)
    # Ids are not keys here: a relation that held twice is two edges with one id.
    graph.add_edges_from((edge.source, edge.target, _edge_fields(edge)) for edge in subgraph.edges)
    return graph


def to_graphml(subgraph: Subgraph) -> str:
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


def node_fields(node: Node) -> dict[str, Any]:
    """What a picture or an export says of a node, besides its id."""
    return {name: getattr(node, name) for name in _NODE_FIELDS}


def _edge_fields(edge: Edge) -> dict[str, Any]:
    ends = (edge.valid.start, edge.valid.end, edge.recorded_at)
    moments = ("" if end is None else end.isoformat() for end in ends)
    details = (float(edge.confidence), " ".join(edge.evidence), edge.observed_by or "", edge.id)
    return dict(zip(_EDGE_FIELDS, (edge.name, *moments, *details), strict=True))
