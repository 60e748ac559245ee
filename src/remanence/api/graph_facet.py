"""What people hold as `space.graph`: entities and memories, and how they are tied in time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path as FilePath
from typing import Any, Literal, TypeAlias

from remanence.admin.overview import MAX_PAGE_SIZE, STATUSES, GraphPage, Status
from remanence.api.facet import Facet
from remanence.api.in_thread import in_thread
from remanence.core import inputs
from remanence.core.index import Index
from remanence.core.inputs import Moment
from remanence.errors import InvalidInput
from remanence.graph import assertions, interval_joins, invalidation, traversal
from remanence.graph.assertions import EntityRef, MemoryRef
from remanence.graph.graph_at_time import GraphAtTime, GraphNode, NodeRef, retry_if_erased
from remanence.graph.history import HistoryReader
from remanence.graph.history_events import HistoryEvent
from remanence.graph.interval_joins import OverlapPeriod
from remanence.graph.traversal import MAX_DEPTH, Path, Subgraph
from remanence.language.temporal import parse_moment
from remanence.schema import UTC, Link, Memory, Relation, Snapshot
from remanence.state.predicates import parse_predicate
from remanence.state.relations import Direction

Side: TypeAlias = Sequence[EntityRef]
"""(subject, predicate), or (subject, predicate, object)."""
_EARLIEST = datetime.min.replace(tzinfo=UTC)
_NOT_IN_A_TIMELINE = ("extracted", "served")


class GraphView(Facet):
    """The graph of a space as one view knows it.

    Wherever a node is asked for, a memory, an entity, the id of one, or a name will do.
    """

    @retry_if_erased
    def query(
        self,
        start: NodeRef,
        relations: str | Iterable[str] | None = None,
        depth: int = 3,
        direction: Direction = "both",
        at: Moment | None = None,
        limit: int = 100,
    ) -> Subgraph:
        """Everything within so many steps of a node, nearest first: what holds `at` a moment, else now (in a
        view of the past, at the moment of that view).

        `relations` keeps to some predicates, links, or "mentions"; `direction` to edges that go "out" of
        each node or come "in". At most `limit` nodes are given, and of a node that is tied all over only
        the newest ties are followed: `truncated` says when something was left out. A name is read as it
        was at that moment.

        >>> import remanence
        >>> with remanence.open(None) as space:
        ...     _ = space.graph.relate("Alice", "works_at", "Acme", valid_from="2025-01-01")
        ...     _ = space.graph.relate("Acme", "based_in", "Porto", valid_until="2026-01-01")
        ...     [str(node) for node in space.graph.query("Alice", at="2025-06-01").nodes]
        ['Alice', 'Acme', 'Porto']
        """
        names, steps, most = _names(relations), inputs.positive_int(depth, "depth", MAX_DEPTH), inputs.limit(limit)
        if direction not in ("out", "in", "both"):
            raise InvalidInput(f"direction={direction!r} is neither 'out', 'in' nor 'both'.")
        with self._standing(at) as ground:
            places = [ground.find(start)]
            return traversal.walk(ground, places, edge_names=names, depth=steps, direction=direction, limit=most)

    aquery = in_thread(query)

    @retry_if_erased
    def path(self, a: NodeRef, b: NodeRef, depth: int = 6, at: Moment | None = None) -> Path | None:
        """How two nodes are connected, in the fewest steps; None if no way of that length is found.

        Two entities that one memory names are two steps apart: to the memory, and on from there.

        >>> import remanence
        >>> with remanence.open(None) as space:
        ...     _ = space.add("Alice works at Acme.")
        ...     _ = space.add("Bob works at Acme.")
        ...     print(space.graph.path("Alice", "Bob"))
        Alice —works_at→ Acme ←works_at— Bob
        """
        most = inputs.positive_int(depth, "depth", MAX_DEPTH)
        with self._standing(at) as ground:
            return traversal.shortest_path(ground, ground.find(a), ground.find(b), most)

    apath = in_thread(path)

    def when(self, subject: EntityRef, predicate: str, object: EntityRef | None = None) -> list[Relation]:
        """When something held, in the order of time, each with its evidence.

        >>> import remanence
        >>> with remanence.open(None) as space:
        ...     _ = space.add("Alice lives in Porto.", valid_from="2024-01-01")
        ...     _ = space.add("Alice lives in Lisbon.", valid_from="2026-05-03")
        ...     [f"{r.object}, {r.valid}" for r in space.graph.when("Alice", "lives_in")]
        ['Porto, 2024-01-01 to 2026-05-03', 'Lisbon, since 2026-05-03']
        """
        name = parse_predicate(predicate)
        with self._standing(None) as ground:
            place = _entity(ground, subject, "subject")
            found = ground.index.relations.timeline(place.number, name, ground.snapshot)
            if object is None:
                return found
            other = set(ground.name_numbers(_entity(ground, object, "object")))
            number = ground.index.names.number
            return [r for r in found if number(r.object) in other or number(r.subject) in other]

    awhen = in_thread(when)

    def join(self, left: Side, how: str, right: Side) -> list[OverlapPeriod]:
        """The pairs of what held, of one thing and of another, that stand to each other in time as `how`
        says, each with the time that both share.

        "while" (or "overlapping"): they share a moment. "during": the left lies within the right.
        "before": the left is over when the right begins. "after": the left begins when the right is over.

        >>> import remanence
        >>> with remanence.open(None) as space:
        ...     _ = space.add("Alice lives in Porto.", valid_from="2019", valid_until="2022")
        ...     _ = space.add("Alice lives in Lisbon.", valid_from="2022")
        ...     _ = space.add("Alice works at Google.", valid_from="2020", valid_until="2021")
        ...     together = space.graph.join(("Alice", "lives_in"), "while", ("Alice", "works_at", "Google"))
        ...     [(home.object, str(shared)) for home, _, shared in together]
        [('Porto', '2020-01-01 to 2021-01-01')]
        """
        return interval_joins.join(self.when(*_side(left, "left")), how, self.when(*_side(right, "right")))

    ajoin = in_thread(join)

    def timeline(
        self,
        node: NodeRef,
        since: Moment | None = None,
        until: Moment | None = None,
        relations: str | Iterable[str] | None = None,
    ) -> list[HistoryEvent]:
        """What was learned of a node, in order: edges added and invalidated, memories added, revised,
        superseded, forgotten and restored, names given, merged, split and undone.

        `since` and `until` are moments of learning. `relations` keeps to edges of these names; "mentions"
        stands for what happened to memories.

        >>> import remanence
        >>> with remanence.open(None) as space:
        ...     _ = space.graph.relate("Alice", "lives_in", "Porto")
        ...     _ = space.graph.invalidate("Alice", "lives_in", "Porto", why="she moved")
        ...     [happening.kind for happening in space.graph.timeline("Alice")]
        ['edge added', 'edge invalidated']
        """
        wanted = _names(relations)
        told = [h for h in self._history(node, since, until) if h.kind not in _NOT_IN_A_TIMELINE]
        if wanted is None:
            return told
        with self._looking() as (index, sight):
            inverses = {index.relations.inverse(name, sight.position) for name in wanted}
        return [h for h in told if h.edge_name is not None and h.edge_name in wanted | inverses]

    atimeline = in_thread(timeline)

    @retry_if_erased
    def _history(self, node: NodeRef, since: Moment | None = None, until: Moment | None = None) -> list[HistoryEvent]:
        """All that was ever learned of a node, with who read it and who was given it: `space.history`."""
        now = self._now()
        start = None if since is None else parse_moment(since, now, argument="since")
        end = None if until is None else parse_moment(until, now, argument="until")
        if start is not None and end is not None and end <= start:
            raise InvalidInput(f"until={until!r} does not come after since={since!r}. Swap them.")
        after, upto = self._before(start) or 0, self._before(end)
        with self._looking() as (index, sight):
            chronicle = HistoryReader(index, self._engine.ledger, sight, after, upto)
            ground = GraphAtTime(index, chronicle.full_snapshot)
            place = ground.find(node)
            if place.kind == "memory":
                return chronicle.memory_history(index.catalog.memory_of(place.number))
            return chronicle.entity_history(ground, place)

    def read_graph(
        self, status: Status | Literal["all"] = "current", *, page: int = 1, page_size: int = 100
    ) -> GraphPage:
        """The memories of a status, with their relations and links, a page at a time.

        They come in the order in which they were learned. Ask `space.as_of(...)` for pages that do not
        move while others write.

        Args:
            status: "current", "superseded", "expired", "archived", "forgotten", "erased" or "all".
            page: The number of the page, from 1.
            page_size: How many memories a page holds.

        Example:
            >>> import remanence
            >>> with remanence.open(None) as space:
            ...     old, new = space.add("The bridge is open."), space.add("The bridge was closed on Monday.")
            ...     _ = space.graph.link(new, "supersedes", old)
            ...     [(m.memory.text, m.links_in[0].kind) for m in space.graph.read_graph("superseded")]
            [('The bridge is open.', 'supersedes')]
        """
        if status not in (*STATUSES, "all"):
            raise InvalidInput(f"status={status!r} is none of {', '.join(STATUSES)} and all.")
        number, count = inputs.positive_int(page, "page"), inputs.positive_int(page_size, "page_size", MAX_PAGE_SIZE)
        return self._overview(lambda overview: overview.page(status, number, count))

    aread_graph = in_thread(read_graph)

    # Pictures

    def _picture(
        self,
        start: NodeRef | None = None,
        relations: str | Iterable[str] | None = None,
        depth: int = 3,
        at: Moment | None = None,
        limit: int = 500,
    ) -> Subgraph:
        """What a picture shows: all that holds `at` a moment, or without one ever held; around a node, or
        without one in the whole space. `query` asks the same of one moment."""
        names, steps, most = _names(relations), inputs.positive_int(depth, "depth", MAX_DEPTH), inputs.limit(limit)
        moment = None if at is None else parse_moment(at, self._now(), argument="at")
        with self._looking() as (index, sight):
            ground = GraphAtTime(index, sight, moment, any_time=moment is None)
            places = ground.all_nodes() if start is None else [ground.find(start)]
            steps = 1 if start is None else steps
            return traversal.walk(ground, places, edge_names=names, depth=steps, direction="both", limit=most)

    def to_igraph(self, start: NodeRef | None = None, **options: Any) -> Any:
        """The graph as an `igraph.Graph`, around one node or of everything; options as for `query`.

        >>> import remanence
        >>> with remanence.open(None) as space:
        ...     _ = space.graph.relate("Alice", "lives_in", "Porto")
        ...     space.graph.to_igraph().vs["label"]
        ['Alice', 'Porto']
        """
        return pictures().to_igraph(self._picture(start, **options))

    def to_networkx(self, start: NodeRef | None = None, **options: Any) -> Any:
        """The graph as a `networkx.MultiDiGraph`; the other options are those of `query`."""
        return pictures().to_networkx(self._picture(start, **options))

    def show(self, start: NodeRef | None = None, **options: Any) -> Any:
        """An interactive picture in a notebook, with a slider for time; options as for `query`."""
        return pictures().show(self._picture(start, **options))

    def save(self, path: str | FilePath, start: NodeRef | None = None, **options: Any) -> FilePath:
        """Write a picture: an offline page (.html), .svg, or .graphml; options as for `query`."""
        written: FilePath = pictures().save(self._picture(start, **options), path)
        return written

    def show_timeline(self, node: NodeRef) -> Any:
        """When what holds of an entity held, and what happened to it, as a picture in a notebook."""
        return pictures().show_timeline(self._lines(node), self.timeline(node), now=self._now())

    def save_timeline(self, node: NodeRef, path: str | FilePath) -> FilePath:
        """The same as a file: .html or .svg."""
        written: FilePath = pictures().save_timeline(self._lines(node), path, self.timeline(node), now=self._now())
        return written

    def _lines(self, node: NodeRef) -> list[Relation]:
        with self._standing(None) as ground:
            place = _entity(ground, node, "node") if not isinstance(node, Memory) else ground.find(node)
            if place.kind == "memory":
                return []
            return ground.index.relations.relations_of(place.number, ground.snapshot)

    @contextmanager
    def _looking(self) -> Iterator[tuple[Index, Snapshot]]:
        with self._engine.open_index(self._space) as index, index.lock:
            yield index, index.snapshot(self._position(index), self._now())

    @contextmanager
    def _standing(self, at: Moment | None) -> Iterator[GraphAtTime]:
        moment = None if at is None else parse_moment(at, self._now(), argument="at")
        with self._looking() as (index, sight):
            yield GraphAtTime(index, sight, moment)

    def _before(self, moment: datetime | None) -> int | None:
        """The last line that was written before a moment."""
        if moment is None or moment == _EARLIEST:
            return None if moment is None else 0
        return self._engine.ledger.position_at(self._space, moment - timedelta(microseconds=1))


class Graph(GraphView):
    """The graph of a space as it is now: query it, state relations and links, and end them."""

    def relate(
        self,
        subject: EntityRef,
        predicate: str,
        object: EntityRef,
        *,
        valid_from: Moment | None = None,
        valid_until: Moment | None = None,
        confidence: float = 1.0,
        observed_by: str | None = None,
        evidence: MemoryRef | Iterable[MemoryRef] = (),
    ) -> Relation:
        """Say that two entities are related; what comes back is the relation as it now holds.

        Where a predicate has one value at a time, a later value ends the earlier one when it begins.
        `evidence` are memories: the relation is there while one of them is. The same again says nothing new.

        >>> import remanence
        >>> with remanence.open(None) as space:
        ...     _ = space.graph.relate("Alice", "lives_in", "Porto", valid_from="2024-01-01")
        ...     _ = space.graph.relate("Alice", "lives_in", "Lisbon", valid_from="2026-05-03")
        ...     [str(relation) for relation in space.graph.when("Alice", "lives_in")][0]
        'Alice —lives_in→ Porto (2024-01-01 to 2026-05-03)'
        """
        return assertions.relate(
            self._engine,
            self._space,
            subject,
            predicate,
            object,
            valid_from=valid_from,
            valid_until=valid_until,
            confidence=confidence,
            observed_by=observed_by,
            evidence=evidence,
        )

    arelate = in_thread(relate)

    def link(
        self,
        a: MemoryRef,
        kind: str,
        b: MemoryRef,
        *,
        valid_from: Moment | None = None,
        valid_until: Moment | None = None,
        confidence: float = 1.0,
        observed_by: str | None = None,
        why: str | None = None,
    ) -> Link:
        """Say that memory `a` stands to memory `b` as `kind` says: "related_to", "supersedes",
        "contradicts", "derived_from", "extends", "supports" or "causes".

        >>> import remanence
        >>> with remanence.open(None) as space:
        ...     old, new = space.add("The bridge is open."), space.add("The bridge was closed on Monday.")
        ...     _ = space.graph.link(new, "supersedes", old)
        ...     [hit.memory.id for hit in space.recall("bridge")] == [new.id]
        True
        """
        return assertions.link(
            self._engine,
            self._space,
            a,
            kind,
            b,
            valid_from=valid_from,
            valid_until=valid_until,
            confidence=confidence,
            observed_by=observed_by,
            why=why,
        )

    alink = in_thread(link)

    def declare(self, predicate: str, *, single_valued: bool | None = None, inverse: str | None = None) -> None:
        """Say how a predicate behaves from now on: one value at a time or many, and its name from the other
        end. What is left out stays as it is.

        >>> import remanence
        >>> with remanence.open(None) as space:
        ...     space.graph.declare("parent_of", inverse="child_of")
        ...     _ = space.graph.relate("Ann", "parent_of", "Bob")
        ...     [relation.object for relation in space.graph.when("Bob", "child_of")]
        ['Ann']
        """
        assertions.declare(self._engine, self._space, predicate, single_valued=single_valued, inverse=inverse)

    adeclare = in_thread(declare)

    def invalidate(
        self,
        edge: Relation | Link | EntityRef,
        predicate: str | None = None,
        object: EntityRef | None = None,
        *,
        until: Moment | None = None,
        why: str | None = None,
        observed_by: str | None = None,
    ) -> list[Relation | Link]:
        """Say that a relation or a link holds no longer than `until` (now). Its line stays.

        Give a relation, a link, the id of one (an `Edge` has it too); or a subject, a predicate and perhaps
        an object, for what holds of these. Given back is what it was about, as it holds from now on.

        >>> import remanence
        >>> with remanence.open(None) as space:
        ...     _ = space.graph.relate("Alice", "lives_in", "Porto", valid_from="2025-01-01")
        ...     [ended] = space.graph.invalidate("Alice", "lives_in", until="2026-03-01", why="she moved")
        ...     str(ended.valid)
        '2025-01-01 to 2026-03-01'
        """
        return invalidation.invalidate(self._engine, self._space, edge, predicate, object, until, why, observed_by)

    ainvalidate = in_thread(invalidate)


def pictures() -> Any:
    """The part that draws, loaded by the first who wants a picture."""
    from remanence.graph import pictures

    return pictures


def _names(given: object) -> set[str] | None:
    """The predicates, kinds of links and "mentions" that are asked for."""
    if given is None:
        return None
    several = [given] if isinstance(given, str) else given
    if not isinstance(several, Iterable):
        raise InvalidInput(f"relations={given!r} is not a list of names. Give for example ['lives_in'].")
    names = {parse_predicate(name, "relations") for name in several}
    if not names:
        raise InvalidInput("relations is empty, so that nothing could be walked. Leave it out for all.")
    return names


def _entity(ground: GraphAtTime, given: EntityRef, what: str) -> GraphNode:
    place = ground.find(given)
    if place.kind == "memory":
        raise InvalidInput(f"{what}={given!r} is a memory. Give an entity, its id or its name.")
    return place


def _side(given: object, what: str) -> Sequence[Any]:
    if isinstance(given, str) or not isinstance(given, Sequence) or len(given) not in (2, 3):
        raise InvalidInput(f"{what}={given!r} is not (subject, predicate) or (subject, predicate, object).")
    return given
