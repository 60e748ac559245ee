"""What is at risk of being forgotten, how urgently, and what could be done about it. Changes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from remanence.language.text import pluralize
from remanence.upkeep.scored_memories import ScoredMemories, ScoredMemory
from remanence.upkeep.settings import UpkeepSettings
from remanence.upkeep.text_tables import format_table

Urgency = Literal["high", "medium", "low"]
Action = Literal["reinforce", "gc candidate", "needs review"]
_WORTH_KEEPING = 0.6


@dataclass(frozen=True, slots=True)
class MemoryAtRisk:
    """A memory that fades: what it scores, how urgent that is, and what is suggested."""

    memory: str
    text: str
    score: float
    urgency: Urgency
    action: Action
    uses: int


@dataclass(frozen=True, slots=True)
class DecayReport:
    """Every memory at risk, the weakest first. It prints as a table."""

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
    """Which memories are in danger, or beyond it."""
    found = [_at_risk(item, settings) for item in memories.items if item.score < settings.danger_until]
    return DecayReport(
        tuple(sorted(found, key=lambda risk: (risk.score, risk.memory))), len(memories.items), memories.position
    )


def _at_risk(item: ScoredMemory, settings: UpkeepSettings) -> MemoryAtRisk:
    memory = item.memory
    worth = memory.importance >= _WORTH_KEEPING or item.use.times > 0
    if item.score < settings.forget_below:
        action: Action = "gc candidate"
    else:
        action = "reinforce" if worth else "needs review"
    return MemoryAtRisk(memory.id, memory.text, item.score, urgency(item.score, settings), action, item.use.times)


def urgency(score: float, settings: UpkeepSettings) -> Urgency:
    """How urgent a score is: the danger zone in thirds, and what lies below it.

    >>> [urgency(score, UpkeepSettings()) for score in (0.1, 0.2, 0.25, 0.34)]
    ['high', 'high', 'medium', 'low']
    """
    third = (settings.danger_until - settings.danger_from) / 3
    if score < settings.danger_from + third:
        return "high"
    return "medium" if score < settings.danger_from + 2 * third else "low"
