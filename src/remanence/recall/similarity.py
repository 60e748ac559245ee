"""What `recall` returns for a vector without a question: the nearest memories, by similarity alone.

No other signal, no reader and no adjustment by time, importance or trust takes part. The score is the similarity.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from remanence.index.index import Index
from remanence.recall.answer import Recall
from remanence.recall.fusion import FusedRanking, rank_by_signals
from remanence.recall.hits import build_hits
from remanence.recall.query import QuestionEmbedding, RecallContext, build_context
from remanence.recall.question import parse_question
from remanence.recall.receipts import RecallRequest
from remanence.recall.validity.lifetimes import with_lifetimes
from remanence.recall.validity.superseded import unsuperseded_mask
from remanence.schema import Evidence, Hit

_SIGNAL = "vectors"


def list_by_similarity(index: Index, request: RecallRequest) -> Recall:
    """The memories whose vectors are nearest to that of a request, each with its similarity from 0 to 1 as score."""
    request = replace(request, signals=(_SIGNAL,))
    history = bool(request.history)
    parsed = parse_question(request.text, request.now)
    with index.lock:
        embedding = QuestionEmbedding(request.vector, 0.0)
        context = build_context(index, request, parsed, {}, embedding, include_superseded=history)
        [ranking] = rank_by_signals(context, None)
        ranked = FusedRanking(np.array(ranking.rows, np.int64), np.clip(np.array(ranking.scores, np.float64), 0.0, 1.0))
        if not history:
            ranked = _without_superseded(context, ranked)
        ranked = ranked.first(request.limit)
        found = with_lifetimes(index, build_hits(context, ranked), context.snapshot)
        hits = [
            _with_similarity(hit, rank, float(score))
            for rank, (hit, score) in enumerate(zip(found, ranked.scores, strict=True), 1)
        ]
    least = request.min_score
    return Recall(
        request.text,
        tuple(hit for hit in hits if least is None or hit.score >= least),
        abstained={_SIGNAL: ranking.abstention_reason} if ranking.abstention_reason else {},
        missing={_SIGNAL: ranking.missing_reason} if ranking.missing_reason else {},
        history=history,
        position=request.position,
    )


def _without_superseded(context: RecallContext, ranked: FusedRanking) -> FusedRanking:
    """The ranking without what another memory replaced. What a document says does not change by what others say."""
    index = context.index
    kept = np.ones(len(index.catalog), np.bool_)
    kept[ranked.rows] = unsuperseded_mask(index, ranked.rows, context.snapshot)
    return ranked.restrict_to(kept | index.fields.document_mask)


def _with_similarity(hit: Hit, rank: int, similarity: float) -> Hit:
    reason = Evidence(_SIGNAL, rank, similarity, similarity, f"nearness {similarity:.2f}")
    return replace(hit, score=similarity, evidence=(reason,))
