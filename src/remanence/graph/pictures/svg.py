"""A picture that stands still: SVG, with every name written out."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias
from xml.sax.saxutils import escape, quoteattr

from remanence.graph.graph_at_time import MENTIONS
from remanence.graph.pictures.layout import LINE_HEIGHT, RADIUS, Layout, lay_out
from remanence.graph.pictures.svg_text import LETTER_WIDTH, replace_invalid_xml, subgraph_title, width_in_letters, wrap
from remanence.graph.traversal import Edge, Node, Subgraph
from remanence.schema import format_moment

Point: TypeAlias = tuple[float, float]
_Box: TypeAlias = tuple[float, float, float, float]
MARGIN = 30.0
_LEGEND = 40.0
STYLE = """\
:root { --paper: #ffffff; --ink: #1d2733; --faint: #667382; --line: #93a1b0; --rule: #e6eaef;
  --entity: #2f6fde; --memory: #d98324; }
@media (prefers-color-scheme: dark) { :root { --paper: #14191f; --ink: #e8edf2; --faint: #9aa7b5;
  --line: #66758a; --rule: #2a323b; --entity: #6ea2ff; --memory: #f0a95b; } }
text { font: 12px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; fill: var(--ink); }
.paper { fill: var(--paper); } .faint { fill: var(--faint); } .middle { text-anchor: middle; }
"""
_GRAPH_STYLE = """\
text { paint-order: stroke; stroke: var(--paper); stroke-width: 4px; stroke-linejoin: round; }
.entity { fill: var(--entity); } .memory { fill: var(--memory); } .called { font-weight: 600; }
.edge { fill: none; stroke: var(--line); stroke-width: 1.5px; } .tip { fill: var(--line); }
.mention { stroke-dasharray: 4 4; stroke-width: 1px; }
.edge-name { font-size: 11px; fill: var(--faint); } .edge-when { font-size: 9.5px; fill: var(--faint); }
"""
_TIP = (
    '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
    'orient="auto"><path class="tip" d="M0 0 8 4 0 8z"/></marker></defs>'
)


def graph_svg(subgraph: Subgraph) -> str:
    """A part of the graph as SVG. Resting on a thing shows its whole text, its window and its evidence."""
    layout = lay_out(subgraph)
    texts = {node.id: node.label for node in subgraph.nodes}
    room = _Room(subgraph, layout)
    lines, names = [], []
    for edge, (source, target), bend in zip(subgraph.edges, layout.edge_ends, layout.bends, strict=True):
        path, along = _curve(
            layout.coordinates[source], layout.coordinates[target], bend, RADIUS[subgraph.nodes[target].kind]
        )
        says, faint = tooltip(_edge_says(edge, texts)), f'opacity="{opacity(edge.confidence)}"'
        kind = "edge mention" if edge.name == MENTIONS else "edge"
        lines.append(f'<path class="{kind}" {faint} marker-end="url(#tip)" d="{path}">{says}</path>')
        if edge.name != MENTIONS:
            names.append(f"<g>{says}{_name(edge, along, room)}</g>")
    nodes = [_node(node, place, layout) for place, node in enumerate(subgraph.nodes)]
    moved = f'<g transform="translate({MARGIN:.0f} {MARGIN + _LEGEND:.0f})">'
    body = [_TIP, _legend(subgraph), moved, *lines, *names, *nodes, "</g>"]
    width, height = max(layout.width, 560) + 2 * MARGIN, layout.height + 2 * MARGIN + _LEGEND
    return svg_document(subgraph_title(subgraph), width, height, body, _GRAPH_STYLE)


def svg_document(name: str, width: float, height: float, body: Iterable[str], style: str) -> str:
    """A whole SVG document around a body."""
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" aria-label={quoteattr(replace_invalid_xml(name))}>'
    )
    paper = '<rect class="paper" width="100%" height="100%"/>'
    return "\n".join([head, f"<style>\n{STYLE}{style}</style>", paper, *body, "</svg>\n"])


def text_element(x: float, y: float, text: str, kind: str = "") -> str:
    """A line of text, its foot at (x, y)."""
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}">{escape(replace_invalid_xml(text))}</text>'


def tooltip(text: str) -> str:
    """What is shown when the pointer rests on the element that this stands in."""
    return f"<title>{escape(replace_invalid_xml(text))}</title>"


def opacity(confidence: float) -> str:
    """How clearly to draw what is so sure: fainter, but never gone."""
    return f"{0.35 + 0.65 * confidence:.2f}"


def _edge_says(edge: Edge, texts: dict[str, str]) -> str:
    """An edge in words: what it says, when it holds, since when that is known, and from which memories."""
    says = f"{texts[edge.source]} —{edge.name}→ {texts[edge.target]}"
    known = f"{edge.valid}; learned {format_moment(edge.recorded_at)}; confidence {edge.confidence:.2f}"
    return "\n".join([says, known, *(f"evidence: {texts.get(memory, memory)}" for memory in edge.evidence)])


def _node(node: Node, place: int, layout: Layout) -> str:
    (x, y), radius = layout.coordinates[place], RADIUS[node.kind]
    kind = "middle called" if node.kind == "entity" else "middle"
    lines = [
        text_element(x, y + radius + LINE_HEIGHT * row - 2, line, kind)
        for row, line in enumerate(layout.labels[place], 1)
    ]
    return f"<g>{tooltip(node.label)}{_mark(node.kind, x, y)}{''.join(lines)}</g>"


def _name(edge: Edge, along: Sequence[Point], room: _Room) -> str:
    """The name of an edge, and below it when it holds."""
    name, when = "".join(wrap(edge.name, 30)), str(edge.valid) if edge.valid.has_bound else ""
    width = max(width_in_letters(name) * 0.9, width_in_letters(when) * 0.8) * LETTER_WIDTH
    x, y = room.place(along, width, 25 if when else 13)
    if not when:
        return text_element(x, y + 4, name, "middle edge-name")
    return text_element(x, y - 2, name, "middle edge-name") + text_element(x, y + 10, when, "middle edge-when")


def _mark(kind: str, x: float, y: float) -> str:
    """The mark of a node: round for an entity, square for a memory."""
    radius = RADIUS[kind]
    if kind == "entity":
        return f'<circle class="entity" cx="{x:.1f}" cy="{y:.1f}" r="{radius:.0f}"/>'
    side = f'width="{2 * radius:.0f}" height="{2 * radius:.0f}" rx="3"'
    return f'<rect class="memory" x="{x - radius:.1f}" y="{y - radius:.1f}" {side}/>'


def _curve(start: Point, end: Point, bend: float, radius: float) -> tuple[str, list[Point]]:
    """The path of an edge, and some points along it, its middle first. The page has the same: `curve`."""
    (x1, y1), (x2, y2) = start, end
    if start == end:
        out, rise = bend * 0.8, y1 - bend * 1.4
        path = f"M{x1 - 6:.1f} {y1 - 7:.1f}C{x1 - out:.1f} {rise:.1f} {x1 + out:.1f} {rise:.1f} "
        return f"{path}{x1 + 7:.1f} {y1 - radius:.1f}", [(x1, y1 - bend * 1.15)]
    length = math.hypot(x2 - x1, y2 - y1)
    x, y = (x1 + x2) / 2 - (y2 - y1) / length * bend, (y1 + y2) / 2 + (x2 - x1) / length * bend
    into = math.hypot(x2 - x, y2 - y)
    back = min(radius + 2, into) / into  # the tip touches the rim of the mark
    path = f"M{x1:.1f} {y1:.1f}Q{x:.1f} {y:.1f} {x2 - (x2 - x) * back:.1f} {y2 - (y2 - y) * back:.1f}"
    shares = (0.5, 0.42, 0.58, 0.34, 0.66, 0.26, 0.74)
    along = [((1 - t) ** 2, 2 * t * (1 - t), t * t) for t in shares]
    return path, [(a * x1 + b * x + c * x2, a * y1 + b * y + c * y2) for a, b, c in along]


class _Room:
    """Which parts of a sheet are taken, so that names can go where they hide little."""

    _CELL = 100.0

    def __init__(self, walked: Subgraph, layout: Layout) -> None:
        self._cells: dict[tuple[int, int], list[_Box]] = {}
        for node, (x, y), label in zip(walked.nodes, layout.coordinates, layout.labels, strict=True):
            radius, half = RADIUS[node.kind], max(map(width_in_letters, label), default=0) * LETTER_WIDTH / 2
            self._take((x - radius, y - radius, x + radius, y + radius))
            self._take((x - half, y + radius, x + half, y + radius + LINE_HEIGHT * len(label)))

    def place(self, along: Sequence[Point], width: float, height: float) -> Point:
        """Which of some points is the best middle for a text of this size; its place is taken then."""
        boxes = [(x - width / 2, y - height / 2, x + width / 2, y + height / 2) for x, y in along]
        hidden = [self._hidden(box) for box in boxes]
        best = hidden.index(min(hidden))
        self._take(boxes[best])
        return along[best]

    def _hidden(self, box: _Box) -> float:
        near = {other for cell in self._covered(box) for other in self._cells.get(cell, ())}
        return sum(
            max(0.0, min(box[2], other[2]) - max(box[0], other[0]))
            * max(0.0, min(box[3], other[3]) - max(box[1], other[1]))
            for other in near
        )

    def _take(self, box: _Box) -> None:
        for cell in self._covered(box):
            self._cells.setdefault(cell, []).append(box)

    def _covered(self, box: _Box) -> Iterator[tuple[int, int]]:
        left, top, right, bottom = (int(side // self._CELL) for side in box)
        return ((x, y) for x in range(left, right + 1) for y in range(top, bottom + 1))


def _legend(walked: Subgraph) -> str:
    left, foot = MARGIN, MARGIN + 26
    dashes = f'<path class="edge mention" marker-end="url(#tip)" d="M{left + 165} {foot - 4}h34"/>'
    keys = [
        *(_mark("entity", left + 10, foot - 4), text_element(left + 25, foot, "entity")),
        *(_mark("memory", left + 90, foot - 4), text_element(left + 103, foot, "memory")),
        *(dashes, text_element(left + 206, foot, "mentions")),
        text_element(left + 285, foot, "a fainter arrow is less sure", "faint"),
    ]
    return f"<g>{text_element(left, MARGIN, subgraph_title(walked), 'called')}{''.join(keys)}</g>"
