"""What the steps of a recall share: its context, and the ranking that they hand on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from remanence.index.index import Index
from remanence.index.numbers import Row
from remanence.recall.question import ParsedQuestion
from remanence.recall.receipts import RecallRequest
from remanence.schema import Evidence, Query, Ranking, Snapshot

SignalShare = tuple[str, int, float, float, str]
"""A signal, the rank that it gave a row, its share of the score of that row, its own score, and its note."""


@dataclass(frozen=True, slots=True)
class FusedRanking:
    """Rows, best first, each with a score 0..1; equal scores in row order."""

    rows: NDArray[np.int64]
    scores: NDArray[np.float64]
    rankings: Sequence[Ranking] = ()
    contributions: Sequence[NDArray[np.float64]] = ()
    """For each ranking, its share in the score of each of its rows."""
    notes: Mapping[Row, Evidence] = field(default_factory=dict)
    """Evidence for rows that were moved because of time."""
    pinned_rows: frozenset[int] = frozenset()
    """Rows that were valid at the time asked about. The ranking begins with them."""

    def __len__(self) -> int:
        return len(self.rows)

    def first(self, count: int) -> FusedRanking:
        return self._with_rows(self.rows[:count], self.scores[:count])

    def where(self, inside: NDArray[np.bool_]) -> FusedRanking:
        """Only those of its rows for which this is true."""
        return self._with_rows(self.rows[inside], self.scores[inside])

    def with_scores(self, scores: NDArray[np.float64]) -> FusedRanking:
        """The same rows with other scores, in their new order."""
        order = np.lexsort((self.rows, -scores))
        return self._with_rows(self.rows[order], scores[order])

    def _with_rows(self, rows: NDArray[np.int64], scores: NDArray[np.float64]) -> FusedRanking:
        return FusedRanking(rows, scores, self.rankings, self.contributions, self.notes, self.pinned_rows)

    def found_by(self) -> list[list[SignalShare]]:
        """For each row, what each signal that ranked it contributed to its score."""
        found: dict[Row, list[SignalShare]] = {row: [] for row in self.rows.tolist()}
        for ranking, contributions in zip(self.rankings, self.contributions, strict=True):
            index_of = dict(zip(ranking.rows, range(len(ranking.rows)), strict=True))
            rows = [row for row in found if row in index_of]
            notes = [""] * len(rows) if ranking.explain_rows is None else ranking.explain_rows(rows)
            for row, note in zip(rows, notes, strict=True):
                index = index_of[row]
                share, raw = float(contributions[index]), ranking.scores[index]
                found[row].append((ranking.signal, index + 1, share, raw, note))
        return list(found.values())


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
