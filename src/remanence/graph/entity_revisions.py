"""What somebody wants to say about entities, made into the line that says it, or refused with the reason.

A plan is made twice: once before the pen is taken, for the words that will want a vector, and once with
the pen in hand, for what is written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from remanence.errors import InvalidInput, NotFound
from remanence.events import Event, Merged, Registered, Renamed, Split, Undone
from remanence.graph.known_entities import KnownEntities
from remanence.language.text import normalize_name
from remanence.schema import Alias, Entity, Entry
from remanence.state.entity_registry import EntityName, describe_entity, entity_id

_REVISING = ("registered", "renamed", "merged", "split")


@dataclass(frozen=True, slots=True)
class RevisionPlan:
    """A line to write, if any; the id of the entity to show after; and the texts to embed."""

    event: Event | None
    entity_id: str
    texts_to_embed: tuple[str, ...] = ()
    created: bool = False
    added: tuple[str, ...] = ()


def plan_registration(
    known: KnownEntities, name: str, aliases: Sequence[Alias], kind: str | None, by: str | None, now: datetime
) -> RevisionPlan:
    """That an entity goes by a name and by others, and is of a kind."""
    registry, position = known.registry, known.position
    id_ = known.find_id(name, now) or entity_id(normalize_name(name))
    there = registry.get(id_, position) or Entity(id_, name)
    called = registry.has_display_name(id_, position)
    if not called and _same(there.name, name):
        there = replace(there, name=name)
    added = tuple(alias for alias in aliases if _is_new(known, there, alias))
    for alias in added:
        _refuse_taken(known, id_, alias)
    kind = None if kind == there.kind and called else kind
    created = known.get(id_) is None
    if called and not added and kind is None:
        return RevisionPlan(None, id_)
    kept = [
        each
        for each in registry.names_of(id_, position)
        if not any(_same(each.spelling, new.name) and each.valid.overlaps(new.valid) for new in added)
    ]
    names = tuple(alias.name for alias in added)
    words = _described(known, there.name, kept, names, kind or registry.registered_kind(id_, position))
    return RevisionPlan(Registered(id_, there.name, added, kind, by), id_, (words,), created, names)


def plan_rename(known: KnownEntities, given: str, name: str, by: str | None, now: datetime) -> RevisionPlan:
    """That an entity is called something else from now on."""
    entity = known.require(given, now)
    if entity.name == name and known.registry.has_display_name(entity.id, known.position):
        return RevisionPlan(None, entity.id)
    _refuse_taken(known, entity.id, Alias(name))
    said = known.registry.registered_kind(entity.id, known.position)
    words = _described(known, name, known.registry.names_of(entity.id, known.position), (), said)
    return RevisionPlan(Renamed(entity.id, name, by), entity.id, (words,))


def plan_merge(known: KnownEntities, a: str, b: str, why: str | None, by: str | None, now: datetime) -> RevisionPlan:
    """That one entity is part of another from now on."""
    part, whole = known.require(a, now), known.require(b, now)
    if part.id == whole.id:
        raise InvalidInput(
            f"{a!r} and {b!r} are one entity already, {whole.name!r} ({whole.id}): there is nothing to merge."
        )
    both = (whole.id, part.id)
    kinds = [known.registry.registered_kind(id_, known.position) for id_ in both]
    names = [each for id_ in both for each in known.registry.names_of(id_, known.position)]
    _, name = known.registry.display_name_among(whole.id, names, known.position)
    words = _described(known, name, names, (), kinds[0] or kinds[1])
    return RevisionPlan(Merged(part.id, whole.id, why, by), whole.id, (words,))


def plan_split(
    known: KnownEntities, given: str, names: Sequence[str], why: str | None, by: str | None, now: datetime
) -> RevisionPlan:
    """That some names of an entity are those of another one from now on."""
    entity = known.require(given, now)
    forms = {normalize_name(name): name for name in reversed(entity.names)}
    wanted = dict.fromkeys(normalize_name(name) for name in names)
    for name in names:
        if normalize_name(name) not in forms:
            raise NotFound(
                f"{entity.name!r} ({entity.id}) is not called {name!r}. It goes by {', '.join(entity.names)}."
            )
        if _same(name, entity.name):
            raise InvalidInput(
                f"{name!r} is what {entity.id} is called, and it must keep a name. Split others off, "
                f"or first call it something else: space.entities.rename({entity.id!r}, ...)."
            )
    apart = [forms[form] for form in wanted]
    into = known.registry.fresh_id(apart[0])
    every = known.registry.names_of(entity.id, known.position)
    said = known.registry.registered_kind(entity.id, known.position)
    theirs = [each for each in every if normalize_name(each.spelling) in wanted]
    rest = [each for each in every if each not in theirs]
    _, name = known.registry.display_name_among(entity.id, rest, known.position)
    words = (_described(known, name, rest, (), said), _described(known, apart[0], theirs, (), said))
    return RevisionPlan(Split(entity.id, into, tuple(apart), why, by), into, words)


def plan_undo(known: KnownEntities, position: int, line: Entry | None, why: str | None, by: str | None) -> RevisionPlan:
    """That an earlier line about an entity holds no longer. What it had closed holds again."""
    if line is None or line.space != known.index.space or line.kind not in (*_REVISING, "undone"):
        raise NotFound(
            f"line {position} says nothing about an entity of space {known.index.space!r}. "
            "Give what register, rename, merge or split returned, or its position."
        )
    if line.kind == "undone":
        raise InvalidInput(f"line {position} is an undoing, which cannot be undone. Do again what it took back.")
    if (by_line := known.registry.undone_by(position)) is not None:
        raise InvalidInput(f"line {position} ({line.kind}) was undone already, by line {by_line}.")
    if (later := known.registry.changed_since(position)) is not None:
        raise InvalidInput(
            f"line {position} ({line.kind}) cannot be undone: line {later} has changed what it said. "
            f"First undo that one: space.entities.undo({later})."
        )
    for name, holder in known.registry.contested_names(position, known.position):
        raise InvalidInput(
            f"line {position} ({line.kind}) cannot be undone: the name {name!r}, which would come back, is "
            f"now that of {_shown(known, holder)}. Split it off there, or merge the two."
        )
    return RevisionPlan(Undone(line.subject, position, why, by), line.subject)


def _is_new(known: KnownEntities, entity: Entity, alias: Alias) -> bool:
    """Whether an alias says something of an entity that is not known. No time given is no news of time."""
    if _same(alias.name, entity.name):
        if alias.valid.has_bound:
            raise InvalidInput(
                f"{alias.name!r} is what {entity.id} is called now, so it cannot end or begin "
                f"({alias.valid}). First call it something else: space.entities.rename({alias.name!r}, ...)."
            )
        return False
    windows = known.registry.name_windows(entity.id, alias.name, known.position)
    return alias.valid not in windows if alias.valid.has_bound else not windows


def _refuse_taken(known: KnownEntities, entity: str, alias: Alias) -> None:
    for holder, valid in known.registry.owners_of_name(alias.name, alias.valid, known.position):
        if holder != entity:
            when = f" ({valid})" if valid.has_bound else ""
            raise InvalidInput(
                f"{alias.name!r} is already a name of {_shown(known, holder)}{when}. If the two are one, use "
                f"space.entities.merge({entity!r}, {holder!r}); if the name passed from one to the other, "
                f"give each its time: ({alias.name!r}, valid_from, valid_until)."
            )


def _described(
    known: KnownEntities, name: str, names: Sequence[EntityName], more: Sequence[str], kind: str | None
) -> str:
    """The description of what will be called so, go by these names and some more, and be of this kind."""
    others = [each.spelling for each in names] + list(more)
    numbers = (known.index.names.number(each) for each in (name, *others))
    implied = known.registry.kind_of_names(number for number in numbers if number is not None)
    return describe_entity(name, [each for each in others if not _same(each, name)], kind or implied)


def _shown(known: KnownEntities, entity: str) -> str:
    there = known.registry.get(entity, known.position)
    return entity if there is None else f"{there.name!r} ({entity})"


def _same(one: str, other: str) -> bool:
    return normalize_name(one) == normalize_name(other)
