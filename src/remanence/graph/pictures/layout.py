"""A drawing of a graph: the coordinates of each node, the lines of its label and the bend of each edge, the same every
time; and the SVG of them, with every name written out."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from textwrap import wrap
from threading import Lock
from typing import TYPE_CHECKING, TypeAlias
from unicodedata import combining, east_asian_width

import numpy as np
from numpy.typing import NDArray

from remanence.graph.graph_at_time import MENTIONS
from remanence.graph.traversal import Edge, Node, Subgraph
from remanence.schema import Relation, format_moment
from remanence.schema.notebook_pictures import (
    LETTER_WIDTH,
    MARGIN,
    replace_invalid_xml,
    svg_document,
    text_element,
    tooltip,
)
from remanence.text.text import pluralize, truncate

if TYPE_CHECKING:
    import igraph

    from remanence.graph.traversal import Node, Subgraph

RADIUS = {"entity": 9.0, "memory": 7.0}
"""Pixels of the radius of a node, by its kind."""
LINE_HEIGHT = 15.0
"""Pixels from one line of a label to the next."""
_EDGE_LENGTH = 180.0
"""Pixels of a typical edge: its name has to fit on it."""
_BEND = 52.0
"""Pixels by which several edges between two nodes are bent apart."""
_GAP = 14.0
"""Pixels that are kept free around a node with its label."""
_KAMADA_KAWAI_LIMIT = 150
"""Nodes up to which the layout is by Kamada and Kawai, which is clearer, but takes seconds for a thousand nodes."""
_AREA_FACTOR = 5.0
"""How many times the area of all labels a picture has at least. Chosen by eye."""
_SEPARATION_ROUNDS = 80
"""How often nodes that overlap are moved apart, at most."""
_random_lock = Lock()

Floats: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Layout:
    """A layout in pixels. The bend of an edge is its distance from the straight line, or the size of its loop."""

    coordinates: tuple[tuple[float, float], ...]
    labels: tuple[tuple[str, ...], ...]
    edge_ends: tuple[tuple[int, int], ...]
    bends: tuple[float, ...]
    width: float
    height: float


def lay_out(subgraph: Subgraph) -> Layout:
    import igraph

    if not subgraph.nodes:
        return Layout((), (), (), (), 0.0, 0.0)
    numbers = {node.id: number for number, node in enumerate(subgraph.nodes)}
    ends = tuple((numbers[edge.source], numbers[edge.target]) for edge in subgraph.edges)
    labels = tuple(_wrap_label(node.label, *((24, 2) if node.kind == "entity" else (26, 3))) for node in subgraph.nodes)
    boxes = np.array([_box(*node_and_label) for node_and_label in zip(subgraph.nodes, labels, strict=True)])
    # Each component has its own layout: in one layout for all, they drift far apart or overlap.
    graph = igraph.Graph(n=len(boxes), edges=ends).simplify()
    parts = sorted(graph.connected_components(), key=lambda part: (-len(part), part))
    layouts = [separate(_component_layout(graph.induced_subgraph(part), boxes[part]), boxes[part]) for part in parts]
    corners = _pack([_size(points, boxes[part]) for part, points in zip(parts, layouts, strict=True)])
    centers = np.zeros_like(boxes)
    for part, points, corner in zip(parts, layouts, corners, strict=True):
        centers[part] = points - (points - boxes[part] / 2).min(axis=0) + corner
    # A label is below its node, so the node is not at the center of the box that holds both.
    centers_of_marks = centers.copy()
    centers_of_marks[:, 1] += np.array([RADIUS[node.kind] for node in subgraph.nodes]) - boxes[:, 1] / 2
    coordinates = tuple((round(x, 1), round(y, 1)) for x, y in centers_of_marks.tolist())
    width, height = _size(centers, boxes)
    return Layout(coordinates, labels, ends, _bends(ends), round(width, 1), round(height, 1))


def width_in_letters(text: str) -> int:
    """The width of a text in average letters. Wide characters, such as Chinese ones, count twice.

    >>> width_in_letters("Porto"), width_in_letters("東京")
    (5, 4)
    """
    return sum(0 if combining(char) else 2 if east_asian_width(char) in "WF" else 1 for char in text)


def _wrap_label(text: str, width: int, lines: int) -> tuple[str, ...]:
    """A text in a few lines of about `width` letters, the last one cut with "…" if there was more.

    >>> _wrap_label("Alice moved to Lisbon in May", 12, lines=2)
    ('Alice moved', 'to Lisbon i…')
    """
    text = replace_invalid_xml(" ".join(text.split()))
    characters = max(width * len(text) // max(width_in_letters(text), 1), 2)
    wrapped = wrap(text, characters, break_on_hyphens=False)
    rest = truncate(" ".join(wrapped[lines - 1 :]), characters)
    return (*wrapped[: lines - 1], rest) if rest else tuple(wrapped)


def _box(node: Node, label: Sequence[str]) -> tuple[float, float]:
    """The width and height of a node with its label and a gap."""
    width = max((width_in_letters(line) for line in label), default=0) * LETTER_WIDTH
    return max(width, 2 * RADIUS[node.kind]) + _GAP, 2 * RADIUS[node.kind] + LINE_HEIGHT * len(label) + _GAP


def _component_layout(graph: igraph.Graph, boxes: Floats) -> Floats:
    """The layout of one component, scaled so that its median edge has the typical length, and that the boxes cover only
    a part of the area: to separate crowded boxes would distort the layout."""
    size = graph.vcount()
    if size < 3:
        points = np.array([(_EDGE_LENGTH * 1.2 * number, 0.0) for number in range(size)])
    else:
        points = np.array(_igraph_layout(graph).coords)
        starts, ends = np.array(graph.get_edgelist()).T
        lengths = np.hypot(*(points[starts] - points[ends]).T)
        points *= _EDGE_LENGTH / max(float(np.median(lengths)), 1e-9)
    width, height = _size(points, boxes)
    return points * max(1.0, math.sqrt(_AREA_FACTOR * float(boxes.prod(axis=1).sum()) / (width * height)))


def _igraph_layout(graph: igraph.Graph) -> igraph.Layout:
    size = graph.vcount()
    angles = np.arange(size) * 2 * math.pi / size
    circle = (np.c_[np.cos(angles), np.sin(angles)] * math.sqrt(size)).tolist()
    if size <= _KAMADA_KAWAI_LIMIT:
        return graph.layout_kamada_kawai(seed=circle)
    with seeded_igraph():
        return graph.layout_fruchterman_reingold(seed=circle, niter=500, grid=True)


@contextmanager
def seeded_igraph() -> Iterator[None]:
    """For what igraph does with chance: the same result every time. igraph has one random generator for the whole
    process and cannot return the one that is set. Afterwards it is `random` again, igraph's default."""
    import igraph

    with _random_lock:
        igraph.set_random_number_generator(random.Random(1))
        try:
            yield
        finally:
            igraph.set_random_number_generator(random)


