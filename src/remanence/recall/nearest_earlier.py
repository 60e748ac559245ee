"""For each memory of a profile the earlier ones that are nearest to it, found anew only where something changed.

What is kept is what would be found from scratch: a memory is looked at again if one of those that it had is gone, or
if a new one is at least as near as the last of them. Products of rounded vectors are exact, so that nothing depends on
the order in which memories came.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from remanence.ports import Vector
    from remanence.recall.told import Key, Told


class _Found(NamedTuple):
    keys: tuple[Key, ...]
    """The nearest ones, in the order told."""
    least: float
    """How near the last of them is; minus infinity if there are fewer than wanted."""


class NearestEarlier:
    """The nearest earlier memories of each memory.

    Args:
        count: How many are wanted.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._found: dict[Key, _Found] = {}

    def of(self, told: Sequence[Told]) -> list[list[int]]:
        """For each memory the places of those that are nearest to it among those told before; `told` is in the order
        told. Of equally near ones, the later ones."""
        places = {each.key: place for place, each in enumerate(told)}
        gone = self._found.keys() - places.keys()
        known = {key: found for key, found in self._found.items() if key in places}
        changed = {places[key] for key, found in known.items() if gone and not gone.isdisjoint(found.keys)}
        if new := [place for place, each in enumerate(told) if each.key not in known]:
            changed.update(new)
        if changed:
            times = [each.at for each in told]
            vectors = np.stack([each.rounded for each in told])
            for place in new:
                first = bisect_right(times, times[place])
                nearness = (vectors[first:] @ vectors[place]).tolist()
                later = zip(told[first:], nearness, strict=True)
                changed.update(
                    number
                    for number, (each, near) in enumerate(later, first)
                    if each.key in known and near >= known[each.key].least
                )
            for place in changed:
                known[told[place].key] = self._search(told, vectors, bisect_left(times, times[place]), place)
        self._found = known
        return [[places[key] for key in known[each.key].keys] for each in told]

    def _search(self, told: Sequence[Told], vectors: Vector, end: int, place: int) -> _Found:
        nearness = vectors[:end] @ vectors[place]
        nearest = end - 1 - np.argsort(-nearness[::-1], kind="stable")[: self._count]
        least = float(nearness[nearest[-1]]) if len(nearest) == self._count else -np.inf
        return _Found(tuple(told[number].key for number in sorted(nearest.tolist())), least)
