"""What a reader says about the memories of a topic, for the profile: the probability that each has ended by now.

Each memory is read twice, with the lines a day apart at most, so that age alone says nothing:

1. in the order told with the others of its topic, in windows that overlap, with the question of the topic
2. with the few later memories that are nearest to it, whatever their topic, with what it says itself as the question:
   what replaces it answers that, and what only belongs to the same topic does not

Each reading is made once: a new memory changes only the last windows of its topic and the second reading of those that
it is near to. `models/ended_weights.tsv`, learned by training/ended_weights.py from chats in which people marked what
ended, turns the two and the kind of a memory into one probability.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from remanence.models.turn_classes import class_probabilities
from remanence.recall.reading import as_reader_line, check_reading

if TYPE_CHECKING:
    from remanence.ports import ListReading, Reader, Vector
    from remanence.schema import Memory

WINDOW, STEP = 16, 8
"""How many memories are read together, and how many of them the next window leaves behind."""
_NEAR = 4
"""How many later memories are read with one."""
_MAX_GAP = timedelta(days=1)
"""A longer time between two memories is read as this one."""
_DAY = 86_400.0
_MARKS = ".,;!?"


class Reading(NamedTuple):
    """What a reader says of a memory, as probabilities."""

    holds: float = 0.5
    """That it answers the question of its topic and holds: the least of all windows that it is in."""
    replaced: float = 0.2
    """That a later memory of its topic replaces it: the highest of all windows."""
    stands: float = 0.9
    """That it answers what it says itself, and holds."""
    replaced_by_near: float = 0.02
    """That one of the later memories that are nearest to it replaces it."""
    answered_by_near: float = 0.0
    """That one of these is of the same matter."""


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
        self._readings: dict[tuple[object, ...], ListReading] = {}

    def read(
        self,
        reader: Reader,
        question: str,
        told: Sequence[Told],
        later: Mapping[str, Sequence[Told]],
        used: set[tuple[object, ...]],
    ) -> list[Reading]:
        """What the reader says of each memory of a topic, in the order told.

        Args:
            reader: The reader.
            question: The question of the topic.
            told: The memories.
            later: For the id of each memory those that it is read with again.
            used: Gets the keys of the readings.
        """
        replaced, holds = [0.0] * len(told), [1.0] * len(told)
        for begin in range(0, max(1, len(told) - WINDOW + STEP), STEP):
            if window := told[begin : begin + WINDOW]:
                of_topic = self._reading(reader, question, window, used)
                for number, (holding, ended) in enumerate(zip(of_topic.holds, of_topic.replaced, strict=True), begin):
                    replaced[number], holds[number] = max(replaced[number], ended), min(holds[number], holding)
        readings = []
        for each, holding, ended in zip(told, holds, replaced, strict=True):
            near = later.get(each.memory.id)
            reading = Reading(holding, ended)
            if near:
                again = self._reading(reader, each.memory.text, [each, *near], used)
                reading = Reading(holding, ended, again.holds[0], again.replaced[0], max(again.answers[1:]))
            readings.append(reading)
        return readings

    def _reading(
        self, reader: Reader, question: str, lines: Sequence[Told], used: set[tuple[object, ...]]
    ) -> ListReading:
        # The turn before may be forgotten since, or be erased.
        of_each = ((each.memory.id, each.memory.revised_at, each.context) for each in lines)
        key = (reader.fingerprint, question, *of_each)
        used.add(key)
        if key not in self._readings:
            self._readings[key] = _read(reader, question, lines)
        return self._readings[key]

    def keep_only(self, used: set[tuple[object, ...]]) -> None:
        """Drop all readings but these."""
        self._readings = {key: reading for key, reading in self._readings.items() if key in used}

    def __len__(self) -> int:
        return len(self._readings)


def _read(reader: Reader, question: str, told: Sequence[Told]) -> ListReading:
    # Asked on the day of the newest line, so that the same ledger gives the same profile.
    asked_at = max(each.at for each in told)
    days = [asked_at]
    for each, after in reversed(list(pairwise(told))):
        days.append(days[-1] - min(after.at - each.at, _MAX_GAP))
    lines = [
        replace(as_reader_line(each.memory, each.context), told_at=day)
        for each, day in zip(told, reversed(days), strict=True)
    ]
    reading = reader.read(question, lines, asked_at=asked_at)
    check_reading(reading, len(lines))
    return reading


def near_later(told: Sequence[Told]) -> dict[str, list[Told]]:
    """For the id of each memory the later ones that are nearest to it, in the order told. `told` is in that order."""
    vectors = np.array([each.vector for each in told])
    found: dict[str, list[Told]] = {}
    for number, each in enumerate(told):
        first = next((n for n in range(number + 1, len(told)) if told[n].at > each.at), len(told))
        nearest = np.argsort(-(vectors[first:] @ each.vector), kind="stable")[:_NEAR]
        found[each.memory.id] = [told[first + place] for place in sorted(nearest.tolist())]
    return found


def window_count(count: int) -> int:
    """How many windows the memories of a topic are read in."""
    return len(range(0, max(1, count - WINDOW + STEP), STEP)) if count else 0


def ended_probability(told: Told, reading: Reading | None, newest: datetime) -> float:
    """The probability that a memory has ended by the time of the newest one."""
    weights = _weights()
    return _sigmoid(sum(weights[name] * value for name, value in ended_features(told, reading, newest).items()))


def ended_features(told: Told, reading: Reading | None, newest: datetime) -> dict[str, float]:
    """By what is judged whether a memory has ended: not by its age, as what is durable is told once."""
    holds, replaced, stands, replaced_by_near, answered_by_near = reading or Reading()
    days = max(0.0, (newest - told.at).total_seconds() / _DAY)
    classes = class_probabilities(told.vector)
    return {
        "constant": 1.0,
        # Both readings must say so: in the first, what is next to it in its topic often seems to replace it.
        "replaced": log_odds(min(replaced, replaced_by_near)),
        "replaced by near": log_odds(replaced_by_near),
        "holds": log_odds(holds),
        "stands": log_odds(stands),
        "answered by near": log_odds(answered_by_near),
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
