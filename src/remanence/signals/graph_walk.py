"""What a walk through the graph has gathered: how much each row is worth, and the strongest reason for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from remanence.schema import Query
from remanence.state.columns import unique_inverse

Rows = NDArray[np.integer[Any]]
Worths = NDArray[np.floating[Any]]


class WalkScores:
    """What each row was worth on the way. Put down step by step and added up at the end: there may be
    millions of rows, and a walk comes by some hundred."""

    def __init__(self, query: Query) -> None:
        self.allowed = query.allowed
        self.visible_end = _known(query.visible)
        self.near_rows: Rows = np.fromiter(query.candidate_scores, np.int64, len(query.candidate_scores))
        """The rows that meaning and words agree on, best first, and below how much they do."""
        self.near_scores: Worths = np.fromiter(query.candidate_scores.values(), np.float64, len(query.candidate_scores))
        self._rows: list[Rows] = [np.empty(0, np.int64)]
        self._worths: list[Worths] = [np.empty(0)]
        self._reasons: list[str] = [""]

    def add_score(self, rows: Rows, worth: float, why: str) -> None:
        """Add `worth` to these rows, each of which stands there once and may answer."""
        if worth > 0:
            self._put(rows, np.full(len(rows), worth), why)

    def add_scores(self, rows: Rows, worths: Worths, why: str) -> None:
        """Add its own worth to each of these rows, as far as they may answer."""
        kept = np.flatnonzero(self.allowed[rows] & (worths > 0))
        self._put(rows[kept], worths[kept], why)

    def scored_rows_with(self, also: Rows) -> Rows:
        """These rows and those that are worth anything so far, in order, each once."""
        return unique_inverse(np.concatenate((also, *self._rows)))[0]

    def total_scores(self) -> tuple[Rows, NDArray[np.float64]]:
        """The rows that are worth anything, in order, and what each came to."""
        rows, places = unique_inverse(np.concatenate(self._rows))
        scores: NDArray[Any] = np.bincount(places, weights=np.concatenate(self._worths), minlength=len(rows))
        return rows, scores

    def reasons(self, wanted: Sequence[int]) -> list[str]:
        """What was worth most to each of these rows; of what was worth the same, what came first."""
        best = dict.fromkeys(wanted, (0.0, ""))
        for rows, worths, why in zip(self._rows, self._worths, self._reasons, strict=True):
            for row, worth in zip(rows.tolist(), worths.tolist(), strict=True):
                if row in best and worth > best[row][0]:
                    best[row] = worth, why
        return [best[row][1] for row in wanted]

    def _put(self, rows: Rows, worths: Worths, why: str) -> None:
        self._rows.append(rows)
        self._worths.append(worths)
        self._reasons.append(why)


def _known(visible: NDArray[np.bool_]) -> int:
    """One more than the last row that a view knows of."""
    if not visible.any():
        return 0
    return len(visible) if visible[-1] else len(visible) - int(np.argmax(visible[::-1]))
