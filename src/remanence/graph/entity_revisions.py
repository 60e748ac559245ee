"""Plans for changes to entities: the event to write, or an error with the reason why it is refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from remanence.errors import InvalidInput, NotFound
from remanence.events import Event, Merged, Registered, Renamed, Split, Undone
from remanence.graph.graph_at_time import KnownEntities
from remanence.index.names.entity_records import entity_id
from remanence.schema import Alias, Entity, Entry
from remanence.text.text import normalize_name


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
    known: KnownEntities, position: int, entry: Entry | None, why: str | None, observed_by: str | None
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
