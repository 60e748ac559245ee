"""The memories that stand now, each with its score: what every step starts from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from remanence.core.index import Index, RowErased
from remanence.read import supersession
from remanence.schema import Memory, Snapshot, from_micros
from remanence.state.usage import NEVER_USED, MemoryUsage
from remanence.upkeep import decay
from remanence.upkeep.settings import UpkeepSettings

if TYPE_CHECKING:
    from remanence.ports import Progress

_CHUNK = 500
_DAY = 86_400.0


class StalePlan(Exception):
    """What a plan is about is not as it was when the plan was made; it says what and how."""


@dataclass(frozen=True, slots=True)
class ScoredMemory:
    """A memory that stands: the row and line of its version, how it was used, and what it scores now."""

    memory: Memory
    row: int
    position: int
    use: MemoryUsage
    score: float

    @property
    def strength(self) -> float:
        """How strong it is, with what use added."""
        return strength_of(self.memory, self.use)


@dataclass(frozen=True, slots=True)
class ScoredMemories:
    """All of them, as of one line of the ledger and one moment."""

    items: tuple[ScoredMemory, ...]
    snapshot: Snapshot

    @property
    def position(self) -> int:
        """The last line that was known."""
        return self.snapshot.position

    def without(self, ids: Sequence[str]) -> ScoredMemories:
        """Those that are left once these are gone."""
        gone = set(ids)
        return ScoredMemories(tuple(item for item in self.items if item.memory.id not in gone), self.snapshot)


def score_memories(
    index: Index, now: datetime, settings: UpkeepSettings, progress: Progress | None = None
) -> ScoredMemories:
    """What stands now: not forgotten, expired, revised or superseded."""
    for attempt in range(3):
        try:
            return _standing(index, now, settings, progress)
        except RowErased:
            # Another process erased one of them between our looking and our reading.
            if attempt == 2:
                raise
            index.catch_up()
    raise AssertionError("the last attempt returns or raises")


def score_of(memory: Memory, use: MemoryUsage, now: datetime, settings: UpkeepSettings) -> float:
    """What a memory scores now."""
    last = max(memory.revised_at, from_micros(use.moments[-1])) if use.moments else memory.revised_at
    days = (now - last).total_seconds() / _DAY
    base = settings.half_life_by_kind.get(memory.kind, settings.half_life_days)
    half_life = decay.stretched_half_life(base, memory.importance, settings.lasting_stretch)
    left = decay.retention(settings.decay, days, half_life)
    return decay.score(use.times, settings.beta, left, strength_of(memory, use))


def strength_of(memory: Memory, use: MemoryUsage) -> float:
    """How strong a memory is, from 1 to 2, with what use added."""
    return min(2.0, max(1.0, memory.strength + use.boost))


def check_unchanged(index: Index, positions: Mapping[str, int], *, used_after: int | None = None) -> None:
    """Refuse if one of these memories, given with the lines of their versions, is hidden or has another
    version by now; or was used after a line, if one is given."""
    catalog = index.catalog
    for memory, line in positions.items():
        row = index.current_row(memory, catalog.position)
        if row is None or catalog.positions_of_rows([row]) != [line]:
            raise StalePlan(f"memory {memory!r} is gone or has changed")
        if used_after is not None and index.usage.get(memory).line > used_after:
            raise StalePlan(f"memory {memory!r} was used")


def check_current(index: Index, positions: Mapping[str, int], now: datetime, *, used_after: int | None = None) -> None:
    """Refuse as `unchanged` does, and also if one of these memories has stepped back for another."""
    with index.lock:
        check_unchanged(index, positions, used_after=used_after)
        sight = index.snapshot(index.catalog.position, now)
        shown = (index.current_row(memory, sight.position) for memory in positions)
        rows = np.array([row for row in shown if row is not None], np.int64)
        stand = _stand(index, rows, sight)
    for memory, stands in zip(positions, stand.tolist(), strict=True):
        if not stands:
            raise StalePlan(f"memory {memory!r} was replaced or has expired")


def _stand(index: Index, rows: NDArray[np.int64], sight: Snapshot) -> NDArray[np.bool_]:
    """Which of these rows have neither expired nor stepped back for another."""
    out = index.catalog.current(rows, sight.position, sight.now)
    out[out] = supersession.current_mask(index, rows[out], sight)
    return out


def _standing(index: Index, now: datetime, settings: UpkeepSettings, progress: Progress | None) -> ScoredMemories:
    with index.lock:
        sight = index.snapshot(index.catalog.position, now)
        rows = np.flatnonzero(sight.row_mask)
        rows = rows[_stand(index, rows, sight)]
    return ScoredMemories(tuple(_items(index, rows.tolist(), now, settings, progress)), sight)


def _items(
    index: Index, rows: Sequence[int], now: datetime, settings: UpkeepSettings, progress: Progress | None
) -> Iterator[ScoredMemory]:
    for begin in range(0, len(rows), _CHUNK):
        some = rows[begin : begin + _CHUNK]
        with index.lock:  # for a moment each: others recall meanwhile
            memories, lines = index.memories(some), index.catalog.positions_of_rows(some)
            used = index.usage.by_memory
            for row, line, memory in zip(some, lines, memories, strict=True):
                use = used.get(memory.id, NEVER_USED)
                yield ScoredMemory(memory, row, line, use, score_of(memory, use, now, settings))
        if progress is not None:
            progress(begin + len(some), len(rows))
