"""The part of the graph around some nodes at one moment, as an igraph graph: entities and memories, and the relations,
mentions, links and next turns between them.

What holds at a moment depends on the view and on all claims of one entity, so the edges of a node are resolved when a
search comes to it. To resolve all of them for every moment would take seconds in a large space. igraph decides
everything else: how far away each node is, which edges are inside a part, and which path is the shortest.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import combinations, pairwise

from remanence.graph.graph_at_time import GraphAtTime, GraphEdge, GraphNode
from remanence.state.arrays.columns import Interner
from remanence.state.edges.relations import Direction

_UNSTATED_COST = 1 + 1 / 64
"""What a mention or a next turn counts in a path; relations and links count 1. The number of steps decides first."""
_MODES = {"out": "out", "in": "in", "both": "all"}


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
        costs = [_UNSTATED_COST if edge.relation_or_link is None else 1.0 for edge in self.edges]
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
