"""The default embedder: a table of 32,000 word pieces with 256 numbers each. There is no model to run.

The vector of a text is the mean of its pieces. The table is in the folder `models/word_table`: 8-bit numbers with one
scale for each piece, and the tokenizer. `training/embedder.py` trained it, beginning with the table of wordllama.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from remanence.errors import InvalidEmbedding

if TYPE_CHECKING:
    from remanence.ports import Vector

TABLE = Path(__file__).parent.parent / "word_table"
VECTORS, TOKENIZER = "pieces.npz", "tokenizer.json"
SHA256 = {
    VECTORS: "7a6daa2126d8b4ba8910869c25e73f4593adb5824ee6849f691309c5f08d5d71",
    TOKENIZER: "bf467c9e0f536bda271283c6ef85eb1a943e3196b621c8a912d64953b205df83",
}
FORMER_DEFAULT = "wordllama-256"
"""The default embedder of ledgers that were written before this table was there."""
BLOCK_SIZE = 4096  # pieces summed at a time, so that a megabyte of text needs no gigabyte of vectors


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

        self.tokenizer = Tokenizer.from_str(_checked(folder, TOKENIZER).decode("utf-8"))
        with np.load(BytesIO(_checked(folder, VECTORS))) as stored:
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


def _checked(folder: Path, file: str) -> bytes:
    content = (folder / file).read_bytes()
    found = hashlib.sha256(content).hexdigest()
    if found != SHA256[file]:
        raise InvalidEmbedding(
            f"{folder / file} is not the file of this release: its SHA-256 is {found}, not {SHA256[file]}. "
            "Run: pip install --force-reinstall --no-deps remanence"
        )
    return content
