"""`HistoryEvent`: one event in the history of a memory, an entity or an edge."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

from remanence.events import Extracted
from remanence.language.text import truncate
from remanence.read.receipts import Receipt
from remanence.schema import Entity, Link, Memory, Relation, format_moment

EventKind: TypeAlias = (
    Literal["memory added", "memory revised", "superseded", "forgotten", "restored", "erased", "expired"]
    | Literal["edge added", "edge invalidated", "registered", "renamed", "merged", "split", "undone"]
    | Literal["extracted", "served"]
)
_VERBS: dict[EventKind, str] = {
    "memory added": "learned",
    "memory revised": "revised",
    "edge added": "added",
    "edge invalidated": "ended",
    "extracted": "read",
    "served": "returned by a recall",
}
_MAX_QUOTE_LENGTH = 80


@dataclass(frozen=True, slots=True)
class HistoryEvent:
    """One event in the history of a memory, an entity or an edge. As text it is a sentence.

    Attributes:
        recorded_at: When it was learned.
        position: The position of its ledger entry.
        kind: What happened.
        description: A text that names what it happened to.
        actor: Who did it, if known.
        why: The reason, if one was given.
        value: What it is about; for "superseded" the replacement. None if its text was erased.
        edge_name: The predicate or kind of an edge; "mentions" for events of a memory.
    """

    recorded_at: datetime
    position: int
    kind: EventKind
    description: str
    actor: str | None = None
    why: str | None = None
    value: Memory | Entity | Relation | Link | Receipt | Extracted | None = None
    edge_name: str | None = None

    def __str__(self) -> str:
        actor = "" if self.actor is None else f" by {self.actor}"
        why = "" if self.why is None else f": {self.why}"
        verb = _VERBS.get(self.kind, self.kind)
        return f"{format_moment(self.recorded_at)}: {self.description} was {verb}{actor}{why}."


def quote_memory(memory: Memory | None) -> str:
    """The text of a memory in quotes, shortened."""
    return "an erased memory" if memory is None else repr(truncate(memory.text, _MAX_QUOTE_LENGTH))
