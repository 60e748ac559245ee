"""The vectors in an imported file, which are used only if they are those of the texts in the same file.

Manipulated vectors would change which texts are found, so they are checked. Of a small file every vector is compared
with what the embedder of this space makes of its text. Of a large one a random sample is, and vectors of texts that the
file does not have are left out. If one differs, none is used.
"""

from __future__ import annotations

import heapq
import logging
import secrets
from array import array
from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from remanence.errors import EmbedderError
from remanence.events import Remembered
from remanence.index.vectors.vectors import drop_malformed, embeddable_texts
from remanence.text.text import pluralize, text_hash

if TYPE_CHECKING:
    from remanence.events import Event
    from remanence.models.embedders import CheckedEmbedder
    from remanence.ports import Vector

log = logging.getLogger(__name__)

MAX_CHECKED = 1_000
"""Vectors of a file that are compared with their text, at most."""
_MAX_TEXT_LENGTH = 20_000
"""Characters of the longest text whose vector is taken from a file. Those of longer texts are made again: a sample of
them might take gigabytes."""
_MIN_SIMILARITY = 0.98
"""The cosine from which on a vector of a file is that of its text: an embedder on another machine may round
differently."""


@dataclass(frozen=True, slots=True)
class VectorLines:
    """One line of vectors: by the hash of their text, and the fingerprint of the embedder that the file names."""

    model: str
    vectors: Mapping[bytes, Vector]

    @classmethod
    def parse(cls, encoded: Mapping[str, str], embedder: Mapping[str, Any]) -> VectorLines:
        model, dimension = embedder["fingerprint"], embedder["dimension"]
        if not isinstance(model, str):
            raise ValueError(f"{model!r} is not the fingerprint of an embedder")
        return cls(model, {bytes.fromhex(h): _decode(text, dimension) for h, text in encoded.items()})


class VectorCheck:
    """Reads the entries and the vectors of a file, in their order, and says whether the vectors can be used."""

    def __init__(self, embedder: CheckedEmbedder) -> None:
        self._embedder = embedder
        self._secret = secrets.token_bytes(16)  # the choice of the vectors that are compared cannot be predicted
        self._hashes = array("Q")  # the first half of the hash of each text of this space
        self._sorted: NDArray[np.uint64] | None = None
        self._sample: list[tuple[int, bytes, str]] = []  # the texts with the lowest numbers, the highest first
        self._sampled: set[bytes] = set()
        self._sampled_vectors: dict[bytes, Vector] = {}
        self._has_foreign = False

    def begin_space(self) -> None:
        self._hashes, self._sorted = array("Q"), None

    def read_entry(self, event: Event | None) -> None:
        if not isinstance(event, Remembered):
            return
        for text in embeddable_texts(event):
            if len(text) <= _MAX_TEXT_LENGTH:
                key = text_hash(text)
                self._hashes.append(int.from_bytes(key[:8], "little"))
                self._sample_text(key, text)

    def read_vectors(self, line: VectorLines) -> None:
        """Keep the vectors of sampled texts, to compare them."""
        own = self.own_vectors(line)
        self._sampled_vectors |= {key: vector for key, vector in own.items() if key in self._sampled}
        self._has_foreign = self._has_foreign or line.model != self._embedder.fingerprint

    def own_vectors(self, line: VectorLines) -> dict[bytes, Vector]:
        """Those of these vectors that the embedder of this space could have made for texts of this space's entries."""
        if line.model != self._embedder.fingerprint or not line.vectors:
            return {}
        if self._sorted is None:
            self._sorted = np.unique(np.frombuffer(self._hashes, np.uint64))
        own = drop_malformed(line.vectors, self._embedder.dimension)
        if not own or not len(self._sorted):
            return {}
        numbers = np.array([int.from_bytes(key[:8], "little") for key in own], np.uint64)
        places = np.minimum(self._sorted.searchsorted(numbers), len(self._sorted) - 1)
        known = (self._sorted[places] == numbers).tolist()
        return {key: vector for (key, vector), is_known in zip(own.items(), known, strict=True) if is_known}

    def problem(self) -> str | None:
        """Why the vectors of the file are not used; None if they are."""
        texts = {key: text for _, key, text in self._sample if key in self._sampled_vectors}
        if self._has_foreign:
            return "its vectors were made by another embedder and are not used"
        if not texts:
            return None
        try:
            made = self._embedder.embed(list(texts.values()))
        except EmbedderError as error:
            return f"its vectors could not be checked and are not used: {error}"
        given = np.array([self._sampled_vectors[key] for key in texts])
        # A vector of zeros, for a text without a known word, is like no other: both have to be zero then.
        alike = (np.einsum("ij,ij->i", made, given) >= _MIN_SIMILARITY) | ~(made.any(axis=1) | given.any(axis=1))
        if alike.all():
            return None
        wrong = pluralize(int(np.count_nonzero(~alike)), "vector")
        log.warning("%s of %d that were checked are not those of their texts", wrong, len(texts))
        return f"its vectors are not used: {wrong} of {len(texts)} that were checked are not those of their texts"

    def _sample_text(self, key: bytes, text: str) -> None:
        """Add a text to the random sample, which has the texts with the lowest keyed hashes."""
        if key in self._sampled:
            return
        number = -int.from_bytes(blake2b(key, digest_size=8, key=self._secret).digest(), "little")
        if len(self._sample) < MAX_CHECKED:
            heapq.heappush(self._sample, (number, key, text))
            self._sampled.add(key)
        elif number > self._sample[0][0]:
            _, dropped, _ = heapq.heapreplace(self._sample, (number, key, text))
            self._sampled.add(key)
            self._sampled.remove(dropped)
            self._sampled_vectors.pop(dropped, None)


def _decode(text: str, dimension: int) -> Vector:
    vector = np.frombuffer(b64decode(text, validate=True), dtype="<f4")
    if len(vector) != dimension or not np.isfinite(vector).all():
        raise ValueError(f"a vector does not consist of {dimension!r} finite numbers")
    return vector
