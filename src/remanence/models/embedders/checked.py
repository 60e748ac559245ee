"""What stands around every embedder, so that only vectors come out.

An embedder is somebody else's code, often on somebody else's machine. A row too few, a NaN or another
dimension than yesterday would spoil an index in silence, so each answer is looked at once, here.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from remanence.errors import EmbedderBroken, EmbedderDown, InvalidInput, RemanenceError
from remanence.language.text import pluralize, truncate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from remanence.ports import Embedder, Vector

BATCH_SIZE = 256  # texts in one call to the embedder: what hosted ones take without complaint


class CheckedEmbedder:
    """Another embedder, whose answers are sound or raise.

    Rows have unit length and one dimension for ever; a text that an embedder makes zeros of stays zeros.

    >>> from remanence.testing.fake_embedder import HashingEmbedder
    >>> class Doubled(HashingEmbedder):
    ...     def embed(self, texts):
    ...         return super().embed([*texts, *texts])
    >>> CheckedEmbedder(Doubled()).embed(["hello"])
    Traceback (most recent call last):
        ...
    remanence.errors.EmbedderBroken: The embedder 'hashing-64' gave 2 vectors for 1 text. ...
    """

    def __init__(self, inner: Embedder) -> None:
        self.inner = inner
        self.name = inner.name
        self.dimension = inner.dimension
        self.fingerprint = inner.fingerprint or f"{self.name}@{self.dimension or 'unknown'}"
        self.similarity_floor = float(inner.similarity_floor)
        self._lock = threading.Lock()
        self._otherwise: Callable[[str], RemanenceError] | None = None

    def expect_dimension(self, dimension: int, mismatch_error: Callable[[str], RemanenceError]) -> None:
        """Take it from one who knew this embedder how long its vectors are, so that it need not be asked.

        If its first answer is of another dimension, `otherwise` says what is wrong, given the fingerprint.
        """
        with self._lock:
            if self.dimension is None:
                self.fingerprint = self.inner.fingerprint or f"{self.name}@{dimension}"
                self.dimension, self._otherwise = dimension, mismatch_error

    def embed(self, texts: Sequence[str]) -> Vector:
        """One row of unit length for each text, asked for in batches."""
        if isinstance(texts, str):
            raise InvalidInput(f"embed takes a list of texts, not one: {truncate(texts, 40)!r}. Put it in a list.")
        batches = [texts[start : start + BATCH_SIZE] for start in range(0, len(texts), BATCH_SIZE)]
        rows = [self._rows(self.inner.embed, batch, len(batch)) for batch in batches]
        if len(rows) == 1:
            return rows[0]
        return np.concatenate(rows) if rows else np.zeros((0, self.dimension or 0), np.float32)

    def embed_query(self, text: str) -> Vector:
        """One vector of unit length for a question."""

        def ask(question: str) -> object:
            answer = np.asarray(self.inner.embed_query(question))
            return answer[np.newaxis] if answer.ndim == 1 else answer

        row: Vector = self._rows(ask, text, 1)[0]
        return row

    def _rows(self, ask: Callable[..., object], given: object, count: int) -> Vector:
        try:
            answer = ask(given)
        except RemanenceError:
            raise
        except Exception as error:
            raise EmbedderDown(
                f"The embedder {self.name!r} raised {type(error).__name__}: {error}. "
                "Try again when it is up; the cause is attached."
            ) from error
        try:
            rows = np.asarray(answer, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise self._broken(f"gave {_brief(answer)}, which is no array of numbers") from error
        if rows.ndim != 2:
            raise self._broken(f"gave an array of shape {rows.shape}, not ({count}, dimension)")
        if len(rows) != count:
            raise self._broken(f"gave {pluralize(len(rows), 'vector')} for {pluralize(count, 'text')}")
        if rows.shape[1] == 0:
            raise self._broken("gave vectors of no dimensions")
        unit = self._unit(rows)
        self._agree_on(rows.shape[1])
        return unit

    def _unit(self, rows: NDArray[np.float64]) -> Vector:
        squares = np.einsum("ij,ij->i", rows, rows)
        if squares.min() > 1e-200 and squares.max() < 1e200:  # not so if there is a NaN or infinity anywhere
            sound: Vector = (rows / np.sqrt(squares)[:, np.newaxis]).astype(np.float32)
            return sound
        finite = np.isfinite(rows)
        if not finite.all():
            first = int(np.argmin(finite.all(axis=1)))
            raise self._broken(f"gave NaN or infinity in vector {first} of {len(rows)}")
        # By the largest number first: the squares of very small or very large ones have left the range.
        largest = np.abs(rows).max(axis=1, keepdims=True)
        rows = rows / np.where(largest > 0, largest, 1)
        length = np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, np.newaxis]
        unit: Vector = (rows / np.where(length > 0, length, 1)).astype(np.float32)
        return unit

    def _agree_on(self, dimension: int) -> None:
        """Hold the embedder to its dimension, or learn it from its first answer."""
        with self._lock:  # two first calls at once must agree
            if self.dimension is None:
                self.fingerprint = self.inner.fingerprint or f"{self.name}@{dimension}"
                self.dimension = dimension
        if dimension != self.dimension:
            if self._otherwise is not None:
                raise self._otherwise(f"{self.name}@{dimension}")
            raise self._broken(f"gave vectors of {dimension} dimensions where {self.dimension} were due")
        self._otherwise = None

    def _broken(self, what: str) -> EmbedderBroken:
        return EmbedderBroken(
            f"The embedder {self.name!r} {what}. It must answer a list of texts with one vector for each, "
            "always of the same dimension."
        )


def _brief(value: object) -> str:
    return f"{truncate(repr(value), 80)} ({type(value).__name__})"
