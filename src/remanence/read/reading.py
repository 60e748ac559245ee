"""Step of the read path: a reader reads the first hits together, as dated lines, and says which answer and which hold.

Then the hits are ordered by what the reader says and by the score of the signals together (`validity`).
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from remanence.core.index import Index
from remanence.language.temporal import find_stated_times
from remanence.models.reader_input import MAX_LINES, needs_turn_before
from remanence.ports import ListReading, Reader, ReaderLine
from remanence.read.fusion import FusedRanking
from remanence.read.query import RecallContext
from remanence.read.question import ParsedQuestion
from remanence.read.referents import Referent, is_about_other, is_about_user
from remanence.read.validity import ReadHit, order_by_reading
from remanence.schema import SELF, Hit, Memory

log = logging.getLogger(__name__)

MAX_READ_HITS = MAX_LINES
"""How many hits the reader is given at most."""
_OTHER_PERSON, _USER = 0.2, 0.02
"""The factors for the probabilities of memories about another person than the one a question means; the second one for
memories about the user, if the question is not about the user at all: "What should she avoid?", but not "What could I
serve her?"."""


@dataclass(frozen=True, slots=True)
class ReadingInput:
    """The hits before they are read, and the turns before the first of them."""

    hits: tuple[Hit, ...]
    previous_turns: Sequence[str]
    """For each of the first hits the turn before it, if the hit may not be understood without that turn; else ""."""
    pinned: int
    """How many of the first hits stay first: by their claims, they were valid at the time asked about."""


@dataclass(frozen=True, slots=True)
class ReadingResult:
    """The hits in their final order."""

    hits: tuple[Hit, ...]
    confidence: float | None = None
    """The probability that any of the hits answers the question."""
    missing: Mapping[str, str] = field(default_factory=dict)
    """The reason why there is no confidence, by "reader", if the reader failed."""


def collect_candidates(context: RecallContext, ranked: FusedRanking, hits: tuple[Hit, ...], count: int) -> ReadingInput:
    """The candidates for the reader, with the turns before the first `count`. Needs the lock of the index."""
    rows = ranked.rows[:count].tolist()
    return ReadingInput(
        hits, _previous_turns(context.index, rows, context.request.position), len(ranked.pinned_rows)
    )


def read_hits(candidates: ReadingInput, parsed: ParsedQuestion, now: datetime, reader: Reader) -> ReadingResult:
    """The hits in the order by the reader, each with its probability as evidence. If the reader fails, the order of the
    signals stays."""
    hits = candidates.hits
    if not hits:
        return ReadingResult(hits)
    first = hits[: len(candidates.previous_turns)]
    lines = [
        as_reader_line(hit.memory, turn, rank)
        for rank, (hit, turn) in enumerate(zip(first, candidates.previous_turns, strict=True))
    ]
    moment = next((window.end for window in parsed.times if window.end is not None and window.end <= now), None)
    try:
        reading = reader.read(parsed.reader_text, lines, asked_at=now, moment=moment)
        _check_reading(reading, len(lines))
    except Exception as error:  # noqa: BLE001  -- the caller's code may raise anything
        log.warning("recall continues without the reader: %s", error)
        return ReadingResult(hits, missing={"reader": f"{type(error).__name__}: {error}"})
    read = [
        ReadHit(hit, answers, holds, replaced, choice, line.told_at or now).scaled(
            _person_factor(hit.memory, parsed.referent)
        )
        for hit, line, answers, holds, replaced, choice in zip(first, lines, *reading[:4], strict=True)
    ]
    ordered = order_by_reading(read, hits[len(first) :], parsed, candidates.pinned)
    return ReadingResult(ordered, 1.0 - reading.nothing)


def as_reader_line(memory: Memory, before: str = "", rank: int | None = None) -> ReaderLine:
    """A memory as a reader is given it."""
    title = "" if memory.turn is not None else memory.source or ""
    return ReaderLine(memory.text, valid_or_told(memory), speaker_label(memory), title, before, rank)


def valid_or_told(memory: Memory) -> datetime:
    """When a memory was told; or, if it was added as valid from a date that its text does not name, that date. So the
    order of facts does not depend on when they were learned."""
    start = memory.valid.start
    is_state = memory.turn is None and start is not None
    return start if is_state and start and not find_stated_times(memory.text, memory.told_at) else memory.told_at


def speaker_label(memory: Memory) -> str | None:
    """The speaker of a turn as a reader reads it."""
    if memory.turn is None:
        return None
    return "user" if memory.turn.speaker == SELF else memory.turn.speaker


def _check_reading(reading: ListReading, count: int) -> None:
    values = [value for part in reading[:4] for value in part] + [reading.nothing]
    if any(len(part) != count for part in reading[:4]) or not all(0 <= value <= 1 for value in values):
        raise ValueError(f"it gave {[len(part) for part in reading[:4]]} numbers for {count} lines, or not from 0 to 1")


def _person_factor(memory: Memory, referent: Referent) -> float:
    """The factor for the probabilities of a memory by whom it is about, if the question is about somebody else than the
    user."""
    if not referent:
        return 1.0
    if is_about_user(memory, referent):
        return _OTHER_PERSON if referent.with_user else _USER
    return _OTHER_PERSON if is_about_other(memory, referent) else 1.0


def _previous_turns(index: Index, rows: Sequence[int], position: int) -> list[str]:
    """For each row the turn before it, with its speaker, if the row may not be understood without it and the turn is
    visible at `position`; otherwise ""."""
    visible = index.catalog.visible_mask(position)
    previous = index.graph.previous_turns(rows)
    visible_rows = [row for row in previous if row >= 0 and visible[row]]
    spoken = [f"{speaker_label(memory)}: {memory.text}" for memory in index.memories(visible_rows)]
    text_of = dict(zip(visible_rows, spoken, strict=True))
    turns = [text_of.get(row, "") for row in previous]
    texts = [memory.text for memory in index.memories(rows)]
    return [turn if needs_turn_before(text, turn) else "" for text, turn in zip(texts, turns, strict=True)]
