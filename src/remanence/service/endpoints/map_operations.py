"""The operations that show a whole space at once: the map of its entities, what was learned last, and each day."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from typing import Annotated

import numpy as np
from pydantic import Field

from remanence.graph.entity_map import EntityMap, place_nodes
from remanence.schema import Memory
from remanence.service.operation import operation
from remanence.service.requests import PageSize
from remanence.space.facets.graph_view import GraphView
from remanence.space.space import Space
from remanence.space.view import View

_PLACED_FROM = 800
"""A browser orders as many nodes by forces within a second."""
_MAX_LAYOUTS = 16


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


@operation("GET", "/graph/map", method=GraphView.entity_map, slow=True)
def entity_map(view: View, *, limit: Annotated[int, Field(ge=1, le=10_000)] = 5_000) -> EntityMap:
    """List the entities, the most important first, and which of them belong together.

    With more than 800 entities, `coordinates` has x and y of each.
    """
    entities_and_edges = view.graph.entity_map(limit=limit)
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
