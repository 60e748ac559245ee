"""Hiding everything that came from a source, with what was derived from it, and showing it again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np

from remanence.errors import InvalidInput, NotFound
from remanence.events import Event, Quarantined, Released
from remanence.index.engine import inputs
from remanence.index.engine.identity import new_id
from remanence.index.index import Index
from remanence.schema import Memory, from_micros
from remanence.text.text import pluralize, truncate

if TYPE_CHECKING:
    from remanence.index.engine.engine import Engine
    from remanence.index.journal import QuarantineState


@dataclass(frozen=True, slots=True)
class Quarantine:
    """A source whose memories are hidden, or would be.

    Attributes:
        id: For `space.audit.release`; None if this is a preview.
        source: The source, observer or conversation.
        memories: What is hidden: what came from it, and what was derived from that alone.
        why: The reason.
        since: When it began; None if this is a preview.
        released: Whether it was undone.
    """

    id: str | None
    source: str
    memories: tuple[Memory, ...]
    why: str | None = None
    since: datetime | None = None
    released: bool = False

    def __str__(self) -> str:
        state = "would be hidden" if self.id is None else "visible again" if self.released else "hidden"
        count = pluralize(len(self.memories), "memory", "memories")
        lines = [f"quarantine of {self.source!r}: {count} {state}"]
        return "\n".join(
            [*lines, *(f"  {memory.id}  {truncate(' '.join(memory.text.split()), 80)}" for memory in self.memories)]
        )


def preview_quarantine(engine: Engine, space: str, source: str) -> Quarantine:
    """What a quarantine of this source would hide."""
    with engine.open_index(space) as index, index.lock:
        return Quarantine(None, source, _memories(index, _affected_memory_ids(index, source)))


def quarantine(engine: Engine, space: str, source: str, why: str | None) -> Quarantine:
    """Hide everything from a source."""

    def decide(index: Index) -> list[Event]:
        if any(known.source == source and known.released is None for known in index.journal.quarantines.values()):
            raise InvalidInput(f"source {source!r} is in quarantine already. `space.audit.quarantines()` lists it.")
        return [Quarantined(new_id(), source, tuple(_affected_memory_ids(index, source)), why)]

    [entry] = engine.write(space, decide)
    return get(engine, space, entry.subject)


def check_quarantine_id(value: object) -> str:
    """The id of a quarantine, given by it or by its id."""
    if isinstance(value, Quarantine) and value.id is None:
        raise InvalidInput(f"this is a preview: nothing of {value.source!r} is hidden, so there is nothing to release.")
    return inputs.check_text(value.id if isinstance(value, Quarantine) else value, "id")


def release(engine: Engine, space: str, quarantine_id: str, why: str | None) -> Quarantine:
    """Show what a quarantine has hidden, except memories that were forgotten or erased in the meantime."""

    def decide(index: Index) -> list[Event]:
        state = _state(index, quarantine_id)
        if state.released is not None:
            return []
        numbers = {memory: index.catalog.number(memory) for memory in state.memories}
        others = {
            memory
            for other in index.journal.quarantines.values()
            if other.id != state.id and other.released is None
            for memory in other.memories
        }
        shown = [memory_id for memory_id, number in numbers.items() if number is not None and memory_id not in others]
        return [Released(state.id, tuple(shown), why)]

    engine.write(space, decide)
    return get(engine, space, quarantine_id)


def get(engine: Engine, space: str, quarantine_id: str) -> Quarantine:
    with engine.open_index(space) as index, index.lock:
        return _quarantine(index, _state(index, quarantine_id))


def all_quarantines(engine: Engine, space: str) -> list[Quarantine]:
    """Every quarantine of a space, oldest first, released ones too."""
    with engine.open_index(space) as index, index.lock:
        return [_quarantine(index, state) for state in index.journal.quarantines.values()]


def _state(index: Index, quarantine_id: str) -> QuarantineState:
    state = index.journal.quarantines.get(quarantine_id)
    if state is None:
        raise NotFound(f"space {index.space!r} has no quarantine {quarantine_id!r}. See `space.audit.quarantines()`.")
    return state


def _quarantine(index: Index, state: QuarantineState) -> Quarantine:
    memories = _memories(index, state.memories)
    return Quarantine(
        state.id,
        state.source,
        memories,
        state.why,
        from_micros(state.hidden_at_micros),
        released=state.released is not None,
    )


def _affected_memory_ids(index: Index, source: str) -> list[str]:
    """The visible memories whose present version is from a source, or was derived from what is."""
    position = index.catalog.position
    rows = index.rows_from_sources((source,), position)
    current = index.catalog.restrict_to_active(index.catalog.visible_mask(position), position)
    numbers = [index.catalog.memory_of(row) for row in np.flatnonzero(rows & current).tolist()]
    return [index.catalog.ids[number] for number in dict.fromkeys(numbers)]


def _memories(index: Index, ids: Sequence[str]) -> tuple[Memory, ...]:
    position = index.catalog.position
    numbers = (index.catalog.number(id_) for id_ in ids)
    rows = [index.catalog.row_at(number, position) for number in numbers if number is not None]
    return tuple(index.readable_memories([row for row in rows if row is not None]))
