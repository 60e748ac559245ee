"""The current memories with their scores, which every step starts from; and checks that a plan still fits them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from remanence.core.index import Index, RowErased
from remanence.ports import Progress
from remanence.read import supersession
from remanence.schema import Memory, Snapshot
from remanence.state.usage import MemoryUsage
from remanence.upkeep.decay import score_of
from remanence.upkeep.settings import UpkeepSettings
from remanence.upkeep.step_tools import StalePlan, batches

_CHUNK = 500


@dataclass(frozen=True, slots=True)
class ScoredMemory:
    """A current memory: the row and ledger position of its version, its usage, and its score now."""

    memory: Memory
    row: int
    position: int
    usage: MemoryUsage
    score: float


@dataclass(frozen=True, slots=True)
class ScoredMemories:
    """All current memories of a space, as of one ledger position and moment."""

    items: tuple[ScoredMemory, ...]
    snapshot: Snapshot

    @property
    def position(self) -> int:
        """The last ledger position that was read."""
        return self.snapshot.position

    def without(self, ids: Iterable[str]) -> ScoredMemories:
        """The same without some memories."""
        excluded = set(ids)
        return ScoredMemories(tuple(item for item in self.items if item.memory.id not in excluded), self.snapshot)


def score_memories(
    index: Index, now: datetime, settings: UpkeepSettings, progress: Progress | None = None
) -> ScoredMemories:
    """The memories that are neither forgotten, expired, revised nor superseded."""
    while True:
        with index.lock:
            snapshot = index.snapshot(index.catalog.position, now)
            rows = np.flatnonzero(snapshot.row_mask)
            rows = rows[_current_mask(index, rows, snapshot)]
        try:
            return ScoredMemories(tuple(_scored(index, rows.tolist(), now, settings, progress)), snapshot)
        except RowErased:
            index.catch_up()  # another process erased a memory before its text was read


def check_unchanged(index: Index, positions: Mapping[str, int], *, used_after: int | None = None) -> None:
    """Raise StalePlan if one of these memories, given with the positions of their versions, is hidden or
    has another version by now; or was used after a position, if one is given."""
    catalog = index.catalog
    for memory, position in positions.items():
        row = index.current_row(memory, catalog.position)
        if row is None or catalog.positions_of_rows([row]) != [position]:
            raise StalePlan(f"memory {memory!r} was hidden or has changed")
        if used_after is not None and index.usage.get(memory).line > used_after:
            raise StalePlan(f"memory {memory!r} was used")


def check_current(
    index: Index,
    positions: Mapping[str, int],
    now: datetime,
    *,
    used_after: int | None = None,
    unlinked: Iterable[tuple[str, str]] = (),
) -> None:
    """Raise StalePlan as `check_unchanged` does, and also if one of the memories has expired or was superseded,
    or if two of those that should be unlinked are linked."""
    with index.lock:
        check_unchanged(index, positions, used_after=used_after)
        snapshot = index.snapshot(index.catalog.position, now)
        rows = [index.current_row(memory, snapshot.position) for memory in positions]
        current = _current_mask(index, np.array(rows, np.int64), snapshot)
    for memory, is_current in zip(positions, current.tolist(), strict=True):
        if not is_current:
            raise StalePlan(f"memory {memory!r} was replaced or has expired")
    for memory, other in unlinked:
        if are_linked(index, memory, other, snapshot):
            raise StalePlan(f"memories {memory!r} and {other!r} were linked")


def are_linked(index: Index, memory: str, other: str, snapshot: Snapshot) -> bool:
    """Whether there is a valid link of any kind between two memories."""
    with index.lock:
        number = index.catalog.number(memory)
        links = [] if number is None else index.links.links_of(number, snapshot, at=snapshot.now)
    return any(other in (link.source, link.target) for link in links)


def _current_mask(index: Index, rows: NDArray[np.int64], snapshot: Snapshot) -> NDArray[np.bool_]:
    """Which of these rows have neither expired nor been superseded."""
    mask = index.catalog.current(rows, snapshot.position, snapshot.now)
    mask[mask] = supersession.current_mask(index, rows[mask], snapshot)
    return mask


def _scored(
    index: Index, rows: Sequence[int], now: datetime, settings: UpkeepSettings, progress: Progress | None
) -> Iterator[ScoredMemory]:
    for chunk in batches(rows, _CHUNK, progress):
        with index.lock:  # briefly for each chunk, so that others can recall in between
            memories, positions = index.memories(chunk), index.catalog.positions_of_rows(chunk)
            for row, position, memory in zip(chunk, positions, memories, strict=True):
                usage = index.usage.get(memory.id)
                yield ScoredMemory(memory, row, position, usage, score_of(memory, usage, now, settings))
