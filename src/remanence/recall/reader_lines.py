"""Memories as the dated lines that a reader is given, and the check of what it says of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from remanence.index.passages import told_text
from remanence.ports import ListReading, ReaderLine
from remanence.schema import SELF, Memory
from remanence.text.framing import states_its_time

_MAX_AGE = timedelta(days=30)
"""How old the oldest hit is shown to the reader at most, for a question that names no time. It was trained on worlds in
which most of what is old is replaced: an allergy of eleven months ago got a tenth of the probability of one of two
weeks ago. Of the questions about now, right first and stale, with the true days and with these: worlds a and b 65 and
17%, 65 and 21%; e 59 and 9%, 63 and 11%."""


def as_reader_line(memory: Memory, before: str = "", rank: int | None = None) -> ReaderLine:
    """A memory as a reader is given it."""
    title = "" if memory.turn is not None else memory.source or ""
    return ReaderLine(
        told_text(memory) or memory.text, valid_or_told(memory), speaker_label(memory), title, before, rank
    )


def closer_in_time(lines: Sequence[ReaderLine], asked_at: datetime) -> list[ReaderLine]:
    """The lines, to be read with days nearer to the question, all by the same factor, so that the oldest one is a month
    old at most. Lines told after the question keep their day."""
    ages = [asked_at - line.told_at for line in lines if line.told_at is not None]
    oldest = max(ages, default=_MAX_AGE)
    if oldest <= _MAX_AGE:
        return list(lines)
    share = _MAX_AGE / oldest
    return [
        replace(line, shown_at=asked_at - share * (asked_at - line.told_at))
        if line.told_at is not None and line.told_at <= asked_at
        else line
        for line in lines
    ]


def valid_or_told(memory: Memory) -> datetime:
    """When a memory was told; or, if it was added as valid from a date that its text does not name, that date. So the
    order of facts does not depend on when they were learned."""
    start = memory.valid.start
    is_state = memory.turn is None and start is not None
    return start if is_state and start and not states_its_time(memory) else memory.told_at


def check_reading(reading: ListReading, count: int) -> None:
    """Raise ValueError unless a reading has a probability for each line."""
    values = [value for part in reading[:4] for value in part] + [reading.nothing]
    if any(len(part) != count for part in reading[:4]) or not all(0 <= value <= 1 for value in values):
        raise ValueError(f"it gave {[len(part) for part in reading[:4]]} numbers for {count} lines, or not from 0 to 1")


def speaker_label(memory: Memory) -> str | None:
    """The speaker of a turn as it is read and shown."""
    if memory.turn is None:
        return None
    return "user" if memory.turn.speaker == SELF else memory.turn.speaker
