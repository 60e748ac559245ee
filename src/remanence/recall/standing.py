"""What a reader says about the memories of a topic, for the profile: the probability that each has ended by now.

The memories of a topic are read in the order they were told, in windows that overlap, with the question of the topic. A
window is read once: a new memory changes only the last windows of its topic, so a profile that is asked for again costs
one pass of the reader. `models/ended_weights.tsv`, learned by training/ended_weights.py from chats in which people
marked what ended, turns what the reader says, the age and the kind of a memory into one probability.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from remanence.models.turn_classes import class_probabilities
from remanence.recall.reading import as_reader_line, check_reading

if TYPE_CHECKING:
    from remanence.ports import Reader, ReaderLine, Vector
    from remanence.schema import Memory

WINDOW, STEP = 16, 8
"""How many memories are read together, and how many of them the next window leaves behind."""
_NO_READING = (0.2, 0.5)
_DAY = 86_400.0
_MARKS = ".,;!?"

Reading = tuple[tuple[float, ...], tuple[float, ...]]
"""For each memory of a window the probabilities that it holds and that a later one replaces it."""


class Told(NamedTuple):
    """A memory that may be stated in a profile."""

    memory: Memory
    context: str
    """The turn before it, if it is not understood alone."""
    vector: Vector

    @property
    def at(self) -> datetime:
        return self.memory.told_at


class TopicReader:
    """Reads the memories of topics, each window once."""

    def __init__(self) -> None:
        self._readings: dict[tuple[object, ...], Reading] = {}

    def read(
        self, reader: Reader, question: str, told: Sequence[Told], used: set[tuple[object, ...]]
    ) -> list[tuple[float, float]]:
        """For each memory of a topic, in the order told, the least probability that it holds and the highest that it is
        replaced, of all windows that it is in. `used` gets the keys of the windows."""
        replaced, holds = [0.0] * len(told), [1.0] * len(told)
        for begin in range(0, max(1, len(told) - WINDOW + STEP), STEP):
            window = told[begin : begin + WINDOW]
            if not window:
                break
            # The turn before may be forgotten since, or be erased.
            of_each = ((each.memory.id, each.memory.revised_at, each.context) for each in window)
            key = (reader.fingerprint, question, *of_each)
            used.add(key)
            if key not in self._readings:
                self._readings[key] = _read(reader, question, window)
            for number, (holding, ended) in enumerate(zip(*self._readings[key], strict=True), begin):
                replaced[number], holds[number] = max(replaced[number], ended), min(holds[number], holding)
        return list(zip(holds, replaced, strict=True))

    def keep_only(self, used: set[tuple[object, ...]]) -> None:
        """Drop all windows but these."""
        self._readings = {key: reading for key, reading in self._readings.items() if key in used}

    def __len__(self) -> int:
        return len(self._readings)


def _read(reader: Reader, question: str, window: Sequence[Told]) -> Reading:
    lines: list[ReaderLine] = [as_reader_line(each.memory, each.context) for each in window]
    # Asked on the day of the newest line, so that the same ledger gives the same profile.
    reading = reader.read(question, lines, asked_at=max(each.at for each in window))
    check_reading(reading, len(lines))
    return tuple(reading.holds), tuple(reading.replaced)


def window_count(count: int) -> int:
    """How many windows the memories of a topic are read in."""
    return len(range(0, max(1, count - WINDOW + STEP), STEP)) if count else 0


def ended_probability(told: Told, reading: tuple[float, float] | None, newest: datetime) -> float:
    """The probability that a memory has ended by the time of the newest one."""
    weights = _weights()
    return _sigmoid(sum(weights[name] * value for name, value in ended_features(told, reading, newest).items()))


def ended_features(told: Told, reading: tuple[float, float] | None, newest: datetime) -> dict[str, float]:
    """By what is judged whether a memory has ended."""
    holds, replaced = reading or _NO_READING[::-1]
    days = max(0.0, (newest - told.at).total_seconds() / _DAY)
    classes = class_probabilities(told.vector)
    return {
        "constant": 1.0,
        "replaced": log_odds(replaced),
        "holds": log_odds(holds),
        "age": math.log1p(math.floor(days)),
        "newest day": float(days < 1),
        # A long turn tells several things, and one that asks or answers tells little that lasts.
        "words": math.log1p(len(told.memory.text.split())),
        "marks": math.log1p(sum(map(told.memory.text.count, _MARKS))),
        "answers another": float(bool(told.context)),
        "asks": float("?" in told.memory.text),
        **{f"class {name}": probability for name, probability in classes.items()},
    }


def log_odds(probability: float) -> float:
    """The log of the odds, held within bounds."""
    return math.log((probability + 0.01) / (1.01 - probability))


def _sigmoid(odds: float) -> float:
    return 1 / (1 + math.exp(-odds))


WEIGHTS = Path(__file__).parents[1] / "models" / "ended_weights.tsv"


@cache
def _weights() -> dict[str, float]:
    rows = (line.split("\t") for line in WEIGHTS.read_text(encoding="utf-8").splitlines())
    return {name: float(weight) for name, weight in rows}
