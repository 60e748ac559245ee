"""The operations that show a whole space at once: the map of its entities, and how much was learned each day."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field

from remanence.api.space import Space
from remanence.graph.entity_map import EntityMap
from remanence.service.nouns import Answer, Time
from remanence.service.operation import operation, view_of
from remanence.service.requests import Empty, ReadRequest


class MapRequest(ReadRequest):
    """How many entities to show at most."""

    limit: Annotated[int, Field(ge=1, le=10_000)] = 5_000


class DayAnswer(Answer):
    """A day (UTC), and how many versions of memories were learned on it."""

    day: str
    learned: int


class DaysAnswer(Answer):
    """The days on which anything was learned, oldest first, and the present moment by the clock of the space."""

    items: list[DayAnswer]
    now: Time


@operation("GET", "/graph/map")
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
