"""Step of the read path for questions about now: superseded rows are replaced by the rows that superseded them.

A version is superseded when a later version of the same memory exists, when a current `supersedes` link says so, or
when every claim in it has been replaced by a later value of a single-valued relation, unless the text says more than
its claims. A row that contradicts a hit is listed right after it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from remanence.core.index import Index
from remanence.language.text import normalize_name, truncate
from remanence.read.fusion import FusedRanking
from remanence.read.query import RecallContext
from remanence.schema import Disagreement, DisagreementKind, Evidence, Memory, Snapshot
from remanence.state.edges.claim_view import RowDisagreement

DEMOTION_FACTOR = 0.999
"""The factor for the score of a row that is put right after another."""
MAX_CLAIM_TEXT_LENGTH = 240
"""A longer text is taken to state more than its claims."""


def is_isolated(index: Index, row: int) -> bool:
    """Whether a row has no claims and no links, so that only a later version can supersede it."""
    return not index.relations.claims_of_row(row) and not index.links.has_links(index.catalog.memory_of(row))


def isolated_mask(index: Index, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
    """The same for each of these rows."""
    mask = ~index.relations.has_claims(rows)
    if not index.links.is_empty:
        unlinked = [not index.links.has_links(index.catalog.memory_of(row)) for row in rows.tolist()]
        mask &= np.array(unlinked, np.bool_)
    return mask


def is_verbatim(index: Index, row: int) -> bool:
    """Whether a row is a chat turn or a document. As a quotation it stays true."""
    return index.graph.is_turn(row) or bool(index.fields.document_mask[row])


def is_current_row(index: Index, row: int, snapshot: Snapshot) -> bool:
    """Whether nothing superseded this row or ended its claims."""
    return bool(unsuperseded_mask(index, np.array([row]), snapshot)[0])


def unsuperseded_mask(index: Index, rows: NDArray[np.int64], snapshot: Snapshot) -> NDArray[np.bool_]:
    """Which of these rows nothing superseded, and whose claims nothing ended."""
    catalog = index.catalog
    mask = catalog.active_mask(rows, snapshot.position)
    if not index.links.is_empty:
        mask &= ~index.links.superseded_mask(snapshot)[[catalog.memory_of(row) for row in rows.tolist()]]
    # A row without claims has none that ended, and most rows have none.
    for i in np.flatnonzero(mask & index.relations.has_claims(rows)).tolist():
        mask[i] = not _is_superseded(index, int(rows[i]), snapshot)
    return mask


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
    index: Index, snapshot: Snapshot, kinds: Collection[DisagreementKind], rows: Sequence[int] | None = None
) -> list[tuple[Memory, Disagreement]]:
    """Visible memories that disagree in one of these ways, each pair once, in the order in which they were learned.

    With `rows`, only pairs of which one is among these.
    """
    pair_of: dict[frozenset[int], tuple[int, int, DisagreementKind, str]] = {}
    for row in np.flatnonzero(snapshot.row_mask).tolist() if rows is None else rows:
        if is_isolated(index, row):
            continue
        for other, kind, topic in disagreeing_rows(index, row, snapshot):
            if kind in kinds and snapshot.row_mask[other]:
                pair_of.setdefault(frozenset((row, other)), (row, other, kind, topic))
    pairs = list(pair_of.values())
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
    disagreements = [*linked, *index.relations.disagreements(row, snapshot)]
    superseded = index.links.superseded_mask(snapshot)

    def is_decided(other: int) -> bool:
        """Whether a link says which of the two rows is current."""
        return bool(superseded[[catalog.memory_of(row), catalog.memory_of(other)]].any())

    return [
        (other, "correction" if kind == "conflict" and is_decided(other) else kind, topic)
        for other, kind, topic in disagreements
        if other is not None
    ]


def rank_by_supersession(
    context: RecallContext, fused: FusedRanking, allowed: NDArray[np.bool_], limit: int
) -> FusedRanking:
    """Replace superseded rows by current rows, at the score of whichever ranked higher. Stops after the first `limit`
    current rows. `allowed` marks the rows that may be returned.

    Chat turns and documents stay, right after the row that superseded them. So does a superseded row that the question
    asks about by name. If the search is narrowed to some sources, speakers, conversations or metadata, a row also stays
    if the row that superseded it is excluded by that.
    """
    index = context.index
    if isolated_mask(index, fused.rows[:limit]).all():
        return replace(fused, pinned_rows=frozenset())
    scores = _RowScores(context, fused, allowed)
    for row in fused.rows.tolist():
        if len(scores.current) >= limit:
            break
        if _is_superseded(index, row, context.snapshot):
            scores.replace_superseded(row)
        else:
            scores.keep_current(row)
    scores.add_contradicting(limit)
    return scores.to_ranking(fused, limit)


class _Move(NamedTuple):
    """The reason why a row was moved up, as text, and the row that caused it."""

    reason: str
    cause: int


class _RowScores:
    """The scores of a ranking while superseded rows are replaced."""

    def __init__(self, context: RecallContext, fused: FusedRanking, allowed: NDArray[np.bool_]) -> None:
        self._index, self._snapshot = context.index, context.snapshot
        self._names = {normalize_name(name) for name in context.query.entity_names}
        self._is_narrowed = context.request.has_origin_filter
        self._allowed = allowed
        self._scores: dict[int, float] = dict(zip(fused.rows.tolist(), fused.scores.tolist(), strict=True))
        self._moves: dict[int, _Move] = {}
        self.current: set[int] = set()
        """The rows that are current, or are returned like a current row."""

    def keep_current(self, row: int) -> None:
        """Keep a row that nothing superseded. If it only states the end of a claim, the row that is valid now is ranked
        above it."""
        self.current.add(row)
        following = _following_row(self._index, row, self._snapshot, self._names)
        if following is None or not self._allowed[following] or self._scores[row] <= self._score(following):
            return
        self._moves[following] = _Move("holds now, after", row)
        self._scores[following] = self._scores[row]
        self._scores[row] *= DEMOTION_FACTOR
        self.current.add(following)

    def replace_superseded(self, row: int) -> None:
        """Put the current successor of a row in its place. The row is removed, or ranked right after its successor."""
        score = self._scores.pop(row)
        successor = _current_successor(self._index, row, self._snapshot)
        if successor is not None and self._allowed[successor]:
            if score > self._score(successor):
                self._moves[successor] = _Move("supersedes", row)
            self._scores[successor] = max(score, self._score(successor))
            self.current.add(successor)
        if is_verbatim(self._index, row) or (successor is not None and _claims_about(self._index, row, self._names)):
            # A chat turn stays true as a quotation: it is only ranked below the newer statement.
            self._scores[row] = score * DEMOTION_FACTOR
        elif self._is_narrowed and successor is not None and not self._allowed[successor]:
            self._scores[row] = score  # the filters exclude the successor; the hit names it
            self.current.add(row)

    def add_contradicting(self, limit: int) -> None:
        """Rank the rows that contradict one of the first `limit` current rows right after that row, or right before it
        if they are trusted more."""
        # By the scores before this step: a row that was moved up moves no other row. Otherwise the first hits would
        # depend on the limit.
        before, trust_of = dict(self._scores), self._index.catalog.attributes.trust
        for row in sorted(self.current, key=lambda row: -before[row])[:limit]:
            if is_isolated(self._index, row):
                continue
            for other, kind, _ in disagreeing_rows(self._index, row, self._snapshot):
                if kind != "conflict":
                    continue
                trust, other_trust = trust_of(np.array([row, other]))
                score = before[row] / DEMOTION_FACTOR if other_trust > trust else before[row] * DEMOTION_FACTOR
                if score > self._score(other) and self._may_be_added(other, row):
                    self._scores[other] = score
                    self._moves[other] = _Move("contradicts", row)

    def to_ranking(self, fused: FusedRanking, limit: int) -> FusedRanking:
        """The ranking by these scores, with the reasons why some of the first `limit` rows were moved."""
        rows = np.fromiter(self._scores, np.int64, len(self._scores))
        scores = np.fromiter(self._scores.values(), np.float64, len(rows))
        ranked = replace(fused, rows=rows).with_scores(scores)
        notes = self._notes(ranked.rows[:limit].tolist())
        return replace(ranked, notes={**fused.notes, **notes}, pinned_rows=frozenset())

    def _score(self, row: int) -> float:
        return self._scores.get(row, 0.0)

    def _may_be_added(self, row: int, contradicted: int) -> bool:
        """Whether a row may be returned beside the row that it contradicts: it is current, or only that row superseded
        it. That was decided by the order of the two; whoever links them says that it is not decided."""
        if not self._allowed[row] or not _is_superseded(self._index, row, self._snapshot):
            return bool(self._allowed[row])
        return _current_successor(self._index, row, self._snapshot) == contradicted

    def _notes(self, rows: Sequence[int]) -> dict[int, Evidence]:
        """The reasons for the rows that were moved."""
        moves = {row: self._moves[row] for row in rows if row in self._moves}
        if not moves:
            return {}
        causes = [move.cause for move in moves.values()]
        # These rows become hits, so their memories are read here too, in one query with the others.
        memories = self._index.memories([*causes, *rows])[: len(causes)]
        return {
            row: Evidence("supersession", 1, 0.0, 0.0, f"{move.reason} {truncate(memory.text, 60)!r}")
            for (row, move), memory in zip(moves.items(), memories, strict=True)
        }


def _following_row(index: Index, row: int, snapshot: Snapshot, names: Collection[str]) -> int | None:
    """The row that is valid now, if this row only states the end of a claim and the question does not name it."""
    if is_isolated(index, row) or not index.graph.is_short(row, MAX_CLAIM_TEXT_LENGTH):
        return None
    following = index.relations.following_row(row, snapshot)
    return None if following is None or _claims_about(index, row, names) else following


def drop_expired_sources(context: RecallContext, fused: FusedRanking, limit: int) -> FusedRanking:
    """The ranking without the texts among the first `limit` rows whose extracted facts have all expired: "The plumber
    comes tomorrow", a week later."""
    index, snapshot = context.index, context.snapshot
    extractions = index.journal.extractions
    if not extractions:
        return fused
    keep = np.ones(len(snapshot.row_mask), np.bool_)
    for row in fused.rows[:limit].tolist():
        extracted = extractions.get(index.catalog.ids[index.catalog.memory_of(row)])
        facts = extracted[-1].facts if extracted else ()
        fact_rows = [index.current_row(fact, snapshot.position) for fact in facts]
        others = np.array([fact for fact in fact_rows if fact is not None and fact != row], np.int64)
        if len(others) and not index.catalog.current_mask(others, snapshot.position, snapshot.now).any():
            keep[row] = False
    return fused if keep.all() else fused.restrict_to(keep)


def _claims_about(index: Index, row: int, names: Collection[str]) -> bool:
    """Whether a claim of this row is about two of these names: "When did Alice move to Lisbon?"."""
    pairs = index.relations.names_claimed(row) if names else ()
    return any(normalize_name(subject) in names and normalize_name(object_) in names for subject, object_ in pairs)


def _is_superseded(index: Index, row: int, snapshot: Snapshot) -> bool:
    """Whether a row states only its claims, and none of them is valid any longer."""
    return index.graph.is_short(row, MAX_CLAIM_TEXT_LENGTH) and index.relations.is_stale(row, snapshot)


def _current_successor(index: Index, row: int, snapshot: Snapshot) -> int | None:
    """The current row that superseded this one by its claims; None if the claims of its successors have ended too."""
    visited = {row}
    successor = index.relations.superseding_row(row, snapshot)
    while successor is not None and index.relations.is_stale(successor, snapshot):
        visited.add(successor)
        successor = index.relations.superseding_row(successor, snapshot)
        if successor in visited:
            return None
    return successor
