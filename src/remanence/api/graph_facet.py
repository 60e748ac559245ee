"""What people hold as `space.graph`: entities and memories, and how they are tied in time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path as FilePath
from typing import Any, Literal, TypeAlias

from remanence.admin.overview import MOST_PAGE, STATUSES, GraphPage, Status
from remanence.api.facet import Facet
from remanence.api.in_thread import in_thread
from remanence.core import inputs
from remanence.core.index import Index
from remanence.core.inputs import Moment
from remanence.errors import InvalidInput
from remanence.graph import assertions, interval_joins, invalidation, traversal
from remanence.graph.assertions import Kept, Named
from remanence.graph.graph_at_time import Ground, Place, Start, undisturbed
from remanence.graph.history import Chronicle
from remanence.graph.history_events import Happening
from remanence.graph.interval_joins import Joined
from remanence.graph.traversal import MOST_DEPTH, Path, Walked
from remanence.language.temporal import read_moment
from remanence.schema import UTC, Link, Memory, Relation, Sight
from remanence.state.predicates import read_predicate
from remanence.state.relations import Direction

Side: TypeAlias = Sequence[Named]
"""(subject, predicate), or (subject, predicate, object)."""
_EARLIEST = datetime.min.replace(tzinfo=UTC)
_NOT_IN_A_TIMELINE = ("extracted", "served")


class GraphView(Facet):
    """The graph of a space as one view knows it.

    Wherever a node is asked for, a memory, an entity, the id of one, or a name will do.
    """

    @undisturbed
    def query(
        self,
        start: Start,
        relations: str | Iterable[str] | None = None,
        depth: int = 3,
        direction: Direction = "both",
        at: Moment | None = None,
        limit: int = 100,
    ) -> Walked:
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
        names, steps, most = _names(relations), inputs.whole(depth, "depth", MOST_DEPTH), inputs.limit(limit)
        if direction not in ("out", "in", "both"):
            raise InvalidInput(f"direction={direction!r} is neither 'out', 'in' nor 'both'.")
        with self._standing(at) as ground:
            places = [ground.find(start)]
            return traversal.walk(ground, places, names=names, depth=steps, direction=direction, limit=most)

    aquery = in_thread(query)

    @undisturbed
    def path(self, a: Start, b: Start, depth: int = 6, at: Moment | None = None) -> Path | None:
        """How two nodes are connected, in the fewest steps; None if no way of that length is found.

        Two entities that one memory names are two steps apart: to the memory, and on from there.

        >>> import remanence
        >>> with remanence.open(None) as space:
        ...     _ = space.add("Alice works at Acme.")
        ...     _ = space.add("Bob works at Acme.")
        ...     print(space.graph.path("Alice", "Bob"))
        Alice —works_at→ Acme ←works_at— Bob
        """
        most = inputs.whole(depth, "depth", MOST_DEPTH)
        with self._standing(at) as ground:
            return traversal.connect(ground, ground.find(a), ground.find(b), most)

    apath = in_thread(path)

    def when(self, subject: Named, predicate: str, object: Named | None = None) -> list[Relation]:
        """When something held, in the order of time, each with its evidence.

        >>> import remanence
        >>> with remanence.open(None) as space:
        ...     _ = space.add("Alice lives in Porto.", valid_from="2024-01-01")
        ...     _ = space.add("Alice lives in Lisbon.", valid_from="2026-05-03")
        ...     [f"{r.object}, {r.valid}" for r in space.graph.when("Alice", "lives_in")]
        ['Porto, 2024-01-01 to 2026-05-03', 'Lisbon, since 2026-05-03']
        """
        name = read_predicate(predicate)
        with self._standing(None) as ground:
            place = _entity(ground, subject, "subject")
            found = ground.index.relations.line(place.number, name, ground.sight)
            if object is None:
                return found
            other = set(ground.names(_entity(ground, object, "object")))
            number = ground.index.names.number
            return [r for r in found if number(r.object) in other or number(r.subject) in other]

    awhen = in_thread(when)

    def join(self, left: Side, how: str, right: Side) -> list[Joined]:
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
        node: Start,
        since: Moment | None = None,
        until: Moment | None = None,
        relations: str | Iterable[str] | None = None,
    ) -> list[Happening]:
        """What was learned of a node, in order: edges added and invalidated, memories added, revised,
        superseded, forgotten and restored, names given, merged, split and undone.

        `since` and `until` are moments of learning. `relations` keeps to edges of these names; "mentions"
        stands for what happened to memories.

        >>> import remanence
        >>> with remanence.open(None) as space:
        ...     _ = space.graph.relate("Alice", "lives_in", "Porto")
        ...     _ = space.graph.invalidate("Alice", "lives_in", "Porto", why="she moved")
        ...     [happening.what for happening in space.graph.timeline("Alice")]
        ['edge added', 'edge invalidated']
        """
        wanted = _names(relations)
        told = [h for h in self._history(node, since, until) if h.what not in _NOT_IN_A_TIMELINE]
        if wanted is None:
            return told
        with self._looking() as (index, sight):
            inverses = {index.relations.inverse(name, sight.position) for name in wanted}
        return [h for h in told if h.name is not None and h.name in wanted | inverses]

    atimeline = in_thread(timeline)

    @undisturbed
    def _history(
        self, node: Start, since: Moment | None = None, until: Moment | None = None
    ) -> list[Happening]:
        """All that was ever learned of a node, with who read it and who was given it: `space.history`."""
        now = self._now()
        start = None if since is None else read_moment(since, now, what="since")
        end = None if until is None else read_moment(until, now, what="until")
        if start is not None and end is not None and end <= start:
            raise InvalidInput(f"until={until!r} does not come after since={since!r}. Swap them.")
        after, upto = self._before(start) or 0, self._before(end)
        with self._looking() as (index, sight):
            chronicle = Chronicle(index, self._engine.ledger, sight, after, upto)
            ground = Ground(index, chronicle.ever)
            place = ground.find(node)
            if place.kind == "memory":
                return chronicle.of_memory(index.catalog.memory_of(place.number))
            return chronicle.of_entity(ground, place)

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
        number, count = inputs.whole(page, "page"), inputs.whole(page_size, "page_size", MOST_PAGE)
        return self._overview(lambda overview: overview.page(status, number, count))

    aread_graph = in_thread(read_graph)

    # Pictures

    def _picture(
        self,
        start: Start | None = None,
        relations: str | Iterable[str] | None = None,
        depth: int = 3,
        at: Moment | None = None,
        limit: int = 500,
    ) -> Walked:
        """What a picture shows: all that holds `at` a moment, or without one ever held; around a node, or
        without one in the whole space. `query` asks the same of one moment."""
        names, steps, most = _names(relations), inputs.whole(depth, "depth", MOST_DEPTH), inputs.limit(limit)
        moment = None if at is None else read_moment(at, self._now(), what="at")
        with self._looking() as (index, sight):
            ground = Ground(index, sight, moment, ever=moment is None)
            places = ground.everything() if start is None else [ground.find(start)]
            steps = 1 if start is None else steps
            return traversal.walk(ground, places, names=names, depth=steps, direction="both", limit=most)

    def to_igraph(self, start: Start | None = None, **options: Any) -> Any:
        """The graph as an `igraph.Graph`, around one node or of everything; options as for `query`.

        >>> import remanence
        >>> with remanence.open(None) as space:
        ...     _ = space.graph.relate("Alice", "lives_in", "Porto")
        ...     space.graph.to_igraph().vs["label"]
        ['Alice', 'Porto']
        """
        return pictures().to_igraph(self._picture(start, **options))

    def to_networkx(self, start: Start | None = None, **options: Any) -> Any:
        """The graph as a `networkx.MultiDiGraph`; the other options are those of `query`."""
        return pictures().to_networkx(self._picture(start, **options))

    def show(self, start: Start | None = None, **options: Any) -> Any:
        """An interactive picture in a notebook, with a slider for time; options as for `query`."""
        return pictures().show(self._picture(start, **options))

    def save(self, path: str | FilePath, start: Start | None = None, **options: Any) -> FilePath:
        """Write a picture: an offline page (.html), .svg, or .graphml; options as for `query`."""
        written: FilePath = pictures().save(self._picture(start, **options), path)
        return written

    def show_timeline(self, node: Start) -> Any:
        """When what holds of an entity held, and what happened to it, as a picture in a notebook."""
        return pictures().show_timeline(self._lines(node), self.timeline(node), now=self._now())

    def save_timeline(self, node: Start, path: str | FilePath) -> FilePath:
        """The same as a file: .html or .svg."""
        written: FilePath = pictures().save_timeline(
            self._lines(node), path, self.timeline(node), now=self._now()
        )
        return written

    def _lines(self, node: Start) -> list[Relation]:
        with self._standing(None) as ground:
            place = _entity(ground, node, "node") if not isinstance(node, Memory) else ground.find(node)
            if place.kind == "memory":
                return []
            return ground.index.relations.around(place.number, ground.sight)

    @contextmanager
    def _looking(self) -> Iterator[tuple[Index, Sight]]:
        with self._engine.using(self._space) as index, index.lock:
            yield index, index.sight(self._position(index), self._now())

    @contextmanager
    def _standing(self, at: Moment | None) -> Iterator[Ground]:
        moment = None if at is None else read_moment(at, self._now(), what="at")
        with self._looking() as (index, sight):
            yield Ground(index, sight, moment)

    def _before(self, moment: datetime | None) -> int | None:
        """The last line that was written before a moment."""
        if moment is None or moment == _EARLIEST:
            return None if moment is None else 0
        return self._engine.ledger.position_at(self._space, moment - timedelta(microseconds=1))


class Graph(GraphView):
    """The graph of a space as it is now: query it, state relations and links, and end them."""

    def relate(
        self,
        subject: Named,
        predicate: str,
        object: Named,
        *,
        valid_from: Moment | None = None,
        valid_until: Moment | None = None,
        confidence: float = 1.0,
        observed_by: str | None = None,
        evidence: Kept | Iterable[Kept] = (),
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
        a: Kept,
        kind: str,
        b: Kept,
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

    def declare(
        self, predicate: str, *, single_valued: bool | None = None, inverse: str | None = None
    ) -> None:
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
        edge: Relation | Link | Named,
        predicate: str | None = None,
        object: Named | None = None,
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
        return invalidation.invalidate(
            self._engine, self._space, edge, predicate, object, until, why, observed_by
        )

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
    names = {read_predicate(name, "relations") for name in several}
    if not names:
        raise InvalidInput("relations is empty, so that nothing could be walked. Leave it out for all.")
    return names


def _entity(ground: Ground, given: Named, what: str) -> Place:
    place = ground.find(given)
    if place.kind == "memory":
        raise InvalidInput(f"{what}={given!r} is a memory. Give an entity, its id or its name.")
    return place


def _side(given: object, what: str) -> Sequence[Any]:
    if isinstance(given, str) or not isinstance(given, Sequence) or len(given) not in (2, 3):
        raise InvalidInput(f"{what}={given!r} is not (subject, predicate) or (subject, predicate, object).")
    return given
