"""An embedder for tests that needs no model: similar texts have similar vectors."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np

if TYPE_CHECKING:
    from remanence.ports import Vector


class HashingEmbedder:
    """Hashes words and their three-letter parts into a vector. The same on every machine.

    Args:
        dimension: The length of the vectors.

    Example:
        >>> embedder = HashingEmbedder()
        >>> tea, teas, car = embedder.embed(["Alice drinks tea", "Alice drank some teas", "the car is red"])
        >>> bool(tea @ teas > tea @ car)
        True
    """

    similarity_floor = 0.0

    def __init__(self, dimension: int = 64) -> None:
        self.dimension: int | None = dimension
        self.name = f"hashing-{dimension}"
        self.fingerprint = f"{self.name}@{dimension}:1"
        self._size = dimension

    def embed(self, texts: Sequence[str]) -> Vector:
        """One row of unit length for each text; zeros for a text without words."""
        rows = np.zeros((len(texts), self._size), np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in re.findall(r"\w+", text.casefold()):
                _add_feature(row, word, 1.0)
                padded = f"^{word}$"
                for start in range(len(padded) - 2):
                    _add_feature(row, padded[start : start + 3], 0.5)
            row /= np.linalg.norm(row) or 1
        return rows

    def embed_query(self, text: str) -> Vector:
        """One vector of unit length for a question."""
        row: Vector = self.embed([text])[0]
        return row


def _add_feature(row: Vector, feature: str, weight: float) -> None:
    code = crc32(feature.encode("utf-8", "replace"))
    row[(code >> 1) % len(row)] += weight if code & 1 else -weight
