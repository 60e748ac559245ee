"""Step of the read path: a reader reads the first hits together with the question, then time decides.

The reader says which hits answer the question, of that person or thing, whenever that was. Hits are ordered by its
probability and the score of the signals together. Then one is put first by the time that the question asks about
(`time_choice.py`).
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial

import numpy as np
from numpy.typing import NDArray

from remanence.core.index import Index
from remanence.language.text import truncate
from remanence.models.reader_input import LINE_WORDS, PASSAGE_WORDS, as_passage, needs_turn_before, with_date
from remanence.ports import Reader
from remanence.read.chains import Link, read_chains
from remanence.read.question import ParsedQuestion
from remanence.read.time_choice import ReadHit, first_by_time, moment_asked_about, read_timeline
from remanence.schema import SELF, Evidence, Hit, Memory

log = logging.getLogger(__name__)

READ_HITS = 20
"""How many hits are read at most."""
READ_WORDS = 640
"""How many words they may have together: of long texts fewer are read."""
_READER_SHARE = 0.5
"""How much of a score is the reader's; the rest is that of the signals, which know speakers, times and relations."""
_MAX_QUOTE = 80


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
    """The hits in their new order, each with the reader's probability as evidence; the probability that any of them
    answers; and why there is none if the reader failed. The first `pinned` hits stay first: their claims say that they
    were valid then. Hits that are linked (`chains.linked_hits`) are also read together."""
    if not hits:
        return hits, None, {}
    question = parsed.reading_text
    passages = affordable([_passage(question, hit.memory, turn) for hit, turn in zip(hits, before, strict=False)])
    first = hits[: len(passages)]
    try:
        probabilities = _checked(reader.read(question, passages), len(passages))
        read = [
            ReadHit(hit, passage, p, _READER_SHARE * p + (1 - _READER_SHARE) * hit.score, hit.memory.told_at, turn)
            for hit, passage, p, turn in zip(first, passages, probabilities.tolist(), before, strict=False)
        ]
        scores = [hit.score for hit in first]
        for chain in read_chains(question, passages, probabilities, scores, links, reader):
            read[chain.last] = _answering_after(read[chain.last], read[chain.first], chain.probability)
        probabilities = np.array([each.probability for each in read])
        choice = read_timeline(read, question, moment_asked_about(parsed, now), reader, partial(_line, question))
        winner, reason = first_by_time(read, parsed, now, reader, choice)
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
    return (*reversed(out), *unread), _confidence(read, choice), {}


def _confidence(read: Sequence[ReadHit], choice: Mapping[str, float]) -> float:
    """How probable it is that any hit answers: by the best one alone, and by all that were read together."""
    best = max(read, key=lambda each: each.probability)
    if not choice or best.after:
        return best.probability
    return 0.5 * (best.probability + sum(choice.values()))


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


def _passage(question: str, memory: Memory, before: str, most: int = PASSAGE_WORDS) -> str:
    title = "" if memory.turn is not None else memory.source or ""
    return as_passage(question, memory.text, speaker=_speaker(memory), title=title, before=before, most=most)


def _line(question: str, each: ReadHit) -> str:
    """A hit as a statement of a timeline: shorter than its passage, if the text is long, and with its day."""
    return with_date(each.time, _passage(question, each.hit.memory, each.before, LINE_WORDS))


def _speaker(memory: Memory) -> str | None:
    if memory.turn is None:
        return None
    return "user" if memory.turn.speaker == SELF else memory.turn.speaker


def _checked(given: Sequence[float], count: int) -> NDArray[np.float64]:
    probabilities = np.asarray(given, np.float64)
    if probabilities.shape != (count,) or not np.isfinite(probabilities).all():
        raise ValueError(f"it gave {probabilities.shape} numbers for {count} texts, or one that is not a number")
    if probabilities.min() < 0 or probabilities.max() > 1:
        low, high = probabilities.min(), probabilities.max()
        raise ValueError(f"it gave {low:.2f} to {high:.2f}, not probabilities from 0 to 1")
    return probabilities
