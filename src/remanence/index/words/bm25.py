"""BM25 of rank-bm25 over a corpus that grows.

rank-bm25 reads every document for each question, and is built anew to add one. Here the same class has postings under
it: a document is added in time proportional to its words, and a word of a question costs the documents that contain it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import log
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rank_bm25 import BM25Plus

from remanence.index.arrays.columns import Column, PackedTexts
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


@dataclass(frozen=True, slots=True)
class CorpusStatistics:
    """The documents that count: which (None for all), how many, and their mean length."""

    mask: NDArray[np.bool_] | None
    total: int
    mean: float

    def idf(self, docs: NDArray[np.int32]) -> float:
        """The inverse document frequency of a word that these documents contain."""
        return log((self.total + 1) / len(docs))


class GrowingBM25(BM25Plus):  # type: ignore[misc]  # rank-bm25 has no types
    """rank-bm25's `BM25Plus` with the same parameters and scores, to which documents can be added.

    Every document may be left out of a question by a mask: the others score as if it had never been added. With
    `delta=0` a document without a word of the question scores zero.

    >>> index = GrowingBM25([["red", "boat"], ["red", "sail"]], delta=0)
    >>> index.extend([["green", "boat"]])
    >>> index.get_top_n(["green"], ["first", "second", "third"], n=1)
    ['third']
    >>> [round(float(score), 2) for score in index.get_scores(["boat"], np.array([True, True, False]))]
    [1.1, 0.0, 0.0]
    """

    doc_len: NDArray[np.int32]

    def __init__(
        self, corpus: Iterable[Any] = (), tokenizer: Any = None, k1: float = 1.5, b: float = 0.75, delta: float = 1
    ) -> None:
        super().__init__(corpus, tokenizer, k1, b, delta)

    def _initialize(self, corpus: Iterable[Sequence[str]]) -> None:
        """Called by the constructor of the parent, with the documents as words."""
        self._postings = Postings()
        self._lengths = Column(np.int32)
        self._word_count = 0
        del self.doc_freqs  # the postings have them
        self._count(0)
        self._add(corpus)

    def _calc_idf(self, nd: None) -> None:
        """Does nothing: every new document changes the idf of every word, so it is computed when needed."""

    def extend(self, documents: Iterable[Any]) -> None:
        """Add documents: lists of words, or texts if there is a tokenizer."""
        self._add(documents if self.tokenizer is None else map(self.tokenizer, documents))

    def _add(self, documents: Iterable[Sequence[str]]) -> None:
        terms: list[int] = []
        lengths: list[int] = []
        for words in documents:
            terms.extend(self._postings.term_ids(words))
            lengths.append(len(words))
        if lengths:
            first = len(self._lengths)
            self._postings.extend(terms, np.arange(first, first + len(lengths), dtype=np.int32).repeat(lengths))
            self._lengths.extend(lengths)
            self._count(sum(lengths))

    def _count(self, words: int) -> None:
        """Update the corpus statistics of the parent after this many more words."""
        self._word_count += words
        self.doc_len = self._lengths.values
        self.corpus_size = len(self.doc_len)
        self.avgdl = self._word_count / max(self.corpus_size, 1)

    def statistics(self, mask: NDArray[np.bool_] | None = None) -> CorpusStatistics:
        """The documents that count in a question: all, or those that are true in the mask."""
        self._postings.pack_if_needed()
        if mask is None:
            return CorpusStatistics(None, self.corpus_size, self.avgdl)
        known = self.doc_len[mask]
        return CorpusStatistics(mask, len(known), int(known.sum()) / max(len(known), 1))

    def documents_with(self, word: str, corpus: CorpusStatistics) -> tuple[NDArray[np.int32], NDArray[np.integer[Any]]]:
        """The documents that contain a word, sorted, and how often."""
        docs, counts = self._postings.documents_with(word)
        if corpus.mask is None or not len(docs):
            return docs, counts
        visible = corpus.mask[docs]
        return docs[visible], counts[visible]

    def gains(self, word: str, corpus: CorpusStatistics) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """The documents that contain a word, sorted, and what each gains by it."""
        docs, counts = self.documents_with(word, corpus)
        if not len(docs):
            return docs, np.empty(0)
        norms = self.k1 * (1 - self.b + self.b * self.doc_len[docs] / corpus.mean)
        return docs, corpus.idf(docs) * (self.delta + counts * (self.k1 + 1) / (norms + counts))

    def get_scores(self, query: Iterable[str], mask: NDArray[np.bool_] | None = None) -> NDArray[np.float64]:
        """The score of every document for these words. With a mask, documents that are false in it score zero, and the
        others as if there were no more."""
        corpus = self.statistics(mask)
        scores = np.zeros(self.corpus_size)
        for word in query:
            docs, gains = self.gains(word, corpus)
            if self.delta and len(docs):  # every document gains by a word that any of them contains
                every = np.full(self.corpus_size, corpus.idf(docs) * self.delta)
                every[docs] = gains
                scores += every
            else:
                scores[docs] += gains
        if mask is not None:
            scores[~mask] = 0.0
        return scores

    def pack(self) -> None:
        """Pack the postings, so that their form does not depend on the steps in which documents were added."""
        self._postings.pack()

    def save(self) -> Mapping[str, NDArray[Any]]:
        return {**self._postings.save(), "lengths": self.doc_len}

    def load(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Replace the documents by saved ones."""
        self._postings = Postings.from_arrays(arrays)
        self._lengths = Column(np.int32, arrays["lengths"])
        self._word_count = 0
        self._count(int(self._lengths.values.sum()))
