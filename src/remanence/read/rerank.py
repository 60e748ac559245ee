"""Step of the read path: a reader, which is a reranker, scores the first hits for the question.

The reader gives the probability that a hit answers the question, at whatever time the hit was valid. Hits are ordered
by this probability and the score of the signals together. Then `time_choice` puts one hit first, by the time that the
question asks about.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from remanence.core.index import Index
from remanence.language.fact_extraction.turn_statements import stated_text
from remanence.language.temporal import find_stated_times
from remanence.language.text import truncate
from remanence.models.reader_input import LINE_WORDS, PASSAGE_WORDS, as_passage, needs_turn_before, with_date
from remanence.ports import Reader
from remanence.read.chains import HitPair, find_pairs, score_chains
from remanence.read.fusion import FusedRanking
from remanence.read.hits import ScoredHit
from remanence.read.query import RecallContext
from remanence.read.question import ParsedQuestion, TimeFocus
from remanence.read.referents import Referent, is_about_other, is_about_user
from remanence.read.time_choice import TimeChoice, choose_by_time, read_timeline
from remanence.schema import SELF, Evidence, Hit, Memory

log = logging.getLogger(__name__)

MAX_READ_HITS = 20
"""How many hits the reader is given at most."""
READ_WORDS = 640
"""How many words these hits may have together. Of long texts fewer are scored."""
_READER_SHARE = 0.5
"""The reader's share of a score."""
_SIGNAL_SHARE = 1 - _READER_SHARE
"""The share of the signals, which take speakers, times and relations into account."""
_OTHER_PERSON, _USER = 0.2, 0.02
"""The factors for the probability of memories about another person than the one a question means; the second one for
memories about the user, if the question is not about the user at all: "What should she avoid?", but not "What could I
serve her?"."""
_MAX_QUOTE = 80


@dataclass(frozen=True, slots=True)
class RerankInput:
    """The hits before the rerank step, and the details about the first of them that the reader needs."""

    hits: tuple[Hit, ...]
    texts: Sequence[str]
    """For each of the first hits the text that the reader is given: in a recall of what is told, without questions."""
    previous_turns: Sequence[str]
    """For each of the first hits the turn before it, if the hit is a short answer to that turn; otherwise ""."""
    pairs: Sequence[HitPair]
    """The pairs of hits that are also scored together."""
    pinned: int
    """How many of the first hits stay first: by their claims, they were valid at the time asked about."""


@dataclass(frozen=True, slots=True)
class RerankResult:
    """The hits in their final order."""

    hits: tuple[Hit, ...]
    confidence: float | None = None
    """The probability that any of the hits answers the question."""
    missing: Mapping[str, str] = field(default_factory=dict)
    """The reason why there is no confidence, by "reader", if the reader failed."""


def collect_candidates(context: RecallContext, ranked: FusedRanking, hits: tuple[Hit, ...], count: int) -> RerankInput:
    """The candidates for the reader, with details about the first `count` hits. Needs the lock of the index."""
    rows = ranked.rows[:count].tolist()
    informative_only = context.request.informative_only
    texts = [
        stated_text(m.text) if informative_only and m.turn else m.text for m in (hit.memory for hit in hits[:count])
    ]
    return RerankInput(
        hits,
        texts,
        _previous_turns(context.index, rows, context.request.position),
        find_pairs(context.index, rows, hits, context.parsed.text),
        len(ranked.pinned_rows),
    )


def rerank(candidates: RerankInput, parsed: ParsedQuestion, now: datetime, reader: Reader) -> RerankResult:
    """The hits in the order by the reader, each with its probability as evidence. If the reader fails, the order of the
    signals stays."""
    hits = candidates.hits
    if not hits:
        return RerankResult(hits)
    try:
        scored_hits = _score(candidates, parsed, reader)
        timeline = read_timeline(scored_hits, parsed, now, reader, partial(_statement, parsed.reader_text))
        choice = choose_by_time(scored_hits, parsed, now, reader, timeline)
    except Exception as error:  # noqa: BLE001  -- the caller's code may raise anything
        log.warning("recall continues without the reader: %s", error)
        return RerankResult(hits, missing={"reader": f"{type(error).__name__}: {error}"})
    ordered = _order(scored_hits, candidates.pinned, choice.hit, parsed.focus)
    unread = [_with_signal_score_only(hit) for hit in hits[len(scored_hits) :]]
    reranked = _to_hits(ordered, scored_hits, choice, unread[0].score if unread else 0.0)
    return RerankResult((*reranked, *unread), _confidence(scored_hits, timeline))


def fit_word_budget(passages: Sequence[str]) -> Sequence[str]:
    """The first passages: as many as have `READ_WORDS` words together, and at least one."""
    words = np.cumsum([len(passage.split()) for passage in passages])
    return passages[: max(1, int(np.searchsorted(words, READ_WORDS, side="right")))]


