"""Step of the read path for questions about now: what was superseded is replaced by what superseded it.

A version is superseded when a later version of the same memory exists, when a current `supersedes` link says so, or
when every claim in it has been replaced by a later value of a single-valued relation, unless the text says more than
its claims. What contradicts a hit is listed right after it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from remanence.core.index import Index
from remanence.language.text import normalize_name, truncate
from remanence.read.fusion import FusedRanking
from remanence.schema import Disagreement, DisagreementKind, Evidence, Memory, Snapshot
from remanence.state.claim_view import RowDisagreement

DEMOTION_FACTOR = 0.999
"""The factor for the score of a row that is put right after another."""
MAX_CLAIM_TEXT_LENGTH = 240
"""A longer text is taken to state more than its claims."""


def is_isolated(index: Index, row: int) -> bool:
    """Whether a row has no claims and no links, so that only a later version can supersede it."""
    return not index.relations.claims_of_row(row) and not index.links.has_links(index.catalog.memory_of(row))


def is_verbatim(index: Index, row: int) -> bool:
    """Whether a row is a chat turn or a document. As a quotation it stays true."""
    return index.graph.is_turn(row) or bool(index.fields.documents[row])


def is_current_row(index: Index, row: int, snapshot: Snapshot) -> bool:
    """Whether nothing superseded this row or ended what it claims."""
    return bool(unsuperseded_mask(index, np.array([row]), snapshot)[0])


def unsuperseded_mask(index: Index, rows: NDArray[np.int64], snapshot: Snapshot) -> NDArray[np.bool_]:
    """Which of these rows nothing superseded, and whose claims nothing ended."""
    catalog = index.catalog
    out = catalog.active(rows, snapshot.position)
    if not index.links.is_empty:
        out &= ~index.links.superseded_mask(snapshot)[[catalog.memory_of(row) for row in rows.tolist()]]
    for place in np.flatnonzero(out).tolist():
        out[place] = not _is_superseded(index, int(rows[place]), snapshot)
    return out


def replacement_row(index: Index, row: int, snapshot: Snapshot) -> int | None:
    """The row that superseded this one; None if it is current, or nothing followed it."""
    catalog = index.catalog
    later = catalog.successor(row, snapshot.position)
    if later is not None:
        return later
    memory = catalog.memory_of(row)
    links = index.links.links_of(memory, snapshot, kinds=("supersedes",), direction="in", at=snapshot.now)
    if links and index.links.superseded_mask(snapshot)[memory]:
        source = catalog.number(links[-1].source)
        return None if source is None else catalog.row_at(source, snapshot.position)
    if not index.graph.is_short(row, MAX_CLAIM_TEXT_LENGTH):
        return None
    return index.relations.superseding_row(row, snapshot)


def pairs_that_disagree(
    index: Index, snapshot: Snapshot, kinds: Collection[DisagreementKind]
) -> list[tuple[Memory, Disagreement]]:
    """Visible memories that disagree in one of these ways, each pair once, in the order in which they were learned."""
    found: dict[frozenset[int], tuple[int, int, DisagreementKind, str]] = {}
    for row in np.flatnonzero(snapshot.row_mask).tolist():
        if is_isolated(index, row):
            continue
        for other, kind, topic in disagreeing_rows(index, row, snapshot):
            if kind in kinds and snapshot.row_mask[other]:
                found.setdefault(frozenset((row, other)), (row, other, kind, topic))
    pairs = list(found.values())
    memories = index.memories([row for row, _, _, _ in pairs])
    others = index.memories([other for _, other, _, _ in pairs])
    return [
        (memory, Disagreement(kind, topic, other))
        for memory, other, (_, _, kind, topic) in zip(memories, others, pairs, strict=True)
    ]


def disagreeing_rows(index: Index, row: int, snapshot: Snapshot) -> list[RowDisagreement]:
    """The rows that disagree with this one, by links and by claims."""
    if index.links.is_empty:
        return index.relations.disagreements(row, snapshot)
    catalog = index.catalog
    linked: list[tuple[int | None, DisagreementKind, str]] = [
        (catalog.row_at(number, snapshot.position), "conflict", "as a link says")
        for number in index.links.contradicting(catalog.memory_of(row), snapshot)
    ]
    found = [*linked, *index.relations.disagreements(row, snapshot)]
    superseded = index.links.superseded_mask(snapshot)

    def is_settled(other: int) -> bool:
        """Whether a link says which of the two is current."""
        return bool(superseded[[catalog.memory_of(row), catalog.memory_of(other)]].any())

    return [
        (other, "correction" if kind == "conflict" and is_settled(other) else kind, topic)
        for other, kind, topic in found
        if other is not None
    ]


def rank_by_supersession(
    index: Index,
    fused: FusedRanking,
    snapshot: Snapshot,
    allowed: NDArray[np.bool_],
    limit: int,
    names: Iterable[str],
    *,
    narrowed: bool,
) -> FusedRanking:
    """Put current rows in the place of superseded ones, at the score of whichever ranked higher. Stops after the first
    `limit` current rows. `names` are those in the question: a superseded row that the question asks about by name
    stays, right after the row that superseded it. So do chat turns and documents. If the search is `narrowed` to some
    sources, speakers, conversations or metadata, a row stays if what superseded it is not among them."""
    if all(is_isolated(index, row) for row in fused.rows[:limit].tolist()):
        return replace(fused, pinned_rows=frozenset())
    asked_names = {normalize_name(name) for name in names}
    scores = dict(zip(fused.rows.tolist(), fused.scores.tolist(), strict=True))
    moves: dict[int, tuple[str, int]] = {}  # by row: why it was moved, and because of which row
    current: set[int] = set()
    for row in fused.rows.tolist():
        if len(current) >= limit:
            break
        if not _is_superseded(index, row, snapshot):
            current.add(row)
            following = _following_row(index, row, snapshot, asked_names)
            if following is not None and allowed[following] and scores[row] > scores.get(following, 0.0):
                moves[following] = "holds now, after", row
                scores[following] = scores[row]
                scores[row] *= DEMOTION_FACTOR
                current.add(following)
            continue
        score, successor = scores.pop(row), _current_successor(index, row, snapshot)
        if successor is not None and allowed[successor]:
            if score > scores.get(successor, 0.0):
                moves[successor] = "supersedes", row
            scores[successor] = max(score, scores.get(successor, 0.0))
            current.add(successor)
        if is_verbatim(index, row) or (successor is not None and _claims_about(index, row, asked_names)):
            # A chat turn stays true as a quotation: it is only ranked below the newer statement.
            scores[row] = score * DEMOTION_FACTOR
        elif narrowed and successor is not None and not allowed[successor]:
            scores[row] = score  # a filter leaves out what superseded it; its hit names that
            current.add(row)
    # By the original scores: a row that was moved up moves no other row. Otherwise the first hits would depend on the
    # limit.
    before = dict(scores)
    for row in sorted(current, key=lambda row: -before[row])[:limit]:
        for other, kind, _ in () if is_isolated(index, row) else disagreeing_rows(index, row, snapshot):
            score = before[row] * DEMOTION_FACTOR if kind == "conflict" else 0.0
            if score > scores.get(other, 0.0) and allowed[other] and not _is_superseded(index, other, snapshot):
                scores[other] = score
                moves[other] = "contradicts", row
    rows = np.fromiter(scores, np.int64, len(scores))
    ranked = replace(fused, rows=rows).with_scores(np.fromiter(scores.values(), np.float64, len(rows)))
    return replace(ranked, notes={**fused.notes, **_notes(index, moves, limit, ranked)}, pinned_rows=frozenset())


def _notes(index: Index, moves: Mapping[int, tuple[str, int]], limit: int, ranked: FusedRanking) -> dict[int, Evidence]:
    """The reasons why some of the first `limit` rows were moved."""
    first = ranked.rows[:limit].tolist()
    moved = {row: moves[row] for row in first if row in moves}
    causes = [cause for _, cause in moved.values()]
    # The first rows become hits: they are read together with the others, in one query.
    texts = [memory.text for memory in index.memories([*causes, *first])[: len(causes)]] if causes else []
    return {
        row: Evidence("supersession", 1, 0.0, 0.0, f"{why} {truncate(text, 60)!r}")
        for (row, (why, _)), text in zip(moved.items(), texts, strict=True)
    }


def _following_row(index: Index, row: int, snapshot: Snapshot, asked_names: set[str]) -> int | None:
    """The row that is valid now, if this one only states what has ended and the question does not name it."""
    if is_isolated(index, row) or not index.graph.is_short(row, MAX_CLAIM_TEXT_LENGTH):
        return None
    following = index.relations.following_row(row, snapshot)
    return None if following is None or _claims_about(index, row, asked_names) else following


def drop_expired_sources(index: Index, fused: FusedRanking, snapshot: Snapshot, limit: int) -> FusedRanking:
    """The ranking without those of the first `limit` texts whose extracted facts have all expired: "The plumber comes
    tomorrow", a week later."""
    extractions = index.journal.extractions
    if not extractions:
        return fused
    keep = np.ones(len(snapshot.row_mask), np.bool_)
    for row in fused.rows[:limit].tolist():
        found = extractions.get(index.catalog.ids[index.catalog.memory_of(row)])
        facts = found[-1].facts if found else ()
        rows = [index.current_row(fact, snapshot.position) for fact in facts]
        known = np.array([fact for fact in rows if fact is not None and fact != row], np.int64)
        if len(known) and not index.catalog.current(known, snapshot.position, snapshot.now).any():
            keep[row] = False
    return fused if keep.all() else fused.restrict_to(keep)


def _claims_about(index: Index, row: int, names: set[str]) -> bool:
    """Whether a claim of this row is about two of these names: "When did Alice move to Lisbon?"."""
    pairs = index.relations.names_claimed(row) if names else ()
    return any({normalize_name(subject), normalize_name(object_)} <= names for subject, object_ in pairs)


def _is_superseded(index: Index, row: int, snapshot: Snapshot) -> bool:
    """Whether a row states nothing but its claims, and none of them is valid any longer."""
    return index.graph.is_short(row, MAX_CLAIM_TEXT_LENGTH) and index.relations.is_stale(row, snapshot)


def _current_successor(index: Index, row: int, snapshot: Snapshot) -> int | None:
    """The current row that superseded this one by its claims; None if what followed has ended as well."""
    passed = {row}
    successor = index.relations.superseding_row(row, snapshot)
    while successor is not None and index.relations.is_stale(successor, snapshot):
        passed.add(successor)
        successor = index.relations.superseding_row(successor, snapshot)
        if successor in passed:
            return None
    return successor
