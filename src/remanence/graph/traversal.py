"""Walking the graph, from a memory or an entity to what it is tied to, step by step.

Nearest first, never in a circle, and never into all of it: of a node that is tied all over only the newest
ties are followed, and an answer that left something out says so.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import islice
from typing import Literal, TypeAlias

from remanence.graph.graph_at_time import MENTIONS, GraphAtTime, GraphEdge, GraphNode
from remanence.language.text import truncate
from remanence.schema import EPOCH, Memory, Relation, Window
from remanence.state.relations import Direction

MAX_DEPTH = 8
FAN_OUT = 32
"""How many relations, and how many mentions, are followed from a node, unless the walk starts there."""
_FAN_OUT_OF_PATHS = 256
_LONGEST_LABEL = 120


@dataclass(frozen=True, slots=True)
class Node:
    """An entity or a memory that a walk came to, in `depth` steps.

    `label` is its name, or the beginning of its text; `sort` is what kind of entity or memory it is, such
    as "person" or "episode".
    """

    id: str
    kind: Literal["entity", "memory"]
    label: str
    depth: int = 0
    sort: str = "thing"

    def __str__(self) -> str:
        return self.label if self.kind == "entity" else repr(self.label)


@dataclass(frozen=True, slots=True)
class Edge:
    """A tie between two nodes, by their ids: a relation, a link, or that a memory "mentions" an entity.

    `valid` is when it holds. `evidence` are the ids of the memories that say so: none where somebody,
    perhaps `observed_by`, said so outright.
    """

    source: str
    target: str
    name: str
    valid: Window = field(default_factory=Window)
    recorded_at: datetime = EPOCH
    confidence: float = 1.0
    evidence: tuple[str, ...] = ()
    id: str = ""
    observed_by: str | None = None


@dataclass(frozen=True, slots=True)
class Subgraph:
    """Where a walk came: nodes nearest first, and the edges between them in the order they were met.

    `edges_walked` also counts edges to nodes that found no room. `truncated` says that not all was walked:
    there were more nodes than asked for, or a node has more ties than are followed.
    """

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    depth_reached: int
    edges_walked: int
    truncated: bool = False


@dataclass(frozen=True, slots=True)
class Path:
    """How two nodes are connected: each of `steps` leads from one of `nodes` to the next, whichever way it
    points. As text it is one line."""

    nodes: tuple[Node, ...]
    steps: tuple[Edge, ...]

    def __len__(self) -> int:
        return len(self.steps)

    def __bool__(self) -> bool:
        return True  # also from a node to itself, in no steps

    def __str__(self) -> str:
        out = str(self.nodes[0])
        for before, edge, node in zip(self.nodes, self.steps, self.nodes[1:], strict=False):
            out += f" —{edge.name}→ {node}" if edge.source == before.id else f" ←{edge.name}— {node}"
        return out


def walk(
    graph: GraphAtTime,
    starts: Iterable[GraphNode],
    *,
    edge_names: Collection[str] | None,
    depth: int,
    direction: Direction,
    limit: int,
) -> Subgraph:
    """Everything within so many steps of some places, nearest first, up to so many nodes."""
    first = list(islice(starts, limit + 1))
    met: dict[GraphNode, int] = dict.fromkeys(first[:limit], 0)
    ties: dict[object, GraphEdge] = {}
    left_out: set[object] = set()
    cut = len(first) > limit
    frontier = list(met)
    for step in range(1, depth + 1):
        following: list[GraphNode] = []
        for place in frontier:
            if left_out and step > 1:
                break  # there is no room for whatever is further away
            found, more = graph.edges(place, edge_names, direction, max(FAN_OUT, limit) if step == 1 else FAN_OUT)
            cut |= more
            for tie in found:
                other = tie.other_end(place)
                if other not in met:
                    if len(met) == limit:
                        left_out.add(tie.key)
                        continue
                    met[other] = step
                    following.append(other)
                ties.setdefault(tie.key, tie)
        frontier = following
    walked = len(ties) + len(left_out)
    reached = max(met.values(), default=0)
    return Subgraph(*_seen(graph, met, ties.values()), reached, walked, cut or bool(left_out))


def shortest_path(graph: GraphAtTime, start: GraphNode, goal: GraphNode, max_depth: int) -> Path | None:
    """The shortest way between two places, in at most so many steps; None if none is found.

    Searched from both ends, always on from the one with less to look at. Of the ways that are equally
    short, one through few memories.
    """
    sides: tuple[_Side, _Side] = ({start: None}, {goal: None})
    frontiers = [[start], [goal]]
    ways = [_way(sides, start)] if start == goal else []
    for _ in range(max_depth):
        if ways or not all(frontiers):
            break
        near = 0 if len(frontiers[0]) <= len(frontiers[1]) else 1
        frontiers[near] = _advance(graph, frontiers[near], sides[near])
        ways = [_way(sides, place) for place in frontiers[near] if place in sides[1 - near]]
    if not ways:
        return None
    ties = min(ways, key=lambda way: sum(tie.relation_or_link is None for tie in way))
    places = [start]
    for tie in ties:
        places.append(tie.other_end(places[-1]))
    return Path(*_seen(graph, {place: depth for depth, place in enumerate(places)}, ties))


_Side: TypeAlias = dict[GraphNode, "tuple[GraphNode, GraphEdge] | None"]
"""The places that were reached from one end, each with the one before it and the tie that led here."""


def _advance(ground: GraphAtTime, frontier: Iterable[GraphNode], side: _Side) -> list[GraphNode]:
    """One step on from everywhere: the places that were not reached before."""
    following: list[GraphNode] = []
    for place in frontier:
        for tie in ground.edges(place, None, "both", _FAN_OUT_OF_PATHS)[0]:
            other = tie.other_end(place)
            if other not in side:
                side[other] = place, tie
                following.append(other)
    return following


def _way(sides: tuple[_Side, _Side], meeting: GraphNode) -> list[GraphEdge]:
    """The ties from the one end to where both sides met, and on to the other end."""
    halves: list[list[GraphEdge]] = []
    for side in sides:
        ties: list[GraphEdge] = []
        before = side[meeting]
        while before is not None:
            ties.append(before[1])
            before = side[before[0]]
        halves.append(ties)
    return [*reversed(halves[0]), *halves[1]]


# From places and ties to what people see


def _seen(ground: GraphAtTime, depths: Mapping[GraphNode, int], ties: Iterable[GraphEdge]) -> _Seen:
    """These places as nodes, each with how far away it is, and these ties between them as edges."""
    told = [place for place in depths if place.kind == "memory"]
    memories = dict(zip(told, ground.index.memories([place.number for place in told]), strict=True))
    nodes = {
        place: _named(ground, place, depth) if place.kind == "entity" else _told(memories[place], depth)
        for place, depth in depths.items()
    }
    edges = [_edge(tie, nodes[tie.source].id, nodes[tie.target].id, memories.get(tie.source)) for tie in ties]
    return tuple(nodes.values()), tuple(edges)


_Seen: TypeAlias = tuple[tuple[Node, ...], tuple[Edge, ...]]


def _named(ground: GraphAtTime, place: GraphNode, depth: int) -> Node:
    registry, names, position = ground.index.registry, ground.index.names, ground.snapshot.position
    entity_id = registry.entity_of(place.number, position)
    # Most are as they were first met; to ask about each of those would take long.
    entity = ground.entities.get(entity_id) if registry.is_registered(entity_id, position) else None
    if entity is None:
        return Node(entity_id, "entity", names.spellings[place.number], depth, names.kinds[place.number])
    return Node(entity_id, "entity", entity.name, depth, entity.kind)


def _told(memory: Memory, depth: int) -> Node:
    return Node(memory.id, "memory", truncate(memory.text, _LONGEST_LABEL), depth, memory.kind)


def _edge(tie: GraphEdge, source: str, target: str, memory: Memory | None) -> Edge:
    says = tie.relation_or_link
    if says is None:
        assert memory is not None, "a mention stands in a memory"
        valid = replace(memory.valid, end=None) if memory.kind == "episode" else memory.valid
        shared = source, target, MENTIONS, valid, memory.revised_at, memory.confidence
        return Edge(*shared, (memory.id,), f"{source}>{target}", memory.observed_by)
    name, evidence = (says.predicate, says.evidence) if isinstance(says, Relation) else (says.kind, ())
    shared = source, target, name, says.valid, says.recorded_at, says.confidence
    return Edge(*shared, evidence, says.id, says.observed_by)
