"""The speakers of a space, and the names by which questions mention them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from remanence.language.text import normalize_name


class Speakers:
    """Speakers by the number of their name.

    >>> speakers, visible = Speakers(), np.ones(2, np.bool_)
    >>> speakers.add(7, "Fahim Khan", row=0)
    >>> speakers.add(8, "Akib Khan", row=1)
    >>> speakers.find("Fahim", None, visible), speakers.find("Khan", None, visible)
    (7, None)
    """

    def __init__(self) -> None:
        self._first_row: dict[int, int] = {}
        self._by_word: dict[str, list[int]] = {}

    def add(self, number: int, name: str, row: int) -> None:
        """Record that the speaker with this name said a row."""
        if number not in self._first_row:
            self._first_row[number] = row
            for word in set(normalize_name(name).split()):
                self._by_word.setdefault(word, []).append(number)

    def find(self, name: str, number: int | None, visible: NDArray[np.bool_]) -> int | None:
        """The speaker that a name means, among those who had spoken by the last visible row: the one with this
        name (`number`), or else the only one with this word in the name."""
        if number is not None and self._has_spoken(number, visible):
            return number
        found = [other for other in self._by_word.get(normalize_name(name), ()) if self._has_spoken(other, visible)]
        return found[0] if len(found) == 1 else None

    def _has_spoken(self, number: int, visible: NDArray[np.bool_]) -> bool:
        first = self._first_row.get(number)
        return first is not None and bool(visible[first:].any())
