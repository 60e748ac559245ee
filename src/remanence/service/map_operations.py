"""The operations that show a whole space at once: the map of its entities, what was learned last, and each day."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field

from remanence.api.space import Space
from remanence.graph.entity_map import EntityMap
from remanence.service.memory_operations import MemoriesAnswer
from remanence.service.nouns import Answer, MemoryAnswer, Time
from remanence.service.operation import operation, view_of
from remanence.service.requests import Empty, PageSize, ReadRequest


class MapRequest(ReadRequest):
    """How many entities to show at most."""

    limit: Annotated[int, Field(ge=1, le=10_000)] = 5_000


class RecentRequest(ReadRequest):
    """How many memories to list."""

    limit: PageSize = 20


class DayAnswer(Answer):
    """A day (UTC), and how many versions of memories were learned on it."""

    day: str
    learned: int


class DaysAnswer(Answer):
    """The days on which anything was learned, oldest first, and the present moment by the clock of the space."""

    items: list[DayAnswer]
    now: Time


@operation("GET", "/graph/map", slow=True)
def entity_map(space: Space, request: MapRequest) -> EntityMap:
    """List the entities, the most important first, and which of them belong together."""
    return view_of(space, request).graph.map(limit=request.limit)


@operation("GET", "/days")
def days(space: Space, request: Empty) -> DaysAnswer:
    """Count what was learned on each day."""
    with space._engine.open_index(space.name) as index, index.lock:
        found, counts = np.unique(index.catalog.recording_days(), return_counts=True)
    items = [DayAnswer(day=str(day), learned=count) for day, count in zip(found.tolist(), counts.tolist(), strict=True)]
    return DaysAnswer(items=items, now=space._now().isoformat())


@operation("GET", "/recent")
def recent(space: Space, request: RecentRequest) -> MemoriesAnswer:
    """List the memories that were learned last, newest first."""
    view = view_of(space, request)
    with view._engine.open_index(view.name) as index:
        rows = index.current_rows(view._position(index))[-request.limit :]
        return MemoriesAnswer(items=[MemoryAnswer.of(memory) for memory in reversed(index.readable_memories(rows))])
