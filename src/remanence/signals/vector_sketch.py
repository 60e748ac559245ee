"""Many vectors, of which the few nearest are wanted in every recall.

Up to some thousands all are looked at. Beyond, each also has a sketch: its shadow on a few fixed random
directions, a quarter of its length. The sketches pick some hundreds, and those are looked at in full, so
what is given is exact, and only something far down the list could be passed over.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from remanence.state.columns import Column, top_indices

if TYPE_CHECKING:
    from remanence.ports import Vector

_MAX_EXACT_SCAN = 16_384
_DIRECTIONS = 64
_IN_FULL = 512


class SketchedVectors:
    """Vectors by place; one that is blank is near nothing.

    >>> near = SketchedVectors()
    >>> near.put({1: np.array([0.0, 1.0], np.float32)}, 3)
    >>> near.nearest(np.array([0.6, 0.8], np.float32), np.array([True, True, True]), 1)
    [(1, 0.800000011920929)]
    """

    def __init__(self) -> None:
        self._vectors: Column | None = None
        self._sketches = Column(np.float32, width=_DIRECTIONS)

    def put(self, vectors: Mapping[int, Vector], count: int) -> None:
        """Keep these vectors at their places, of which there are `count` now."""
        if self._vectors is None:
            if not vectors:
                return
            self._vectors = Column(np.float32, width=len(next(iter(vectors.values()))))
        width = self._vectors.values.shape[1]
        self._vectors.extend(np.zeros((count - len(self._vectors), width), np.float32))
        for place, vector in vectors.items():
            self._vectors.values[place] = vector
        if len(self._sketches):
            old = [place for place in vectors if place < len(self._sketches)]
            self._sketches.values[old] = self._sketched(self._vectors.values[old])

    def places_without_vector(self, count: int) -> list[int]:
        """The places, of `count`, that have no vector yet."""
        known = 0 if self._vectors is None else len(self._vectors)
        there = [] if self._vectors is None else np.flatnonzero(~self._vectors.values.any(axis=1)).tolist()
        return [*there, *range(known, count)]

    def nearest(self, vector: Vector, known: NDArray[np.bool_], limit: int) -> list[tuple[int, float]]:
        """The places whose vectors are nearest by dot product, of those marked as known, nearest first."""
        if self._vectors is None or not len(self._vectors):
            return []
        among: Sequence[int] | NDArray[np.int64] | slice = slice(0, len(self._vectors))
        if len(self._vectors) > _MAX_EXACT_SCAN:
            self._sketches.extend(self._sketched(self._vectors.values[len(self._sketches) :]))
            shadow = self._sketched(vector[None])[0]
            # Not `@`: BLAS threads wait for each other, 12 ms on a busy machine where this takes 0.1.
            alike = np.einsum("ij,j->i", self._sketches.values, shadow)
            alike[~known] = -np.inf
            among = top_indices(alike, _IN_FULL)
        alike = np.einsum("ij,j->i", self._vectors.values[among], vector)
        alike = np.where(known[among], alike, 0.0)
        best = top_indices(alike, limit)
        places = np.arange(len(self._vectors))[among][best]
        return list(zip(places.tolist(), alike[best].tolist(), strict=True))

    def save(self) -> Mapping[str, NDArray[Any]]:
        """The vectors as a plain array."""
        return {} if self._vectors is None else {"vectors": self._vectors.values.astype(np.float16)}

    def load(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Become what `save` wrote."""
        if "vectors" in arrays:
            self._vectors = Column(np.float32, arrays["vectors"])

    def _sketched(self, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        directions = _directions(vectors.shape[1])
        sketched: NDArray[np.float32] = vectors @ directions
        return sketched


def _directions(width: int) -> NDArray[np.float32]:
    """The same for the same width, always."""
    dice = np.random.default_rng(_DIRECTIONS * width)
    drawn = dice.standard_normal((width, _DIRECTIONS), np.float32) / np.float32(np.sqrt(_DIRECTIONS))
    return np.asarray(drawn, np.float32)