def separate(points: Floats, boxes: Floats) -> Floats:
    """Move the boxes as little as possible until hardly any two overlap."""
    points = points.copy()
    for _ in range(_SEPARATION_ROUNDS):
        first, second = _overlapping_pairs(points[:, 0] - boxes[:, 0] / 2, points[:, 0] + boxes[:, 0] / 2)
        distance = points[first] - points[second]
        overlap = (boxes[first] + boxes[second]) / 2 - np.abs(distance)
        both = (overlap > 0.5).all(axis=1)
        if not both.any():
            break
        first, second, distance, overlap = first[both], second[both], distance[both], overlap[both]
        # Along the axis with the smaller overlap; two boxes in one place are separated by their order.
        pair, axis = np.arange(len(first)), overlap.argmin(axis=1)
        push = overlap[pair, axis] / 2 * np.where(distance[pair, axis] >= 0, 1, -1)
        np.add.at(points, (first, axis), push)
        np.add.at(points, (second, axis), -push)
    return points


def _overlapping_pairs(left: Floats, right: Floats) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Every pair of intervals that overlap, by their numbers."""
    order = np.argsort(left, kind="stable")
    rank = np.arange(len(order))
    following = np.searchsorted(left[order], right[order]) - rank - 1
    first = np.repeat(rank, following)
    second = first + 1 + np.arange(len(first)) - np.repeat(np.cumsum(following) - following, following)
    return order[first], order[second]


def _size(points: Floats, boxes: Floats) -> tuple[float, float]:
    """The width and height of some boxes together."""
    width, height = ((points + boxes / 2).max(axis=0) - (points - boxes / 2).min(axis=0)).tolist()
    return width, height


def _pack(sizes: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """A corner for each of several boxes, placed in rows, in about the shape of a screen."""
    area = sum((width + _GAP) * (height + _GAP) for width, height in sizes)
    limit = max([math.sqrt(area * 1.8), *(width for width, _ in sizes)])
    corners: list[tuple[float, float]] = []
    left = top = tallest = 0.0
    for width, height in sizes:
        if left and left + width > limit:
            left, top, tallest = 0.0, top + tallest + _GAP, 0.0
        corners.append((left, top))
        left, tallest = left + width + _GAP, max(tallest, height)
    return corners


def _bends(ends: Sequence[tuple[int, int]]) -> tuple[float, ...]:
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
    return tuple(bends)


Point: TypeAlias = tuple[float, float]
_LEGEND_HEIGHT = 40.0
"""Pixels of the height of the legend above the graph."""
_NAME_SHIFT = 0.14
"""The share of its length by which the name of a bent edge is shifted from the middle, so that the names of several
edges do not overlap. Chosen by eye."""


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
