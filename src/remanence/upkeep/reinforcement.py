"""Recording that memories were of use, when somebody says so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from remanence.core.engine import Engine
from remanence.core.index import Index
from remanence.errors import NotFound
from remanence.events import Event, Used
from remanence.language.text import pluralize
from remanence.schema import Memory
from remanence.upkeep.scored_memories import score_of, strength_of
from remanence.upkeep.settings import UpkeepSettings


@dataclass(frozen=True, slots=True)
class TouchReport:
    """That a memory was used, and what that did to its score. `cross_domain` is set where it was of use for
    something that shares hardly any tag with it, which made it stronger."""

    memory: str
    old_score: float
    new_score: float
    uses: int
    strength: float
    cross_domain: bool = False

    def __str__(self) -> str:
        boosted = f", strength {self.strength:.2f}" if self.strength > 1 else ""
        used = pluralize(self.uses, "use")
        return f"{self.memory}: score {self.old_score:.2f} -> {self.new_score:.2f} ({used}{boosted})"


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
    before: dict[str, tuple[Memory, float, bool]] = {}
    now = engine.now()

    def decide(index: Index) -> list[Event]:
        before.clear()
        lines: list[Event] = []
        for memory_id in dict.fromkeys(ids):
            memory = _shown(index, memory_id)
            use = index.usage.get(memory_id)
            abroad = _is_cross_domain(memory.tags, context, settings.cross_domain_below)
            before[memory_id] = memory, score_of(memory, use, now, settings), abroad
            room = 2.0 - strength_of(memory, use)
            stronger = round(min(room, settings.boost), 6) if boost or abroad else 0.0
            lines.append(Used(memory_id, boost=stronger, context=tuple(context)))
        return lines

    engine.write(space, decide)
    with engine.open_index(space) as index:
        return [_touched(index, *told, now, settings) for told in before.values()]


def _touched(
    index: Index, memory: Memory, old: float, abroad: bool, now: datetime, settings: UpkeepSettings
) -> TouchReport:
    use = index.usage.get(memory.id)
    new = score_of(memory, use, now, settings)
    return TouchReport(memory.id, old, new, use.times, strength_of(memory, use), abroad)


def _shown(index: Index, memory_id: str) -> Memory:
    index.require_unerased(memory_id)  # one that there is not, or whose words are erased, is told of in other words
    row = index.current_row(memory_id, index.catalog.position)
    if row is None:
        raise NotFound(
            f"memory {memory_id!r} is forgotten or archived, so it cannot be of use. "
            f"Bring it back first: space.unforget({memory_id!r})."
        )
    return index.memories([row])[0]


def _is_cross_domain(tags: Sequence[str], context: Sequence[str], below: float) -> bool:
    """Whether what a memory was used for has next to nothing to do with what it is filed under.

    >>> _is_cross_domain(["cooking"], ["travel"], 0.3), _is_cross_domain(["cooking"], [], 0.3)
    (True, False)
    """
    mine, theirs = set(tags), set(context)
    return bool(mine and theirs) and len(mine & theirs) / len(mine | theirs) < below
