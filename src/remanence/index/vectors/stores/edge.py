"""The Qdrant engine in this process: one shard in one folder for each space.

All vectors are compared by codes of four bits a dimension, which the engine makes when a point is written; the best
are then scored by their vectors. There is no index of neighbours: under a filter it silently loses recall, and building
one stops every thread of this process (see "Vectors" in docs/scale.md). Points that are given as allowed are scored by
their vectors only.

The engine's write-ahead log is off: it costs 128 MB and eight threads for each shard, and the ledger already has every
vector. Without the log the engine does not refuse a second process, so a lock file beside the folder does.

The engine maps its files into memory, so a full disk or a damaged file would end this process inside native code, where
nothing can be caught. So room on the disk is checked before it writes; and before it loads a shard, the checksums that
were written when it was last closed, or, after a crash, whether a child process can load it.
"""

from __future__ import annotations

import errno
import json
import logging
import math
import os
import shutil
import subprocess
import sys
import threading
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from remanence.errors import Closed, ProjectionError
from remanence.index.vectors.stores.exact import as_rows, top_points
from remanence.operating_system import next_data, try_lock

if TYPE_CHECKING:
    from qdrant_edge import EdgeConfig, EdgeShard, Filter

    from remanence.ports import Vector

_BLOCK = 1 << 16
_ZEROS = bytes(_BLOCK)
_TIMEOUT = 120.0
"""Seconds until a child process that loads a folder is ended: a damaged one may let it hang."""
_MEMORY = 16 * 2**30
"""Bytes of address space that a child process may use, besides four times the size of the folder: a damaged one may let
it ask for any amount."""
_CODE = """
import importlib, sys
from pathlib import Path
from remanence.operating_system import limit_this_process
limit_this_process(int(sys.argv[5]))
load = getattr(importlib.import_module(sys.argv[1]), sys.argv[2])
load(Path(sys.argv[3]), int(sys.argv[4]))
"""


class Checksums:
    """What the files of `folder` contained when they were last closed, as recorded in the file `record`."""

    def __init__(self, folder: Path, record: Path) -> None:
        self._folder, self._record = folder, record
        self._recorded = record.exists()

    def exist(self) -> bool:
        return self._recorded

    def write(self) -> None:
        """Record the present content, if it is not recorded."""
        if not self._recorded:
            self._record.write_text(json.dumps(_content(self._folder)))
            self._recorded = True

    def remove(self) -> None:
        """Delete the record. To be called before the first change: a process that is killed leaves none behind."""
        if self._recorded:
            self._record.unlink(missing_ok=True)
            self._recorded = False

    def find_change(self) -> str | None:
        """The name of a file that is not as recorded; None if all are."""
        try:
            recorded = json.loads(self._record.read_bytes())
        except (OSError, ValueError):
            return self._record.name
        present = _content(self._folder)
        if not isinstance(recorded, dict):
            return self._record.name
        return next((name for name in {**recorded, **present} if recorded.get(name) != present.get(name)), None)


def _content(folder: Path) -> dict[str, list[int]]:
    """The size and a checksum of each file below a folder."""
    files = (Path(parent, name) for parent, _, names in os.walk(folder) for name in names)
    return {str(path.relative_to(folder)): [path.stat().st_size, _checksum(path)] for path in files}


def _checksum(path: Path) -> int:
    """A checksum of the blocks of a file that are not zeros. Files of the engine are mostly holes, which are skipped
    where the system says where they are; a copy without holes has the same checksum."""
    checksum = place = 0
    with path.open("rb", buffering=0) as file:
        while (data := next_data(file.fileno(), place)) is not None:
            place = data // _BLOCK * _BLOCK
            file.seek(place)
            block = file.read(_BLOCK)
            if not block:
                break
            if block != _ZEROS[: len(block)]:
                checksum = zlib.crc32(block, zlib.crc32(place.to_bytes(8, "little"), checksum))
            place += _BLOCK
    return checksum


