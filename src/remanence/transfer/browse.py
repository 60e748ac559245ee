"""All memories of a space as a table: filtered, sorted, and a page at a time; and the values to filter by."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from remanence.index.index import Index
from remanence.recall.filters import RowFilter, filter_mask
from remanence.schema import Memory, Snapshot, micros
from remanence.schema.display import html_table
from remanence.transfer.overview import STATUSES, MemoryStatus, Overview

BrowseOrder: TypeAlias = Literal["told", "recorded", "importance", "trust", "kind", "source", "speaker"]
ORDERS: tuple[BrowseOrder, ...] = get_args(BrowseOrder)


@dataclass(frozen=True, slots=True)
class BrowsedMemory:
    """A row of the table: a memory, its status, whether it is in conflict with another one, and whether it is pinned
    (its strength is 2, so that it does not fade)."""

    memory: Memory
    status: MemoryStatus
    in_conflict: bool = False
    pinned: bool = False


@dataclass(frozen=True, slots=True)
class MemoryTable(Sequence[BrowsedMemory]):
    """A page of the memories that match, in the chosen order. `total` match, and `offset` is the place of the first of
    this page among them."""

    items: tuple[BrowsedMemory, ...]
    total: int
    offset: int = 0

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, index: Any) -> Any:
        return self.items[index]

    def _repr_html_(self) -> str:
        rows = [(item.memory.id, item.status, item.memory.text) for item in self.items]
        return html_table(f"{self.total:,} memories", ("id", "status", "memory"), rows)


@dataclass(frozen=True, slots=True)
class FilterValues:
    """What the memories of a space can be filtered by: each value with the number of memories that have it, of those
    that are neither hidden nor erased; for `statuses`, of all."""

    statuses: Mapping[str, int]
    kinds: Mapping[str, int]
    tags: Mapping[str, int]
    sources: Mapping[str, int]
    speakers: Mapping[str, int]
    in_conflict: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class BrowseFilter:
    """Which memories to list. None is no condition."""

    rows: RowFilter = field(default_factory=RowFilter)
    statuses: tuple[str, ...] | None = None
    """None lists all that are not erased."""
    since: datetime | None = None
    """Only memories told at this moment or later."""
    until: datetime | None = None
    """Only memories told before this moment."""
    max_trust: float | None = None
    """Only memories that are trusted less than this."""
    in_conflict: bool | None = None


def browse(
    index: Index,
    snapshot: Snapshot,
    filters: BrowseFilter,
    order: BrowseOrder,
    *,
    ascending: bool,
    offset: int,
    limit: int,
) -> MemoryTable:
    """One page of the table. Use it with the lock of the index."""
    overview, catalog = Overview(index, snapshot), index.catalog
    rows, statuses = overview.rows("all"), overview.all_statuses()
    wanted = STATUSES[:-1] if filters.statuses is None else filters.statuses
    matching = np.isin(statuses, [STATUSES.index(status) for status in STATUSES if status in wanted])
    if filters.rows != RowFilter():
        among = np.zeros(len(catalog), np.bool_)
        among[rows[matching]] = True
        matching &= filter_mask(filters.rows, index, among, snapshot.position)[rows]
    if filters.since is not None:
        matching &= catalog.times.told[rows] >= micros(filters.since)
    if filters.until is not None:
        matching &= catalog.times.told[rows] < micros(filters.until)
    if filters.max_trust is not None:
        matching &= catalog.attributes.trust[rows] < np.float32(filters.max_trust)
    conflicts = overview.rows_in_conflict()
    if filters.in_conflict is not None:
        matching &= np.isin(rows, conflicts) == filters.in_conflict
    rows, statuses = rows[matching], statuses[matching]
    chosen = _sorted(index, rows, order, ascending=ascending)[offset : offset + limit]
    page, page_statuses = rows[chosen], statuses[chosen]
    in_conflict = set(conflicts.tolist())
    items = [
        BrowsedMemory(memory, STATUSES[status], row in in_conflict, memory.strength >= PINNED)
        for memory, status, row in zip(
            index.memories(page.tolist()), page_statuses.tolist(), page.tolist(), strict=True
        )
    ]
    return MemoryTable(tuple(items), len(rows), offset)


PINNED = 2.0


def filter_values(index: Index, snapshot: Snapshot) -> FilterValues:
    """What the memories can be filtered by. Use it with the lock of the index."""
    overview = Overview(index, snapshot)
    rows = overview.rows("all")
    statuses = overview.all_statuses()
    counts = np.bincount(statuses, minlength=len(STATUSES)).tolist()
    visible = rows[snapshot.row_mask[rows]]
    attributes, fields = index.catalog.attributes, index.fields
    return FilterValues(
        {status: count for status, count in zip(STATUSES, counts, strict=True) if count},
        attributes.count_kinds(visible),
        _first(attributes.count_tags(visible)),
        _first(fields.count_sources(visible)),
        _first(fields.count_speakers(visible)),
        len(overview.rows_in_conflict()),
    )


def _first(counts: Mapping[str, int]) -> dict[str, int]:
    """The most frequent values: nobody reads a list of thousands."""
    return dict(list(counts.items())[:500])


def _sorted(index: Index, rows: NDArray[np.int64], order: BrowseOrder, *, ascending: bool) -> NDArray[np.int64]:
    """The places of these rows in the chosen order; among equal ones the newest first."""
    times, attributes, fields = index.catalog.times, index.catalog.attributes, index.fields
    keys: dict[BrowseOrder, Callable[[NDArray[np.int64]], NDArray[Any]]] = {
        "told": times.told.__getitem__,
        "recorded": times.recorded.__getitem__,
        "importance": attributes.importance.__getitem__,
        "trust": attributes.trust.__getitem__,
        "kind": attributes.kinds.__getitem__,
        "source": fields.source_ranks,
        "speaker": fields.speaker_ranks,
    }
    values = keys[order](rows)
    places: NDArray[np.int64] = np.lexsort((-rows, values if ascending else -values.astype(np.float64)))
    return places
