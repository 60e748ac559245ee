"""What somebody says outright: that two entities are related, two memories linked, how a predicate behaves.

Everything is checked before the pen is taken, as far as it can be; the rest with the pen in hand, so that
two who say the same at once say it once. The very same again writes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import TypeAlias

from remanence.core import inputs
from remanence.core.engine import Engine
from remanence.core.identity import new_id
from remanence.core.index import Index
from remanence.core.inputs import Moment
from remanence.errors import InvalidInput, NotFound
from remanence.events import Declared, Event, Linked, Related
from remanence.schema import LINK_KINDS, Entity, Link, LinkKind, Memory, Relation, Snapshot
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
    *,
    valid_from: Moment | None = None,
    valid_until: Moment | None = None,
    confidence: float = 1.0,
    observed_by: str | None = None,
    evidence: MemoryRef | Iterable[MemoryRef] = (),
) -> Relation:
    """See `Graph.relate`."""
    now = engine.now()
    reads, window = parse_predicate(predicate), inputs.window(valid_from, valid_until, now)
    sure, who = _sure(confidence), check_observer(observed_by)
    ids = tuple(dict.fromkeys(_memory_ids(evidence)))
    ends = check_entity_ref(subject, "subject"), check_entity_ref(object, "object")
    said: list[str] = []

    def decide(index: Index) -> list[Event]:
        for memory_id in ids:
            _shown(index, memory_id)
        a, b = (entity_name(index, end) for end in ends)
        made = Related(new_id(), a, reads, b, window, sure, who, ids)
        there = index.relations.find_duplicate(made, current_snapshot(index, now))
        said.append(there or made.relation)
        return [] if there else [made]

    engine.write(space, decide)
    return get_relations(engine, space, said, now)[0]


def link(
    engine: Engine,
    space: str,
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
    """See `Graph.link`."""
    now = engine.now()
    window = inputs.window(valid_from, valid_until, now)
    source, target, reads = _memory_id(a), _memory_id(b), _kind(kind)
    sure, who, reason = _sure(confidence), check_observer(observed_by), inputs.reason(why)
    if source == target:
        raise InvalidInput(f"memory {source!r} cannot be linked to itself. Give two memories.")
    drawn: list[str] = []

    def decide(index: Index) -> list[Event]:
        _shown(index, source)
        _shown(index, target)
        made = Linked(new_id(), source, reads, target, window, sure, who, reason)
        there = index.links.find_duplicate(made, current_snapshot(index, now))
        drawn.append(there or made.link)
        return [] if there else [made]

    engine.write(space, decide)
    return get_links(engine, space, drawn, now)[0]


def declare(
    engine: Engine, space: str, predicate: str, *, single_valued: bool | None = None, inverse: str | None = None
) -> None:
    """See `Graph.declare`."""
    name = parse_predicate(predicate)
    other = None if inverse is None else parse_predicate(inverse, "inverse")
    if single_valued is not None and not isinstance(single_valued, bool):
        raise InvalidInput(f"single_valued={single_valued!r} is neither True nor False.")
    if single_valued is None and other is None:
        raise InvalidInput(f"nothing is said about {name!r}. Give single_valued=True or an inverse.")

    def decide(index: Index) -> list[Event]:
        position = index.catalog.position
        known_single = single_valued in (None, index.relations.declared_single_valued(name, position))
        known_inverse = other in (None, index.relations.inverse(name, position))
        return [] if known_single and known_inverse else [Declared(name, single_valued, other)]

    engine.write(space, decide)


def get_relations(engine: Engine, space: str, ids: Iterable[str], now: datetime) -> list[Relation]:
    """The relations with these ids, as they hold now."""
    with engine.open_index(space) as index, index.lock:
        sight = current_snapshot(index, now)
        return [found for one in ids if (found := index.relations.get(one, sight)) is not None]


def get_links(engine: Engine, space: str, ids: Iterable[str], now: datetime) -> list[Link]:
    """The links with these ids, as they hold now."""
    with engine.open_index(space) as index, index.lock:
        sight = current_snapshot(index, now)
        return [found for one in ids if (found := index.links.get(one, sight)) is not None]


# With the pen in hand


def current_snapshot(index: Index, now: datetime) -> Snapshot:
    return index.snapshot(index.catalog.position, now)


def _shown(index: Index, memory_id: str) -> None:
    """Refuse a memory that there is not, or that is forgotten: what is said of it could not be seen."""
    index.require_unerased(memory_id)
    if index.current_row(memory_id, index.catalog.position) is None:
        raise NotFound(f"memory {memory_id!r} is forgotten. Bring it back first: unforget({memory_id!r}).")


def entity_name(index: Index, given: EntityRef) -> str:
    """The name to write down for an entity: what was given, or what the entity is called by now."""
    if isinstance(given, Entity):
        there = index.registry.get(given.id, index.catalog.position)
        return given.name if there is None else there.name
    if not is_entity_id(given) or index.names.number(given) is not None:
        return given
    entity = index.registry.get(given, index.catalog.position)
    if entity is None:
        raise NotFound(f"space {index.space!r} has no entity {given!r}. Give a name, or an id from it.")
    return entity.name


# At the door


def check_entity_ref(given: EntityRef, what: str) -> EntityRef:
    """An entity, its id or a name, which can be written down."""
    name = inputs.storable_text(given.name if isinstance(given, Entity) else given, what)
    if not name.strip():
        raise InvalidInput(f"{what}={name!r} is blank. Give a name, an entity or its id.")
    if len(name) > inputs.MAX_NAME_LENGTH:
        raise InvalidInput(f"{what} has {len(name):,} characters. A name has at most {inputs.MAX_NAME_LENGTH}.")
    return given


def _memory_id(given: object) -> str:
    return given.id if isinstance(given, Memory) else inputs.memory_id(given)


def _memory_ids(given: MemoryRef | Iterable[MemoryRef]) -> list[str]:
    several = (given,) if isinstance(given, str | Memory) else given
    if not isinstance(several, Iterable):
        raise InvalidInput(f"evidence={given!r} is not a list of memories. Give memories or their ids.")
    return [_memory_id(each) for each in several]


def _kind(given: object) -> LinkKind:
    for kind in LINK_KINDS:
        if given == kind:
            return kind
    raise InvalidInput(f"kind={given!r} is no link between memories. The kinds are {', '.join(LINK_KINDS)}.")


def _sure(confidence: object) -> float:
    sure = inputs.fraction(confidence, "confidence")
    return 1.0 if sure is None else sure


def check_observer(given: str | None, what: str = "observed_by") -> str | None:
    return None if given is None else inputs.storable_text(given, what)
