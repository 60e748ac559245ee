"""All entities of a view as a map: how often each is mentioned, and which are mentioned together or related."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import chain, combinations

from remanence.graph.graph_at_time import GraphAtTime

_MAX_TOGETHER = 12
"""Of a memory that mentions more entities, such as a list, only the first are counted as mentioned together."""
_RELATED = 2
"""How many times a relation counts as much as being mentioned in one memory."""
_EDGES_PER_NODE = 6


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
    `coordinates` has x and y of each node; it is empty for small maps, which clients lay out themselves."""

    nodes: tuple[MapNode, ...]
    edges: tuple[MapEdge, ...]
    total: int
    coordinates: tuple[tuple[float, float], ...] = ()


def build_entity_map(graph: GraphAtTime, limit: int) -> EntityMap:
    """The map of a graph, with at most `limit` entities: those that most memories and other entities refer to."""
    import igraph

    mentions, weights = Counter[int](), Counter[tuple[int, int]]()
    for entities in graph.entities_by_memory():
        mentions.update(entities)
        weights.update(combinations(sorted(entities[:_MAX_TOGETHER]), 2))
    for one, other in graph.stated_relations():
        weights[min(one, other), max(one, other)] += _RELATED
    numbers = graph.all_entities()
    degrees = igraph.Graph(1 + max((0, *numbers, *chain.from_iterable(weights))), list(weights)).degree()
    kept = sorted(numbers, key=lambda number: (-mentions[number] - degrees[number], number))[:limit]
    nodes = {number: node for number in kept if (node := _node(graph, number, mentions[number])) is not None}
    index_by_number = {number: place for place, number in enumerate(nodes)}
    inside = [
        (pair, weight) for pair, weight in weights.items() if pair[0] in index_by_number and pair[1] in index_by_number
    ]
    inside.sort(key=lambda entity_and_degree: (-entity_and_degree[1], entity_and_degree[0]))
    edges = (MapEdge(index_by_number[one], index_by_number[other], weight) for (one, other), weight in inside)
    return EntityMap(tuple(nodes.values()), tuple(edges)[: _EDGES_PER_NODE * len(nodes)], len(numbers))


def _node(graph: GraphAtTime, number: int, mentions: int) -> MapNode | None:
    entity = graph.entity(number)
    return None if entity is None else MapNode(entity.id, entity.name, entity.kind, mentions)
