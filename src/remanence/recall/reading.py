"""Step of the read path: a reader reads the first hits together, as dated lines, and says which answer and which hold.

Then the hits are ordered by what the reader says and by the score of the signals together (`validity.by_reader`).
"""

from __future__ import annotations

import logging
import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any, cast

from remanence.errors import InvalidInput
from remanence.hooks import step
from remanence.index.passages import told_text
from remanence.models.readers import DEFAULT_READER, MAX_LINES, NO_READER, default_reader
from remanence.models.time_limit import TimedOut, TimeLimit
from remanence.ports import ListReading, Reader
from remanence.recall.question import ParsedQuestion
from remanence.recall.reader_lines import as_reader_line, check_reading, closer_in_time
from remanence.recall.validity.by_reader import order_by_reading
from remanence.schema import Hit

log = logging.getLogger(__name__)

DEADLINE_VARIABLE = "REMANENCE_DEADLINE"

MAX_READ_HITS = MAX_LINES


@dataclass(frozen=True, slots=True)
class ReadingResult:
    """The hits in their final order."""

    hits: tuple[Hit, ...]
    confidence: float | None = None
    """The probability that any of the hits answers the question."""
    missing: Mapping[str, str] = field(default_factory=dict)
    """The reason why there is no confidence, by "reader", if the reader failed."""


@step("read")
def read_hits(
    hits: tuple[Hit, ...],
    pinned: int,
    parsed: ParsedQuestion,
    now: datetime,
    reader: Reader,
    seconds: float | None = None,
) -> ReadingResult:
    """The hits in the order by the reader, each with its probability as evidence; the first `pinned` ones stay first.
    Turns that only ask are not read. If the reader fails, or takes longer than `seconds`, the order of the signals
    stays."""
    read = [hit for place, hit in enumerate(hits) if place < pinned or told_text(hit.memory)][:MAX_READ_HITS]
    if not read:
        return ReadingResult(hits)
    lines = [as_reader_line(hit.memory, hit.context, rank) for rank, hit in enumerate(read)]
    hits = (*read, *(hit for hit in hits if not any(hit is other for other in read)))
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
