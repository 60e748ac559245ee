"""A memory that may be stated in a profile, with what is judged of it by itself, once."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from remanence.models.message_words import tells_probability
from remanence.models.turn_classes import class_probabilities
from remanence.recall.log_odds import log_odds
from remanence.text.repetition import statement_of

if TYPE_CHECKING:
    from remanence.ports import Vector
    from remanence.schema import Memory

_MIN_TELLING = 0.0
"""The least sum of the log odds that a turn tells something, by its words, and that it is of some importance, by its
vector, for it to be stated: more probable than not."""
_STEPS = 1_000
"""Steps to which parts of a vector are rounded, so that products are whole numbers, exact in whatever order they are
summed: the same memories have the same nearest ones in any space and on any machine."""


Key: TypeAlias = "tuple[str, datetime, str]"
"""What a memory is read as: its id, its version, and the turn before it."""


@dataclass(frozen=True, eq=False)
class Told:
    """A memory that may be stated in a profile."""

    memory: Memory
    context: str
    """The turn before it, if it is not understood alone."""
    vector: Vector
    """By the default embedder, whatever that of the space is."""

    @property
    def at(self) -> datetime:
        """When it was told."""
        return self.memory.told_at

    @cached_property
    def key(self) -> Key:
        """What it is read as. The turn before may be forgotten since, or be erased."""
        return self.memory.id, self.memory.revised_at, self.context

    @cached_property
    def rounded(self) -> Vector:
        """The vector in whole numbers."""
        return rounded(self.vector)

    @cached_property
    def classes(self) -> dict[str, float]:
        """The probability of each class of memories."""
        return class_probabilities(self.vector)

    @cached_property
    def tells_something(self) -> bool:
        """Whether it is no turn that only asks, thanks or chats."""
        if self.memory.turn is None or self.memory.triples:
            return True
        tells = tells_probability(self.memory.text, self.context.partition(": ")[2])
        return log_odds(tells) + log_odds(self.classes["moderate"]) >= _MIN_TELLING

    @cached_property
    def statement(self) -> str:
        """What it says, and who says it."""
        return repr(statement_of(self.memory))


def rounded(vectors: Vector) -> Vector:
    """Vectors in whole numbers, whose products are exact."""
    whole: Vector = np.rint(vectors * _STEPS).astype(np.float32)
    return whole
