"""The Qdrant engine in this process: one shard in one folder for each space.

The engine's write-ahead log stays off: it costs 128 MB of sparse files and eight threads for each shard,
and the ledger already holds every vector. A kill may lose points that were not flushed; the shard still
loads. Nor does the engine then refuse a second opener, so a lock file beside the folder does.
"""

from __future__ import annotations

import logging
import math
import shutil
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from remanence.errors import Closed, ProjectionError
from remanence.signals.stores import StoreBusy
from remanence.signals.stores.exact import as_rows, filter_full_scan, top_points

if TYPE_CHECKING:
    from qdrant_edge import EdgeConfig, EdgeShard, Filter

    from remanence.ports import Vector

BATCH = 1_000
PAGE = 10_000
PACKED_AFTER = 20_000

log = logging.getLogger(__name__)


class EdgeStore:
    """Vectors of one space in a Qdrant shard in `folder`, kept as half-precision floats.

    Held by one opener at a time, across processes: the second gets `StoreBusy`. A shard that does not
    load is removed and started anew, with a warning.
    """

    def __init__(self, folder: Path, dimension: int) -> None:
        self._folder = folder
        self._dimension = dimension
        self._lock = threading.Lock()
        self._shard: EdgeShard | None = None  # None until the first point
        self._unpacked = 0
        self._held: IO[bytes] = _hold(folder.with_name(folder.name + ".lock"))
        try:
            if folder.exists():
                self._shard = self._load()
        except BaseException:
            self._held.close()
            raise

    def upsert(self, ids: Sequence[int], vectors: Vector) -> None:
        """Keep these vectors under these numbers."""
        rows = as_rows(vectors, len(ids), self._dimension)
        for start in range(0, len(ids), BATCH):
            with self._engine():  # for each batch, so that searches get a turn in a bulk load
                self._put(ids[start : start + BATCH], rows[start : start + BATCH])

    def search(self, vector: Vector, limit: int, only: Sequence[int] | None = None) -> tuple[list[int], list[float]]:
        """The nearest points by dot product, exactly, best first, equal ones by the smaller number."""
        query = as_rows(vector, 1, self._dimension)[0].tolist()
        among = None if only is None else set(only)
        with self._engine() as shard:
            if shard is None:
                return [], []
            self._pack(shard)
            return top_points(lambda wanted: _nearest(shard, query, wanted, among), limit)

    def delete(self, ids: Sequence[int]) -> None:
        """Drop these points; unknown ones are passed over. What they held leaves the files too.

        The engine only marks a point as deleted, and a packed file cannot be written to, so that an erased
        memory's vector would stay readable. The others are put into new files. That is rare: `erase` builds
        a space's vectors anew, so this is for what somebody else erased.
        """
        gone = {int(point) for point in ids}
        with self._engine() as shard:
            if shard is None or gone.isdisjoint(self._scrolled(shard)):
                return
            kept = [(n, vector) for n, vector in self._scrolled(shard, vectors=True).items() if n not in gone]
            self._remove()
            for start in range(0, len(kept), BATCH):
                some = kept[start : start + BATCH]
                self._put([n for n, _ in some], np.stack([vector for _, vector in some]))

    def ids(self) -> list[int]:
        """Every point there is, in no order."""
        with self._engine() as shard:
            return [] if shard is None else list(self._scrolled(shard))

    def clear(self) -> None:
        """Drop all points of this space, and their files."""
        with self._engine():
            self._remove()

    def flush(self) -> None:
        """Write to disk what is not yet there."""
        with self._engine() as shard:
            if shard is not None:
                shard.flush()

    def close(self) -> None:
        """Flush, let go of the files, and let others open them. Closing twice is fine."""
        with suppress(Closed), self._engine() as shard, self._held:
            self._shard = None
            if shard is not None:
                self._pack(shard)
                shard.flush()
                shard.close()

    def _put(self, ids: Sequence[int], rows: Vector) -> None:
        from qdrant_edge import EdgeShard, Point, UpdateOperation

        if self._shard is None:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._shard = EdgeShard.create(str(self._folder), self._config())
        # A view of the numbers, not a list of them: no copy is made of each.
        points = [Point(int(point), memoryview(row)) for point, row in zip(ids, rows, strict=True)]  # type: ignore[arg-type]
        self._shard.update(UpdateOperation.upsert_points(points))
        self._unpacked += len(points)

    def _pack(self, shard: EdgeShard) -> None:
        """Put much that is new into one segment, which is scanned a fifth faster. What was packed before is
        packed again with it: so not until somebody asks, and not for little."""
        if self._unpacked < PACKED_AFTER:
            return
        from qdrant_edge import CountRequest

        if self._unpacked >= shard.count(CountRequest(exact=False)) // 2:
            shard.optimize()
            self._unpacked = 0

    def _remove(self) -> None:
        shard, self._shard = self._shard, None
        if shard is not None:
            shard.close()
        if self._folder.exists():
            shutil.rmtree(self._folder)

    def _scrolled(self, shard: EdgeShard, *, vectors: bool = False) -> dict[int, Any]:
        """Every point there is, with its vector if that is asked for."""
        from qdrant_edge import ScrollRequest

        found: dict[int, Any] = {}
        offset: Any = None
        while True:
            request = ScrollRequest(offset=offset, limit=PAGE, with_payload=False, with_vector=vectors)
            page, offset = shard.scroll(request)
            for point in page:
                found[point.id] = np.asarray(point.vector, np.float32) if vectors else None  # type: ignore[index]
            if offset is None:
                return found

    @contextmanager
    def _engine(self) -> Iterator[EdgeShard | None]:
        """One caller at a time; what the engine raises is named as ours."""
        with self._lock:
            if self._held.closed:
                raise Closed(f"The vector store in {self._folder} was closed. Open the space again.")
            try:
                yield self._shard
            except BaseException as error:
                if not _from_engine(error):
                    raise
                raise ProjectionError(
                    f"The vectors in {self._folder} cannot be used: {error}. "
                    "The ledger is unharmed: close the space, delete that folder, and open again."
                ) from error

    def _load(self) -> EdgeShard | None:
        from qdrant_edge import CountRequest, EdgeShard

        try:
            shard = EdgeShard.load(str(self._folder), self._config())
            # Files cut short load well and fail, or answer nothing, when searched.
            probe = _scan(shard, [1.0] * self._dimension, 1)
            if shard.count(CountRequest()) and not (probe and math.isfinite(probe[0][1])):
                raise ValueError("its points cannot be searched")
        except BaseException as error:
            if not _from_engine(error):
                raise
            log.warning("Starting the vectors in %s anew, from the ledger: %s", self._folder, error)
            shutil.rmtree(self._folder)
            return None
        return shard

    def _config(self) -> EdgeConfig:
        from qdrant_edge import (
            Distance,
            EdgeConfig,
            EdgeOptimizersConfig,
            EdgeVectorParams,
            HnswIndexConfig,
            VectorStorageDatatype,
        )

        vectors = EdgeVectorParams(size=self._dimension, distance=Distance.Dot, datatype=VectorStorageDatatype.Float16)
        return EdgeConfig(
            vectors=vectors,
            wal_enabled=False,
            max_search_threads=1,
            # No links between points: packing would take minutes to make them, and an exact scan has no
            # use for them.
            hnsw_config=HnswIndexConfig(m=0, ef_construct=4, full_scan_threshold=10**9),
            optimizers=EdgeOptimizersConfig(default_segment_number=1),
        )


