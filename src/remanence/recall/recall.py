"""The read path: from a question to ranked hits. Each step is one module, in this order.

question      parse the text: times, names, whether it asks about the past or refers to the turns before it
fusion        the rows that may be returned, the names and words to search for, the vector. The signals are asked, and
              each ranks rows or abstains. One ranking of all, adjusted by recency, importance, trust
validity      what holds at the time asked about comes first, by given times, links and claims (`by_claims`)
hits          memories with their evidence, and the turn before those that are not understood alone
validity      which hits are current (`current`)
reading       a reader reads the first hits together, as dated lines: which answer, which hold, which are replaced
validity      the order by what the reader says and by the signals, and the marks on what is replaced (`by_reader`)
answer        the `Recall` that is returned

A row is one version of a memory, by its number in the index of the space; a mask has a value for each row. A snapshot
is the state of the space at a ledger position and a moment. Some rows are superseded: a later version, a link or a
later claim says otherwise. A signal is one way to search: by words, vectors, times or the graph.

The steps share the `RecallContext` of `context`. A vector without a question has a shorter way, at the end here. The
docstring of the package says what the other modules are for.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from remanence.index.engine.engine import Engine
from remanence.index.index import Index
from remanence.index.memory_cache import retry_if_erased
from remanence.index.numbers import Position
from remanence.recall.answer import Recall, mark_archived
from remanence.recall.context import FusedRanking
from remanence.recall.fusion import (
    QuestionEmbedding,
    adjust_scores,
    build_context,
    embed_question,
    find_speakers,
    fuse,
    rank_by_signals,
)
from remanence.recall.hits import build_hits, insert_rules, split_rules
from remanence.recall.question import parse_question
from remanence.recall.reading import MAX_READ_HITS, ReadingResult, read_hits, reader_for
from remanence.recall.receipts import RecallRequest
from remanence.recall.validity.by_claims import rank_by_claims, searches_superseded
from remanence.recall.validity.superseded import unsuperseded_mask
from remanence.schema import Evidence
from remanence.text.temporal import use_date_order

if TYPE_CHECKING:
    from remanence.models.embedders import CheckedEmbedder
    from remanence.ports import Reader


@retry_if_erased
def recall(
    engine: Engine,
    space: str,
    request: RecallRequest,
    find_position: Callable[[Index], Position],
    *,
    include_archive: bool = False,
    answer: Callable[[Index, RecallRequest], Recall] | None = None,
) -> Recall:
    """Answer a question about a space.

    Args:
        engine: The engine of the ledger.
        space: The name of the space.
        request: The question and its options. Its position is replaced.
        find_position: Gives the ledger position to read at.
        include_archive: Whether archived memories are searched too.
        answer: Answers in place of `recall_from_index`.
    """
    with engine.open_index(space) as index:
        request = replace(request, position=find_position(index))
        searched = index.with_archive() if include_archive else index
        if request.without is not None:
            # The rows are removed before the search, so that the rows which they superseded are current.
            searched = searched.without_rows(index.rows_from_sources(request.without, request.position))
        if answer is None:
            result = recall_from_index(searched, request, engine.embedder, reader_for(request.reader, engine.reader))
        else:
            result = answer(searched, request)
        if include_archive:
            with index.lock:
                archived = index.catalog.archived_mask(request.position)
                hits = [mark_archived(hit) if archived[index.require_number(hit.memory.id)] else hit for hit in result]
            result = replace(result, hits=tuple(hits))
        index.record_recalled(hit.memory for hit in result)
        return replace(result, receipt=request.to_receipt(space, engine.settings_hash, include_archive=include_archive))


def recall_from_index(
    index: Index, request: RecallRequest, embedder: CheckedEmbedder, reader: Reader | None = None
) -> Recall:
    """The memories that answer, best first, each with its evidence. Here are all steps of a recall."""
    begun = time.monotonic()
    with index.lock:
        day_first = index.date_order(request.position, [request.text])
    with use_date_order(day_first):
        parsed = parse_question(request.text, request.now, request.context)
    with index.lock:
        speakers = find_speakers(index, request, parsed)
    embedding = embed_question(index, request, parsed, speakers, embedder)
    include_superseded = searches_superseded(request, parsed)
    read_count = 0 if reader is None else MAX_READ_HITS
    count = max(request.limit, read_count)
    with index.lock:
        context = build_context(index, request, parsed, speakers, embedding, include_superseded=include_superseded)
        rankings = rank_by_signals(context, embedding.error)
        weights = request.weights or index.signal_weights
        fused = adjust_scores(index, fuse(rankings, weights), request.now, context.query.telling)
        ranked, history = rank_by_claims(context, fused, count)
        ranked = ranked.first(count)
        found = build_hits(context, ranked)
    hits, by_rules = split_rules(found)
    # Without the lock: the reader may be slow, and may itself read the space.
    result = ReadingResult(hits)
    if reader is not None:
        seconds = None if request.deadline is None else request.deadline - (time.monotonic() - begun)
        asked = parsed.completed(context.query.entity_names, request.during, request.now)
        pinned = sum(hit not in by_rules for hit in found[: len(ranked.pinned_rows)])
        result = read_hits(hits, pinned, asked, request.now, reader, seconds)
    missing = {ranking.signal: ranking.missing_reason for ranking in rankings if ranking.missing_reason}
    min_score, ranked_hits = request.min_score, insert_rules(result.hits, by_rules)
    return Recall(
        question=request.text,
        hits=tuple(hit for hit in ranked_hits[: request.limit] if min_score is None or hit.score >= min_score),
        abstained={ranking.signal: ranking.abstention_reason for ranking in rankings if ranking.abstention_reason},
        missing={**missing, **result.missing},
        times=context.query.times,
        history=history,
        position=request.position,
        confidence=result.confidence,
        scales={
            ranking.signal: ranking.scale._replace(weight=weights.get(ranking.signal, 0.0))
            for ranking in rankings
            if ranking.has_searched
        },
        pinned=len(ranked.pinned_rows),
    )


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
            # What a document says does not change by what others say.
            is_document = index.fields.document_mask[ranked.rows]
            ranked = ranked.where(unsuperseded_mask(index, ranked.rows, context.snapshot) | is_document)
        ranked = ranked.first(request.limit)
        found = build_hits(context, ranked)
        hits = [
            replace(hit, score=score, evidence=(Evidence(_SIGNAL, rank, score, score, f"nearness {score:.2f}"),))
            for rank, (hit, score) in enumerate(zip(found, ranked.scores.tolist(), strict=True), 1)
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
