"""The vectors of a space that is kept in a folder: few in memory, many in the Qdrant engine.

The ledger has every vector, so a small space needs no files of its own: its vectors are in memory and compared one by
one. They are saved in the index file, because to read them from the ledger took an eighth of a first recall. Measured
with 256 dimensions, the engine's scan is as fast as ours from 8,000 vectors on, and opening a shard (15 ms, 69 MB of
sparse files, 32 MB of memory) is cheaper than reading the vectors from the ledger from 4,000 on. So the engine starts
at two million numbers, and the points in memory are moved to it a few at a time with each write, so that no write waits
long. What was not moved when a process ended is read from the ledger again.

If the engine cannot be used, because the disk is full or another process uses the shard, all vectors are in memory.
"""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from remanence.errors import Closed, ProjectionError
from remanence.index.arrays.columns import round_to_half
from remanence.index.vectors.stores.edge import DiskFull, EdgeStore, StoreBusy, remove_store
from remanence.index.vectors.stores.exact import ExactStore, as_rows

if TYPE_CHECKING:
    from remanence.ports import Vector

log = logging.getLogger(__name__)

ENGINE_FROM = 2**21
"""Numbers (vectors times dimension) of a space from which on the engine is used. Below, comparing all vectors takes
less time."""
_MOVE_AT_ONCE = 4
"""Points that move to the engine with a write, besides two for each one written: more would stop readers for longer."""
_RETRY_SECONDS = 10.0


class FolderStore:
    """Vectors of one space, of which `points` are expected when it is opened. Without `engine` all are in memory."""

    saves_stable_arrays = True

    def __init__(self, folder: Path, dimension: int, points: int = 0, *, engine: bool = True) -> None:
        self._folder, self._dimension = folder, dimension
        self._lock = threading.RLock()
        self._recent = ExactStore(dimension)
        self._shard: EdgeStore | None = None
        self._last_in_shard = -1  # the largest number of a point in the shard, as of `ids`
        self._replaced: set[int] = set()  # points of the shard of which a newer vector is in memory
        self._closed = False
        self._engine_points = ENGINE_FROM // dimension if engine else sys.maxsize
        self._retry_at = 0.0
        self._problem: str | None = None  # why the engine is not used, although it should be
        needed, exists = self._engine_points, folder.exists()
        if points >= needed or (exists and 2 * points >= needed):
            self._start_engine()
        elif exists:
            self._remove_shard()

    def memory_bytes(self) -> int:
        # An engine without points takes 35 MB.
        return self._recent.memory_bytes() + (35_000_000 if self._shard is not None else 0)

    def problem(self) -> str | None:
        return self._problem

    def upsert(self, ids: Sequence[int], vectors: Vector) -> None:
        # In half precision, as in the engine: where a vector is kept does not change its score.
        rows = round_to_half(as_rows(vectors, len(ids), self._dimension))
        with self._usable():
            self._recent.upsert(ids, rows)
            if self._shard is not None:
                self._replaced.update(int(point) for point in ids if point <= self._last_in_shard)
            self._move(_MOVE_AT_ONCE + 2 * len(ids))  # more would stop readers for longer

    def search(
        self, vector: Vector, limit: int, allowed_ids: Sequence[int] | None = None
    ) -> tuple[list[int], list[float]]:
        with self._usable():
            if self._problem is not None:  # there may be room again, and nobody may be writing
                self._move(_MOVE_AT_ONCE)
            found = self._recent.search(vector, limit, allowed_ids)
            if self._shard is None or limit <= 0:
                return found
            ids, scores = self._shard.search(vector, limit + len(self._replaced), allowed_ids)
            if not found[0] and not self._replaced:
                return ids, scores
            others = [pair for pair in zip(ids, scores, strict=True) if pair[0] not in self._replaced]
            merged = sorted([*zip(*found, strict=True), *others], key=lambda pair: (-pair[1], pair[0]))[:limit]
            return [point for point, _ in merged], [score for _, score in merged]

    def delete(self, ids: Sequence[int]) -> None:
        with self._usable():
            self._recent.delete(ids)
            self._replaced.difference_update(ids)
            if self._shard is not None:
                self._shard.delete(ids)
            elif len(ids):
                self._remove_shard()

    def ids(self) -> list[int]:
        with self._usable():
            if self._shard is None:
                return self._recent.ids()
            stored = self._shard.ids()
            self._last_in_shard = max(stored, default=-1)
            return list({*stored, *self._recent.ids()}) if len(self._recent) else stored

    def clear(self) -> None:
        with self._usable():
            self._recent.clear()
            self._replaced.clear()
            shard, self._shard = self._shard, None
            if shard is not None:
                shard.clear()
                shard.close()
            else:
                self._remove_shard()

    def flush(self) -> None:
        with self._usable():
            self._move_rest()
            if self._shard is not None and self._problem is None:
                try:
                    self._shard.flush()
                except ProjectionError as error:  # as on a full disk; the ledger has what was not written
                    log.warning("%s", error)

    def close(self) -> None:
        with self._lock:
            if self._closed:
                return
            try:
                self._move_rest()
            finally:
                self._closed = True
                self._recent.close()
                if self._shard is not None:
                    self._shard.close()

    def save(self) -> Mapping[str, NDArray[Any]]:
        """What the index file has of a small space: all points, and their vectors in half precision."""
        with self._usable():
            if self._shard is not None or not 0 < len(self._recent) < self._engine_points:
                return {}
            ids, rows = self._recent.first(len(self._recent))
            return {"ids": np.array(ids, np.int64), "vectors": rows.astype(np.float16)}

    def load(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take the points that were saved."""
        with self._usable():
            if arrays and self._shard is None:
                self._recent.load(arrays["ids"], arrays["vectors"].astype(np.float32))

    def _move_rest(self) -> None:
        if self._shard is not None and len(self._recent):
            self._move(len(self._recent))

    def _move(self, count: int) -> None:
        """Move this many points to the engine, if there are so many that it is used."""
        if time.monotonic() < self._retry_at:
            return
        if self._shard is None and len(self._recent) >= self._engine_points:
            self._start_engine()
        if self._shard is None:
            return
        ids, rows = self._recent.first(count)
        try:
            self._shard.upsert(ids, rows)
        except DiskFull as error:
            self._retry_later(str(error))
            return
        self._problem = None
        self._recent.delete(ids)
        self._replaced.difference_update(ids)
        self._last_in_shard = max([self._last_in_shard, *ids])

    def _start_engine(self) -> None:
        try:
            self._shard = EdgeStore(self._folder, self._dimension)
        except DiskFull as error:
            self._retry_later(str(error))
        except StoreBusy as busy:
            log.info("%s The vectors of this space are kept in memory here.", busy)
            self._retry_at = time.monotonic() + _RETRY_SECONDS
        else:
            self._problem = None
            if len(self._recent):
                self._shard.clear()  # all points are in memory; the shard may have others that were erased since

    def _retry_later(self, reason: str) -> None:
        log.warning("New vectors are kept in memory: %s", reason)
        self._problem = f"vectors are searched in memory: {reason}"
        self._retry_at = time.monotonic() + _RETRY_SECONDS

    def _remove_shard(self) -> None:
        """Delete the files of a shard that is not used any more, unless another process uses it."""
        if self._folder.exists():
            try:
                remove_store(self._folder)
            except (StoreBusy, DiskFull) as busy:
                log.info("The shard in %s stays: %s", self._folder, busy)

    @contextmanager
    def _usable(self) -> Iterator[None]:
        with self._lock:
            if self._closed:
                raise Closed(f"The vector store in {self._folder} was closed. Open the space again.")
            yield
