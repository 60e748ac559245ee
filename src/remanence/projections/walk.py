"""What a walk through the graph has gathered: how much each row is worth, and the strongest reason for it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from remanence.arrays import distinct
from remanence.model import Query


class Walk:
    """What each row was worth on the way, with the strongest reason for it."""

    def __init__(self, query: Query) -> None:
        self.allowed = query.allowed
        # One more than the last row that the view knows of.
        visible = query.visible
        self.horizon = len(visible) - int(np.argmax(visible[::-1])) if visible.any() else 0
        self.scores = np.zeros(len(self.allowed))
        self._strongest = np.zeros(len(self.allowed))
        self._because = np.zeros(len(self.allowed), np.int32)
        self._reasons: list[str] = []
        self._reached: list[NDArray[Any]] = [np.empty(0, np.int64)]

    def reached(self) -> NDArray[np.int64]:
        """The rows that are worth anything. Not by looking through all of them: there may be millions."""
        rows: NDArray[np.int64]
        rows, _ = distinct(np.concatenate(self._reached))
        return rows

    def reach(self, rows: NDArray[np.integer[Any]], worth: float, why: str) -> None:
        """Add `worth` to these rows, as far as they may answer. Each may stand there once."""
        self.reach_each(rows, np.full(len(rows), worth), why)

    def reach_each(self, rows: NDArray[np.integer[Any]], worths: NDArray[np.floating[Any]], why: str) -> None:
        """Add its own worth to each of these rows, as far as they may answer."""
        kept = self.allowed[rows] & (worths > 0)
        rows, worths = rows[kept], worths[kept]
        self.scores[rows] += worths
        self._reached.append(rows)
        stronger = worths > self._strongest[rows]
        rows, worths = rows[stronger], worths[stronger]
        self._strongest[rows] = worths
        self._because[rows] = len(self._reasons)
        self._reasons.append(why)

    def reason(self, row: int) -> str:
        """What was worth most to this row."""
        return str(self._reasons[self._because[row]])
