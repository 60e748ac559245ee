"""The scores of current memories, which every step starts from: how they decay without use, how use raises
them, and which memories are at risk.

    score = uses^use_exponent * retention(days since last use) * strength

Every decay model leaves half after one half-life, and none reaches zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from remanence.events import Event, Used
from remanence.index.engine.engine import Engine
from remanence.index.index import Index
from remanence.index.journal import MemoryUsage
from remanence.index.memory_cache import RowErased
from remanence.index.numbers import Position, Row
from remanence.ports import Progress
from remanence.recall.validity.current import unexpired_current_mask
from remanence.schema import MEMORY_KINDS, PROCEDURE, Hit, HitUsage, Memory, Snapshot, from_micros, micros
from remanence.text.text import pluralize
from remanence.upkeep.plans import ResultTable, TableResult, batches

if TYPE_CHECKING:
    from remanence.upkeep.settings import UpkeepSettings

Urgency = Literal["high", "medium", "low"]
Action = Literal["reinforce", "gc candidate", "needs review"]

_IMPORTANCE_FACTOR = 16.0
"""How many times longer than usual the half-life of a memory of importance `DEFINING` is. Chosen by hand."""
ORDINARY, DEFINING = 0.5, 0.9
"""The importance, from 0 to 1, of what has the usual half-life, and of what has `_IMPORTANCE_FACTOR` times that. Chosen
by hand."""
_MIN_RETENTION = 1e-9
"""The lowest score: 0 would have no logarithm."""
_HIGH_BELOW, _MEDIUM_BELOW, _RISK_UNTIL = 0.15, 0.25, 0.35
"""The scores below which the urgency is high, and medium. What scores the last or more is not at risk. Chosen by
hand."""
RISK_ZONE = (_HIGH_BELOW, _RISK_UNTIL)
"""The scores at which a memory is about to fade, and a reminder helps."""
_IMPORTANT = 0.6
"""The importance, from 0 to 1, from which on a memory that fades is to be reinforced. Chosen by hand."""
_DAY = 86_400.0
"""Seconds of a day."""
_CHUNK = 500
"""Memories that are read at a time."""
_ROUNDING = 1e-5
"""By how much the score of a row may differ from that of its memory: columns have fewer digits."""
_BOOST = 0.1
"""How much a boost, or use in another domain, adds to the strength of a memory, which is from 0 to 2. Chosen by
hand."""
MAX_STRENGTH = 2.0
"""The highest strength, boosts included."""
_CROSS_DOMAIN_OVERLAP = 0.3
"""The share of its tags (Jaccard) that a use has in common with the memory, below which it is in another domain. Chosen
by hand."""

_POWER = 1.1
"""The exponent of forgetting by a power of time; half is left after one half-life. Chosen by hand."""
_POWER_SCALE = 2 ** (1 / _POWER) - 1
"""How much one half-life adds to the base of the power, so that half is left after it."""
_FAST_SHARE, _SLOWDOWN = 0.7, 10.0
"""The share of the fast component of the curve of two components, and how many times slower the other one is. Chosen by
hand."""
_FAST_RATE = 1.59676
"""Half-lives of the fast component in one half-life of the sum, so that half of the sum is left after it."""


def power_law(half_lives: Any) -> Any:
    """Fast at first, then ever slower: what is left after the first weeks lasts for months."""
    return (1 + half_lives * _POWER_SCALE) ** -_POWER


def exponential(half_lives: Any) -> Any:
    """Each half-life leaves half of the rest."""
    return 2**-half_lives


def two_component(half_lives: Any) -> Any:
    """Most decays quickly, the rest ten times slower."""
    fast = half_lives * _FAST_RATE
    return _FAST_SHARE * 2**-fast + (1 - _FAST_SHARE) * 2 ** -(fast / _SLOWDOWN)


_DECAY_CURVES: Mapping[str, Callable[[Any], Any]] = {
    "power_law": power_law,
    "exponential": exponential,
    "two_component": two_component,
}
"""What is left after so many half-lives: of a number, or of an array of them."""


def retention(model: str, days: Any, half_life: Any) -> Any:
    """The share that is left after this many days: of a number, or of an array of them."""
    return np.maximum(_MIN_RETENTION, _DECAY_CURVES[model](np.maximum(0.0, days) / half_life))


def decay_score(memory: Memory, usage: MemoryUsage, now: datetime, settings: UpkeepSettings) -> float:
    """The score of a memory now. Adding it counts as the first use."""
    days = (now - last_used(memory, usage)).total_seconds() / _DAY
    half_life = settings.half_life_by_kind.get(memory.kind, settings.half_life_days)
    return float(_score(settings, days, half_life, memory.importance, usage.use_count, memory.strength + usage.boost))


def _score(settings: UpkeepSettings, days: Any, half_life: Any, importance: Any, uses: Any, strength: Any) -> Any:
    """The score by days since the last use, and the rest: of numbers, or of arrays of them."""
    excess = np.maximum(0.0, importance - ORDINARY) / (DEFINING - ORDINARY)
    retained = retention(settings.decay, days, half_life * _IMPORTANCE_FACTOR**excess)
    return np.clip(strength, 1.0, MAX_STRENGTH) * (1.0 + uses) ** settings.use_exponent * retained


def review_priority(score: float) -> float:
    """How much a reminder of a memory helps, from 0 to 1: most in the middle of the zone of medium and low urgency.

    >>> review_priority(0.25), round(review_priority(0.2), 2), review_priority(0.1), review_priority(1.0)
    (1.0, 0.75, 0.0, 0.0)
    """
    low, high = RISK_ZONE
    return max(0.0, 1.0 - ((2 * score - low - high) / (high - low)) ** 2)


def last_used(memory: Memory, usage: MemoryUsage) -> datetime:
    """When a memory was last used, revised or added; one that was merged, when its sources were."""
    return from_micros(max(use_moments(memory, usage)))


def use_moments(memory: Memory, usage: MemoryUsage) -> list[int]:
    """When a memory was used, in microseconds. Being written counts, unless it was merged of others."""
    written = micros(memory.revised_at)
    return [*usage.used_at, written] if written > usage.merged_at or not usage.used_at else [*usage.used_at]


def hits_with_usage(index: Index, hits: Iterable[Hit], now: datetime, settings: UpkeepSettings) -> tuple[Hit, ...]:
    """These hits, each with how its memory was used and its decay score at `now`."""
    return tuple(replace(hit, usage=usage_of(index, hit.memory, now, settings)) for hit in hits)


def usage_of(index: Index, memory: Memory, now: datetime, settings: UpkeepSettings) -> HitUsage:
    """How a memory was used, and its scores at `now`."""
    usage = index.usage.get(memory.id)
    score, used, strength = (
        decay_score(memory, usage, now, settings),
        last_used(memory, usage),
        strength_of(memory, usage),
    )
    return HitUsage(score, usage.use_count, used, age_in_days(memory, now), strength, review_priority(score))


def age_in_days(memory: Memory, now: datetime) -> float:
    return max(0.0, (now - memory.recorded_at).total_seconds() / _DAY)


def strength_of(memory: Memory, usage: MemoryUsage) -> float:
    """The strength of a memory, from 1 to 2, with what its uses added."""
    return min(MAX_STRENGTH, max(1.0, memory.strength + usage.boost))


@dataclass(frozen=True, slots=True)
class ScoredMemory:
    """A current memory: the row and ledger position of its version, its usage, and its score now."""

    memory: Memory
    row: Row
    position: int
    usage: MemoryUsage
    score: float


@dataclass(frozen=True, slots=True)
class ScoredMemories:
    """All current memories of a space, as of one ledger position and moment."""

    items: tuple[ScoredMemory, ...]
    snapshot: Snapshot

    @property
    def position(self) -> Position:
        """The last ledger position that was read."""
        return self.snapshot.position

    def without(self, ids: Iterable[str]) -> ScoredMemories:
        """The same without some memories."""
        excluded = set(ids)
        return ScoredMemories(tuple(item for item in self.items if item.memory.id not in excluded), self.snapshot)


def score_memories(
    index: Index, now: datetime, settings: UpkeepSettings, progress: Progress | None, *, below: float | None = None
) -> ScoredMemories:
    """The memories that are neither forgotten, expired, revised nor superseded; with `below`, those that score less."""
    while True:
        with index.lock:
            snapshot, rows = _current_rows(index, now)
            if below is not None:
                rows = rows[row_scores(index, rows, now, settings)[0] < below * (1 + _ROUNDING)]
        try:
            items = tuple(_scored(index, rows.tolist(), now, settings, progress))
        except RowErased:
            index.catch_up()  # another process erased a memory before its text was read
            continue
        return ScoredMemories(tuple(item for item in items if below is None or item.score < below), snapshot)


def _current_rows(index: Index, now: datetime) -> tuple[Snapshot, NDArray[np.int64]]:
    snapshot = index.snapshot(index.catalog.position, now)
    # What worked is counted, and neither merged, linked nor forgotten by its age.
    procedures = index.catalog.attributes.mask_with_kinds_and_tags((PROCEDURE,), None)
    rows = np.flatnonzero(snapshot.row_mask & ~procedures)
    return snapshot, rows[unexpired_current_mask(index, rows, snapshot)]


def row_scores(
    index: Index, rows: NDArray[np.int64], now: datetime, settings: UpkeepSettings
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The score of each row, as `decay_score` computes it, and how often it was used; without reading texts."""
    attributes, catalog = index.catalog.attributes, index.catalog
    use_counts, boosts, last_uses, merged_at = np.zeros((4, len(catalog.ids)))
    for memory_id, all_uses in index.usage.by_memory.items():
        number = catalog.number(memory_id)
        if number is not None:
            usage = all_uses.up_to(micros(now))
            use_counts[number], boosts[number] = usage.use_count, usage.boost
            if usage.used_at:
                last_uses[number], merged_at[number] = max(usage.used_at), usage.merged_at
    numbers = catalog.memory_numbers[rows]
    uses, strength = use_counts[numbers], attributes.strength[rows] + boosts[numbers]
    written = catalog.times.recorded[rows]
    used_at = np.maximum(np.where(written > merged_at[numbers], written, 0), last_uses[numbers])
    half_lives = np.array([settings.half_life_by_kind.get(kind, settings.half_life_days) for kind in MEMORY_KINDS])
    days, importance = (micros(now) - used_at) / 1e6 / _DAY, attributes.importance[rows].astype(np.float64)
    return _score(settings, days, half_lives[attributes.kinds[rows]], importance, uses, strength), uses


