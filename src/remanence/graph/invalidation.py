"""That something holds no longer: ends are stamped, lines stay."""

from __future__ import annotations

from datetime import datetime

from remanence.core import inputs
from remanence.core.engine import Engine
from remanence.core.index import Index
from remanence.core.inputs import Moment
from remanence.errors import InvalidInput, NotFound
from remanence.events import Event, Invalidated
from remanence.graph.assertions import (
    EntityRef,
    check_entity_ref,
    check_observer,
    current_snapshot,
    entity_name,
    get_links,
    get_relations,
)
from remanence.language.temporal import parse_moment
from remanence.schema import OPEN_START, Link, Relation, Snapshot, Triple, Window, format_moment, from_micros, micros
from remanence.state.predicates import parse_predicate


def invalidate(
    engine: Engine,
    space: str,
    edge: Relation | Link | EntityRef,
    predicate: str | None,
    object: EntityRef | None,
    until: Moment | None,
    why: str | None,
    by: str | None,
) -> list[Relation | Link]:
    """End a relation or link, or what holds of a subject, a predicate and perhaps an object at `until`.

    Every memory that says the same is taken to be out of date with it.
    """
    now = engine.now()
    end = now if until is None else parse_moment(until, now, argument="until")
    reason, who = inputs.reason(why), check_observer(by, "by")
    name = None if predicate is None else parse_predicate(predicate)
    ended: list[str] = []

    def decide(index: Index) -> list[Event]:
        sight = current_snapshot(index, now)
        if isinstance(edge, Relation | Link):
            ended[:] = [edge.id]
        elif name is None:
            ended[:] = [_edge_id(edge)]
        else:
            subject = entity_name(index, check_entity_ref(edge, "subject"))
            other = None if object is None else entity_name(index, check_entity_ref(object, "object"))
            ended[:] = _holding(index, sight, subject, name, other, end)
        edges = dict.fromkeys(one for each in ended for one in _to_end(index, sight, each, end))
        return [Invalidated(one, end, reason, who) for one in edges]

    engine.write(space, decide)
    return [*get_relations(engine, space, ended, now), *get_links(engine, space, ended, now)]


def _holding(
    index: Index, sight: Snapshot, subject: str, predicate: str, object: str | None, end: datetime
) -> list[str]:
    """The ids of what holds of a subject under a predicate at a moment, or was ended at that moment."""
    number = index.names.number(subject)
    found = [] if number is None else index.relations.timeline(number, predicate, sight)
    if object is not None:
        wanted = index.names.number(object)
        same = () if wanted is None else index.registry.same_entity(wanted, sight.position)
        found = [r for r in found if {index.names.number(r.object), index.names.number(r.subject)} & set(same)]
    # Up to that moment, rather than from it on: at the very moment of a move it is the old home that ends.
    there = [r.id for r in found if (r.valid.start is None or r.valid.start < end) and _reaches(r.valid, end)]
    there = there or [r.id for r in found if end in r.valid]
    if not there:
        what = f"{subject} {predicate} {'anything' if object is None else object}"
        instead = "; ".join(map(str, found[:3])) or "nothing of that kind"
        raise NotFound(f"{what!r} does not hold at {format_moment(end)}, so it cannot end then. Known is: {instead}.")
    return list(dict.fromkeys(there))


def _reaches(window: Window, moment: datetime) -> bool:
    return window.end is None or moment <= window.end


def _to_end(index: Index, sight: Snapshot, edge: str, end: datetime) -> list[str]:
    """The ids under which a relation or link has to be ended, so that it holds no longer than `end`."""
    link = index.links.get(edge, sight)
    if link is not None:
        _check_end(edge, link.valid.start, end)
        return [edge] if link.valid.end is None or end < link.valid.end else []
    saying = index.relations.equivalent_claims(edge, sight)
    if not saying:
        raise NotFound(
            f"space {index.space!r} knows no relation or link {edge!r}. "
            "Ids come from relate(), link() and graph.query(); a forgotten memory's are hidden with it."
        )
    own = saying[0][1]
    _check_end(edge, None if own.start == OPEN_START else from_micros(own.start), end)
    moment = micros(end)
    return [one for one, claim in saying if claim.start <= moment < claim.effective_end]


def _check_end(edge: str, start: datetime | None, end: datetime) -> None:
    if start is not None and end < start:
        raise InvalidInput(
            f"until={format_moment(end)} is before {edge!r} begins ({format_moment(start)}). "
            "Give a later one, or its beginning to say that it never held."
        )


def invalidation_events(
    index: Index, snapshot: Snapshot, claim: Triple, until: datetime, why: str, by: str
) -> list[Invalidated]:
    """The lines that end a claim wherever it stands and reaches that moment; none where it does not."""
    subject, object_ = index.names.number(claim.subject), index.names.number(claim.object)
    if subject is None or object_ is None:
        return []
    same = {index.names.spellings[number] for number in index.registry.same_entity(object_, snapshot.position)}
    moment = micros(until)
    edges = [
        edge
        for relation in index.relations.timeline(subject, claim.predicate, snapshot)
        if relation.object in same and _reaches(relation.valid, until)
        for edge, each in index.relations.equivalent_claims(relation.id, snapshot)
        if each.effective_start <= moment < each.effective_end
    ]
    return [Invalidated(edge, until, why, by) for edge in dict.fromkeys(edges)]


def _edge_id(given: object) -> str:
    if isinstance(given, str):
        return given
    raise InvalidInput(
        f"{given!r} is neither a relation, a link nor the id of one. "
        "To end what holds of an entity, say of which predicate: invalidate('Alice', 'lives_in')."
    )
