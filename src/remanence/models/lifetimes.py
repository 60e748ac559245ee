"""How long what a memory says is likely to hold, by what it is about.

A memory ends with a rate: the usual one at its age, times a factor for what kind of thing it tells (a state, an
event, a plan, a preference, who somebody is), times one for its topic: the matter ("birthday", "diet", "deadline") to
whose sentences its vector is nearest. So an appointment is over in weeks, a diet in years, and a birthday never. The
topics of a profile are too wide for that: "health" has a cold and an allergy.

Curves and factors (`lifetimes.json`) are learned by training/lifetimes.py, with the vectors of the topics
(`lifetime_topics.npz`). What a space itself shows is added in `recall/validity/lifetimes.py`.
"""

from __future__ import annotations

import json
import math
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from remanence.models.turn_classes import class_log_odds

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from remanence.ports import Vector
    from remanence.schema import MemoryKind

CURVES = Path(__file__).with_name("lifetimes.json")
TOPICS = Path(__file__).with_name("lifetime_topics.npz")
DAYS_PER_YEAR = 365.25
"""Days of a year, on average."""
MAX_LOG_ODDS = 4.0
"""The highest log odds of what a memory is: it is taken to be known no better than in 98 of 100. Chosen by hand."""

MIN_NEARNESS = 0.6
"""The cosine below which the vector of a memory is near to no matter, so that it is of none that is known. Chosen by
hand; the curves were learned with it."""

_OTHER = 0.1
"""How often a text is about something else than the topic it is nearest to, or about more: then it ends at the usual
pace. With 0.1 to 0.4 the ends in the chats that were learned from are more probable than with 0; 0.1 keeps most of what
is durable."""


class Matter(NamedTuple):
    """What a memory is about, as far as it says how long it holds."""

    topic: str
    """The nearest topic, such as "diet"; "" if none is near."""
    pace: float
    """How fast it ends, as a multiple of what is usual."""


class Pace(NamedTuple):
    """What is known of how fast memories of a topic end in a space: a Gamma distribution of a factor."""

    shape: float
    rate: float

    def after(self, ended: float, expected: float) -> Pace:
        """The same after so many ended where so many were expected to.

        >>> Pace(2, 2).after(3, 1.5).mean
        1.4285714285714286
        """
        return Pace(self.shape + ended, self.rate + expected)

    @property
    def mean(self) -> float:
        """The factor to expect."""
        return self.shape / self.rate

    def survival(self, expected: float) -> float:
        """The probability that nothing ended where so many ends are expected at the usual pace."""
        return math.exp(-self.shape * math.log1p(expected / self.rate))


class _Curves(NamedTuple):
    ages: tuple[float, ...]
    """The ages, in days, at which the usual rate changes."""
    rates: tuple[float, ...]
    """How many of a hundred per cent end in a year, from each age on: the first from age 0."""
    classes: NDArray[np.float64]
    topics: dict[str, float]
    kinds: dict[str, float]
    space: float
    topic: float
    reader: tuple[float, float]


def matters_of(vectors: Vector) -> list[Matter]:
    """What memories with these vectors are about; of the default embedder, one a row."""
    curves, (names, places) = _curves(), _topics()
    nearness = vectors @ places.T
    found = [
        names[number] if near >= MIN_NEARNESS else ""
        for number, near in zip(nearness.argmax(1).tolist(), nearness.max(1).tolist(), strict=True)
    ]
    paces = np.exp(np.clip(class_log_odds(vectors), -MAX_LOG_ODDS, MAX_LOG_ODDS) @ curves.classes)
    return [Matter(name, pace * curves.topics.get(name, 1.0)) for name, pace in zip(found, paces.tolist(), strict=True)]


def matter_of_kind(kind: MemoryKind) -> Matter:
    """What is known of a memory by its kind alone. What was done for a task does not end."""
    return Matter("", _curves().kinds.get(kind, 0.0))


def expected_ends(matter: Matter, days: float) -> float:
    """How often such a memory is expected to end within these days of its age: 0.5 leaves 61% that hold."""
    return matter.pace * _usual_ends(days)


def survival(matter: Matter, days: float, pace: Pace) -> float:
    """The probability that such a memory still holds at an age, in a space with this pace.

    >>> survival(Matter("birthday", 0.1), 365, Pace(4, 4)) > survival(Matter("deadline", 8), 365, Pace(4, 4))
    True
    """
    usual = _usual_ends(days)
    return (1 - _OTHER) * pace.survival(matter.pace * usual) + _OTHER * pace.survival(usual)


def _usual_ends(days: float) -> float:
    curves, ends = _curves(), 0.0
    for rate, begin, end in zip(curves.rates, (0.0, *curves.ages), (*curves.ages, math.inf), strict=True):
        if days > begin:
            ends += rate * (min(days, end) - begin)
    return ends / DAYS_PER_YEAR


def pace_of_spaces() -> Pace:
    """How much the paces of spaces differ: the factor of a space of which nothing is known."""
    return Pace(_curves().space, _curves().space)


def pace_of_topic(space: Pace) -> Pace:
    """The factor of a topic in a space, of which nothing else is known."""
    spread = _curves().topic
    return Pace(spread * space.mean, spread)


def after_reading(holds: float, replaced: float) -> float:
    """The probability that a memory holds, after a reader read it beside others.

    Args:
        holds: The probability by its age alone.
        replaced: The reader's probability that a later one replaces it.

    >>> after_reading(0.5, 0.9) < after_reading(0.5, 0.1), after_reading(1.0, 0.5)
    (True, 1.0)
    """
    bias, weight = _curves().reader
    factor = math.exp(bias + weight * math.log((replaced + 0.01) / (1.01 - replaced)))
    return holds / (holds + (1 - holds) * factor) if holds else 0.0


@cache
def _curves() -> _Curves:
    stored = json.loads(CURVES.read_text(encoding="utf-8"))
    return _Curves(
        tuple(stored["ages"]),
        tuple(stored["rates"]),
        np.array(list(stored["classes"].values())),
        {name: row["factor"] for name, row in stored["topics"].items()},
        stored["kinds"],
        stored["spread"]["space"],
        stored["spread"]["topic"],
        (stored["reader"]["bias"], stored["reader"]["weight"]),
    )


@cache
def _topics() -> tuple[tuple[str, ...], Vector]:
    with np.load(TOPICS) as stored:
        return tuple(stored["names"].tolist()), stored["vectors"].astype(np.float32) / 127
