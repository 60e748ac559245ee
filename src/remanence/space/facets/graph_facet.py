"""The class of `space.graph`: entities and memories, and the edges between them in time; pictures and assertions."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, cast

from remanence.errors import InvalidInput
from remanence.events import Linked, Related
from remanence.graph import assertions, pictures, traversal
from remanence.graph.graph_at_time import EntityRef, MemoryRef, NodeRef
from remanence.graph.known_entities import KnownEntities
from remanence.graph.traversal import MAX_DEPTH, Edge, Subgraph
from remanence.index.claims.predicates import parse_predicate
from remanence.index.engine import inputs
from remanence.index.engine.identity import new_id
from remanence.index.engine.in_thread import in_thread
from remanence.index.engine.inputs import Moment
from remanence.index.index import Index
from remanence.remember.forget import erase_edge
from remanence.schema import LINK_KINDS, ErasureCertificate, Link, Relation, micros
from remanence.schema.notebook_pictures import NotebookPicture
from remanence.space.certificates import certify
from remanence.space.facets.graph_queries import EdgeNames, GraphQueries, edge_names

if TYPE_CHECKING:
    import igraph
    import networkx

_MAX_TIMELINE = 60


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
            limit: The most nodes to draw.

        Returns:
            The picture. The last line of a notebook cell shows it; `.save("graph.html")` writes it to a file.

        Raises:
            NotFound: The start is unknown.
            InvalidInput: Another argument is not valid; the message names it.
        """
        return pictures.graph_picture(self._subgraph(start, relations, depth, at, limit))

    ashow = in_thread(show)

    def save(
        self,
        path: str | FilePath,
        start: NodeRef | None = None,
        relations: EdgeNames | None = None,
        depth: int = 3,
        at: Moment | None = None,
        limit: int = 500,
    ) -> FilePath:
        """Write a picture of the graph to a file.

        Args:
            path: The file. Its ending is the format: .html (an interactive page that needs no network), .svg or
                .graphml.
            start: As for `show`.
            relations: As for `show`.
            depth: As for `show`.
            at: As for `show`.
            limit: As for `show`.

        Returns:
            The path of the file.

        Raises:
            NotFound: The start is unknown.
            InvalidInput: The ending is none of these, or there is no such folder.

        Example:
            >>> import remanence, tempfile
            >>> with remanence.open(None) as space:
            ...     _ = space.graph.relate("Alice", "lives_in", "Porto")
            ...     space.graph.save(tempfile.mkdtemp() + "/graph.svg").name
            'graph.svg'
        """
        return pictures.graph_picture(self._subgraph(start, relations, depth, at, limit)).save(path)

    asave = in_thread(save)

    def to_igraph(
        self,
        start: NodeRef | None = None,
        relations: EdgeNames | None = None,
        depth: int = 3,
        at: Moment | None = None,
        limit: int = 500,
    ) -> igraph.Graph:
        """The graph as an `igraph.Graph`, with labels and times as attributes.

        Args:
            start: As for `show`.
            relations: As for `show`.
            depth: As for `show`.
            at: As for `show`.
            limit: As for `show`.

        Returns:
            A directed graph.

        Raises:
            NotFound: The start is unknown.

        Example:
            >>> import remanence
            >>> with remanence.open(None) as space:
            ...     _ = space.graph.relate("Alice", "lives_in", "Porto")
            ...     space.graph.to_igraph().vs["label"]
            ['Alice', 'Porto']
        """
        return pictures.to_igraph(self._subgraph(start, relations, depth, at, limit))

    ato_igraph = in_thread(to_igraph)

    def to_networkx(
        self,
        start: NodeRef | None = None,
        relations: EdgeNames | None = None,
        depth: int = 3,
        at: Moment | None = None,
        limit: int = 500,
    ) -> networkx.MultiDiGraph:
        """The graph as a `networkx.MultiDiGraph`, with labels and times as attributes.

        Args:
            start: As for `show`.
            relations: As for `show`.
            depth: As for `show`.
            at: As for `show`.
            limit: As for `show`.

        Returns:
            The graph.

        Raises:
            NotFound: The start is unknown.
            MissingExtra: networkx is not installed.
        """
        return pictures.to_networkx(self._subgraph(start, relations, depth, at, limit))

    ato_networkx = in_thread(to_networkx)

    def show_timeline(self, node: NodeRef | None = None) -> NotebookPicture:
        """A picture for a notebook: when relations held, and when they were learned.

        Args:
            node: The entity whose relations to draw. For a memory, only what happened to it is drawn. None draws the
                relations of the whole space, the sixty learned last.

        Returns:
            The picture.

        Raises:
            NotFound: The node is unknown.
        """
        if node is not None:
            return pictures.timeline_picture(self._relations_of(node), self.timeline(node), now=self._now())
        relations = self._all_relations()
        return pictures.timeline_picture(relations[-_MAX_TIMELINE:], now=self._now(), total=len(relations))

    ashow_timeline = in_thread(show_timeline)

    def save_timeline(self, node: NodeRef | None, path: str | FilePath) -> FilePath:
        """Write the picture of `show_timeline` to a file.

        Args:
            node: The entity or memory, or None for the whole space.
            path: The file. It ends in .html or .svg.

        Returns:
            The path of the file.

        Raises:
            NotFound: The node is unknown.
            InvalidInput: The ending is neither of these, or there is no such folder.
        """
        return self.show_timeline(node).save(path)

    asave_timeline = in_thread(save_timeline)

    def _subgraph(
        self, start: NodeRef | None, relations: EdgeNames | None, depth: int, at: Moment | None, limit: int
    ) -> Subgraph:
        names, steps, most = (
            edge_names(relations),
            inputs.check_positive_int(depth, "depth", MAX_DEPTH),
            inputs.check_limit(limit),
        )
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
        """State that two entities are related. A repeated statement writes nothing.

        Where a predicate has one value at a time, a later value ends the earlier one when it begins.

        Args:
            subject: An entity, its id or a name.
            predicate: The predicate, such as "lives_in".
            object: An entity, its id or a name.
            valid_from: When it began to hold.
            valid_until: When it ended.
            confidence: How sure it is, from 0 to 1.
            observed_by: Who states it.
            evidence: Memories that support it. The relation is visible while one of them is.

        Returns:
            The relation as it holds now.

        Raises:
            NotFound: A memory given as evidence is unknown, forgotten or erased, or an entity id is unknown.
            InvalidInput: An argument is not valid; the message names it.

        Example:
            >>> import remanence
            >>> with remanence.open(None) as space:
            ...     _ = space.graph.relate("Alice", "lives_in", "Porto", valid_from="2024-01-01")
            ...     _ = space.graph.relate("Alice", "lives_in", "Lisbon", valid_from="2026-05-03")
            ...     [str(relation) for relation in space.graph.when("Alice", "lives_in")][0]
            'Alice —lives_in→ Porto (2024-01-01 to 2026-05-03)'
        """
        name, valid = parse_predicate(predicate), inputs.check_window(valid_from, valid_until, self._engine.now())
        certainty, by = inputs.check_fraction(confidence, "confidence"), inputs.check_observer(observed_by)
        several = [evidence] if isinstance(evidence, MemoryRef) else evidence
        memory_ids = tuple(dict.fromkeys(inputs.check_memory_ids(several)))
        assertions.check_entity_ref(subject, "subject")
        assertions.check_entity_ref(object, "object")

        def make(index: Index) -> Related:
            for memory_id in memory_ids:
                index.require_visible(memory_id, index.catalog.position)
            names = assertions.current_name(index, subject), name, assertions.current_name(index, object)
            return Related(new_id(), *names, valid, 1.0 if certainty is None else certainty, by, memory_ids)

        return cast(Relation, assertions.assert_edge(self._engine, self._space, make))

    arelate = in_thread(relate)

    def link(
        self,
        source: MemoryRef,
        kind: str,
        target: MemoryRef,
        *,
        valid_from: Moment | None = None,
        valid_until: Moment | None = None,
        confidence: float = 1.0,
        observed_by: str | None = None,
        why: str | None = None,
    ) -> Link:
        """Link memory `source` to memory `target`: `link(new, "supersedes", old)`.

        A repeated statement writes nothing. The same link stated by somebody else corroborates it.

        Args:
            source: The memory that the link goes out of.
            kind: "related_to", "supersedes", "contradicts", "derived_from", "extends", "supports" or "causes".
            target: The memory that the link goes to.
            valid_from: When the link began to hold.
            valid_until: When it ended.
            confidence: How sure it is, from 0 to 1.
            observed_by: Who states it.
            why: The reason.

        Returns:
            The link.

        Raises:
            NotFound: A memory is unknown, forgotten or erased.
            InvalidInput: The kind is unknown, or `source` and `target` are one memory.

        Example:
            >>> import remanence
            >>> with remanence.open(None) as space:
            ...     old, new = space.add("The bridge is open."), space.add("The bridge was closed on Monday.")
            ...     _ = space.graph.link(new, "supersedes", old)
            ...     [hit.memory.id for hit in space.recall("bridge")] == [new.id]
            True
        """
        source, target = inputs.check_memory_id(source), inputs.check_memory_id(target)
        valid = inputs.check_window(valid_from, valid_until, self._engine.now())
        certainty, by = inputs.check_fraction(confidence, "confidence"), inputs.check_observer(observed_by)
        reason = inputs.check_reason(why)
        if kind not in LINK_KINDS:
            raise InvalidInput(f"kind={kind!r} is not a link between memories. The kinds are {', '.join(LINK_KINDS)}.")
        if source == target:
            raise InvalidInput(f"memory {source!r} cannot be linked to itself. Give two memories.")

        def make(index: Index) -> Linked:
            index.require_visible(source, index.catalog.position)
            index.require_visible(target, index.catalog.position)
            link_confidence = 1.0 if certainty is None else certainty
            return Linked(new_id(), source, kind, target, valid, link_confidence, by, reason)

        return cast(Link, assertions.assert_edge(self._engine, self._space, make))

    alink = in_thread(link)

    def declare(self, predicate: str, *, single_valued: bool | None = None, inverse: str | None = None) -> None:
        """Declare how a predicate behaves from now on. What is left out stays as it is.

        Args:
            predicate: The predicate.
            single_valued: Whether a subject has one value at a time.
            inverse: The name of the same relation from the other end.

        Raises:
            InvalidInput: Neither is given, or one is not valid.

        Example:
            >>> import remanence
            >>> with remanence.open(None) as space:
            ...     space.graph.declare("parent_of", inverse="child_of")
            ...     _ = space.graph.relate("Ann", "parent_of", "Bob")
            ...     [relation.object for relation in space.graph.when("Bob", "child_of")]
            ['Ann']
        """
        assertions.declare(self._engine, self._space, predicate, single_valued, inverse)

    adeclare = in_thread(declare)

    def invalidate(
        self,
        subject: EntityRef | MemoryRef,
        predicate: str,
        object: EntityRef | MemoryRef | None = None,
        *,
        valid_until: Moment | None = None,
        why: str | None = None,
        observed_by: str | None = None,
    ) -> list[Relation | Link]:
        """End relations or links by their subject and predicate. Views of the past still show them.

        Args:
            subject: The entity whose relations to end, or the memory that the links to end go out of.
            predicate: The predicate of the relations, or the kind of the links, that hold at `valid_until`.
            object: Only relations to this entity, or links to this memory.
            valid_until: When it ended; None is now.
            why: The reason.
            observed_by: Who states it.

        Returns:
            The relations or links as they hold from now on.

        Raises:
            NotFound: No such relation or link holds at `valid_until`.
            InvalidInput: An argument is not valid; the message names it.

        Example:
            >>> import remanence
            >>> with remanence.open(None) as space:
            ...     _ = space.graph.relate("Alice", "lives_in", "Porto", valid_from="2025-01-01")
            ...     [ended] = space.graph.invalidate("Alice", "lives_in", valid_until="2026-03-01", why="she moved")
            ...     str(ended.valid)
            '2025-01-01 to 2026-03-01'
        """
        return assertions.invalidate(
            self._engine, self._space, subject, predicate, object, valid_until, why, observed_by
        )

    ainvalidate = in_thread(invalidate)

    def invalidate_edge(
        self,
        edge: Relation | Link | Edge | str,
        *,
        valid_until: Moment | None = None,
        why: str | None = None,
        observed_by: str | None = None,
    ) -> list[Relation | Link]:
        """End one relation or link. Views of the past still show it.

        Args:
            edge: A relation, a link, an edge of `query`, or the id of one.
            valid_until: As for `invalidate`.
            why: As for `invalidate`.
            observed_by: As for `invalidate`.

        Returns:
            The relation or link as it holds from now on.

        Raises:
            NotFound: There is no such relation or link.
            InvalidInput: `valid_until` is before the beginning, or `edge` is none of these.

        Example:
            >>> import remanence
            >>> with remanence.open(None) as space:
            ...     relation = space.graph.relate("Alice", "lives_in", "Porto", valid_from="2025-01-01")
            ...     [ended] = space.graph.invalidate_edge(relation, valid_until="2026-03-01")
            ...     str(ended.valid)
            '2025-01-01 to 2026-03-01'
        """
        return assertions.invalidate_edge(self._engine, self._space, edge, valid_until, why, observed_by)

    ainvalidate_edge = in_thread(invalidate_edge)

    def erase(self, edge: Relation | Link | Edge | str) -> ErasureCertificate:
        """Remove a relation or a link for good, whoever has stated it: also from the past and from every file.

        `invalidate_edge` ends it and keeps the past. A relation that a memory claims, too, holds until that memory is
        erased.

        Args:
            edge: A relation, a link, an edge of `query`, or the id of one.

        Returns:
            What was erased, and what is not gone yet and when it will be.

        Raises:
            NotFound: There is no such relation or link.
            InvalidInput: Only a memory claims it, or `edge` is none of these.

        Example:
            >>> import remanence
            >>> with remanence.open(None) as space:
            ...     relation = space.graph.relate("Alice", "knows", "Bob")
            ...     _ = space.graph.relate("Alice", "knows", "Carol")
            ...     space.graph.erase(relation).erased_entries, len(space.graph.when("Alice", "knows"))
            ({'related': 1}, 1)
        """
        edge_id = assertions.check_edge_id(edge)
        return certify(self._engine, self._space, [self._space], partial(erase_edge, self._engine, edge=edge_id))

    aerase = in_thread(erase)
