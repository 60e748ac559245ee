"""The memories that stand now, each with its score: what every step starts from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np

from remanence import truth
from remanence.errors import InvalidInput
from remanence.index import Index, Vanished
from remanence.model import Memory, Sight, from_micros
from remanence.upkeep import decay
from remanence.upkeep.settings import UpkeepSettings
from remanence.usage import NEVER, Use

if TYPE_CHECKING:
    from remanence.ports import Progress

_CHUNK = 500
_DAY = 86_400.0


@dataclass(frozen=True, slots=True)
class Item:
    """A memory that stands: the row and line of its version, how it was used, and what it scores now."""

    memory: Memory
    row: int
    line: int
    use: Use
    score: float

    @property
    def strength(self) -> float:
        """How strong it is, with what use added."""
        return strength_of(self.memory, self.use)


@dataclass(frozen=True, slots=True)
class Standing:
    """All of them, as of one line of the ledger and one moment."""

    items: tuple[Item, ...]
    sight: Sight

    @property
    def position(self) -> int:
        """The last line that was known."""
        return self.sight.position

    def without(self, ids: Sequence[str]) -> Standing:
        """Those that are left once these are gone."""
        gone = set(ids)
        return Standing(tuple(item for item in self.items if item.memory.id not in gone), self.sight)


def standing(
    index: Index, now: datetime, settings: UpkeepSettings, progress: Progress | None = None
) -> Standing:
    """What stands now: not forgotten, expired, revised or superseded."""
    for attempt in range(3):
        try:
            return _standing(index, now, settings, progress)
        except Vanished:
            # Another process erased one of them between our looking and our reading.
            if attempt == 2:
                raise
            index.catch_up()
    raise AssertionError("the last attempt returns or raises")


def score_of(memory: Memory, use: Use, now: datetime, settings: UpkeepSettings) -> float:
    """What a memory scores now."""
    last = max(memory.revised_at, from_micros(use.moments[-1])) if use.moments else memory.revised_at
    days = (now - last).total_seconds() / _DAY
    base = settings.half_life_by_kind.get(memory.kind, settings.half_life_days)
    half_life = decay.stretched(base, memory.importance, settings.lasting_stretch)
    left = decay.retention(settings.decay, days, half_life)
    return decay.score(use.times, settings.beta, left, strength_of(memory, use))


def strength_of(memory: Memory, use: Use) -> float:
    """How strong a memory is, from 1 to 2, with what use added."""
    return min(2.0, max(1.0, memory.strength + use.boost))


def unchanged(index: Index, lines: Mapping[str, int], planned: int, *, use: bool = False) -> None:
    """Refuse a plan if one of the memories it is about, given with the lines of their versions, is not as
    it was when the plan was made; with `use`, also if one was used since."""
    catalog = index.catalog
    for memory, line in lines.items():
        row = index.shown_row(memory, catalog.position)
        if row is None or catalog.positions([row]) != [line]:
            raise _stale(memory, "is gone or has changed", planned)
        if use and index.usage.of(memory).line > planned:
            raise _stale(memory, "was used", planned)


def _stale(memory: str, what: str, planned: int) -> InvalidInput:
    return InvalidInput(
        f"this plan was made at ledger line {planned}, and memory {memory!r} {what} since. "
        "Nothing was done. Make the plan anew."
    )


def _standing(index: Index, now: datetime, settings: UpkeepSettings, progress: Progress | None) -> Standing:
    with index.lock:
        sight = index.sight(index.catalog.position, now)
        rows = np.flatnonzero(sight.rows)
        rows = rows[index.catalog.current(rows, sight.position, now)]
        rows = rows[truth.standing(index, rows, sight)]
    return Standing(tuple(_items(index, rows.tolist(), now, settings, progress)), sight)


def _items(
    index: Index, rows: Sequence[int], now: datetime, settings: UpkeepSettings, progress: Progress | None
) -> Iterator[Item]:
    for begin in range(0, len(rows), _CHUNK):
        some = rows[begin : begin + _CHUNK]
        with index.lock:  # for a moment each: others recall meanwhile
            memories, lines = index.memories(some), index.catalog.positions(some)
            used = index.usage.used
            for row, line, memory in zip(some, lines, memories, strict=True):
                use = used.get(memory.id, NEVER)
                yield Item(memory, row, line, use, score_of(memory, use, now, settings))
        if progress is not None:
            progress(begin + len(some), len(rows))