def _scored(
    index: Index, rows: Sequence[Row], now: datetime, settings: UpkeepSettings, progress: Progress | None
) -> Iterator[ScoredMemory]:
    for chunk in batches(rows, _CHUNK, progress):
        with index.lock:  # briefly for each chunk, so that others can recall in between
            memories, positions = index.memories(chunk), index.catalog.positions_of_rows(chunk)
            for row, position, memory in zip(chunk, positions, memories, strict=True):
                usage = index.usage.get(memory.id)
                yield ScoredMemory(memory, row, position, usage, decay_score(memory, usage, now, settings))


@dataclass(frozen=True, slots=True)
class MemoryAtRisk:
    """A memory at risk: its score, how urgent that is, and what is suggested."""

    memory: str
    text: str
    score: float
    urgency: Urgency
    action: Action
    uses: int


@dataclass(frozen=True, slots=True)
class DecayReport(TableResult):
    """Every memory at risk, the lowest score first. It prints as a table.

    `average_score` and `average_uses` are those of all memories that were examined.
    """

    at_risk: tuple[MemoryAtRisk, ...]
    examined_count: int
    position: int
    average_score: float = 0.0
    average_uses: float = 0.0
    left_out: int = 0
    """How many more are at risk, and score higher than those that the limit kept."""

    def __len__(self) -> int:
        return len(self.at_risk)

    def __iter__(self) -> Iterator[MemoryAtRisk]:
        return iter(self.at_risk)

    @property
    def table(self) -> ResultTable:
        total = len(self.at_risk) + self.left_out
        title = f"decay: {total} of {pluralize(self.examined_count, 'memory', 'memories')} at risk"
        rows = [(r.score, r.urgency, r.action, r.uses, r.memory, r.text) for r in self.at_risk]
        return ResultTable(title, ("score", "urgency", "suggested", "uses", "id", "memory"), rows)


