"""How a vector store that is shared with other processes is made to have the points of an index.

Such a store is never cleared. Each process writes the points of the entries that it wrote. Of the entries that it reads
it writes only the points that are not there, in case their writer was killed. It deletes only what was erased, or what
comes from a position that it has read and belongs to no version there; what comes from a later position is another's.
"""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from remanence.index.numbers import Position, Row
from remanence.index.vectors import store_sync
from remanence.index.vectors.store_sync import PASSAGE_BITS, PointTable, StoreSync, as_bytes

if TYPE_CHECKING:
    from remanence.index.versions.catalog import Catalog
    from remanence.ports import SharedVectorStore, StoredPoints, Vector
    from remanence.ports.vector_ports import LoadVectors

log = logging.getLogger(__name__)

_MAX_WHILE_OTHERS_WAIT = 5_000
"""Points that are written to a shared store at most while callers wait. More are written in the background."""
AUDIT_SECONDS = 60.0
"""Seconds between two counts whether a shared store still has all points of a space that is in use."""
_INCOMPLETE = "the vector server lacks vectors of this space, which are being written again"


class SharedStoreSync(StoreSync):
    """Writes the points of one space to a store that other processes write to as well.

    Args:
        store: Where their vectors are.
        table: The points of the index.
        load_vectors: Returns the embeddings that the ledger has.
        catalog: Returns the catalog of the index, which knows the ledger position of each row.
    """

    extra_results = store_sync.BATCH

    def __init__(
        self, store: SharedVectorStore, table: PointTable, load_vectors: LoadVectors, catalog: Callable[[], Catalog]
    ) -> None:
        super().__init__(store, table, load_vectors)
        self._shared, self._catalog = store, catalog
        self._points_of_other_processes: dict[int, bytes] = {}  # those that were not looked for yet
        self._must_compare = self._must_rewrite = False
        self._audit_at: float | None = None

    def start(self, *, loaded: bool) -> None:
        self._must_compare = True

    def start_again(self) -> None:
        self._must_compare = self._must_rewrite = True

    def add(self, points: list[int], hashes: list[bytes]) -> None:
        if self.written_here:
            self._fill(points, hashes)
        elif not self._must_compare:
            self._points_of_other_processes.update(zip(points, hashes, strict=True))
            self._must_compare = len(self._points_of_other_processes) > _MAX_WHILE_OTHERS_WAIT

    def delete(self, points: list[int]) -> None:
        for point in points:
            self._points_of_other_processes.pop(point, None)
        super().delete(points)

    def write_missing(self) -> None:
        if self.unreachable is not None:
            return
        if self._must_compare:
            self.reconcile()
        elif self._points_of_other_processes:
            expected, self._points_of_other_processes = self._points_of_other_processes, {}
            with self.reachable():
                found = self._shared.get_points(list(expected))
                there = dict(zip(found.ids.tolist(), found.hashes, strict=True))
                missing = [point for point, key in expected.items() if there.get(point) != key]
                self._fill(missing, [expected[point] for point in missing])

    def reconcile(self) -> None:
        with self.reachable():
            points, hashes = self._table.points, self._table.hashes
            missing = self._delete_surplus(points, hashes, self._catalog().position)
            if self._must_rewrite:
                missing = np.arange(len(points))
            elif len(missing) > _MAX_WHILE_OTHERS_WAIT:
                self.unreachable, self.incomplete = None, _INCOMPLETE
                return
            self._mark_complete()
            self._fill(points[missing].tolist(), as_bytes(hashes[missing]))

    @property
    def needs_repair(self) -> bool:
        audit = self._audit_at is not None and time.monotonic() >= self._audit_at
        return audit or self._is_incomplete

    def repair(self, lock: AbstractContextManager[Any]) -> None:
        if not self.needs_repair or (self.unreachable is not None and not self._is_retry_due):
            return
        with lock:  # what is added later does not change these two, and what is erased replaces them
            points, hashes, position = self._table.points, self._table.hashes, self._catalog().position
            only_audit = not self._is_incomplete
            expected = self._expected_counts(position)
            self._audit_at = None
        with self.reachable():
            if only_audit and all(self._shared.count(up_to) == count for up_to, count in expected.items()):
                return
            missing = self._delete_surplus(points, hashes, position)
            for begin in range(0, len(missing), store_sync.BATCH):
                batch = missing[begin : begin + store_sync.BATCH]
                self._write(points[batch].tolist(), as_bytes(hashes[batch]), lock)
            with lock:
                erased = np.setdiff1d(points, self._table.points).tolist()
                self._shared.delete(erased)
                for point in erased:
                    self.missing_vectors.pop(point, None)
                added = np.flatnonzero(~np.isin(self._table.points, points))
                self._mark_complete()
                if len(added) > _MAX_WHILE_OTHERS_WAIT:
                    self._must_compare = True
                else:
                    self._fill(self._table.points[added].tolist(), as_bytes(self._table.hashes[added]))

    def _expected_counts(self, position: Position) -> dict[Position, int]:
        """How many points the store should have up to this position, and up to one before it. An older copy of a
        server may have as many points in all: what was erased since in place of what was added since."""
        points, bounds = self._table.points, {position: np.iinfo(np.int64).max}
        if len(points):
            newest = 1 << random.randrange(len(points).bit_length())  # mostly few: what a copy lacks is the newest
            row = Row(int(points[-newest]) >> PASSAGE_BITS)
            bounds[Position(self._catalog().positions_of_rows([row])[0] - 1)] = row << PASSAGE_BITS
        return {
            up_to: int(np.searchsorted(points, bound)) - sum(point < bound for point in self.missing_vectors)
            for up_to, bound in bounds.items()
        }

    def schedule_audit(self) -> None:
        if self._audit_at is None:
            self._audit_at = time.monotonic() + AUDIT_SECONDS

    def mark_incomplete(self) -> None:
        if self.incomplete is None:
            log.warning("%s", _INCOMPLETE)
            self.incomplete = _INCOMPLETE

    @property
    def _is_incomplete(self) -> bool:
        return self._must_compare or bool(self.unreachable or self.incomplete or self.has_undeleted)

    def _mark_complete(self) -> None:
        self.unreachable = self.incomplete = None
        self.has_undeleted = self._must_compare = self._must_rewrite = False
        self._points_of_other_processes = {}

    def _may_retry_now(self) -> bool:
        return self._failed_fast and len(self._table) <= _MAX_WHILE_OTHERS_WAIT

    def _delete_surplus(self, points: NDArray[Any], hashes: NDArray[Any], position: Position) -> NDArray[np.intp]:
        """Delete what the store has up to this position and belongs to no version. Returns which of these points it
        lacks, or has with another text."""
        stored = self._shared.get_points()
        surplus = stored.ids[(stored.positions <= position) & ~np.isin(stored.ids, points)]
        if len(surplus):
            self._shared.delete(surplus.tolist(), position)
        return np.flatnonzero(~_are_stored(points, hashes, stored))

    def _stored_points(self) -> set[int]:
        """The points that the store has, without those that others have written since this index was brought up to
        date."""
        stored = self._shared.get_points()
        return set(stored.ids[stored.positions <= self._catalog().position].tolist())

    def _upsert(
        self, points: list[int], vectors: Vector, hashes: list[bytes], lock: AbstractContextManager[Any]
    ) -> None:
        with lock:  # a rebuild empties the catalog and fills it again
            positions = self._catalog().positions_of_rows([Row(point >> PASSAGE_BITS) for point in points])
        self._shared.write(points, vectors, positions, hashes)


def _are_stored(points: NDArray[Any], hashes: NDArray[Any], stored: StoredPoints) -> NDArray[np.bool_]:
    """Which of these points, which are in order, are stored with these text hashes."""
    found = np.zeros(len(points), np.bool_)
    slots = np.searchsorted(points, stored.ids)
    for slot, point, key in zip(slots.tolist(), stored.ids.tolist(), stored.hashes, strict=True):
        if slot < len(points) and points[slot] == point and hashes[slot].tobytes() == key:
            found[slot] = True
    return found
