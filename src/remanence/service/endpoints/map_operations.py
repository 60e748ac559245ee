"""The operations that show a whole space at once: the map of its entities, what was learned last, and each day."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

import numpy as np
from pydantic import Field

from remanence.recall.profile import ProfilePart, build_profile_part
from remanence.schema import Memory
from remanence.service.operation import method_operation, operation
from remanence.service.requests import MaxTokens, PageSize
from remanence.space.facets.graph_view import GraphView
from remanence.space.space import Space
from remanence.space.view import View


@dataclass(frozen=True)
class Day:
    """A day (UTC), and how many versions of memories were learned on it."""

    day: str
    learned: int


@dataclass(frozen=True)
class Days:
    """The days on which anything was learned, oldest first, and the present moment by the clock of the space."""

    items: tuple[Day, ...]
    now: datetime


entity_map = method_operation(
    "GET", "/graph/map", GraphView.entity_map, slow=True, limit=Annotated[int, Field(ge=1, le=10_000)]
)
activity = method_operation("GET", "/activity", GraphView.activity, slow=True)


@operation("GET", "/profile/part", slow=True)
def profile_part(
    view: View,
    max_tokens: MaxTokens = 600,
    latest: Annotated[int, Field(ge=1, le=10_000)] = 400,
    steps: Annotated[int, Field(ge=1, le=1_000)] = 100,
) -> ProfilePart:
    """Read some more of the latest memories for the profile, and list the lines that are known so far. Ask again until
    `read` is `wanted`."""
    return build_profile_part(
        view._engine, view.name, view._position, view._moment, max_tokens, latest=latest, steps=steps
    )


@operation("GET", "/days")
def days(space: Space) -> Days:
    """Count what was learned on each day."""
    with space._engine.open_index(space.name) as index, index.lock:
        found, counts = np.unique(index.catalog.times.recording_days(), return_counts=True)
    items = [Day(str(day), learned) for day, learned in zip(found.tolist(), counts.tolist(), strict=True)]
    return Days(tuple(items), space._now())


@operation("GET", "/recent")
def recent(view: View, limit: PageSize = 20) -> list[Memory]:
    """List the memories that were learned last, newest first."""
    with view._engine.open_index(view.name) as index:
        rows = index.current_rows(view._position(index))[-limit:]
        return index.readable_memories(rows)[::-1]
