"""How scores decay without use, and which memories are at risk of being forgotten.

    score = uses^0.6 * retention(days since last use) * strength

Every decay model leaves half after one half-life, and none reaches zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from remanence.language.text import pluralize
from remanence.upkeep.step_tools import format_table

if TYPE_CHECKING:
    from remanence.upkeep.scored_memories import ScoredMemories, ScoredMemory
    from remanence.upkeep.settings import UpkeepSettings

Urgency = Literal["high", "medium", "low"]
Action = Literal["reinforce", "gc candidate", "needs review"]

USE_EXPONENT = 0.6
"""The score grows with the number of uses to this power."""
IMPORTANCE_FACTOR = 16.0
"""How many times longer the half-life of a memory of importance 0.9 is."""
_ORDINARY, _DEFINING = 0.5, 0.9
_MIN_RETENTION = 1e-9
_RISK_FROM, _RISK_UNTIL = 0.15, 0.35
"""The scores between which the urgency goes from high to low. What scores more is not at risk."""
_IMPORTANT = 0.6

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
    """The share that is left after so many days.

    >>> [round(retention(model, 3, half_life=3), 3) for model in DECAY_MODELS]
    [0.5, 0.5, 0.5]
    >>> retention("exponential", 1e9, half_life=3) > 0
    True
    """
    return max(_MIN_RETENTION, DECAY_MODELS[model](max(0.0, days) / half_life))


def half_life_for(half_life: float, importance: float) -> float:
    """A half-life, longer for important memories.

    >>> [half_life_for(3, importance) for importance in (0.3, 0.5, 0.9)]
    [3.0, 3.0, 48.0]
    """
    excess = max(0.0, importance - _ORDINARY) / (_DEFINING - _ORDINARY)
    return float(half_life * IMPORTANCE_FACTOR**excess)


def score(uses: int, retained: float, strength: float) -> float:
    """The score after so many recorded uses. Adding the memory counts as the first use.

    >>> score(0, 0.5, 2.0)
    1.0
    """
    return float((1 + uses) ** USE_EXPONENT * retained * strength)


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
class DecayReport:
    """Every memory at risk, the lowest score first. It prints as a table."""

    at_risk: tuple[MemoryAtRisk, ...]
    examined_count: int
    position: int

    def __len__(self) -> int:
        return len(self.at_risk)

    def __iter__(self) -> Iterator[MemoryAtRisk]:
        return iter(self.at_risk)

    def __str__(self) -> str:
        title = f"decay: {len(self.at_risk)} of {pluralize(self.examined_count, 'memory', 'memories')} at risk"
        rows = [(r.score, r.urgency, r.action, r.uses, r.memory, r.text) for r in self.at_risk]
        return format_table(title, ("score", "urgency", "suggested", "uses", "id", "memory"), rows)


def report(memories: ScoredMemories, settings: UpkeepSettings) -> DecayReport:
    """The memories that score less than the upper end of the risk zone, or than `forget_below`."""
    threshold = max(_RISK_UNTIL, settings.forget_below)
    at_risk = [_at_risk(item, settings) for item in memories.items if item.score < threshold]
    at_risk.sort(key=lambda risk: (risk.score, risk.memory))
    return DecayReport(tuple(at_risk), len(memories.items), memories.position)


def _at_risk(item: ScoredMemory, settings: UpkeepSettings) -> MemoryAtRisk:
    memory, uses = item.memory, item.usage.times
    action: Action = "reinforce" if memory.importance >= _IMPORTANT or uses > 0 else "needs review"
    if item.score < settings.forget_below:
        action = "gc candidate"
    return MemoryAtRisk(memory.id, memory.text, item.score, urgency(item.score), action, uses)


def urgency(score: float) -> Urgency:
    """How urgent a score is, by thirds of the risk zone.

    >>> [urgency(score) for score in (0.1, 0.2, 0.25, 0.34)]
    ['high', 'high', 'medium', 'low']
    """
    third = (_RISK_UNTIL - _RISK_FROM) / 3
    if score < _RISK_FROM + third:
        return "high"
    return "medium" if score < _RISK_FROM + 2 * third else "low"
