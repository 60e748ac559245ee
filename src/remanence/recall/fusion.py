"""Fusion step of the read path: one ranking per signal in, one ranking out.

Each signal's raw scores are scaled to 0..1, raised to its exponent, weighted and summed over the union of the rows. A
signal that abstained takes no part, and neither does its weight. A signal that searched and found nothing keeps its
weight, so a row that only half of the signals match scores lower. (Scaled scores beat reciprocal ranks, see
docs/decisions.md.)
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from remanence.errors import InvalidInput
from remanence.index.index import Index
from remanence.ports import Signal, Stage
from remanence.recall.query import RecallContext
from remanence.schema import Evidence, Query, Ranking, micros

log = logging.getLogger(__name__)

MIN_CANDIDATES = 100
"""How many rows each signal may return, at least."""
_SCORED_ROWS = 32
"""How many rows of each FIND signal a SCORE signal is asked about."""
_SPREAD_ROWS = 100
"""From how many rows SPREAD signals start."""


def rank_by_signals(context: RecallContext, embedding_error: str | None) -> list[Ranking]:
    """The ranking of each signal that is asked, in the order of their stages.

    Signals of the stage SCORE are also asked about the rows of FIND signals, so that no row counts as unrelated only
    because it was not among the nearest. Signals of the stage SPREAD start from the best rows of the stages before.
    `embedding_error` is the reason why the question has no vector, if it has none.
    """
    index, request, query = context.index, context.request, context.query
    limit = max(MIN_CANDIDATES, 2 * request.limit)
    weights = index.signal_weights
    rankings: list[Ranking] = []
    stage = Stage.FIND
    for signal in index.signals_for(request.signals):
        if signal.stage is not stage:
            stage = signal.stage
            query = _with_candidates(query, stage, rankings, weights, limit)
        rankings.append(_rank_with(index, signal, query, limit, embedding_error))
    return rankings


def _with_candidates(
    query: Query, stage: Stage, rankings: Sequence[Ranking], weights: Mapping[str, float], limit: int
) -> Query:
    """The query with the rows of the stages before this one."""
    if stage is Stage.SCORE:
        return replace(query, candidate_rows=[row for ranking in rankings for row in _rows_to_score(ranking, query)])
    count = _SPREAD_ROWS if query.time_mask is None else _SPREAD_ROWS + limit // 2
    fused = fuse(rankings, weights).first(count)
    return replace(query, candidate_scores=dict(zip(fused.rows.tolist(), fused.scores.tolist(), strict=True)))


def _rows_to_score(ranking: Ranking, query: Query) -> Sequence[int]:
    """The first rows of a ranking, and all of its rows from the time that is asked for."""
    if query.time_mask is None:
        return ranking.rows[:_SCORED_ROWS]
    return [row for rank, row in enumerate(ranking.rows) if rank < _SCORED_ROWS or query.time_mask[row]]


def _rank_with(index: Index, signal: Signal, query: Query, limit: int, embedding_error: str | None) -> Ranking:
    """The ranking of one signal. If a signal fails, it is named in the answer, and the other signals continue."""
    if signal.name in index.broken:
        return Ranking.unavailable(signal.name, f"{index.broken[signal.name]} (`rebuild` repairs it)")
    if signal.needs_embedding and embedding_error is not None:
        return Ranking.unavailable(signal.name, embedding_error)
    try:
        return _check_ranking(signal, signal.rank(query, limit), query)
    except InvalidInput:
        raise  # the caller gave a vector of another dimension
    except Exception as error:  # a server may be down, and a plug-in may raise anything
        log.warning("recall continues without the signal %r: %s", signal.name, error, exc_info=True)
        return Ranking.unavailable(signal.name, f"{type(error).__name__}: {error}")


def _check_ranking(signal: Signal, ranking: Ranking, query: Query) -> Ranking:
    """The ranking, if fusion can use it; a plug-in may return anything."""
    if not isinstance(ranking, Ranking) or ranking.signal != signal.name:
        raise TypeError(f"it returned {type(ranking).__name__}, not a Ranking with the name {signal.name!r}")
    if len(ranking.rows) != len(ranking.scores):
        raise ValueError(f"it returned {len(ranking.rows)} rows and {len(ranking.scores)} scores")
    if len(ranking.rows) and not 0 <= min(ranking.rows) <= max(ranking.rows) < len(query.allowed):
        raise ValueError("it returned a row that does not exist")
    return ranking


_DAY = 86_400 * 1_000_000
_YEAR = 365 * _DAY
_RECENCY = 0.04
"""How much a new memory gains, relative to a very old one: a share of its score, chosen to order near ties only."""
_IMPORTANCE = 0.06
"""How much a memory of importance 1 gains, relative to one of importance 0."""
_ENDED_FACTOR = 0.95
"""The factor for states that have ended: enough to order near ties."""
_FUTURE_TURN_FACTOR = 0.8
"""The factor for chat turns dated more than a day after the question. It is not zero, so that a turn with a wrong date
is still found."""
_MIN_TRUST_FACTOR = 0.7
"""The factor for a memory with trust 0."""


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
    notes: Mapping[int, Evidence] = field(default_factory=dict)
    """Evidence for rows that were moved because of time."""
    pinned_rows: frozenset[int] = frozenset()
    """Rows that were valid at the time asked about. The ranking begins with them."""

    def __len__(self) -> int:
        return len(self.rows)

    def first(self, count: int) -> FusedRanking:
        return self._with_rows(self.rows[:count], self.scores[:count])

    def restrict_to(self, mask: NDArray[np.bool_]) -> FusedRanking:
        inside = mask[self.rows]
        return self._with_rows(self.rows[inside], self.scores[inside])

    def with_scores(self, scores: NDArray[np.float64]) -> FusedRanking:
        """The same rows with other scores, in their new order."""
        order = np.lexsort((self.rows, -scores))
        return self._with_rows(self.rows[order], scores[order])

    def _with_rows(self, rows: NDArray[np.int64], scores: NDArray[np.float64]) -> FusedRanking:
        return FusedRanking(rows, scores, self.rankings, self.contributions, self.notes, self.pinned_rows)

    def found_by(self) -> list[list[SignalShare]]:
        """For each row, what each signal that ranked it contributed to its score."""
        found: dict[int, list[SignalShare]] = {row: [] for row in self.rows.tolist()}
        for ranking, contributions in zip(self.rankings, self.contributions, strict=True):
            index_of = dict(zip(ranking.rows, range(len(ranking.rows)), strict=True))
            rows = [row for row in found if row in index_of]
            notes = [""] * len(rows) if ranking.explain_rows is None else ranking.explain_rows(rows)
            for row, note in zip(rows, notes, strict=True):
                index = index_of[row]
                share, raw = float(contributions[index]), ranking.scores[index]
                found[row].append((ranking.signal, index + 1, share, raw, note))
        return list(found.values())


def fuse(rankings: Sequence[Ranking], weights: Mapping[str, float]) -> FusedRanking:
    """One ranking of all rows that any signal found.

    >>> a = Ranking("words", [7, 3], [4.0, 1.0])
    >>> b = Ranking("vectors", [3], [0.9])
    >>> fused = fuse([a, b], {"words": 1.0, "vectors": 1.0})
    >>> fused.rows.tolist(), fused.scores.round(2).tolist()
    ([3, 7], [0.62, 0.5])
    """
    searched = [ranking for ranking in rankings if ranking.has_searched]
    total = sum(weights.get(ranking.signal, 0.0) for ranking in searched)
    shares = {r.signal: weights.get(r.signal, 0.0) / total for r in searched} if total > 0 else {}
    counted = [ranking for ranking in searched if len(ranking.rows) and shares.get(ranking.signal)]
    if not counted:
        return FusedRanking(np.empty(0, np.int64), np.empty(0))
    rows, row_indexes = np.unique(np.concatenate([np.array(r.rows, np.int64) for r in counted]), return_inverse=True)
    contributions = [shares[r.signal] * normalize_scores(r) for r in counted]
    scores: NDArray[Any] = np.bincount(row_indexes, weights=np.concatenate(contributions), minlength=len(rows))
    order = np.argsort(-scores, kind="stable")  # the rows are sorted
    return FusedRanking(rows[order], scores[order], counted, contributions)


def normalize_scores(ranking: Ranking) -> NDArray[np.float64]:
    """Raw scores scaled from the floor, 0, to the best, 1, and raised to the signal's exponent."""
    raw = np.asarray(ranking.scores, np.float64)
    span = ranking.scale.ceiling - ranking.floor
    if span <= 0:
        return np.zeros(len(raw))
    scale: NDArray[np.float64] = (raw - ranking.floor) / span
    np.minimum(scale, 1.0, out=scale)  # `clip` takes several times as long for the few scores of a ranking
    np.maximum(scale, 0.0, out=scale)
    return scale if ranking.exponent == 1.0 else scale**ranking.exponent


