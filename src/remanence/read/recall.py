"""The read path: from a question to ranked hits. Each step is one module, in this order.

question      parse the text: times, names, whether it asks about the past or refers to the turns before it
query         the rows that may be returned, the names and words to search for, the vector
rankings      ask the signals; each ranks rows or abstains
fusion        one ranking of all signals, adjusted by recency, importance and trust
past          for questions about another time: what was valid then is ranked first
supersession  otherwise: superseded rows are replaced by the rows that superseded them
hits          memories with their evidence
reading       a reader reads the first hits and says which of them answer; with `chains`, two hits that answer only
              together, and with `time_choice`, which of the answers was valid at the time asked about
answer        the `Recall` that is returned
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from remanence.core.engine import Engine
from remanence.core.index import Index
from remanence.core.projection import RowErased
from remanence.language.temporal import reading_dates
from remanence.read.answer import Recall, mark_archived
from remanence.read.chains import linked_hits
from remanence.read.fusion import FusedRanking, adjust_scores, fuse
from remanence.read.hits import build_hits
from remanence.read.past import drop_repeated_versions, includes_history, may_ask_about_past, rank_by_validity
from remanence.read.query import build_query, embed_question, find_speakers, searchable_rows
from remanence.read.question import ParsedQuestion, parse_question
from remanence.read.rankings import rank_by_signals
from remanence.read.receipts import RecallRequest
from remanence.read.rerank import READ_HITS, read_hits, turns_before
from remanence.read.supersession import drop_expired_sources, rank_by_supersession
from remanence.schema import Query, Snapshot

if TYPE_CHECKING:
    from remanence.models.embedders.checked import CheckedEmbedder
    from remanence.ports import Reader


def recall(
    engine: Engine,
    space: str,
    make_request: Callable[[Index], RecallRequest],
    *,
    archive: bool = False,
    answer: Callable[[Index, RecallRequest], Recall] | None = None,
) -> Recall:
    """Answer a question about a space.

    Args:
        engine: The engine of the ledger.
        space: The name of the space.
        make_request: Makes the request. It is given the index, which knows the ledger position to read at.
        archive: Whether archived memories are searched too.
        answer: Answers the request in place of the signals and the reader.
    """

    def answer_by_signals(index: Index, request: RecallRequest) -> Recall:
        return recall_from_index(index, request, engine.embedder, engine.reader)

    with engine.open_index(space) as index:
        try:
            request, result = _recall(index, make_request, archive, answer or answer_by_signals)
        except RowErased:
            index.catch_up()  # another process erased one of the hits meanwhile
            request, result = _recall(index, make_request, archive, answer or answer_by_signals)
        index.note_recalled(hit.memory for hit in result)
        return replace(result, receipt=request.to_receipt(space, engine.settings_hash, archive=archive))


def _recall(
    index: Index,
    make_request: Callable[[Index], RecallRequest],
    archive: bool,
    answer: Callable[[Index, RecallRequest], Recall],
) -> tuple[RecallRequest, Recall]:
    request = make_request(index)
    searched = index.with_archive() if archive else index
    if request.without is not None:
        # Not only left out: what these sources superseded is current again.
        searched = searched.without_rows(index.rows_from(request.without, request.position))
    result = answer(searched, request)
    if not archive:
        return request, result
    with index.lock:
        archived = index.catalog.archived_mask(request.position)
        hits = [mark_archived(hit) if archived[index.require_number(hit.memory.id)] else hit for hit in result]
    return request, replace(result, hits=tuple(hits))


def recall_from_index(
    index: Index, request: RecallRequest, embedder: CheckedEmbedder, reader: Reader | None = None
) -> Recall:
    """The memories that answer, best first, each with its evidence."""
    parsed = _parse(index, request)
    with index.lock:
        speakers = find_speakers(index, request, parsed)
    vector, embedding_error = embed_question(index, request, parsed, speakers, embedder)
    count = request.limit if reader is None else max(request.limit, READ_HITS)
    with index.lock:
        snapshot = index.snapshot(request.position, request.now)
        searchable = searchable_rows(index, request, snapshot, history=may_ask_about_past(request, parsed))
        query = build_query(index, request, parsed, speakers, snapshot, searchable, vector, embedder.similarity_floor)
        rankings = rank_by_signals(index, request, query, embedding_error)
        fused = adjust_scores(index, fuse(rankings, request.weights or index.signal_weights), request.now)
        ranked, history = _rank_by_time(index, request, parsed, query, snapshot, fused, count)
        ranked = ranked.first(count)
        hits = build_hits(index, ranked, snapshot, request.text)
        rows_to_read = ranked.rows[:READ_HITS].tolist() if reader is not None else []
        before = turns_before(index, rows_to_read, request.position)
        links = linked_hits(index, rows_to_read, hits, parsed.text)
    missing = {ranking.signal: ranking.missing_reason for ranking in rankings if ranking.missing_reason}
    confidence = None
    if reader is not None:  # without the lock: it may be slow, and may itself read the space
        pinned = len(ranked.pinned_rows)
        hits, confidence, failure = read_hits(hits, parsed, before, reader, request.now, pinned=pinned, links=links)
        missing |= failure
    least = request.min_score
    return Recall(
        question=request.text,
        hits=tuple(hit for hit in hits[: request.limit] if least is None or hit.score >= least),
        abstained={ranking.signal: ranking.abstention_reason for ranking in rankings if ranking.abstention_reason},
        missing=missing,
        times=query.times,
        history=history,
        position=request.position,
        confidence=confidence,
    )


def _parse(index: Index, request: RecallRequest) -> ParsedQuestion:
    with index.lock:
        day_first = index.date_order(request.position, [request.text])
    with reading_dates(day_first):
        return parse_question(request.text, request.now, request.context)


def _rank_by_time(
    index: Index,
    request: RecallRequest,
    parsed: ParsedQuestion,
    query: Query,
    snapshot: Snapshot,
    fused: FusedRanking,
    count: int,
) -> tuple[FusedRanking, bool]:
    """The ranking for the time that the question asks about, and whether it includes superseded rows.

    They were searched if the question may be about the past. Whether they are returned is decided here, once: it
    depends on whether anything was valid at that time.
    """
    searchable = query.allowed
    searched_past = may_ask_about_past(request, parsed)
    if searched_past:
        fused = drop_repeated_versions(index, fused, count)
    ranked = rank_by_validity(index, fused, snapshot, parsed, query)
    if includes_history(request, parsed, ranked):
        return ranked, True
    if searched_past:
        searchable = searchable_rows(index, request, snapshot, history=False)
        ranked = ranked.restrict_to(searchable)
    if parsed.focus == "now":
        ranked = drop_expired_sources(index, ranked, snapshot, 2 * count)
    ranked = rank_by_supersession(
        index, ranked, snapshot, searchable, count, query.entity_names, narrowed=request.narrows_origin
    )
    return ranked, False
