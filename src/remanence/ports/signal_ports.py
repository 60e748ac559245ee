"""What ranks memories for a question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Any, Protocol, runtime_checkable

from numpy.typing import NDArray

from remanence.events import Remembered
from remanence.schema import Query, Ranking


class Stage(IntEnum):
    """When a signal is asked: signals of a later stage are given what the earlier ones found."""

    FIND = 0
    """Is given the question only."""
    SCORE = 1
    """Is also asked to score the rows that FIND signals found: `query.candidate_rows`."""
    SPREAD = 2
    """Starts from the rows that the earlier stages agree on: `query.candidate_scores`."""


@runtime_checkable
class Signal(Protocol):
    """An index built from the ledger that can rank memories for a question.

    `remanence.open(signals=[...])` takes empty ones; each space gets a copy of its own.
    """

    name: str
    weight: float
    """Its weight in the fused score. The weights of the four built-in signals lie between 0.4 and 1."""
    stage: Stage
    needs_embedding: bool
    """Whether it cannot rank without `query.vector`."""

    def apply(self, first: int, versions: Sequence[Remembered | None]) -> None:
        """Index versions numbered from row `first`; None is one whose text was erased.

        Rows that are indexed already are skipped, so applying twice changes nothing.
        """
        ...

    def rank(self, query: Query, limit: int) -> Ranking:
        """The best rows for this question, all of them in `query.allowed`, or an abstention."""
        ...

    def save(self) -> Mapping[str, NDArray[Any]]:
        """The index as plain arrays, for the index file."""
        ...

    def load(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Load the arrays of `save`."""
        ...
