"""Rankings in, one ranking out. Pure.

Each signal's raw scores are scaled to 0..1, from its floor to its best, bent, weighted, and summed over
the union of candidates. A signal that abstained takes no part, and its weight with it: silence is no opinion.
One that looked and found nothing keeps its weight, so a match of half the signals scores lower. (Scaled
scores beat reciprocal ranks by one to eight points of R@5 over five sets, see benchmarks/README.md: ranks
throw away how sure a signal was.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from remanence.schema import Evidence, Ranking
from remanence.state.columns import unique_inverse

WEIGHTS: Mapping[str, float] = {"vectors": 0.4, "words": 0.6, "graph": 1.0, "times": 0.8}
EXPONENTS: Mapping[str, float] = {"vectors": 2.0}
"""The power that a signal's scale is raised to. Any two texts are somewhat near: only much is telling."""


@dataclass(frozen=True, slots=True)
class FusedRanking:
    """Rows, best first, each with a score 0..1; equal scores in row order."""

    rows: NDArray[np.int64]
    scores: NDArray[np.float64]
    rankings: Sequence[Ranking] = ()
    gains: Sequence[NDArray[np.float64]] = ()
    """Of each ranking, what it gave each of its rows."""

    def __len__(self) -> int:
        return len(self.rows)

    def first(self, count: int) -> FusedRanking:
        """The best `count`."""
        return FusedRanking(self.rows[:count], self.scores[:count], self.rankings, self.gains)

    def restrict_to(self, allowed: NDArray[np.bool_]) -> FusedRanking:
        """Only the rows in this mask."""
        kept = allowed[self.rows]
        return FusedRanking(self.rows[kept], self.scores[kept], self.rankings, self.gains)

    def with_scores(self, scores: NDArray[np.float64]) -> FusedRanking:
        """The same rows with other scores, in their new order."""
        order = np.lexsort((self.rows, -scores))
        return FusedRanking(self.rows[order], scores[order], self.rankings, self.gains)

    def evidence(self) -> list[list[Evidence]]:
        """For each row, what each signal said of it."""
        out: dict[int, list[Evidence]] = {row: [] for row in self.rows.tolist()}
        for ranking, gains in zip(self.rankings, self.gains, strict=True):
            place_of = dict(zip(ranking.rows, range(len(ranking.rows)), strict=True))
            rows = [row for row in out if row in place_of]
            notes = [""] * len(rows) if ranking.explain_rows is None else ranking.explain_rows(rows)
            for row, note in zip(rows, notes, strict=True):
                place = place_of[row]
                share, raw = float(gains[place]), ranking.scores[place]
                out[row].append(Evidence(ranking.signal, place + 1, share, raw, note))
        return list(out.values())


def fuse(rankings: Sequence[Ranking], weights: Mapping[str, float] = WEIGHTS) -> FusedRanking:
    """One list of all that any signal put forward.

    >>> a = Ranking("words", [7, 3], [4.0, 1.0])
    >>> b = Ranking("vectors", [3], [0.9])
    >>> fused = fuse([a, b], {"words": 1.0, "vectors": 1.0})
    >>> fused.rows.tolist(), fused.scores.round(2).tolist()
    ([3, 7], [0.62, 0.5])
    """
    heard = [ranking for ranking in rankings if ranking.has_searched]
    total = sum(weights.get(ranking.signal, 0.0) for ranking in heard)
    shares = {r.signal: weights.get(r.signal, 0.0) / total for r in heard} if total > 0 else {}
    speaking = [ranking for ranking in heard if len(ranking.rows) and shares.get(ranking.signal)]
    if not speaking:
        return FusedRanking(np.empty(0, np.int64), np.empty(0))
    rows, places = unique_inverse(np.concatenate([np.array(r.rows, np.int64) for r in speaking]))
    gains = [shares[r.signal] * normalize_scores(r) for r in speaking]
    scores: NDArray[Any] = np.bincount(places, weights=np.concatenate(gains), minlength=len(rows))
    order = np.argsort(-scores, kind="stable")  # the rows come in order
    return FusedRanking(rows[order], scores[order], speaking, gains)


def normalize_scores(ranking: Ranking) -> NDArray[np.float64]:
    """Raw scores on a scale from the floor, 0, to the best, 1, bent.

    >>> normalize_scores(Ranking("words", [7, 3], [4.0, 1.0])).tolist()
    [1.0, 0.25]
    >>> normalize_scores(Ranking("vectors", [7, 3], [0.8, 0.4])).tolist()
    [1.0, 0.25]
    """
    raw = np.asarray(ranking.scores, np.float64)
    span = (ranking.scores[0] if ranking.ceiling is None else ranking.ceiling) - ranking.floor
    if span <= 0:
        return np.zeros(len(raw))
    scale: NDArray[np.float64] = ((raw - ranking.floor) / span).clip(0.0, 1.0)
    return scale ** EXPONENTS[ranking.signal] if ranking.signal in EXPONENTS else scale
