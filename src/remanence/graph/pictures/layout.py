"""The coordinates of each node, the lines of its label and the bend of each edge: the same every time."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from textwrap import wrap
from threading import Lock
from typing import TYPE_CHECKING, TypeAlias
from unicodedata import combining, east_asian_width

import numpy as np
from numpy.typing import NDArray

from remanence.schema.notebook_pictures import LETTER_WIDTH, replace_invalid_xml
from remanence.text.text import truncate

if TYPE_CHECKING:
    import igraph

    from remanence.graph.traversal import Node, Subgraph

RADIUS = {"entity": 9.0, "memory": 7.0}
LINE_HEIGHT = 15.0
_EDGE_LENGTH = 180.0
"""The length of a typical edge: its name has to fit on it."""
_BEND = 52.0
_GAP = 14.0
_KAMADA_KAWAI_LIMIT = 150
"""Up to this many nodes are laid out by Kamada and Kawai, which is clearer, but takes seconds for a thousand nodes."""
_AREA_FACTOR = 5.0
"""How many times the area of all labels a picture has at least."""
_SEPARATION_ROUNDS = 80
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
