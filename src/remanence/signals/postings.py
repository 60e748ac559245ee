"""Postings: which documents contain which word, and how often. The base is packed by word. New words are appended to a
tail: a short tail is searched directly, a longer one is packed before the next question."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from remanence.state.columns import Column, pack_texts, run_starts, unpack_texts

_MAX_TAIL = 2_048
"""The length of a tail that is searched directly, plus one word for every 32 in the base."""


class Postings:
    """Words to the documents that contain them; documents are numbered in the order they are added."""

    def __init__(self, terms: Sequence[str] = ()) -> None:
        known = {term: number for number, term in enumerate(terms)}
        self._terms = defaultdict(count(len(known)).__next__, known)  # a new word gets the next number
        self._starts: NDArray[np.int64] = np.zeros(1, np.int64)
        self._docs: NDArray[np.int32] = np.empty(0, np.int32)
        self._counts: NDArray[np.int32] = np.empty(0, np.int32)
        self._tail_terms = Column(np.int32)
        self._tail_docs = Column(np.int32)

    def __iter__(self) -> Iterator[str]:
        return iter(self._terms)

    def __len__(self) -> int:
        return len(self._terms)

    def term_ids(self, words: Iterable[str]) -> Iterable[int]:
        """The numbers of these words; new words get one."""
        return map(self._terms.__getitem__, words)

    def extend(self, terms: Sequence[int], docs: NDArray[np.int32]) -> None:
        """Add words by number, each with its document; documents come in order."""
        self._tail_terms.extend(terms)
        self._tail_docs.extend(docs)

    def lookup(self, word: str) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The documents that contain a word, sorted, and how often."""
        term = self._terms.get(word)
        packed = slice(0, 0)
        if term is not None and term + 1 < len(self._starts):
            packed = slice(int(self._starts[term]), int(self._starts[term + 1]))
        docs, counts = self._docs[packed], self._counts[packed]
        if term is None or not len(self._tail_terms):
            return docs, counts
        places = np.flatnonzero(self._tail_terms.values == term)
        if not len(places):
            return docs, counts
        new = self._tail_docs.values[places]
        firsts = run_starts(new)
        return np.concatenate((docs, new[firsts])), np.concatenate((counts, np.diff(firsts, append=len(new))))

    def pack_if_needed(self) -> None:
        if len(self._tail_terms) > _MAX_TAIL + len(self._docs) // 32:
            self._pack()

    def save(self) -> Mapping[str, NDArray[Any]]:
        self._pack()
        return {"terms": pack_texts(self._terms), "starts": self._starts, "docs": self._docs, "counts": self._counts}

    @classmethod
    def load(cls, arrays: Mapping[str, NDArray[Any]]) -> Postings:
        postings = cls(unpack_texts(arrays["terms"]))
        # Copies: a view would keep the whole content of the index file in memory.
        postings._starts, postings._docs, postings._counts = (
            arrays[name].copy() for name in ("starts", "docs", "counts")
        )
        return postings

    def _pack(self) -> None:
        """Merge the tail into the base, after the postings that each word has there."""
        if not len(self._tail_terms):
            return
        order = np.argsort(self._tail_terms.values, kind="stable")
        terms, docs = self._tail_terms.values[order], self._tail_docs.values[order]
        firsts = run_starts(terms.astype(np.int64) << 32 | docs)
        terms, docs, counts = terms[firsts], docs[firsts], np.diff(firsts, append=len(terms))
        ends = np.full(len(self._terms), len(self._docs), np.int64)
        ends[: len(self._starts) - 1] = self._starts[1:]
        self._docs = np.insert(self._docs, ends[terms], docs)
        self._counts = np.insert(self._counts, ends[terms], counts)
        added = np.bincount(terms, minlength=len(ends)).cumsum()
        self._starts = np.concatenate(([0], ends + added))
        self._tail_terms, self._tail_docs = Column(np.int32), Column(np.int32)
