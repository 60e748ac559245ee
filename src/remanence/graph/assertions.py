"""Writes to the graph: state relations and links, end them, and declare how a predicate behaves.

Arguments are checked before the write lock is taken, as far as possible. The rest is checked under the lock, so
that two callers who state the same at once write one entry. A repeated statement writes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import TypeAlias, cast

from remanence.core import inputs
from remanence.core.engine import Engine
from remanence.core.identity import new_id
from remanence.core.index import Index
from remanence.core.inputs import Moment
from remanence.errors import InvalidInput, NotFound
from remanence.events import Declared, Event, Invalidated, Linked, Related
from remanence.language.temporal import parse_moment
from remanence.schema import (
    LINK_KINDS,
    OPEN_START,
    Entity,
    Link,
    Memory,
    Relation,
    Snapshot,
    Triple,
    Window,
    format_moment,
    from_micros,
    micros,
)
from remanence.state.entity_registry import is_entity_id
from remanence.state.predicates import parse_predicate

EntityRef: TypeAlias = str | Entity
"""An entity, its id, or any of its names."""
MemoryRef: TypeAlias = str | Memory
"""A memory or its id."""


def relate(
    engine: Engine,
    space: str,
    subject: EntityRef,
    predicate: str,
    object: EntityRef,
    valid_from: Moment | None,
    valid_until: Moment | None,
    confidence: float,
    observed_by: str | None,
    evidence: MemoryRef | Iterable[MemoryRef],
) -> Relation:
    """See `Graph.relate`."""
    now = engine.now()
    name, valid = parse_predicate(predicate), inputs.window(valid_from, valid_until, now)
    certainty, observer = _confidence(confidence), _observer(observed_by)
    memory_ids = tuple(dict.fromkeys(inputs.memory_ids([evidence] if isinstance(evidence, MemoryRef) else evidence)))
    _check_entity_ref(subject, "subject")
    _check_entity_ref(object, "object")
    edge_ids: list[str] = []

    def decide(index: Index) -> list[Event]:
        for memory_id in memory_ids:
            _require_visible(index, memory_id)
        names = _entity_name(index, subject), name, _entity_name(index, object)
        event = Related(new_id(), *names, valid, certainty, observer, memory_ids)
        duplicate = index.relations.find_duplicate(event, _snapshot(index, now))
        edge_ids.append(duplicate or event.relation)
        return [] if duplicate else [event]

    engine.write(space, decide)
    [relation] = _read_edges(engine, space, edge_ids, now)
    return cast(Relation, relation)


def link(
    engine: Engine,
    space: str,
    a: MemoryRef,
    kind: str,
    b: MemoryRef,
    valid_from: Moment | None,
    valid_until: Moment | None,
    confidence: float,
    observed_by: str | None,
    why: str | None,
) -> Link:
    """See `Graph.link`."""
    now = engine.now()
    source, target, valid = inputs.memory_id(a), inputs.memory_id(b), inputs.window(valid_from, valid_until, now)
    certainty, observer, reason = _confidence(confidence), _observer(observed_by), inputs.reason(why)
    if kind not in LINK_KINDS:
        raise InvalidInput(f"kind={kind!r} is no link between memories. The kinds are {', '.join(LINK_KINDS)}.")
    if source == target:
        raise InvalidInput(f"memory {source!r} cannot be linked to itself. Give two memories.")
    edge_ids: list[str] = []

    def decide(index: Index) -> list[Event]:
        _require_visible(index, source)
        _require_visible(index, target)
        event = Linked(new_id(), source, kind, target, valid, certainty, observer, reason)
        duplicate = index.links.find_duplicate(event, _snapshot(index, now))
        edge_ids.append(duplicate or event.link)
        return [] if duplicate else [event]

    engine.write(space, decide)
    [made] = _read_edges(engine, space, edge_ids, now)
    return cast(Link, made)


def declare(engine: Engine, space: str, predicate: str, single_valued: bool | None, inverse: str | None) -> None:
    """See `Graph.declare`."""
    name = parse_predicate(predicate)
    other = None if inverse is None else parse_predicate(inverse, "inverse")
    if single_valued is not None and not isinstance(single_valued, bool):
        raise InvalidInput(f"single_valued={single_valued!r} is neither True nor False.")
    if single_valued is None and other is None:
        raise InvalidInput(f"nothing is declared about {name!r}. Give single_valued=True or an inverse.")

    def decide(index: Index) -> list[Event]:
        position = index.catalog.position
        same_count = single_valued in (None, index.relations.declared_single_valued(name, position))
        same_inverse = other in (None, index.relations.inverse(name, position))
        return [] if same_count and same_inverse else [Declared(name, single_valued, other)]

    engine.write(space, decide)


def invalidate(
    engine: Engine,
    space: str,
    edge: Relation | Link | EntityRef,
    predicate: str | None,
    object: EntityRef | None,
    until: Moment | None,
    why: str | None,
    observed_by: str | None,
) -> list[Relation | Link]:
    """See `Graph.invalidate`. Every claim of the same relation, of whichever memory, is ended with it."""
    now = engine.now()
    end = now if until is None else parse_moment(until, now, argument="until")
    reason, observer = inputs.reason(why), _observer(observed_by)
    name = None if predicate is None else parse_predicate(predicate)
    edge_ids: list[str] = []

    def decide(index: Index) -> list[Event]:
        snapshot = _snapshot(index, now)
        if isinstance(edge, Relation | Link):
            edge_ids[:] = [edge.id]
        elif name is None:
            edge_ids[:] = [_edge_id(edge)]
        else:
            subject = _entity_name(index, _check_entity_ref(edge, "subject"))
            other = None if object is None else _entity_name(index, _check_entity_ref(object, "object"))
            edge_ids[:] = _relations_at(index, snapshot, subject, name, other, end)
        claims = dict.fromkeys(claim for each in edge_ids for claim in _claims_to_end(index, snapshot, each, end))
        return [Invalidated(claim, end, reason, observer) for claim in claims]

    engine.write(space, decide)
    return _read_edges(engine, space, edge_ids, now)


def invalidation_events(
    index: Index, snapshot: Snapshot, claim: Triple, until: datetime, why: str, by: str
) -> list[Invalidated]:
    """The events that end a claim, whichever memories make it; none where it does not hold at `until`."""
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


def _read_edges(engine: Engine, space: str, edge_ids: Iterable[str], now: datetime) -> list[Relation | Link]:
    with engine.open_index(space) as index, index.lock:
        snapshot = _snapshot(index, now)
        found = (index.relations.get(edge, snapshot) or index.links.get(edge, snapshot) for edge in edge_ids)
        return [edge for edge in found if edge is not None]


def _snapshot(index: Index, now: datetime) -> Snapshot:
    return index.snapshot(index.catalog.position, now)


def _relations_at(
    index: Index, snapshot: Snapshot, subject: str, predicate: str, object: str | None, end: datetime
) -> list[str]:
    """The ids of the relations of a subject under a predicate that hold at `end`, or ended at that moment."""
    number = index.names.number(subject)
    found = [] if number is None else index.relations.timeline(number, predicate, snapshot)
    if object is not None:
        wanted = index.names.number(object)
        same = () if wanted is None else index.registry.same_entity(wanted, snapshot.position)
        found = [r for r in found if {index.names.number(r.object), index.names.number(r.subject)} & set(same)]
    # Those that hold up to that moment come first: at the very moment of a move, the old home ends, not the new one.
    ids = [r.id for r in found if (r.valid.start is None or r.valid.start < end) and _reaches(r.valid, end)]
    ids = ids or [r.id for r in found if end in r.valid]
    if not ids:
        claim = f"{subject} {predicate} {'anything' if object is None else object}"
        known = "; ".join(map(str, found[:3])) or "nothing of that kind"
        raise NotFound(f"{claim!r} does not hold at {format_moment(end)}, so it cannot end then. Known is: {known}.")
    return list(dict.fromkeys(ids))


def _reaches(window: Window, moment: datetime) -> bool:
    return window.end is None or moment <= window.end


def _claims_to_end(index: Index, snapshot: Snapshot, edge: str, end: datetime) -> list[str]:
    """The ids of the link or the claims to end, so that a link or relation holds no longer than `end`."""
    link = index.links.get(edge, snapshot)
    if link is not None:
        _check_end(edge, link.valid.start, end)
        return [edge] if link.valid.end is None or end < link.valid.end else []
    claims = index.relations.equivalent_claims(edge, snapshot)
    if not claims:
        raise NotFound(
            f"space {index.space!r} has no relation or link {edge!r}. "
            "Ids come from relate(), link() and graph.query(); those of a forgotten memory are hidden with it."
        )
    start = claims[0][1].start
    _check_end(edge, None if start == OPEN_START else from_micros(start), end)
    moment = micros(end)
    return [claim_id for claim_id, claim in claims if claim.start <= moment < claim.effective_end]


def _check_end(edge: str, start: datetime | None, end: datetime) -> None:
    if start is not None and end < start:
        raise InvalidInput(
            f"until={format_moment(end)} is before {edge!r} begins ({format_moment(start)}). "
            "Give a later moment, or that of its beginning to say that it never held."
        )


def _edge_id(edge: object) -> str:
    if isinstance(edge, str):
        return edge
    raise InvalidInput(
        f"{edge!r} is neither a relation, a link nor the id of one. "
        "To end a relation of an entity, give its predicate too: invalidate('Alice', 'lives_in')."
    )


def _require_visible(index: Index, memory_id: str) -> None:
    index.require_unerased(memory_id)
    if index.current_row(memory_id, index.catalog.position) is None:
        raise NotFound(f"memory {memory_id!r} is forgotten. Restore it first: unforget({memory_id!r}).")


def _entity_name(index: Index, entity: EntityRef) -> str:
    """The name to write for an entity: the given name, or the current name of the given entity."""
    if isinstance(entity, Entity):
        known = index.registry.get(entity.id, index.catalog.position)
        return entity.name if known is None else known.name
    if not is_entity_id(entity) or index.names.number(entity) is not None:
        return entity
    known = index.registry.get(entity, index.catalog.position)
    if known is None:
        raise NotFound(f"space {index.space!r} has no entity {entity!r}. Give a name, or an id of this space.")
    return known.name


def _check_entity_ref(entity: EntityRef, what: str) -> EntityRef:
    name = inputs.storable_text(entity.name if isinstance(entity, Entity) else entity, what)
    if not name.strip():
        raise InvalidInput(f"{what}={name!r} is blank. Give a name, an entity or its id.")
    if len(name) > inputs.MAX_NAME_LENGTH:
        raise InvalidInput(f"{what} has {len(name):,} characters. A name has at most {inputs.MAX_NAME_LENGTH}.")
    return entity


def _confidence(value: object) -> float:
    checked = inputs.fraction(value, "confidence")
    return 1.0 if checked is None else checked


def _observer(value: str | None) -> str | None:
    return None if value is None else inputs.storable_text(value, "observed_by")
