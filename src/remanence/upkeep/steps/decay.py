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

ORDINARY, DEFINING = 0.5, 0.9
"""The importance of what has the usual half-life, and of what has sixteen times that."""
_RISK_ZONE = (0.15, 0.35)
"""The scores at which a memory is about to fade, and a reminder helps. What scores less is urgent."""
MAX_STRENGTH = 2.0
_DAY = 86_400.0
_CHUNK = 500

_DECAY_CURVES: Mapping[str, Callable[[Any], Any]] = {
    # Fast at first, then ever slower: what is left after the first weeks lasts for months.
    "power_law": lambda half_lives: (1 + half_lives * (2 ** (1 / 1.1) - 1)) ** -1.1,
    "exponential": lambda half_lives: 2**-half_lives,
    # Most decays quickly, the rest ten times slower; half of the sum is left after one half-life.
    "two_component": lambda half_lives: 0.7 * 2 ** (-1.59676 * half_lives) + 0.3 * 2 ** (-0.159676 * half_lives),
}


def retention(model: str, days: Any, half_life: Any) -> Any:
    """The share that is left after this many days: of a number, or of an array of them."""
    return np.maximum(1e-9, _DECAY_CURVES[model](np.maximum(0.0, days) / half_life))


def decay_score(memory: Memory, usage: MemoryUsage, now: datetime, settings: UpkeepSettings) -> float:
    """The score of a memory now. Adding it counts as the first use."""
    days = (now - last_used(memory, usage)).total_seconds() / _DAY
    half_life = settings.half_life_by_kind.get(memory.kind, settings.half_life_days)
    return float(_score(settings, days, half_life, memory.importance, usage.use_count, memory.strength + usage.boost))


def _score(settings: UpkeepSettings, days: Any, half_life: Any, importance: Any, uses: Any, strength: Any) -> Any:
    """The score by days since the last use, and the rest: of numbers, or of arrays of them."""
    excess = np.maximum(0.0, importance - ORDINARY) / (DEFINING - ORDINARY)
    retained = retention(settings.decay, days, half_life * 16.0**excess)
    return np.clip(strength, 1.0, MAX_STRENGTH) * (1.0 + uses) ** settings.use_exponent * retained


def review_priority(score: float) -> float:
    """How much a reminder of a memory helps, from 0 to 1: most in the middle of the zone of medium and low urgency.

    >>> review_priority(0.25), round(review_priority(0.2), 2), review_priority(0.1), review_priority(1.0)
    (1.0, 0.75, 0.0, 0.0)
    """
    low, high = _RISK_ZONE
    return max(0.0, 1.0 - ((2 * score - low - high) / (high - low)) ** 2)


def last_used(memory: Memory, usage: MemoryUsage) -> datetime:
    """When a memory was last used, revised or added; one that was merged of others, when its sources were."""
    written = micros(memory.revised_at)
    return from_micros(
        max([*usage.used_at, written] if written > usage.merged_at or not usage.used_at else usage.used_at)
    )


def hits_with_usage(index: Index, hits: Iterable[Hit], now: datetime, settings: UpkeepSettings) -> tuple[Hit, ...]:
    """These hits, each with how its memory was used and its decay score at `now`."""
    return tuple(replace(hit, usage=usage_of(index, hit.memory, now, settings)) for hit in hits)


def usage_of(index: Index, memory: Memory, now: datetime, settings: UpkeepSettings) -> HitUsage:
    """How a memory was used, and its scores at `now`."""
    usage = index.usage.get(memory.id)
    score, used = decay_score(memory, usage, now, settings), last_used(memory, usage)
    age, strength = age_in_days(memory, now), strength_of(memory, usage)
    return HitUsage(score, usage.use_count, used, age, strength, review_priority(score))


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
    """Current memories of a space, as of one ledger position and moment, and the scores and uses of all of them."""

    items: tuple[ScoredMemory, ...]
    snapshot: Snapshot
    scores: NDArray[np.float64]
    uses: NDArray[np.float64]
    left_out: int = 0
    """How many more were to be read, and score higher than those that the limit kept."""

    @property
    def position(self) -> Position:
        """The last ledger position that was read."""
        return self.snapshot.position

    def without(self, ids: Iterable[str]) -> ScoredMemories:
        """The same without some memories."""
        excluded = set(ids)
        return replace(self, items=tuple(item for item in self.items if item.memory.id not in excluded))


def score_memories(
    index: Index,
    now: datetime,
    settings: UpkeepSettings,
    progress: Progress | None,
    *,
    below: float = np.inf,
    limit: int | None = None,
) -> ScoredMemories:
    """The memories that are neither forgotten, expired, revised nor superseded; with `below`, those that score less,
    and with `limit` the lowest of these. The texts of others are not read."""
    while True:
        with index.lock:
            snapshot = index.snapshot(index.catalog.position, now)
            # What worked is counted, and neither merged, linked nor forgotten by its age.
            procedures = index.catalog.attributes.mask_with_kinds_and_tags((PROCEDURE,), None)
            rows = np.flatnonzero(snapshot.row_mask & ~procedures)
            rows = rows[unexpired_current_mask(index, rows, snapshot)]
            scores, uses = row_scores(index, rows, now, settings)
        low = np.flatnonzero(scores < below * (1 + 1e-5))  # columns have fewer digits than memories
        chosen = low if limit is None else np.sort(low[np.argsort(scores[low], kind="stable")[:limit]])
        try:
            items = tuple(_scored(index, rows[chosen].tolist(), now, settings, progress))
        except RowErased:
            index.catch_up()  # another process erased a memory before its text was read
            continue
        items = tuple(item for item in items if item.score < below)
        return ScoredMemories(items, snapshot, scores, uses, left_out=len(low) - len(chosen))


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


def risk_bound(settings: UpkeepSettings) -> float:
    """The score below which memories are at risk."""
    return max(_RISK_ZONE[1], settings.forget_below)


def report_decay(memories: ScoredMemories, settings: UpkeepSettings) -> DecayReport:
    """Which of these memories are at risk."""
    low = [_at_risk(item, settings) for item in memories.items if item.score < risk_bound(settings)]
    scores, uses = memories.scores, memories.uses
    return DecayReport(
        at_risk=tuple(sorted(low, key=lambda risk: (risk.score, risk.memory))),
        examined_count=len(scores),
        position=memories.position,
        average_score=float(scores.mean()) if len(scores) else 0.0,
        average_uses=float(uses.mean()) if len(uses) else 0.0,
        left_out=memories.left_out,
    )


def _at_risk(item: ScoredMemory, settings: UpkeepSettings) -> MemoryAtRisk:
    memory, uses, score = item.memory, item.usage.use_count, item.score
    urgency: Urgency = "high" if score < _RISK_ZONE[0] else "medium" if score < 0.25 else "low"
    action: Action = "reinforce" if memory.importance >= 0.6 or uses > 0 else "needs review"
    if score < settings.forget_below:
        action = "gc candidate"
    return MemoryAtRisk(memory.id, memory.text, score, urgency, action, uses)


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
            increase = min(MAX_STRENGTH - strength_of(memory, before), 0.1) if boost or cross_domain else 0.0
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
    """Whether a use has less than three tenths of the tags (Jaccard) in common with the memory."""
    own, other = set(tags), set(context)
    return bool(own and other) and len(own & other) / len(own | other) < 0.3
