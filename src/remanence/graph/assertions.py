"""Writes to the graph: state relations and links, end them, and declare how a predicate behaves; and plans for changes
to entities: the event to write, or an error with the reason why it is refused.

What depends on the state is checked under the write lock, so that two callers who state the same write one entry.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from remanence.errors import InvalidInput, NotFound
from remanence.events import Declared, Event, Invalidated, Linked, Merged, Registered, Related, Renamed, Split, Undone
from remanence.graph.graph_at_time import EntityRef, KnownEntities, MemoryRef
from remanence.graph.traversal import Edge
from remanence.index.claims.predicates import parse_predicate
from remanence.index.engine import inputs
from remanence.index.engine.engine import Engine
from remanence.index.engine.inputs import Moment
from remanence.index.index import Index
from remanence.index.names.entity_records import entity_id
from remanence.index.names.entity_registry import is_entity_id
from remanence.index.numbers import Position
from remanence.schema import (
    LINK_KINDS,
    Alias,
    Entity,
    Entry,
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
from remanence.text.text import normalize_name


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


@dataclass(frozen=True, slots=True)
class RevisionPlan:
    """The event to write, if any, and the id of the entity to return; of a registration, also what is new."""

    event: Event | None
    entity_id: str
    created: bool = False
    added: tuple[str, ...] = ()


def plan_registration(
    known: KnownEntities, name: str, aliases: Sequence[Alias], kind: str | None, observed_by: str | None, now: datetime
) -> RevisionPlan:
    """Give an entity a name, aliases and a kind."""
    registry, position = known.registry, known.position
    id_ = known.find_id(name, now) or entity_id(normalize_name(name))
    entity = registry.get(id_, position) or Entity(id_, name)
    registered = registry.has_display_name(id_, position)
    if not registered and _is_same_name(entity.name, name):
        entity = replace(entity, name=name)
    added = tuple(alias for alias in aliases if _is_new(known, entity, alias))
    for alias in added:
        _check_available(known, id_, alias)
    kind = None if kind == entity.kind and registered else kind
    if registered and not added and kind is None:
        return RevisionPlan(None, id_)
    names = tuple(alias.name for alias in added)
    created = known.get(id_) is None
    return RevisionPlan(Registered(id_, entity.name, added, kind, observed_by), id_, created, names)


def plan_rename(
    known: KnownEntities, name_or_id: str, name: str, observed_by: str | None, now: datetime
) -> RevisionPlan:
    """Change the display name of an entity."""
    entity = known.require(name_or_id, now)
    if entity.name == name and known.registry.has_display_name(entity.id, known.position):
        return RevisionPlan(None, entity.id)
    _check_available(known, entity.id, Alias(name))
    return RevisionPlan(Renamed(entity.id, name, observed_by), entity.id)


def plan_merge(
    known: KnownEntities, entity: str, into: str, why: str | None, observed_by: str | None, now: datetime
) -> RevisionPlan:
    """Merge one entity into another."""
    source, target = known.require(entity, now), known.require(into, now)
    if source.id == target.id:
        raise InvalidInput(
            f"{entity!r} and {into!r} are one entity already, {target.name!r} ({target.id}). "
            "Give two different entities."
        )
    return RevisionPlan(Merged(source.id, target.id, why, observed_by), target.id)


def plan_split(
    known: KnownEntities, name_or_id: str, names: Sequence[str], why: str | None, observed_by: str | None, now: datetime
) -> RevisionPlan:
    """Move some names of an entity to a new entity."""
    entity = known.require(name_or_id, now)
    spellings = {normalize_name(name): name for name in reversed(entity.names)}
    moved = dict.fromkeys(normalize_name(name) for name in names)
    for name in names:
        if normalize_name(name) not in spellings:
            raise NotFound(
                f"{entity.name!r} ({entity.id}) is not called {name!r}. Its names are {', '.join(entity.names)}."
            )
        if _is_same_name(name, entity.name):
            raise InvalidInput(
                f"{name!r} is the display name of {entity.id}, and it must keep a name. Split off other names, "
                f"or first rename it: space.entities.rename({entity.id!r}, ...)."
            )
    new_names = [spellings[form] for form in moved]
    new_id = known.registry.new_entity_id(new_names[0])
    return RevisionPlan(Split(entity.id, new_id, tuple(new_names), why, observed_by), new_id)


def plan_undo(
    known: KnownEntities, position: Position, entry: Entry | None, why: str | None, observed_by: str | None
) -> RevisionPlan:
    """Undo an earlier entry about an entity. Names and merges that the entry had ended are active again."""
    kinds = ("registered", "renamed", "merged", "split", "undone")
    if entry is None or entry.space != known.index.space or entry.kind not in kinds:
        raise NotFound(
            f"entry {position} is not about an entity of space {known.index.space!r}. "
            "Give what register, rename, merge or split returned, or its position."
        )
    if entry.kind == "undone":
        raise InvalidInput(f"entry {position} is an undo, which cannot be undone. Repeat what it undid.")
    problem = f"entry {position} ({entry.kind}) cannot be undone:"
    if (undone_by := known.registry.undone.get(position)) is not None:
        raise InvalidInput(f"{problem} entry {undone_by} has undone it already.")
    if (later := known.registry.spans.changed_since(position)) is not None:
        raise InvalidInput(
            f"{problem} entry {later} has changed the same. First undo that one: space.entities.undo({later})."
        )
    for name, owner in known.registry.contested_names(position, known.position):
        raise InvalidInput(
            f"{problem} it would restore the name {name!r}, which now belongs to {_label(known, owner)}. "
            "Split it off there, or merge the two."
        )
    return RevisionPlan(Undone(entry.subject, position, why, observed_by), entry.subject)


def _is_new(known: KnownEntities, entity: Entity, alias: Alias) -> bool:
    """Whether an alias adds something to an entity. An alias without a time adds nothing to one with a time."""
    if _is_same_name(alias.name, entity.name):
        if alias.valid.has_bound:
            raise InvalidInput(
                f"{alias.name!r} is the display name of {entity.id} now, so it cannot begin or end "
                f"({alias.valid}). First rename it: space.entities.rename({alias.name!r}, ...)."
            )
        return False
    windows = known.registry.name_windows(entity.id, alias.name, known.position)
    return alias.valid not in windows if alias.valid.has_bound else not windows


def _check_available(known: KnownEntities, entity: str, alias: Alias) -> None:
    for owner, valid in known.registry.owners_of_name(alias.name, alias.valid, known.position):
        if owner != entity:
            when = f" ({valid})" if valid.has_bound else ""
            raise InvalidInput(
                f"{alias.name!r} is already a name of {_label(known, owner)}{when}. If the two are one, use "
                f"space.entities.merge({entity!r}, {owner!r}); if the name passed from one to the other, "
                f"give each its time: ({alias.name!r}, valid_from, valid_until)."
            )


def _label(known: KnownEntities, entity: str) -> str:
    found = known.registry.get(entity, known.position)
    return entity if found is None else f"{found.name!r} ({entity})"


def _is_same_name(one: str, other: str) -> bool:
    return normalize_name(one) == normalize_name(other)
