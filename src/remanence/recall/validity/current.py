"""Which rows hold: at the time asked about, or now. Without links and claims here, with them in `superseded`.

The rows that may be returned, the factors for what was said later than the question, and the mark `current` of a hit
with the row that replaced it.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from remanence.index.index import Index
from remanence.index.numbers import Position, Row
from remanence.recall.receipts import RecallRequest
from remanence.recall.validity.superseded import (
    extractions_of,
    facts_are_over,
    isolated_mask,
    nearest_fact_over,
    replacement_row,
    row_replacing_facts,
    unsuperseded_mask,
)
from remanence.schema import MICROS_PER_DAY, PLAN_TAG, READER_MARK, RULES, Hit, Memory, Snapshot, micros

if TYPE_CHECKING:
    from remanence.ports import Vector

_FUTURE_TURN_FACTOR = 0.8
"""The factor for the scores of chat turns dated more than a day after the question. It is not zero, so that a turn with
a wrong date is still found. Fitted on LongMemEval."""


def valid_rows(index: Index, request: RecallRequest, snapshot: Snapshot, *, history: bool) -> NDArray[np.bool_]:
    """The visible rows that are valid in the time of a request; with `history`, superseded ones too."""
    rows = index.catalog.valid_mask(
        index.catalog.visible_mask(request.position),
        request.position,
        now=request.now,
        history=history,
        during=request.during,
    )
    if not history and (superseded := index.links.superseded_mask(snapshot)).any():
        rows &= index.fields.document_mask | ~index.catalog.rows_of_memories(superseded)
    return rows


def time_factors(index: Index, rows: NDArray[np.int64], now: datetime) -> NDArray[np.float64]:
    """The factor for the score of each row: less than 1 for turns dated after `now`."""
    factors: NDArray[np.float64] = np.where(future_turns(index, rows, now), _FUTURE_TURN_FACTOR, 1.0)
    return factors


def future_turns(index: Index, rows: NDArray[np.int64], now: datetime) -> NDArray[np.bool_]:
    """Which of these rows are chat turns dated more than a day after `now`."""
    future: NDArray[np.bool_] = index.catalog.times.said[rows] > micros(now) + MICROS_PER_DAY
    return future


def is_over(memory: Memory, now: datetime) -> bool:
    """Whether a memory tells what ended before `now`. An event of the past happened; a plan of the past is no plan any
    more."""
    may_end = memory.kind != "episode" or PLAN_TAG in memory.tags
    return may_end and memory.valid.end is not None and memory.valid.end <= now


def unexpired_current_mask(index: Index, rows: NDArray[np.int64], snapshot: Snapshot) -> NDArray[np.bool_]:
    """Which of these rows have neither expired nor been superseded."""
    mask = index.catalog.current_mask(rows, snapshot.position, snapshot.now)
    mask[mask] = unsuperseded_mask(index, rows[mask], snapshot)
    return mask


class RowStates(NamedTuple):
    """Whether each of some rows holds, and what replaced it."""

    current: list[bool]
    """Whether nothing replaced it, and it has neither expired nor ended."""
    successors: list[Row | None]
    """The row that replaced it."""
    connected: list[bool]
    """Whether it has claims or links, so that more than a later version can replace it."""


def row_states(index: Index, rows: NDArray[np.int64], snapshot: Snapshot, vector: Vector | None = None) -> RowStates:
    """Which of these rows are current at the moment of a snapshot, and which rows replaced the others. With the vector
    of a question, a turn is as current as that of its facts which is nearest to it."""
    position, numbers = snapshot.position, rows.tolist()
    connected = ~isolated_mask(index, rows)
    current = index.catalog.current_mask(rows, position, snapshot.now)
    current[connected] &= unsuperseded_mask(index, rows[connected], snapshot)
    current &= ~index.catalog.ended_mask(rows, snapshot.now)
    replacing = [
        replacement_row(index, row, snapshot) or row_replacing_facts(index, row, snapshot)
        if is_connected
        else index.catalog.successor(row, position)
        for row, is_connected in zip(numbers, connected.tolist(), strict=True)
    ]
    successors = [None if row is None else _said_by_people(index, row, position) for row in replacing]
    # A state that is told in the past tense is an event by its kind: "Bob lived in Rome from 2020 to 2024".
    is_past = index.catalog.times.ended_mask(rows, snapshot.now)
    for place in np.flatnonzero(connected & current).tolist():
        is_past_state = is_past[place] and index.relations.claims_only_past_states(numbers[place], snapshot)
        current[place] = not (is_past_state or facts_are_over(index, numbers[place], snapshot))
        over = None if vector is None else nearest_fact_over(index, numbers[place], snapshot, vector)
        if over is not None and successors[place] is None:
            current[place], successors[place] = False, replacement_row(index, over, snapshot)
    holds = [is_current and row is None for is_current, row in zip(current.tolist(), successors, strict=True)]
    return RowStates(holds, successors, connected.tolist())


def held_like(hit: Hit, words: Hit) -> Hit:
    """A fact that rules wrote, as current as the words in which it was found."""
    if not hit.current or words.current:
        return hit
    marks = (evidence for evidence in words.evidence if evidence.signal == READER_MARK)
    return replace(hit, current=False, superseded_by=words.superseded_by, evidence=(*hit.evidence, *marks))


def _said_by_people(index: Index, row: Row, position: Position) -> Row:
    """The row itself; for a fact that an earlier release wrote by rule the words in which it was found."""
    for source, record in extractions_of(index, row):
        number = index.catalog.number(source)
        quotation = None if number is None else index.catalog.row_at(number, position)
        if record.by == RULES and quotation is not None:
            return quotation
    return row
