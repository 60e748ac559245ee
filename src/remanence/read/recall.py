"""Query to hits: the read path.

query       the question's times and names, and whether it asks about the past
sight       which rows this view may answer with
signals     vectors, words, times, graph; each ranks or abstains
fusion      one list, evidence kept
freshness   small, bounded boosts; what was said after the moment of the question steps back
bygones     what held at the time asked for comes forward
truth       the last word on each matter comes forward, what it replaced steps back
rerank      optional, over the first few
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from remanence.core.engine import Engine
from remanence.core.index import SIGNALS, Index, RowErased
from remanence.errors import EmbedderError, ProjectionError
from remanence.language.text import tokens
from remanence.models.rerankers import RERANKED_HITS, rerank_hits
from remanence.read import question as reading
from remanence.read.answer import Recall, mark_archived
from remanence.read.fusion import WEIGHTS, FusedRanking, fuse
from remanence.read.past import drop_repeated_versions, rank_by_validity
from remanence.read.receipts import Receipt
from remanence.read.supersession import (
    ResolvedRanking,
    disagreements,
    is_current_row,
    is_isolated,
    rank_by_supersession,
    replacement_row,
)
from remanence.schema import (
    ASSISTANT,
    SELF,
    Disagreement,
    Evidence,
    Hit,
    Query,
    Ranking,
    Snapshot,
    Window,
    format_moment,
    micros,
)

if TYPE_CHECKING:
    from remanence.models.embedders.checked import CheckedEmbedder
    from remanence.ports import Reranker, Signal, Vector

log = logging.getLogger(__name__)

CANDIDATES = 100
"""How many rows each signal may put forward, at least."""
_NEAR = 100
_ALSO = 32
_DAY = 86_400 * 1_000_000
_YEAR = 365 * _DAY
_RECENCY, _IMPORTANCE = 0.04, 0.06
_FUTURE_TURN_FACTOR = 0.8
"""What a chat turn keeps of its score where it was said a day and more after the moment of the question.
(A day, as clocks differ. Not much less, as dates are often wrong, and nothing should be hidden by one.)"""


@dataclass(frozen=True, slots=True)
class RecallRequest:
    """What the caller asked for, checked and with its defaults filled in."""

    text: str
    now: datetime
    position: int
    limit: int = 10
    during: Window | None = None
    history: bool | None = None
    """None leaves it to the wording of the question."""
    kinds: Sequence[str] | None = None
    tags: Sequence[str] | None = None
    min_score: float | None = None
    signals: Sequence[str] = SIGNALS
    weights: Mapping[str, float] | None = None
    vector: Vector | None = None

    def to_receipt(self, space: str, settings: str, *, archive: bool) -> Receipt:
        """This question as a value that can be kept."""
        return Receipt(
            space=space,
            position=self.position,
            settings=settings,
            question=self.text,
            now=self.now,
            limit=self.limit,
            during=self.during,
            history=self.history,
            kinds=None if self.kinds is None else tuple(self.kinds),
            tags=None if self.tags is None else tuple(self.tags),
            min_score=self.min_score,
            signals=None if self.signals == SIGNALS else tuple(self.signals),
            weights=self.weights,
            own_vector=self.vector is not None,
            archive=archive,
        )

    @classmethod
    def from_receipt(cls, receipt: Receipt, vector: Vector | None) -> RecallRequest:
        """The question that a receipt was made of."""
        return cls(
            text=receipt.question,
            now=receipt.now,
            position=receipt.position,
            limit=receipt.limit,
            during=receipt.during,
            history=receipt.history,
            kinds=receipt.kinds,
            tags=receipt.tags,
            min_score=receipt.min_score,
            signals=SIGNALS if receipt.signals is None else receipt.signals,
            weights=receipt.weights,
            vector=vector,
        )


def recall(engine: Engine, space: str, question: Callable[[Index], RecallRequest], *, archive: bool = False) -> Recall:
    """Answer a question; with `archive`, as if nothing had been archived."""
    with engine.open_index(space) as index:
        try:
            asked, answer = _with_archive(engine, index, question, archive)
        except RowErased:
            index.catch_up()  # another process erased one of the hits meanwhile
            asked, answer = _with_archive(engine, index, question, archive)
        index.note_recalled(hit.memory for hit in answer)
        return replace(answer, receipt=asked.to_receipt(space, engine.settings_hash, archive=archive))


def _with_archive(
    engine: Engine, index: Index, question: Callable[[Index], RecallRequest], archive: bool
) -> tuple[RecallRequest, Recall]:
    asked = question(index)
    found = recall_from_index(index.with_archive() if archive else index, asked, engine.embedder, engine.reranker)
    if archive:
        with index.lock:
            away = index.catalog.archived_mask(asked.position)
            hits = [mark_archived(h) if away[index.require_number(h.memory.id)] else h for h in found]
        found = replace(found, hits=tuple(hits))
    return asked, found


def recall_from_index(
    index: Index, question: RecallRequest, embedder: CheckedEmbedder, reranker: Reranker | None = None
) -> Recall:
    """The memories that answer, best first, each with its reasons."""
    asked = reading.parse_question(question.text, question.now)
    with index.lock:
        speakers = _speakers(index, question, asked)
    vector, unembedded = _embed(question, speakers, embedder)
    with index.lock:
        past = asked.asks_about_past or question.during is not None
        perhaps = (
            not past and question.history is None and bool(asked.time_relation.order or asked.time_relation.relation)
        )
        history = past or perhaps if question.history is None else question.history
        visible = index.catalog.visible(question.position)
        sight = index.snapshot(question.position, question.now, visible)
        allowed = _allowed(index, question, sight, visible, history=history)
        query = Query(
            text=question.text,
            visible=visible,
            allowed=allowed,
            position=question.position,
            times=asked.times if question.during is None else (question.during,),
            entity_names=index.with_aliases(_names(index, asked, speakers, visible), question.position),
            terms=_terms(asked, speakers),
            vector=vector,
            similarity_floor=embedder.similarity_floor,
            time_mask=_rows_from_asked_time(index, question, asked, allowed),
            same_entity=lambda name: index.registry.same_entity(name, question.position),
            related_names=lambda name: index.relations.related_names(name, sight),
            next_turns=index.graph.next_turns,
        )
        rankings = _rankings(index, query, question, unembedded)
        fused = _freshened(index, fuse(rankings, question.weights or WEIGHTS), question.now)
        wanted = question.limit if reranker is None else max(question.limit, RERANKED_HITS)
        if history:
            fused = drop_repeated_versions(index, fused, wanted)
        bygone = rank_by_validity(index, fused, sight, asked, query)
        if perhaps and not bygone.pinned_rows:  # it only sounded like a question about another time
            history, allowed = False, _allowed(index, question, sight, visible, history=False)
            bygone = ResolvedRanking(fused.restrict_to(allowed))
        resolved = (
            bygone if history else rank_by_supersession(index, bygone.fused, sight, allowed, wanted, query.entity_names)
        )
        hits = _hits(index, ResolvedRanking(resolved.fused.first(wanted), bygone.notes | resolved.notes), sight)
    missing = {r.signal: r.missing_reason for r in rankings if r.missing_reason}
    if reranker is not None:  # with no lock: it takes its time, and may itself ask for more
        first = len(resolved.pinned_rows)
        again, failed = rerank_hits(hits[first:RERANKED_HITS], question.text, reranker)
        hits, missing = hits[:first] + again + hits[max(first, RERANKED_HITS) :], missing | failed
    hits = hits[: question.limit]
    if question.min_score is not None:
        hits = tuple(hit for hit in hits if hit.score >= question.min_score)
    return Recall(
        question=question.text,
        hits=hits,
        abstained={r.signal: r.abstention_reason for r in rankings if r.abstention_reason},
        missing=missing,
        times=query.times,
        history=history,
        position=question.position,
    )


def _allowed(
    index: Index, question: RecallRequest, sight: Snapshot, visible: NDArray[np.bool_], *, history: bool
) -> NDArray[np.bool_]:
    """The rows that may be answered with; with `history`, those that were replaced too."""
    allowed = index.catalog.allowed(
        visible,
        question.position,
        now=question.now,
        history=history,
        kinds=question.kinds,
        tags=question.tags,
        during=question.during,
    )
    if not history and (superseded := index.links.superseded_mask(sight)).any():
        allowed &= ~index.catalog.rows_among(superseded)
    return allowed


def _speakers(index: Index, question: RecallRequest, asked: reading.ParsedQuestion) -> dict[str, str]:
    """Those among the names asked about who have said something, each with its full name."""
    visible = index.catalog.visible(question.position)
    found = {name: index.graph.full_speaker_name(name, visible) for name in (*asked.names, *asked.uncommon_words)}
    return {name: full for name, full in found.items() if full is not None}


def _embed(
    question: RecallRequest, speakers: Mapping[str, str], embedder: CheckedEmbedder
) -> tuple[Vector | None, str | None]:
    """The question's vector, or the reason there is none. Where it names someone who speaks, it is the
    vector of what that one would ask: others say the name, its bearer says "I"."""
    if question.vector is not None or "vectors" not in question.signals:
        return question.vector, None
    text = reading.in_first_person(question.text, [name for name in speakers if name != SELF])
    try:
        return embedder.embed_query(text), None
    except EmbedderError as error:
        log.warning("recall goes on without meaning: %s", error)
        return None, str(error)


def _names(
    index: Index, asked: reading.ParsedQuestion, speakers: Mapping[str, str], visible: NDArray[np.bool_]
) -> tuple[str, ...]:
    """Who and what the question names: the assistant, not the user, where it asks for what that one said."""
    names = dict.fromkeys([*asked.names, *speakers.values()])
    assistant = index.graph.full_speaker_name(ASSISTANT, visible) if asked.asks_assistant else None
    if assistant is not None:
        return (assistant, *(name for name in names if name != SELF))
    return tuple(names)


def _terms(asked: reading.ParsedQuestion, speakers: Mapping[str, str]) -> tuple[str, ...]:
    """The words to look for. Who speaks is the graph's: others say a name more often than its bearer."""
    spoken = {word for name in speakers for word in tokens(name)}
    return tuple(word for word in tokens(asked.search_text) if word not in spoken)


