"""Pictures of the graph as files and in notebooks, and exports to other libraries.

Where the nodes are is computed by igraph, which also writes SVG and GraphML. The page loads nothing from the network;
its script is in `graph.html`.

In exports times are ISO text, "" where an end is open. `evidence` is the ids of the memories, separated by spaces:
plain values, which every file format can hold.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from html import escape
from importlib.resources import files
from io import StringIO
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any

import numpy as np

from remanence.errors import InvalidInput, MissingExtra
from remanence.graph.graph_at_time import MENTIONS
from remanence.graph.layout import Floats, seeded_igraph, separate
from remanence.index.engine.inputs import check_unlinked_path
from remanence.schema import UTC, Relation, format_moment
from remanence.schema.display import HtmlTable, html_bar, html_table
from remanence.text.text import pluralize, truncate

if TYPE_CHECKING:
    import igraph
    import networkx

    from remanence.graph.traversal import Edge, Node, Subgraph

__all__ = ["NotebookPicture", "timeline_table", "to_igraph", "to_networkx"]

_NODE_FIELDS = ("label", "kind", "sort", "depth")
_EDGE_FIELDS = ("name", "valid_from", "valid_until", "recorded_at", "confidence", "evidence", "observed_by", "id")
_LETTER_WIDTH, _LABEL_LENGTH = 7.2, 26
"""Pixels of the width of an average letter, and letters of a label in a picture."""
_BEND = 52.0
"""Pixels by which several edges between two nodes are bent apart."""
_MARGIN = 90.0
"""Pixels around a picture in SVG: half of a label."""
_EARLIEST = datetime.min.replace(tzinfo=UTC)
_OF_INKSCAPE = re.compile(r'(?<!\s)\s+(?:inkscape|sodipodi|xmlns):[\w-]+="[^"]*"|<!-- [^>]* -->\n')
"""What igraph writes into an SVG for one editor. No text of the graph looks so: quotes in it are escaped."""
_NOT_IN_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True, repr=False)
class NotebookPicture:
    """A picture of a part of the graph for a notebook, which can also be saved as a file. It is drawn when it is
    displayed or saved."""

    subgraph: Subgraph

    @property
    def title(self) -> str:
        """What the picture shows."""
        subgraph = self.subgraph
        starts = [node.label for node in subgraph.nodes if node.depth == 0]
        subject = f"Around {truncate(starts[0], 60)}" if len(starts) == 1 and starts[0].strip() else "The graph"
        more = ", and more that is not shown" if subgraph.truncated else ""
        return f"{subject}: {pluralize(len(subgraph.nodes), 'node')}, {pluralize(len(subgraph.edges), 'edge')}{more}"

    def __repr__(self) -> str:
        return f"<{self.title}. A notebook draws it; elsewhere save it, for example as 'graph.html'>"

    def _repr_html_(self) -> str:
        # A frame with scripts and nothing else: neither the page nor the notebook can read the other.
        return (
            f'<iframe title="{escape(self.title)}" sandbox="allow-scripts" srcdoc="{escape(self.page())}" '
            'style="width: 100%; height: 560px; border: 0"></iframe>'
        )

    def _repr_svg_(self) -> str:
        """The same without a script, for programs that show no frames."""
        return self.svg()

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write a file in the format that its suffix names: .html, .svg or .graphml. A symbolic link is not
        followed."""
        file = check_unlinked_path(path, "path")
        formats = {".html": self.page, ".svg": self.svg, ".graphml": self.graphml}
        draw = formats.get(file.suffix.lower())
        if draw is None:
            raise InvalidInput(f"{os.fspath(path)!r} ends in none of {', '.join(formats)}. Choose one of these.")
        drawn = draw()
        try:
            file.write_text(drawn, "utf-8")
        except OSError as error:
            raise InvalidInput(f"{file} cannot be written: {error.strerror or error}. Name another file.") from error
        return file

    def page(self) -> str:
        """An interactive page, with a slider for time."""
        template = (files(__package__) / "graph.html").read_text("utf-8")
        parts = {"title": escape(_storable(self.title)), "graph": _as_script(_page_data(self.subgraph))}
        # In one pass, so that a label which looks like a placeholder is not replaced.
        return re.sub("@@(title|graph)@@", lambda found: parts[found[1]], template)

    def svg(self) -> str:
        """The picture as igraph draws it. The name of an edge is a node without a mark, in its middle."""
        import igraph

        nodes, edges = self.subgraph.nodes, self.subgraph.edges
        ends, points = _edge_ends(self.subgraph), _coordinates(self.subgraph)
        starts, targets = (points[[end[side] for end in ends]].reshape(-1, 2) for side in (0, 1))
        across = (targets - starts)[:, ::-1] * (-1, 1) / (np.hypot(*(targets - starts).T)[:, None] + 1)
        names = (starts + targets) / 2 + across * np.array(_bends(ends)).reshape(-1, 1)
        corners = np.array([points.min(axis=0) - _MARGIN, points.max(axis=0) + _MARGIN]) if nodes else np.zeros((2, 2))
        width, height = np.maximum(corners[1] - corners[0], 1)
        halves = [pair for n, (source, target) in enumerate(ends, len(nodes)) for pair in ((source, n), (n, target))]
        drawn = igraph.Graph(n=len(nodes) + len(edges) + 2, edges=halves, directed=True)
        said = [f"{edge.name} ({edge.valid})" if edge.valid.has_bound else edge.name for edge in edges]
        labels = [_label(node.label) for node in nodes] + [
            truncate(_storable(text), 2 * _LABEL_LENGTH) for text in said
        ]
        colors = ["#9fc0f5" if node.kind == "entity" else "#f2c28d" for node in nodes]
        file = StringIO()
        drawn.write_svg(
            file,
            layout=igraph.Layout([*points.tolist(), *names.tolist(), *corners.tolist()]),
            width=round(width),
            height=round(height),
            labels=[escape(label) for label in (*labels, "", "")],
            colors=[*colors, *["none"] * (len(edges) + 2)],
            shapes=[1 if node.kind == "entity" else 2 for node in nodes] + [0] * (len(edges) + 2),
            edge_colors=["#93a1b0"] * len(halves),
            edge_stroke_widths=[1] * len(halves),
            font_size=12,
        )
        return _OF_INKSCAPE.sub("", file.getvalue())

    def graphml(self) -> str:
        """The content of a GraphML file, for Gephi, yEd, Cytoscape and the like."""
        graph = to_igraph(self.subgraph)
        for sequence in (graph.vs, graph.es):
            for name in sequence.attributes():
                sequence[name] = [_storable(value) if isinstance(value, str) else value for value in sequence[name]]
        with TemporaryFile() as file:
            graph.write_graphml(file)
            file.seek(0)
            return file.read().decode()


