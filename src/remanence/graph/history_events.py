"""One thing that happened to a memory, an entity or an edge, as a value that reads as a sentence."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

from remanence.events import Extracted
from remanence.language.text import truncate
from remanence.read.receipts import Receipt
from remanence.schema import Entity, Link, Memory, Relation, format_moment

EventKind: TypeAlias = Literal[
    "memory added",
    "memory revised",
    "superseded",
    "forgotten",
    "restored",
    "erased",
    "expired",
    "edge added",
    "edge invalidated",
    "registered",
    "renamed",
    "merged",
    "split",
    "undone",
    "extracted",
    "served",
]
_SAID: dict[EventKind, str] = {
    "memory added": "learned",
    "memory revised": "revised",
    "edge added": "added",
    "edge invalidated": "ended",
    "extracted": "read",
    "served": "given out",
}
_LONGEST = 80

Thing: TypeAlias = Memory | Entity | Relation | Link | Receipt | Extracted
"""What a happening is about: for one that replaced something, what took its place."""


@dataclass(frozen=True, slots=True)
class HistoryEvent:
    """One thing that happened: `what`, when it was learned (`at`), and in which line of the ledger.

    `about` says in words what it happened to; `thing` is the value itself, None if its words were erased.
    `name` is the predicate or kind of an edge, and "mentions" for what happened to a memory. As text it is
    a sentence.
    """

    recorded_at: datetime
    position: int
    kind: EventKind
    description: str
    actor: str | None = None
    why: str | None = None
    value: Thing | None = None
    edge_name: str | None = None

    def __str__(self) -> str:
        who = "" if self.actor is None else f" by {self.actor}"
        why = "" if self.why is None else f": {self.why}"
        return f"{format_moment(self.recorded_at)}: {self.description} was {_SAID.get(self.kind, self.kind)}{who}{why}."


def quote_memory(memory: Memory | None) -> str:
    """A memory as a sentence names it."""
    if memory is None:
        return "a memory whose words were erased"
    return repr(truncate(memory.text, _LONGEST))
