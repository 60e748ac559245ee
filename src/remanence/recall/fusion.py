"""Step of the read path: the query of a parsed question, the rankings of the signals that are asked, and one of all.

Each signal's raw scores are scaled to 0..1, raised to its exponent, weighted and summed over the union of the rows. A
signal that abstained takes no part, and neither does its weight. A signal that searched and found nothing keeps its
weight, so a row that only half of the signals match scores lower. (Scaled scores beat reciprocal ranks, see
docs/decisions.md.)
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from remanence.errors import EmbedderError, InvalidInput
from remanence.hooks import step
from remanence.index.index import Index
from remanence.index.passages import ASKING_SHARE
from remanence.ports import Signal, Stage
from remanence.recall.context import FusedRanking, RecallContext
from remanence.recall.filters import filter_mask
from remanence.recall.question import ParsedQuestion, TimeFocus, in_first_person
from remanence.recall.receipts import RecallRequest
from remanence.recall.validity.current import time_factors, valid_rows
from remanence.schema import ASSISTANT, MICROS_PER_DAY, PROCEDURE, SELF, Query, Ranking, Snapshot, Window, micros
from remanence.text.lexicon.languages import language_of
from remanence.text.text import split_words, stems, tokens

if TYPE_CHECKING:
    from remanence.models.embedders import CheckedEmbedder
    from remanence.ports import Vector

_FOLLOWED_CLAIMS = 64
"""Claims about an entity that the graph signal follows, the newest. It limits the work: every recall reads them."""
_OTHER_TIMES: tuple[TimeFocus, ...] = ("first", "previous", "before", "after", "during")


class QuestionEmbedding(NamedTuple):
    """The vector of a question, or the reason why there is none."""

    vector: Vector | None
    similarity_floor: float
    """Similarities up to this count as none."""
    error: str | None = None


def find_speakers(index: Index, request: RecallRequest, parsed: ParsedQuestion) -> dict[str, str]:
    """The names in the question that belong to speakers, each with the speaker's full name."""
    visible = index.catalog.visible_mask(request.position)
    names = (*parsed.names, *parsed.uncommon_words)
    full_names = {name: index.graph.full_speaker_name(name, visible) for name in names}
    return {name: full_name for name, full_name in full_names.items() if full_name is not None}


def embed_question(
    index: Index, request: RecallRequest, parsed: ParsedQuestion, speakers: Collection[str], embedder: CheckedEmbedder
) -> QuestionEmbedding:
    """Embed the question if a signal needs it. No lock is held: the embedder may be slow. A question about a speaker is
    embedded in the first person, because speakers say "I" where others use their name."""
    floor = embedder.similarity_floor
    if request.vector is not None or not any(s.needs_embedding for s in index.signals_for(request.signals)):
        return QuestionEmbedding(request.vector, floor)
    text = in_first_person(parsed.text, [name for name in speakers if name != SELF])
    try:
        return QuestionEmbedding(embedder.embed_query(text), floor)
    except EmbedderError as error:
        log.warning("recall continues without vectors: %s", error)
        return QuestionEmbedding(None, floor, str(error))


def build_context(
    index: Index,
    request: RecallRequest,
    parsed: ParsedQuestion,
    speakers: Mapping[str, str],
    embedding: QuestionEmbedding,
    *,
    include_superseded: bool,
) -> RecallContext:
    """The context of a recall, with the query for the signals."""
    snapshot = index.snapshot(request.position, request.now)
    searchable = searchable_rows(index, request, snapshot, history=include_superseded)
    visible = index.catalog.visible_mask(request.position)
    relation_times = _times_of_relations(request, parsed)
    language = language_of(request.text)
    # Names of speakers are matched by the graph signal only: speakers rarely use their own names.
    speaker_words = {word for name in speakers for word in tokens(name, language)}
    words = [
        word
        for word in split_words(parsed.search_text)
        if (forms := stems([word], language)) and not speaker_words.issuperset(forms)
    ]
    query = Query(
        text=parsed.text,
        visible=visible,
        allowed=searchable,
        position=request.position,
        times=parsed.times if request.during is None else (request.during,),
        entity_names=index.with_aliases(_names(index, parsed, speakers, visible), request.position),
        terms=tuple(stems(words, language)),
        language=language,
        terms_in=lambda other: stems(words, other),
        vector=embedding.vector,
        similarity_floor=embedding.similarity_floor,
        time_mask=_rows_from_asked_time(index, request, parsed, searchable),
        telling=_telling_rows(index, request, searchable),
        tells_only=bool(request.informative_only),
        names_of_same_entity=lambda name: index.registry.names_of_same_entity(name, request.position),
        related_names=lambda name: index.relations.related_names(name, snapshot, relation_times, _FOLLOWED_CLAIMS),
        next_turns=index.graph.next_turns if index.graph.has_turns else None,
    )
    return RecallContext(index, request, parsed, snapshot, query, include_superseded)


def searchable_rows(index: Index, request: RecallRequest, snapshot: Snapshot, *, history: bool) -> NDArray[np.bool_]:
    """The rows that may be returned; with `history`, superseded rows too. Procedures only for who asks for them."""
    rows = valid_rows(index, request, snapshot, history=history)
    if request.kinds is None:
        rows &= ~index.catalog.attributes.mask_with_kinds_and_tags((PROCEDURE,), None)
    return filter_mask(request, index, rows, request.position)


