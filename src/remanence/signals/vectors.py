"""Which memories mean something near the question.

The vectors themselves lie in Qdrant (`remanence.signals.stores`); the ledger keeps every one that was
ever made, by the hash of its text. This room knows which point belongs to which row, fills the store
from the ledger, and turns nearest points into nearest memories.

Search is exact under every filter. Few rows allowed: the store is given their points. Many: it is asked
for more than needed, unfiltered, and what is not allowed is passed over; whatever survives of an exact
scan is exact, and if too little survives, more is asked for. (An HNSW index under a filter silently
loses recall; a filter evaluated per point costs more than the scan.)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from remanence.events import Remembered
from remanence.language.text import text_hash
from remanence.ports import Stage
from remanence.schema import Query, Ranking
from remanence.state.columns import Column

if TYPE_CHECKING:
    from remanence.ports import Vector, VectorStore

PASSAGE_BITS = 12
MOST_PASSAGES = 1 << PASSAGE_BITS
_FEW = 4_000
_BATCH = 4_096

Kept = Callable[[Sequence[bytes]], Mapping[bytes, "Vector"]]
"""Gives the embeddings that the ledger keeps for these text hashes."""


class Vectors:
    """Memories by meaning."""

    name = "vectors"
    weight = 0.4
    stage = Stage.SCORE
    needs_embedding = True

    def __init__(self, store: VectorStore, kept: Kept) -> None:
        self._store = store
        self._kept = kept
        self._points = Column(np.int64)
        self._hashes = Column(np.uint8, width=16)
        self._rows = 0
        self.missing_vectors: dict[int, bytes] = {}
        """Points whose text has no embedding yet: the embedder was down when they were added."""

    def apply(self, first: int, versions: Sequence[Remembered | None]) -> None:
        """Take in versions numbered from row `first`."""
        points: list[int] = []
        hashes: list[bytes] = []
        for row, version in enumerate(versions, first):
            if row < self._rows:
                continue
            self._rows = row + 1
            for number, text in enumerate(passage_texts(version)):
                points.append(row << PASSAGE_BITS | number)
                hashes.append(text_hash(text))
        if points:
            self._points.extend(points)
            self._hashes.extend(np.frombuffer(b"".join(hashes), np.uint8).reshape(-1, 16))
            self._fill(points, hashes)

    def reconcile(self) -> None:
        """Make the store hold exactly the points of the rows taken in.

        A store that was killed, copied or emptied is mended from the ledger here.
        """
        expected = self._points.values
        there = np.array(self._store.ids(), np.int64)
        surplus = np.setdiff1d(there, expected)
        if len(surplus):
            self._store.delete(surplus.tolist())
        lacking = np.flatnonzero(~np.isin(expected, there))
        if len(lacking):
            hashes = self._hashes.values[lacking]
            self._fill(expected[lacking].tolist(), [h.tobytes() for h in hashes])

    def text_hashes(self) -> list[bytes]:
        """The hashes of the texts that have a point, each once, in the order they came."""
        return list(dict.fromkeys(h.tobytes() for h in self._hashes.values))

    def rows_missing_vectors(self) -> list[int]:
        """The rows that have a passage without an embedding."""
        return sorted({point >> PASSAGE_BITS for point in self.missing_vectors})

    def fill_missing_vectors(self) -> None:
        """Try again the points that had no embedding."""
        if self.missing_vectors:
            waiting, self.missing_vectors = self.missing_vectors, {}
            self._fill(list(waiting), list(waiting.values()))

    def rank(self, query: Query, limit: int) -> Ranking:
        """The rows nearest in meaning; a row is as near as its nearest passage."""
        ranking = self._rank(query, limit)
        if not self.missing_vectors:
            return ranking
        reason = f"{len(self.missing_vectors)} passages have no vector yet: the embedder was down"
        return replace(ranking, missing_reason=reason)

    def _rank(self, query: Query, limit: int) -> Ranking:
        if query.vector is None:
            return Ranking.abstain(self.name, "the question was not embedded")
        if not np.any(query.vector):
            return Ranking.abstain(self.name, "the question holds no word the embedder knows")
        if not len(self._points):
            return Ranking.empty(self.name, "nothing is remembered yet")
        nearest = self._nearest(query.vector, query.allowed, limit)
        if not nearest:
            return Ranking.empty(self.name, "no memory that may answer has a vector")
        if query.time_mask is not None:
            nearest |= self._nearest(query.vector, query.time_mask, limit // 2)
        by_row = nearest | self._of_rows(query, set(query.candidate_rows) - nearest.keys())
        found = np.fromiter(by_row, np.int64, len(by_row))
        nearness = np.fromiter(by_row.values(), np.float64, len(by_row))
        order = np.lexsort((found, -nearness))
        return Ranking(
            self.name,
            found[order].tolist(),
            nearness[order].tolist(),
            # Where all are further off than that, it says nothing about which of them is nearest.
            floor=query.similarity_floor if nearness.max() > query.similarity_floor else 0.0,
            exponent=2.0,  # any two texts are somewhat similar: only high similarity counts
            explain_rows=lambda rows: [f"nearness {by_row[row]:.2f}" for row in rows],
        )

    def save(self) -> Mapping[str, NDArray[Any]]:
        """Which points belong to which rows and texts."""
        self._store.flush()
        return {"points": self._points.values, "hashes": self._hashes.values, "rows": np.array([self._rows])}

    def load(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Become the index that `save` wrote."""
        self._points = Column(np.int64, arrays["points"])
        self._hashes = Column(np.uint8, arrays["hashes"])
        self._rows = int(arrays["rows"][0])

    def count_mismatched_points(self) -> int:
        """How many points the store lacks or has too many, less those that have no embedding yet."""
        expected = {int(point) for point in self._points.values} - set(self.missing_vectors)
        return len(expected ^ set(self._store.ids()))

    def clear(self) -> None:
        """Drop every point, before a rebuild."""
        self._store.clear()

    def close(self) -> None:
        """Let go of the store."""
        self._store.close()

    def _fill(self, points: list[int], hashes: list[bytes]) -> None:
        for begin in range(0, len(points), _BATCH):
            some, keys = points[begin : begin + _BATCH], hashes[begin : begin + _BATCH]
            kept = self._kept(keys)
            made = [(point, kept[key]) for point, key in zip(some, keys, strict=True) if key in kept]
            self.missing_vectors.update((p, k) for p, k in zip(some, keys, strict=True) if k not in kept)
            if made:
                self._store.upsert([point for point, _ in made], np.array([vector for _, vector in made]))

    def _of_rows(self, query: Query, rows: set[int]) -> dict[int, float]:
        """How near these very rows are."""
        if not rows or query.vector is None:
            return {}
        starts = np.array(sorted(rows), np.int64) << PASSAGE_BITS
        bounds = np.searchsorted(self._points.values, [starts, starts + MOST_PASSAGES])
        stretches = [self._points.values[begin:end] for begin, end in bounds.T.tolist()]
        points = np.concatenate(stretches).tolist()
        found = self._store.search(query.vector, len(points), points)
        return _by_row(*found, query.allowed, len(rows))

    def _nearest(self, vector: Vector, allowed: NDArray[np.bool_], limit: int) -> dict[int, float]:
        """The rows that may answer and are nearest, nearest first, and how near each is."""
        points = self._points.values
        open_rows = int(np.count_nonzero(allowed))
        if not open_rows:
            return {}
        only, total, odds = None, len(points), len(points) / open_rows
        if open_rows <= _FEW and open_rows < len(allowed):
            only = points[allowed[points >> PASSAGE_BITS]].tolist()
            total, odds = len(only), len(only) / open_rows
        # Passages of one row may crowd out others, and rows that may not answer those that may.
        wanted = int(limit * odds) + limit // 4
        while True:
            found = _by_row(*self._store.search(vector, min(wanted, total), only), allowed, limit)
            if len(found) >= limit or wanted >= total:
                return found
            wanted *= 4


def passage_texts(version: Remembered | None) -> list[str]:
    """The texts of one version that are embedded: each passage, or the whole."""
    if version is None:
        return []
    if not version.passages:
        return [version.text]
    return [version.text[start:end] for start, end in version.passages]


def _by_row(points: Sequence[int], scores: Sequence[float], allowed: NDArray[np.bool_], limit: int) -> dict[int, float]:
    """The first `limit` rows that may answer, each with its best point's score."""
    rows = np.array(points, np.int64) >> PASSAGE_BITS
    # A server may hold points of rows that another process has added since this view was taken.
    kept = (allowed.take(rows, mode="clip") & (rows < len(allowed))).tolist()
    best: dict[int, float] = {}
    for row, score, may in zip(rows.tolist(), scores, kept, strict=True):
        if may and row not in best:
            best[row] = score
            if len(best) == limit:
                break
    return best
