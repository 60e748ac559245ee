"""Which memories share words with the question, and how telling those words are.

The formula and parameters are rank-bm25's `BM25Plus`; the postings are our own, because rank-bm25 walks
every document in Python for each question and cannot grow by one. Statistics (how many texts, how long,
how many hold a word) are taken over the texts the view knows of, so that what is learned later does not
move a score of the past. rank-bm25 adds `delta * idf` for every query word to every document, also to
those without the word; that constant is left out here, so a text without any of the words scores zero.

Beside that a text scores, for a word it does not hold, by one that is used alike: "trip" for "journey".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf, log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from remanence.events import Remembered
from remanence.language.text import tokens
from remanence.language.thesaurus import related_words
from remanence.ports import Stage
from remanence.schema import Query, Ranking
from remanence.signals.postings import Postings
from remanence.state.columns import Column, run_starts, top_indices

K1, B = 0.9, 0.5
LENT = 0.5
"""What a word is worth to the turn after the one that holds it: what answers need not repeat the question."""
KIN = 0.6
"""What a word is worth where one used alike was asked for, times how near they are, squared."""
_MOST_SHOWN = 4

Answered = Callable[[NDArray[np.integer[Any]]], NDArray[np.integer[Any]]]
Holding = dict[str, tuple[NDArray[np.int32], NDArray[np.integer[Any]]]]
"""Of each word the documents that hold it, in order, and those that follow one."""
Kin = dict[str, list[tuple[str, NDArray[np.int32]]]]
"""For each word asked for the words used alike, and the documents that hold each."""
_NOWHERE = np.empty(0, np.int32), np.empty(0, np.int32)


@dataclass(frozen=True, slots=True)
class Seen:
    """What a view sees of the documents: which (None for all), how many, and how long they are."""

    which: NDArray[np.bool_] | None
    total: int
    mean: float


class Words:
    """Memories by their words.

    A long text is several documents, one for each passage; its best passage speaks for it.
    """

    name = "words"
    weight = 0.6
    stage = Stage.FIND
    needs_embedding = False

    def __init__(self) -> None:
        self._postings = Postings()
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
            for words in passage_tokens(version):
                terms.extend(self._postings.term_ids(words))
                lengths.append(len(words))
                rows.append(row)
        if rows:
            docs = np.arange(len(self._lengths), len(self._lengths) + len(rows), dtype=np.int32)
            self._postings.extend(terms, docs.repeat(lengths))
            self._lengths.extend(lengths)
            self._row_of.extend(rows)
            self._rows = rows[-1] + 1

    def rank(self, query: Query, limit: int) -> Ranking:
        """The rows whose words match best."""
        asked = sorted(set(query.terms or tokens(query.text)))
        if not asked:
            return Ranking.abstain(self.name, "the question holds only stop words")
        if not self._rows:
            return Ranking.empty(self.name, "nothing is remembered yet")
        seen = self.corpus_statistics(query.visible)
        scores, holding = self.scores(asked, seen, query.next_turns)
        kin = self._by_kin(scores, asked, seen, holding)
        if not holding and not kin:
            return Ranking.empty(self.name, f"no memory holds {_listed(asked)}")
        rows, best = self._per_row(scores, query.allowed)
        if not len(rows):
            found = [*holding, *(word for word in kin if word not in holding)]
            return Ranking.empty(self.name, f"no memory that may answer holds {_listed(found)}")
        order = top_indices(best, limit)
        if query.time_mask is not None:
            inside = np.flatnonzero(query.time_mask[rows])
            order = np.union1d(order, inside[top_indices(best[inside], limit // 2)])
            order = order[top_indices(best[order], len(order))]
        return Ranking(
            self.name,
            rows[order].tolist(),
            best[order].tolist(),
            # Without any of its own words nothing answers fully.
            ceiling=None if self._any(holding, query.allowed) else float(best[order[0]]) / KIN,
            explain_rows=lambda wanted: self._reasons(wanted, holding, kin),
        )

    def corpus_statistics(self, visible: NDArray[np.bool_]) -> Seen:
        """What a view that knows these rows sees."""
        self._postings.pack_if_needed()
        lengths = self._lengths.values
        which = None if visible.all() else visible[self._row_of.values]
        total = len(lengths) if which is None else int(np.count_nonzero(which))
        length = self._whole_length() if which is None else int(lengths[which].sum())
        return Seen(which, total, length / max(total, 1))

    def scores(
        self, asked: Sequence[str], seen: Seen, answered: Answered | None = None
    ) -> tuple[NDArray[np.float64], Holding]:
        """BM25Plus of every document for these words, less the constant; and which documents hold each.

        With `answered`, a turn also has a share in the words of the turn before it.
        """
        lengths = self._lengths.values
        scores = np.zeros(len(lengths), np.float64)
        holding: Holding = {}
        held = np.zeros(len(lengths), np.bool_)
        for word in asked:
            docs, counts = self._holders(word, seen)
            if len(docs):
                norms = K1 * (1 - B + B * lengths[docs] / seen.mean)
                gains = _telling(docs, seen) * (counts * (K1 + 1) / (norms + counts))
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

    def _by_kin(self, scores: NDArray[np.float64], asked: Sequence[str], seen: Seen, holding: Holding) -> Kin:
        """Add what documents score by words used like those asked for that they do not hold themselves; and
        say which documents hold them. None tells more than the word that was asked for."""
        kin: Kin = {}
        for word in asked:
            own, _ = holding.get(word, _NOWHERE)
            most = _telling(own, seen) if len(own) else inf
            kept = scores[own]
            for other, nearness in related_words(word):
                docs, _ = _NOWHERE if other in asked else self._holders(other, seen)
                if len(docs):
                    scores[docs] += KIN * nearness**2 * min(most, _telling(docs, seen))
                    kin.setdefault(word, []).append((other, docs))
            scores[own] = kept
        return kin

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
        """The postings, packed, and what is known of the documents."""
        return {
            **self._postings.save(),
            "lengths": self._lengths.values,
            "row_of": self._row_of.values,
            "rows": np.array([self._rows]),
        }

    def load(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Become the index that `save` wrote."""
        self._postings = Postings.load(arrays)
        self._lengths = Column(np.int32, arrays["lengths"])
        self._row_of = Column(np.int32, arrays["row_of"])
        self._rows, self._counted = int(arrays["rows"][0]), (0, 0)

    def _holders(self, word: str, seen: Seen) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The documents seen that hold a word, and how often each does."""
        docs, counts = self._postings.lookup(word)
        if seen.which is None or not len(docs):
            return docs, counts
        among = seen.which[docs]
        return docs[among], counts[among]

    def _any(self, holding: Holding, allowed: NDArray[np.bool_]) -> bool:
        """Whether a row that may answer holds one of the words."""
        return any(allowed[self._row_of.values[docs]].any() for docs, _ in holding.values())

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
        firsts = run_starts(rows)  # documents of one row lie side by side
        return rows[firsts], np.maximum.reduceat(found, firsts)

    def _reasons(self, rows: Sequence[int], holding: Holding, kin: Kin) -> list[str]:
        """Of each of these rows which words it holds, or has lent from the turn before it, or says
        otherwise."""
        # Rows and documents both grow, so a row's documents are a stretch, and so are a posting's.
        # Numbers of another type would have the posting copied for each look-up.
        firsts, ends = (self._row_of.values.searchsorted(rows, side).astype(np.int32) for side in ("left", "right"))

        def holds(docs: NDArray[np.int32]) -> list[bool]:
            held: list[bool] = (docs.searchsorted(firsts) < docs.searchsorted(ends)).tolist()
            return held

        lent = np.zeros(len(self._row_of), np.bool_)
        words = []
        for word, (docs, after) in holding.items():
            lent[after] = True
            words.append((word, holds(docs), lent[firsts].tolist()))
            lent[after] = False
        others = [(word, other, holds(docs)) for word, alike in kin.items() for other, docs in alike]
        out = []
        for place in range(len(rows)):
            held = [word for word, holding_it, _ in words if holding_it[place]]
            lending = [word for word, holding_it, has in words if has[place] and not holding_it[place]]
            said: dict[str, str] = {}
            for word, other, saying in others:
                if saying[place] and word not in held:
                    said.setdefault(word, f"'{other}' for '{word}'")
            told = [f"holds {_listed(held)}"] if held else []
            told += [f"follows a turn that holds {_listed(lending)}"] if lending else []
            told += [f"says {', '.join(list(said.values())[:_MOST_SHOWN])}"] if said else []
            out.append(" and ".join(told))
        return out


def passage_tokens(version: Remembered | None) -> list[list[str]]:
    """The word lists of one version: one for each passage, or one for the whole."""
    if version is None:
        return [[]]
    if not version.passages:
        return [tokens(version.text)]
    return [tokens(version.text[start:end]) for start, end in version.passages]


def _telling(docs: NDArray[np.int32], seen: Seen) -> float:
    """How telling a word is that these documents hold."""
    return log((seen.total + 1) / len(docs))


def _listed(words: Sequence[str]) -> str:
    shown = ", ".join(f"'{word}'" for word in words[:_MOST_SHOWN])
    return shown + (" …" if len(words) > _MOST_SHOWN else "")
