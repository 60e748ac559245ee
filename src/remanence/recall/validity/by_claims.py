"""Step of the read path: the rows that hold at the time asked about come first, by given times, links and claims.

For questions about now, superseded rows are replaced by the rows that superseded them, and a row that contradicts a hit
is listed right after it. For questions about another time see `other_times`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from remanence.index.index import Index
from remanence.index.numbers import Row
from remanence.recall.context import FusedRanking, RecallContext
from remanence.recall.question import ParsedQuestion
from remanence.recall.receipts import RecallRequest
from remanence.recall.validity.current import valid_rows
from remanence.recall.validity.other_times import (
    DEMOTION_FACTOR,
    rank_ended_lower,
    rank_from_time_first,
    rank_valid_first,
)
from remanence.recall.validity.superseded import (
    MAX_CLAIM_TEXT_LENGTH,
    current_successor,
    disagreeing_rows,
    is_isolated,
    is_superseded,
    is_verbatim,
    isolated_mask,
)
from remanence.schema import Evidence, Snapshot
from remanence.text.text import normalize_name, truncate


def searches_superseded(request: RecallRequest, parsed: ParsedQuestion) -> bool:
    """Whether superseded memories are searched: if the caller or the wording asks for them, or may do so."""
    if request.history is not None:
        return request.history
    return parsed.may_ask_about_past or request.during is not None


def rank_by_claims(context: RecallContext, fused: FusedRanking, count: int) -> tuple[FusedRanking, bool]:
    """The ranking for the time that the question asks about, and whether it includes superseded rows.

    Superseded rows are returned only if the question is certainly about the past, or if a row was valid at the time
    that it names: "before" and "when" alone may ask for an event.
    """
    request, parsed = context.request, context.parsed
    if context.include_superseded:
        fused = _drop_repeated_versions(context.index, fused, count)
    ranked = rank_valid_first(context, rank_ended_lower(context, rank_from_time_first(context, fused)))
    certain = parsed.asks_about_past or request.during is not None
    if request.history or (
        request.history is None and (certain or (context.include_superseded and ranked.pinned_rows))
    ):
        return ranked, True
    allowed = context.query.allowed
    if context.include_superseded:
        allowed = allowed & valid_rows(context.index, request, context.snapshot, history=False)
        ranked = ranked.where(allowed[ranked.rows])
    if parsed.focus == "now":
        ranked = _drop_expired_sources(context, ranked, 2 * count)
    return _replace_superseded(context, ranked, allowed, count), False


def _drop_repeated_versions(index: Index, fused: FusedRanking, count: int) -> FusedRanking:
    """The ranking without versions that have the same text as the next version of the memory, among the first rows."""
    rows = set(fused.rows[: 2 * count].tolist())
    versions = Counter(map(index.catalog.memory_of, rows))
    repeated: set[Row] = set()
    for memory in (memory for memory, number in versions.items() if number > 1):
        for row, following in pairwise(index.catalog.rows_of(memory)):
            if {row, following} <= rows and len({m.text for m in index.memories([row, following])}) == 1:
                repeated.add(row)
    return _without(fused, repeated)


def _drop_expired_sources(context: RecallContext, fused: FusedRanking, limit: int) -> FusedRanking:
    """The ranking without the texts among the first `limit` rows whose extracted facts have all expired: "The plumber
    comes tomorrow", a week later."""
    index, snapshot = context.index, context.snapshot
    extractions = index.journal.extractions
    expired: set[Row] = set()
    for row in fused.rows[:limit].tolist() if extractions else ():
        extracted = extractions.get(index.catalog.ids[index.catalog.memory_of(row)])
        facts = extracted[-1].facts if extracted else ()
        fact_rows = [index.current_row(fact, snapshot.position) for fact in facts]
        others = np.array([fact for fact in fact_rows if fact is not None and fact != row], np.int64)
        if len(others) and not index.catalog.current_mask(others, snapshot.position, snapshot.now).any():
            expired.add(row)
    return _without(fused, expired)


def _without(fused: FusedRanking, rows: Collection[Row]) -> FusedRanking:
    return fused.where(~np.isin(fused.rows, list(rows))) if rows else fused


def _replace_superseded(
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
        if is_superseded(index, row, context.snapshot):
            scores.replace_superseded(row)
        else:
            scores.keep_current(row)
    scores.add_contradicting(limit)
    return scores.to_ranking(fused, limit)


class _Move(NamedTuple):
    """The reason why a row was moved up, as text, and the row that caused it."""

    reason: str
    cause: Row


class _RowScores:
    """The scores of a ranking while superseded rows are replaced."""

    def __init__(self, context: RecallContext, fused: FusedRanking, allowed: NDArray[np.bool_]) -> None:
        self._index, self._snapshot = context.index, context.snapshot
        self._names = {normalize_name(name) for name in context.query.entity_names}
        self._is_narrowed = context.request.has_origin_filter
        self._allowed = allowed
        self._scores: dict[Row, float] = dict(zip(fused.rows.tolist(), fused.scores.tolist(), strict=True))
        self._moves: dict[Row, _Move] = {}
        self.current: set[Row] = set()
        """The rows that are current, or are returned like a current row."""

    def keep_current(self, row: Row) -> None:
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

    def replace_superseded(self, row: Row) -> None:
        """Put the current successor of a row in its place. The row is removed, or ranked right after its successor."""
        score = self._scores.pop(row)
        successor = current_successor(self._index, row, self._snapshot)
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
        before, trust = dict(self._scores), self._index.catalog.attributes.trust
        for row in sorted(self.current, key=lambda row: -before[row])[:limit]:
            if is_isolated(self._index, row):
                continue
            for other, kind, _ in disagreeing_rows(self._index, row, self._snapshot):
                if kind != "conflict":
                    continue
                own_trust, other_trust = trust[[row, other]]
                score = before[row] / DEMOTION_FACTOR if other_trust > own_trust else before[row] * DEMOTION_FACTOR
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

    def _score(self, row: Row) -> float:
        return self._scores.get(row, 0.0)

    def _may_be_added(self, row: Row, contradicted: Row) -> bool:
        """Whether a row may be returned beside the row that it contradicts: it is current, or only that row superseded
        it. That was decided by the order of the two; whoever links them says that it is not decided."""
        if not self._allowed[row] or not is_superseded(self._index, row, self._snapshot):
            return bool(self._allowed[row])
        return current_successor(self._index, row, self._snapshot) == contradicted

    def _notes(self, rows: Sequence[Row]) -> dict[Row, Evidence]:
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


def _following_row(index: Index, row: Row, snapshot: Snapshot, names: Collection[str]) -> Row | None:
    """The row that is valid now, if this row only states the end of a claim and the question does not name it."""
    if is_isolated(index, row) or not index.graph.is_short(row, MAX_CLAIM_TEXT_LENGTH):
        return None
    following = index.relations.following_row(row, snapshot)
    return None if following is None or _claims_about(index, row, names) else following


def _claims_about(index: Index, row: Row, names: Collection[str]) -> bool:
    """Whether a claim of this row is about two of these names: "When did Alice move to Lisbon?"."""
    pairs = index.relations.names_claimed(row) if names else ()
    return any(normalize_name(subject) in names and normalize_name(object_) in names for subject, object_ in pairs)
