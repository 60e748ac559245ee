"""What `recall` returns for a blank question: the memories that pass its filters, by recency, use and strength.

The score of a hit is its decay score d as d / (1 + d), which lies between 0 and 1.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from remanence.index.index import Index
from remanence.recall.answer import Recall
from remanence.recall.fusion import searchable_rows
from remanence.recall.receipts import RecallRequest
from remanence.recall.validity.current import row_states
from remanence.recall.validity.superseded import unsuperseded_mask
from remanence.schema import Evidence, Hit, Memory, Snapshot, format_moment, micros
from remanence.text.text import pluralize
from remanence.upkeep.settings import UpkeepSettings
from remanence.upkeep.steps.decay import decay_score, last_used, row_scores, strength_of

_SIGNAL = "recency"


def list_by_recency(index: Index, request: RecallRequest) -> Recall:
    """The memories that pass the filters of a request, the highest decay score first."""
    settings = UpkeepSettings.from_env()
    with index.lock:
        snapshot = index.snapshot(request.position, request.now)
        history = bool(request.history) or request.during is not None
        rows = np.flatnonzero(searchable_rows(index, request, snapshot, history=history))
        if not history:
            rows = rows[unsuperseded_mask(index, rows, snapshot)]
        scores, _ = row_scores(index, rows, request.now, settings)
        best = rows[np.lexsort((-rows, -scores))[: request.limit]]
        states = row_states(index, best, snapshot)
        replacing = [row for row in states.successors if row is not None]
        memories = index.memories([*best.tolist(), *replacing])
        memory_of = dict(zip(replacing, memories[len(best) :], strict=True))
        hits = [
            Hit(
                memory,
                *_score(index, snapshot, rank, memory, settings),
                is_current,
                None if successor is None else memory_of[successor],
            )
            for rank, (memory, is_current, successor) in enumerate(
                zip(memories[: len(best)], states.current, states.successors, strict=True), 1
            )
        ]
    least = request.min_score
    hits = [hit for hit in hits if least is None or hit.score >= least]
    return Recall(request.text, tuple(hits), history=history, position=request.position)


def _score(
    index: Index, snapshot: Snapshot, rank: int, memory: Memory, settings: UpkeepSettings
) -> tuple[float, tuple[Evidence]]:
    """The score of a memory by its decay score, and the reason for it."""
    usage = index.usage.get(memory.id).up_to(micros(snapshot.now))
    decay = decay_score(memory, usage, snapshot.now, settings)
    score = decay / (1 + decay)
    note = f"last used {format_moment(last_used(memory, usage))}, {pluralize(usage.use_count, 'use')}"
    note += f", strength {strength_of(memory, usage):.2f}"
    return score, (Evidence(_SIGNAL, rank, score, decay, note),)


def with_reviews(hits: Iterable[Hit], limit: int) -> tuple[Hit, ...]:
    """The first hits, some of the last places given to memories further down that are about to fade.

    One in five places at most, and none of a single one. Each memory that is about to fade says so in its reasons.
    """
    every = list(hits)
    first, later = every[:limit], every[limit:]
    due = sorted((hit for hit in later if _review(hit) > 0), key=lambda hit: -_review(hit))
    places = max(1, limit // 5) if limit > 1 else 0  # reminders
    reminders = due[: max(0, places - sum(_review(hit) > 0 for hit in first))]
    return tuple(_labelled(hit) for hit in (*first[: limit - len(reminders)], *reminders))


def _review(hit: Hit) -> float:
    return 0.0 if hit.usage is None or not hit.current else hit.usage.review_priority


def _labelled(hit: Hit) -> Hit:
    usage = hit.usage
    if usage is None or not _review(hit):
        return hit
    note = f"about to fade: decay score {usage.decay_score:.2f}, last used {format_moment(usage.last_used)}"
    return replace(hit, evidence=(*hit.evidence, Evidence("review", 1, 0.0, usage.review_priority, note)))
