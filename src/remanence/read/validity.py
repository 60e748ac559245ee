"""Step of the read path: which memory holds at the time asked about, by what the reader says of the first hits.

The first place goes to the hit that the reader chooses, unless the signals clearly prefer one that it likes nearly as
much; the others are ordered by the reader and the signals together.
A hit that a later one replaces is marked, and stays findable: nothing is closed because of what a reader says.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import accumulate

from remanence.schema import Evidence, Hit, Memory

_SIGNAL_SHARE = 0.5
"""The part of a score that comes from the signals; the rest is from the reader."""
_CHOICE, _HOLDS, _ANSWERS = 0.25, 0.15, 0.1
"""The parts of what the reader says. Of what follows the first hit, the signals say as much as the reader."""
_SIGNAL_ODDS, _MIN_CHOICE = 4.0, 0.02
"""How much the score of the signals adds to the log of the reader's choice for the first hit. With less, fewer outdated
memories are first and fewer right ones in talk between friends; measured on seven sets. A hit that is chosen with less
than the second probability does not come first for that."""
_MIN_REPLACED, _MAX_HOLDING, _MIN_REPLACING, _MIN_ANSWERING = 0.9, 0.3, 0.5, 0.5
"""A hit is marked as replaced if the reader says so with at least the first probability and that it holds with at most
the second, and a later one holds with at least the third. It must tell what is asked with at least the fourth: a hit
about another matter may be replaced too, but not by the one that answers the question."""


@dataclass(frozen=True, slots=True, eq=False)
class ReadHit:
    """A hit with the probabilities by the reader: that it answers, that it holds at the time asked about, that a later
    one replaces it, and that it is the one to choose."""

    hit: Hit
    answers: float
    holds: float
    replaced: float
    choice: float
    told_at: datetime
    is_lowered: bool = False
    """Whether it is closed, or about another person or another time than the question: then it is not chosen."""

    def scaled(self, factor: float) -> ReadHit:
        """The same with lower probabilities, as of what is trusted less."""
        values = {name: factor * getattr(self, name) for name in ("answers", "holds", "choice")}
        return self if factor == 1.0 else replace(self, **values)

    def lowered(self, factor: float) -> ReadHit:
        """The same as of something that the question does not ask about."""
        return self if factor == 1.0 else replace(self.scaled(factor), is_lowered=True)

    @property
    def score(self) -> float:
        return _SIGNAL_SHARE * self.hit.score + _CHOICE * self.choice + _HOLDS * self.holds + _ANSWERS * self.answers

    @property
    def memory(self) -> Memory:
        return self.hit.memory


def order_by_reading(read: Sequence[ReadHit], unread: Sequence[Hit], pinned: int) -> tuple[Hit, ...]:
    """The hits in their final order, each with the reader's probability as evidence. The first `pinned` ones, which
    were valid at the time asked about by their claims, stay first. What answers and is trusted more comes before
    what is trusted less."""
    others = sorted(read[pinned:], key=lambda each: -each.score)
    trusted = max((each.memory.trust for each in others if each.answers >= _MIN_ANSWERING), default=0.0)
    candidates = (each for each in others if not each.is_lowered and each.memory.trust >= trusted)
    chosen = max(candidates, key=_worth_of_first, default=None)
    if chosen is not None and chosen.choice >= _MIN_CHOICE:
        others = [chosen, *(each for each in others if each is not chosen)]
    ordered = [*read[:pinned], *others]
    rest = [replace(hit, score=_SIGNAL_SHARE * hit.score, evidence=_scaled(hit)) for hit in unread]
    least = rest[0].score if rest else 0.0
    # A hit that was moved up has at least the score of what follows it.
    scores = list(accumulate(reversed([each.score for each in ordered]), max, initial=least))[:0:-1]
    rank_of = {id(each): rank for rank, each in enumerate(sorted(read, key=lambda each: -each.holds), 1)}
    hits = [
        _with_reading(each, score, rank_of[id(each)], read, is_pinned=place < pinned)
        for place, (each, score) in enumerate(zip(ordered, scores, strict=True))
    ]
    return (*hits, *rest)


def _worth_of_first(each: ReadHit) -> float:
    """How much a hit is worth the first place."""
    return math.log(each.choice + 1e-3) + _SIGNAL_ODDS * each.hit.score


def _with_reading(each: ReadHit, score: float, rank: int, read: Sequence[ReadHit], *, is_pinned: bool) -> Hit:
    note = f"answers the question with probability {each.holds:.2f}"
    signals = _SIGNAL_SHARE * each.hit.score
    share = (each.score if is_pinned else score) - signals
    evidence = (*_scaled(each.hit), Evidence("reader", rank, share, each.holds, note))
    if is_pinned and score != each.score:
        evidence = (*evidence, Evidence("time", 1, score - each.score, 0.0, "valid at the time asked about"))
    hit = replace(each.hit, score=score, evidence=evidence)
    successor = _successor(each, read) if hit.current else None
    return hit if successor is None else replace(hit, current=False, superseded_by=successor)


def _successor(each: ReadHit, read: Sequence[ReadHit]) -> Memory | None:
    """The memory that replaces a hit by what the reader says; None if it may still hold."""
    if each.replaced < _MIN_REPLACED or each.holds > _MAX_HOLDING or each.answers < _MIN_ANSWERING:
        return None
    later = [
        other
        for other in read
        if other.told_at > each.told_at and other.holds >= _MIN_REPLACING and other.memory.trust >= each.memory.trust
    ]
    return max(later, key=lambda other: other.holds).memory if later else None


def _scaled(hit: Hit) -> tuple[Evidence, ...]:
    return tuple(replace(evidence, share=_SIGNAL_SHARE * evidence.share) for evidence in hit.evidence)
