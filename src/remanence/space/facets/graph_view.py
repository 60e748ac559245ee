"""`space.graph` of one moment: what can be asked of the graph, and pictures of it."""

from __future__ import annotations

from pathlib import Path as FilePath
from typing import TYPE_CHECKING, TypedDict

from remanence.graph import pictures, traversal
from remanence.graph.graph_at_time import KnownEntities, NodeRef
from remanence.graph.pictures import NotebookPicture
from remanence.graph.traversal import MAX_DEPTH, Subgraph
from remanence.index.engine import inputs
from remanence.index.engine.in_thread import in_thread
from remanence.index.engine.inputs import Moment
from remanence.schema import Relation, micros
from remanence.schema.display import HtmlTable
from remanence.space.facets.graph_queries import EdgeNames, GraphQueries, edge_names

if TYPE_CHECKING:
    import igraph
    import networkx
    from typing_extensions import Unpack


class PartOptions(TypedDict, total=False):
    """Which part of the graph is taken: the arguments of `GraphView.show` after `start`."""

    relations: EdgeNames | None
    depth: int
    at: Moment | None
    limit: int


class GraphView(GraphQueries):
    """The graph of a space at the moment of one view: what can be asked of it, and pictures.

    Wherever a node is expected, give a memory, an entity, the id of one, or a name.
    """

    def show(
        self,
        start: NodeRef | None = None,
        relations: EdgeNames | None = None,
        depth: int = 3,
        at: Moment | None = None,
        limit: int = 500,
    ) -> NotebookPicture:
        """An interactive picture for a notebook, with a slider for time.

        Args:
            start: The node in the middle. None draws the whole space.
            relations: Only these predicates, kinds of links, "mentions" or "next_turn".
            depth: How many steps from the start to go, at most 8.
            at: Only what holds at this moment. None draws all that ever held.

        Returns:
            The picture. The last line of a notebook cell shows it; `.save("graph.html")` writes it to a file.

        Raises:
            NotFound: The start is unknown.
        """
        return NotebookPicture(self._subgraph(start, relations=relations, depth=depth, at=at, limit=limit))

    def save(self, path: str | FilePath, start: NodeRef | None = None, **part: Unpack[PartOptions]) -> FilePath:
        """Write a picture of the graph to a file.

        Args:
            path: The file. Its ending is the format: .html (an interactive page that needs no network), .svg or
                .graphml. A symbolic link is not followed.
            **part: `relations`, `depth`, `at` and `limit`, as for `show`.

        Raises:
            NotFound: The start is unknown.
            InvalidInput: The ending is none of these, or the file cannot be written.
        """
        return self.show(start, **part).save(path)

    def to_igraph(self, start: NodeRef | None = None, **part: Unpack[PartOptions]) -> igraph.Graph:
        """The graph as an `igraph.Graph`, with labels and times as attributes.

        Args:
            **part: `relations`, `depth`, `at` and `limit`, as for `show`.

        Raises:
            NotFound: The start is unknown.

        Example:
            >>> import remanence
            >>> with remanence.open(None) as space:
            ...     _ = space.graph.relate("Alice", "lives_in", "Porto")
            ...     space.graph.to_igraph().vs["label"]
            ['Alice', 'Porto']
        """
        return pictures.to_igraph(self._subgraph(start, **part))

    def to_networkx(self, start: NodeRef | None = None, **part: Unpack[PartOptions]) -> networkx.MultiDiGraph:
        """The graph as a `networkx.MultiDiGraph`, with labels and times as attributes.

        Args:
            **part: `relations`, `depth`, `at` and `limit`, as for `show`.

        Raises:
            NotFound: The start is unknown.
            MissingExtra: networkx is not installed.
        """
        return pictures.to_networkx(self._subgraph(start, **part))

    def show_timeline(self, node: NodeRef | None = None) -> HtmlTable:
        """A table for a notebook: when relations held, as bars. `timeline` lists when they were learned.

        Args:
            node: The entity whose relations to show. None shows the relations of the whole space, the sixty learned
                last.

        Raises:
            NotFound: The node is unknown.
        """
        if node is not None:
            relations = self._relations_of(node)
            return pictures.timeline_table(relations, len(relations))
        return pictures.timeline_table(*self._last_relations(60))

    ashow = in_thread(show)
    asave = in_thread(save)
    ato_igraph = in_thread(to_igraph)
    ato_networkx = in_thread(to_networkx)
    ashow_timeline = in_thread(show_timeline)

    def _subgraph(
        self,
        start: NodeRef | None,
        relations: EdgeNames | None = None,
        depth: int = 3,
        at: Moment | None = None,
        limit: int = 500,
    ) -> Subgraph:
        steps = inputs.check_positive_int(depth, "depth", MAX_DEPTH)
        names, most = edge_names(relations), inputs.check_limit(limit)
        with self._graph_at(at, any_time=at is None) as graph:
            starts = graph.all_nodes() if start is None else [graph.find(start)]
            steps = 1 if start is None else steps
            return traversal.walk(graph, starts, edge_names=names, depth=steps, direction="both", limit=most)

    def _relations_of(self, node: NodeRef) -> list[Relation]:
        with self._graph_at(None) as graph:
            graph_node = graph.find(node)
            if graph_node.kind == "memory":
                return []
            return graph.index.relations.relations_of(graph_node.number, graph.snapshot)

    def _all_relations(self) -> list[Relation]:
        """The relations of all entities, the last learned at the end."""
        with self._snapshot() as (index, snapshot):
            numbers = KnownEntities(index, snapshot.position).list_name_numbers(None)
            relations = {
                relation.id: relation for n in numbers for relation in index.relations.relations_of(n, snapshot)
            }
        return sorted(relations.values(), key=lambda relation: (relation.recorded_at, relation.id))

    def _last_relations(self, limit: int) -> tuple[list[Relation], int]:
        """The relations that were learned last, the newest at the end, and how many there are in all."""
        with self._snapshot() as (index, snapshot):
            claims, batch = index.relations, 2 * limit
            while True:
                subjects, since = claims.newest_subjects(batch)
                found = {
                    relation.id: relation
                    for subject in subjects
                    for relation in claims.relations_of(subject, snapshot, direction="out")
                    if micros(relation.recorded_at) >= since
                }
                if len(found) >= limit or batch >= len(claims):
                    break
                batch *= 4
            ordered = sorted(found.values(), key=lambda relation: (relation.recorded_at, relation.id))
            return ordered[-limit:], len(found) if batch >= len(claims) else claims.count(snapshot)