# Scores


def _score(candidates: RerankInput, parsed: ParsedQuestion, reader: Reader) -> list[ScoredHit]:
    """The first hits with their scores, alone or together with another hit."""
    question, turns = parsed.reader_text, candidates.previous_turns
    passages = fit_word_budget(
        [
            _passage(question, hit.memory, text, turn)
            for hit, text, turn in zip(candidates.hits, candidates.texts, turns, strict=False)
        ]
    )
    hits = candidates.hits[: len(passages)]
    probabilities = _check_probabilities(reader.read(question, passages), len(passages))
    factors = [_person_factor(hit.memory, parsed.referent) for hit in hits]
    scored_hits = []
    for scored_hit, text, passage, probability, factor, turn in zip(
        hits, candidates.texts, passages, probabilities.tolist(), factors, turns, strict=False
    ):
        p = factor * probability
        is_whole = factor == 1 and text == scored_hit.memory.text
        hit = scored_hit if is_whole else _limit_signals(scored_hit, p)
        score = _READER_SHARE * p + _SIGNAL_SHARE * hit.score
        scored_hits.append(ScoredHit(hit, text, passage, p, score, _time_of(hit.memory), turn))
    for chain in score_chains(question, scored_hits, candidates.pairs, reader):
        first, last = scored_hits[chain.first], scored_hits[chain.last]
        leads = any(parsed.referent.is_named_in(scored.memory) for scored in (first, last))
        factor = 1.0 if leads else factors[chain.first] * factors[chain.last]
        scored_hits[chain.last] = _with_chain_score(first, last, factor * chain.probability)
    return scored_hits


def _person_factor(memory: Memory, referent: Referent) -> float:
    """The factor for the probability of a memory by whom it is about, if the question is about somebody else than the
    user."""
    if not referent:
        return 1.0
    if is_about_user(memory, referent):
        return _OTHER_PERSON if referent.with_user else _USER
    return _OTHER_PERSON if is_about_other(memory, referent) else 1.0


def _time_of(memory: Memory) -> datetime:
    """When a memory was stated; or, if it was added as valid from a date that its text does not name, that date. So the
    order of facts does not depend on when they were learned."""
    start = memory.valid.start
    is_state = memory.turn is None and start is not None and memory.valid.end is None
    return start if is_state and start and not find_stated_times(memory.text, memory.told_at) else memory.told_at


def _limit_signals(hit: Hit, probability: float) -> Hit:
    """A hit of which the reader was given only a part, or which is about somebody else than the question: the signals
    count no more than the reader. They ranked the whole text, in which a question of the user matches the same question
    best."""
    part = min(1.0, probability / hit.score) if hit.score else 1.0
    evidence = tuple(replace(evidence_item, share=part * evidence_item.share) for evidence_item in hit.evidence)
    return replace(hit, score=part * hit.score, evidence=evidence)


def _with_chain_score(first: ScoredHit, last: ScoredHit, probability: float) -> ScoredHit:
    """The last hit of a chain, with the probability of the chain and the better signal score of its two hits."""
    score = _READER_SHARE * probability + _SIGNAL_SHARE * max(last.hit.score, first.hit.score)
    return replace(last, probability=probability, score=max(score, last.score), chain_text=first.memory.text)


def _check_probabilities(values: Sequence[float], count: int) -> NDArray[np.float64]:
    probabilities = np.asarray(values, np.float64)
    if probabilities.shape != (count,) or not np.isfinite(probabilities).all():
        raise ValueError(f"it gave {probabilities.shape} numbers for {count} texts, or one that is not a number")
    if probabilities.min() < 0 or probabilities.max() > 1:
        low, high = probabilities.min(), probabilities.max()
        raise ValueError(f"it gave {low:.2f} to {high:.2f}, not probabilities from 0 to 1")
    return probabilities


def _confidence(scored_hits: Sequence[ScoredHit], timeline: Mapping[str, float]) -> float:
    """The probability that any hit answers: by the best hit alone, and by the timeline of the best hits."""
    best = max(scored_hits, key=lambda scored: scored.probability)
    if not timeline or best.chain_text:
        return best.probability
    return 0.5 * (best.probability + sum(timeline.values()))


# Order


def _order(
    scored_hits: Sequence[ScoredHit], pinned: int, chosen: ScoredHit | None, focus: TimeFocus
) -> list[ScoredHit]:
    """The hits by score, after the pinned hits. Without pinned hits, the hit that was chosen by its time is first."""
    pins, others = scored_hits[:pinned], scored_hits[pinned:]
    ordered = [*pins, *sorted(others, key=lambda scored: -scored.score)]
    if chosen is not None and not pins:
        ordered.remove(chosen)
        ordered.insert(0, chosen)
    return _place_after_successors(ordered) if focus in ("now", "any") else ordered


