"""What a decision would change, in sentences, before it is made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from remanence.errors import InvalidInput
from remanence.graph.assertions import plan_split
from remanence.graph.graph_at_time import GraphAtTime, KnownEntities
from remanence.index.index import Index
from remanence.recall.validity.superseded import unsuperseded_mask
from remanence.schema import Entity, Memory, Relation, Snapshot, Triple
from remanence.space.space import Space
from remanence.text.text import pluralize, truncate

_MAX_TEXT = 120
"""Letters of a memory that are quoted."""
_MAX_SHOWN = 5
"""Effects of one kind that a preview lists."""


@dataclass(frozen=True, slots=True)
class DecisionPreview:
    """The title of a decision, and its effects in sentences."""

    title: str
    effects: tuple[str, ...]


def preview_forget(space: Space, memory: str) -> DecisionPreview:
    """What forgetting a memory changes."""
    [details] = space.get_many(memory) or [None]
    if details is None or details.memory is None:
        raise InvalidInput(f"memory {memory!r} is not visible, so it cannot be forgotten. It may be forgotten already.")
    effects = ["No question about now finds it any more. Views of earlier days still show it."]
    alone = [statement(relation) for relation in details.relations if set(relation.evidence) <= {memory}]
    shared = [statement(relation) for relation in details.relations if not set(relation.evidence) <= {memory}]
    effects += [f"No longer known, as nothing else states it: {statement}." for statement in alone[:_MAX_SHOWN]]
    effects += [f"Still known from other memories: {statement}." for statement in shared[:_MAX_SHOWN]]
    effects += [
        f"Holds again: {quote(revived.text)}." for revived in _memories_made_current(space, memory)[:_MAX_SHOWN]
    ]
    return DecisionPreview(f"Forget {quote(details.memory.text)}", tuple(effects))


def statement(claim: Relation | Triple) -> str:
    """A claim as a sentence.

    >>> statement(Triple("Ana", "lives_in", "Porto"))
    'Ana lives in Porto'
    """
    words = f"{claim.subject} {claim.predicate.replace('_', ' ')} {claim.object}"
    return f"{words} ({claim.valid})" if isinstance(claim, Relation) and claim.valid.has_bound else words


def preview_restore(space: Space, memory: str) -> DecisionPreview:
    """What restoring a memory changes."""
    with space._engine.open_index(space.name) as index, index.lock:
        number = index.require_unerased(memory)
        if index.catalog.hidden.is_visible(number, index.catalog.position):
            raise InvalidInput(f"memory {memory!r} is neither forgotten nor archived, so there is nothing to restore.")
        [found] = index.memories(index.catalog.rows_of(number)[-1:])
        claims = [statement(triple) for triple in found.triples]
    effects = ["Questions find it again, and upkeep lets it decay as before."]
    effects += [f"It states again: {claim}." for claim in claims[:_MAX_SHOWN]]
    return DecisionPreview(f"Restore {quote(found.text)}", tuple(effects))


def preview_supersede(space: Space, memory: str, other: str) -> DecisionPreview:
    """What saying that one memory replaces another changes."""
    memories_by_id = {details.id: details.memory for details in space.get_many([memory, other])}
    newer, older = memories_by_id.get(memory), memories_by_id.get(other)
    if newer is None or older is None or memory == other:
        raise InvalidInput(f"memories {memory!r} and {other!r} are not two visible memories. Restore them first.")
    effects = [
        f"Questions about now are answered by {quote(newer.text)}.",
        f"{quote(older.text)} is kept, labelled as replaced. Questions about the past still find it.",
    ]
    if newer.told_at < older.told_at:
        effects.append(f"Note: it was told earlier ({newer.told_at:%Y-%m-%d}) than what it replaces.")
    return DecisionPreview(f"{quote(newer.text)} replaces {quote(older.text)}", tuple(effects))


def preview_merge(space: Space, entity: str, into: str) -> DecisionPreview:
    """What merging one entity into another changes."""
    with space._engine.open_index(space.name) as index, index.lock:
        known = KnownEntities(index, index.catalog.position)
        one, other = known.require(entity, space._now()), known.require(into, space._now())
        if one.id == other.id:
            raise InvalidInput(f"{entity!r} and {into!r} are one entity already, {one.name!r}.")
        memories, relations = _counts(index, space, one)
    become = "becomes a name" if len(one.names) == 1 else "become names"
    counts = f"{pluralize(memories, 'memory', 'memories')} and {pluralize(relations, 'relation')}"
    effects = (
        f"{_names(one.names)} {become} of {other.name}.",
        f"{counts} of {one.name} are then about {other.name}.",
        "Views of earlier days still show two.",
    )
    return DecisionPreview(f"Merge {one.name} into {other.name}", effects)


def preview_split(space: Space, entity: str, names: Sequence[str]) -> DecisionPreview:
    """What splitting names off an entity changes."""
    with space._engine.open_index(space.name) as index, index.lock:
        known = KnownEntities(index, index.catalog.position)
        known_entity = known.require(entity, space._now())
        plan_split(known, entity, names, None, None, space._now())  # raises if it is not possible
        visible = index.catalog.visible_mask(index.catalog.position)
        moved = sum(_mentions(index, visible, name) for name in names)
        remaining_mentions = sum(_mentions(index, visible, name) for name in known_entity.names if name not in names)
    moving = f"{pluralize(moved, 'mention')} by that name {'is' if moved == 1 else 'are'} then about it"
    effects = (
        f"A new entity is called {_names(names)}.",
        f"{moving}, and {remaining_mentions:,} stay with {known_entity.name}.",
        "Views of earlier days still show one.",
    )
    return DecisionPreview(f"Split {_names(names)} off {known_entity.name}", effects)


def _memories_made_current(space: Space, memory: str) -> list[Memory]:
    """The memories that hold again once this one is hidden."""
    with space._engine.open_index(space.name) as index, index.lock:
        rows = np.zeros(len(index.catalog), np.bool_)
        rows[index.catalog.rows_of(index.require_unerased(memory))] = True
        position = index.catalog.position
        before = index.snapshot(position, space._now())
        without = index.without_rows(rows)
        after = without.snapshot(position, space._now())
        replaced = np.array([row for row in np.flatnonzero(after.row_mask).tolist() if not rows[row]], np.int64)
        replaced = replaced[~_current(index, replaced, before)]
        return index.memories(replaced[_current(without, replaced, after)].tolist())


def _current(index: Index, rows: NDArray[np.int64], snapshot: Snapshot) -> NDArray[np.bool_]:
    return unsuperseded_mask(index, rows, snapshot) if len(rows) else np.zeros(0, np.bool_)


def _counts(index: Index, space: Space, entity: Entity) -> tuple[int, int]:
    """How many visible memories mention an entity, and how many relations it has."""
    snapshot = index.snapshot(index.catalog.position, space._now())
    graph = GraphAtTime(index, snapshot, any_time=True)
    node = graph.find(entity)
    memories = int(snapshot.row_mask[graph.rows_naming(node)].sum())
    return memories, len(index.relations.relations_of(node.number, snapshot))


def _mentions(index: Index, visible: NDArray[np.bool_], name: str) -> int:
    number = index.names.number(name)
    return 0 if number is None else int(visible[index.graph.rows_mentioning(number)].sum())


def quote(text: str) -> str:
    """The beginning of a text in quotation marks."""
    return f"“{truncate(text, _MAX_TEXT)}”"


def _names(names: Sequence[str]) -> str:
    return ", ".join(f"“{name}”" for name in names)
