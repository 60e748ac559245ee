"""Step of the read path: a reader reads the first hits together, as dated lines, and says which answer and which hold.

Then the hits are ordered by what the reader says and by the score of the signals together (`validity`).
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from remanence.language.temporal import find_stated_times
from remanence.models.reader_input import MAX_LINES
from remanence.ports import ListReading, Reader, ReaderLine
from remanence.read.context import speaker_label
from remanence.read.question import ParsedQuestion
from remanence.read.referents import Referent, is_about_other, is_about_user
from remanence.read.validity import ReadHit, order_by_reading
from remanence.schema import Hit, Memory

log = logging.getLogger(__name__)

MAX_READ_HITS = MAX_LINES
"""How many hits the reader is given at most."""
_OTHER_PERSON, _USER = 0.2, 0.02
"""The factors for the probabilities of memories about another person than the one a question means; the second one for
memories about the user, if the question is not about the user at all: "What should she avoid?", but not "What could I
serve her?"."""


@dataclass(frozen=True, slots=True)
class ReadingResult:
    """The hits in their final order."""

    hits: tuple[Hit, ...]
    confidence: float | None = None
    """The probability that any of the hits answers the question."""
    missing: Mapping[str, str] = field(default_factory=dict)
    """The reason why there is no confidence, by "reader", if the reader failed."""


def read_hits(
    hits: tuple[Hit, ...], pinned: int, parsed: ParsedQuestion, now: datetime, reader: Reader
) -> ReadingResult:
    """The hits in the order by the reader, each with its probability as evidence; the first `pinned` ones stay first.
    If the reader fails, the order of the signals stays."""
    if not hits:
        return ReadingResult(hits)
    first = hits[:MAX_READ_HITS]
    lines = [as_reader_line(hit.memory, hit.context, rank) for rank, hit in enumerate(first)]
    moment = next((window.end for window in parsed.times if window.end is not None and window.end <= now), None)
    try:
        reading = reader.read(parsed.reader_text, lines, asked_at=now, moment=moment)
        check_reading(reading, len(lines))
    except Exception as error:  # noqa: BLE001  -- the caller's code may raise anything
        log.warning("recall continues without the reader: %s", error)
        return ReadingResult(hits, missing={"reader": f"{type(error).__name__}: {error}"})
    read = [
        _lowered_for_others(ReadHit(hit, answers, holds, replaced, choice, line.told_at or now), parsed.referent)
        for hit, line, answers, holds, replaced, choice in zip(first, lines, *reading[:4], strict=True)
    ]
    return ReadingResult(order_by_reading(read, hits[len(first) :], pinned), 1.0 - reading.nothing)


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


def check_reading(reading: ListReading, count: int) -> None:
    """Raise ValueError unless a reading has a probability for each line."""
    values = [value for part in reading[:4] for value in part] + [reading.nothing]
    if any(len(part) != count for part in reading[:4]) or not all(0 <= value <= 1 for value in values):
        raise ValueError(f"it gave {[len(part) for part in reading[:4]]} numbers for {count} lines, or not from 0 to 1")


def _lowered_for_others(read: ReadHit, referent: Referent) -> ReadHit:
    """A hit with lower probabilities if it is about another person than the one the question means."""
    if referent and is_about_user(read.memory, referent):
        return read.about_other(_OTHER_PERSON if referent.with_user else _USER)
    return read.about_other(_OTHER_PERSON) if referent and is_about_other(read.memory, referent) else read
