"""The read path: from a question to ranked hits. Each step is one module, in this order.

question      parse the text: times, names, whether it asks about the past or refers to the turns before it
query         the rows that may be returned, the names and words to search for, the vector
rankings      ask the signals; each ranks rows or abstains
fusion        one ranking of all signals, adjusted by recency and importance
past          for questions about another time: what was valid then is ranked first
supersession  otherwise: what was superseded is replaced by what superseded it
hits          memories with their evidence
reading       a reader reads the first hits, alone and in chains; among those that answer, time decides which is first
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
from remanence.read.fusion import adjust_scores, fuse
from remanence.read.hits import build_hits
from remanence.read.past import drop_repeated_versions, includes_history, may_ask_about_past, rank_by_validity
from remanence.read.query import build_query, embed_question, find_speakers, searchable_rows
from remanence.read.question import parse_question
from remanence.read.rankings import rank_by_signals
from remanence.read.reading import READ_HITS, read_hits, turns_before
from remanence.read.receipts import RecallRequest
from remanence.read.supersession import drop_expired_sources, rank_by_supersession

if TYPE_CHECKING:
    from remanence.models.embedders.checked import CheckedEmbedder
    from remanence.ports import Reader


def recall(
    engine: Engine,
    space: str,
    request: Callable[[Index], RecallRequest],
    *,
    archive: bool = False,
    answer: Callable[[Index, RecallRequest], Recall] | None = None,
) -> Recall:
    """Answer a question about a space; with `archive`, as if nothing had been archived. `answer` is what answers, if
    not the signals and the reader."""

    def by_signals(index: Index, made: RecallRequest) -> Recall:
        return recall_from_index(index, made, engine.embedder, engine.reader)

    ask = answer or by_signals
    with engine.open_index(space) as index:
        try:
            made, found = _recall(index, request, archive, ask)
        except RowErased:
            index.catch_up()  # another process erased one of the hits meanwhile
            made, found = _recall(index, request, archive, ask)
        index.note_recalled(hit.memory for hit in found)
        return replace(found, receipt=made.to_receipt(space, engine.settings_hash, archive=archive))


def _recall(
    index: Index,
    request: Callable[[Index], RecallRequest],
    archive: bool,
    ask: Callable[[Index, RecallRequest], Recall],
) -> tuple[RecallRequest, Recall]:
    made = request(index)
    asked = index.with_archive() if archive else index
    if made.without is not None:
        # Not only left out: what these sources replaced holds again, as if they had never spoken.
        asked = asked.without_rows(index.rows_from(made.without, made.position))
    found = ask(asked, made)
    if not archive:
        return made, found
    with index.lock:
        archived = index.catalog.archived_mask(made.position)
        hits = [mark_archived(hit) if archived[index.require_number(hit.memory.id)] else hit for hit in found]
    return made, replace(found, hits=tuple(hits))


def recall_from_index(
    index: Index, request: RecallRequest, embedder: CheckedEmbedder, reader: Reader | None = None
) -> Recall:
    """The memories that answer, best first, each with its evidence."""
    with index.lock:
        day_first = index.date_order(request.position, [request.text])
    with reading_dates(day_first):
        parsed = parse_question(request.text, request.now, request.context)
    with index.lock:
        speakers = find_speakers(index, request, parsed)
    vector, embedding_error = embed_question(index, request, parsed, speakers, embedder)
    with index.lock:
        snapshot = index.snapshot(request.position, request.now)
        # Superseded rows are searched if the question may be about the past. Whether they are returned is
        # decided below, once, when it is known whether anything was valid at the time it asks about.
        search_past = may_ask_about_past(request, parsed)
        searchable = searchable_rows(index, request, snapshot, history=search_past)
        query = build_query(index, request, parsed, speakers, snapshot, searchable, vector, embedder.similarity_floor)
        rankings = rank_by_signals(index, request, query, embedding_error)
        fused = adjust_scores(index, fuse(rankings, request.weights or index.signal_weights), request.now)
        wanted = request.limit if reader is None else max(request.limit, READ_HITS)
        if search_past:
            fused = drop_repeated_versions(index, fused, wanted)
        resolved = rank_by_validity(index, fused, snapshot, parsed, query)
        history = includes_history(request, parsed, resolved)
        if not history:
            if search_past:
                searchable = searchable_rows(index, request, snapshot, history=False)
                resolved = resolved.restrict_to(searchable)
            if parsed.focus == "now":
                resolved = drop_expired_sources(index, resolved, snapshot, 2 * wanted)
            resolved = rank_by_supersession(
                index, resolved, snapshot, searchable, wanted, query.entity_names, narrowed=request.narrows_origin
            )
        resolved = resolved.first(wanted)
        hits = build_hits(index, resolved, snapshot, request.text)
        first = resolved.rows[:READ_HITS].tolist() if reader is not None else []
        before = turns_before(index, first, request.position)
        links = linked_hits(index, first, hits, parsed.text)
    missing = {ranking.signal: ranking.missing_reason for ranking in rankings if ranking.missing_reason}
    confidence = None
    if reader is not None:  # without the lock: it may be slow, and may itself read the space
        pinned = len(resolved.pinned_rows)
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
