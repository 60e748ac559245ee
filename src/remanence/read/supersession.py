"""What stands of what was found: the last word on each matter comes forward, what it replaced steps back.

A version steps back when a later one of the same memory replaced it, when a standing `supersedes` link
says so, or when everything it claims has been replaced: by a later value of what can have only one at a
time. A long text, or one that says more, is not retired by a claim in it. What contradicts a hit stands
beside it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from remanence.core.index import Index
from remanence.language.text import normalize_name, truncate
from remanence.read.fusion import FusedRanking
from remanence.schema import Disagreement, Snapshot
from remanence.state.intervals import DisagreementKind as How

DEMOTION_FACTOR = 0.999
"""What is put right behind another has this share of its score."""
MAX_CLAIM_TEXT_LENGTH = 240
"""A text with more characters says more than its claims."""


@dataclass(frozen=True, slots=True)
class ResolvedRanking:
    """Candidates as they stand, with a note for each that is here because of another."""

    fused: FusedRanking
    notes: dict[int, str] = field(default_factory=dict)
    pinned_rows: frozenset[int] = frozenset()
    """The rows that go first for their time, whatever they read like; the list begins with them."""


def is_isolated(index: Index, row: int) -> bool:
    """Whether a row claims nothing and is tied to nothing, so that only a later version can replace it."""
    return not index.relations.has_claims(row) and not index.links.has_links(index.catalog.memory_of(row))


def is_current_row(index: Index, row: int, sight: Snapshot) -> bool:
    """Whether nothing has taken the place of this row, or ended what it claims."""
    return bool(current_mask(index, np.array([row]), sight)[0])


def current_mask(index: Index, rows: NDArray[np.int64], sight: Snapshot) -> NDArray[np.bool_]:
    """Which of these rows nothing has taken the place of, or ended what they claim."""
    catalog = index.catalog
    out = catalog.active(rows, sight.position)
    out &= ~index.links.superseded_mask(sight)[[catalog.memory_of(row) for row in rows.tolist()]]
    for place in np.flatnonzero(out).tolist():
        out[place] = not _retired(index, int(rows[place]), sight)
    return out


def replacement_row(index: Index, row: int, sight: Snapshot) -> int | None:
    """The row that stands in the place of this one; None if it stands itself, or nothing followed it."""
    catalog = index.catalog
    later = catalog.successor(row, sight.position)
    if later is not None:
        return later
    drawn = index.links.links_of(catalog.memory_of(row), sight, kinds=("supersedes",), direction="in", at=sight.now)
    if drawn and index.links.superseded_mask(sight)[catalog.memory_of(row)]:
        source = catalog.number(drawn[-1].source)
        return None if source is None else catalog.row_at(source, sight.position)
    return index.relations.superseding_row(row, sight) if index.graph.is_short(row, MAX_CLAIM_TEXT_LENGTH) else None


def disagreements(index: Index, row: int, sight: Snapshot) -> tuple[Disagreement, ...]:
    """What says otherwise than this row: by links, and by its claims."""
    catalog = index.catalog
    linked: list[tuple[int | None, How, str]] = [
        (catalog.row_at(number, sight.position), "conflict", "as a link says")
        for number in index.links.contradicting(catalog.memory_of(row), sight)
    ]
    claimed = index.relations.disagreements(row, sight)
    rows = [(other, how, about) for other, how, about in [*linked, *claimed] if other is not None]
    memories = index.memories([other for other, _, _ in rows])
    return tuple(Disagreement(how, about, memory) for (_, how, about), memory in zip(rows, memories, strict=True))


def rank_by_supersession(
    index: Index, fused: FusedRanking, sight: Snapshot, allowed: np.ndarray, limit: int, names: Iterable[str] = ()
) -> ResolvedRanking:
    """Put what stands in the place of what does not, at the score of whichever ranked higher.

    Looks no further than the first `limit` that stand: the rest is not asked for. `names` are those in the
    question: what it asks about by name stays, right behind what took its place.
    """
    first = fused.rows[:limit].tolist()
    if all(is_isolated(index, row) for row in first):
        return ResolvedRanking(fused)
    called = {normalize_name(name) for name in names}
    scores = dict(zip(fused.rows.tolist(), fused.scores.tolist(), strict=True))
    notes: dict[int, str] = {}
    kept: set[int] = set()
    for row in fused.rows.tolist():
        if len(kept) >= limit:
            break
        if not _retired(index, row, sight):
            kept.add(row)
            continue
        score, later = scores.pop(row), _standing_for(index, row, sight)
        if later is not None and allowed[later]:
            if score > scores.get(later, 0.0):
                notes[later] = f"stands in the place of {_said(index, row)}"
            scores[later] = max(score, scores.get(later, 0.0))
            kept.add(later)
        if index.graph.is_turn(row) or (later is not None and _is_named(index, row, called)):
            # What somebody said stays said: it only lets the newer word go first.
            scores[row] = score * DEMOTION_FACTOR
    # By the scores they had before: what is brought forward brings nothing else, or a longer list would
    # begin otherwise than a short one.
    had = dict(scores)
    for row in sorted(kept, key=lambda row: -had[row])[:limit]:
        for other in () if is_isolated(index, row) else _against(index, row, sight):
            beside = had[row] * DEMOTION_FACTOR
            if beside > scores.get(other, 0.0) and allowed[other] and not _retired(index, other, sight):
                scores[other] = beside
                notes[other] = f"contradicts {_said(index, row)}"
    rows = np.fromiter(scores, np.int64, len(scores))
    resolved = replace(fused, rows=rows, scores=np.fromiter(scores.values(), np.float64, len(rows)))
    return ResolvedRanking(resolved.with_scores(resolved.scores), notes)


def _is_named(index: Index, row: int, names: set[str]) -> bool:
    """Whether a question with these names asks about what a row claims: "When did Alice move to Lisbon?"."""
    claims = index.memories([row])[0].triples
    return any({normalize_name(claim.subject), normalize_name(claim.object)} <= names for claim in claims)


def _retired(index: Index, row: int, sight: Snapshot) -> bool:
    """Whether all that a row says is what it claims, and none of that holds any longer."""
    return index.graph.is_short(row, MAX_CLAIM_TEXT_LENGTH) and index.relations.is_stale(row, sight)


def _standing_for(index: Index, row: int, sight: Snapshot) -> int | None:
    """What stands in the place of this row, by its claims; None if what followed holds no longer either."""
    passed = {row}
    later = index.relations.superseding_row(row, sight)
    while later is not None and index.relations.is_stale(later, sight):
        passed.add(later)
        later = index.relations.superseding_row(later, sight)
        if later in passed:
            return None
    return later


def _against(index: Index, row: int, sight: Snapshot) -> list[int]:
    catalog = index.catalog
    linked = (
        catalog.row_at(number, sight.position) for number in index.links.contradicting(catalog.memory_of(row), sight)
    )
    conflicts = (other for other, how, _ in index.relations.disagreements(row, sight) if how == "conflict")
    return [other for other in (*linked, *conflicts) if other is not None]


def _said(index: Index, row: int) -> str:
    return repr(truncate(index.memories([row])[0].text, 60))
