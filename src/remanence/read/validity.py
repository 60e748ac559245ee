"""Which memory holds at the time asked about: by what the reader says, and by claims and given validity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import accumulate

from remanence.read.question import ParsedQuestion
from remanence.schema import Evidence, Hit, Memory

_SIGNAL_SHARE = 0.5
_CHOICE, _HOLDS, _ANSWERS = 0.25, 0.15, 0.1
_MIN_REPLACED = 0.8


@dataclass(frozen=True, slots=True, eq=False)
class ReadHit:
    """A hit with what the reader says about it."""

    hit: Hit
    answers: float
    holds: float
    replaced: float
    choice: float
    told_at: datetime

    def scaled(self, factor: float) -> ReadHit:
        if factor == 1.0:
            return self
        return replace(self, answers=factor * self.answers, holds=factor * self.holds, choice=factor * self.choice)

    @property
    def score(self) -> float:
        return _SIGNAL_SHARE * self.hit.score + _CHOICE * self.choice + _HOLDS * self.holds + _ANSWERS * self.answers

    @property
    def memory(self) -> Memory:
        return self.hit.memory


def order_by_reading(
    read: Sequence[ReadHit], unread: Sequence[Hit], parsed: ParsedQuestion, pinned: int
) -> tuple[Hit, ...]:
    pins, others = list(read[:pinned]), sorted(read[pinned:], key=lambda each: -each.score)
    ordered = [*pins, *others]
    rest = [replace(hit, score=_SIGNAL_SHARE * hit.score, evidence=_scaled(hit)) for hit in unread]
    least = rest[0].score if rest else 0.0
    scores = list(accumulate(reversed([each.score for each in ordered]), max, initial=least))[:0:-1]
    rank_of = {id(each): rank for rank, each in enumerate(sorted(read, key=lambda each: -each.holds), 1)}
    hits = []
    for each, score in zip(ordered, scores, strict=True):
        share = each.score - _SIGNAL_SHARE * each.hit.score
        note = f"answers the question with probability {each.holds:.2f}"
        evidence = (*_scaled(each.hit), Evidence("reader", rank_of[id(each)], share, each.holds, note))
        if score != each.score:
            evidence = (*evidence, Evidence("time", 1, score - each.score, 0.0, "ranked above what follows"))
        hits.append(replace(each.hit, score=score, evidence=evidence))
    return (*hits, *rest)


def _scaled(hit: Hit) -> tuple[Evidence, ...]:
    return tuple(replace(evidence, share=_SIGNAL_SHARE * evidence.share) for evidence in hit.evidence)
