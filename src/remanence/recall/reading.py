"""Step of the read path: a reader reads the first hits together, as dated lines, and says which answer and which hold.

Then the hits are ordered by what the reader says and by the score of the signals together (`validity.by_reader`).
"""

from __future__ import annotations

import logging
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any, cast

from remanence.errors import InvalidInput
from remanence.models.readers import DEFAULT_READER, MAX_LINES, NO_READER, default_reader
from remanence.models.time_limit import TimedOut, TimeLimit
from remanence.ports import ListReading, Reader, ReaderLine
from remanence.recall.hits import speaker_label
from remanence.recall.question import ParsedQuestion
from remanence.recall.validity.by_reader import order_by_reading
from remanence.schema import Hit, Memory
from remanence.text.temporal import find_stated_times

log = logging.getLogger(__name__)

DEADLINE_VARIABLE = "REMANENCE_DEADLINE"
"""The environment variable with the seconds that each recall may take, as for a server."""

MAX_READ_HITS = MAX_LINES
"""Hits that the reader is given, at most."""
_MAX_AGE = timedelta(days=30)
"""How old the oldest hit is shown to the reader at most, for a question that names no time. It was trained on worlds in
which most of what is old is replaced: an allergy of eleven months ago got a tenth of the probability of one of two
weeks ago. Of the questions about now, right first and stale, with the true days and with these: worlds a and b 65 and
17%, 65 and 21%; e 59 and 9%, 63 and 11%."""


@dataclass(frozen=True, slots=True)
class ReadingResult:
    """The hits in their final order."""

    hits: tuple[Hit, ...]
    confidence: float | None = None
    """The probability that any of the hits answers the question."""
    missing: Mapping[str, str] = field(default_factory=dict)
    """The reason why there is no confidence, by "reader", if the reader failed."""


def read_hits(
    hits: tuple[Hit, ...],
    pinned: int,
    parsed: ParsedQuestion,
    now: datetime,
    reader: Reader,
    seconds: float | None = None,
) -> ReadingResult:
    """The hits in the order by the reader, each with its probability as evidence; the first `pinned` ones stay first.
    If the reader fails, or takes longer than `seconds`, the order of the signals stays."""
    if not hits:
        return ReadingResult(hits)
    lines = [as_reader_line(hit.memory, hit.context, rank) for rank, hit in enumerate(hits[:MAX_READ_HITS])]
    told_at = [line.told_at or now for line in lines]
    if parsed.names_no_time:
        lines = closer_in_time(lines, now)
    moment = next((window.end for window in parsed.times if window.end is not None and window.end <= now), None)
    try:
        reading = _read_in_time(seconds, partial(reader.read, parsed.reader_text, lines, asked_at=now, moment=moment))
        check_reading(reading, len(lines))
    except TimedOut:
        return ReadingResult(hits, missing={"reader": "the hits were not read by the deadline"})
    except Exception as error:  # noqa: BLE001  -- the caller's code may raise anything
        log.warning("recall continues without the reader: %s", error)
        return ReadingResult(hits, missing={"reader": f"{type(error).__name__}: {error}"})
    return ReadingResult(order_by_reading(hits, told_at, reading, pinned, parsed), 1.0 - reading.nothing)


def reader_for(name: str | None, own: Reader | None) -> Reader | None:
    """The reader that a request names; without a name that of the space."""
    if name is None:
        return own
    return default_reader() if name == DEFAULT_READER else None


def check_reader_name(name: str | None) -> str | None:
    """The name of a reader that a request may have."""
    if name not in (None, DEFAULT_READER, NO_READER):
        raise InvalidInput(f"reader={name!r} is neither {DEFAULT_READER!r} nor {NO_READER!r}. Name others in `open`.")
    return name


def check_deadline(seconds: object) -> float | None:
    """The seconds that a recall may take; those of the environment if the caller gives none."""
    source, given = "deadline", seconds
    if seconds is None:
        source, given = DEADLINE_VARIABLE, os.environ.get(DEADLINE_VARIABLE, "").strip() or None
    if given is None:
        return None
    try:
        value = math.nan if isinstance(given, bool) else float(cast("Any", given))
    except (TypeError, ValueError):
        value = math.nan
    if not 0 < value < math.inf:
        raise InvalidInput(f"{source}={given!r} is not a number of seconds above 0, such as 0.05.")
    return value


def _read_in_time(seconds: float | None, read: Callable[[], ListReading]) -> ListReading:
    """What a reader says; TimedOut if it does not say it within these seconds. A late reading is kept by the reader."""
    if seconds is None:
        return read()
    if seconds <= 0:
        raise TimedOut
    return TimeLimit(seconds).call(read)


def as_reader_line(memory: Memory, before: str = "", rank: int | None = None) -> ReaderLine:
    """A memory as a reader is given it."""
    title = "" if memory.turn is not None else memory.source or ""
    return ReaderLine(memory.text, valid_or_told(memory), speaker_label(memory), title, before, rank)


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
    return start if is_state and start and not find_stated_times(memory.text, memory.told_at) else memory.told_at


def check_reading(reading: ListReading, count: int) -> None:
    """Raise ValueError unless a reading has a probability for each line."""
    values = [value for part in reading[:4] for value in part] + [reading.nothing]
    if any(len(part) != count for part in reading[:4]) or not all(0 <= value <= 1 for value in values):
        raise ValueError(f"it gave {[len(part) for part in reading[:4]]} numbers for {count} lines, or not from 0 to 1")
