"""Step of the read path: a reader reads the first hits together with the question, then time decides.

The reader says which hits answer the question, of that person or thing, whenever that was. Hits are ordered by its
probability and the score of the signals together. Then one is put first by the time that the question asks about: for
now the best one that most probably nothing told later replaces, for a past moment the same of what was told by then,
and "first", "before" and "previously" accordingly.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from remanence.core.index import Index
from remanence.language.text import tokens, truncate
from remanence.models.reader_input import as_passage, needs_turn_before
from remanence.ports import Reader, RelationReader
from remanence.read.chains import Link, read_chains
from remanence.read.question import ParsedQuestion
from remanence.schema import SELF, Evidence, Hit, Memory

log = logging.getLogger(__name__)

READ_HITS = 20
"""How many hits are read at most."""
READ_WORDS = 640
"""How many words they may have together: of long texts fewer are read."""
_READER_SHARE = 0.5
"""How much of a score is the reader's; the rest is that of the signals, which know speakers, times and relations."""
_MIN_PROBABILITY, _PART_OF_BEST = 0.2, 0.2
"""A hit counts as an answer if its probability is at least this, and at least this part of the best."""
_MIN_LATER = 0.01
"""The least probability that a later statement answers the question, for it to be compared with an earlier one: what
replaces an answer is often put in words that do not sound like one ("scrapped the Corolla")."""
_MOST_COMPARED = 5
"""How many of the hits that answer are compared with what was told later."""
_COMPARED, _ANSWERS, _TIME_PASSED, _NOTHING_CHANGES = 0.65, 0.36, 0.55, -2.8
"""The weights of the log odds that a later statement replaces an earlier answer: what the reader says of the two for
this question, how probable an answer the later one is beside the earlier, and the days between them, for most things
last a while. Fitted on the worlds to develop on of `benchmarks/unseen.py`; the constant also on chats in which little
changes."""
_MAX_QUOTE = 80


@dataclass(frozen=True, slots=True, eq=False)
class ReadHit:
    """A hit as it was read."""

    hit: Hit
    passage: str
    probability: float
    score: float
    time: datetime
    """When it was told. A date in the text may be that of something else."""
    after: str = ""
    """The hit that it answers together with, if it does not alone."""


def turns_before(index: Index, rows: Sequence[int], position: int) -> list[str]:
    """For each row the turn before it, with its speaker, if the row is a short answer to a question and that turn is
    visible at `position`; otherwise ""."""
    visible = index.catalog.visible(position)
    found = index.graph.previous_turns(rows)
    known = [row for row in found if row >= 0 and visible[row]]
    spoken = [f"{_speaker(memory)}: {memory.text}" for memory in index.memories(known)]
    text_of = dict(zip(known, spoken, strict=True))
    before = [text_of.get(row, "") for row in found]
    texts = [memory.text for memory in index.memories(rows)]
    return [turn if needs_turn_before(text, turn) else "" for text, turn in zip(texts, before, strict=True)]


def read_hits(
    hits: tuple[Hit, ...],
    parsed: ParsedQuestion,
    before: Sequence[str],
    reader: Reader,
    now: datetime,
    *,
    pinned: int = 0,
    links: Sequence[Link] = (),
) -> tuple[tuple[Hit, ...], float | None, dict[str, str]]:
    """The hits in their new order, each with the reader's probability as evidence; the best probability; and why there
    is none if the reader failed. The first `pinned` hits stay first: their claims say that they were valid then. Hits
    that are linked (`chains.linked_hits`) are also read together."""
    if not hits:
        return hits, None, {}
    question = parsed.reading_text
    passages = affordable([_passage(question, hit.memory, turn) for hit, turn in zip(hits, before, strict=False)])
    first = hits[: len(passages)]
    try:
        probabilities = _checked(reader.read(question, passages), len(passages))
        read = [
            ReadHit(hit, passage, p, _READER_SHARE * p + (1 - _READER_SHARE) * hit.score, hit.memory.told_at)
            for hit, passage, p in zip(first, passages, probabilities.tolist(), strict=True)
        ]
        scores = [hit.score for hit in first]
        for chain in read_chains(question, passages, probabilities, scores, links, reader):
            read[chain.last] = _answering_after(read[chain.last], read[chain.first], chain.probability)
        probabilities = np.array([each.probability for each in read])
        winner, reason = _first_by_time(read, parsed, now, reader)
        if winner is not None and winner.score == max(each.score for each in read):
            reason = ""  # it is first anyway
    except Exception as error:  # noqa: BLE001  -- foreign code, which may raise anything
        log.warning("recall continues without the reader: %s", error)
        return hits, None, {"reader": f"{type(error).__name__}: {error}"}
    pins = read[:pinned]
    ordered = [*pins, *sorted((each for each in read if each not in pins), key=lambda each: -each.score)]
    if winner is not None and not pins:
        ordered.remove(winner)
        ordered.insert(0, winner)
    if parsed.focus in ("now", "any"):
        ordered = _after_successors(ordered)
    ranks = np.argsort(np.argsort(-probabilities, kind="stable")).tolist()
    rank_of = {id(each): rank + 1 for each, rank in zip(read, ranks, strict=True)}
    rest = 1 - _READER_SHARE
    unread = [replace(hit, score=rest * hit.score, evidence=_signal_parts(hit)) for hit in hits[len(first) :]]
    out: list[Hit] = []
    floor = unread[0].score if unread else 0.0
    for each in reversed(ordered):
        floor = max(floor, each.score)  # what time has put first scores no less than what follows
        evidence = _evidence(each, rank_of[id(each)], floor, reason if each is winner else "")
        out.append(replace(each.hit, score=floor, evidence=evidence))
    return (*reversed(out), *unread), float(probabilities.max()), {}