def _place_after_successors(ordered: list[ScoredHit]) -> list[ScoredHit]:
    """The same order, except that a superseded hit comes right after the hit that superseded it."""
    index_of = {scored.id: index for index, scored in enumerate(ordered) if scored.hit.current}
    moved: dict[int, list[ScoredHit]] = {}  # by the index of the successor
    for index, scored in enumerate(ordered):
        successor = scored.hit.superseded_by
        if successor is not None and (later := index_of.get(successor.id, -1)) > index:
            moved.setdefault(later, []).append(scored)
    unmoved = set(ordered).difference(*moved.values())
    return [
        scored
        for index, successor in enumerate(ordered)
        if successor in unmoved
        for scored in (successor, *moved.get(index, ()))
    ]


# Hits


def _to_hits(
    ordered: Sequence[ScoredHit], scored_hits: Sequence[ScoredHit], choice: TimeChoice, min_score: float
) -> list[Hit]:
    """The hits with their final scores, at least `min_score`, and with the evidence for them."""
    is_moved = choice.hit is not None and choice.hit.score != max(scored.score for scored in scored_hits)
    by_probability = sorted(scored_hits, key=lambda scored: -scored.probability)
    rank_of = {scored: rank for rank, scored in enumerate(by_probability, 1)}
    hits = []
    for scored, score in zip(ordered, _non_increasing([s.score for s in ordered], min_score), strict=True):
        reason = choice.reason if is_moved and scored is choice.hit else ""
        hits.append(replace(scored.hit, score=score, evidence=_evidence(scored, rank_of[scored], score, reason)))
    return hits


def _non_increasing(scores: Sequence[float], min_score: float) -> list[float]:
    """Each score, raised to the highest score after it and to `min_score`: a hit that was moved up has at least the
    score of the hits after it."""
    raised = list(accumulate(reversed(scores), max, initial=min_score))
    return raised[:0:-1]


def _evidence(scored: ScoredHit, rank: int, score: float, reason: str) -> tuple[Evidence, ...]:
    note = f"answers the question with probability {scored.probability:.2f}"
    if scored.chain_text:
        note += f" after {truncate(scored.chain_text, _MAX_QUOTE)!r}"
    share = scored.score - _SIGNAL_SHARE * scored.hit.score
    evidence = (*_signal_evidence(scored.hit), Evidence("reader", rank, share, scored.probability, note))
    if not reason and score == scored.score:
        return evidence
    return (*evidence, Evidence("time", 1, score - scored.score, 0.0, reason or "ranked above what follows"))


def _signal_evidence(hit: Hit) -> tuple[Evidence, ...]:
    """The evidence of the signals, with their share of the final score."""
    return tuple(replace(evidence, share=_SIGNAL_SHARE * evidence.share) for evidence in hit.evidence)


def _with_signal_score_only(hit: Hit) -> Hit:
    """A hit that the reader was not given: only the share of the signals counts."""
    return replace(hit, score=_SIGNAL_SHARE * hit.score, evidence=_signal_evidence(hit))


# Texts for the reader


def _previous_turns(index: Index, rows: Sequence[int], position: int) -> list[str]:
    """For each row the turn before it, with its speaker, if the row is a short answer to that turn and the turn is
    visible at `position`; otherwise ""."""
    visible = index.catalog.visible_mask(position)
    previous = index.graph.previous_turns(rows)
    visible_rows = [row for row in previous if row >= 0 and visible[row]]
    spoken = [f"{_speaker(memory)}: {memory.text}" for memory in index.memories(visible_rows)]
    text_of = dict(zip(visible_rows, spoken, strict=True))
    turns = [text_of.get(row, "") for row in previous]
    texts = [memory.text for memory in index.memories(rows)]
    return [turn if needs_turn_before(text, turn) else "" for text, turn in zip(texts, turns, strict=True)]


def _passage(question: str, memory: Memory, text: str, previous_turn: str, max_words: int = PASSAGE_WORDS) -> str:
    title = "" if memory.turn is not None else memory.source or ""
    speaker = _speaker(memory)
    return as_passage(question, text, speaker=speaker, title=title, before=previous_turn, max_words=max_words)


def _statement(question: str, scored: ScoredHit) -> str:
    """A hit as a statement of a timeline: with its day, and shorter than its passage if the text is long."""
    return with_date(scored.time, _passage(question, scored.memory, scored.text, scored.previous_turn, LINE_WORDS))


def _speaker(memory: Memory) -> str | None:
    if memory.turn is None:
        return None
    return "user" if memory.turn.speaker == SELF else memory.turn.speaker
