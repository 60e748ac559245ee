"""How much of a memory's score is left after some days without use.

    score = uses^0.6 * retention(days since last use) * strength

Every decay model leaves half after one half-life, and none reaches zero.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

USE_EXPONENT = 0.6
"""The score grows with the number of uses to this power."""
IMPORTANCE_FACTOR = 16.0
"""How many times longer the half-life of a memory of importance 0.9 is."""
_ORDINARY, _DEFINING = 0.5, 0.9
_MIN_RETENTION = 1e-9

_POWER = 1.1
_POWER_SCALE = 2 ** (1 / _POWER) - 1
_FAST_SHARE, _SLOWDOWN = 0.7, 10.0
_FAST_RATE = 1.59676
"""Half-lives of the fast component in one half-life of the sum, so that half of the sum is left after it."""


def power_law(half_lives: float) -> float:
    """Fast at first, then ever slower: what is left after the first weeks lasts for months."""
    return float((1 + half_lives * _POWER_SCALE) ** -_POWER)


def exponential(half_lives: float) -> float:
    """Each half-life leaves half of the rest."""
    return float(2**-half_lives)


def two_component(half_lives: float) -> float:
    """Most decays quickly, the rest ten times slower."""
    fast = half_lives * _FAST_RATE
    return float(_FAST_SHARE * 2**-fast + (1 - _FAST_SHARE) * 2 ** -(fast / _SLOWDOWN))


DECAY_MODELS: Mapping[str, Callable[[float], float]] = {
    "power_law": power_law,
    "exponential": exponential,
    "two_component": two_component,
}


def retention(model: str, days: float, half_life: float) -> float:
    """The share that is left after so many days.

    >>> [round(retention(model, 3, half_life=3), 3) for model in DECAY_MODELS]
    [0.5, 0.5, 0.5]
    >>> retention("exponential", 1e9, half_life=3) > 0
    True
    """
    return max(_MIN_RETENTION, DECAY_MODELS[model](max(0.0, days) / half_life))


def half_life_for(half_life: float, importance: float) -> float:
    """A half-life, longer for important memories.

    >>> [half_life_for(3, importance) for importance in (0.3, 0.5, 0.9)]
    [3.0, 3.0, 48.0]
    """
    excess = max(0.0, importance - _ORDINARY) / (_DEFINING - _ORDINARY)
    return float(half_life * IMPORTANCE_FACTOR**excess)


def score(uses: int, retained: float, strength: float) -> float:
    """The score after so many recorded uses. Adding the memory counts as the first use.

    >>> score(0, 0.5, 2.0)
    1.0
    """
    return float((1 + uses) ** USE_EXPONENT * retained * strength)
