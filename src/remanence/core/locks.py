"""Named locks, within this process and between processes: a file in the folder of the ledger is locked too, which is
released even if a process dies. A space in memory is used by one process only."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from remanence.core.engine import Engine
from remanence.core.lock_files import open_lock_file


@contextmanager
def try_lock(engine: Engine, name: str) -> Iterator[bool]:
    """Hold a lock during the block; yields False if it is taken."""
    lock = engine.named_locks.setdefault(name, threading.Lock())
    if not lock.acquire(blocking=False):
        yield False
        return
    try:
        with _file_lock(_lock_file(engine.folder, name)) as acquired:
            yield acquired
    finally:
        lock.release()


def is_locked(engine: Engine, name: str) -> bool:
    lock = engine.named_locks.get(name)
    if lock is not None and lock.locked():
        return True
    path = _lock_file(engine.folder, name)
    if path is None or not path.exists():
        return False
    with _file_lock(path) as free:
        return not free


def _lock_file(folder: Path | None, name: str) -> Path | None:
    return None if folder is None else folder / "jobs" / f"{name}.lock"


def remove_lock_file(engine: Engine, name: str) -> None:
    path = _lock_file(engine.folder, name)
    if path is not None:
        path.unlink(missing_ok=True)


@contextmanager
def _file_lock(path: Path | None) -> Iterator[bool]:
    if path is None:
        yield True
        return
    import fcntl

    with open_lock_file(path, "a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield True
