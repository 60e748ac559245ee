"""The nouns of a transcript: a row is one message, a session has rows, and a name."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from hashlib import blake2b
from math import floor

from llama_index.core.base.llms.types import ChatMessage

from llama_index_remanence.messages import message_from_json, valid_text

_MOST_NAME = 200


@dataclass(frozen=True, slots=True)
class MessageRow:
    """One message of a session. `number` is the ledger line it was written on, and names it for good."""

    memory_id: str
    position: int
    session: str
    generation: str
    order: Fraction
    archived: bool
    message_json: str
    extra_ids: tuple[str, ...] = ()
    """The ids of further records, where one could not hold the message."""

    @property
    def sort_key(self) -> tuple[Fraction, int]:
        """What rows are sorted by: two that were added at the same time have the same order."""
        return self.order, self.position

    @property
    def message(self) -> ChatMessage:
        """The message, made anew each time: whoever edits it edits nothing of ours."""
        return message_from_json(self.message_json)


@dataclass(slots=True)
class Session:
    """Which life of a session is shown, up to where it is archived, and the rows of each life."""

    is_active: bool = False
    memory_id: str = ""
    generation: str = ""
    archived_to: tuple[Fraction, int] | None = None
    record_count: int = 0
    rows_by_generation: dict[str, list[MessageRow]] = field(default_factory=dict)
    all_rows: list[MessageRow] = field(default_factory=list)

    def rows(self) -> list[MessageRow]:
        """The rows of the life that is shown."""
        return self.rows_by_generation.get(self.generation, []) if self.is_active else []

    def is_archived(self, row: MessageRow) -> bool:
        """Whether a row was archived, by itself or with all before it."""
        return row.archived or (self.archived_to is not None and row.sort_key <= self.archived_to)

    def last_order(self) -> Fraction | None:
        """The order that a new last message has to come after."""
        orders = [row.order for row in self.rows()[-1:]]
        return max([*orders, *self.archived_to[:1]] if self.archived_to else orders, default=None)


def orders_after(last: Fraction | None, count: int) -> list[Fraction]:
    """Whole numbers after the last."""
    first = 0 if last is None else floor(last) + 1
    return [Fraction(first + step) for step in range(count)]


def session_label(session: str) -> str:
    """A session's name as it may stand in a memory: the same for the same session, and for no other.

    >>> session_label("monday"), session_label(" monday ")
    ('monday', 'monday… 6fc8e45fbf4f5e81')
    """
    name = valid_text(session).strip()[:_MOST_NAME]
    return name if name == session and name else f"{name}… {short_hash(session)}"


def short_hash(text: str) -> str:
    """A short name for a long text."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
