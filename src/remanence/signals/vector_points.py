"""The points of a space in its vector store: which there should be, and how the store is made to have them.

A store of this process alone is made to contain exactly the points of the index. A store that is shared with other
processes is never cleared. Each process writes the points of the entries that it wrote. Of the entries that it reads it
writes only the points that are not there, in case their writer was killed. It deletes only what was erased, or what
comes from a position that it has read and belongs to no version there; what comes from a later position is another's.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from remanence.errors import ProjectionUnavailable
from remanence.events import Remembered
from remanence.language.text import text_hash
from remanence.ports import SharedVectorStore
from remanence.signals.vector_codes import VectorCodes
from remanence.state.arrays.columns import Column

if TYPE_CHECKING:
    from remanence.ports import StoredPoints, Vector, VectorStore
    from remanence.state.versions.catalog import Catalog

log = logging.getLogger(__name__)

PASSAGE_BITS = 12
MAX_PASSAGES = 1 << PASSAGE_BITS
_BATCH = 4_096
_MIN_RETRY_SECONDS = 1.0
_MAX_WHILE_OTHERS_WAIT = 5_000
"""How many points are written to a shared store at most while callers wait. More are written in the background."""
_FAST_FAILURE = 0.5
"""A server that fails within this many seconds may be asked again by a caller; a slower one only in the background."""
AUDIT_SECONDS = 60.0
"""How often it is counted whether a shared store still has all points of a space that is in use."""
_CODES_FROM = 8_192
"""How many points a space has at least when their codes are made. Making them later would stop callers for longer."""
_TOLERANCE = 2e-3  # of a product of unit vectors, one of them in half precision
_INCOMPLETE = "the vector server lacks vectors of this space, which are being written again"

LoadVectors = Callable[[Sequence[bytes]], Mapping[bytes, "Vector"]]
"""Returns the embeddings that the ledger has for these text hashes."""


class VectorPoints:
    """The points of one space: `row << PASSAGE_BITS | passage` for each passage of each version that has text.

    Args:
        store: Where their vectors are.
        load_vectors: Returns the embeddings that the ledger has.
        catalog: Returns the catalog of the index, which knows the ledger position of each row.
    """

    def __init__(
        self, store: VectorStore, load_vectors: LoadVectors, catalog: Callable[[], Catalog] | None = None
    ) -> None:
        self._store = store
        self._shared = None if catalog is None else _as_shared(store)
        self._catalog = catalog
        self._load_vectors = load_vectors
        self._points = Column(np.int64)
        self._hashes = Column(np.uint8, width=16)
        self._codes: VectorCodes | None = None
        self._code_for_each_row = False  # whether the number of each code is that of its row
        self._rows = 0
        self.unreachable: str | None = None
        """Why the store is not asked for now: its server does not answer."""
        self.incomplete: str | None = None
        """Why the store may lack points: its server has lost them, and they are being written again."""
        self._retry_at = 0.0
        self._failed_fast = True
        self.has_undeleted = False
        """Whether the store may have vectors that were to be deleted while its server did not answer."""
        self.missing_vectors: dict[int, bytes] = {}
        """Points whose text has no embedding yet: the embedder was down when they were added."""
        self.written_here = False
        """Whether the entries that are being applied were written by this process."""
        # Points of entries of other processes that were not looked for yet.
        self._points_of_other_processes: dict[int, bytes] = {}
        self._must_compare = self._must_rewrite = False
        self._audit_at: float | None = None

    def apply(self, first: int, versions: Sequence[Remembered | None]) -> None:
        points: list[int] = []
        hashes: list[bytes] = []
        # The index is read again while the points stay: what has lost its text since then was erased.
        if erased := [row for row, version in enumerate(versions, first) if version is None and row < self._rows]:
            self.erase(erased)
        for row, version in enumerate(versions, first):
            if row < self._rows:
                continue
            self._rows = row + 1
            for number, text in enumerate(passage_texts(version)):
                points.append(row << PASSAGE_BITS | number)
                hashes.append(text_hash(text))
        if not points:
            return
        self._points.extend(points)
        self._hashes.extend(np.frombuffer(b"".join(hashes), np.uint8).reshape(-1, 16))
        if self._codes is not None:
            self._code_for_each_row &= points == _first_points(len(self._codes), len(points)).tolist()
            self._codes.add(points)
        if self._shared is None or self.written_here:
            self._fill(points, hashes)
            if self._codes is None and self._shared is None and len(self._points) >= _CODES_FROM:
                self._make_codes()
        elif not self._must_compare:
            self._points_of_other_processes.update(zip(points, hashes, strict=True))
            self._must_compare = len(self._points_of_other_processes) > _MAX_WHILE_OTHERS_WAIT

    def __len__(self) -> int:
        return len(self._points)

    @property
    def memory_bytes(self) -> int:
        """About how much memory the vectors take, if the store can tell."""
        codes = 0 if self._codes is None else self._codes.memory_bytes
        return codes + int(getattr(self._store, "memory_bytes", 0))

    def start(self, *, loaded: bool) -> None:
        """Make the store ready for an index that was loaded from its file, or else is about to read the ledger."""
        if self._shared is not None:
            self._must_compare = True
        elif loaded:
            self.reconcile()
        else:
            self.clear()

    def start_again(self) -> None:
        """Make the store ready for a rebuild: each vector is written again."""
        if self._shared is not None:
            self._must_compare = self._must_rewrite = True
        else:
            self.clear()

    def write_missing(self) -> None:
        """Write to a shared store what is missing there of the entries that were just applied."""
        if self._shared is None or self.unreachable is not None:
            return
        if self._must_compare:
            self.reconcile()
        elif self._points_of_other_processes:
            expected, self._points_of_other_processes = self._points_of_other_processes, {}
            with self._reachable():
                found = self._shared.get_points(list(expected))
                there = dict(zip(found.ids.tolist(), found.hashes, strict=True))
                missing = [point for point, key in expected.items() if there.get(point) != key]
                self._fill(missing, [expected[point] for point in missing])

    def reconcile(self) -> None:
        """Make the store contain the points of the indexed rows, also if it was killed, copied or emptied."""
        if self._shared is not None:
            self._reconcile_shared()
            return
        with self._reachable():
            expected, hashes = self._points.values, self._hashes.values
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
            self._fill(expected.tolist(), [key.tobytes() for key in hashes])

    def _reconcile_shared(self) -> None:
        with self._reachable():
            points, hashes = self._points.values, self._hashes.values
            missing = self._delete_surplus(points, hashes, self._position())
            if self._must_rewrite:
                missing = np.arange(len(points))
            elif len(missing) > _MAX_WHILE_OTHERS_WAIT:
                self.unreachable, self.incomplete = None, _INCOMPLETE
                return
            self._mark_complete()
            self._fill(points[missing].tolist(), [key.tobytes() for key in hashes[missing]])

    def _delete_surplus(self, points: NDArray[Any], hashes: NDArray[Any], position: int) -> NDArray[np.intp]:
        """Delete what a shared store has up to this position and belongs to no version. Returns which of these points
        it lacks, or has with another text."""
        assert self._shared is not None
        stored = self._shared.get_points()
        surplus = stored.ids[(stored.positions <= position) & ~np.isin(stored.ids, points)]
        if len(surplus):
            self._shared.delete(surplus.tolist(), position)
        return np.flatnonzero(~_are_stored(points, hashes, stored))

    @property
    def needs_repair(self) -> bool:
        """Whether `repair` has something to do now or later."""
        if self._shared is None:
            return self.has_undeleted
        audit = self._audit_at is not None and time.monotonic() >= self._audit_at
        return audit or self._must_compare or bool(self.unreachable or self.incomplete or self.has_undeleted)

    def repair(self, lock: AbstractContextManager[Any]) -> None:
        """Make the store complete in the background: callers wait only while `lock`, that of the index, is held."""
        shared = self._shared
        if shared is None:
            with lock:
                self.retry()
            return
        if not self.needs_repair or (self.unreachable is not None and time.monotonic() < self._retry_at):
            return
        with lock:  # what is added later does not change these two, and what is erased replaces them
            points, hashes, position = self._points.values, self._hashes.values, self._position()
            only_audit = not (self._must_compare or self.unreachable or self.incomplete or self.has_undeleted)
            expected = len(points) - len(self.missing_vectors)
            self._audit_at = None
        with self._reachable():
            if only_audit and shared.count(position) == expected:
                return
            missing = self._delete_surplus(points, hashes, position)
            for begin in range(0, len(missing), _BATCH):
                batch = missing[begin : begin + _BATCH]
                self._write(points[batch].tolist(), [key.tobytes() for key in hashes[batch]], lock)
            with lock:
                erased = np.setdiff1d(points, self._points.values).tolist()
                shared.delete(erased)
                for point in erased:
                    self.missing_vectors.pop(point, None)
                added = np.flatnonzero(~np.isin(self._points.values, points))
                self._mark_complete()
                if len(added) > _MAX_WHILE_OTHERS_WAIT:
                    self._must_compare = True
                else:
                    keys = [key.tobytes() for key in self._hashes.values[added]]
                    self._fill(self._points.values[added].tolist(), keys)

    def _mark_complete(self) -> None:
        self.unreachable = self.incomplete = None
        self.has_undeleted = self._must_compare = self._must_rewrite = False
        self._points_of_other_processes = {}

    def schedule_audit(self) -> None:
        """Schedule a count of the points of a shared store."""
        if self._shared is not None and self._audit_at is None:
            self._audit_at = time.monotonic() + AUDIT_SECONDS

    def mark_incomplete(self) -> None:
        """Note that a search returned fewer points than a shared store should have."""
        if self._shared is not None and self.incomplete is None:
            log.warning("%s", _INCOMPLETE)
            self.incomplete = _INCOMPLETE

    def erase(self, rows: Sequence[int]) -> None:
        """Remove the points of these rows, also from the store."""
        chosen = np.zeros(len(self._points), np.bool_)
        for begin, end in self._places(rows).tolist():
            chosen[begin:end] = True
        if chosen.any():
            erased = self._points.values[chosen]
            if self._codes is not None:
                self._codes.erase(erased)
            points = erased.tolist()
            self._points = Column(np.int64, self._points.values[~chosen])
            self._hashes = Column(np.uint8, self._hashes.values[~chosen])
            for point in points:
                self.missing_vectors.pop(point, None)
                self._points_of_other_processes.pop(point, None)
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

    def flush(self) -> None:
        """Write to the disk what the store has in memory only."""
        with self._reachable():
            self._store.flush()

    def save(self) -> Mapping[str, NDArray[Any]]:
        codes: Mapping[str, NDArray[Any]] = {}
        if self._codes is not None:
            self._set_codes(self._codes.without_erased())
            codes = self._codes.save()
        points = {"points": self._points.values, "hashes": self._hashes.values, "rows": np.array([self._rows])}
        return {**codes, **points}

    def load(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        self._points = Column(np.int64, arrays["points"])
        self._hashes = Column(np.uint8, arrays["hashes"])
        self._rows = int(arrays["rows"][0])
        if "code_points" in arrays:
            self._set_codes(VectorCodes.load(arrays))

    def differences(self) -> list[str]:
        """What is wrong with the store: points that are missing or do not belong there, except those without an
        embedding, and vectors that are not those of the ledger."""
        expected = {int(point) for point in self._points.values} - set(self.missing_vectors)
        out: list[str] = []
        with self._reachable():
            if mismatched := len(expected ^ self._stored_numbers()):
                out.append(f"{mismatched} points are missing from the store, or do not belong to it")
            if changed := self._count_changed_vectors():
                out.append(f"{changed} vectors in the store are not those of the ledger")
        return out if self.unreachable is None else [*out, self.unreachable]

    def clear(self) -> None:
        """Remove all points. A store that does not answer is made to agree with the index when it does."""
        with self._reachable():
            self._store.clear()
        self.has_undeleted |= self.unreachable is not None

    def retry(self) -> None:
        """Retry an unavailable store if the retry interval has passed; a shared one only if it failed fast and has few
        points."""
        if self.unreachable is None or time.monotonic() < self._retry_at:
            return
        if self._shared is None or (self._failed_fast and len(self._points) <= _MAX_WHILE_OTHERS_WAIT):
            self.reconcile()

    def close(self) -> None:
        self._store.close()

    def _stored_numbers(self) -> set[int]:
        """The points that the store has, without those that others have written since this index was brought up to
        date."""
        if self._shared is None:
            return set(self._store.ids())
        stored = self._shared.get_points()
        return set(stored.ids[stored.positions <= self._position()].tolist())

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

    def _fill(self, points: list[int], hashes: list[bytes]) -> None:
        """Write the vectors of these points, unless the server does not answer."""
        for begin in range(0, len(points), _BATCH):
            with self._reachable():
                self._write(points[begin : begin + _BATCH], hashes[begin : begin + _BATCH])

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
        rows = np.concatenate([vectors[key] for _, key in writable]).reshape(len(writable), -1)
        ids = [point for point, _ in writable]
        if self._codes is not None:
            self._codes.put(ids, rows)
        if self._shared is None:
            self._store.upsert(ids, rows)
        else:
            assert self._catalog is not None
            positions = self._catalog().positions_of_rows([point >> PASSAGE_BITS for point in ids])
            self._shared.write(ids, rows, positions, [key for _, key in writable])

    def _make_codes(self) -> None:
        """Make the codes of all points from the vectors of the ledger."""
        points = self._points.values
        for begin in range(0, len(points), _BATCH):
            keys = [key.tobytes() for key in self._hashes.values[begin : begin + _BATCH]]
            vectors = self._load_vectors(keys)
            batch = zip(points[begin : begin + _BATCH].tolist(), keys, strict=True)
            found = [(point, vectors[key]) for point, key in batch if key in vectors]
            if not found:
                continue
            if self._codes is None:
                codes = VectorCodes(len(found[0][1]))
                codes.add(points)
                self._set_codes(codes)
            assert self._codes is not None
            self._codes.put([point for point, _ in found], np.array([vector for _, vector in found]))

    def _set_codes(self, codes: VectorCodes) -> None:
        self._codes = codes
        self._code_for_each_row = np.array_equal(codes.points, _first_points(0, len(codes)))

    def _position(self) -> int:
        """The ledger position of the index."""
        assert self._catalog is not None
        return self._catalog().position

    @contextmanager
    def _reachable(self) -> Iterator[None]:
        """If the server of the store does not answer, it is not asked for a while, and then brought in line with the
        index. The pause is longer after a timeout than after a refusal, because callers wait for a timeout."""
        begin = time.monotonic()
        try:
            yield
        except ProjectionUnavailable as error:
            log.warning("the signal 'vectors' is missing for now: %s", error)
            self.unreachable = str(error)
            now = time.monotonic()
            self._failed_fast = now - begin < _FAST_FAILURE
            self._retry_at = now + max(_MIN_RETRY_SECONDS, 10 * (now - begin))

    def _places(self, rows: Sequence[int]) -> NDArray[np.int64]:
        """For each of these rows where its points begin and end among all."""
        starts = np.array(rows, np.int64) << PASSAGE_BITS
        bounds: NDArray[np.int64] = np.searchsorted(self._points.values, [starts, starts + MAX_PASSAGES]).T
        return bounds


_SHARED_CLASSES: dict[type, bool] = {}


def _as_shared(store: VectorStore) -> SharedVectorStore | None:
    """The store if it is a shared one. Each class is checked once: a check takes as long as a tenth of opening a small
    space."""
    kind = type(store)
    if kind not in _SHARED_CLASSES:
        _SHARED_CLASSES[kind] = isinstance(store, SharedVectorStore)
    return cast("SharedVectorStore", store) if _SHARED_CLASSES[kind] else None


def passage_texts(version: Remembered | None) -> list[str]:
    """The texts of one version that are embedded: each passage that is not empty, or the whole text."""
    if version is None:
        return []
    if not version.passages:
        return [version.text]
    return [version.text[start:end] for start, end in version.passages if start < end]


def _first_points(row: int, count: int) -> NDArray[np.int64]:
    """The first point of this row and of those after it."""
    return np.arange(row, row + count, dtype=np.int64) << PASSAGE_BITS


def _are_among(points: NDArray[np.int64], others: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which of these points are among others; both are in order."""
    found: NDArray[np.bool_] = np.append(others, -1)[others.searchsorted(points)] == points
    return found


def _are_stored(points: NDArray[Any], hashes: NDArray[Any], stored: StoredPoints) -> NDArray[np.bool_]:
    """Which of these points, which are in order, are stored with these text hashes."""
    found = np.zeros(len(points), np.bool_)
    places = np.searchsorted(points, stored.ids)
    for place, number, key in zip(places.tolist(), stored.ids.tolist(), stored.hashes, strict=True):
        if place < len(points) and points[place] == number and hashes[place].tobytes() == key:
            found[place] = True
    return found
