"""The kind, tags, importance, strength and trust of each version."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from remanence.events import Remembered
from remanence.schema import MEMORY_KINDS
from remanence.state.arrays.columns import COLUMNS, GROWING, Column, SavedPart


class RowAttributes(SavedPart):
    """Kind, tags, importance, strength and trust by row."""

    _saved: ClassVar = {"_tags": COLUMNS, **dict.fromkeys(("_importance", "_kind", "_strength", "_trust"), GROWING)}

    def __init__(self) -> None:
        self._kind = Column(np.int8)
        self._importance, self._strength, self._trust = Column(np.float32), Column(np.float32), Column(np.float32)
        self._tags: dict[str, Column] = {}  # by tag: its rows

    def apply(self, first: int, versions: Sequence[Remembered | None]) -> None:
        """Add a row for each version, from `first` on."""
        self._importance.extend([0.0 if remembered is None else remembered.importance for remembered in versions])
        self._strength.extend([1.0 if remembered is None else remembered.strength for remembered in versions])
        self._trust.extend([1.0 if remembered is None else remembered.trust for remembered in versions])
        self._kind.extend([0 if remembered is None else MEMORY_KINDS.index(remembered.kind) for remembered in versions])
        for row, version in enumerate(versions, first):
            for tag in () if version is None else version.tags:
                if tag not in self._tags:
                    self._tags[tag] = Column(np.int64)
                self._tags[tag].append(row)

    def kinds(self, rows: NDArray[np.int64]) -> NDArray[np.int8]:
        """The kind of each row, as its place in MEMORY_KINDS."""
        return self._kind.values[rows]

    def count_kinds(self, rows: NDArray[np.int64]) -> dict[str, int]:
        counts = np.bincount(self._kind.values[rows], minlength=len(MEMORY_KINDS)).tolist()
        return {kind: count for kind, count in zip(MEMORY_KINDS, counts, strict=True) if count}

    def importance(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        return self._importance.values[rows]

    def strength(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """The strength of each row, without what uses added."""
        return self._strength.values[rows]

    def trust(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """How far the source of each row is trusted, from 0 to 1."""
        return self._trust.values[rows]

    def trust_of(self, row: int) -> float:
        return float(self._trust.values[row])

    def mask_with_min_trust(self, min_trust: float) -> NDArray[np.bool_]:
        """The rows that are trusted this far, at least."""
        mask: NDArray[np.bool_] = self._trust.values >= np.float32(min_trust)
        return mask

    def mask_with_kinds_and_tags(self, kinds: Sequence[str] | None, tags: Sequence[str] | None) -> NDArray[np.bool_]:
        """The rows of one of these kinds that have all of these tags."""
        mask = np.ones(len(self._kind), np.bool_)
        if kinds is not None:
            wanted = np.isin(np.arange(len(MEMORY_KINDS)), [MEMORY_KINDS.index(kind) for kind in kinds])
            mask &= wanted[self._kind.values]
        for tag in tags or ():
            tagged = np.zeros(len(mask), np.bool_)
            if tag in self._tags:
                tagged[self._tags[tag].values] = True
            mask &= tagged
        return mask