def _rows_from_asked_time(
    index: Index, question: RecallRequest, asked: reading.ParsedQuestion, allowed: NDArray[np.bool_]
) -> NDArray[np.bool_] | None:
    """The rows from the time that the wording asks for, if they are few and that is to count."""
    if question.during is not None or "times" not in question.signals or "times" in index.broken:
        return None
    return index.times.rows_within(asked.times, allowed)


def _rankings(index: Index, query: Query, question: RecallRequest, unembedded: str | None) -> list[Ranking]:
    """What each signal says. Meaning also gives its view of what words found, so that no row is taken for
    unrelated only because it was not among the nearest; both give theirs of the rows from a time that is
    asked for; the graph speaks last, as one of its seeds is what those two found."""
    wide = max(CANDIDATES, 2 * question.limit)
    out: list[Ranking] = []
    for name in ("words", "vectors", "times", "graph"):
        if name == "vectors":
            query = replace(query, candidate_rows=[row for ranking in out for row in _handed_on(ranking, query)])
        elif name == "times":
            query = replace(query, candidate_scores=_near(out, _NEAR if query.time_mask is None else _NEAR + wide // 2))
        if name not in question.signals:
            continue
        if name in index.broken:
            out.append(Ranking.unavailable(name, f"{index.broken[name]} (`rebuild` mends it)"))
        elif name == "vectors" and unembedded is not None:
            out.append(Ranking.unavailable(name, unembedded))
        else:
            out.append(_ranked(index.signals[name], query, wide))
        if name == "vectors" and index.vectors.missing_vectors and out[-1].missing_reason is None:
            count = len(index.vectors.missing_vectors)
            out[-1] = replace(out[-1], missing_reason=f"{count} passages have no vector yet: the embedder was down")
    return out


def _ranked(projection: Signal, query: Query, limit: int) -> Ranking:
    """What a signal says; one whose server is down is named in the answer, and the others go on."""
    try:
        return projection.rank(query, limit)
    except ProjectionError as error:
        log.warning("recall goes on without %s: %s", projection.name, error)
        return Ranking.unavailable(projection.name, str(error))


def _handed_on(ranking: Ranking, query: Query) -> Sequence[int]:
    """What words found that meaning is asked about: the first few, and what is from the time asked for."""
    if query.time_mask is None:
        return ranking.rows[:_ALSO]
    return [row for place, row in enumerate(ranking.rows) if place < _ALSO or query.time_mask[row]]


def _near(rankings: Sequence[Ranking], most: int) -> dict[int, float]:
    """The rows that meaning and words agree on, for the graph to start from."""
    agreed = fuse([r for r in rankings if r.signal in ("vectors", "words")]).first(most)
    return dict(zip(agreed.rows.tolist(), agreed.scores.tolist(), strict=True))


def _freshened(index: Index, fused: FusedRanking, now: datetime) -> FusedRanking:
    """Recency and importance, as a few hundredths: they settle near ties and turn no list around. What was
    not yet said steps back: at that moment nobody could know it."""
    age = np.abs(micros(now) - index.catalog.event_times(fused.rows)) / _YEAR
    boost = 1 + _RECENCY * np.exp(-age) + _IMPORTANCE * index.catalog.importance(fused.rows)
    boost[_unsaid(index, fused.rows, now)] *= _FUTURE_TURN_FACTOR
    return fused.with_scores(fused.scores * boost / (1 + _RECENCY + _IMPORTANCE))


def _unsaid(index: Index, rows: NDArray[np.int64], now: datetime) -> NDArray[np.bool_]:
    """Which of these rows are turns from after the moment of the question."""
    return index.catalog.turn_times(rows) > micros(now) + _DAY


def _hits(index: Index, resolved: ResolvedRanking, sight: Snapshot) -> tuple[Hit, ...]:
    fused = resolved.fused
    rows = fused.rows.tolist()
    current = index.catalog.current(fused.rows, sight.position, sight.now).tolist()
    unsaid = set(fused.rows[_unsaid(index, fused.rows, sight.now)].tolist())
    hits = []
    for row, score, evidence, memory, is_current in zip(
        rows, fused.scores.tolist(), fused.evidence(), index.memories(rows), current, strict=True
    ):
        if row in unsaid:
            evidence.append(Evidence("truth", 1, 0.0, 0.0, f"said only after {format_moment(sight.now)}"))
        if row in resolved.notes:
            evidence.append(Evidence("truth", 1, 0.0, 0.0, resolved.notes[row]))
        later = index.catalog.successor(row, sight.position)
        against: tuple[Disagreement, ...] = ()
        if not is_isolated(index, row):
            later, against = replacement_row(index, row, sight), disagreements(index, row, sight)
            is_current = is_current and is_current_row(index, row, sight)
        successor = index.memories([later])[0] if later is not None else None
        is_current = is_current and successor is None
        hits.append(Hit(memory, score, tuple(evidence), is_current, successor, against))
    return tuple(hits)
