"""From ranked rows to hits: the memory, its evidence, and what superseded or contradicts it."""

from __future__ import annotations

from remanence.core.index import Index
from remanence.read.fusion import FusedRanking, future_turns
from remanence.read.supersession import disagreements, is_current_row, is_isolated, replacement_row
from remanence.schema import Disagreement, Evidence, Hit, Snapshot, format_moment


def build_hits(index: Index, fused: FusedRanking, snapshot: Snapshot) -> tuple[Hit, ...]:
    rows = fused.rows.tolist()
    current = index.catalog.current(fused.rows, snapshot.position, snapshot.now).tolist()
    future = set(fused.rows[future_turns(index, fused.rows, snapshot.now)].tolist())
    hits = []
    for row, score, evidence, memory, is_current in zip(
        rows, fused.scores.tolist(), fused.evidence(), index.memories(rows), current, strict=True
    ):
        if row in future:
            evidence.append(Evidence("time", 1, 0.0, 0.0, f"said only after {format_moment(snapshot.now)}"))
        if row in fused.notes:
            evidence.append(fused.notes[row])
        successor = index.catalog.successor(row, snapshot.position)
        against: tuple[Disagreement, ...] = ()
        if not is_isolated(index, row):
            successor, against = replacement_row(index, row, snapshot), disagreements(index, row, snapshot)
            is_current = is_current and is_current_row(index, row, snapshot)
        superseded_by = None if successor is None else index.memories([successor])[0]
        hits.append(Hit(memory, score, tuple(evidence), is_current and superseded_by is None, superseded_by, against))
    return tuple(hits)
