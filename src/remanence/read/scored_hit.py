"""The value that the parts of the rerank step share."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from remanence.schema import Hit, Memory


@dataclass(frozen=True, slots=True, eq=False)
class ScoredHit:
    """A hit with its scores by the reader."""

    hit: Hit
    text: str
    """What it says that may answer."""
    passage: str
    """The text that the reader was given."""
    probability: float
    """The probability that the hit answers the question."""
    score: float
    """The probability and the score of the signals together."""
    time: datetime
    """When the hit was stated, or from when on it is valid, if whoever added it said so. A date in the text may belong
    to something else."""
    previous_turn: str = ""
    """The turn before it, if the hit is not understood without that turn."""
    chain_text: str = ""
    """The text of the hit that it answers together with, if it does not answer alone."""

    @property
    def id(self) -> str:
        return self.hit.memory.id

    @property
    def memory(self) -> Memory:
        return self.hit.memory
