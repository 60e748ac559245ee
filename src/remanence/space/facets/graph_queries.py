"""What can be asked of `space.graph`: walks, paths, timelines and pages, at one moment."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any, TypeAlias

from remanence.errors import InvalidInput
from remanence.graph import traversal
from remanence.graph.activity import Activity, activity
from remanence.graph.entity_map import EntityMap, build_entity_map, with_layout
from remanence.graph.graph_at_time import EntityRef, GraphAtTime, GraphNode, MemoryRef, NodeRef
from remanence.graph.history import HistoryReader, Timeline
from remanence.graph.traversal import MAX_DEPTH, OverlapPeriod, Path, Subgraph
from remanence.index.claims.predicates import parse_predicate
from remanence.index.claims.relations import Direction
from remanence.index.engine import inputs
from remanence.index.engine.in_thread import in_thread
from remanence.index.engine.inputs import Moment
from remanence.index.memory_cache import retry_if_erased
from remanence.index.numbers import Row
from remanence.recall.show import RelationList
from remanence.recall.validity.superseded import pairs_that_disagree
from remanence.schema import DISAGREEMENT_KINDS, UTC, Disagreement, Memory
from remanence.space.facets.facet import Facet
from remanence.space.recall_request import with_usage
from remanence.text.temporal import parse_moment
from remanence.transfer.overview import MAX_PAGE_SIZE, PAGE_STATUSES, MemoryPage, PageStatus

EdgeNames: TypeAlias = str | Iterable[str]
"""One or several predicates, kinds of links, "mentions" or "next_turn"."""
_EARLIEST = datetime.min.replace(tzinfo=UTC)


class GraphQueries(Facet):
    """What can be asked of the graph of a space at the moment of one view.

    Wherever a node is expected, give a memory, an entity, the id of one, or a name.
    """

    @retry_if_erased
    def query(
        self,
        start: NodeRef,
        relations: EdgeNames | None = None,
        depth: int = 3,
        direction: Direction = "both",
        at: Moment | None = None,
        limit: int = 100,
    ) -> Subgraph:
        """Everything within some steps of a node, nearest first.

        Args:
            start: The node to start from. A name is read as it was at the moment `at`.
            relations: Only follow these predicates, kinds of links, "mentions" or "next_turn".
            depth: How many steps to go, at most 8.
            direction: Only follow edges that go "out" of each node or come "in"; or "both".
            at: The moment at which the edges hold. None is the moment of the view.
            limit: The most nodes to return. Of a node with many edges, only the newest are followed.

        Returns:
            The nodes and edges; `truncated` says whether something was left out.

        Raises:
            NotFound: The start is unknown.
        """
        steps = inputs.check_positive_int(depth, "depth", MAX_DEPTH)
        names, most = edge_names(relations), inputs.check_limit(limit)
        if direction not in ("out", "in", "both"):
            raise InvalidInput(f"direction={direction!r} is neither 'out', 'in' nor 'both'.")
        with self._graph_at(at) as graph:
            starts = [graph.find(start)]
            return traversal.walk(graph, starts, edge_names=names, depth=steps, direction=direction, limit=most)

    @retry_if_erased
    def path(self, start: NodeRef, end: NodeRef, depth: int = 6, at: Moment | None = None) -> Path | None:
        """How two nodes are connected, in the fewest steps.

        Two entities that one memory mentions are two steps apart: to the memory, and from there to the other.

        Args:
            depth: The most steps, at most 8.
            at: The moment at which the edges hold. None is the moment of the view.

        Returns:
            The path; None if none of at most `depth` steps is found.

        Raises:
            NotFound: One of the two is unknown.
        """
        most = inputs.check_positive_int(depth, "depth", MAX_DEPTH)
        with self._graph_at(at) as graph:
            return traversal.shortest_path(graph, graph.find(start), graph.find(end), most)

    def when(self, subject: EntityRef, predicate: str, object: EntityRef | None = None) -> RelationList:
        """When a relation held, in the order of time, each with its evidence.

        Args:
            predicate: The predicate, such as "lives_in".
            object: Only relations to this entity.

        Returns:
            The relations, each with its window; `to_df()` is a data frame.

        Raises:
            NotFound: An entity is unknown.
            InvalidInput: The predicate is not valid, or a memory is given as an entity.
        """
        name = parse_predicate(predicate)
        with self._graph_at(None) as graph:
            node = _entity_node(graph, subject, "subject")
            relations = graph.index.relations.timeline(node.number, name, graph.snapshot)
            if object is None:
                return RelationList(relations)
            other = set(graph.name_numbers(_entity_node(graph, object, "object")))
            number = graph.index.names.number
            return RelationList(r for r in relations if number(r.object) in other or number(r.subject) in other)

    @retry_if_erased
    def disagreements(
        self, kinds: str | Iterable[str] = "conflict", *, memory: MemoryRef | None = None
    ) -> list[tuple[Memory, Disagreement]]:
        """Memories that disagree with each other: by a link "contradicts", or because both claims cannot hold.

        Args:
            kinds: "conflict" (neither wins), "succession" (one began later), "correction", "coexistence" (each holds in
                its own time), or several of these.
            memory: Only what disagrees with this memory.

        Returns:
            Each pair once: a memory, and a `Disagreement` with the other one, its kind and its topic.

        Raises:
            NotFound: The memory is unknown, forgotten or erased.

        Example:
            >>> import remanence
            >>> with remanence.open(None) as space:
            ...     open_, closed = space.add("The bridge is open."), space.add("The bridge is closed.")
            ...     _ = space.graph.link(closed, "contradicts", open_)
            ...     [(memory.text, found.memory.text) for memory, found in space.graph.disagreements()]
            [('The bridge is open.', 'The bridge is closed.')]
        """
        kind_names = inputs.check_names(kinds, "kinds") or ()
        for kind in kind_names:
            if kind not in DISAGREEMENT_KINDS:
                raise InvalidInput(f"kinds={kinds!r} has {kind!r}. The kinds are {', '.join(DISAGREEMENT_KINDS)}.")
        memory_id = None if memory is None else inputs.check_memory_id(memory)
        with self._snapshot() as (index, snapshot):
            wanted = [kind for kind in DISAGREEMENT_KINDS if kind in kind_names]
            rows = None if memory_id is None else [index.require_visible(memory_id, snapshot.position)]
            return pairs_that_disagree(index, snapshot, wanted, rows)

    def entity_map(self, *, limit: int = 5_000, layout: bool = False) -> EntityMap:
        """All entities at once: how often each is mentioned, and which are mentioned together or related.

        Args:
            limit: How many entities to return at most, the most important.
            layout: Whether to find communities, and where to draw each entity.

        Example:
            >>> import remanence
            >>> with remanence.open(None) as space:
            ...     _ = space.add_many(["Alice met Bob.", "Alice lives in Porto."])
            ...     found = space.graph.entity_map()
            ...     [(node.name, node.mentions) for node in found.nodes], len(found.edges)
            ([('Alice', 2), ('Bob', 1), ('Porto', 1)], 2)
        """
        most = inputs.check_limit(limit)
        with self._graph_at(None, any_time=True) as graph:
            found = build_entity_map(graph, most)
        return with_layout(found) if layout else found

    def activity(self, *, growing: int = 8) -> Activity:
        """How the space grows: memories by week and kind, and the entities that are mentioned more and more.

        Returns:
            The weeks, and the entities that the last four weeks mention more often than the four before.

        Example:
            >>> import remanence
            >>> with remanence.open(None) as space:
            ...     added = space.add_many(["Bob met Ana.", "Bob met Carl.", "Bob met Dora."])
            ...     found = space.graph.activity()
            ...     [dict(week.kinds) for week in found.weeks], [each.name for each in found.growing]
            ([{'semantic': 3}], ['Bob'])
        """
        most = inputs.check_positive_int(growing, "growing")
        with self._graph_at(None, any_time=True) as graph:
            return activity(graph, most)

    def temporal_join(
        self, left: Sequence[EntityRef], condition: str, right: Sequence[EntityRef]
    ) -> list[OverlapPeriod]:
        """Pairs of relations, one of the left and one of the right, that meet a condition on their windows.

        Args:
            left: (subject, predicate) or (subject, predicate, object).
            condition: "while" or "overlapping" (they share a moment), "during" (the left lies within the right),
                "before" (the left ends before the right begins) or "after" (the left begins after the right ends).
            right: Like `left`.

        Returns:
            The pairs, each with the time that both share, if any.

        Raises:
            NotFound: An entity is unknown.
        """
        return traversal.join(self.when(*_side(left, "left")), condition, self.when(*_side(right, "right")))

    def timeline(
        self,
        node: NodeRef,
        since: Moment | None = None,
        until: Moment | None = None,
        relations: EdgeNames | None = None,
    ) -> Timeline:
        """All that ever happened to a memory or an entity, with who did it and why.

        Edges added, corroborated and invalidated; memories added, revised, superseded, promoted, forgotten and
        restored; entities registered, renamed, merged and split; extractions, and recorded recalls with the memory.

        Args:
            node: The memory or entity.
            since: Only what was learned at this moment or later.
            until: Only what was learned before this moment.
            relations: Only edges of these names; "mentions" are the events of memories, and "supersedes" is also what
                superseded a memory without a link.

        Raises:
            NotFound: The node is unknown.
            InvalidInput: `until` does not come after `since`, or an argument is not valid.
        """
        names = edge_names(relations)
        events = self._events(node, since, until)
        if names is None:
            return events
        with self._snapshot() as (index, snapshot):
            names_and_inverses = names | {index.relations.inverse(name, snapshot.position) for name in names}
        return Timeline(
            event for event in events if event.edge_name is not None and event.edge_name in names_and_inverses
        )

    @retry_if_erased
    def _events(self, node: NodeRef, since: Moment | None, until: Moment | None) -> Timeline:
        """The events about a node, of edges of any name."""
        now = self._now()
        start = None if since is None else parse_moment(since, now, argument="since")
        end = None if until is None else parse_moment(until, now, argument="until")
        if start is not None and end is not None and end <= start:
            raise InvalidInput(f"until={until!r} does not come after since={since!r}. Swap them.")
        after, upto = self._position_before(start) or 0, self._position_before(end)
        with self._snapshot() as (index, snapshot):
            reader = HistoryReader(index, snapshot, after, upto)
            graph = GraphAtTime(index, reader.full_snapshot)
            graph_node = graph.find(node)
            if graph_node.kind == "memory":
                return reader.memory_history(index.catalog.memory_of(Row(graph_node.number)))
            return reader.entity_history(graph, graph_node)

    def memories(self, status: PageStatus = "current", *, page: int = 1, page_size: int = 100) -> MemoryPage:
        """The memories of a status, with their relations, links and use, a page at a time.

        They come in the order in which they were learned. Use `space.as_of(...)` for pages that do not change while
        others write.

        Args:
            status: "current", "superseded", "expired", "archived", "forgotten", "erased" or "all"; or "promoted" and
                "unpromoted": the current ones that `upkeep.promote` promoted, and the others.
            page: The number of the page, from 1.
            page_size: How many memories a page has, at most 1,000.
        """
        if status not in PAGE_STATUSES:
            raise InvalidInput(f"status={status!r} is none of {', '.join(PAGE_STATUSES)}.")
        number = inputs.check_positive_int(page, "page")
        count = inputs.check_positive_int(page_size, "page_size", MAX_PAGE_SIZE)
        found = self._read_overview(lambda overview: overview.page(status, number, count))
        return with_usage(self._engine, self._space, found, self._position, self._now())

    aquery = in_thread(query)
    apath = in_thread(path)
    awhen = in_thread(when)
    adisagreements = in_thread(disagreements)
    aentity_map = in_thread(entity_map)
    aactivity = in_thread(activity)
    atemporal_join = in_thread(temporal_join)
    atimeline = in_thread(timeline)
    amemories = in_thread(memories)

    # Helpers

    @contextmanager
    def _graph_at(self, at: Moment | None, any_time: bool = False) -> Iterator[GraphAtTime]:
        moment = None if at is None else parse_moment(at, self._now(), argument="at")
        with self._snapshot() as (index, snapshot):
            yield GraphAtTime(index, snapshot, moment, any_time=any_time)

    def _position_before(self, moment: datetime | None) -> int | None:
        """The position of the last entry that was written before a moment."""
        if moment is None or moment == _EARLIEST:
            return None if moment is None else 0
        return self._engine.ledger.position_at(self._space, moment - timedelta(microseconds=1))


def edge_names(relations: object) -> set[str] | None:
    if relations is None:
        return None
    several = [relations] if isinstance(relations, str) else relations
    if not isinstance(several, Iterable):
        raise InvalidInput(f"relations={relations!r} is not a list of names. Give for example ['lives_in'].")
    names = {parse_predicate(name, "relations") for name in several}
    if not names:
        raise InvalidInput("relations is empty, so no edge could be followed. Leave it out to follow all edges.")
    return names


def _entity_node(graph: GraphAtTime, entity: EntityRef, what: str) -> GraphNode:
    node = graph.find(entity)
    if node.kind == "memory":
        raise InvalidInput(f"{what}={entity!r} is a memory. Give an entity, its id or its name.")
    return node


def _side(side: object, what: str) -> Sequence[Any]:
    if isinstance(side, str) or not isinstance(side, Sequence) or len(side) not in (2, 3):
        raise InvalidInput(f"{what}={side!r} is not (subject, predicate) or (subject, predicate, object).")
    return side
