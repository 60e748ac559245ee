"""Text to vectors: the built-in table, small transformers by name, or the embedder of another library.

Embedders of other libraries are recognised by their methods; no framework is imported. An embedder is often another
party's code on another machine. A missing row, a NaN or a changed dimension would damage an index without an error, so
every answer is checked here.

The default embedder is a transformer of three layers that comes with the package (`models/text_models`). The fast one
is a table of 32,000 word pieces with 256 numbers each: there is no model to run, the vector of a text is the mean of
its pieces. The table is in the folder `models/word_table`: 8-bit numbers with one scale for each piece, and the
tokenizer. `training/word_table.py` trained it, beginning with the table of wordllama.
"""

from __future__ import annotations

import hashlib
import inspect
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, lru_cache
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from remanence.errors import EmbedderUnavailable, InvalidEmbedding, InvalidInput, MissingExtra, RemanenceError
from remanence.hooks import step
from remanence.models.text_model import SHA256 as MODEL_SHA256
from remanence.models.text_model import TextModel, check_tokenizers, read_checked
from remanence.models.time_limit import TimedOut, TimeLimit
from remanence.ports import Embedder, FastEmbedder
from remanence.text.text import pluralize, truncate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from remanence.ports import Vector

ACCEPTED = (
    "Give a name, a folder with model.onnx and tokenizer.json, an object with embed and embed_query, "
    "a LangChain or LlamaIndex embedding, or a function from a list of texts to a list of vectors"
)
_METHODS = (
    ("embed", "embed_query"),
    ("embed_documents", "embed_query"),  # LangChain
    ("get_text_embedding_batch", "get_query_embedding"),  # LlamaIndex
)
BATCH_SIZE = 256
"""Texts in one call to an embedder: hosted ones accept this many."""
TABLE = Path(__file__).parent / "word_table"
VECTORS, TOKENIZER = "pieces.npz", "tokenizer.json"
SHA256 = {
    VECTORS: "7a6daa2126d8b4ba8910869c25e73f4593adb5824ee6849f691309c5f08d5d71",
    TOKENIZER: "bf467c9e0f536bda271283c6ef85eb1a943e3196b621c8a912d64953b205df83",
}
DEFAULT, FAST = "default", "fast"
EMBEDDER_VARIABLE = "REMANENCE_EMBEDDER"
_QUESTION, _TEXT = 0, 1
_WINDOW = 94
"""Word pieces that the default embedder reads at once. Of a longer text it takes the mean of several windows."""
FORMER_DEFAULT = "wordllama-256"
"""The default embedder of ledgers that were written before this table was there."""
BLOCK_SIZE = 4096
"""Word pieces that are summed at a time, so that a megabyte of text needs no gigabyte of vectors."""


def resolve_embedder(embedder: object = None, timeout: float | None = None) -> CheckedEmbedder:
    """The embedder for a value that a caller passed, inside the wrapper that checks its vectors. An object of the
    caller's may take `timeout` seconds for one call.

    Nothing is downloaded, except by `fastembed:` models.
    """
    if isinstance(embedder, CheckedEmbedder):
        return embedder
    if embedder is None or isinstance(embedder, (str, Path)):
        return CheckedEmbedder(_embedder_by_name(DEFAULT if embedder is None else str(embedder)))
    return CheckedEmbedder(_embedder_from_object(embedder), timeout)


def _embedder_by_name(name: str) -> Embedder:
    from remanence.models.catalogue import model_names
    from remanence.models.text_model import OnnxEmbedder, open_session

    check_tokenizers()
    if name == DEFAULT:
        name = os.environ.get(EMBEDDER_VARIABLE, "").strip() or SentenceEmbedder.name
    if name == SentenceEmbedder.name:
        return sentence_embedder()
    if name in (FAST, StaticEmbedder.name):
        return StaticEmbedder()
    if name.startswith("fastembed:"):
        return _fastembed_embedder(name)
    if name in model_names("embedder") or Path(name).expanduser().is_dir():
        return OnnxEmbedder(open_session(name, "embedder"))
    ours = f"{SentenceEmbedder.name} (or {DEFAULT})", f"{StaticEmbedder.name} (or {FAST})"
    known = ", ".join([*ours, *model_names("embedder"), "fastembed:<model>"])
    raise InvalidInput(f"No embedder is called {name!r}. Known: {known}; and no such folder exists. {ACCEPTED}.")


