"""The vectors signal: memories near the question in meaning.

The vectors themselves lie in a vector store; the ledger has every one that was ever made, by the hash of its text.

Search is exact under every filter. If few rows are allowed, the store is given their points. If many are, it is asked
for more than needed without a filter, and what is not allowed is skipped; if too little is left, more is asked for. (An
HNSW index under a filter silently loses recall; a filter evaluated for each point costs more than the scan.)
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from remanence.errors import ProjectionUnreachable
from remanence.events import Remembered
from remanence.language.text import text_hash
from remanence.ports import Stage
from remanence.schema import Query, Ranking
from remanence.state.columns import Column

if TYPE_CHECKING:
    from remanence.ports import Vector, VectorStore

log = logging.getLogger(__name__)

PASSAGE_BITS = 12
MAX_PASSAGES = 1 << PASSAGE_BITS
_MAX_FILTERED_ROWS = 4_000
_BATCH = 4_096
_MIN_RETRY_SECONDS = 1.0
_TOLERANCE = 2e-3  # of a product of unit vectors, one of them in half precision

LoadVectors = Callable[[Sequence[bytes]], Mapping[bytes, "Vector"]]
"""Returns the embeddings that the ledger has for these text hashes."""


class Vectors:
    name = "vectors"
    weight = 0.4
    stage = Stage.SCORE
    needs_embedding = True

    def __init__(self, store: VectorStore, load_vectors: LoadVectors) -> None:
        self._store = store
        self._load_vectors = load_vectors
        self._points = Column(np.int64)
        self._hashes = Column(np.uint8, width=16)
        self._rows = 0
        self.unreachable: str | None = None
        """Why the store is not asked for now: its server does not answer."""
        self._retry_at = 0.0
        self.has_undeleted = False
        """Whether the store may have vectors that were to be deleted while its server did not answer."""
        self.missing_vectors: dict[int, bytes] = {}
        """Points whose text has no embedding yet: the embedder was down when they were added."""

    def apply(self, first: int, versions: Sequence[Remembered | None]) -> None:
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

    def __len__(self) -> int:
        return len(self._points)

    @property
    def memory_bytes(self) -> int:
        """About how much memory the vectors take, if the store can tell."""
        return int(getattr(self._store, "memory_bytes", 0))

    def reconcile(self) -> None:
        """Make the store contain exactly the points of the indexed rows, also if it was killed, copied or emptied."""
        with self._reachable():
            expected, hashes = self._points.values, self._hashes.values
            stored = np.array(self._store.ids(), np.int64)
            if len(stored):  # a small space keeps none
                surplus = np.setdiff1d(stored, expected)
                if len(surplus):
                    self._store.delete(surplus.tolist())
                missing = np.flatnonzero(~np.isin(expected, stored))
                expected, hashes = expected[missing], hashes[missing]
            self.unreachable, self.has_undeleted = None, False
            self._fill(expected.tolist(), [key.tobytes() for key in hashes])

    def erase(self, rows: Sequence[int]) -> None:
        """Remove the points of these rows, also from the store."""
        chosen = np.zeros(len(self._points), np.bool_)
        for begin, end in self._places(rows).tolist():
            chosen[begin:end] = True
        if chosen.any():
            points = self._points.values[chosen].tolist()
            self._points = Column(np.int64, self._points.values[~chosen])
            self._hashes = Column(np.uint8, self._hashes.values[~chosen])
            for point in points:
                self.missing_vectors.pop(point, None)
            if self.unreachable is None:  # otherwise `reconcile` deletes them when the server is back
                with self._reachable():
                    self._store.delete(points)
            self.has_undeleted |= self.unreachable is not None

    def hashes_outside(self, rows: Sequence[int], hashes: Collection[bytes]) -> set[bytes]:
        """Those of these text hashes that a row other than these has."""
        if not hashes or not len(self._hashes):
            return set()
        wanted = np.frombuffer(b"".join(hashes), np.uint64)[::2]
        # The first half of each hash selects few candidates, which are then compared in full.
        found = np.isin(np.ascontiguousarray(self._hashes.values).view(np.uint64)[:, 0], wanted)
        for begin, end in self._places(rows).tolist():
            found[begin:end] = False
        return {key.tobytes() for key in self._hashes.values[found]} & set(hashes)

    def text_hashes(self) -> list[bytes]:
        return list(dict.fromkeys(h.tobytes() for h in self._hashes.values))

    def rows_missing_vectors(self) -> list[int]:
        return sorted({point >> PASSAGE_BITS for point in self.missing_vectors})

    def fill_missing_vectors(self) -> None:
        missing, self.missing_vectors = self.missing_vectors, {}
        self._fill(list(missing), list(missing.values()))

    def rank(self, query: Query, limit: int) -> Ranking:
        """The rows nearest in meaning; a row is as near as its nearest passage."""
        self.retry()
        if self.unreachable is None:
            with self._reachable():
                return self._with_problems(self._rank(query, limit))
        return Ranking.unavailable(self.name, self.unreachable or "")

    def _with_problems(self, ranking: Ranking) -> Ranking:
        """The ranking, with what it lacks."""
        reasons = [getattr(self._store, "problem", None)]
        if self.missing_vectors:
            reasons.append(f"{len(self.missing_vectors)} passages have no vector yet: the embedder was down")
        reason = "; ".join(filter(None, reasons))
        return replace(ranking, missing_reason=reason) if reason else ranking

    def _rank(self, query: Query, limit: int) -> Ranking:
        if query.vector is None:
            return Ranking.abstain(self.name, "the question was not embedded")
        if not np.any(query.vector):
            return Ranking.abstain(self.name, "the question holds no word the embedder knows")
        if not len(self._points):
            return Ranking.empty(self.name, "nothing is remembered yet")
        nearest = self._nearest(query.vector, query.allowed, limit)
        if not nearest:
            return Ranking.empty(self.name, "no memory that may be returned has a vector")
        if query.time_mask is not None:
            nearest |= self._nearest(query.vector, query.time_mask, limit // 2)
        by_row = nearest | self._score_rows(query, set(query.candidate_rows) - nearest.keys())
        found = np.fromiter(by_row, np.int64, len(by_row))
        nearness = np.fromiter(by_row.values(), np.float64, len(by_row))
        order = np.lexsort((found, -nearness))
        return Ranking(
            self.name,
            found[order].tolist(),
            nearness[order].tolist(),
            # If all are below the floor, it does not tell which of them is nearest.
            floor=query.similarity_floor if nearness.max() > query.similarity_floor else 0.0,
            exponent=2.0,  # any two texts are somewhat similar: only high similarity counts
            explain_rows=lambda rows: [f"nearness {by_row[row]:.2f}" for row in rows],
        )

    def save(self) -> Mapping[str, NDArray[Any]]:
        with self._reachable():
            self._store.flush()
        return {"points": self._points.values, "hashes": self._hashes.values, "rows": np.array([self._rows])}

    def load(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        self._points = Column(np.int64, arrays["points"])
        self._hashes = Column(np.uint8, arrays["hashes"])
        self._rows = int(arrays["rows"][0])

    def differences(self) -> list[str]:
        """What is wrong with the store: points that are missing or do not belong there, except those without an
        embedding, and vectors that are not those of the ledger."""
        expected = {int(point) for point in self._points.values} - set(self.missing_vectors)
        out: list[str] = []
        with self._reachable():
            if mismatched := len(expected ^ set(self._store.ids())):
                out.append(f"{mismatched} points are missing from the store, or do not belong to it")
            if changed := self._count_changed_vectors():
                out.append(f"{changed} vectors in the store are not those of the ledger")
        return out if self.unreachable is None else [*out, self.unreachable]

    def _count_changed_vectors(self) -> int:
        """How many vectors of the store differ from those of the ledger. A store cannot be asked for a vector, only for
        its product with another: that with a random one tells nearly any two apart."""
        changed = 0
        for begin in range(0, len(self._points), _BATCH):
            points = self._points.values[begin : begin + _BATCH].tolist()
            keys = [key.tobytes() for key in self._hashes.values[begin : begin + _BATCH]]
            vectors = self._load_vectors(keys)
            known = [(point, vectors[key]) for point, key in zip(points, keys, strict=True) if key in vectors]
            if not known:
                continue
            matrix = np.array([vector for _, vector in known])
            probe = np.random.default_rng().standard_normal(matrix.shape[1], np.float32)
            probe /= np.linalg.norm(probe)
            expected = dict(zip((point for point, _ in known), (matrix @ probe).tolist(), strict=True))
            found = zip(*self._store.search(probe, len(known), list(expected)), strict=True)
            # Not `>`: a damaged vector may give NaN.
            changed += sum(not abs(score - expected[point]) <= _TOLERANCE for point, score in found)
        return changed

    def clear(self) -> None:
        """Remove all points. A store that does not answer is made to agree with the index when it does."""
        with self._reachable():
            self._store.clear()
        self.has_undeleted |= self.unreachable is not None

    def retry(self) -> None:
        """Ask a server again that did not answer, if it is time to."""
        if self.unreachable is not None and time.monotonic() >= self._retry_at:
            self.reconcile()

    def close(self) -> None:
        self._store.close()

    def _fill(self, points: list[int], hashes: list[bytes]) -> None:
        for begin in range(0, len(points), _BATCH):
            batch, keys = points[begin : begin + _BATCH], hashes[begin : begin + _BATCH]
            vectors = self._load_vectors(keys)
            found = [(point, vectors[key]) for point, key in zip(batch, keys, strict=True) if key in vectors]
            self.missing_vectors.update((p, key) for p, key in zip(batch, keys, strict=True) if key not in vectors)
            if found and self.unreachable is None:
                with self._reachable():
                    self._store.upsert([point for point, _ in found], np.array([vector for _, vector in found]))

    @contextmanager
    def _reachable(self) -> Iterator[None]:
        """If the server of the store does not answer, it is not asked for a while, and then made to agree with the
        index; that is longer for one that does not even refuse, for callers wait meanwhile."""
        begin = time.monotonic()
        try:
            yield
        except ProjectionUnreachable as error:
            log.warning("the signal 'vectors' is missing for now: %s", error)
            self.unreachable = str(error)
            now = time.monotonic()
            self._retry_at = now + max(_MIN_RETRY_SECONDS, 10 * (now - begin))

    def _score_rows(self, query: Query, rows: set[int]) -> dict[int, float]:
        if not rows or query.vector is None:
            return {}
        ranges = [self._points.values[begin:end] for begin, end in self._places(sorted(rows)).tolist()]
        points = np.concatenate(ranges).tolist()
        found = self._store.search(query.vector, len(points), points)
        return _by_row(*found, query.allowed, len(rows))

    def _places(self, rows: Sequence[int]) -> NDArray[np.int64]:
        """For each of these rows where its points begin and end among all."""
        starts = np.array(rows, np.int64) << PASSAGE_BITS
        bounds: NDArray[np.int64] = np.searchsorted(self._points.values, [starts, starts + MAX_PASSAGES]).T
        return bounds

    def _nearest(self, vector: Vector, allowed: NDArray[np.bool_], limit: int) -> dict[int, float]:
        """The nearest rows that may be returned, nearest first, with their similarity."""
        points = self._points.values
        open_rows = int(np.count_nonzero(allowed))
        if not open_rows:
            return {}
        only, total, odds = None, len(points), len(points) / open_rows
        if open_rows <= _MAX_FILTERED_ROWS and open_rows < len(allowed):
            only = points[allowed[points >> PASSAGE_BITS]].tolist()
            total, odds = len(only), len(only) / open_rows
        # Passages of one row take places, and so do rows that may not be returned.
        wanted = int(limit * odds) + limit // 4
        while True:
            found = _by_row(*self._store.search(vector, min(wanted, total), only), allowed, limit)
            if len(found) >= limit or wanted >= total:
                return found
            wanted *= 4


def passage_texts(version: Remembered | None) -> list[str]:
    """The texts of one version that are embedded: each passage that is not empty, or the whole text."""
    if version is None:
        return []
    if not version.passages:
        return [version.text]
    return [version.text[start:end] for start, end in version.passages if start < end]


def _by_row(points: Sequence[int], scores: Sequence[float], allowed: NDArray[np.bool_], limit: int) -> dict[int, float]:
    """The first `limit` rows that may be returned, each with the score of its best point."""
    rows = np.array(points, np.int64) >> PASSAGE_BITS
    # A server may have points of rows that another process has added since.
    returned = (allowed.take(rows, mode="clip") & (rows < len(allowed))).tolist()
    best: dict[int, float] = {}
    for row, score, allowed_row in zip(rows.tolist(), scores, returned, strict=True):
        if allowed_row and row not in best:
            best[row] = score
            if len(best) == limit:
                break
    return best
