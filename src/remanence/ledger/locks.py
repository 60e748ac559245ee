"""Locks by name, see `ports.Locks`: between threads, and between processes by files in the folder of the ledger."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO
from uuid import uuid4

from remanence.operating_system import try_lock, write_at_start


class ThreadLocks:
    """For a ledger in memory, which only one process can use."""

    is_shared = False

    def __init__(self) -> None:
        self._locks: dict[str, threading.Lock] = {}

    @contextmanager
    def acquire(self, name: str) -> Iterator[bool]:
        lock = self._locks.setdefault(name, threading.Lock())
        if not lock.acquire(blocking=False):
            yield False
            return
        try:
            yield True
        finally:
            lock.release()

    def is_locked(self, name: str) -> bool:
        lock = self._locks.get(name)
        return lock is not None and lock.locked()

    def delete(self, name: str) -> None:
        """Nothing is stored."""

    def publish_position(self, position: int) -> None:
        """Does nothing: there are no other processes."""

    def other_processes(self) -> list[tuple[str, int]]:
        return []

    def close(self) -> None:
        """Nothing to release."""


class FolderLocks:
    """Locked files in a folder. The operating system unlocks them when a process ends."""

    is_shared = True

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "jobs"
        self._processes = self._folder / "processes"
        self._threads = ThreadLocks()
        self._position_file: IO[str] | None = None
        self._made_folders: list[Path] = []
        self._closed = False

    @contextmanager
    def acquire(self, name: str) -> Iterator[bool]:
        with self._threads.acquire(name) as free:
            if not free:
                yield False
                return
            with _locked(self._path(name)) as acquired:
                yield acquired

    def is_locked(self, name: str) -> bool:
        if self._threads.is_locked(name):
            return True
        path = self._path(name)
        if not path.exists():
            return False
        with _locked(path) as free:
            return not free

    def delete(self, name: str) -> None:
        self._path(name).unlink(missing_ok=True)

    def publish_position(self, position: int) -> None:
        """The position is written into a file that this process keeps locked."""
        if self._closed:  # a thread that was not waited for
            return
        if self._position_file is None:
            self._made_folders = [folder for folder in (self._folder, self._processes) if not folder.exists()]
            self._position_file = _open(self._processes / f"{os.getpid()}-{uuid4().hex[:8]}.lock", "w")
            while not try_lock(self._position_file):  # another process is looking at it
                time.sleep(0.001)
        # Without a buffer: on a full disk nothing is left to be written when the file is closed.
        write_at_start(self._position_file.fileno(), f"{position:020}".encode())

    def other_processes(self) -> list[tuple[str, int]]:
        processes: list[tuple[str, int]] = []
        own = None if self._position_file is None else Path(self._position_file.name)
        for path in self._processes.glob("*.lock"):
            if path == own:
                continue
            try:
                with path.open() as file:
                    is_running = not try_lock(file)
                if is_running:
                    processes.append((path.name.partition("-")[0], int(path.read_text() or 0)))
                else:
                    path.unlink()
            except FileNotFoundError:
                continue
        return processes

    def close(self) -> None:
        self._closed = True
        own, self._position_file = self._position_file, None
        if own is not None:
            own.close()  # before it is deleted: Windows keeps open files
            with suppress(OSError):  # the folder is read-only now; others see that nobody holds it
                Path(own.name).unlink(missing_ok=True)
            for folder in sorted(self._made_folders, reverse=True):
                with suppress(OSError):  # another process has a file there
                    folder.rmdir()

    def _path(self, name: str) -> Path:
        return self._folder / f"{name}.lock"


@contextmanager
def _locked(path: Path) -> Iterator[bool]:
    with _open(path, "a") as file:
        yield try_lock(file)


def _open(path: Path, mode: str) -> IO[str]:
    """Open a lock file. Its folder is made, and made again if another process has just removed it."""
    for _ in range(100):  # another process may remove the folder in between
        path.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileNotFoundError):
            return path.open(mode)
    raise FileNotFoundError(f"{path.parent} is removed again and again")
