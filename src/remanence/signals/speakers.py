"""Who has said something, and what they may be called."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from remanence.language.text import normalize_name


class Speakers:
    """Those who spoke, by the number of their name.

    >>> speakers, visible = Speakers(), np.ones(2, np.bool_)
    >>> speakers.add(7, "Fahim Khan", row=0)
    >>> speakers.add(8, "Akib Khan", row=1)
    >>> speakers.find("Fahim", None, visible), speakers.find("Khan", None, visible)
    (7, None)
    """

    def __init__(self) -> None:
        self._first: dict[int, int] = {}
        self._bearers: dict[str, list[int]] = {}

    def add(self, number: int, name: str, row: int) -> None:
        """Take in that the one of this name said a row."""
        if number not in self._first:
            self._first[number] = row
            for word in set(normalize_name(name).split()):
                self._bearers.setdefault(word, []).append(number)

    def find(self, name: str, number: int | None, visible: NDArray[np.bool_]) -> int | None:
        """Who of those that had spoken by the last row of a view is meant: the one of this name (that is its
        number), else the only one who has this word in theirs."""
        if number is not None and self._spoke(number, visible):
            return number
        meant = [other for other in self._bearers.get(normalize_name(name), ()) if self._spoke(other, visible)]
        return meant[0] if len(meant) == 1 else None

    def _spoke(self, number: int, visible: NDArray[np.bool_]) -> bool:
        first = self._first.get(number)
        return first is not None and bool(visible[first:].any())
