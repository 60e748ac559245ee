"""Report of the memories at risk of being forgotten, and what could be done about each. Changes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from remanence.language.text import pluralize
from remanence.upkeep.scored_memories import ScoredMemories, ScoredMemory
from remanence.upkeep.settings import UpkeepSettings
from remanence.upkeep.step_tools import format_table

Urgency = Literal["high", "medium", "low"]
Action = Literal["reinforce", "gc candidate", "needs review"]

_RISK_FROM, _RISK_UNTIL = 0.15, 0.35
"""The scores between which the urgency goes from high to low. What scores more is not at risk."""
_IMPORTANT = 0.6


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
