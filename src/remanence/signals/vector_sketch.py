"""Nearest neighbours among many vectors of length 1. Up to 8,192, all are compared. Beyond, each also has a sketch of
192 bits: on which side of 192 fixed random planes it lies. The smaller the angle between two vectors, the fewer bits
differ, so that only the few vectors whose sketches differ little have to be compared in full."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from remanence.signals.sign_bits import count_bits, sign_bits
from remanence.signals.stores.exact import round_to_half
from remanence.state.arrays.columns import Column, top_indices

if TYPE_CHECKING:
    from remanence.ports import Vector

_MAX_EXACT_SCAN = 8_192
_WORDS, _BITS = 3, 192
"""The length of a sketch in words of 64 bits. Each has a column of its own: one column after the other is read fast."""
_MAX_CANDIDATES = 512
_MARGIN = 2.5
"""By how many standard deviations more bits may differ than expected. Of those just similar enough 1 in 160 is lost."""

Places = NDArray[np.integer[Any]]


class SketchedVectors:
    """Vectors by place; a missing one is all zeros."""

    def __init__(self, saved: NDArray[np.float16] | None = None) -> None:
        self._vectors = None if saved is None else Column(np.float32, saved)
        self._sketches = [Column(np.uint64) for _ in range(_WORDS)]

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
        if changed := [place for place in vectors if place < len(self._sketches[0])]:
            for column, words in zip(self._sketches, _sketch(self._vectors.values[changed]), strict=True):
                column.values[changed] = words

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
        places = np.arange(len(self)) if len(self) <= _MAX_EXACT_SCAN else self._candidates(vector, min_similarity)
        places = places[is_known(places)]
        # Not `@`: BLAS threads wait for each other, 12 ms on a busy machine where this takes 0.1.
        similarities = np.einsum("ij,j->i", self._vectors.values[places], vector)
        near = np.flatnonzero(similarities >= min_similarity)
        best = near[top_indices(similarities[near], limit)]
        return list(zip(places[best].tolist(), similarities[best].tolist(), strict=True))

    def to_array(self) -> NDArray[np.float16]:
        """All vectors in half precision, as they were rounded."""
        return np.empty(0, np.float16) if self._vectors is None else self._vectors.values.astype(np.float16)

    def _candidates(self, vector: Vector, min_similarity: float) -> Places:
        """The places whose sketches differ from that of a vector by no more bits than is likely at this similarity."""
        assert self._vectors is not None
        new = _sketch(self._vectors.values[len(self._sketches[0]) :])
        differing, counts = np.zeros(len(self._vectors), np.uint8), np.empty(len(self._vectors), np.uint8)
        for column, words, word in zip(self._sketches, new, _sketch(vector[None])[:, 0], strict=True):
            column.extend(words)
            count_bits(column.values ^ word, counts)
            differing += counts
        share = math.acos(min_similarity) / math.pi
        likely = _BITS * share + _MARGIN * math.sqrt(_BITS * share * (1 - share))
        places = np.flatnonzero(differing <= likely)
        if len(places) <= _MAX_CANDIDATES:
            return places
        return places[top_indices(-differing[places].astype(np.int16), _MAX_CANDIDATES)]


def _sketch(vectors: NDArray[np.float32]) -> NDArray[np.uint64]:
    """The sketches of some vectors, word by word."""
    return np.ascontiguousarray(sign_bits(vectors, _BITS).T)
