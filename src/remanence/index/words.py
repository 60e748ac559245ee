"""The words signal: memories that share words with the question, weighted by how rare the words are.

The scores are computed by rank-bm25's `BM25Plus` with `delta=0`, so that a text without any of the words scores zero;
the index is a subclass of it that grows: a document is added in time proportional to its words, and a word of a
question costs the documents that contain it. Statistics are taken over the texts that the view knows, so that what is
learned later does not change past scores. A text without a word of the question also scores by a related one: "trip"
for "journey".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from itertools import chain
from math import inf, log
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rank_bm25 import BM25Plus

from remanence.events import Remembered
from remanence.index.arrays.codecs import INTERNED
from remanence.index.arrays.columns import Column, Interner, PackedTexts, run_starts, top_indices
from remanence.index.arrays.grouped import Grouped, Members
from remanence.index.passages import ASKING_SHARE, passages_of
from remanence.ports import Stage
from remanence.schema import PLAN_TAG, Query, Ranking
from remanence.text.lexicon.languages import ENGLISH, tokens_by_language
from remanence.text.lexicon.word_lists import related_words
from remanence.text.text import tokens


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
        # What a document gains depends on its length and count alone, and few of them differ.
        stride = int(counts.max()) + 1
        kinds = self.doc_len[docs].astype(np.int64) * stride + counts
        distinct = np.flatnonzero(np.bincount(kinds))
        lengths, often = np.divmod(distinct, stride)
        sample = copy(self)
        sample.corpus_size, sample.doc_len, sample.avgdl = len(distinct), lengths, corpus.mean
        sample.doc_freqs, sample.idf = [{word: count} for count in often.tolist()], {word: corpus.idf(docs)}
        gain_of = np.zeros(int(distinct[-1]) + 1)
        gain_of[distinct] = BM25Plus.get_scores(sample, [word])
        return docs, gain_of[kinds]

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


K1, B = 0.9, 0.5
"""The parameters of BM25: how soon another occurrence of a word counts less, and how much longer texts lose. Fitted on
chats, TimeQA and HotpotQA."""
NEXT_TURN_SHARE = 0.5
"""The share of a word's score that the next turn gets: an answer need not repeat the question. Fitted on LoCoMo and
RealTalk."""
RELATED_WORD_SHARE = 0.6
"""The share of a word's score for a related word, times their similarity squared. Fitted on LoCoMo, RealTalk and
LongMemEval."""
OTHER_LANGUAGE_SHARE = 0.005
"""The share of texts in another language from which on a question is also asked in its forms."""
_MAX_LISTED = 4
_MANY = 64
"""Documents of a word that are looked at first, and how many times the wanted ones a word may have so that it bounds a
score. It limits the work."""

NextTurns = Callable[[NDArray[np.integer[Any]]], NDArray[np.integer[Any]]]
Matches = dict[str, tuple[NDArray[np.int32], NDArray[np.integer[Any]]]]
RelatedMatches = dict[str, list[tuple[str, NDArray[np.int32]]]]
_NO_DOCUMENTS = np.empty(0, np.int32)


class Words:
    """Memories by their words. A long text is several documents, one for each passage; the best passage counts."""

    name = "words"
    weight = 0.6
    stage = Stage.FIND
    needs_embedding = False
    saves_stable_arrays = True

    def __init__(self) -> None:
        self._index = GrowingBM25(k1=K1, b=B, delta=0)
        self._languages: Interner[str] = Interner()
        self._language_of = Column(np.int8)
        self._language_counts: list[int] = []  # texts in each language
        self._row_of = Column(np.int32)
        self._asks = Column(np.bool_)  # turns with what they ask
        self._rows = 0

    def apply(self, first: int, versions: Sequence[Remembered | None]) -> None:
        known = max(0, self._rows - first)
        documents: list[list[str]] = []
        languages: list[int] = []
        rows: list[int] = []
        asks: list[bool] = []
        for row, version in enumerate(versions[known:], first + known):
            for words, language, is_asking in passage_tokens(version):
                documents.append(words)
                asks.append(is_asking)
                number = self._languages.intern(language)
                languages.append(number)
                if number == len(self._language_counts):
                    self._language_counts.append(0)
                self._language_counts[number] += 1
                rows.append(row)
        if rows:
            self._index.extend(documents)
            self._language_of.extend(languages)
            self._row_of.extend(rows)
            self._asks.extend(asks)
            self._rows = rows[-1] + 1

    def rank(self, query: Query, limit: int) -> Ranking:
        words, language = (query.terms, query.language) if query.terms else tokens_by_language(query.text)
        terms = sorted(set(words))
        if not terms:
            return Ranking.abstain(self.name, "the question holds only stop words")
        if not self._rows:
            return Ranking.empty(self.name, "nothing is remembered yet")
        corpus = self.corpus_statistics(query.visible)
        terms = sorted({*terms, *self._other_forms(query, language, corpus)})
        scores, matches = self.scores(terms, corpus, query.next_turns)
        related = self._score_related(scores, terms, corpus, matches) if language == ENGLISH else {}
        if query.tells_only:
            scores[self._asks.values] = 0.0
        elif query.telling is not None:  # what a turn asks beside what it tells counts in full
            scores[~query.telling[self._row_of.values]] *= ASKING_SHARE
        if not matches and not related:
            return Ranking.empty(self.name, f"no memory holds {_join_words(terms)}")
        wanted = query.allowed if query.telling is None else query.allowed & query.telling
        rows, best = self._best_per_row(scores, query, self._kth_score(scores, matches, wanted, limit))
        if not len(rows):
            found = list(dict.fromkeys([*matches, *related]))
            return Ranking.empty(self.name, f"no memory that may be returned holds {_join_words(found)}")
        order = top_indices(best, limit)
        for mask, count in ((query.telling, limit), (query.time_mask, limit // 2)):
            if mask is not None:  # what asks takes no place of what tells
                inside = np.flatnonzero(mask[rows])
                order = np.union1d(order, inside[top_indices(best[inside], count)])
                order = order[top_indices(best[order], len(order))]
        has_match = any(self._any_allowed(docs, query.allowed) for docs, _ in matches.values())
        return Ranking(
            self.name,
            rows[order].tolist(),
            best[order].tolist(),
            # Related words alone are not a full match.
            ceiling=None if has_match else float(best[order[0]]) / RELATED_WORD_SHARE,
            explain_rows=lambda wanted: self._reasons(wanted, matches, related),
        )

    def _other_forms(self, query: Query, language: str, corpus: CorpusStatistics) -> Iterable[str]:
        """The words of the question in the forms that they have in texts of other languages, if there are any: a name
        has another stem in a text in Spanish, and the language of a short question may be unknown."""
        names, counts, least = self._languages.values, self._language_counts, OTHER_LANGUAGE_SHARE * corpus.total
        if not any(count > least and name != language for name, count in zip(names, counts, strict=True)):
            return ()
        if corpus.mask is not None:
            counts = np.bincount(self._language_of.values[corpus.mask], minlength=len(names)).tolist()
        others = [name for name, count in zip(names, counts, strict=True) if count > least and name != language]
        return chain.from_iterable(map(query.terms_in, others))

    def corpus_statistics(self, visible: NDArray[np.bool_]) -> CorpusStatistics:
        return self._index.statistics(None if visible.all() else visible[self._row_of.values])

    def scores(
        self, terms: Sequence[str], corpus: CorpusStatistics, next_turns: NextTurns | None = None
    ) -> tuple[NDArray[np.float64], Matches]:
        """BM25 of every document for these words, and the documents that contain each. With `next_turns`, a turn also
        gets a share of the words of the turn before it."""
        scores = np.zeros(len(self._row_of), np.float64)
        matches: Matches = {}
        contains = np.zeros(len(self._row_of), np.bool_)
        for word in terms:
            docs, gains = self._index.gains(word, corpus)
            if len(docs):
                scores[docs] += gains
                after: NDArray[np.integer[Any]] = docs[:0]
                if next_turns is not None:
                    after = self._next_turn_docs(docs, next_turns)
                    contains[docs] = True
                    new = np.flatnonzero((after >= 0) & ~contains[after])
                    contains[docs] = False
                    after = after[new]
                    scores[after] += NEXT_TURN_SHARE * gains[new]
                matches[word] = docs, after
        return scores, matches

    def _score_related(
        self, scores: NDArray[np.float64], terms: Sequence[str], corpus: CorpusStatistics, matches: Matches
    ) -> RelatedMatches:
        """Add scores for words that are related to those of the question, in documents without the word itself; and
        return which documents contain them. No related word counts more than the word of the question."""
        related: RelatedMatches = {}
        for word in terms:
            own = matches[word][0] if word in matches else _NO_DOCUMENTS
            most = corpus.idf(own) if len(own) else inf
            before = scores[own]
            for other, similarity in related_words(word):
                if other in terms:
                    continue
                docs, _ = self._index.documents_with(other, corpus)
                if len(docs):
                    scores[docs] += RELATED_WORD_SHARE * similarity**2 * min(most, corpus.idf(docs))
                    related.setdefault(word, []).append((other, docs))
            scores[own] = before
        return related

    def _next_turn_docs(self, docs: NDArray[np.int32], next_turns: NextTurns) -> NDArray[np.integer[Any]]:
        """The turn after each of these; -1 if there is none."""
        if len(self._row_of) == self._rows:
            return next_turns(docs)
        rows = next_turns(self._row_of.values[docs])
        # Only short turns have one, and each of those is one document.
        return np.where(rows < 0, -1, self._row_of.values.searchsorted(rows))

    def pack(self) -> None:
        self._index.pack()

    def save(self) -> Mapping[str, NDArray[Any]]:
        languages = {"languages": INTERNED.to_array(self._languages), "language_of": self._language_of.values}
        rows = {"row_of": self._row_of.values, "asks": self._asks.values, "rows": np.array([self._rows])}
        return {**self._index.save(), **languages, **rows}

    def load(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        self._index.load(arrays)
        self._languages = INTERNED.from_array(arrays["languages"])
        self._language_of = Column(np.int8, arrays["language_of"])
        self._language_counts = np.bincount(arrays["language_of"], minlength=len(self._languages.values)).tolist()
        self._row_of = Column(np.int32, arrays["row_of"])
        self._asks = Column(np.bool_, arrays["asks"])
        self._rows = int(arrays["rows"][0])

    def _kth_score(
        self, scores: NDArray[np.float64], matches: Matches, allowed: NDArray[np.bool_], limit: int
    ) -> float:
        """A score that at least `limit` rows reach which may be returned; the others need not be looked at. It is the
        lowest of the best among the documents with the rarest words, which are few and score high."""
        if limit >= self._rows:
            return 0.0
        rarest: list[NDArray[np.int32]] = []
        for docs, _ in sorted(matches.values(), key=lambda match: len(match[0])):
            rarest.append(docs)
            if len(docs) > _MANY * limit:
                break  # no less than all the rest
            best_scores = np.unique(np.concatenate(rarest))
            best_scores = best_scores[allowed[self._row_of.values[best_scores]]]
            best_scores = best_scores[run_starts(self._row_of.values[best_scores])]  # one of each row
            if len(best_scores) >= limit:
                return float(np.partition(scores[best_scores], len(best_scores) - limit)[len(best_scores) - limit])
        return 0.0

    def _any_allowed(self, docs: NDArray[np.int32], allowed: NDArray[np.bool_]) -> bool:
        rows = self._row_of.values
        return bool(allowed[rows[docs[:_MANY]]].any() or allowed[rows[docs[_MANY:]]].any())

    def _best_per_row(
        self, scores: NDArray[np.float64], query: Query, least: float
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """The rows that may be returned and have at least this score, or any if they are from the time that is asked
        for, with that of their best document."""
        chosen = scores >= least if least > 0 else scores > 0
        if least > 0 and query.time_mask is not None:
            inside = np.flatnonzero(query.time_mask[self._row_of.values])
            chosen[inside] = scores[inside] > 0
        docs = np.flatnonzero(chosen)  # several times as fast on booleans as on numbers
        rows = self._row_of.values[docs]
        may_return = query.allowed[rows]
        rows, found = rows[may_return], scores[docs[may_return]]
        if len(self._row_of) == self._rows or not len(rows):
            return rows, found
        firsts = run_starts(rows)  # documents of one row are adjacent
        return rows[firsts], np.maximum.reduceat(found, firsts)

    def _reasons(self, rows: Sequence[int], matches: Matches, related: RelatedMatches) -> list[str]:
        """For each of these rows the words that it contains, that the turn before it contains, and related ones."""
        # Rows and documents are sorted, so the documents of a row are a range, and so are those of a posting.
        # With another number type the posting would be copied for each look-up.
        firsts, ends = (self._row_of.values.searchsorted(rows, side).astype(np.int32) for side in ("left", "right"))

        def holds(docs: NDArray[np.int32]) -> list[bool]:
            found: list[bool] = (docs.searchsorted(firsts) < docs.searchsorted(ends)).tolist()
            return found

        follows = np.zeros(len(self._row_of), np.bool_)
        words = []
        for word, (docs, after) in matches.items():
            follows[after] = True
            words.append((word, holds(docs), follows[firsts].tolist()))
            follows[after] = False
        others = [(word, other, holds(docs)) for word, found in related.items() for other, docs in found]
        explanations = []
        for place in range(len(rows)):
            own = [word for word, contains, _ in words if contains[place]]
            previous = [word for word, contains, after in words if after[place] and not contains[place]]
            instead: dict[str, str] = {}
            for word, other, contains in others:
                if contains[place] and word not in own:
                    instead.setdefault(word, f"'{other}' for '{word}'")
            reasons = [f"holds {_join_words(own)}"] if own else []
            reasons += [f"follows a turn that holds {_join_words(previous)}"] if previous else []
            reasons += [f"says {', '.join(list(instead.values())[:_MAX_LISTED])}"] if instead else []
            explanations.append(" and ".join(reasons))
        return explanations


def passage_tokens(version: Remembered | None) -> list[tuple[list[str], str, bool]]:
    """The words and the language of each passage of one version, and whether it asks; at least one. The tags of a text
    in one passage are words of it: those of a fact are what a language model would search for it by."""
    found = [(*tokens_by_language(passage.text), passage.asks) for passage in passages_of(version)]
    if version is not None and version.turn is None and len(found) == 1:
        [(words, language, asks)] = found
        tags = [word for tag in version.tags if tag != PLAN_TAG for word in tokens(tag, language)]
        found = [([*words, *tags], language, asks)]
    return found or [([], ENGLISH, False)]


def _join_words(words: Sequence[str]) -> str:
    shown = ", ".join(f"'{word}'" for word in words[:_MAX_LISTED])
    return shown + (" …" if len(words) > _MAX_LISTED else "")
