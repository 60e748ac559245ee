"""What `recall` returns for a blank question with filters: the memories that pass, by recency, use and strength.

The score of a hit is its decay score d as d / (1 + d), which lies between 0 and 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from remanence.core.index import Index
from remanence.language.text import pluralize
from remanence.read.answer import Recall
from remanence.read.query import searchable_rows
from remanence.read.receipts import RecallRequest
from remanence.read.supersession import is_current_row, replacement_row
from remanence.schema import Evidence, Hit, Memory, Snapshot, format_moment, micros
from remanence.state.journal import MemoryUsage
from remanence.upkeep.settings import UpkeepSettings
from remanence.upkeep.steps.decay import MAX_STRENGTH, decay_score, last_used, row_decay_score, strength_of

_SIGNAL = "recency"
_FIRST_POOL = 64
_REVIEW_SHARE = 5
"""One of this many hits is a reminder."""


class _Scored(NamedTuple):
    score: float
    row: int
    memory: Memory
    usage: MemoryUsage


def list_by_recency(index: Index, request: RecallRequest) -> Recall:
    """The memories that pass the filters of a request, the highest decay score first."""
    settings = UpkeepSettings.from_env()
    with index.lock:
        snapshot = index.snapshot(request.position, request.now)
        history = bool(request.history) or request.during is not None
        rows = np.flatnonzero(searchable_rows(index, request, snapshot, history=history)).tolist()
        if not history:
            rows = [row for row in rows if is_current_row(index, row, snapshot)]
        found = _best(index, rows, request, settings)
        hits = [_hit(index, snapshot, rank, each) for rank, each in enumerate(found, 1)]
    least = request.min_score
    hits = [hit for hit in hits if least is None or hit.score >= least]
    return Recall(request.text, tuple(hits), history=history, position=request.position)


def _best(index: Index, rows: Sequence[int], request: RecallRequest, settings: UpkeepSettings) -> list[_Scored]:
    """The rows with the best scores. Their texts are read only as far as needed: strength, which is stored with the
    text, at most doubles a score."""
    catalog, now = index.catalog, micros(request.now)
    usages = [index.usage.get(catalog.ids[catalog.memory_of(row)]).up_to(now) for row in rows]
    bounds = [
        MAX_STRENGTH * row_decay_score(catalog, row, usage, now, settings)
        for row, usage in zip(rows, usages, strict=True)
    ]
    order = sorted(range(len(rows)), key=lambda place: (-bounds[place], -rows[place]))
    found: list[_Scored] = []
    pool = max(_FIRST_POOL, 2 * request.limit)
    for begin in range(0, len(order), pool):
        part = order[begin : begin + pool]
        memories = index.memories([rows[place] for place in part])
        for place, memory in zip(part, memories, strict=True):
            usage = usages[place]
            found.append(_Scored(decay_score(memory, usage, request.now, settings), rows[place], memory, usage))
        found = sorted(found, key=lambda each: (-each.score, -each.row))[: request.limit]
        if len(found) == request.limit and bounds[part[-1]] <= found[-1].score:
            break
    return found


def _hit(index: Index, snapshot: Snapshot, rank: int, found: _Scored) -> Hit:
    score, memory, usage = found.score / (1 + found.score), found.memory, found.usage
    note = f"last used {format_moment(last_used(memory, usage))}, {pluralize(usage.use_count, 'use')}"
    note += f", strength {strength_of(memory, usage):.2f}"
    successor = index.catalog.successor(found.row, snapshot.position)
    if successor is None:
        successor = replacement_row(index, found.row, snapshot)
    superseded_by = None if successor is None else index.memories([successor])[0]
    current = superseded_by is None and (memory.expires_at is None or memory.expires_at > snapshot.now)
    evidence = Evidence(_SIGNAL, rank, score, found.score, note)
    return Hit(memory, score, (evidence,), current, superseded_by)


def with_reviews(hits: Iterable[Hit], limit: int) -> tuple[Hit, ...]:
    """The first hits, some of the last places given to memories further down that are about to fade.

    One in five places at most, and none of a single one. Each memory that is about to fade says so in its reasons.
    """
    every = list(hits)
    first, later = every[:limit], every[limit:]
    due = sorted((hit for hit in later if _review(hit) > 0), key=lambda hit: -_review(hit))
    places = max(1, limit // _REVIEW_SHARE) if limit > 1 else 0
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
