"""Graphs as SVG, with every name written out."""

from __future__ import annotations

import math
from collections.abc import Mapping
from importlib.resources import files
from typing import TypeAlias

from remanence.graph.graph_at_time import MENTIONS
from remanence.graph.pictures.layout import LINE_HEIGHT, RADIUS, Layout, lay_out
from remanence.graph.traversal import Edge, Node, Subgraph
from remanence.schema import Relation, format_moment
from remanence.schema.notebook_pictures import MARGIN, svg_document, text_element, tooltip
from remanence.text.text import pluralize, truncate

Point: TypeAlias = tuple[float, float]
_LEGEND_HEIGHT = 40.0
_NAME_SHIFT = 0.14


def graph_svg(subgraph: Subgraph) -> str:
    """A part of the graph as SVG. The tooltip of each element has its full text, its window and its evidence."""
    layout = lay_out(subgraph)
    texts = {node.id: node.label for node in subgraph.nodes}
    lines, names = [], []
    for edge, (source, target), bend in zip(subgraph.edges, layout.edge_ends, layout.bends, strict=True):
        ends = layout.coordinates[source], layout.coordinates[target]
        path, middle = _curve(*ends, bend, RADIUS[subgraph.nodes[target].kind])
        statement = f"{texts[edge.source]} —{edge.name}→ {texts[edge.target]}"
        title, style = tooltip(edge_text(statement, edge, texts)), f'opacity="{opacity(edge.confidence)}"'
        kind = "edge mention" if edge.name == MENTIONS else "edge"
        lines.append(f'<path class="{kind}" {style} marker-end="url(#tip)" d="{path}">{title}</path>')
        if edge.name != MENTIONS:
            names.append(f"<g>{title}{_edge_name(edge, *middle)}</g>")
    nodes = [_node(node, number, layout) for number, node in enumerate(subgraph.nodes)]
    group = f'<g transform="translate({MARGIN:.0f} {MARGIN + _LEGEND_HEIGHT:.0f})">'
    title = text_element(MARGIN, MARGIN, subgraph_title(subgraph), "called")
    body = [(files(__package__) / "legend.svg").read_text("utf-8"), title, group, *lines, *names, *nodes, "</g>"]
    width, height = max(layout.width, 560) + 2 * MARGIN, layout.height + 2 * MARGIN + _LEGEND_HEIGHT
    return svg_document("graph", subgraph_title(subgraph), width, height, body)


def subgraph_title(subgraph: Subgraph) -> str:
    starts = [node.label for node in subgraph.nodes if node.depth == 0]
    subject = f"Around {truncate(starts[0], 60)}" if len(starts) == 1 and starts[0].strip() else "The graph"
    more = ", and more that is not shown" if subgraph.truncated else ""
    return f"{subject}: {pluralize(len(subgraph.nodes), 'node')}, {pluralize(len(subgraph.edges), 'edge')}{more}"


def opacity(confidence: float) -> str:
    """The opacity for a confidence: fainter if less sure, but always visible."""
    return f"{0.35 + 0.65 * confidence:.2f}"


def edge_text(statement: str, edge: Edge | Relation, texts: Mapping[str, str]) -> str:
    """A statement, when it holds, when it was learned, and its evidence; `texts` are those of memories by id."""
    details = f"{edge.valid}; learned {format_moment(edge.recorded_at)}; confidence {edge.confidence:.2f}"
    return "\n".join([statement, details, *(f"evidence: {texts.get(memory, memory)}" for memory in edge.evidence)])


def _node(node: Node, number: int, layout: Layout) -> str:
    (x, y), radius = layout.coordinates[number], RADIUS[node.kind]
    kind = "middle called" if node.kind == "entity" else "middle"
    lines = [
        text_element(x, y + radius + LINE_HEIGHT * row - 2, line, kind)
        for row, line in enumerate(layout.labels[number], 1)
    ]
    return f"<g>{tooltip(node.label)}{_mark(node.kind, x, y)}{''.join(lines)}</g>"


def _edge_name(edge: Edge, x: float, y: float) -> str:
    """The name of an edge, and below it when it holds."""
    name = truncate(edge.name, 30)
    if not edge.valid.has_bound:
        return text_element(x, y + 4, name, "middle edge-name")
    below = text_element(x, y + 10, str(edge.valid), "middle edge-when")
    return text_element(x, y - 2, name, "middle edge-name") + below


def _mark(kind: str, x: float, y: float) -> str:
    """The mark of a node: a circle for an entity, a square for a memory."""
    radius, corner = RADIUS[kind], RADIUS[kind] if kind == "entity" else 3
    size = f'width="{2 * radius:.0f}" height="{2 * radius:.0f}" rx="{corner:.0f}"'
    return f'<rect class="{kind}" x="{x - radius:.1f}" y="{y - radius:.1f}" {size}/>'


def _curve(start: Point, end: Point, bend: float, radius: float) -> tuple[str, Point]:
    """The path of an edge, and where its name stands. `curve` in `graph.html` draws the same path."""
    (x1, y1), (x2, y2) = start, end
    if start == end:
        out, rise = bend * 0.8, y1 - bend * 1.4
        path = f"M{x1 - 6:.1f} {y1 - 7:.1f}C{x1 - out:.1f} {rise:.1f} {x1 + out:.1f} {rise:.1f} "
        return f"{path}{x1 + 7:.1f} {y1 - radius:.1f}", (x1, y1 - bend * 1.15)
    length = math.hypot(x2 - x1, y2 - y1)
    x, y = (x1 + x2) / 2 - (y2 - y1) / length * bend, (y1 + y2) / 2 + (x2 - x1) / length * bend
    into = math.hypot(x2 - x, y2 - y)
    back = min(radius + 2, into) / into  # so that the tip touches the edge of the mark
    path = f"M{x1:.1f} {y1:.1f}Q{x:.1f} {y:.1f} {x2 - (x2 - x) * back:.1f} {y2 - (y2 - y) * back:.1f}"
    # In the middle; of several edges between the same two nodes nearer to one end, so that the names do not overlap.
    t = 0.5 + _NAME_SHIFT * ((bend > 0) - (bend < 0))
    return path, (_on_curve(t, x1, x, x2), _on_curve(t, y1, y, y2))


def _on_curve(t: float, start: float, control: float, end: float) -> float:
    """A coordinate of a quadratic curve, from 0 at its start to 1 at its end."""
    return (1 - t) ** 2 * start + 2 * t * (1 - t) * control + t**2 * end