def adjust_scores(index: Index, fused: FusedRanking, now: datetime) -> FusedRanking:
    """Recency and importance add a few hundredths: enough to order near ties. Turns dated after `now` and less trusted
    memories are ranked lower."""
    return fused.with_scores(fused.scores * adjustments(index, fused.rows, now))


def adjustments(index: Index, rows: NDArray[np.int64], now: datetime) -> NDArray[np.float64]:
    """The factor for the score of each row."""
    age = np.abs(micros(now) - index.catalog.times.event_times(rows)) / _YEAR
    boost: NDArray[np.float64] = 1 + _RECENCY * np.exp(-age) + _IMPORTANCE * index.catalog.attributes.importance[rows]
    boost[future_turns(index, rows, now)] *= _FUTURE_TURN_FACTOR
    boost[index.catalog.ended_mask(rows, now)] *= _ENDED_FACTOR
    boost *= _MIN_TRUST_FACTOR + (1 - _MIN_TRUST_FACTOR) * index.catalog.attributes.trust[rows]
    return boost / (1 + _RECENCY + _IMPORTANCE)


def future_turns(index: Index, rows: NDArray[np.int64], now: datetime) -> NDArray[np.bool_]:
    """Which of these rows are chat turns dated more than a day after `now`."""
    future: NDArray[np.bool_] = index.catalog.times.said[rows] > micros(now) + _DAY
    return future