def _fastembed_embedder(name: str) -> EmbedderAdapter:
    try:
        from fastembed import TextEmbedding
    except ImportError as error:
        raise MissingExtra(
            f'{name!r} needs the package fastembed. Run: pip install "remanence-memory[fastembed]"'
        ) from error
    embedding = TextEmbedding(name.removeprefix("fastembed:"))  # downloads the weights at first use
    return EmbedderAdapter(name, embedding.embed, embedding.query_embed)


def _embedder_from_object(embedder: Any) -> Embedder:
    if isinstance(embedder, type):
        raise InvalidInput(f"The embedder is the class {embedder.__name__}, not an instance of it. {ACCEPTED}.")
    if isinstance(embedder, Embedder):
        return embedder
    if all(hasattr(embedder, name) for name in ("embed", "embed_query", "name", "fingerprint", "dimension")):
        raise InvalidInput(
            f"The embedder {embedder!r} has no 'similarity_floor': see remanence.ports.Embedder. Set it to 0.0 if "
            "you do not know it."
        )
    if inspect.iscoroutinefunction(embedder):
        raise InvalidInput(f"The embedder {embedder!r} is async; it is called from a thread. {ACCEPTED}.")
    for methods in _METHODS:
        embed, embed_query = (getattr(embedder, method, None) for method in methods)
        if callable(embed) and callable(embed_query):
            return EmbedderAdapter(_embedder_name(embedder), embed, embed_query)
    if callable(embedder):
        return EmbedderAdapter(_embedder_name(embedder), embedder, lambda text: embedder([text]))
    raise InvalidInput(f"This cannot embed: {embedder!r} ({type(embedder).__name__}). {ACCEPTED}.")


class EmbedderAdapter:
    """Another library's embedder as an `Embedder`. `CheckedEmbedder` checks what it returns.

    It has no fingerprint: only its name and the dimension of its first vectors are known.
    """

    fingerprint = ""
    similarity_floor = 0.0
    dimension: int | None = None

    def __init__(self, name: str, embed: Callable[[list[str]], Any], embed_query: Callable[[str], Any]) -> None:
        self.name, self._embed, self._embed_query = name, embed, embed_query

    def embed(self, texts: Sequence[str]) -> Vector:
        return _consume(self._embed(list(texts)))

    def embed_query(self, text: str) -> Vector:
        return _consume(self._embed_query(text))


def _embedder_name(embedder: object) -> str:
    """The name of an embedder or of its model, else of its code."""
    candidates = (getattr(embedder, attribute, None) for attribute in ("name", "model", "model_name", "__name__"))
    name = next((name for name in candidates if isinstance(name, str) and name), type(embedder).__name__)
    return "function" if name == "<lambda>" else name


def _consume(answer: Any) -> Vector:
    """The answer, with a generator run to its end, so that its errors occur inside the call."""
    return cast("Vector", list(answer) if isinstance(answer, Iterator) else answer)


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

    @step("embed")
    def embed(self, texts: Sequence[str]) -> Vector:
        """One row of unit length for each text; the embedder is called in batches."""
        if isinstance(texts, str):
            raise InvalidInput(f"embed takes a list of texts, not one: {truncate(texts, 40)!r}. Put it in a list.")
        batches = [texts[start : start + BATCH_SIZE] for start in range(0, len(texts), BATCH_SIZE)]
        rows = [self._rows(self.inner.embed, batch, len(batch)) for batch in batches]
        if len(rows) == 1:
            return rows[0]
        return np.concatenate(rows) if rows else np.zeros((0, self.dimension or 0), np.float32)

    @step("embed")
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


