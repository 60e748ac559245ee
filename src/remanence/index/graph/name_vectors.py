"""The vectors of the names that memories are about, all of which are compared with a question."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from remanence.index.arrays.columns import Column, round_to_half, top_indices

if TYPE_CHECKING:
    from remanence.ports import Vector

Places = NDArray[np.integer[Any]]


class NameVectors:
    """Vectors of length 1 by place; a missing one is all zeros."""

    def __init__(self, saved: NDArray[np.float16] | None = None) -> None:
        self._vectors = None if saved is None else Column(np.float32, saved)

    def __len__(self) -> int:
        return 0 if self._vectors is None else len(self._vectors)

    def put(self, vectors: Mapping[int, Vector], count: int) -> None:
        """Store these vectors at their places, of which there are `count` now."""
        if self._vectors is None:
            if not vectors:
                return
            self._vectors = Column(np.float32, width=len(next(iter(vectors.values()))))
        width = self._vectors.values.shape[1]
        self._vectors.extend(np.zeros((count - len(self._vectors), width), np.float32))
        for place, vector in vectors.items():
            self._vectors.values[place] = round_to_half(vector)  # as it is saved, so that a reopened index scores alike

    def places_without_vector(self, count: int) -> list[int]:
        """The places, of `count`, that have no vector yet."""
        zeros = [] if self._vectors is None else np.flatnonzero(~self._vectors.values.any(axis=1)).tolist()
        return [*zeros, *range(len(self), count)]

    def nearest(
        self, vector: Vector, is_known: Callable[[Places], NDArray[np.bool_]], limit: int, *, min_similarity: float
    ) -> list[tuple[int, float]]:
        """The known places whose vectors are nearest by dot product, nearest first."""
        if self._vectors is None:
            return []
        # Not `@`: BLAS threads wait for each other, 12 ms on a busy machine where this takes 0.1.
        similarities = np.einsum("ij,j->i", self._vectors.values, vector)
        near = np.flatnonzero(similarities >= min_similarity)
        near = near[is_known(near)]
        best = near[top_indices(similarities[near], limit)]
        return list(zip(best.tolist(), similarities[best].tolist(), strict=True))

    def to_array(self) -> NDArray[np.float16]:
        """All vectors in half precision, as they were rounded."""
        return np.empty(0, np.float16) if self._vectors is None else self._vectors.values.astype(np.float16)
