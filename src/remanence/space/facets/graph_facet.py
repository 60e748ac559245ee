"""The class of `space.graph`: relations and links that are asserted, ended and erased."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import cast

from remanence.errors import InvalidInput
from remanence.events import Linked, Related
from remanence.graph import assertions
from remanence.graph.graph_at_time import EntityRef, MemoryRef
from remanence.graph.traversal import Edge
from remanence.index.claims.predicates import parse_predicate
from remanence.index.engine import inputs
from remanence.index.engine.identity import new_id
from remanence.index.engine.in_thread import in_thread
from remanence.index.engine.inputs import Moment
from remanence.index.index import Index
from remanence.remember.forget import erase_edge
from remanence.schema import LINK_KINDS, ErasureCertificate, Link, Relation
from remanence.space.certificates import certify
from remanence.space.facets.graph_view import GraphView


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
            confidence: How sure it is, from 0 to 1.
            evidence: Memories that support it. The relation is visible while one of them is.

        Raises:
            NotFound: A memory given as evidence is unknown, forgotten or erased, or an entity id is unknown.
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

    def link(
        self,
        source: MemoryRef,
        kind: str | MemoryRef,
        target: MemoryRef | None = None,
        *,
        valid_from: Moment | None = None,
        valid_until: Moment | None = None,
        confidence: float = 1.0,
        observed_by: str | None = None,
        why: str | None = None,
    ) -> Link:
        """Link memory `source` to memory `target`: `link(new, "supersedes", old)`. `link(a, b)` means "related_to".

        A repeated statement writes nothing. The same link stated by somebody else corroborates it.

        Args:
            source: The memory that the link goes out of.
            kind: "related_to", "supersedes", "contradicts", "derived_from", "extends", "supports" or "causes".
            target: The memory that the link goes to.
            confidence: How sure it is, from 0 to 1.

        Raises:
            NotFound: A memory is unknown, forgotten or erased.
            InvalidInput: The kind is unknown, or `source` and `target` are one memory.
        """
        if target is None:
            if kind in LINK_KINDS:
                raise InvalidInput(f"link(memory, {kind!r}) names one memory. Give the other one after the kind.")
            kind, target = "related_to", kind
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

    def declare(self, predicate: str, *, single_valued: bool | None = None, inverse: str | None = None) -> None:
        """Declare how a predicate behaves from now on. What is left out stays as it is.

        Args:
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

        Returns:
            The relations or links as they hold from now on.

        Raises:
            NotFound: No such relation or link holds at `valid_until`.
        """
        return assertions.invalidate(
            self._engine, self._space, subject, predicate, object, valid_until, why, observed_by
        )

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

    arelate = in_thread(relate)
    alink = in_thread(link)
    adeclare = in_thread(declare)
    ainvalidate = in_thread(invalidate)
    ainvalidate_edge = in_thread(invalidate_edge)
    aerase = in_thread(erase)