def _answering_after(last: ReadHit, first: ReadHit, probability: float) -> ReadHit:
    """A hit that answers after another one: it has the probability of both, and at least the other's score."""
    score = _READER_SHARE * probability + (1 - _READER_SHARE) * max(last.hit.score, first.hit.score)
    return replace(last, probability=probability, score=max(score, last.score), after=first.hit.memory.text)


def affordable(passages: Sequence[str]) -> Sequence[str]:
    """The first passages, as many as the reader has time for."""
    words = np.cumsum([len(passage.split()) for passage in passages])
    return passages[: max(1, int(np.searchsorted(words, READ_WORDS, side="right")))]


def _signal_parts(hit: Hit) -> tuple[Evidence, ...]:
    """What the signals say of a hit, as parts of the score that the reader has its share in."""
    return tuple(replace(evidence, share=(1 - _READER_SHARE) * evidence.share) for evidence in hit.evidence)


def _evidence(each: ReadHit, rank: int, score: float, reason: str) -> tuple[Evidence, ...]:
    p = each.probability
    note = f"answers the question with probability {p:.2f}"
    if each.after:
        note += f" after {truncate(each.after, _MAX_QUOTE)!r}"
    share = each.score - (1 - _READER_SHARE) * each.hit.score
    read = Evidence("reader", rank, share, p, note)
    moved = []
    if reason or score != each.score:
        moved = [Evidence("time", 1, score - each.score, 0.0, reason or "ranked above what follows")]
    return (*_signal_parts(each.hit), read, *moved)


def _first_by_time(
    read: Sequence[ReadHit], parsed: ParsedQuestion, now: datetime, reader: Reader
) -> tuple[ReadHit | None, str]:
    """Of the hits that answer, the one that was valid at the time asked about, and why in words."""
    best = max(each.probability for each in read)
    answering = [each for each in read if each.probability >= max(_MIN_PROBABILITY, _PART_OF_BEST * best)]
    answering.sort(key=lambda each: -each.score)
    question, focus = parsed.reading_text, parsed.focus
    if not answering or focus == "any":
        return None, ""
    if focus == "now":
        return _valid_at(now, answering, read, question, reader), "nothing told later replaces it"
    if focus == "at":
        ended = [window.end for window in parsed.times if window.end is not None and window.end <= now]
        return _valid_at(ended[0], answering, read, question, reader), "valid at the time asked about"
    oldest = sorted(answering, key=lambda each: each.time)
    if focus == "first":
        return oldest[0], f"the first of {len(answering)} that answer"
    if focus == "previous":
        replaced = {each.hit.memory.id for each in answering if _replaced_by(each, oldest, question, reader, 0.5)}
        past = [each for each in answering if not each.hit.current or each.hit.memory.id in replaced]
        return max(past, key=lambda each: each.time, default=None), "replaced by what was told later"
    anchors = [each for each in oldest if _mentions(each.hit.memory, parsed.time_relation.anchor_words)]
    if not anchors:
        return None, ""
    moment = anchors[0].time
    if focus == "after":
        return next((each for each in oldest if each.time > moment and each not in anchors), None), "told after it"
    earlier = [each for each in oldest if each.time < moment or (focus == "during" and each.time == moment)]
    return (earlier[-1] if earlier else None), f"what was valid {focus} it"


