"""Which rows something superseded, and what: later versions, links and claims.

A version is superseded when a later version of the same memory exists, when a current `supersedes` link says so, or
when every claim in it has been replaced by a later value of a single-valued relation, unless the text says more than
its claims.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from remanence.index.claims.claim_view import RowDisagreement
from remanence.index.index import Index
from remanence.index.journal import ExtractionRecord
from remanence.index.numbers import Row
from remanence.schema import RULES, Disagreement, DisagreementKind, Memory, Snapshot
from remanence.text.text import text_hash

if TYPE_CHECKING:
    from remanence.ports import Vector

MAX_CLAIM_TEXT_LENGTH = 240
"""Characters of a text up to which it is taken to state nothing but its claims. Chosen by hand."""


def is_isolated(index: Index, row: Row) -> bool:
    """Whether a row has no claims and no links, so that only a later version can supersede it."""
    return not index.relations.claims_of_row(row) and not index.links.has_links(index.catalog.memory_of(row))


def isolated_mask(index: Index, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
    """For each of these rows, whether it has no claims and no links."""
    mask = ~index.relations.has_claims(rows)
    if not index.links.is_empty:
        unlinked = [not index.links.has_links(index.catalog.memory_of(row)) for row in rows.tolist()]
        mask &= np.array(unlinked, np.bool_)
    return mask


def is_verbatim(index: Index, row: Row) -> bool:
    """Whether a row is a chat turn or a document. As a quotation it stays true."""
    return index.graph.is_turn(row) or bool(index.fields.document_mask[row])


def is_current_row(index: Index, row: Row, snapshot: Snapshot) -> bool:
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
        mask[i] = not is_superseded(index, rows[i].item(), snapshot)
    return mask


def replacement_row(index: Index, row: Row, snapshot: Snapshot) -> Row | None:
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


def row_replacing_facts(index: Index, row: Row, snapshot: Snapshot) -> Row | None:
    """The row that superseded the last fact that was found in a turn; None if one of these facts is current."""
    facts = fact_rows(index, row, snapshot)
    superseded = index.links.superseded_mask(snapshot)
    if not facts or not all(superseded[index.catalog.memory_of(fact)] for fact in facts):
        return None
    return replacement_row(index, facts[-1], snapshot)


def nearest_fact_over(index: Index, row: Row, snapshot: Snapshot, vector: Vector) -> Row | None:
    """The fact of a turn that is nearest to a question, if that was superseded or its time is over: of a turn that
    tells several things, what is asked may be over although the rest holds."""
    facts = np.array(fact_rows(index, row, snapshot), np.int64)
    if not len(facts):
        return None
    holds = unsuperseded_mask(index, facts, snapshot) & ~index.catalog.ended_mask(facts, snapshot.now)
    if holds.all():
        return None
    hashes = [text_hash(memory.text) for memory in index.memories(facts.tolist())]
    vectors = dict(index.load_vectors(hashes))
    nearness = [float(vectors[key] @ vector) if key in vectors else -1.0 for key in hashes]
    nearest = int(np.argmax(nearness))
    return None if holds[nearest] else Row(int(facts[nearest]))


def facts_are_over(index: Index, row: Row, snapshot: Snapshot) -> bool:
    """Whether facts were found in a turn, and none of them holds any more: each was superseded, or its time is over."""
    facts = np.array(fact_rows(index, row, snapshot), np.int64)
    if not len(facts):
        return False
    holds = unsuperseded_mask(index, facts, snapshot) & ~index.catalog.ended_mask(facts, snapshot.now)
    return not holds.any()


def fact_rows(index: Index, row: Row, snapshot: Snapshot) -> list[Row]:
    """The rows of the facts that were found in a turn, without those that rules of an earlier release wrote."""
    if not index.graph.is_turn(row):
        return []
    catalog = index.catalog
    turn = catalog.memory_of(row)
    records = index.journal.extractions.get(catalog.ids[turn], ())
    by_rules = {fact for record in records if record.by == RULES for fact in record.facts}
    rows = [
        catalog.row_at(fact, snapshot.position)
        for fact in index.links.all_linked(turn, "derived_from", "in")
        if catalog.ids[fact] not in by_rules
    ]
    return [fact_row for fact_row in rows if fact_row is not None]


def extractions_of(index: Index, row: Row) -> list[tuple[str, ExtractionRecord]]:
    """The texts in which a row was found, each with what found it there."""
    memory, ids = index.catalog.memory_of(row), index.catalog.ids
    sources = [ids[number] for number in index.links.all_linked(memory, "derived_from", "out")]
    records = [(source, record) for source in sources for record in index.journal.extractions.get(source, ())]
    return [(source, record) for source, record in records if ids[memory] in record.facts]


def pairs_that_disagree(
    index: Index, snapshot: Snapshot, kinds: Collection[DisagreementKind], rows: Sequence[Row] | None = None
) -> list[tuple[Memory, Disagreement]]:
    """Visible memories that disagree in one of these ways, each pair once, in the order in which they were learned.

    With `rows`, only pairs of which one is among these.
    """
    pair_of: dict[frozenset[Row], tuple[Row, Row, DisagreementKind, str]] = {}
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


def rows_in_conflict(index: Index, snapshot: Snapshot) -> list[Row]:
    """The visible rows that cannot hold together with another visible row."""
    return [
        row
        for row in np.flatnonzero(snapshot.row_mask).tolist()
        if not is_isolated(index, row)
        and any(
            kind == "conflict" and snapshot.row_mask[other] for other, kind, _ in disagreeing_rows(index, row, snapshot)
        )
    ]


def disagreeing_rows(index: Index, row: Row, snapshot: Snapshot) -> list[RowDisagreement]:
    """The rows that disagree with this one, by links and by claims."""
    if index.links.is_empty:
        return index.relations.disagreements(row, snapshot)
    catalog = index.catalog
    linked: list[tuple[Row | None, DisagreementKind, str]] = [
        (catalog.row_at(number, snapshot.position), "conflict", "as a link says")
        for number in index.links.contradicting(catalog.memory_of(row), snapshot)
    ]
    disagreements = [*linked, *index.relations.disagreements(row, snapshot)]
    superseded = index.links.superseded_mask(snapshot)

    def is_decided(other: Row) -> bool:
        """Whether a link says which of the two rows is current."""
        return bool(superseded[[catalog.memory_of(row), catalog.memory_of(other)]].any())

    return [
        (other, "correction" if kind == "conflict" and is_decided(other) else kind, topic)
        for other, kind, topic in disagreements
        if other is not None
    ]


def is_superseded(index: Index, row: Row, snapshot: Snapshot) -> bool:
    """Whether a row states only its claims, and none of them is valid any longer."""
    return index.graph.is_short(row, MAX_CLAIM_TEXT_LENGTH) and index.relations.is_stale(row, snapshot)


def current_successor(index: Index, row: Row, snapshot: Snapshot) -> Row | None:
    """The current row that superseded this one by its claims; None if the claims of its successors have ended too."""
    visited = {row}
    successor = index.relations.superseding_row(row, snapshot)
    while successor is not None and index.relations.is_stale(successor, snapshot):
        visited.add(successor)
        successor = index.relations.superseding_row(successor, snapshot)
        if successor in visited:
            return None
    return successor
