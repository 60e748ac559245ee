"""Postings: which documents contain which word, and how often."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from remanence.index.arrays.columns import PackedTexts
from remanence.index.arrays.grouped import Grouped, Members


class Postings(Grouped):
    """Words to the documents that contain them; documents are numbered in the order they are added."""

    def __init__(self, terms: Sequence[str] = ()) -> None:
        super().__init__()
        self._terms = dict(zip(terms, range(len(terms)), strict=True))
        self._packed_terms = PackedTexts()

    def __iter__(self) -> Iterator[str]:
        return iter(self._terms)

    def __len__(self) -> int:
        return len(self._terms)

    def term_ids(self, words: Iterable[str]) -> list[int]:
        """The numbers of these words; new words get one."""
        return [self._terms.setdefault(word, len(self._terms)) for word in words]

    def documents_with(self, word: str) -> tuple[Members, Members]:
        """The documents that contain a word, sorted, and how often."""
        term = self._terms.get(word)
        return (np.empty(0, np.int32), np.empty(0, np.int32)) if term is None else self.lookup(term)

    def save(self) -> Mapping[str, NDArray[Any]]:
        return {"terms": self._packed_terms.array(self._terms), **super().save()}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Postings:
        """The postings that were saved."""
        terms = arrays["terms"]
        postings = cls(PackedTexts.unpack(terms))
        postings._packed_terms = PackedTexts(terms, len(postings))
        postings.load(arrays)
        return postings