def loads_in_child_process(load: Callable[[Path, int], Any], folder: Path, dimension: int) -> None:
    """Call `load(folder, dimension)`, a function of a module, in a child process. ValueError if it fails, crashes,
    hangs, or takes too much memory there; the child process cannot take this one with it."""
    limit = _MEMORY + 4 * sum(
        Path(parent, name).stat().st_size for parent, _, names in os.walk(folder) for name in names
    )
    arguments = [load.__module__, load.__qualname__, str(folder), str(dimension), str(limit)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    try:
        done = subprocess.run(
            [sys.executable, "-c", _CODE, *arguments],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            timeout=_TIMEOUT,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ValueError(f"it could not be loaded in a child process: {error}") from error
    if done.returncode:
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        reason = f"signal {-done.returncode}" if done.returncode < 0 else (lines or ["no reason given"])[-1]
        raise ValueError(f"loading it in a child process failed ({reason})")


BATCH = 1_000
PAGE = 10_000
RESCORED = 1_000
"""Points, at least, that are scored by their vectors, after all were compared by their codes."""
MIN_ROOM = 128 * 2**20
"""Bytes of free disk that the engine needs: it makes files of 32 MB, in which the disk gives it pages only when they
are written."""

log = logging.getLogger(__name__)


class StoreBusy(Exception):
    """The folder is used by another process, or cannot be locked here. The caller uses a store in memory."""


class DiskFull(ProjectionError):
    """The disk has too little free space."""


class EdgeStore:
    """Vectors of one space in a Qdrant shard in `folder`, stored as half-precision floats. It is open once at a time,
    across processes: the second gets `StoreBusy`. A shard that does not load is removed and started again, with a
    warning."""

    def __init__(self, folder: Path, dimension: int) -> None:
        self._folder = folder
        self._dimension = dimension
        self._lock = threading.Lock()
        self._checksums = Checksums(folder, folder.with_name(folder.name + ".sums"))
        self._check_free_space()
        self._lock_file: IO[bytes] = _lock(folder.with_name(folder.name + ".lock"))
        try:
            self._shard = self._load() if folder.exists() else None  # None until the first point
        except BaseException:
            self._lock_file.close()
            raise

    def upsert(self, ids: Sequence[int], vectors: Vector) -> None:
        rows = as_rows(vectors, len(ids), self._dimension)
        for start in range(0, len(ids), BATCH):
            with self._engine():  # for each batch, so that searches get a turn in a bulk load
                self._insert(ids[start : start + BATCH], rows[start : start + BATCH])

    def search(
        self, vector: Vector, limit: int, allowed_ids: Sequence[int] | None = None
    ) -> tuple[list[int], list[float]]:
        from qdrant_edge import Filter, HasIdCondition

        query = as_rows(vector, 1, self._dimension)[0].tolist()
        chosen = None if allowed_ids is None else Filter(must=[HasIdCondition(set(allowed_ids))])
        with self._engine() as shard:
            if shard is None:
                return [], []
            return top_points(lambda wanted: _scan(shard, query, wanted, chosen), limit)

    def delete(self, ids: Sequence[int]) -> None:
        """Remove these points. The engine only marks them as deleted, and the vector of an erased memory would stay
        readable, so they are overwritten with zeros before."""
        from qdrant_edge import UpdateOperation

        for start in range(0, len(ids), BATCH):
            with self._engine() as shard:
                batch = [int(point) for point in ids[start : start + BATCH]]
                known = [] if shard is None else [point.id for point in shard.retrieve([*batch], False, False)]
                if shard is not None and known:
                    self._insert(known, np.zeros((len(known), self._dimension), np.float32))  # type: ignore[arg-type]
                    shard.update(UpdateOperation.delete_points(known))
                    shard.flush()

    def ids(self) -> list[int]:
        from qdrant_edge import ScrollRequest

        with self._engine() as shard:
            found: list[int] = []
            offset: Any = None
            while shard is not None:
                request = ScrollRequest(offset=offset, limit=PAGE, with_payload=False, with_vector=False)
                page, offset = shard.scroll(request)
                found += [point.id for point in page]  # type: ignore[misc]
                if offset is None:
                    break
            return found

    def clear(self) -> None:
        with self._engine() as shard:
            self._shard = None
            if shard is not None:
                shard.close()
            self._delete_files()

    def flush(self) -> None:
        with self._engine() as shard:
            if shard is not None:
                shard.flush()

    def close(self) -> None:
        with suppress(Closed), self._engine() as shard, self._lock_file:
            self._shard = None
            if shard is None:
                return
            try:
                shard.flush()
                shard.close()
                self._checksums.write()
            except BaseException as error:
                if not _from_engine(error):
                    raise
                # As on a full disk. Without checksums it is not loaded again before it was tried elsewhere.
                log.warning("The vectors in %s were not written completely: %s", self._folder, error)

    def _insert(self, ids: Sequence[int], rows: Vector) -> None:
        from qdrant_edge import EdgeShard, Point, UpdateOperation

        self._check_free_space(8 * rows.nbytes)
        self._checksums.remove()
        if self._shard is None:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._shard = EdgeShard.create(str(self._folder), _config(self._dimension))
        # A memoryview avoids a copy of each vector.
        points = [Point(int(point), memoryview(row)) for point, row in zip(ids, rows, strict=True)]  # type: ignore[arg-type]
        self._shard.update(UpdateOperation.upsert_points(points))

    def _settings_file(self) -> bytes:
        path = self._folder / "edge_config.json"
        return path.read_bytes() if path.exists() else b""

    def _delete_files(self) -> None:
        self._checksums.remove()
        if self._folder.exists():
            shutil.rmtree(self._folder)

    def _check_free_space(self, more: int = 0) -> None:
        """DiskFull if the disk is too full for the engine to write this many bytes more."""
        free, needed = free_bytes(self._folder), MIN_ROOM + more
        if free < needed:
            raise DiskFull(
                f"The disk of {self._folder} has {free / 1e6:.0f} MB free, and the vector engine needs "
                f"{needed / 1e6:.0f} MB. Free some space."
            )

    @contextmanager
    def _engine(self) -> Iterator[EdgeShard | None]:
        """The shard, for one caller at a time; errors of the engine become ProjectionError."""
        with self._lock:
            if self._lock_file.closed:
                raise Closed(f"The vector store in {self._folder} was closed. Open the space again.")
            try:
                yield self._shard
            except DiskFull:
                raise
            except BaseException as error:
                if not _from_engine(error):
                    raise
                advice = "The ledger is not affected: close the space, delete that folder, and open it again."
                raise ProjectionError(f"The vectors in {self._folder} cannot be used: {error}. {advice}") from error

    def _load(self) -> EdgeShard | None:
        try:
            if not self._checksums.exist():  # the last process was killed, or was of an older release
                loads_in_child_process(load_shard, self._folder, self._dimension)
            elif changed := self._checksums.find_change():
                raise ValueError(f"{changed} is not what was written")
            before = self._settings_file()
            shard = load_shard(self._folder, self._dimension)
            if self._settings_file() != before:  # loading it adds settings; they are recorded when it is closed
                self._checksums.remove()
            return shard
        except BaseException as error:
            if not _from_engine(error):
                raise
            log.warning("The vectors in %s are rebuilt from the ledger: %s", self._folder, error)
            self._delete_files()
            return None


def load_shard(folder: Path, dimension: int) -> EdgeShard:
    """The shard in this folder, or whatever error the engine raises."""
    from qdrant_edge import CountRequest, EdgeShard

    shard = EdgeShard.load(str(folder), _config(dimension))
    # Truncated files load, and fail or return nothing when searched.
    probe = _scan(shard, [1.0] * dimension, 1)
    if shard.count(CountRequest()) and not (probe and math.isfinite(probe[0][1])):
        raise ValueError("its points cannot be searched")
    return shard


def free_bytes(folder: Path) -> int:
    """How much room there is on the disk of a folder, which need not exist."""
    while not folder.exists():
        folder = folder.parent
    return shutil.disk_usage(folder).free


def _config(dimension: int) -> EdgeConfig:
    import qdrant_edge as qe

    half = qe.VectorStorageDatatype.Float16
    codes = qe.TurboQuantQuantizationConfig(bits=qe.TurboQuantBitSize.Bits4, always_ram=True)
    return qe.EdgeConfig(
        vectors=qe.EdgeVectorParams(size=dimension, distance=qe.Distance.Dot, datatype=half, quantization_config=codes),
        wal_enabled=False,
        max_search_threads=1,
        hnsw_config=qe.HnswIndexConfig(m=0, ef_construct=4, full_scan_threshold=10**9),
        optimizers=qe.EdgeOptimizersConfig(default_segment_number=1),
    )


def remove_store(folder: Path) -> None:
    """Delete the files of a store that belongs to no space any more; StoreBusy if it is in use."""
    lock = folder.with_name(folder.name + ".lock")
    with _lock(lock):
        Checksums(folder, folder.with_name(folder.name + ".sums")).remove()
        shutil.rmtree(folder)
        with suppress(PermissionError):  # Windows keeps open files
            lock.unlink()


def _scan(shard: EdgeShard, query: list[float], limit: int, only: Filter | None = None) -> list[tuple[int, float]]:
    from qdrant_edge import QuantizationSearchParams, Query, QueryRequest, SearchParams

    codes = QuantizationSearchParams(rescore=True, oversampling=max(2.0, RESCORED / limit))
    parameters = SearchParams(quantization=codes) if only is None else SearchParams(exact=True)
    request = QueryRequest(query=Query.Nearest(query), limit=limit, filter=only, params=parameters)
    return [(point.id, point.score) for point in shard.query(request)]  # type: ignore[misc]


def _from_engine(error: BaseException) -> bool:
    """Whether the engine raised this: it raises plain `Exception` and Rust's panic, a BaseException."""
    return isinstance(error, Exception) or type(error).__name__ == "PanicException"


def _lock(path: Path) -> IO[bytes]:
    """The open lock file. The operating system releases it when this process ends, however it ends."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("ab")
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskFull(f"{path} cannot be written: {error}. Free some space.") from error
        raise StoreBusy(f"{path} cannot be written: {error}.") from error
    try:
        is_free = try_lock(file)
    except OSError as error:  # a network drive, for example
        file.close()
        raise StoreBusy(f"{path} cannot be locked: {error}.") from error
    if not is_free:
        file.close()
        raise StoreBusy(f"{path} is locked by another process, or by another store of this one.")
    if not path.exists() or not os.path.samestat(os.fstat(file.fileno()), path.stat()):
        file.close()
        raise StoreBusy(f"{path} was just removed by another process.")
    return file
