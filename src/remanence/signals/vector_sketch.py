"""Nearest neighbours among many vectors. Up to 16,384, all are compared. Beyond, each also has a sketch, its projection
on 64 fixed random directions. The sketches select 512 candidates, which are compared in full."""

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
_CANDIDATES = 512


class SketchedVectors:
    """Vectors by place; a missing one is all zeros."""

    def __init__(self) -> None:
        self._vectors: Column | None = None
        self._sketches = Column(np.float32, width=_DIRECTIONS)

    def put(self, vectors: Mapping[int, Vector], count: int) -> None:
        """Store these vectors at their places, of which there are `count` now."""
        if self._vectors is None:
            if not vectors:
                return
            self._vectors = Column(np.float32, width=len(next(iter(vectors.values()))))
        width = self._vectors.values.shape[1]
        self._vectors.extend(np.zeros((count - len(self._vectors), width), np.float32))
        for place, vector in vectors.items():
            self._vectors.values[place] = vector
        if len(self._sketches):
            changed = [place for place in vectors if place < len(self._sketches)]
            self._sketches.values[changed] = self._sketch(self._vectors.values[changed])

    def places_without_vector(self, count: int) -> list[int]:
        """The places, of `count`, that have no vector yet."""
        known = 0 if self._vectors is None else len(self._vectors)
        zeros = [] if self._vectors is None else np.flatnonzero(~self._vectors.values.any(axis=1)).tolist()
        return [*zeros, *range(known, count)]

    def nearest(self, vector: Vector, known: NDArray[np.bool_], limit: int) -> list[tuple[int, float]]:
        """The places whose vectors are nearest by dot product, of those marked as known, nearest first."""
        if self._vectors is None or not len(self._vectors):
            return []
        candidates: Sequence[int] | NDArray[np.int64] | slice = slice(0, len(self._vectors))
        if len(self._vectors) > _MAX_EXACT_SCAN:
            self._sketches.extend(self._sketch(self._vectors.values[len(self._sketches) :]))
            sketch = self._sketch(vector[None])[0]
            # Not `@`: BLAS threads wait for each other, 12 ms on a busy machine where this takes 0.1.
            similarities = np.einsum("ij,j->i", self._sketches.values, sketch)
            similarities[~known] = -np.inf
            candidates = top_indices(similarities, _CANDIDATES)
        similarities = np.einsum("ij,j->i", self._vectors.values[candidates], vector)
        similarities = np.where(known[candidates], similarities, 0.0)
        best = top_indices(similarities, limit)
        places = np.arange(len(self._vectors))[candidates][best]
        return list(zip(places.tolist(), similarities[best].tolist(), strict=True))

    def save(self) -> Mapping[str, NDArray[Any]]:
        return {} if self._vectors is None else {"vectors": self._vectors.values.astype(np.float16)}

    def load(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        if "vectors" in arrays:
            self._vectors = Column(np.float32, arrays["vectors"])

    def _sketch(self, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        width = vectors.shape[1]
        random = np.random.default_rng(_DIRECTIONS * width)  # the same directions for the same width, always
        directions = random.standard_normal((width, _DIRECTIONS), np.float32) / np.float32(np.sqrt(_DIRECTIONS))
        return np.asarray(vectors @ directions, np.float32)
