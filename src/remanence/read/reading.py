"""Step of the read path: a reader reads the first hits together, as dated lines, and says which answer and which hold.

Then the hits are ordered by what the reader says and by the score of the signals together (`validity`).
"""

from __future__ import annotations

import logging
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any, cast

from remanence.errors import InvalidInput
from remanence.language.temporal import find_stated_times
from remanence.language.text import normalize_name, tokens
from remanence.models.reader_input import MAX_LINES
from remanence.models.readers import DEFAULT_READER, NO_READER, default_reader
from remanence.models.time_limit import TimedOut, TimeLimit
from remanence.ports import ListReading, Reader, ReaderLine
from remanence.read.context import speaker_label
from remanence.read.question import ParsedQuestion
from remanence.read.referents import Referent, is_about_other, is_about_user
from remanence.read.validity import ReadHit, order_by_reading
from remanence.schema import SELF, Hit, Memory, Window
from remanence.signals.times import MOSTLY_WITHIN, nearness_of

log = logging.getLogger(__name__)

DEADLINE_VARIABLE = "REMANENCE_DEADLINE"
"""The environment variable with the seconds that each recall may take, as for a server."""

MAX_READ_HITS = MAX_LINES
"""How many hits the reader is given at most."""
_OTHER_PERSON, _USER = 0.2, 0.02
"""The factors for the probabilities of memories about another person than the one a question means; the second one for
memories about the user, if the question is not about the user at all: "What should she avoid?", but not "What could I
serve her?"."""

_OTHER_TIME = 0.01
"""The factor for the probabilities of events of another time than the one a question names."""
_LATER = 0.1
"""The factor for the probabilities of states told after the time that a question names."""
_UNJUDGED = 0.5
"""The importance of a turn of which nobody said what it tells: it may be a state, which lasts."""


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
    first = hits[:MAX_READ_HITS]
    lines = [as_reader_line(hit.memory, hit.context, rank) for rank, hit in enumerate(first)]
    moment = next((window.end for window in parsed.times if window.end is not None and window.end <= now), None)
    try:
        reading = _read_in_time(seconds, partial(reader.read, parsed.reader_text, lines, asked_at=now, moment=moment))
        check_reading(reading, len(lines))
    except TimedOut:
        return ReadingResult(hits, missing={"reader": "the hits were not read by the deadline"})
    except Exception as error:  # noqa: BLE001  -- the caller's code may raise anything
        log.warning("recall continues without the reader: %s", error)
        return ReadingResult(hits, missing={"reader": f"{type(error).__name__}: {error}"})
    name_factors = _name_factors(first, parsed)
    read = [
        ReadHit(hit, answers, holds, replaced, choice, line.told_at or now)
        .scaled(hit.memory.trust)
        .lowered(_person_factor(hit.memory, parsed.referent) * _time_factor(hit, parsed) * name_factor)
        for name_factor, hit, line, answers, holds, replaced, choice in zip(
            name_factors, first, lines, *reading[:4], strict=True
        )
    ]
    return ReadingResult(order_by_reading(read, hits[len(first) :], pinned), 1.0 - reading.nothing)


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


def _time_factor(hit: Hit, parsed: ParsedQuestion) -> float:
    """The factor for the probabilities of what is closed, if the question is about now; and, if the question names
    times, of what is from another one."""
    memory, times = hit.memory, parsed.times
    if parsed.focus == "now" and not hit.current:
        return _OTHER_TIME
    if not times:
        return 1.0
    own = _times_of(memory)
    if not parsed.has_topic:
        return float(any(nearness_of(window, asked) >= MOSTLY_WITHIN for window in own for asked in times))
    if any(window.overlaps(asked) for window in own for asked in times):
        return 1.0
    if memory.kind == "episode" and (memory.turn is None or memory.importance != _UNJUDGED):
        return _OTHER_TIME
    # A state that was told before the time asked about may still have held then.
    start = memory.valid.start or memory.told_at
    return _LATER if all(asked.end is not None and asked.end <= start for asked in times) else 1.0


def _times_of(memory: Memory) -> list[Window]:
    """The times that a memory is about: of a turn, the moment at which it was said."""
    valid = memory.valid
    if memory.turn is not None and valid == Window(memory.turn.at):
        valid = Window.from_moment(memory.told_at)
    return [valid, *(phrase.window for phrase in find_stated_times(memory.text, memory.told_at))]


def _name_factors(hits: Sequence[Hit], parsed: ParsedQuestion) -> list[float]:
    """The factors for the probabilities of memories that differ from another one only in names and times, and have no
    name of the question, while the other one has: "I moved to Faro" for "When did I move to Lisbon?"."""
    asked = {normalize_name(name) for name in parsed.names if name != SELF}
    names = [{normalize_name(mention.name) for mention in hit.memory.mentions} for hit in hits]
    named = [at for at, own in enumerate(names) if own & asked]
    if not named or len(named) == len(hits):
        return [1.0] * len(hits)
    words = [set(tokens(hit.memory.text)) for hit in hits]
    factors = []
    for hit, own_names, own_words in zip(hits, names, words, strict=True):
        alike = [words[at] for at in named if len(names[at]) == len(own_names)] if not own_names & asked else []
        if alike:
            times = find_stated_times(hit.memory.text, hit.memory.told_at)
            named_words = [*own_names, *(hit.memory.text[time.start : time.end] for time in times)]
            own_words = own_words.difference(*map(tokens, named_words))
        factors.append(_OTHER_PERSON if any(own_words <= other for other in alike) else 1.0)
    return factors


def _person_factor(memory: Memory, referent: Referent) -> float:
    """The factor for the probabilities of a memory by whom it is about, if the question is about somebody else than the
    user."""
    if not referent:
        return 1.0
    if is_about_user(memory, referent):
        return _OTHER_PERSON if referent.with_user else _USER
    return _OTHER_PERSON if is_about_other(memory, referent) else 1.0