def _valid_at(
    moment: datetime, answering: Sequence[ReadHit], read: Sequence[ReadHit], question: str, reader: Reader
) -> ReadHit | None:
    """Of what was told by a moment, the hit that scores best and was most probably not replaced by then. What replaces
    an answer is an answer itself, though it may not sound like one."""
    told = sorted((each for each in read if each.time <= moment), key=lambda each: each.time)
    compared = [each for each in answering if each.time <= moment][:_MOST_COMPARED]
    if not compared:
        return None
    score = {each.hit.memory.id: each.score for each in told}
    valid = dict.fromkeys(score, 1.0)
    for each in sorted(compared, key=lambda each: each.time):
        own = each.hit.memory.id
        for later, probability in _replaced_by(each, told, question, reader):
            score[later] = max(score[later], probability * score[own])
            valid[own] = min(valid[own], 1 - probability)
    return max(told, key=lambda each: score[each.hit.memory.id] * valid[each.hit.memory.id])


def _replaced_by(
    earlier: ReadHit, others: Sequence[ReadHit], question: str, reader: Reader, least: float = 0.0
) -> list[tuple[str, float]]:
    """The ids of the later hits that may replace or end an answer, each with the probability that it does, if that is
    at least so much. Where both make claims, the rules have compared these already. For a reader that cannot compare,
    every later answer replaces an earlier one."""
    claims, p = earlier.hit.memory.triples, earlier.probability
    later = [other for other in others if other.time > earlier.time and not (claims and other.hit.memory.triples)]
    later = [other for other in later if other.hit.memory.trust >= earlier.hit.memory.trust]
    if not isinstance(reader, RelationReader):
        enough = max(_MIN_PROBABILITY, _PART_OF_BEST * p)
        return [(other.hit.memory.id, 1.0) for other in later if other.probability >= enough]
    later = [other for other in later if other.probability >= _MIN_LATER]
    if not later:
        return []
    compared = reader.compare([(earlier.passage, other.passage) for other in later], question)
    replaced = np.array([odds.get("replaces", 0.0) + odds.get("ends", 0.0) for odds in compared])
    answers = np.array([min(1.0, other.probability / p) for other in later])
    days = np.array([(other.time - earlier.time).total_seconds() / 86_400 for other in later])
    log_odds = _COMPARED * np.log((replaced + 1e-3) / (1 - replaced + 1e-3)) + _ANSWERS * np.log(answers)
    log_odds += _TIME_PASSED * np.log1p(days) + _NOTHING_CHANGES
    odds = zip(later, (1 / (1 + np.exp(-log_odds))).tolist(), strict=True)
    return [(other.hit.memory.id, probability) for other, probability in odds if probability >= least]


def _after_successors(ordered: list[ReadHit]) -> list[ReadHit]:
    """The same order, except that a superseded hit comes right after the one that superseded it."""
    place_of = {each.hit.memory.id: place for place, each in enumerate(ordered) if each.hit.current}
    behind: dict[int, list[ReadHit]] = {}
    for place, each in enumerate(ordered):
        successor = each.hit.superseded_by
        if successor is not None and (later := place_of.get(successor.id, -1)) > place:
            behind.setdefault(later, []).append(each)
    moved = [each for places in behind.values() for each in places]
    return [each for place, kept in enumerate(ordered) if kept not in moved for each in (kept, *behind.get(place, ()))]


def _mentions(memory: Memory, words: frozenset[str]) -> bool:
    return bool(words) and 2 * len(words.intersection(tokens(memory.text))) >= len(words)


def _passage(question: str, memory: Memory, before: str) -> str:
    title = "" if memory.turn is not None else memory.source or ""
    return as_passage(question, memory.text, speaker=_speaker(memory), title=title, before=before)


def _speaker(memory: Memory) -> str | None:
    if memory.turn is None:
        return None
    return "user" if memory.turn.speaker == SELF else memory.turn.speaker


def _checked(given: Sequence[float], count: int) -> NDArray[np.float64]:
    probabilities = np.asarray(given, np.float64)
    if probabilities.shape != (count,) or not np.isfinite(probabilities).all():
        raise ValueError(f"it gave {probabilities.shape} numbers for {count} texts, or one that is no number")
    if probabilities.min() < 0 or probabilities.max() > 1:
        low, high = probabilities.min(), probabilities.max()
        raise ValueError(f"it gave {low:.2f} to {high:.2f}, not probabilities from 0 to 1")
    return probabilities
