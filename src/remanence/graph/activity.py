"""How a space grows: memories by week and kind, and the entities that more and more memories mention."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from remanence.graph.graph_at_time import GraphAtTime
from remanence.schema import ASSISTANT, MEMORY_KINDS, MICROS_PER_DAY, SELF, micros

_WEEK = 7 * MICROS_PER_DAY
_MONDAY = 4 * MICROS_PER_DAY


@dataclass(frozen=True, slots=True)
class Week:
    """How many memories of each kind were told in the week from this Monday on."""

    monday: str
    kinds: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class GrowingEntity:
    """An entity that more memories of the last four weeks mention than of the four weeks before."""

    id: str
    name: str
    recent: int
    before: int


@dataclass(frozen=True, slots=True)
class Activity:
    """The weeks in which anything was told, oldest first, and what is growing, the fastest first. The last four weeks
    are those before `until`, the moment of the last memory."""

    weeks: tuple[Week, ...]
    growing: tuple[GrowingEntity, ...]
    until: str | None = None


def activity(graph: GraphAtTime, limit: int) -> Activity:
    """The activity of a view, with at most `limit` growing entities. Use it with the lock of the index."""
    catalog, snapshot = graph.index.catalog, graph.snapshot
    rows = np.flatnonzero(snapshot.row_mask)
    told = np.minimum(catalog.times.told[rows], micros(snapshot.now))
    if not len(rows):
        return Activity((), ())
    weeks = (told - _MONDAY) // _WEEK
    kinds = catalog.attributes.kinds[rows]
    counted = []
    for week in np.unique(weeks).tolist():
        counts = np.bincount(kinds[weeks == week], minlength=len(MEMORY_KINDS)).tolist()
        monday = str(np.datetime64(int(week) * _WEEK + _MONDAY, "us"))[:10]
        counted.append(Week(monday, {kind: n for kind, n in zip(MEMORY_KINDS, counts, strict=True) if n}))
    end = int(told.max())
    told_at = dict(zip(rows.tolist(), told.tolist(), strict=True))
    recent, before = Counter[int](), Counter[int]()
    for row, entities in graph.entities_by_row():
        age = end - told_at.get(row, 0)
        (recent if age < 4 * _WEEK else before).update(entities if age < 8 * _WEEK else ())
    order = sorted((n for n in recent if recent[n] >= 3), key=lambda n: (before[n] - recent[n], n))
    growing: list[GrowingEntity] = []
    for number in order:
        entity = graph.entity(number)
        if len(growing) == limit or recent[number] <= before[number]:
            break
        if entity is not None and entity.name not in (SELF, ASSISTANT):
            growing.append(GrowingEntity(entity.id, entity.name, recent[number], before[number]))
    return Activity(tuple(counted), tuple(growing), str(np.datetime64(end, "us")))
