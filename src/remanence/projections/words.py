"""Which memories share words with the question, and how telling those words are.

The formula and parameters are rank-bm25's `BM25Plus`; the postings are our own, because rank-bm25 walks
every document in Python for each question and cannot grow by one. Statistics (how many texts, how long,
how many hold a word) are taken over the texts the view knows of, so that what is learned later does not
move a score of the past. rank-bm25 adds `delta * idf` for every query word to every document, also to
those without the word; that constant is left out here, so a text without any of the words scores zero.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from remanence.arrays import Column, pack, top, unpack
from remanence.events import Remembered
from remanence.model import Query, Ranking
from remanence.text import tokens

K1, B = 0.9, 0.5
_MOST_SHOWN = 4


class Words:
    """Memories by their words.

    A long text is several documents, one for each passage; its best passage speaks for it. Postings lie
    in one packed base and, for what came since the last `save`, in a small overlay.
    """

    name = "words"

    def __init__(self) -> None:
        self._terms: dict[str, int] = {}
        self._starts: NDArray[np.int64] = np.zeros(1, np.int64)
        self._docs: NDArray[np.int32] = np.empty(0, np.int32)
        self._counts: NDArray[np.int32] = np.empty(0, np.int32)
        self._new: dict[int, tuple[array[int], array[int]]] = {}
        self._lengths = Column(np.int32)
        self._row_of = Column(np.int32)
        self._rows = 0

    def apply(self, first: int, versions: Sequence[Remembered | None]) -> None:
        """Take in versions numbered from row `first`."""
        for row, version in enumerate(versions, first):
            if row < self._rows:
                continue
            for words in documents(version):
                self._add(row, words)
            self._rows = row + 1

    def rank(self, query: Query, limit: int) -> Ranking:
        """The rows whose words match best."""
        asked = sorted(set(tokens(query.text)))
        if not asked:
            return Ranking.abstain(self.name, "the question holds only stop words")
        if not self._rows:
            return Ranking.nothing(self.name, "nothing is remembered yet")
        scores, known = self.scores(asked, query.visible)
        if not known:
            return Ranking.nothing(self.name, f"no memory holds {_listed(asked)}")
        rows, best = self._per_row(scores, query.allowed)
        if not len(rows):
            return Ranking.nothing(self.name, f"no memory that may answer holds {_listed(known)}")
        order = top(best, limit)
        docs = {word: self._postings(word)[0] for word in known}
        return Ranking(
            self.name, rows[order].tolist(), best[order].tolist(), why=lambda row: self._why(row, docs)
        )

    def scores(
        self, asked: Sequence[str], visible: NDArray[np.bool_]
    ) -> tuple[NDArray[np.float64], list[str]]:
        """BM25Plus of every document for these words, less the constant; and the words found at all."""
        lengths = self._lengths.values
        shown = None if visible.all() else visible[self._row_of.values]
        total = len(lengths) if shown is None else int(np.count_nonzero(shown))
        scores = np.zeros(len(lengths), np.float64)
        if not total:
            return scores, []
        mean = float(lengths.sum() if shown is None else lengths[shown].sum()) / total
        found = []
        for word in asked:
            docs, counts = self._postings(word)
            if shown is not None:
                among = shown[docs]
                docs, counts = docs[among], counts[among]
            if len(docs):
                found.append(word)
                norms = K1 * (1 - B + B * lengths[docs] / mean)
                scores[docs] += np.log((total + 1) / len(docs)) * (counts * (K1 + 1) / (norms + counts))
        return scores, found

    def save(self) -> Mapping[str, NDArray[Any]]:
        """The postings, packed."""
        self._pack()
        return {
            "terms": pack(list(self._terms)),
            "starts": self._starts,
            "docs": self._docs,
            "counts": self._counts,
            "lengths": self._lengths.values,
            "row_of": self._row_of.values,
            "rows": np.array([self._rows]),
        }

    def load(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Become the index that `save` wrote."""
        self._terms = {term: i for i, term in enumerate(unpack(arrays["terms"]))}
        self._starts, self._docs, self._counts = arrays["starts"], arrays["docs"], arrays["counts"]
        self._lengths = Column(np.int32, arrays["lengths"])
        self._row_of = Column(np.int32, arrays["row_of"])
        self._rows = int(arrays["rows"][0])
        self._new = {}

    def _add(self, row: int, words: list[str]) -> None:
        document = len(self._lengths)
        for word, count in Counter(words).items():
            term = self._terms.setdefault(word, len(self._terms))
            posting = self._new.get(term)
            if posting is None:
                posting = self._new[term] = (array("i"), array("i"))
            posting[0].append(document)
            posting[1].append(count)
        self._lengths.append(len(words))
        self._row_of.append(row)

    def _postings(self, word: str) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        term = self._terms.get(word)
        if term is None:
            return np.empty(0, np.int32), np.empty(0, np.int32)
        old = slice(0, 0)
        if term + 1 < len(self._starts):
            old = slice(int(self._starts[term]), int(self._starts[term + 1]))
        new = self._new.get(term)
        if new is None:
            return self._docs[old], self._counts[old]
        # Copies: an array that lends its buffer cannot grow.
        docs, counts = np.array(new[0], np.int32), np.array(new[1], np.int32)
        if old.start == old.stop:
            return docs, counts
        return np.concatenate((self._docs[old], docs)), np.concatenate((self._counts[old], counts))

    def _pack(self) -> None:
        """Fold the overlay into the base."""
        if not self._new:
            return
        sizes = np.zeros(len(self._terms), np.int64)
        sizes[: len(self._starts) - 1] = np.diff(self._starts)
        old_sizes = sizes.copy()
        for term, (docs, _) in self._new.items():
            sizes[term] += len(docs)
        starts = np.concatenate(([0], np.cumsum(sizes)))
        docs_out, counts_out = np.empty(starts[-1], np.int32), np.empty(starts[-1], np.int32)
        # Where each old posting goes: its old place, moved by what was put in before its term.
        shift = np.repeat(starts[:-1], old_sizes) - np.repeat(
            np.concatenate(([0], np.cumsum(old_sizes)))[:-1], old_sizes
        )
        places = np.arange(len(self._docs)) + shift
        docs_out[places], counts_out[places] = self._docs, self._counts
        for term, (docs, counts) in self._new.items():
            begin, end = starts[term] + old_sizes[term], starts[term + 1]
            docs_out[begin:end], counts_out[begin:end] = docs, counts
        self._starts, self._docs, self._counts, self._new = starts, docs_out, counts_out, {}

    def _per_row(
        self, scores: NDArray[np.float64], allowed: NDArray[np.bool_]
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The rows that may answer and score at all, with the score of their best document."""
        docs = np.flatnonzero(scores)
        rows = self._row_of.values[docs]
        kept = allowed[rows]
        docs, rows = docs[kept], rows[kept].astype(np.int64)
        found = scores[docs]
        if len(self._row_of) == self._rows or not len(rows):
            return rows, found
        # Documents of one row lie side by side, so each row is one run.
        runs = np.flatnonzero(np.concatenate(([True], rows[1:] != rows[:-1])))
        return rows[runs], np.maximum.reduceat(found, runs)

    def _why(self, row: int, postings: Mapping[str, NDArray[np.int32]]) -> str:
        # Rows and documents both grow, so a row's documents are a stretch, and so are a posting's.
        first, last = self._row_of.values.searchsorted(np.array((row, row + 1), np.int32))
        stretch = np.array((first, last), np.int32)
        held = []
        for word, docs in postings.items():
            begin, end = docs.searchsorted(stretch)
            if begin < end:
                held.append(word)
        return f"holds {_listed(held)}"


def documents(version: Remembered | None) -> list[list[str]]:
    """The word lists of one version: one for each passage, or one for the whole."""
    if version is None:
        return [[]]
    if not version.passages:
        return [tokens(version.text)]
    return [tokens(version.text[start:end]) for start, end in version.passages]


def _listed(words: Sequence[str]) -> str:
    shown = ", ".join(f"'{word}'" for word in words[:_MOST_SHOWN])
    return shown + (" …" if len(words) > _MOST_SHOWN else "")
