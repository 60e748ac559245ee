"""Optional step of the read path: a reranker reads the first hits again and changes their order."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from remanence.ports import Reranker
from remanence.schema import SELF, Evidence, Hit, Memory

log = logging.getLogger(__name__)

RERANKED_HITS = 30
"""How many hits are read again."""


def rerank(
    hits: tuple[Hit, ...], question: str, reranker: Reranker, *, pinned: int
) -> tuple[tuple[Hit, ...], dict[str, str]]:
    """The hits in their new order, each with the reranker's score as evidence, and why there is none if it failed. The
    fused scores keep their places. The first `pinned` hits stay where they are: time has put them there."""
    end = max(pinned, RERANKED_HITS)
    read = hits[pinned:end]
    if not read:
        return hits, {}
    try:
        scores = _checked_scores(reranker, question, read)
    except Exception as error:  # noqa: BLE001  -- foreign code, which may raise anything
        log.warning("recall continues without the reranker: %s", error)
        return hits, {"reranker": f"{type(error).__name__}: {error}"}
    fused = np.array([hit.score for hit in read])
    order = blended_order(fused, scores, reranker.weight, calibrated=reranker.calibrated).tolist()
    rank_of = np.argsort(np.argsort(-scores, kind="stable")).tolist()
    out = []
    for place, score in zip(_superseded_after_successor(read, order), fused.tolist(), strict=True):
        raw = float(scores[place])
        evidence = Evidence("reranker", rank_of[place] + 1, 0.0, raw, f"read again: {raw:.2f}")
        out.append(replace(read[place], score=score, evidence=(*read[place].evidence, evidence)))
    return (*hits[:pinned], *out, *hits[end:]), {}


def _checked_scores(reranker: Reranker, question: str, hits: Sequence[Hit]) -> NDArray[np.float64]:
    scores = np.asarray(reranker(question, [as_text(hit.memory) for hit in hits]), np.float64)
    if scores.shape != (len(hits),) or not np.isfinite(scores).all():
        raise ValueError(f"it gave {scores.shape} scores for {len(hits)} texts, or one that is no number")
    if not 0 <= reranker.weight <= 1:
        raise ValueError(f"its weight is {reranker.weight!r}, not a number from 0 to 1")
    if reranker.calibrated and not (scores.min() >= 0 and scores.max() <= 1):
        raise ValueError(f"it is calibrated, yet gave {scores.min():.2f} to {scores.max():.2f}, not 0 to 1")
    return scores


def as_text(memory: Memory) -> str:
    """What a reranker reads of a memory: a turn has its speaker in front."""
    if memory.turn is None:
        return memory.text
    return f"{'user' if memory.turn.speaker == SELF else memory.turn.speaker}: {memory.text}"


def _superseded_after_successor(hits: Sequence[Hit], order: list[int]) -> list[int]:
    """The same order, except that a superseded hit comes right after the one that superseded it."""
    place_of = {hit.memory.id: place for place, hit in enumerate(hits) if hit.current}
    behind: dict[int, list[int]] = {}
    for place in order:
        successor = hits[place].superseded_by
        if successor is not None and place_of.get(successor.id, place) < place:
            behind.setdefault(place_of[successor.id], []).append(place)
    moved = {place for places in behind.values() for place in places}
    return [each for place in order if place not in moved for each in (place, *behind.get(place, ()))]


def blended_order(
    fused: NDArray[np.float64], reranker_scores: NDArray[np.float64], weight: float, *, calibrated: bool = False
) -> NDArray[np.intp]:
    """The order by `weight` of the reranker's scores and the rest of the fused ones. Scores that are not calibrated
    may have any scale, so the lowest counts as 0 and the highest as 1. The fused scores keep their distances, so that
    near ties among them stay near."""
    scaled = reranker_scores
    if not calibrated:
        span = reranker_scores.max() - reranker_scores.min()
        scaled = (reranker_scores - reranker_scores.min()) / span if span > 0 else np.zeros_like(reranker_scores)
    ours = fused / fused[0] if fused[0] > 0 else fused
    return np.argsort(-(weight * scaled + (1 - weight) * ours), kind="stable")
