"""The value that the steps of one recall share."""

from __future__ import annotations

from dataclasses import dataclass

from remanence.core.index import Index
from remanence.read.question import ParsedQuestion
from remanence.read.receipts import RecallRequest
from remanence.schema import Query, Snapshot


@dataclass(frozen=True, slots=True)
class RecallContext:
    """One recall. The steps that read `index`, `snapshot` or `query` need the lock of the index."""

    index: Index
    request: RecallRequest
    """The arguments of the caller."""
    parsed: ParsedQuestion
    """The question, parsed."""
    snapshot: Snapshot
    """The state of the space at the position and the moment of the request."""
    query: Query
    """The query that the signals are asked."""
    include_superseded: bool
    """Whether superseded rows are searched, because the question may be about the past."""
