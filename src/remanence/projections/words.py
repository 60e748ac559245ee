"""Which memories share words with the question, and how telling those words are.

The formula and parameters are rank-bm25's `BM25Plus`; the postings are our own, because rank-bm25 walks
every document in Python for each question and cannot grow by one. Statistics (how many texts, how long,
how many hold a word) are taken over the texts the view knows of, so that what is learned later does not
move a score of the past. rank-bm25 adds `delta * idf` for every query word to every document, also to
those without the word; that constant is left out here, so a text without any of the words scores zero.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from remanence.arrays import Column, pack_texts, runs, top, unpack_texts
from remanence.events import Remembered
from remanence.model import Query, Ranking
from remanence.text import tokens

K1, B = 0.9, 0.5
LENT = 0.5
"""What a word is worth to the turn after the one that holds it: what answers need not repeat the question."""
_MOST_SHOWN = 4
_SHORT = 2_048
"""Words in a tail that is searched as it is, beside one for every 32 in the base."""

Answered = Callable[[NDArray[np.integer[Any]]], NDArray[np.integer[Any]]]
Holding = dict[str, tuple[NDArray[np.int32], NDArray[np.integer[Any]]]]
"""Of each word the documents that hold it, in order, and those that follow one."""


class Words:
    """Memories by their words.

    A long text is several documents, one for each passage; its best passage speaks for it. Postings lie
    in a base packed by word. What is new is only put down, word by word as it stands in the texts: a tail
    that is short is searched as it is, a longer one is packed before the next question.
    """

    name = "words"

    def __init__(self) -> None:
        self._terms = _numbered([])
        self._starts: NDArray[np.int64] = np.zeros(1, np.int64)
        self._docs: NDArray[np.int32] = np.empty(0, np.int32)
        self._counts: NDArray[np.int32] = np.empty(0, np.int32)
        self._tail_terms = Column(np.int32)
        self._tail_docs = Column(np.int32)
        self._lengths = Column(np.int32)
        self._row_of = Column(np.int32)
        self._rows = 0
        self._counted = 0, 0  # documents, and how many words they hold

    def apply(self, first: int, versions: Sequence[Remembered | None]) -> None:
        """Take in versions numbered from row `first`."""
        known = max(0, self._rows - first)
        terms: list[int] = []
        lengths: list[int] = []
        rows: list[int] = []
        for row, version in enumerate(versions[known:], first + known):
            for words in documents(version):
                terms.extend(map(self._terms.__getitem__, words))
                lengths.append(len(words))
                rows.append(row)
        if rows:
            docs = np.arange(len(self._lengths), len(self._lengths) + len(rows), dtype=np.int32)
            self._tail_terms.extend(terms)
            self._tail_docs.extend(docs.repeat(lengths))
            self._lengths.extend(lengths)
            self._row_of.extend(rows)
            self._rows = rows[-1] + 1

    def rank(self, query: Query, limit: int) -> Ranking:
        """The rows whose words match best."""
        asked = sorted(set(query.terms or tokens(query.text)))
        if not asked:
            return Ranking.abstain(self.name, "the question holds only stop words")
        if not self._rows:
            return Ranking.nothing(self.name, "nothing is remembered yet")
        scores, holding = self.scores(asked, query.visible, query.answered)
        if not holding:
            return Ranking.nothing(self.name, f"no memory holds {_listed(asked)}")
        rows, best = self._per_row(scores, query.allowed)
        if not len(rows):
            return Ranking.nothing(self.name, f"no memory that may answer holds {_listed(list(holding))}")
        order = top(best, limit)
        return Ranking(
            self.name, rows[order].tolist(), best[order].tolist(), why=self._reasons(rows[order], holding)
        )

    def scores(
        self, asked: Sequence[str], visible: NDArray[np.bool_], answered: Answered | None = None
    ) -> tuple[NDArray[np.float64], Holding]:
        """BM25Plus of every document for these words, less the constant; and which documents hold each.

        With `answered`, a turn also has a share in the words of the turn before it.
        """
        if len(self._tail_terms) > _SHORT + len(self._docs) // 32:
            self._pack()
        lengths = self._lengths.values
        shown = None if visible.all() else visible[self._row_of.values]
        total = len(lengths) if shown is None else int(np.count_nonzero(shown))
        scores = np.zeros(len(lengths), np.float64)
        if not total:
            return scores, {}
        mean = (self._whole_length() if shown is None else int(lengths[shown].sum())) / total
        holding: Holding = {}
        held = np.zeros(len(lengths), np.bool_)
        for word in asked:
            docs, counts = self._postings(word)
            if shown is not None:
                among = shown[docs]
                docs, counts = docs[among], counts[among]
            if len(docs):
                norms = K1 * (1 - B + B * lengths[docs] / mean)
                gains = np.log((total + 1) / len(docs)) * (counts * (K1 + 1) / (norms + counts))
                scores[docs] += gains
                after: NDArray[np.integer[Any]] = docs[:0]
                if answered is not None:
                    after = self._after(docs, answered)
                    held[docs] = True
                    new = np.flatnonzero((after >= 0) & ~held[after])
                    held[docs] = False
                    after = after[new]
                    scores[after] += LENT * gains[new]
                holding[word] = docs, after
        return scores, holding

    def _whole_length(self) -> int:
        """How many words there are in all. Added up once: there may be millions of documents."""
        counted, length = self._counted
        if counted < len(self._lengths):
            length += int(self._lengths.values[counted:].sum())
            self._counted = len(self._lengths), length
        return length

    def _after(self, docs: NDArray[np.int32], answered: Answered) -> NDArray[np.integer[Any]]:
        """The turn said after each of these; -1 where there is none."""
        if len(self._row_of) == self._rows:
            return answered(docs)
        rows = answered(self._row_of.values[docs])
        # Only short turns are asked after, and each of those is one document.
        return np.where(rows < 0, -1, self._row_of.values.searchsorted(rows))

    def save(self) -> Mapping[str, NDArray[Any]]:
        """The postings, packed."""
        self._pack()
        return {
            "terms": pack_texts(self._terms),
            "starts": self._starts,
            "docs": self._docs,
            "counts": self._counts,
            "lengths": self._lengths.values,
            "row_of": self._row_of.values,
            "rows": np.array([self._rows]),
        }

    def load(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Become the index that `save` wrote."""
        self._terms = _numbered(unpack_texts(arrays["terms"]))
        self._starts, self._docs, self._counts = arrays["starts"], arrays["docs"], arrays["counts"]
        self._lengths = Column(np.int32, arrays["lengths"])
        self._row_of = Column(np.int32, arrays["row_of"])
        self._rows, self._counted = int(arrays["rows"][0]), (0, 0)
        self._tail_terms, self._tail_docs = Column(np.int32), Column(np.int32)

    def _postings(self, word: str) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The documents that hold a word, and how often each does."""
        term = self._terms.get(word)
        if term is None:
            return np.empty(0, np.int32), np.empty(0, np.int32)
        packed = slice(0, 0)
        if term + 1 < len(self._starts):
            packed = slice(int(self._starts[term]), int(self._starts[term + 1]))
        docs, counts = self._docs[packed], self._counts[packed]
        if not len(self._tail_terms):
            return docs, counts
        places = np.flatnonzero(self._tail_terms.values == term)
        if not len(places):
            return docs, counts
        new = self._tail_docs.values[places]
        firsts = runs(new)
        return np.concatenate((docs, new[firsts])), np.concatenate((counts, _lengths(firsts, len(new))))

    def _pack(self) -> None:
        """Put the tail into the base: after the postings that each word has there already."""
        if not len(self._tail_terms):
            return
        order = np.argsort(self._tail_terms.values, kind="stable")
        terms, docs = self._tail_terms.values[order], self._tail_docs.values[order]
        firsts = runs(terms.astype(np.int64) << 32 | docs)
        terms, docs, counts = terms[firsts], docs[firsts], _lengths(firsts, len(terms))
        ends = np.full(len(self._terms), len(self._docs), np.int64)
        ends[: len(self._starts) - 1] = self._starts[1:]
        self._docs = np.insert(self._docs, ends[terms], docs)
        self._counts = np.insert(self._counts, ends[terms], counts)
        added = np.bincount(terms, minlength=len(ends)).cumsum()
        self._starts = np.concatenate(([0], ends + added))
        self._tail_terms, self._tail_docs = Column(np.int32), Column(np.int32)

    def _per_row(
        self, scores: NDArray[np.float64], allowed: NDArray[np.bool_]
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """The rows that may answer and score at all, with the score of their best document."""
        docs = np.flatnonzero(scores > 0)  # of numbers as they are, it takes several times as long
        rows = self._row_of.values[docs]
        kept = allowed[rows]
        rows, found = rows[kept], scores[docs[kept]]
        if len(self._row_of) == self._rows or not len(rows):
            return rows, found
        firsts = runs(rows)  # documents of one row lie side by side
        return rows[firsts], np.maximum.reduceat(found, firsts)

    def _reasons(self, rows: NDArray[np.int32], holding: Holding) -> Callable[[int], str]:
        """Tells of each of these rows which words it holds, or has lent from the turn before it.

        Worked out for all of them when the first is asked for: an answer shows ten of a hundred, and many
        look-ups in one cost little more than one.
        """

        @lru_cache(1)
        def found() -> tuple[dict[int, int], list[tuple[str, list[bool], list[bool]]]]:
            # Rows and documents both grow, so a row's documents are a stretch, and so are a posting's.
            # Numbers of another type would have the posting copied for each look-up.
            firsts, ends = (
                self._row_of.values.searchsorted(rows, side).astype(np.int32) for side in ("left", "right")
            )
            lent = np.zeros(len(self._row_of), np.bool_)
            words = []
            for word, (docs, after) in holding.items():
                lent[after] = True
                held = docs.searchsorted(firsts) < docs.searchsorted(ends)
                words.append((word, held.tolist(), lent[firsts].tolist()))
                lent[after] = False
            return {row: place for place, row in enumerate(rows.tolist())}, words

        def why(row: int) -> str:
            places, words = found()
            place = places[row]
            held = [word for word, holds, _ in words if holds[place]]
            lent = [word for word, holds, has_lent in words if has_lent[place] and not holds[place]]
            told = [f"holds {_listed(held)}"] if held else []
            told += [f"follows a turn that holds {_listed(lent)}"] if lent else []
            return " and ".join(told)

        return why


def documents(version: Remembered | None) -> list[list[str]]:
    """The word lists of one version: one for each passage, or one for the whole."""
    if version is None:
        return [[]]
    if not version.passages:
        return [tokens(version.text)]
    return [tokens(version.text[start:end]) for start, end in version.passages]


def _numbered(terms: Sequence[str]) -> defaultdict[str, int]:
    """Numbers for words in the order met: these first, any other as it is looked up."""
    known = {term: number for number, term in enumerate(terms)}
    return defaultdict(count(len(known)).__next__, known)


def _lengths(firsts: NDArray[np.int64], end: int) -> NDArray[np.int64]:
    """How long the runs are that begin at these places, the last one up to `end`."""
    return np.diff(firsts, append=end)


def _listed(words: Sequence[str]) -> str:
    shown = ", ".join(f"'{word}'" for word in words[:_MOST_SHOWN])
    return shown + (" …" if len(words) > _MOST_SHOWN else "")
