"""How the vector store of a space is made to have the points of its index: a store of this process alone contains
exactly those points."""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from remanence.errors import ProjectionUnavailable
from remanence.events import Remembered
from remanence.index.arrays.columns import Column, split_bytes
from remanence.index.numbers import Row
from remanence.index.passages import passages_of
from remanence.text.text import text_hash

if TYPE_CHECKING:
    from remanence.ports import Vector, VectorStore
    from remanence.ports.vector_ports import LoadVectors

log = logging.getLogger(__name__)

PASSAGE_BITS = 12
"""Bits of a point's number that are the number of the passage in its memory."""
MAX_PASSAGES = 1 << PASSAGE_BITS
"""Passages of one memory that have a number each."""
ASKING = MAX_PASSAGES - 1
"""The number of the passage that is a turn with what it asks."""
BATCH = 4_096
_MIN_RETRY_SECONDS = 1.0
"""Seconds until a store that failed is asked again, at least; after a slow failure ten times as long as that took."""
_TOLERANCE = 2e-3
"""By how much a product of unit vectors may differ, if one of them is in half precision."""


class PointTable:
    """The points of one space in order, each `row << PASSAGE_BITS | passage`, and the hashes of their texts. What asks
    has the number `ASKING`."""

    def __init__(self) -> None:
        self._points = Column(np.int64)
        self._hashes = Column(np.uint8, width=16)
        self.row_count = 0

    def __len__(self) -> int:
        return len(self._points)

    @property
    def points(self) -> NDArray[np.int64]:
        return self._points.values

    @property
    def hashes(self) -> NDArray[np.uint8]:
        return self._hashes.values

    def add(self, first: int, versions: Sequence[Remembered | None]) -> tuple[list[int], list[bytes]]:
        """Add the points of the versions from row `first` on that are not here yet. Returns them and their hashes."""
        points: list[int] = []
        hashes: list[bytes] = []
        for row, version in enumerate(versions, first):
            if row < self.row_count:
                continue
            self.row_count = row + 1
            for number, passage in enumerate(passages_of(version)):
                points.append(row << PASSAGE_BITS | (ASKING if passage.asks else number))
                hashes.append(text_hash(passage.text))
        if points:
            self._points.extend(points)
            self._hashes.extend(np.frombuffer(b"".join(hashes), np.uint8).reshape(-1, 16))
        return points, hashes

    def remove(self, rows: Sequence[Row]) -> NDArray[np.int64]:
        """Remove the points of these rows, and return them."""
        chosen = np.zeros(len(self), np.bool_)
        for begin, end in self.ranges_of(rows).tolist():
            chosen[begin:end] = True
        removed: NDArray[np.int64] = self.points[chosen]
        if len(removed):
            self._points = Column(np.int64, self.points[~chosen])
            self._hashes = Column(np.uint8, self.hashes[~chosen])
        return removed

    def ranges_of(self, rows: Sequence[int]) -> NDArray[np.int64]:
        """For each of these rows where its points begin and end among all."""
        starts = np.array(rows, np.int64) << PASSAGE_BITS
        bounds: NDArray[np.int64] = np.searchsorted(self.points, [starts, starts + MAX_PASSAGES]).T
        return bounds

    def hashes_outside(self, rows: Sequence[Row], hashes: Collection[bytes]) -> set[bytes]:
        """Those of these text hashes that a row other than these has."""
        if not hashes or not len(self):
            return set()
        wanted = np.frombuffer(b"".join(hashes), np.uint64)[::2]
        # The first half of each hash selects few candidates, which are then compared in full.
        found = np.isin(np.ascontiguousarray(self.hashes).view(np.uint64)[:, 0], wanted)
        for begin, end in self.ranges_of(rows).tolist():
            found[begin:end] = False
        return set(as_bytes(self.hashes[found])) & set(hashes)

    def text_hashes(self) -> list[bytes]:
        return list(dict.fromkeys(as_bytes(self.hashes)))

    def save(self) -> dict[str, NDArray[Any]]:
        return {"points": self.points, "hashes": self.hashes, "rows": np.array([self.row_count])}

    def load(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        self._points = Column(np.int64, arrays["points"])
        self._hashes = Column(np.uint8, arrays["hashes"])
        self.row_count = int(arrays["rows"][0])


def as_bytes(hashes: NDArray[np.uint8]) -> list[bytes]:
    return split_bytes(hashes, 16)


class StoreSync:
    """Writes the points of one space to its store.

    Args:
        store: Where their vectors are.
        table: The points of the index.
        load_vectors: Returns the embeddings that the ledger has.
    """

    extra_results = 0
    """How many results of a search may be points that this index does not have yet."""

    def __init__(self, store: VectorStore, table: PointTable, load_vectors: LoadVectors) -> None:
        self._store, self._table, self._load_vectors = store, table, load_vectors
        self.unreachable: str | None = None
        """Why the store is not asked for now: its server does not answer."""
        self.incomplete: str | None = None
        """Why the store may lack points: its server has lost them, and they are being written again."""
        self.has_undeleted = False
        """Whether the store may have vectors that were to be deleted while its server did not answer."""
        self.missing_vectors: dict[int, bytes] = {}
        """Points whose text has no embedding yet: it is made in the background."""
        self.written_here = False
        """Whether the entries that are being applied were written by this process."""
        self._retry_at = 0.0
        self._failed_fast = True

    def start(self, *, loaded: bool) -> None:
        """Make the store ready for an index that was loaded from its file, or else is about to read the ledger."""
        if loaded:
            self.reconcile()
        else:
            self._clear()

    def start_again(self) -> None:
        """Make the store ready for a rebuild: each vector is written again."""
        self._clear()

    def add(self, points: list[int], hashes: list[bytes]) -> None:
        """Write new points of the index."""
        self._fill(points, hashes)

    def delete(self, points: list[int]) -> None:
        """Delete points that the index has no more."""
        for point in points:
            self.missing_vectors.pop(point, None)
        if self.unreachable is None:  # otherwise `reconcile` deletes them when the server is back
            with self.reachable():
                self._store.delete(points)
        self.has_undeleted |= self.unreachable is not None

    def write_missing(self) -> None:
        """Write what a store that other processes write to lacks of the entries that were just applied."""

    def reconcile(self) -> None:
        """Make the store contain the points of the indexed rows, also if it was killed, copied or emptied."""
        with self.reachable():
            expected, hashes = self._table.points, self._table.hashes
            stored = np.sort(np.array(self._store.ids(), np.int64))
            if np.array_equal(stored, expected):  # nearly always
                self.unreachable, self.has_undeleted = None, False
                return
            if len(stored):  # a small space keeps none
                surplus = stored[~_are_among(stored, expected)]
                if len(surplus):
                    self._store.delete(surplus.tolist())
                missing = np.flatnonzero(~_are_among(expected, stored))
                expected, hashes = expected[missing], hashes[missing]
            self.unreachable, self.has_undeleted = None, False
            self._fill(expected.tolist(), as_bytes(hashes))

    @property
    def needs_repair(self) -> bool:
        """Whether `repair` has something to do now or later."""
        return self.has_undeleted

    def repair(self, lock: AbstractContextManager[Any]) -> None:
        """Make the store complete in the background: callers wait only while `lock`, that of the index, is held."""
        with lock:
            self.retry()

    def retry(self) -> None:
        """Retry an unavailable store if the retry interval has passed."""
        if self.unreachable is not None and self._is_retry_due and self._may_retry_now():
            self.reconcile()

    def schedule_audit(self) -> None:
        """Schedule a count of the points of a store that other processes write to."""

    def mark_incomplete(self) -> None:
        """Note that a search returned fewer points than the store should have."""

    def rows_missing_vectors(self) -> list[Row]:
        return sorted({Row(point >> PASSAGE_BITS) for point in self.missing_vectors})

    def fill_missing_vectors(self, rows: Collection[Row] | None = None) -> None:
        """Write the points without a vector whose embedding is stored by now; of these rows only, or of all."""
        wanted = None if rows is None else set(rows)
        missing = {
            point: key
            for point, key in self.missing_vectors.items()
            if wanted is None or point >> PASSAGE_BITS in wanted
        }
        for point in missing:
            del self.missing_vectors[point]
        self._fill(list(missing), list(missing.values()))

    def flush(self) -> None:
        """Write to the disk what the store has in memory only."""
        with self.reachable():
            self._store.flush()

    def close(self) -> None:
        self._store.close()

    def differences(self) -> list[str]:
        """What is wrong with the store: points that are missing or do not belong there, except those without an
        embedding, and vectors that are not those of the ledger."""
        expected = set(self._table.points.tolist()) - set(self.missing_vectors)
        problems: list[str] = []
        with self.reachable():
            if mismatched := len(expected ^ self._stored_points()):
                problems.append(f"{mismatched} points are missing from the store, or do not belong to it")
            if changed := self._count_changed_vectors():
                problems.append(f"{changed} vectors in the store are not those of the ledger")
        return problems if self.unreachable is None else [*problems, self.unreachable]

    @contextmanager
    def reachable(self) -> Iterator[None]:
        """If the server of the store does not answer, it is not asked for a while, and then brought in line with the
        index. The pause is longer after a timeout than after a refusal, because callers wait for a timeout."""
        begin = time.monotonic()
        try:
            yield
        except ProjectionUnavailable as error:
            log.warning("the signal 'vectors' is missing for now: %s", error)
            self.unreachable = str(error)
            now = time.monotonic()
            self._failed_fast = now - begin < 0.5  # slower ones are asked again in the background only
            self._retry_at = now + max(_MIN_RETRY_SECONDS, 10 * (now - begin))

    @property
    def _is_retry_due(self) -> bool:
        return time.monotonic() >= self._retry_at

    def _may_retry_now(self) -> bool:
        """Whether a caller may wait for a store that did not answer before."""
        return True

    def _clear(self) -> None:
        """Remove all points. A store that does not answer is made to agree with the index when it does."""
        with self.reachable():
            self._store.clear()
        self.has_undeleted |= self.unreachable is not None

    def _stored_points(self) -> set[int]:
        return set(self._store.ids())

    def _count_changed_vectors(self) -> int:
        """How many vectors of the store differ from those of the ledger. A store cannot be asked for a vector, only for
        its product with another: those with a few random ones tell any two apart."""
        changed = 0
        for begin in range(0, len(self._table), BATCH):
            points = self._table.points[begin : begin + BATCH].tolist()
            keys = as_bytes(self._table.hashes[begin : begin + BATCH])
            vectors = self._load_vectors(keys)
            known = [(point, vectors[key]) for point, key in zip(points, keys, strict=True) if key in vectors]
            if not known:
                continue
            matrix = np.array([vector for _, vector in known])
            different: set[int] = set()
            # With one random vector, two of a hundred changed ones would not be noticed.
            for probe in np.random.default_rng().standard_normal((3, matrix.shape[1]), np.float32):
                probe /= np.linalg.norm(probe)
                expected = dict(zip((point for point, _ in known), (matrix @ probe).tolist(), strict=True))
                found = zip(*self._store.search(probe, len(known), list(expected)), strict=True)
                # Not `>`: a damaged vector may give NaN.
                different.update(point for point, score in found if not abs(score - expected[point]) <= _TOLERANCE)
            changed += len(different)
        return changed

    def _fill(self, points: list[int], hashes: list[bytes]) -> None:
        """Write the vectors of these points, unless the server does not answer."""
        for begin in range(0, len(points), BATCH):
            with self.reachable():
                self._write(points[begin : begin + BATCH], hashes[begin : begin + BATCH])

    def _write(self, points: list[int], hashes: list[bytes], lock: AbstractContextManager[Any] | None = None) -> None:
        vectors = self._load_vectors(hashes)
        writable = [(point, key) for point, key in zip(points, hashes, strict=True) if key in vectors]
        missing = {point: key for point, key in zip(points, hashes, strict=True) if key not in vectors}
        if lock is None:
            self.missing_vectors.update(missing)
        elif missing:
            with lock:
                self.missing_vectors.update(missing)
        # In the background a server is asked although it did not answer before.
        if not writable or (lock is None and self.unreachable is not None):
            return
        matrix = np.concatenate([vectors[key] for _, key in writable]).reshape(len(writable), -1)
        written = [point for point, _ in writable]
        self._upsert(written, matrix, [key for _, key in writable], lock or nullcontext())

    def _upsert(
        self, points: list[int], vectors: Vector, hashes: list[bytes], lock: AbstractContextManager[Any]
    ) -> None:
        self._store.upsert(points, vectors)


def _are_among(points: NDArray[np.int64], others: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which of these points are among others; both are in order."""
    found: NDArray[np.bool_] = np.append(others, -1)[others.searchsorted(points)] == points
    return found
