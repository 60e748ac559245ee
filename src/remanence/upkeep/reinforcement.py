"""Recording that memories were of use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from remanence.core.engine import Engine
from remanence.core.index import Index
from remanence.errors import NotFound
from remanence.events import Event, Used
from remanence.language.text import pluralize
from remanence.schema import Memory
from remanence.upkeep.scored_memories import score_of, strength_of
from remanence.upkeep.settings import UpkeepSettings

_BOOST = 0.1
"""How much stronger a boost, or use in another domain, makes a memory."""
_MAX_STRENGTH = 2.0
_CROSS_DOMAIN_OVERLAP = 0.3
"""A use is in another domain if it shares less of its tags (Jaccard) with the memory."""


@dataclass(frozen=True, slots=True)
class TouchReport:
    """The effect of one use on the score of a memory. With `cross_domain`, the memory was used for something
    that shares hardly any tag with it, which increased its strength."""

    memory: str
    old_score: float
    new_score: float
    uses: int
    strength: float
    cross_domain: bool = False

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
    before: list[tuple[Memory, float, bool]] = []
    now = engine.now()

    def decide(index: Index) -> list[Event]:
        before.clear()
        events: list[Event] = []
        for memory_id in dict.fromkeys(ids):
            memory = _visible_memory(index, memory_id)
            usage = index.usage.get(memory_id)
            cross_domain = _is_cross_domain(memory.tags, context)
            before.append((memory, score_of(memory, usage, now, settings), cross_domain))
            increase = min(_MAX_STRENGTH - strength_of(memory, usage), _BOOST) if boost or cross_domain else 0.0
            events.append(Used(memory_id, boost=round(increase, 6), context=tuple(context)))
        return events

    engine.write(space, decide)
    reports: list[TouchReport] = []
    with engine.open_index(space) as index:
        for memory, old_score, cross_domain in before:
            usage = index.usage.get(memory.id)
            new_score, strength = score_of(memory, usage, now, settings), strength_of(memory, usage)
            reports.append(TouchReport(memory.id, old_score, new_score, usage.times, strength, cross_domain))
    return reports


def _visible_memory(index: Index, memory_id: str) -> Memory:
    index.require_unerased(memory_id)  # an unknown or erased memory has its own error message
    row = index.current_row(memory_id, index.catalog.position)
    if row is None:
        raise NotFound(
            f"memory {memory_id!r} is forgotten or archived, so its use cannot be recorded. "
            f"Restore it first: space.unforget({memory_id!r})."
        )
    return index.memories([row])[0]


def _is_cross_domain(tags: Sequence[str], context: Sequence[str]) -> bool:
    """Whether a memory was used for something that has hardly any tag in common with it.

    >>> _is_cross_domain(["cooking"], ["travel"]), _is_cross_domain(["cooking"], [])
    (True, False)
    """
    own, other = set(tags), set(context)
    return bool(own and other) and len(own & other) / len(own | other) < _CROSS_DOMAIN_OVERLAP
