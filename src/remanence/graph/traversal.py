"""Walks over the graph, from a memory or an entity along its edges, and relations that are joined in time.

Of a node with many edges only the newest are followed, and the answer says when something was left out.

What holds at a moment depends on the view and on all claims of one entity, so the edges of a node are resolved when a
search comes to it. To resolve all of them for every moment would take seconds in a large space. igraph decides
everything else: how far away each node is, which edges are inside a part, and which path is the shortest.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import combinations, islice, pairwise, product
from typing import TYPE_CHECKING, Literal, NamedTuple

from remanence.errors import InvalidInput
from remanence.graph.graph_at_time import MENTIONS, NEXT_TURN, GraphAtTime, GraphEdge, GraphNode
from remanence.index.arrays.columns import Interner
from remanence.index.claims.relations import Direction
from remanence.index.numbers import Row
from remanence.recall.show import TIMES
from remanence.schema import EPOCH, Memory, Relation, Window, window_from_micros, window_to_micros
from remanence.schema.display import data_frame
from remanence.text.text import truncate

if TYPE_CHECKING:
    import pandas

MAX_DEPTH = 8
FAN_OUT = 32
"""Relations, and mentions, that are followed from a node that is not the start. It limits the work at an entity that
nearly every memory mentions."""
_PATH_FAN_OUT = 256
"""Edges of a node that are read when a path is looked for. It limits the work at an entity that nearly every memory
mentions."""
_MODES = {"out": "out", "in": "in", "both": "all"}
_EDGE_COLUMNS = (
    *("source", "name", "target", "valid_from", "valid_until", "recorded_at", "confidence", "observed_by"),
    *("evidence", "source_id", "target_id", "id"),
)


@dataclass(frozen=True, slots=True)
class Node:
    """An entity or a memory that a walk reached in `depth` steps.

    `label` is its name, or the beginning of its text. `sort` is the kind of the entity or memory, such as "person" or
    "episode".
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
    """An edge between two nodes, by their ids: a relation, a link, "mentions" from a memory to an entity, or
    "next_turn" from a turn to the one right after it.

    `valid` is when it holds. `evidence` are the ids of the memories that state it; it is empty where a caller, perhaps
    `observed_by`, stated it without evidence.
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
    """A part of the graph.

    Attributes:
        nodes: The nodes, nearest first.
        edges: The edges between them, in the order in which they were found.
        depth_reached: How many steps the farthest node is away.
        edges_walked: How many edges were followed, including edges to nodes beyond the limit.
        truncated: Whether something is missing: there were more nodes than the limit, or a node has more edges than are
            followed.
    """

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    depth_reached: int
    edges_walked: int
    truncated: bool = False

    def to_df(self) -> pandas.DataFrame:
        """The edges as a data frame, a row for each, with the labels of both nodes. Needs pandas.

        Raises:
            MissingExtra: pandas is not installed.
        """
        labels = {node.id: node.label for node in self.nodes}
        records = [
            {name: getattr(edge, name, None) for name in _EDGE_COLUMNS}
            | {"source": labels[edge.source], "source_id": edge.source}
            | {"target": labels[edge.target], "target_id": edge.target}
            | {"valid_from": edge.valid.start, "valid_until": edge.valid.end}
            for edge in self.edges
        ]
        return data_frame(records, _EDGE_COLUMNS, TIMES)


@dataclass(frozen=True, slots=True)
class Path:
    """How two nodes are connected. Each of `steps` joins one of `nodes` to the next, in either direction."""

    nodes: tuple[Node, ...]
    steps: tuple[Edge, ...]

    def __len__(self) -> int:
        return len(self.steps)

    def __bool__(self) -> bool:
        return True  # a path from a node to itself has no steps

    def __str__(self) -> str:
        shown = str(self.nodes[0])
        for before, edge, node in zip(self.nodes, self.steps, self.nodes[1:], strict=False):
            shown += f" —{edge.name}→ {node}" if edge.source == before.id else f" ←{edge.name}— {node}"
        return shown


class OverlapPeriod(NamedTuple):
    """Two relations whose windows were joined, and the time that they share, if any."""

    left: Relation
    right: Relation
    overlap: Window | None


def walk(
    graph: GraphAtTime,
    starts: Iterable[GraphNode],
    *,
    edge_names: Collection[str] | None,
    depth: int,
    direction: Direction,
    limit: int,
) -> Subgraph:
    """Everything within `depth` steps of some nodes, nearest first, up to `limit` nodes."""
    around = TraversalGraph(graph, edge_names, direction)
    first = around.add(islice(starts, limit + 1))
    truncated, first = len(first) > limit, first[:limit]
    ring: Iterable[int] = first
    for step in range(1, depth + 1):
        fan_out, until = (max(FAN_OUT, limit), None) if step == 1 else (FAN_OUT, limit)
        ring = [number for number in around.load_edges(ring, fan_out, until=until) if number < limit]
    steps = {number: step for number, step in around.depths(first).items() if number < limit}
    inside = around.edges_among(steps)
    depths = {around.nodes[number]: step for number, step in steps.items()}
    reached = max(depths.values(), default=0)
    truncated |= bool(around.truncated) or len(inside) < len(around.edges)
    return Subgraph(*_public_values(graph, depths, inside), reached, len(around.edges), truncated)


def shortest_path(graph: GraphAtTime, start: GraphNode, goal: GraphNode, max_depth: int) -> Path | None:
    """The shortest path between two nodes, in at most `max_depth` steps; None if there is none.

    Edges are read around both ends, ring by ring, always where the outermost ring is smaller. Of several shortest paths
    it returns one with the fewest mentions and next turns. Of a node with many edges the newest are read, and the
    others from their other ends; between two such nodes, all.
    """
    around = TraversalGraph(graph)
    ends = around.add((start, goal))
    rings: list[Sequence[int]] = [[end] for end in ends]
    for step in range(max_depth + 1):
        left = [side for side in (0, 1) if rings[side]]
        is_complete = not around.truncated and (len(left) < 2 or step == max_depth)
        if around.connects(*ends) or not left or is_complete:
            break
        near = min(left, key=lambda side: len(rings[side]))
        rings[near] = around.load_edges(rings[near], _PATH_FAN_OUT)
    if not around.connects(*ends):
        around.read_between_truncated()
    if not around.connects(*ends):
        return None
    nodes, edges = around.shortest_path(*ends)
    if len(edges) > max_depth:
        return None
    return Path(*_public_values(graph, {node: depth for depth, node in enumerate(nodes)}, edges))


_CONDITIONS: Mapping[str, Callable[[int, int, int, int], bool]] = {
    "while": lambda start, end, other_start, other_end: max(start, other_start) < min(end, other_end),
    "overlapping": lambda start, end, other_start, other_end: max(start, other_start) < min(end, other_end),
    "during": lambda start, end, other_start, other_end: other_start <= start and end <= other_end,
    "before": lambda start, end, other_start, other_end: end <= other_start,
    "after": lambda start, end, other_start, other_end: other_end <= start,
}


def join(left: Iterable[Relation], condition: str, right: Iterable[Relation]) -> list[OverlapPeriod]:
    """The pairs that meet `condition`, in the order of the left relations, then the right ones."""
    if not isinstance(condition, str) or condition not in _CONDITIONS:
        raise InvalidInput(
            f"condition={condition!r} is not a condition of join. The conditions are {', '.join(_CONDITIONS)}."
        )
    return [
        OverlapPeriod(one, other, intersection(one.valid, other.valid))
        for one, other in product(left, right)
        if _CONDITIONS[condition](*window_to_micros(one.valid), *window_to_micros(other.valid))
    ]


def intersection(a: Window, b: Window) -> Window | None:
    """The time that lies in both windows; None if there is none."""
    (start, end), (other_start, other_end) = window_to_micros(a), window_to_micros(b)
    start, end = max(start, other_start), min(end, other_end)
    return window_from_micros(start, end) if start < end else None


def _public_values(
    graph: GraphAtTime, depths: Mapping[GraphNode, int], edges: Iterable[GraphEdge]
) -> tuple[tuple[Node, ...], tuple[Edge, ...]]:
    """Graph nodes and edges as the values that callers get."""
    in_memories = [node for node in depths if node.kind == "memory"]
    memories = dict(zip(in_memories, graph.index.memories([Row(node.number) for node in in_memories]), strict=True))
    nodes = {node: _node(graph, node, depth, memories.get(node)) for node, depth in depths.items()}
    return tuple(nodes.values()), tuple(
        _edge(edge, nodes[edge.source].id, nodes[edge.target].id, memories.get(edge.source), memories.get(edge.target))
        for edge in edges
    )


def _node(graph: GraphAtTime, node: GraphNode, depth: int, memory: Memory | None) -> Node:
    if memory is not None:
        return Node(memory.id, "memory", truncate(memory.text, 120), depth, memory.kind)
    registry, names, position = graph.index.registry, graph.index.names, graph.snapshot.position
    entity_id = registry.entity_of(node.number, position)
    # Most entities are not registered, and to read each of them would take long.
    entity = graph.entities.get(entity_id) if registry.is_registered(entity_id, position) else None
    if entity is None:
        return Node(entity_id, "entity", names.spellings[node.number], depth, names.kinds[node.number])
    return Node(entity_id, "entity", entity.name, depth, entity.kind)


def _edge(edge: GraphEdge, source: str, target: str, memory: Memory | None, later: Memory | None) -> Edge:
    value = edge.relation_or_link
    if value is None:
        assert memory is not None, "a mention or a next turn leads from a memory"
        name, last = (MENTIONS, memory) if later is None else (NEXT_TURN, later)
        valid = replace(last.valid, end=None) if last.kind == "episode" else last.valid
        shared = source, target, name, valid, last.revised_at, memory.confidence
        return Edge(*shared, (memory.id,), f"{source}>{target}", memory.observed_by)
    name, evidence = (value.predicate, value.evidence) if isinstance(value, Relation) else (value.kind, ())
    shared = source, target, name, value.valid, value.recorded_at, value.confidence
    return Edge(*shared, evidence, value.id, value.observed_by)


class TraversalGraph:
    """Nodes and edges by number, in the order in which they were found."""

    def __init__(
        self, graph: GraphAtTime, edge_names: Collection[str] | None = None, direction: Direction = "both"
    ) -> None:
        import igraph  # it takes a while, and not every process walks the graph

        self._nodes: Interner[GraphNode] = Interner()
        self.edges: list[GraphEdge] = []
        self.truncated: list[int] = []
        """The nodes that have more edges than were read."""
        self._source, self._edge_names, self._direction = graph, edge_names, direction
        self._keys: set[object] = set()  # of the edges
        self._graph = igraph.Graph(directed=True)

    def __len__(self) -> int:
        return len(self.nodes)

    @property
    def nodes(self) -> list[GraphNode]:
        return self._nodes.values

    def add(self, nodes: Iterable[GraphNode]) -> list[int]:
        """The numbers of these nodes, which are added if they are new."""
        out = [self._nodes.intern(node) for node in nodes]
        self._update()
        return out

    def load_edges(self, numbers: Iterable[int], fan_out: int, *, until: int | None = None) -> range:
        """Read the edges of these nodes, the newest `fan_out` of each kind. Returns the nodes that were added: those at
        the other ends. With `until`, stop once there are more nodes than that."""
        first = len(self)
        for number in numbers:
            if until is not None and len(self) > until:
                break
            found, more = self._source.edges(self.nodes[number], self._edge_names, self._direction, fan_out)
            self._add_edges(found)
            if more:
                self.truncated.append(number)
        self._update()
        return range(first, len(self))

    def read_between_truncated(self) -> None:
        """Read the relations between every two nodes that have more edges than were read."""
        for one, other in combinations(self.truncated, 2):
            self._add_edges(self._source.relations_between(self.nodes[one], self.nodes[other]))
        self._update()

    def depths(self, starts: Sequence[int]) -> dict[int, int]:
        """How many steps each node is from the nearest of some nodes, nearest first."""
        mode, root = _MODES[self._direction], len(self)
        graph = self._graph.copy()
        graph.add_vertex()
        graph.add_edges([(start, root) if mode == "in" else (root, start) for start in starts])
        order, layers, _ = graph.bfs(root, mode=mode)
        steps = enumerate(pairwise(layers[1:]))
        return {number: step for step, (begin, end) in steps for number in sorted(order[begin:end])}

    def edges_among(self, numbers: Collection[int]) -> list[GraphEdge]:
        """The edges that have both ends among these nodes."""
        if len(numbers) == len(self):
            return self.edges
        return [self.edges[number] for number in sorted(self._graph.induced_subgraph(numbers).es["number"])]

    def connects(self, start: int, goal: int) -> bool:
        """Whether the edges that were read connect two nodes."""
        return bool(self._graph.distances(start, goal, mode="all")[0][0] < float("inf"))

    def shortest_path(self, start: int, goal: int) -> tuple[list[GraphNode], list[GraphEdge]]:
        """The nodes and edges of the shortest path between two connected nodes; of several, one with the fewest
        mentions and next turns."""
        # The number of steps decides first: 64 mentions cost less than one step more.
        costs = [1 + 1 / 64 if edge.relation_or_link is None else 1.0 for edge in self.edges]
        path = self._graph.get_shortest_path(start, goal, weights=costs, mode="all", output="epath")
        nodes = [self.nodes[start]]
        for number in path:
            nodes.append(self.edges[number].other_end(nodes[-1]))
        return nodes, [self.edges[number] for number in path]

    def _add_edges(self, edges: Iterable[GraphEdge]) -> None:
        for edge in edges:
            if edge.key not in self._keys:
                self._keys.add(edge.key)
                self._nodes.intern(edge.source)
                self._nodes.intern(edge.target)
                self.edges.append(edge)

    def _update(self) -> None:
        """Add the new nodes and edges to igraph in one call: each call takes time proportional to the whole graph."""
        known, number = self._graph.ecount(), self._nodes.intern
        self._graph.add_vertices(len(self.nodes) - self._graph.vcount())
        ends = [(number(edge.source), number(edge.target)) for edge in self.edges[known:]]
        self._graph.add_edges(ends, {"number": range(known, len(self.edges))})