def _telling_rows(index: Index, request: RecallRequest, searchable: NDArray[np.bool_]) -> NDArray[np.bool_] | None:
    """The rows that do more than ask, if others may be returned too."""
    telling = index.fields.informative_mask
    return None if request.informative_only or not (searchable & ~telling).any() else telling


def _names(
    index: Index, parsed: ParsedQuestion, speakers: Mapping[str, str], visible: NDArray[np.bool_]
) -> tuple[str, ...]:
    """The names in the question. A question about the words of the assistant is about the assistant, not the user."""
    names = dict.fromkeys([*parsed.names, *speakers.values()])
    assistant = index.graph.full_speaker_name(ASSISTANT, visible) if parsed.asks_assistant else None
    if assistant is not None:
        return (assistant, *(name for name in names if name != SELF))
    return tuple(names)


def _times_of_relations(request: RecallRequest, parsed: ParsedQuestion) -> tuple[Window, ...] | None:
    """The times at which relations are followed from one name to another: the time asked for, by default now. For a
    question such as "before Lisbon", relations of all times are followed."""
    if request.during is not None:
        return (request.during,)
    return None if parsed.focus in _OTHER_TIMES else parsed.times


def _rows_from_asked_time(
    index: Index, request: RecallRequest, parsed: ParsedQuestion, searchable: NDArray[np.bool_]
) -> NDArray[np.bool_] | None:
    """The rows from the time that the question names, if they are few and the times signal is used."""
    times = index.times
    if request.during is not None or times not in index.signals_for(request.signals) or times.name in index.broken:
        return None
    return times.rows_within(parsed.times, searchable)


log = logging.getLogger(__name__)

MIN_CANDIDATES = 100
"""Rows that each signal may return, at least. Fitted on LoCoMo, RealTalk and LongMemEval."""
_SCORED_ROWS = 32
"""Rows of each FIND signal that a SCORE signal is asked about. Chosen by hand."""


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
    count = limit if query.time_mask is None else limit + limit // 2
    fused = fuse(rankings, weights).first(count)
    return replace(query, candidate_scores=dict(zip(fused.rows.tolist(), fused.scores.tolist(), strict=True)))


def _rows_to_score(ranking: Ranking, query: Query) -> Sequence[int]:
    """The first rows of a ranking, and all of its rows from the time that is asked for."""
    if query.time_mask is None:
        return ranking.rows[:_SCORED_ROWS]
    return [row for rank, row in enumerate(ranking.rows) if rank < _SCORED_ROWS or query.time_mask[row]]


@step("rank")
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


_YEAR = 365 * MICROS_PER_DAY
_RECENCY = 0.04
"""The share of its score that a new memory gains, relative to a very old one: enough to order near ties. Chosen on
LongMemEval, BEAM, RealTalk and LoCoMo."""
_IMPORTANCE = 0.06
"""The share of its score that a memory of importance 1 gains, relative to one of importance 0: enough to order near
ties. Chosen by hand."""
_MIN_TRUST_FACTOR = 0.7
"""The factor for the score of a memory with trust 0. Chosen by hand."""


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
    scale: NDArray[np.float64] = np.clip((raw - ranking.floor) / span, 0.0, 1.0)
    return scale if ranking.exponent == 1.0 else scale**ranking.exponent


def adjust_scores(
    index: Index, fused: FusedRanking, now: datetime, telling: NDArray[np.bool_] | None = None
) -> FusedRanking:
    """Recency and importance add a few hundredths: enough to order near ties. Turns dated after `now` and less trusted
    memories are ranked lower. With a mask of the rows that do more than ask, questions come after what tells and has at
    least a share of the best score of that, so a question that is stored often hides no answer; of what is no question
    and tells nothing that is known, the nearest keeps its place."""
    scores = fused.scores * adjustments(index, fused.rows, now)
    if telling is not None:
        behind = ~telling[fused.rows] & index.fields.speaker_mask((SELF, ASSISTANT))[fused.rows]
        most = ASKING_SHARE * scores[~behind].max(initial=0.0)
        unsure = np.flatnonzero(behind & ~index.fields.asking_mask[fused.rows])
        if len(unsure):
            behind[unsure[np.argmax(scores[unsure])]] = False
        # Scaled, not cut off, so that the nearest question stays the first of them.
        asked = scores[behind].max(initial=0.0)
        if asked > most > 0:
            scores[behind] *= most / asked
    return fused.with_scores(scores)


def adjustments(index: Index, rows: NDArray[np.int64], now: datetime) -> NDArray[np.float64]:
    """The factor for the score of each row."""
    age = np.abs(micros(now) - index.catalog.times.event_times(rows)) / _YEAR
    boost: NDArray[np.float64] = 1 + _RECENCY * np.exp(-age) + _IMPORTANCE * index.catalog.attributes.importance[rows]
    boost *= time_factors(index, rows, now)
    boost *= _MIN_TRUST_FACTOR + (1 - _MIN_TRUST_FACTOR) * index.catalog.attributes.trust[rows]
    return boost / (1 + _RECENCY + _IMPORTANCE)
