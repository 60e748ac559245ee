"""The wrapper around every embedder that checks its vectors.

An embedder is often another party's code on another machine. A missing row, a NaN or a changed dimension would
damage an index without an error, so every answer is checked here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from remanence.errors import EmbedderUnavailable, InvalidEmbedding, InvalidInput, RemanenceError
from remanence.language.text import pluralize, truncate
from remanence.models.time_limit import TimedOut, TimeLimit
from remanence.ports import FastEmbedder

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from remanence.ports import Embedder, Vector

BATCH_SIZE = 256  # texts in one call to the embedder: hosted ones accept this many


class CheckedEmbedder:
    """Another embedder, whose vectors are checked; invalid ones raise.

    Rows have unit length and always the same dimension; a row of zeros stays zeros.
    """

    def __init__(self, inner: Embedder, timeout: float | None = None) -> None:
        self.inner = inner
        self.name = inner.name
        self.dimension = inner.dimension
        self.fingerprint = inner.fingerprint or f"{self.name}@{self.dimension or 'unknown'}"
        self.similarity_floor = float(inner.similarity_floor)
        self.is_fast = isinstance(inner, FastEmbedder) and inner.is_fast
        # A time limit needs a thread for each call, which takes longer than a fast embedder does.
        self._limit = TimeLimit(None if self.is_fast else timeout)
        self._mismatch_error: Callable[[str], RemanenceError] | None = None

    def expect_dimension(self, dimension: int, mismatch_error: Callable[[str], RemanenceError]) -> None:
        """Set the dimension that is stored with an index, so that the embedder need not be called.

        If the first vectors have another dimension, `mismatch_error` makes the error from their fingerprint.
        """
        if self.dimension is None:
            self._set_dimension(dimension)
            self._mismatch_error = mismatch_error

    def _set_dimension(self, dimension: int) -> None:
        self.dimension, self.fingerprint = dimension, self.inner.fingerprint or f"{self.name}@{dimension}"

    def embed(self, texts: Sequence[str]) -> Vector:
        """One row of unit length for each text; the embedder is called in batches."""
        if isinstance(texts, str):
            raise InvalidInput(f"embed takes a list of texts, not one: {truncate(texts, 40)!r}. Put it in a list.")
        batches = [texts[start : start + BATCH_SIZE] for start in range(0, len(texts), BATCH_SIZE)]
        rows = [self._rows(self.inner.embed, batch, len(batch)) for batch in batches]
        if len(rows) == 1:
            return rows[0]
        return np.concatenate(rows) if rows else np.zeros((0, self.dimension or 0), np.float32)

    def embed_query(self, text: str) -> Vector:
        """One vector of unit length for a question."""
        row: Vector = self._rows(lambda question: np.atleast_2d(self.inner.embed_query(question)), text, 1)[0]
        return row

    def _rows(self, embed: Callable[..., object], value: object, count: int) -> Vector:
        try:
            answer = self._limit.call(embed, value)
        except TimedOut as error:
            raise EmbedderUnavailable(f"The embedder {self.name!r} {error}. Try again when it is up.") from error
        except RemanenceError:
            raise
        except Exception as error:
            raise EmbedderUnavailable(
                f"The embedder {self.name!r} raised {type(error).__name__}: {error}. "
                "Try again when it is up; the cause is attached."
            ) from error
        try:
            rows = np.asarray(answer, dtype=np.float64)
        except (TypeError, ValueError) as error:
            shown = f"{truncate(repr(answer), 80)} ({type(answer).__name__})"
            raise self._broken(f"gave {shown}, which is not an array of numbers") from error
        if rows.ndim != 2:
            raise self._broken(f"gave an array of shape {rows.shape}, not ({count}, dimension)")
        if len(rows) != count:
            raise self._broken(f"gave {pluralize(len(rows), 'vector')} for {pluralize(count, 'text')}")
        if rows.shape[1] == 0:
            raise self._broken("gave vectors of no dimensions")
        unit = self._unit(rows)
        self._check_dimension(rows.shape[1])
        return unit

    def _unit(self, rows: NDArray[np.float64]) -> Vector:
        squares = np.einsum("ij,ij->i", rows, rows)
        if squares.min() > 1e-200 and squares.max() < 1e200:  # also false if there is a NaN or an infinity
            normal: Vector = (rows / np.sqrt(squares)[:, np.newaxis]).astype(np.float32)
            return normal
        finite = np.isfinite(rows).all(axis=1)
        if not finite.all():
            raise self._broken(f"gave NaN or infinity in vector {int(np.argmin(finite))} of {len(rows)}")
        # Divide by the largest number first: the squares of very small or large numbers are out of range.
        largest = np.abs(rows).max(axis=1, keepdims=True)
        scaled = rows / np.where(largest > 0, largest, 1)
        length = np.linalg.norm(scaled, axis=1, keepdims=True)  # 0, or at least 1
        unit: Vector = (scaled / np.maximum(length, 1)).astype(np.float32)
        return unit

    def _check_dimension(self, dimension: int) -> None:
        """Check the dimension, or set it from the first answer."""
        if self.dimension is None:
            self._set_dimension(dimension)
        if dimension != self.dimension:
            if self._mismatch_error is not None:
                raise self._mismatch_error(f"{self.name}@{dimension}")
            raise self._broken(f"gave vectors of {dimension} dimensions where {self.dimension} were due")
        self._mismatch_error = None

    def _broken(self, problem: str) -> InvalidEmbedding:
        return InvalidEmbedding(
            f"The embedder {self.name!r} {problem}. It must answer a list of texts with one vector for each, "
            "always of the same dimension."
        )
