"""Work that one at a time may do: a lock by name, held in this process and against all others.

Between processes it is a file lock in the folder of the ledger, so that it is let go of even by a process
that dies; a space in memory has none to keep out.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from remanence.core.engine import Engine

_HELD: set[tuple[int, str]] = set()
_HELD_LOCK = threading.Lock()


@contextmanager
def try_lock(engine: Engine, name: str) -> Iterator[bool]:
    """Hold a lock while in the block; False if somebody else does."""
    mine = (id(engine), name)
    with _HELD_LOCK:
        free = mine not in _HELD
        _HELD.add(mine)
    if not free:
        yield False
        return
    try:
        with _file_lock(_lock_file(engine.folder, name)) as ours:
            yield ours
    finally:
        with _HELD_LOCK:
            _HELD.discard(mine)


def is_locked(engine: Engine, name: str) -> bool:
    """Whether somebody, here or in another process, holds a lock."""
    with _HELD_LOCK:
        if (id(engine), name) in _HELD:
            return True
    path = _lock_file(engine.folder, name)
    if path is None or not path.exists():
        return False
    with _file_lock(path) as free:
        return not free


def _lock_file(folder: Path | None, name: str) -> Path | None:
    return None if folder is None else folder / "jobs" / f"{name}.lock"


def remove_lock_file(engine: Engine, name: str) -> None:
    """Take a lock's file away, once nobody will want it any more."""
    path = _lock_file(engine.folder, name)
    if path is not None:
        path.unlink(missing_ok=True)


@contextmanager
def _file_lock(path: Path | None) -> Iterator[bool]:
    if path is None:
        yield True
        return
    import fcntl

    path.parent.mkdir(exist_ok=True)
    with path.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield True