def find_at_risk(
    index: Index, now: datetime, settings: UpkeepSettings, progress: Progress | None, limit: int | None = None
) -> DecayReport:
    """The memories that score less than the upper end of the risk zone, or than `forget_below`. Only their texts are
    read."""
    while True:
        with index.lock:
            snapshot, rows = _current_rows(index, now)
            scores, uses = row_scores(index, rows, now, settings)
        low = np.flatnonzero(scores < max(_RISK_UNTIL, settings.forget_below))
        chosen = low if limit is None else low[np.argsort(scores[low], kind="stable")[:limit]]
        try:
            items = tuple(_scored(index, rows[np.sort(chosen)].tolist(), now, settings, progress))
        except RowErased:
            index.catch_up()
            continue
        averages = (float(scores.mean()), float(uses.mean())) if len(rows) else (0.0, 0.0)
        at_risk = sorted((_at_risk(item, settings) for item in items), key=lambda risk: (risk.score, risk.memory))
        return DecayReport(tuple(at_risk), len(rows), snapshot.position, *averages, left_out=len(low) - len(chosen))


def _at_risk(item: ScoredMemory, settings: UpkeepSettings) -> MemoryAtRisk:
    memory, uses = item.memory, item.usage.use_count
    urgency: Urgency = "high" if item.score < _HIGH_BELOW else "medium" if item.score < _MEDIUM_BELOW else "low"
    action: Action = "reinforce" if memory.importance >= _IMPORTANT or uses > 0 else "needs review"
    if item.score < settings.forget_below:
        action = "gc candidate"
    return MemoryAtRisk(memory.id, memory.text, item.score, urgency, action, uses)


