"""How much is left of a memory after so many days without use: pure arithmetic.

    score = use_count^beta * retention(days since last use) * strength

Each model leaves half after one half-life, and none ever reaches zero: to fade is not to be forgotten.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

LEAST = 1e-9
"""What is left in the end."""
_ALPHA = 1.1
_TWICE = 2 ** (1 / _ALPHA) - 1
_FAST_SHARE, _SLOWER = 0.7, 10.0
_FAST = 1.59676
"""Half-lives of the fast part in one of the whole, so that half of both parts together is left after it."""
_ORDINARY, _DEFINING = 0.5, 0.9


def power_law(halvings: float) -> float:
    """Quick at first, then ever slower: what survived the first weeks stays for months."""
    return float((1 + halvings * _TWICE) ** -_ALPHA)


def exponential(halvings: float) -> float:
    """Half of what is left, each half-life."""
    return float(2**-halvings)


def two_component(halvings: float) -> float:
    """Most fades quickly, the rest ten times slower."""
    fast = halvings * _FAST
    return float(_FAST_SHARE * 2**-fast + (1 - _FAST_SHARE) * 2 ** -(fast / _SLOWER))


DECAY_MODELS: Mapping[str, Callable[[float], float]] = {
    "power_law": power_law,
    "exponential": exponential,
    "two_component": two_component,
}


def retention(model: str, days: float, half_life: float) -> float:
    """What share is left after so many days.

    >>> [round(retention(model, 3, half_life=3), 3) for model in DECAY_MODELS]
    [0.5, 0.5, 0.5]
    >>> retention("exponential", 1e9, half_life=3) > 0
    True
    """
    return max(LEAST, DECAY_MODELS[model](max(0.0, days) / half_life))


def stretched_half_life(half_life: float, importance: float, lasting: float) -> float:
    """A half-life lengthened by importance: `lasting` times for something identity-defining (0.9).

    >>> [stretched_half_life(3, importance, 16) for importance in (0.3, 0.5, 0.9)]
    [3.0, 3.0, 48.0]
    """
    above = max(0.0, importance - _ORDINARY) / (_DEFINING - _ORDINARY)
    return float(half_life * lasting**above)


def score(uses: int, beta: float, left: float, strength: float) -> float:
    """How alive a memory is, after so many recorded uses. That it was recorded counts as the first.

    >>> score(0, 0.6, 0.5, 2.0), score(3, 0.5, 1.0, 1.0)
    (1.0, 2.0)
    """
    return float((1 + uses) ** beta * left * strength)
