"""The memories that stand now, each with its score: what every step starts from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from remanence.core.index import Index, Vanished
from remanence.read import supersession
from remanence.schema import Memory, Sight, from_micros
from remanence.state.usage import NEVER, Use
from remanence.upkeep import decay
from remanence.upkeep.settings import UpkeepSettings

if TYPE_CHECKING:
    from remanence.ports import Progress

_CHUNK = 500
_DAY = 86_400.0


class Stale(Exception):
    """What a plan is about is not as it was when the plan was made; it says what and how."""


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


def unchanged(index: Index, lines: Mapping[str, int], *, used_after: int | None = None) -> None:
    """Refuse if one of these memories, given with the lines of their versions, is hidden or has another
    version by now; or was used after a line, if one is given."""
    catalog = index.catalog
    for memory, line in lines.items():
        row = index.shown_row(memory, catalog.position)
        if row is None or catalog.positions([row]) != [line]:
            raise Stale(f"memory {memory!r} is gone or has changed")
        if used_after is not None and index.usage.of(memory).line > used_after:
            raise Stale(f"memory {memory!r} was used")


def still_standing(
    index: Index, lines: Mapping[str, int], now: datetime, *, used_after: int | None = None
) -> None:
    """Refuse as `unchanged` does, and also if one of these memories has stepped back for another."""
    with index.lock:
        unchanged(index, lines, used_after=used_after)
        sight = index.sight(index.catalog.position, now)
        shown = (index.shown_row(memory, sight.position) for memory in lines)
        rows = np.array([row for row in shown if row is not None], np.int64)
        stand = _stand(index, rows, sight)
    for memory, stands in zip(lines, stand.tolist(), strict=True):
        if not stands:
            raise Stale(f"memory {memory!r} was replaced or has expired")


def _stand(index: Index, rows: NDArray[np.int64], sight: Sight) -> NDArray[np.bool_]:
    """Which of these rows have neither expired nor stepped back for another."""
    out = index.catalog.current(rows, sight.position, sight.now)
    out[out] = supersession.standing(index, rows[out], sight)
    return out


def _standing(index: Index, now: datetime, settings: UpkeepSettings, progress: Progress | None) -> Standing:
    with index.lock:
        sight = index.sight(index.catalog.position, now)
        rows = np.flatnonzero(sight.rows)
        rows = rows[_stand(index, rows, sight)]
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
