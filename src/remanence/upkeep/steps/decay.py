"""The scores of current memories, which every step starts from: how they decay without use, how use raises
them, and which memories are at risk.

    score = uses^0.6 * retention(days since last use) * strength

Every decay model leaves half after one half-life, and none reaches zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Literal

import numpy as np

from remanence.core.engine import Engine
from remanence.core.erased_rows import RowErased
from remanence.core.index import Index
from remanence.errors import NotFound
from remanence.events import Event, Used
from remanence.language.text import pluralize
from remanence.ports import Progress
from remanence.schema import Hit, HitUsage, Memory, Snapshot, from_micros, micros
from remanence.state.journal import MemoryUsage
from remanence.state.versions.catalog import Catalog
from remanence.upkeep.plans import ResultTable, TableResult, batches, unexpired_current_mask

if TYPE_CHECKING:
    from remanence.upkeep.settings import UpkeepSettings

Urgency = Literal["high", "medium", "low"]
Action = Literal["reinforce", "gc candidate", "needs review"]

_USE_EXPONENT = 0.6
_IMPORTANCE_FACTOR = 16.0
"""How many times longer the half-life of a memory of importance 0.9 is."""
_ORDINARY, DEFINING = 0.5, 0.9
_MIN_RETENTION = 1e-9
_HIGH_BELOW, _MEDIUM_BELOW, _RISK_UNTIL = 0.15, 0.25, 0.35
"""The scores below which the urgency is high, and medium. What scores the last or more is not at risk."""
RISK_ZONE = (_HIGH_BELOW, _RISK_UNTIL)
"""The scores at which a memory is about to fade, and a reminder helps."""
_IMPORTANT = 0.6
_DAY = 86_400.0
_CHUNK = 500
_BOOST = 0.1
"""How much stronger a boost, or use in another domain, makes a memory."""
MAX_STRENGTH = 2.0
_CROSS_DOMAIN_OVERLAP = 0.3
"""A use is in another domain if it shares less of its tags (Jaccard) with the memory."""

_POWER = 1.1
_POWER_SCALE = 2 ** (1 / _POWER) - 1
_FAST_SHARE, _SLOWDOWN = 0.7, 10.0
_FAST_RATE = 1.59676
"""Half-lives of the fast component in one half-life of the sum, so that half of the sum is left after it."""


def power_law(half_lives: float) -> float:
    """Fast at first, then ever slower: what is left after the first weeks lasts for months."""
    return float((1 + half_lives * _POWER_SCALE) ** -_POWER)


def exponential(half_lives: float) -> float:
    """Each half-life leaves half of the rest."""
    return float(2**-half_lives)


def two_component(half_lives: float) -> float:
    """Most decays quickly, the rest ten times slower."""
    fast = half_lives * _FAST_RATE
    return float(_FAST_SHARE * 2**-fast + (1 - _FAST_SHARE) * 2 ** -(fast / _SLOWDOWN))


DECAY_MODELS: Mapping[str, Callable[[float], float]] = {
    "power_law": power_law,
    "exponential": exponential,
    "two_component": two_component,
}


def retention(model: str, days: float, half_life: float) -> float:
    """The share that is left after this many days."""
    return max(_MIN_RETENTION, DECAY_MODELS[model](max(0.0, days) / half_life))


def decay_score(memory: Memory, usage: MemoryUsage, now: datetime, settings: UpkeepSettings) -> float:
    """The score of a memory now. Adding it counts as the first use."""
    days = (now - last_used(memory, usage)).total_seconds() / _DAY
    return strength_of(memory, usage) * _unboosted_score(
        memory.kind, memory.importance, usage.use_count, days, settings
    )


def row_decay_score(catalog: Catalog, row: int, usage: MemoryUsage, now: int, settings: UpkeepSettings) -> float:
    """The score that a version would have with strength 1, without reading its text. `now` is in microseconds."""
    used = max((micros(catalog.times.recorded_at(row)), *usage.used_at[-1:]))
    days = (now - used) / _DAY / 1e6
    return _unboosted_score(
        catalog.attributes.kind(row), catalog.attributes.importance_of(row), usage.use_count, days, settings
    )


def _unboosted_score(kind: str, importance: float, uses: int, days: float, settings: UpkeepSettings) -> float:
    excess_importance = max(0.0, importance - _ORDINARY) / (DEFINING - _ORDINARY)
    half_life = settings.half_life_by_kind.get(kind, settings.half_life_days)
    retained = retention(settings.decay, days, half_life * _IMPORTANCE_FACTOR**excess_importance)
    return float((1 + uses) ** _USE_EXPONENT * retained)


def review_priority(score: float) -> float:
    """How much a reminder of a memory helps, from 0 to 1: most in the middle of the zone of medium and low urgency.

    >>> review_priority(0.25), round(review_priority(0.2), 2), review_priority(0.1), review_priority(1.0)
    (1.0, 0.75, 0.0, 0.0)
    """
    low, high = RISK_ZONE
    return max(0.0, 1.0 - ((2 * score - low - high) / (high - low)) ** 2)


def last_used(memory: Memory, usage: MemoryUsage) -> datetime:
    """When a memory was last used, revised or added."""
    return max(memory.revised_at, from_micros(usage.used_at[-1])) if usage.used_at else memory.revised_at


def with_usage(index: Index, hits: Iterable[Hit], now: datetime, settings: UpkeepSettings) -> tuple[Hit, ...]:
    """These hits, each with how its memory was used and its decay score at `now`."""
    return tuple([_with_usage(hit, usage_of(index, hit.memory, now, settings)) for hit in hits])


def _with_usage(hit: Hit, usage: HitUsage) -> Hit:
    # Field by field: `dataclasses.replace` takes several times as long.
    found = hit.memory, hit.score, hit.evidence, hit.current, hit.superseded_by, hit.disagreements
    return Hit(*found, usage, hit.found_in)


def usage_of(index: Index, memory: Memory, now: datetime, settings: UpkeepSettings) -> HitUsage:
    """How a memory was used, and its scores at `now`."""
    usage = index.usage.get(memory.id)
    used, strength = last_used(memory, usage), strength_of(memory, usage)
    days = (now - used).total_seconds() / _DAY
    decay = strength * _unboosted_score(memory.kind, memory.importance, usage.use_count, days, settings)
    return HitUsage(decay, usage.use_count, used, age_in_days(memory, now), strength, review_priority(decay))


def age_in_days(memory: Memory, now: datetime) -> float:
    return max(0.0, (now - memory.recorded_at).total_seconds() / _DAY)


def strength_of(memory: Memory, usage: MemoryUsage) -> float:
    """The strength of a memory, from 1 to 2, with what its uses added."""
    return min(MAX_STRENGTH, max(1.0, memory.strength + usage.boost))


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


def score_memories(index: Index, now: datetime, settings: UpkeepSettings, progress: Progress | None) -> ScoredMemories:
    """The memories that are neither forgotten, expired, revised nor superseded."""
    while True:
        with index.lock:
            snapshot = index.snapshot(index.catalog.position, now)
            rows = np.flatnonzero(snapshot.row_mask)
            rows = rows[unexpired_current_mask(index, rows, snapshot)]
        try:
            return ScoredMemories(tuple(_scored(index, rows.tolist(), now, settings, progress)), snapshot)
        except RowErased:
            index.catch_up()  # another process erased a memory before its text was read


def _scored(
    index: Index, rows: Sequence[int], now: datetime, settings: UpkeepSettings, progress: Progress | None
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

    def __len__(self) -> int:
        return len(self.at_risk)

    def __iter__(self) -> Iterator[MemoryAtRisk]:
        return iter(self.at_risk)

    @property
    def table(self) -> ResultTable:
        title = f"decay: {len(self.at_risk)} of {pluralize(self.examined_count, 'memory', 'memories')} at risk"
        rows = [(r.score, r.urgency, r.action, r.uses, r.memory, r.text) for r in self.at_risk]
        return ResultTable(title, ("score", "urgency", "suggested", "uses", "id", "memory"), rows)


def report(memories: ScoredMemories, settings: UpkeepSettings) -> DecayReport:
    """The memories that score less than the upper end of the risk zone, or than `forget_below`."""
    threshold = max(_RISK_UNTIL, settings.forget_below)
    at_risk = [_at_risk(item, settings) for item in memories.items if item.score < threshold]
    at_risk.sort(key=lambda risk: (risk.score, risk.memory))
    items, count = memories.items, max(1, len(memories.items))
    averages = sum(item.score for item in items) / count, sum(item.usage.use_count for item in items) / count
    return DecayReport(tuple(at_risk), len(items), memories.position, *averages)


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
            memory, before = visible_memory(index, memory_id), index.usage.get(memory_id)
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


def visible_memory(index: Index, memory_id: str) -> Memory:
    index.require_unerased(memory_id)  # an unknown or erased memory has its own error message
    row = index.current_row(memory_id, index.catalog.position)
    if row is None:
        raise NotFound(
            f"memory {memory_id!r} is forgotten or archived. Restore it first: space.unforget({memory_id!r})."
        )
    return index.memories([row])[0]


def _is_cross_domain(tags: Sequence[str], context: Sequence[str]) -> bool:
    own, other = set(tags), set(context)
    return bool(own and other) and len(own & other) / len(own | other) < _CROSS_DOMAIN_OVERLAP