@dataclass(frozen=True, slots=True)
class TouchReport:
    """The effect of one use on the score of a memory. With `cross_domain`, the memory was used for something
    that shares hardly any tag with it, which increased its strength. `review` is how much a reminder was due before,
    from 0 to 1."""

    memory: str
    old_score: float
    new_score: float
    uses: int
    strength: float
    cross_domain: bool = False
    review: float = 0.0

    def __str__(self) -> str:
        strength = f", strength {self.strength:.2f}" if self.strength > 1 else ""
        uses = pluralize(self.uses, "use")
        return f"{self.memory}: score {self.old_score:.2f} -> {self.new_score:.2f} ({uses}{strength})"


def touch(
    engine: Engine,
    space: str,
    ids: Sequence[str],
    settings: UpkeepSettings,
    *,
    context: Sequence[str] = (),
    boost: bool = False,
) -> list[TouchReport]:
    """Record one use of each of these memories, all in one transaction."""
    reports: list[TouchReport] = []
    now = engine.now()

    def decide(index: Index) -> list[Event]:
        reports.clear()
        events: list[Event] = []
        for memory_id in dict.fromkeys(ids):
            [memory] = index.memories([index.require_visible(memory_id, index.catalog.position)])
            before = index.usage.get(memory_id)
            cross_domain = _is_cross_domain(memory.tags, context)
            increase = min(MAX_STRENGTH - strength_of(memory, before), _BOOST) if boost or cross_domain else 0.0
            use = Used(memory_id, boost=round(increase, 6), context=tuple(context))
            after = MemoryUsage(before.use_count + use.times, before.boost + use.boost, (micros(now),))
            old_score, new_score = (decay_score(memory, usage, now, settings) for usage in (before, after))
            strength = strength_of(memory, after)
            review = review_priority(old_score)
            reports.append(
                TouchReport(memory_id, old_score, new_score, after.use_count, strength, cross_domain, review)
            )
            events.append(use)
        return events

    engine.write(space, decide)
    return reports


def _is_cross_domain(tags: Sequence[str], context: Sequence[str]) -> bool:
    own, other = set(tags), set(context)
    return bool(own and other) and len(own & other) / len(own | other) < _CROSS_DOMAIN_OVERLAP
