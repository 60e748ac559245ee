"""Postings: which documents contain which word, and how often. The base is packed by word. New words are appended to a
tail, which is searched directly. A long tail is packed: a small base at once, a large one in a thread."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from remanence.state.arrays.background import BackgroundBuild
from remanence.state.arrays.columns import Column, PackedTexts, run_starts

_MAX_TAIL = 2_048
"""The length of a tail that is not packed, plus one word for every 32 in the base."""
_PACKED_AT_ONCE = 1 << 18
"""The length of a base that is packed while others wait: it takes a few milliseconds."""


class _Packed(NamedTuple):
    """Postings by word: where those of each word begin, the documents, and how often each contains the word."""

    starts: NDArray[np.int64]
    docs: NDArray[np.int32]
    counts: NDArray[np.int32]


class Postings:
    """Words to the documents that contain them; documents are numbered in the order they are added."""

    def __init__(self, terms: Sequence[str] = ()) -> None:
        self._terms = dict(zip(terms, range(len(terms)), strict=True))
        self._packed_terms = PackedTexts()
        self._base = _Packed(np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0, np.int32))
        self._tail_terms = Column(np.int32)
        self._tail_docs = Column(np.int32)
        self._build: BackgroundBuild[tuple[_Packed, int]] = BackgroundBuild()

    def __iter__(self) -> Iterator[str]:
        return iter(self._terms)

    def __len__(self) -> int:
        return len(self._terms)

    def term_ids(self, words: Iterable[str]) -> list[int]:
        """The numbers of these words; new words get one."""
        return [self._terms.setdefault(word, len(self._terms)) for word in words]

    def extend(self, terms: Sequence[int] | NDArray[np.int32], docs: NDArray[np.int32]) -> None:
        """Add words by number, each with its document; documents come in order."""
        self._tail_terms.extend(terms)
        self._tail_docs.extend(docs)

    def lookup(self, word: str) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The documents that contain a word, sorted, and how often."""
        term = self._terms.get(word)
        packed = slice(0, 0)
        base = self._base
        if term is not None and term + 1 < len(base.starts):
            packed = slice(int(base.starts[term]), int(base.starts[term + 1]))
        docs, counts = base.docs[packed], base.counts[packed]
        if term is None or not len(self._tail_terms):
            return docs, counts
        places = np.flatnonzero(self._tail_terms.values == term)
        if not len(places):
            return docs, counts
        new = self._tail_docs.values[places]
        firsts = run_starts(new)
        return np.concatenate((docs, new[firsts])), np.concatenate((counts, np.diff(firsts, append=len(new))))

    def pack_if_needed(self) -> None:
        """Pack a long tail, or use what was packed meanwhile."""
        if (made := self._build.pop_result()) is not None:
            self._set_base(*made)
        if len(self._tail_terms) > _MAX_TAIL + len(self._base.docs) // 32:
            if len(self._base.docs) <= _PACKED_AT_ONCE:
                self.pack()
            else:
                base, terms, docs, count = self._base, self._tail_terms.values, self._tail_docs.values, len(self._terms)
                self._build.start(lambda: (_merged(base, terms, docs, count), len(terms)))

    def pack(self) -> None:
        """Merge the whole tail into the base."""
        self._build.cancel()
        terms, docs = self._tail_terms.values, self._tail_docs.values
        if len(terms):
            self._set_base(_merged(self._base, terms, docs, len(self._terms)), len(terms))

    def save(self) -> Mapping[str, NDArray[Any]]:
        if len(self._base.docs) <= _PACKED_AT_ONCE:
            self.pack()  # a tail that is loaded is searched for each word
        tail = {"tail_terms": self._tail_terms.values, "tail_docs": self._tail_docs.values}
        return {"terms": self._packed_terms.array(self._terms), **self._base._asdict(), **tail}

    @classmethod
    def load(cls, arrays: Mapping[str, NDArray[Any]]) -> Postings:
        terms = arrays["terms"]
        postings = cls(PackedTexts.unpack(terms))
        postings._packed_terms = PackedTexts(terms, len(postings))
        # Copies: a view would keep the whole content of the index file in memory.
        postings._base = _Packed(*(arrays[name].copy() for name in _Packed._fields))
        postings.extend(arrays["tail_terms"], arrays["tail_docs"])
        return postings

    def _set_base(self, base: _Packed, from_tail: int) -> None:
        """Use a base that contains this many words of the tail."""
        self._base = base
        self._tail_terms = Column(np.int32, self._tail_terms.values[from_tail:])
        self._tail_docs = Column(np.int32, self._tail_docs.values[from_tail:])


def _merged(base: _Packed, terms: NDArray[np.int32], docs: NDArray[np.int32], term_count: int) -> _Packed:
    """The base with the words of a tail after the postings that each word has there."""
    order = np.argsort(terms, kind="stable")
    terms, docs = terms[order], docs[order]
    firsts = run_starts(terms.astype(np.int64) << 32 | docs)
    terms, docs, counts = terms[firsts], docs[firsts], np.diff(firsts, append=len(terms))
    ends = np.full(term_count, len(base.docs), np.int64)
    ends[: len(base.starts) - 1] = base.starts[1:]
    added = np.bincount(terms, minlength=len(ends)).cumsum()
    return _Packed(
        np.concatenate(([0], ends + added)),
        np.insert(base.docs, ends[terms], docs),
        np.insert(base.counts, ends[terms], counts),
    )
