"""The vectors signal: memories near the question in meaning.

The vectors themselves lie in a vector store; the ledger has every one that was ever made, by the hash of its text.

If few rows are allowed, the store is given their points. If many are, it is asked for more than needed without a
filter, and what is not allowed is skipped; if too little is left, more is asked for. (An HNSW index under a filter
silently loses recall; a filter evaluated for each point costs more than the scan.)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

from remanence.index.names.names import version_names
from remanence.index.numbers import Row
from remanence.index.passages import ASKING_SHARE, passages_of
from remanence.index.vectors.shared_store_sync import SharedStoreSync
from remanence.index.vectors.store_sync import ASKING, PASSAGE_BITS, PointTable, StoreSync
from remanence.ports import ReportingVectorStore, SharedVectorStore, Stage
from remanence.schema import Query, Ranking

if TYPE_CHECKING:
    from remanence.events import Remembered
    from remanence.index.versions.catalog import Catalog
    from remanence.ports import Vector, VectorStore
    from remanence.ports.vector_ports import LoadVectors

_EXPONENT = 2.0
"""The power that scaled nearness is raised to: any two texts are somewhat similar, so only high nearness counts."""


class Vectors(PointTable):
    """The vectors of one space: its points, and their vectors in a store.

    Args:
        store: Where they are.
        load_vectors: Returns the embeddings that the ledger has.
        catalog: Returns the catalog of the index, for a store that other processes write to as well.
    """

    name = "vectors"
    weight = 0.53
    stage = Stage.SCORE
    needs_embedding = True
    saves_stable_arrays = True

    def __init__(
        self, store: VectorStore, load_vectors: LoadVectors, catalog: Callable[[], Catalog] | None = None
    ) -> None:
        super().__init__()
        self._store = store
        self.sync = StoreSync(store, self, load_vectors)
        # Not `isinstance`, which takes as long as a tenth of opening a small space.
        reports = issubclass(type(store), ReportingVectorStore)
        self._reporting_store = cast("ReportingVectorStore", store) if reports else None
        if catalog is not None and issubclass(type(store), SharedVectorStore):
            shared = cast("SharedVectorStore", store)
            self.sync = SharedStoreSync(shared, self, load_vectors, catalog)

    @property
    def memory_bytes(self) -> int:
        """About how much memory the vectors take, if the store can tell."""
        store = self._reporting_store
        return 0 if store is None else store.memory_bytes()

    def apply(self, first: int, versions: Sequence[Remembered | None]) -> None:
        # The index is read again while the points stay: what has lost its text since then was erased.
        known = self.row_count
        if erased := [Row(row) for row, version in enumerate(versions, first) if version is None and row < known]:
            self.erase(erased)
        points, hashes = self.add(first, versions)
        if points:
            self.sync.add(points, hashes)

    def erase(self, rows: Sequence[Row]) -> None:
        """Remove the points of these rows, also from the store."""
        points = self.remove(rows)
        if len(points):
            self.sync.delete(points.tolist())

    def rank(self, query: Query, limit: int) -> Ranking:
        """The rows nearest in meaning; a row is as near as its nearest passage."""
        sync = self.sync
        sync.retry()
        if sync.unreachable is None:
            sync.schedule_audit()
            with sync.reachable():
                return self._with_problems(self._rank(query, limit))
        return Ranking.unavailable(self.name, sync.unreachable or "")

    def _with_problems(self, ranking: Ranking) -> Ranking:
        """The ranking, with what it lacks."""
        store, missing = self._reporting_store, self.sync.missing_vectors
        reasons = [None if store is None else store.problem(), self.sync.incomplete]
        # Of what is pasted the first passage has one: the others are read in the background.
        if any(point & ASKING in (0, ASKING) for point in missing):
            reasons.append(f"{len(missing)} passages have no vector yet")
        reason = "; ".join(filter(None, reasons))
        return replace(ranking, missing_reason=reason) if reason else ranking

    def _rank(self, query: Query, limit: int) -> Ranking:
        if query.vector is None:
            return Ranking.abstain(self.name, "the question was not embedded")
        if not np.any(query.vector):
            return Ranking.abstain(self.name, "the question contains no word that the embedder knows")
        if not len(self):
            return Ranking.empty(self.name, "nothing is remembered yet")
        nearest = self._nearest(query, query.allowed, limit)
        if not nearest:
            return Ranking.empty(self.name, "no memory that may be returned has a vector")
        if query.telling is not None:  # what asks takes no place of what tells
            nearest |= self._nearest(query, query.allowed & query.telling, limit)
        if query.time_mask is not None:
            nearest |= self._nearest(query, query.time_mask, limit // 2)
        by_row = nearest | self._score_rows(query, set(query.candidate_rows) - nearest.keys())
        found = np.fromiter(by_row, np.int64, len(by_row))
        nearness = np.fromiter(by_row.values(), np.float64, len(by_row))
        order = np.lexsort((found, -nearness))
        return Ranking(
            self.name,
            found[order].tolist(),
            nearness[order].tolist(),
            # If all are below the floor, the search does not know which of them is nearest.
            floor=query.similarity_floor if nearness.max() > query.similarity_floor else 0.0,
            exponent=_EXPONENT,
            explain_rows=lambda rows: [f"nearness {by_row[row]:.2f}" for row in rows],
        )

    def _score_rows(self, query: Query, rows: set[int]) -> dict[int, float]:
        if not rows or query.vector is None:
            return {}
        ranges = [self.points[begin:end] for begin, end in self.ranges_of(sorted(rows)).tolist()]
        points = np.concatenate(ranges).tolist()
        found = self._store.search(query.vector, len(points), points)
        return _by_row(*found, query, query.allowed, len(rows))[0]

    def _nearest(self, query: Query, allowed: NDArray[np.bool_], limit: int) -> dict[int, float]:
        """The nearest rows that may be returned, nearest first, with their similarity."""
        points = self.points
        open_rows = int(np.count_nonzero(allowed))
        if not open_rows:
            return {}
        only, total, odds = None, len(points), len(points) / open_rows
        # Of more rows, a store searches all, and the others are left out after.
        if open_rows <= 4_000 and open_rows < len(allowed):
            only = points[allowed[points >> PASSAGE_BITS]].tolist()
            total, odds = len(only), len(only) / open_rows
        # Fetch more than `limit`: several passages belong to one row, and some rows are not allowed.
        fetch_limit = int(limit * odds) + limit // 4
        while True:
            asked = min(fetch_limit, total)
            # A shared store may have points of rows that another process has added since. They take places too.
            extra = self.sync.extra_results if asked == total else 0
            ids, scores = self._store.search(cast("Vector", query.vector), asked + extra, only)
            if len(ids) < asked - len(self.sync.missing_vectors):
                self.sync.mark_incomplete()
            by_row, is_complete = _by_row(ids, scores, query, allowed, limit)
            if is_complete or fetch_limit >= total:
                return by_row
            fetch_limit *= 4


def _by_row(
    points: Sequence[int], scores: Sequence[float], query: Query, allowed: NDArray[np.bool_], limit: int
) -> tuple[dict[int, float], bool]:
    """The first rows that may be returned, each with the score of its best point, until `limit` of them do more than
    ask, which takes no place of what tells; and whether there are as many."""
    numbers, nearness, floor = np.array(points, np.int64), np.array(scores, np.float64), query.similarity_floor
    rows, asks = numbers >> PASSAGE_BITS, (numbers & ASKING) == ASKING
    if query.tells_only:
        returned = ~asks
    else:
        returned = np.ones(len(rows), np.bool_)
        if query.telling is not None and asks.any():
            asks &= ~query.telling.take(rows, mode="clip")  # what a turn asks beside what it tells counts in full
            # So that the scaled score, raised to the exponent, is this share.
            lowered = floor + ASKING_SHARE ** (1 / _EXPONENT) * np.maximum(nearness - floor, 0.0)
            nearness = np.where(asks, np.minimum(nearness, lowered), nearness)
            order = np.argsort(-nearness, kind="stable")
            rows, nearness = rows[order], nearness[order]
    returned &= allowed.take(rows, mode="clip") & (rows < len(allowed))
    rows, nearness = rows[returned], nearness[returned]
    tells = np.ones(len(rows), np.bool_) if query.telling is None else query.telling.take(rows, mode="clip")
    best: dict[int, float] = {}
    told = 0
    for row, score, row_tells in zip(rows.tolist(), nearness.tolist(), tells.tolist(), strict=True):
        if row not in best:
            best[row] = score
            told += row_tells
            if told == limit:
                break
    return best, told == limit


def embeddable_texts(version: Remembered) -> list[str]:
    """All texts of a version that may have a vector: the names in it, and its passages."""
    return [name for name, _ in version_names(version)] + [passage.text for passage in passages_of(version)]


def drop_malformed(vectors: Mapping[bytes, Vector], dimension: int | None) -> dict[bytes, Vector]:
    """Those of these vectors that the embedder could have made: of its dimension, and of unit length or all zeros. A
    ledger that was changed from outside, or imported by an earlier release, may have others; they are made again."""
    sized = dict(vectors)
    if set(map(len, sized.values())) != {dimension}:
        sized = {key: vector for key, vector in vectors.items() if len(vector) == dimension}
    if not sized:
        return {}
    matrix = np.concatenate(list(sized.values())).reshape(len(sized), -1)
    lengths = np.sqrt(np.einsum("ij,ij->i", matrix, matrix))
    valid = (np.abs(lengths - 1) < 0.01) | (lengths == 0)
    return sized if valid.all() else {key: sized[key] for key, good in zip(sized, valid.tolist(), strict=True) if good}
