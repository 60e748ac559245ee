"""Part of the graph signal: the scores that a walk collects for rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from remanence.schema import Query
from remanence.state.arrays.columns import unique_inverse

Rows = NDArray[np.integer[Any]]
Scores = NDArray[np.floating[Any]]


class WalkScores:
    """Scores of rows, collected step by step and added up at the end: there may be millions of rows, and a walk
    reaches a few hundred."""

    def __init__(self, query: Query) -> None:
        self.allowed = query.allowed
        self.visible_end = _visible_end(query.visible)
        self.near_rows: Rows = np.fromiter(query.candidate_scores, np.int64, len(query.candidate_scores))
        """The rows that the earlier stages agree on, best first; their scores follow."""
        self.near_scores: Scores = np.fromiter(query.candidate_scores.values(), np.float64, len(query.candidate_scores))
        self._rows: list[Rows] = [np.empty(0, np.int64)]
        self._scores: list[Scores] = [np.empty(0)]
        self._reasons: list[str | Callable[[int], str]] = [""]

    def add_score(self, rows: Rows, score: float, why: str) -> None:
        """Add a score to these rows. Each is listed once and may be returned."""
        if score > 0:
            self._append(rows, np.full(len(rows), score), why)

    def add_scores(self, rows: Rows, scores: Scores, why: str | Callable[[int], str]) -> None:
        """Add a score to each of these rows that may be returned. `why` is the reason, or a function from a row to the
        reason."""
        counted = np.flatnonzero(self.allowed[rows] & (scores > 0))
        self._append(rows[counted], scores[counted], why)

    def scored_rows_with(self, rows: Rows) -> Rows:
        """These rows and those that have a score so far, sorted, each once."""
        return unique_inverse(np.concatenate((rows, *self._rows)))[0]

    def total_scores(self) -> tuple[Rows, NDArray[np.float64]]:
        """The rows that have a score, sorted, and the sum of each."""
        rows, places = unique_inverse(np.concatenate(self._rows))
        scores: NDArray[Any] = np.bincount(places, weights=np.concatenate(self._scores), minlength=len(rows))
        return rows, scores

    def reasons(self, wanted: Sequence[int]) -> list[str]:
        """The reason with the highest score for each of these rows; of equals the first."""
        best: dict[int, tuple[float, str | Callable[[int], str]]] = dict.fromkeys(wanted, (0.0, ""))
        for rows, scores, why in zip(self._rows, self._scores, self._reasons, strict=True):
            for row, score in zip(rows.tolist(), scores.tolist(), strict=True):
                if row in best and score > best[row][0]:
                    best[row] = score, why
        reasons = [best[row][1] for row in wanted]
        return [why if isinstance(why, str) else why(row) for row, why in zip(wanted, reasons, strict=True)]

    def _append(self, rows: Rows, scores: Scores, why: str | Callable[[int], str]) -> None:
        self._rows.append(rows)
        self._scores.append(scores)
        self._reasons.append(why)


def _visible_end(visible: NDArray[np.bool_]) -> int:
    if not visible.any():
        return 0
    return len(visible) if visible[-1] else len(visible) - int(np.argmax(visible[::-1]))
