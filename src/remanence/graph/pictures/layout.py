"""Where each node stands, and how far each edge bends: the same for the same graph, every time."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from remanence.graph.pictures.svg_text import LETTER_WIDTH, width_in_letters, wrap

if TYPE_CHECKING:
    import igraph

    from remanence.graph.traversal import Node, Subgraph

RADIUS = {"entity": 9.0, "memory": 7.0}
LINE_HEIGHT = 15.0
"""The height of a line of a label."""
_LENGTH = 180.0
"""How long a common edge is: its name has to fit on it."""
_BEND = 52.0
_GAP = 14.0
_SMALL = 150
"""Up to so many nodes by Kamada and Kawai, which is clearer, and takes seconds at a thousand."""
_ROOM = 5.0
"""How many times the area of all labels a picture has at least."""
_ROUNDS = 80
_seeding = Lock()

Floats: TypeAlias = NDArray[np.float64]
Numbers: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Layout:
    """In pixels: the place of each node in a sheet of `width` and `height`, and its label, in lines; for each
    edge the numbers of its nodes, and how far it swerves from the straight line, or, if it ends where it
    begins, how far out it goes."""

    coordinates: tuple[tuple[float, float], ...]
    labels: tuple[tuple[str, ...], ...]
    edge_ends: tuple[tuple[int, int], ...]
    bends: tuple[float, ...]
    width: float
    height: float


def lay_out(subgraph: Subgraph) -> Layout:
    """Where everything goes."""
    numbers = {node.id: number for number, node in enumerate(subgraph.nodes)}
    ends = tuple((numbers[edge.source], numbers[edge.target]) for edge in subgraph.edges)
    labels = tuple(_label(node) for node in subgraph.nodes)
    boxes = np.array([_box(*each) for each in zip(subgraph.nodes, labels, strict=True)]).reshape(-1, 2)
    middles = np.zeros_like(boxes)
    parts = [(part, _apart(_roomy(points, boxes[part]), boxes[part])) for part, points in _parts(len(boxes), ends)]
    corners = _shelves([_span(points, boxes[part]) for part, points in parts])
    for (part, points), corner in zip(parts, corners, strict=True):
        middles[part] = points - _low(points, boxes[part]) + corner
    # A label stands below its node, so the node is not in the middle of the box that holds both.
    above = np.array([RADIUS[node.kind] for node in subgraph.nodes]) - boxes[:, 1] / 2
    width, height = _span(middles, boxes)
    return Layout(
        coordinates=tuple((round(x, 1), round(y, 1)) for x, y in (middles + np.c_[0 * above, above]).tolist()),
        labels=labels,
        edge_ends=ends,
        bends=_bends(ends),
        width=round(width, 1),
        height=round(height, 1),
    )


def _label(node: Node) -> tuple[str, ...]:
    """What is written below a node: a name, or the beginning of what a memory says."""
    return wrap(node.label, 24, 2) if node.kind == "entity" else wrap(node.label, 26, 3)


def _box(node: Node, label: Sequence[str]) -> tuple[float, float]:
    """The width and height that a node takes up with its label and some air."""
    wide = max((width_in_letters(line) for line in label), default=0) * LETTER_WIDTH
    return max(wide, 2 * RADIUS[node.kind]) + _GAP, 2 * RADIUS[node.kind] + LINE_HEIGHT * len(label) + _GAP


def _parts(size: int, ends: Sequence[tuple[int, int]]) -> Iterator[tuple[list[int], Floats]]:
    """The parts of a graph that no edge ties together, the largest first, each laid out on its own.

    In one layout for all, parts with nothing to hold them drift apart, or across each other.
    """
    import igraph

    graph = igraph.Graph(n=size, edges=ends).simplify()
    for part in sorted(graph.connected_components(), key=lambda part: (-len(part), part)):
        yield part, _shape(graph.induced_subgraph(part))


def _shape(graph: igraph.Graph) -> Floats:
    """A layout of one connected part, its median edge of the common length."""
    size = graph.vcount()
    if size < 3:
        return np.array([(_LENGTH * 1.2 * place, 0.0) for place in range(size)])
    turns = [2 * math.pi * place / size for place in range(size)]
    circle = [(math.cos(turn) * math.sqrt(size), math.sin(turn) * math.sqrt(size)) for turn in turns]
    points = np.array((_kamada_kawai if size <= _SMALL else _fruchterman_reingold)(graph, circle))
    starts, ends = np.array(graph.get_edgelist()).T
    lengths = np.hypot(*(points[starts] - points[ends]).T)
    shaped: Floats = points * (_LENGTH / max(float(np.median(lengths)), 1e-9))
    return shaped


def _kamada_kawai(graph: igraph.Graph, circle: Sequence[tuple[float, float]]) -> list[list[float]]:
    coordinates: list[list[float]] = graph.layout_kamada_kawai(seed=circle).coords
    return coordinates


def _fruchterman_reingold(graph: igraph.Graph, circle: Sequence[tuple[float, float]]) -> list[list[float]]:
    import igraph

    # It draws lots, and igraph has one place for all to draw them from, which cannot be asked what stands
    # there: afterwards it is `random` again, as igraph begins with. What others draw there is not touched.
    with _seeding:
        igraph.set_random_number_generator(random.Random(1))
        try:
            return list(graph.layout_fruchterman_reingold(seed=circle, niter=500, grid=True).coords)
        finally:
            igraph.set_random_number_generator(random)


def _roomy(points: Floats, boxes: Floats) -> Floats:
    """These points, as far from each other as it takes for their boxes to cover no more than a part of it
    all. Pushing boxes apart where there is no room for them would spoil the shape."""
    width, height = _span(points, boxes)
    return points * max(1.0, math.sqrt(_ROOM * float(boxes.prod(axis=1).sum()) / (width * height)))


def _apart(points: Floats, boxes: Floats) -> Floats:
    """These boxes pushed apart until none lies on another, or nearly so, each by as little as it takes."""
    points = points.copy()
    for _ in range(_ROUNDS):
        first, second = _side_by_side(points[:, 0] - boxes[:, 0] / 2, points[:, 0] + boxes[:, 0] / 2)
        away = points[first] - points[second]
        overlap = (boxes[first] + boxes[second]) / 2 - np.abs(away)
        meeting = (overlap > 0.5).all(axis=1)
        if not meeting.any():
            break
        first, second, away, overlap = first[meeting], second[meeting], away[meeting], overlap[meeting]
        # Along the shorter way out; two boxes in one place part by their order.
        pair, axis = np.arange(len(first)), overlap.argmin(axis=1)
        push = overlap[pair, axis] / 2 * np.where(away[pair, axis] >= 0, 1, -1)
        np.add.at(points, (first, axis), push)
        np.add.at(points, (second, axis), -push)
    return points


def _side_by_side(left: Floats, right: Floats) -> tuple[Numbers, Numbers]:
    """Every two stretches that share something, by their numbers."""
    order = np.argsort(left, kind="stable")
    place = np.arange(len(order))
    following = np.searchsorted(left[order], right[order]) - place - 1
    first = np.repeat(place, following)
    second = first + 1 + np.arange(len(first)) - np.repeat(np.cumsum(following) - following, following)
    return order[first], order[second]


def _low(points: Floats, boxes: Floats) -> Floats:
    """The upper left corner of some boxes together."""
    corner: Floats = (points - boxes / 2).min(axis=0)
    return corner


def _span(points: Floats, boxes: Floats) -> tuple[float, float]:
    """The width and height of some boxes together."""
    if not len(points):
        return 0.0, 0.0
    width, height = (points + boxes / 2).max(axis=0) - _low(points, boxes)
    return float(width), float(height)


def _shelves(sizes: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """A corner for each of several boxes, set in rows like books, in about the shape of a screen."""
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
    """How far each edge swerves, so that several between the same two nodes can be told apart."""
    total, met = Counter(map(frozenset, ends)), Counter[frozenset[int]]()
    out: list[float] = []
    for source, target in ends:
        pair = frozenset((source, target))
        place = met[pair]
        met[pair] += 1
        if source == target:
            out.append(_BEND * (1 + place / 2))
        else:
            swerve = (place - (total[pair] - 1) / 2) * _BEND
            out.append(swerve if source < target else -swerve)
    return tuple(out)
