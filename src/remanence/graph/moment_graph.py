"""The part of the graph around some nodes at one moment, as an igraph graph: rings, neighbourhoods and shortest paths.

What holds at a moment depends on the view and on all claims of one entity, so the edges of a node are resolved when a
search comes to it. To resolve all of them for every moment would take seconds in a large space. igraph decides
everything else: which nodes are in the next ring, how far away each one is, and which path is the shortest.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import pairwise

from remanence.graph.graph_at_time import GraphAtTime, GraphEdge, GraphNode
from remanence.state.relations import Direction

_MENTION_COST = 1 + 1 / 64
"""What a mention counts in a path; other edges count 1. The number of steps still decides first."""


class MomentGraph:
    """Nodes by number, in the order in which they were found. An edge leads from the node that it was read for."""

    def __init__(
        self, graph: GraphAtTime, edge_names: Collection[str] | None = None, direction: Direction = "both"
    ) -> None:
        import igraph  # it takes a while, and not every process walks the graph

        self.nodes: list[GraphNode] = []
        self.edges: dict[object, GraphEdge] = {}
        """Each edge once, by its key, in the order in which they were read."""
        self._source, self._edge_names, self._direction = graph, edge_names, direction
        self._numbers: dict[GraphNode, int] = {}
        self._graph = igraph.Graph(directed=True)
        self._steps: dict[tuple[int, int], GraphEdge] = {}  # the first edge between two nodes

    def __len__(self) -> int:
        return len(self.nodes)

    def add(self, nodes: Iterable[GraphNode]) -> list[int]:
        """The numbers of these nodes, which are added if they are new."""
        out = [self._number(node) for node in nodes]
        self._update(())
        return out

    def read(self, numbers: Sequence[int], fan_out: int, *, until: int | None = None) -> bool:
        """Read the edges of these nodes, the newest `fan_out` of each kind, and add the nodes at their other ends.

        With `until`, stop once there are more nodes than that. Returns whether a node has more edges.
        """
        truncated, arcs = False, dict[tuple[int, int], None]()
        for number in numbers:
            if until is not None and len(self) > until:
                break
            node = self.nodes[number]
            found, more = self._source.edges(node, self._edge_names, self._direction, fan_out)
            truncated |= more
            for edge in found:
                other = self._number(edge.other_end(node))
                self.edges.setdefault(edge.key, edge)
                self._steps.setdefault((min(number, other), max(number, other)), edge)
                arcs[number, other] = None
        self._update(arcs)
        return truncated

    def ring(self, starts: Sequence[int], distance: int) -> list[int]:
        """The nodes at a distance from the nearest of some nodes, along the edges as they were read."""
        ring = set[int]().union(*self._graph.neighborhood(starts, order=distance, mode="out", mindist=distance))
        if len(starts) > 1:  # what is so far from one of them may be nearer to another
            ring.difference_update(*self._graph.neighborhood(starts, order=distance - 1, mode="out"))
        return sorted(ring)

    def connects(self, start: int, goal: int) -> bool:
        """Whether the edges that were read connect two nodes."""
        return bool(self._graph.distances(start, goal, mode="all")[0][0] < float("inf"))

    def shortest_path(self, start: int, goal: int) -> tuple[list[GraphNode], list[GraphEdge]]:
        """The nodes and edges of the shortest path between two connected nodes; of several, one with the fewest
        mentions."""
        kinds = [node.kind for node in self.nodes]
        costs = [1.0 if kinds[a] == kinds[b] else _MENTION_COST for a, b in self._graph.get_edgelist()]
        path = self._graph.get_shortest_path(start, goal, weights=costs, mode="all")
        edges = [self._steps[min(pair), max(pair)] for pair in pairwise(path)]
        return [self.nodes[number] for number in path], edges

    def _number(self, node: GraphNode) -> int:
        number = self._numbers.setdefault(node, len(self.nodes))
        if number == len(self.nodes):
            self.nodes.append(node)
        return number

    def _update(self, arcs: Collection[tuple[int, int]]) -> None:
        """Tell igraph the new nodes and edges: all at once, since each time takes time for all that it has."""
        self._graph.add_vertices(len(self.nodes) - self._graph.vcount())
        self._graph.add_edges(arcs)
