"""The log of odds. It loads no numpy: adapters use it when they are imported."""

from __future__ import annotations

import math

_MARGIN = 0.01
"""The probability that is added to a probability before the log of its odds is taken, so that it is within 4.6 of zero.
The weights of `validity/ended.py` were learned with it."""


def log_odds(probability: float, margin: float = _MARGIN) -> float:
    """The log of the odds, held within bounds: the margin is added to the probability and to that of the opposite."""
    return math.log((probability + margin) / (1 - probability + margin))
