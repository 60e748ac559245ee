"""All entities of a view as a map: how often each is mentioned, which are mentioned together or related, and where each
is drawn."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain, combinations
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from remanence.graph.graph_at_time import GraphAtTime
from remanence.graph.layout import seeded_igraph, separate
from remanence.index.position_cache import PositionCache

_MAX_GROUPS = 150
"""How many groups of entities are drawn apart; the smallest become one."""
_SPACING, _GAP = 11.0, 26.0
"""Pixels between entities of a group, and between groups."""
_FILLED, _NEARER = 0.62, 0.7
"""How large the disc of all groups is beside their areas, and the power by which what is far out comes nearer."""
_GOLDEN = math.pi * (3 - math.sqrt(5))

WeightedEdge: TypeAlias = tuple[int, int, float]
"""Two nodes by their place, and how closely they are connected."""
Points: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class MapNode:
    """An entity, and how many memories mention it."""

    id: str
    name: str
    kind: str
    mentions: int


@dataclass(frozen=True, slots=True)
class MapEdge:
    """Two entities, by their place among the nodes, and how closely they are connected."""

    source: int
    target: int
    weight: int


@dataclass(frozen=True, slots=True)
class EntityMap:
    """Entities, the most important first, and the strongest edges between them. `total` counts all entities.
    `communities` has the community of each node, by number, the largest first; `coordinates` has x and y of each node.
    Nodes of a community are in a disc. Both are empty unless a layout was asked for."""

    nodes: tuple[MapNode, ...]
    edges: tuple[MapEdge, ...]
    total: int
    communities: tuple[int, ...] = ()
    coordinates: tuple[tuple[float, float], ...] = ()


class _Counts(NamedTuple):
    """A map without text: the numbers of its entities with how many memories mention each, and the edges."""

    mentions: dict[int, int]
    edges: tuple[MapEdge, ...]
    total: int


_COUNTS: PositionCache[_Counts] = PositionCache()


def build_entity_map(graph: GraphAtTime, limit: int) -> EntityMap:
    """The map of a graph, with at most `limit` entities: those that most memories and other entities refer to."""
    counts = _COUNTS.get(graph.index, (graph.state, limit), lambda: _count(graph, limit))
    nodes = [_node(graph, number, mentions) for number, mentions in counts.mentions.items()]
    return EntityMap(tuple(node for node in nodes if node is not None), counts.edges, counts.total)


def _count(graph: GraphAtTime, limit: int) -> _Counts:
    import igraph

    mentions, weights = Counter[int](), Counter[tuple[int, int]]()
    for _, entities in graph.entities_by_row():
        mentions.update(entities)
        # A memory with more entities is a list.
        weights.update(combinations(sorted(entities[:12]), 2))
    for one, other in graph.stated_relations():
        weights[min(one, other), max(one, other)] += 2
    numbers = graph.all_entities()
    degrees = igraph.Graph(1 + max((0, *numbers, *chain.from_iterable(weights))), list(weights)).degree()
    kept = sorted(numbers, key=lambda number: (-mentions[number] - degrees[number], number))[:limit]
    known = [number for number in kept if graph.entity(number) is not None]
    index_by_number = {number: place for place, number in enumerate(known)}
    inside = [
        (pair, weight) for pair, weight in weights.items() if pair[0] in index_by_number and pair[1] in index_by_number
    ]
    inside.sort(key=lambda entity_and_degree: (-entity_and_degree[1], entity_and_degree[0]))
    edges = (MapEdge(index_by_number[one], index_by_number[other], weight) for (one, other), weight in inside)
    strongest = tuple(edges)[: 6 * len(known)]  # so that they can be told apart
    return _Counts({number: mentions[number] for number in known}, strongest, len(numbers))


def _node(graph: GraphAtTime, number: int, mentions: int) -> MapNode | None:
    entity = graph.entity(number)
    return None if entity is None else MapNode(entity.id, entity.name, entity.kind, mentions)


def with_layout(found: EntityMap) -> EntityMap:
    """The map with the community and the coordinates of each node."""
    edges = np.array([(edge.source, edge.target, edge.weight) for edge in found.edges], np.int64)
    communities, coordinates = _layout(len(found.nodes), edges.tobytes())
    return replace(found, communities=communities, coordinates=coordinates)


@lru_cache(16)
def _layout(count: int, edges: bytes) -> tuple[tuple[int, ...], tuple[tuple[float, float], ...]]:
    """The communities and coordinates of a map, cached by edges. The cache contains no text."""
    triples = np.frombuffer(edges, np.int64).reshape(-1, 3).tolist()
    groups, points = place_nodes(count, [(source, target, weight) for source, target, weight in triples])
    return tuple(groups.tolist()), tuple([(x, y) for x, y in points.round(1).tolist()])


def place_nodes(count: int, edges: Sequence[WeightedEdge]) -> tuple[NDArray[np.int64], Points]:
    """The community of each node of a map, and where it is drawn: x and y. The most important node comes first. Nodes
    of a community are in a disc, the most important in its middle; the discs are beside each other, those that are
    connected near each other.

    >>> communities, points = place_nodes(2, [(0, 1, 1.0)])
    >>> communities.tolist(), points.round().tolist()
    ([0, 0], [[0.0, 0.0], [-8.0, 7.0]])
    """
    if not count:
        return np.empty(0, np.int64), np.empty((0, 2))
    groups = _groups(count, edges)
    group_of = np.empty(count, np.int64)
    for number, group in enumerate(groups):
        group_of[group] = number
    sizes = 2 * _SPACING * np.sqrt([len(group) for group in groups]) + _GAP
    middles = separate(_compact(_group_layout(len(groups), edges, group_of), sizes), np.stack((sizes, sizes), axis=1))
    points = np.empty((count, 2))
    for middle, group in zip(middles, groups, strict=True):
        points[group] = middle + _spiral(_SPACING * np.sqrt(np.arange(len(group))))
    return group_of, points


def _groups(count: int, edges: Sequence[WeightedEdge]) -> list[list[int]]:
    """The nodes that belong together, the largest group first. Of very many groups, the small ones are one."""
    import igraph

    graph = igraph.Graph(count, [(one, other) for one, other, _ in edges])
    with seeded_igraph():
        found = graph.community_multilevel(weights=[weight for _, _, weight in edges])
    groups = sorted(found, key=lambda group: (-len(group), group))
    rest = sorted(node for group in groups[_MAX_GROUPS:] for node in group)
    return [*groups[:_MAX_GROUPS], rest] if rest else groups


def _group_layout(count: int, edges: Sequence[WeightedEdge], group_of: NDArray[np.int64]) -> Points:
    """A point for each group: those that are connected are near each other, the others around the largest."""
    import igraph

    weights: dict[tuple[int, int], float] = defaultdict(float)
    for one, other, weight in edges:
        ends = int(group_of[one]), int(group_of[other])
        if ends[0] != ends[1]:
            weights[min(ends), max(ends)] += weight
    graph = igraph.Graph(count, list(weights))
    with seeded_igraph():
        layout = graph.layout_fruchterman_reingold(
            weights=list(weights.values()), seed=_spiral(np.sqrt(np.arange(count))).tolist(), niter=200, grid=False
        )
    return np.array(layout.coords).reshape(count, 2)


def _compact(points: Points, sizes: NDArray[np.float64]) -> Points:
    """The same points around the origin, in a disc that the groups of these sizes fill well: what is far out, such as
    groups without edges, comes nearer."""
    points = points - points.mean(axis=0)
    distances = np.hypot(points[:, 0], points[:, 1])
    farthest = distances.max(initial=0.0)
    if not farthest:
        return points
    shares = np.maximum(distances / farthest, 1e-9)
    radius = _FILLED * math.sqrt(float((sizes**2).sum()))
    compact: Points = points * (radius / farthest * shares ** (_NEARER - 1))[:, None]
    return compact


def _spiral(radii: Points) -> Points:
    """A point at each of these distances from the middle, in ever new directions."""
    angles = np.arange(len(radii)) * _GOLDEN
    return np.stack((radii * np.cos(angles), radii * np.sin(angles)), axis=1)
