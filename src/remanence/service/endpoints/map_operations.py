"""The operations that show a whole space at once: the map of its entities, what was learned last, and each day."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Annotated

import numpy as np
from pydantic import Field

from remanence.graph.entity_map import EntityMap, place_nodes
from remanence.service.operation import operation, view_of
from remanence.service.payloads.base_answers import AnswerModel, Items, MemoryAnswer, Time
from remanence.service.payloads.base_requests import PageSize, ReadRequest
from remanence.service.payloads.requests import EmptyRequest
from remanence.space.space import Space

_PLACED_FROM = 800
"""A browser orders as many nodes by forces within a second."""
_MAX_LAYOUTS = 16


class MapRequest(ReadRequest):
    """How many entities to show at most."""

    limit: Annotated[int, Field(ge=1, le=10_000)] = 5_000


class RecentRequest(ReadRequest):
    """How many memories to list."""

    limit: PageSize = 20


class DayAnswer(AnswerModel):
    """A day (UTC), and how many versions of memories were learned on it."""

    day: str
    learned: int


class DaysAnswer(AnswerModel):
    """The days on which anything was learned, oldest first, and the present moment by the clock of the space."""

    items: list[DayAnswer]
    now: Time


@operation("GET", "/graph/map", slow=True)
def entity_map(space: Space, request: MapRequest) -> EntityMap:
    """List the entities, the most important first, and which of them belong together.

    With more than 800 entities, `coordinates` has x and y of each.
    """
    entities_and_edges = view_of(space, request).graph.entity_map(limit=request.limit)
    if len(entities_and_edges.nodes) <= _PLACED_FROM:
        return entities_and_edges
    edges = np.array([(edge.source, edge.target, edge.weight) for edge in entities_and_edges.edges], np.int64).reshape(
        -1, 3
    )
    return replace(entities_and_edges, coordinates=_coordinates(len(entities_and_edges.nodes), edges.tobytes()))


@lru_cache(_MAX_LAYOUTS)
def _coordinates(count: int, edges: bytes) -> tuple[tuple[float, float], ...]:
    """Coordinates of the nodes of a map, cached by edges. The cache contains no text."""
    triples = np.frombuffer(edges, np.int64).reshape(-1, 3).tolist()
    points = place_nodes(count, [(source, target, weight) for source, target, weight in triples])
    return tuple([(x, y) for x, y in points.round(1).tolist()])


@operation("GET", "/days")
def days(space: Space, request: EmptyRequest) -> DaysAnswer:
    """Count what was learned on each day."""
    with space._engine.open_index(space.name) as index, index.lock:
        found, counts = np.unique(index.catalog.times.recording_days(), return_counts=True)
    items = [DayAnswer(day=str(day), learned=count) for day, count in zip(found.tolist(), counts.tolist(), strict=True)]
    return DaysAnswer(items=items, now=space._now())


@operation("GET", "/recent")
def recent(space: Space, request: RecentRequest) -> Items[MemoryAnswer]:
    """List the memories that were learned last, newest first."""
    view = view_of(space, request)
    with view._engine.open_index(view.name) as index:
        rows = index.current_rows(view._position(index))[-request.limit :]
        return Items[MemoryAnswer].of(reversed(index.readable_memories(rows)))
