"""Writes to the graph: state relations and links, end them, and declare how a predicate behaves.

What depends on the state is checked under the write lock, so that two callers who state the same write one entry.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime

from remanence.errors import InvalidInput, NotFound
from remanence.events import Declared, Event, Invalidated, Linked, Related
from remanence.graph.graph_at_time import EntityRef, MemoryRef
from remanence.graph.traversal import Edge
from remanence.index.claims.predicates import parse_predicate
from remanence.index.engine import inputs
from remanence.index.engine.engine import Engine
from remanence.index.engine.inputs import Moment
from remanence.index.index import Index
from remanence.index.names.entity_registry import is_entity_id
from remanence.schema import (
    LINK_KINDS,
    Entity,
    Link,
    Memory,
    Relation,
    Snapshot,
    Triple,
    format_moment,
    micros,
    window_to_micros,
)
from remanence.text.temporal import parse_moment


def assert_edge(engine: Engine, space: str, make: Callable[[Index], Related | Linked]) -> Relation | Link:
    """Write the relation or link that `make` returns under the write lock, unless it was stated before.

    Returns it as it holds now.
    """
    now = engine.now()
    edge_ids: list[str] = []

    def decide(index: Index) -> list[Event]:
        event, snapshot = make(index), _snapshot(index, now)
        if isinstance(event, Related):
            edge_id, duplicate = event.relation, index.relations.find_duplicate(event, snapshot)
        else:
            edge_id, duplicate = event.link, index.links.find_duplicate(event, snapshot)
        edge_ids.append(duplicate or edge_id)
        return [] if duplicate else [event]

    engine.write(space, decide)
    [edge] = _read_edges(engine, space, edge_ids, now)
    return edge


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
    subject: EntityRef | MemoryRef,
    predicate: str,
    object: EntityRef | MemoryRef | None,
    until: Moment | None,
    why: str | None,
    observed_by: str | None,
) -> list[Relation | Link]:
    """See `Graph.invalidate`. All claims of the same relation are ended."""
    name = parse_predicate(predicate)
    if isinstance(subject, Memory) and name not in LINK_KINDS:
        raise InvalidInput(f"{name!r} is not a link between memories. The kinds are {', '.join(LINK_KINDS)}.")

    def find(index: Index, snapshot: Snapshot, end: datetime) -> list[str]:
        if isinstance(subject, Memory) or (isinstance(subject, str) and index.catalog.number(subject) is not None):
            return _links_at(index, snapshot, inputs.check_memory_id(subject), name, object, end)
        if isinstance(object, Memory):
            raise InvalidInput(f"object={object.id!r} is a memory, and {subject!r} is none. Give two of a kind.")
        entity = current_name(index, check_entity_ref(subject, "subject"))
        other = None if object is None else current_name(index, check_entity_ref(object, "object"))
        return _relations_at(index, snapshot, entity, name, other, end)

    return _end_edges(engine, space, find, until, why, observed_by)


def invalidate_edge(
    engine: Engine,
    space: str,
    edge: Relation | Link | Edge | str,
    until: Moment | None,
    why: str | None,
    observed_by: str | None,
) -> list[Relation | Link]:
    """See `Graph.invalidate_edge`. All claims of the same relation are ended."""
    edge_id = check_edge_id(edge)
    return _end_edges(engine, space, lambda index, snapshot, end: [edge_id], until, why, observed_by)


def check_edge_id(edge: Relation | Link | Edge | str) -> str:
    """The id of a relation or a link.

    Raises:
        InvalidInput: This is neither of these, nor the id of one.
    """
    if not isinstance(edge, Relation | Link | Edge | str):
        raise InvalidInput(f"{edge!r} is neither a relation, a link nor the id of one.")
    return inputs.check_text(edge if isinstance(edge, str) else edge.id, "edge")


def _end_edges(
    engine: Engine,
    space: str,
    find: Callable[[Index, Snapshot, datetime], list[str]],
    until: Moment | None,
    why: str | None,
    observed_by: str | None,
) -> list[Relation | Link]:
    now = engine.now()
    end = now if until is None else parse_moment(until, now, argument="until")
    reason, by = inputs.check_reason(why), inputs.check_observer(observed_by)
    edge_ids: list[str] = []

    def decide(index: Index) -> list[Event]:
        snapshot = _snapshot(index, now)
        edge_ids[:] = find(index, snapshot, end)
        claims = dict.fromkeys(claim for edge_id in edge_ids for claim in _claims_to_end(index, snapshot, edge_id, end))
        return [Invalidated(claim, end, reason, by) for claim in claims]

    engine.write(space, decide)
    return _read_edges(engine, space, edge_ids, now)


def invalidation_events(
    index: Index, snapshot: Snapshot, claim: Triple, until: datetime, why: str, by: str
) -> list[Invalidated]:
    """The events that end a claim, whichever memories make it; none where it does not hold at `until`."""
    moment = micros(until)
    claims = {
        edge_id: timed_claim
        for relation in _timeline(index, snapshot, claim.subject, claim.predicate, claim.object)
        if moment <= window_to_micros(relation.valid)[1]
        for edge_id, timed_claim in index.relations.equivalent_claims(relation.id, snapshot)
        if timed_claim.start <= moment < timed_claim.effective_end
    }
    ended = [edge_id for edge_id, timed_claim in claims.items() if timed_claim.effective_start <= moment]
    # What was learned after it had ended, without a date, ended then too.
    return [Invalidated(edge_id, until, why, by) for edge_id in ended or claims]


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
    relations, moment = _timeline(index, snapshot, subject, predicate, object), micros(end)
    windows = [(relation.id, *window_to_micros(relation.valid)) for relation in relations]
    # Those that hold up to that moment come first: at the very moment of a move, the old home ends, not the new one.
    ids = [id_ for id_, start, until in windows if start < moment <= until]
    ids = ids or [id_ for id_, start, until in windows if start <= moment < until]
    # What was learned later, without a date, may have held before.
    undated = {relation.id for relation in relations if relation.claimed_window.start is None}
    ids = ids or [id_ for id_, start, _ in windows if moment < start and id_ in undated][:1]
    if not ids:
        claim = f"{subject} {predicate} {'anything' if object is None else object}"
        known = "; ".join(map(str, relations[:3])) or "nothing of that kind"
        raise NotFound(f"{claim!r} does not hold at {format_moment(end)}, so it cannot end then. Known is: {known}.")
    return list(dict.fromkeys(ids))


def _links_at(
    index: Index, snapshot: Snapshot, source: str, kind: str, target: EntityRef | MemoryRef | None, end: datetime
) -> list[str]:
    """The ids of the links of a kind out of a memory that hold at `end`."""
    target_id = None if target is None else inputs.check_memory_id(target)
    links = index.links.links_of(index.require_number(source), snapshot, kinds=(kind,), direction="out")
    links = [link for link in links if target_id in (None, link.target)]
    # One that was stated later is ended too, if no other: the check of its beginning says so.
    ids = [link.id for link in links if end in link.valid] or [link.id for link in links if link.valid.end is None]
    if not ids:
        known = f"to {target_id!r} " if target_id is not None else ""
        raise NotFound(
            f"memory {source!r} has no link {kind!r} {known}that holds at {format_moment(end)}. "
            "space.graph.timeline(memory) lists its links."
        )
    return ids


def _timeline(index: Index, snapshot: Snapshot, subject: str, predicate: str, object: str | None) -> list[Relation]:
    number, names = index.names.number(subject), index.names
    found = [] if number is None else index.relations.timeline(number, predicate, snapshot)
    if object is None:
        return found
    wanted = names.number(object)
    same = set() if wanted is None else set(index.registry.names_of_same_entity(wanted, snapshot.position))
    return [r for r in found if {names.number(r.object), names.number(r.subject)} & same]


def _claims_to_end(index: Index, snapshot: Snapshot, edge: str, end: datetime) -> list[str]:
    """The ids of the link or the claims to end, so that a link or relation holds no longer than `end`."""
    edge_value = index.links.get(edge, snapshot) or index.relations.get(edge, snapshot)
    if edge_value is None:
        raise NotFound(
            f"space {index.space!r} has no relation or link {edge!r}. "
            "Ids are those of relations and links that were made or found; a forgotten memory hides its own."
        )
    start = edge_value.valid.start if isinstance(edge_value, Link) else edge_value.claimed_window.start
    if start is not None and end < start:
        raise InvalidInput(
            f"until={format_moment(end)} is before {edge!r} begins ({format_moment(start)}). "
            "Give a later moment, or that of its beginning to say that it never held."
        )
    if isinstance(edge_value, Link):
        statements = index.links.statements_of(edge, snapshot)
        return [link.id for link in statements] if edge_value.valid.end is None or end < edge_value.valid.end else []
    moment, claims = micros(end), index.relations.equivalent_claims(edge, snapshot)
    return [claim_id for claim_id, claim in claims if claim.start <= moment < claim.effective_end]


def current_name(index: Index, entity: EntityRef) -> str:
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


def check_entity_ref(entity: EntityRef, what: str) -> EntityRef:
    """The same entity, if its name can be written."""
    name = inputs.check_text(entity.name if isinstance(entity, Entity) else entity, what)
    if not name.strip():
        raise InvalidInput(f"{what}={name!r} is blank. Give a name, an entity or its id.")
    if len(name) > inputs.MAX_NAME_LENGTH:
        raise InvalidInput(f"{what} has {len(name):,} characters. A name has at most {inputs.MAX_NAME_LENGTH}.")
    return entity