def remove_store(folder: Path) -> None:
    """Delete the files of a store that belongs to no space any more; StoreBusy if somebody holds it."""
    with _hold(folder.with_name(folder.name + ".lock")):
        shutil.rmtree(folder)


def _nearest(
    shard: EdgeShard, query: list[float], limit: int, among: set[int] | None = None
) -> list[tuple[int, float]]:
    """The best `limit` points as (id, score), best first."""
    from qdrant_edge import CountRequest, Filter, HasIdCondition

    if among is None:
        return _scan(shard, query, limit)
    total = shard.count(CountRequest(exact=False))
    found = filter_full_scan(lambda depth: _scan(shard, query, depth), limit, among, total)
    if found is None:
        found = _scan(shard, query, limit, Filter(must=[HasIdCondition(among)]))  # type: ignore[arg-type]
    return found


def _scan(shard: EdgeShard, query: list[float], limit: int, among: Filter | None = None) -> list[tuple[int, float]]:
    from qdrant_edge import Query, QueryRequest, SearchParams

    request = QueryRequest(
        query=Query.Nearest(query),
        limit=limit,
        filter=among,
        params=SearchParams(exact=True),
        with_payload=False,
        with_vector=False,
    )
    return [(point.id, point.score) for point in shard.query(request)]  # type: ignore[misc]


def _from_engine(error: BaseException) -> bool:
    """Whether the engine raised this: it knows only plain `Exception` and Rust's panic, a BaseException."""
    return isinstance(error, Exception) or type(error).__name__ == "PanicException"


def _hold(path: Path) -> IO[bytes]:
    """The open lock file. The operating system lets go of it when this process ends, however it ends."""
    try:
        import fcntl
    except ImportError:  # Windows
        raise StoreBusy("Folders of vectors cannot be locked on this system.") from None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        held = path.open("ab")
    except OSError as error:
        raise StoreBusy(f"{path} cannot be written: {error}.") from error
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        held.close()
        raise StoreBusy(f"{path} is held by another process, or by another store of this one.") from error
    return held