class SentenceEmbedder:
    """Vectors by a transformer of three layers: about 500 short texts a second on two cores, 2 ms for a question."""

    name = "remanence-sentences"
    dimension: int | None = 256
    similarity_floor = 0.0
    fingerprint = f"remanence-sentences@256:{MODEL_SHA256['embedder.onnx'][:12]}"

    def __init__(self) -> None:
        self._model = TextModel("embedder.onnx")
        self._lock, self._pool = threading.Lock(), cast("tuple[int, ThreadPoolExecutor] | None", None)

    def embed(self, texts: Sequence[str]) -> Vector:
        if len(texts) < 2:
            return np.stack([self._vector(text, _TEXT) for text in texts]) if texts else np.zeros((0, 256), np.float32)
        return np.stack(list(self._threads().map(lambda text: self._vector(text, _TEXT), texts)))

    def embed_query(self, text: str) -> Vector:
        return self._vector(text, _QUESTION)

    def _vector(self, text: str, kind: int) -> Vector:
        """The vector of a text; of a long one the mean of those of its windows."""
        words = self._model.pieces
        split = words.split(text, _WINDOW * 8)
        windows = [split[start : start + _WINDOW] for start in range(0, len(split), _WINDOW)] or [[]]
        rows = []
        for window in windows:
            pieces = [words.begin, *window, words.end]
            rows.append(self._model.run(pieces, [kind] * len(pieces))["vector"])
        return mean_vector(rows)

    def _threads(self) -> ThreadPoolExecutor:
        """Threads of this process: those of a parent do not survive a fork."""
        with self._lock:
            if self._pool is None or self._pool[0] != os.getpid():
                self._pool = os.getpid(), ThreadPoolExecutor(os.cpu_count(), "remanence-embedder")
            return self._pool[1]


def mean_vector(rows: Sequence[Vector], weights: Sequence[float] | None = None) -> Vector:
    """The mean of some vectors, of unit length."""
    mean = np.average(rows, axis=0, weights=weights)
    row: Vector = (mean / max(float(np.linalg.norm(mean)), 1e-12)).astype(np.float32)
    return row


@cache
def sentence_embedder() -> SentenceEmbedder:
    """One for the whole process: its file is read once."""
    return SentenceEmbedder()


class StaticEmbedder:
    """Vectors from the table: about 20,000 short texts a second, 0.1 ms for a question."""

    name = "remanence-256"
    dimension: int | None = 256
    similarity_floor = 0.0
    is_fast = True

    def __init__(self, folder: Path = TABLE) -> None:
        self._folder = folder
        settings = "|".join([*SHA256.values(), "words by space, mean"])
        self.fingerprint = f"{self.name}@256:{hashlib.sha256(settings.encode()).hexdigest()[:12]}"

    def embed(self, texts: Sequence[str]) -> Vector:
        table = load_table(self._folder)
        rows = np.stack([table.mean(text) for text in texts]) if texts else np.zeros((0, 256), np.float32)
        length = np.linalg.norm(rows, axis=1, keepdims=True)
        unit: Vector = (rows / np.where(length > 0, length, 1)).astype(np.float32, copy=False)
        return unit

    def embed_query(self, text: str) -> Vector:
        row: Vector = self.embed([text])[0]
        return row


class EmbeddingTable:
    """The vectors of the pieces, and their tokenizer."""

    def __init__(self, folder: Path) -> None:
        from tokenizers import Tokenizer

        self.tokenizer = Tokenizer.from_str(read_checked(folder / TOKENIZER, SHA256).decode("utf-8"))
        with np.load(BytesIO(read_checked(folder / VECTORS, SHA256))) as stored:
            self._vectors: Vector = stored["vectors"] * stored["scales"][:, None]
        # No piece crosses a space, so the pieces of frequent words can be cached.
        self._cached_pieces = lru_cache(maxsize=65_536)(self._pieces)

    def mean(self, text: str) -> Vector:
        """The mean vector of the pieces of a text; zeros if it has none."""
        pieces: list[int] = []
        for word in text.split(" "):
            pieces += self._cached_pieces(word) if len(word) <= 64 else self._pieces(word)
        total = np.zeros(256, np.float32)
        for start in range(0, len(pieces), BLOCK_SIZE):
            total += self._vectors.take(pieces[start : start + BLOCK_SIZE], axis=0).sum(axis=0)
        total /= max(len(pieces), 1)
        return total

    def _pieces(self, word: str) -> tuple[int, ...]:
        # `encode`, not `encode_batch`, which starts threads and then warns in every forked process.
        readable = word.encode("utf-8", "replace").decode("utf-8")
        return tuple(self.tokenizer.encode(readable, add_special_tokens=False).ids)


@lru_cache(maxsize=4)
def load_table(folder: Path) -> EmbeddingTable:
    """Read once in a process; two threads may both read it at first, without harm."""
    return EmbeddingTable(folder)
