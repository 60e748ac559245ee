"""The recalls that were recorded: what was asked, which memories were given, and which of them were used then."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from remanence.events import Served, Used
from remanence.ledger.codec import kinds_of
from remanence.ports import Ledger
from remanence.recall.receipts import Receipt
from remanence.schema import Entry

_KINDS = kinds_of(Served, Used)
_FIRST_BATCH = 2_000
"""Ledger positions that are read first; each later batch has four times as many."""


@dataclass(frozen=True, slots=True)
class RecordedRecall:
    """What a user or a model was given.

    Attributes:
        position: The ledger position of the record.
        at: When it was recorded.
        receipt: The question with its options, for `space.audit.replay`.
        memories: The ids of the memories that were given, best first.
        used: Those of them that `touch` recorded as used, before they were given again.
    """

    position: int
    at: datetime
    receipt: Receipt
    memories: tuple[str, ...] = ()
    used: tuple[str, ...] = ()


def recorded_recalls(
    ledger: Ledger, space: str, head: int, *, limit: int, before: int | None, memory: str | None
) -> list[RecordedRecall]:
    """The last recorded recalls up to a position, the newest first."""
    found: list[RecordedRecall] = []
    used: set[str] = set()
    for entry in _backwards(ledger, space, head):
        event = entry.event
        if isinstance(event, Used):
            used.add(event.memory)
        elif isinstance(event, Served):
            its = tuple(memory_id for memory_id in event.memories if memory_id in used)
            used.difference_update(event.memories)
            wanted = (before is None or entry.position < before) and (memory is None or memory in event.memories)
            if wanted:
                receipt = Receipt.from_dict(event.asked)
                found.append(RecordedRecall(entry.position, entry.at, receipt, event.memories, its))
        if len(found) == limit:
            break
    return found


def _backwards(ledger: Ledger, space: str, head: int) -> Iterator[Entry]:
    """The records of recalls and uses, the newest first. The ledger is read from its end, more and more at a time."""
    end, size = head, _FIRST_BATCH
    while end > 0:
        start = max(0, end - size)
        entries = [entry for entry in ledger.read(space, after=start, kinds=_KINDS) if entry.position <= end]
        yield from reversed(entries)
        end, size = start, size * 4
