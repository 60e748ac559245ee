"""Step of the read path: the signals rank rows or abstain, in the order of their stages."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace

from remanence.errors import InvalidInput
from remanence.index.index import Index
from remanence.ports import Signal, Stage
from remanence.recall.fusion import fuse
from remanence.recall.query import RecallContext
from remanence.schema import Query, Ranking

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
