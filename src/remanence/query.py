"""A question made exact: its times, its names, whether it asks about the past."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

from remanence.extractors import names_in
from remanence.model import Window
from remanence.timewords import find_times

# Wording that asks for what no longer holds. Plain past tense does not: "Where did Alice meet Bob?" asks
# for an event that is as true today as it was then.
_PAST = re.compile(
    r"\b(used to|previous(ly)?|former(ly)?|originally|at first|in the past|back then|back when|at the time|"
    r"no longer|any ?more|earlier version|before (that|then|it changed)|history of|how has|how did .* change|"
    r"changed over time|over the years|first version|old(er)? version)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Reading:
    """What a question says about itself."""

    times: tuple[Window, ...]
    names: tuple[str, ...]
    past: bool


def read(text: str, now: datetime) -> Reading:
    """Read a question against `now`.

    >>> from remanence.model import UTC
    >>> reading = read("Where did Alice live in May 2026?", datetime(2026, 11, 15, tzinfo=UTC))
    >>> reading.names, str(reading.times[0])
    (('Alice',), '2026-05-01 to 2026-06-01')
    """
    times = tuple(phrase.window for phrase in find_times(text, now))
    ended = any(window.end is not None and window.end <= now for window in times)
    return Reading(times, names_in(text), ended or bool(_PAST.search(text)))
