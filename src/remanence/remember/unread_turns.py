"""Which turns of a chat no language model has read yet, and when a background job reads them.

A chat is read once nobody has said anything in it for a while, or when it has grown by a number of turns; and not once
the tokens of the day are spent. The settings are those of `LLMExtractor`.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import numpy as np

from remanence.index.index import Index
from remanence.index.journal import JobState, Journal
from remanence.index.numbers import Row
from remanence.ports import EVERY_TURNS, QUIET_SECONDS, FactExtractor
from remanence.schema import UTC, TokenUsage, micros

if TYPE_CHECKING:
    from remanence.index.engine.engine import Engine

VERBATIM = "verbatim"
"""The extractor of a source that is kept as it was said, in place of an earlier extraction."""
_PAUSE = timedelta(seconds=30)
"""How long after its last turn a chat that has grown is read, so that the reply to that is read with it."""


def unread_turns(index: Index, conversation: str) -> list[str]:
    """The ids of the visible turns of a chat in which no language model has looked for facts, in the order told."""
    with index.lock:
        rows = _unread_rows(index, conversation)
        return [index.catalog.ids[index.catalog.memory_of(row)] for row in rows]


def failed_turns(index: Index, conversation: str) -> list[str]:
    """The ids of the unread turns of a chat for which a language model was asked, and failed, in the order told."""
    return [turn for turn in unread_turns(index, conversation) if index.journal.extractions.get(turn)]


def due_at(engine: Engine, index: Index, job: JobState) -> int:
    """When a job is to be tried, in microseconds."""
    extractor = engine.extractor
    if not isinstance(extractor, FactExtractor):
        return job.due_at_micros
    at = job.due_at_micros
    if job.conversation is not None:
        with index.lock:
            rows = _unread_rows(index, job.conversation)
            if rows:
                has_grown = len(rows) >= getattr(extractor, "every_turns", EVERY_TURNS)
                quiet = timedelta(seconds=getattr(extractor, "quiet", QUIET_SECONDS))
                last = int(index.catalog.times.recorded[rows].max())
                at = max(at, last + (min(_PAUSE, quiet) if has_grown else quiet) // timedelta(microseconds=1))
    if is_budget_spent(engine, index, engine.now()):
        at = max(at, micros(_next_day(engine.now())))
    return at


def is_budget_spent(engine: Engine, index: Index, now: datetime) -> bool:
    """Whether the tokens of this day (UTC) are spent in this space."""
    budget: int | None = getattr(engine.extractor, "budget_tokens", None)
    return budget is not None and spent_on(index, now).tokens >= budget


def spent_on(index: Index, moment: datetime) -> TokenUsage:
    """What was spent on facts on a day (UTC) in this space."""
    return TokenUsage(*index.journal.spent_by_day.get(utc_day(moment), ()))


def utc_day(moment: datetime) -> str:
    """The day of a moment, as the ledger records what was spent.

    >>> utc_day(datetime(2026, 5, 4, 23, tzinfo=UTC))
    '2026-05-04'
    """
    return moment.astimezone(UTC).date().isoformat()


def _next_day(now: datetime) -> datetime:
    return now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)


def _unread_rows(index: Index, conversation: str) -> list[Row]:
    position = index.catalog.position
    visible = index.catalog.restrict_to_active(index.catalog.visible_mask(position), position)
    rows = np.flatnonzero(visible & index.fields.conversation_mask([conversation]))
    memory_of, ids = index.catalog.memory_of, index.catalog.ids
    return [row for row in rows.tolist() if not is_read(index.journal, ids[memory_of(row)])]


def is_read(journal: Journal, memory: str) -> bool:
    """Whether a language model has looked for facts in a memory."""
    return any(record.by != VERBATIM for record in journal.extractions.get(memory, ()))
