"""What is worth asking again: memories that may not hold any more, by how much the answer would help.

Each memory that a profile may state is read beside the later ones that it is near to (`recall/standing`), and has the
lifetime of what it is about (`recall/validity/lifetimes`). Asking helps most where both answers are likely, and where a
memory is important and often used.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from remanence.index.memory_cache import retry_if_erased
from remanence.models.lifetimes import after_reading
from remanence.recall.profile import told_with_readings
from remanence.recall.validity.lifetimes import began, holding, matters
from remanence.schema import Memory, format_moment
from remanence.text.text import pluralize
from remanence.upkeep.plans import ResultTable, TableResult

if TYPE_CHECKING:
    from remanence.index.engine.engine import Engine
    from remanence.ports import Progress


@dataclass(frozen=True, slots=True)
class UncertainMemory:
    """A memory that may not hold any more.

    Attributes:
        memory: The memory.
        topic: What it is about, such as "diet"; "" if it is near no topic, or the space has another embedder.
        since: From when on it held: when it was told, or a later day from which it was said to hold.
        holds: How likely it still holds, from 0 to 1.
        uses: How often it was used.
    """

    memory: Memory
    topic: str
    since: datetime
    holds: float
    uses: int

    @property
    def worth(self) -> float:
        """How much an answer would help, from 0 on."""
        return 4 * self.holds * (1 - self.holds) * self.memory.importance * (1 + math.log1p(self.uses))


@dataclass(frozen=True, slots=True)
class ReviewList(TableResult):
    """What is worth asking again, what helps most first. It prints as a table.

    Attributes:
        items: The memories.
        examined_count: How many memories were looked at.
        position: The last ledger position that was read.
        left_out: How many more may not hold any more, and help less than those that the limit kept.
    """

    items: tuple[UncertainMemory, ...]
    examined_count: int
    position: int
    left_out: int = 0

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[UncertainMemory]:
        return iter(self.items)

    @property
    def table(self) -> ResultTable:
        total = len(self.items) + self.left_out
        title = f"review: {total} of {pluralize(self.examined_count, 'memory', 'memories')} worth asking again"
        rows = [
            (each.holds, each.topic, format_moment(each.since), each.uses, each.memory.id, each.memory.text)
            for each in self.items
        ]
        return ResultTable(title, ("holds", "topic", "since", "uses", "id", "memory"), rows)


@retry_if_erased
def find_uncertain(
    engine: Engine, space: str, now: datetime, below: float, limit: int, progress: Progress | None
) -> ReviewList:
    """The memories that hold with a lower probability than `below`, those first about which an answer helps most."""
    with engine.open_index(space) as index:
        position = index.catalog.position
        told, readings = told_with_readings(index, engine.reader, position, now, progress)
        memories = [each.memory for each in told]
        with index.lock:
            probabilities = holding(memories, index, index.snapshot(position, now))
            topics = [matter.topic for matter in matters(index, memories)]
        uses = [index.usage.get(memory.id).use_count for memory in memories]
    found = [
        UncertainMemory(
            memory, topic, began(memory), after_reading(holds, 0.0 if reading is None else reading.replaced), used
        )
        for memory, topic, holds, reading, used in zip(memories, topics, probabilities, readings, uses, strict=True)
    ]
    uncertain = sorted((each for each in found if each.holds < below), key=lambda each: -each.worth)
    return ReviewList(tuple(uncertain[:limit]), len(found), position, len(uncertain[limit:]))