def timeline_table(relations: Sequence[Relation], total: int) -> HtmlTable:
    """When relations held, each as a bar; `total` is how many there are, if not all are shown."""
    ends = [end for relation in relations for end in (relation.valid.start, relation.valid.end) if end is not None]

    def place(moment: datetime) -> float:
        """Where a moment is between the first and the last one, which open ends are beyond."""
        return 0.1 + 0.8 * ((moment - min(ends)) / ((max(ends) - min(ends)) or timedelta(1)))

    rows = []
    for each in sorted(relations, key=lambda r: (r.subject, r.predicate, r.valid.start or _EARLIEST, r.object)):
        start = 0.0 if each.valid.start is None else place(each.valid.start)
        end = 1.0 if each.valid.end is None else place(each.valid.end)
        statement = f"{each.subject} {each.predicate} {each.object}"
        rows.append((statement, html_bar(end - start, "", start), each.valid, format_moment(each.recorded_at)))
    more = f", the last learned; {total - len(relations):,} more are not shown" if total > len(relations) else ""
    title = f"A timeline of {pluralize(len(relations), 'relation')}{more}"
    return HtmlTable(title, html_table(title, ("relation", "time", "when", "learned"), rows))


def to_igraph(subgraph: Subgraph) -> igraph.Graph:
    """A directed igraph graph. The ids are the names of its vertices."""
    import igraph

    nodes = [{"name": node.id, **_node_fields(node)} for node in subgraph.nodes]
    edges = [_edge_fields(edge) for edge in subgraph.edges]
    return igraph.Graph(
        n=len(nodes),
        edges=_edge_ends(subgraph),
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


def _as_script(value: Any) -> str:
    """A value as JSON that is safe in a <script>: nothing in it can end the element or begin a comment."""
    text = json.dumps(value, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _page_data(subgraph: Subgraph) -> dict[str, Any]:
    """The data of the page. Times are indexes into the sorted list of all moments at which an edge begins or ends, so
    that the page need not compare dates."""
    ends = {end for edge in subgraph.edges for end in (edge.valid.start, edge.valid.end) if end is not None}
    moments = {moment: index for index, moment in enumerate(sorted(ends))}
    points = _coordinates(subgraph).round(1).tolist()
    pairs = _edge_ends(subgraph)
    return {
        "moments": [format_moment(moment) for moment in moments],
        "nodes": [
            {"id": node.id, **_node_fields(node), "lines": [_label(node.label)], "x": x, "y": y}
            for node, (x, y) in zip(subgraph.nodes, points, strict=True)
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
            for edge, (source, target), bend in zip(subgraph.edges, pairs, _bends(pairs), strict=True)
        ],
    }


def _coordinates(subgraph: Subgraph) -> Floats:
    """Where each node is, in pixels: a layout of igraph, whose nodes are moved apart until no label covers another."""
    import igraph

    if not subgraph.nodes:
        return np.empty((0, 2))
    graph = igraph.Graph(n=len(subgraph.nodes), edges=_edge_ends(subgraph)).simplify()
    with seeded_igraph():
        if graph.vcount() <= 150:  # clearer, but it takes seconds for a thousand nodes
            points = np.array(graph.layout_kamada_kawai().coords)
        else:
            points = np.array(graph.layout_fruchterman_reingold(grid=True).coords)
    lengths = [float(np.hypot(*(points[one] - points[other]))) for one, other in graph.get_edgelist()]
    # Pixels: its name has to fit on it.
    points = points * (180.0 / max(float(np.median(lengths)) if lengths else 1.0, 1e-9))
    widths = [len(_label(node.label)) * _LETTER_WIDTH + 30 for node in subgraph.nodes]
    return separate(points, np.array([(width, 50.0) for width in widths]))


def _edge_ends(subgraph: Subgraph) -> list[tuple[int, int]]:
    """The numbers of the two nodes of each edge."""
    numbers = {node.id: number for number, node in enumerate(subgraph.nodes)}
    return [(numbers[edge.source], numbers[edge.target]) for edge in subgraph.edges]


def _bends(ends: Sequence[tuple[int, int]]) -> list[float]:
    """The bend of each edge, so that several edges between the same two nodes do not coincide."""
    total, seen = Counter(map(frozenset, ends)), Counter[frozenset[int]]()
    bends: list[float] = []
    for source, target in ends:
        pair = frozenset((source, target))
        number = seen[pair]
        seen[pair] += 1
        if source == target:
            bends.append(_BEND * (1 + number / 2))
        else:
            bend = (number - (total[pair] - 1) / 2) * _BEND
            bends.append(bend if source < target else -bend)
    return bends


def _label(text: str) -> str:
    return truncate(_storable(" ".join(text.split())), _LABEL_LENGTH)


def _storable(text: str) -> str:
    """A text without the characters that XML does not allow, not even escaped."""
    return _NOT_IN_XML.sub("\ufffd", text)


def _node_fields(node: Node) -> dict[str, Any]:
    """What a picture or an export says of a node, besides its id."""
    return {name: getattr(node, name) for name in _NODE_FIELDS}


def _edge_fields(edge: Edge) -> dict[str, Any]:
    ends = (edge.valid.start, edge.valid.end, edge.recorded_at)
    moments = ("" if end is None else end.isoformat() for end in ends)
    details = (float(edge.confidence), " ".join(edge.evidence), edge.observed_by or "", edge.id)
    return dict(zip(_EDGE_FIELDS, (edge.name, *moments, *details), strict=True))
