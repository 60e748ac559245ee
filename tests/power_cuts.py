"""What a power cut leaves of a folder: the content that each file of SQLite had when it was last synchronised.

SQLite reaches its files through a table of functions (a VFS). While `watched_disk` is in use, new connections have a
table whose `xSync` also keeps the content of the file.
"""

from __future__ import annotations

import _sqlite3
import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

_METHODS = ("iVersion", "xClose", "xRead", "xWrite", "xTruncate", "xSync", *(f"other{n}" for n in range(13)))
_OPEN = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.POINTER(ctypes.c_int)
)
_SYNC = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int)


class _Methods(ctypes.Structure):
    """`sqlite3_io_methods`."""

    _fields_ = tuple((name, ctypes.c_int if name == "iVersion" else ctypes.c_void_p) for name in _METHODS)


class _File(ctypes.Structure):
    """`sqlite3_file`."""

    _fields_ = (("methods", ctypes.POINTER(_Methods)),)


class _Vfs(ctypes.Structure):
    """`sqlite3_vfs`."""

    _fields_ = (
        *(("iVersion", ctypes.c_int), ("szOsFile", ctypes.c_int), ("mxPathname", ctypes.c_int)),
        *(("pNext", ctypes.c_void_p), ("zName", ctypes.c_char_p), ("pAppData", ctypes.c_void_p)),
        *(("xOpen", ctypes.c_void_p), *((f"other{n}", ctypes.c_void_p) for n in range(15))),
    )


class Disk:
    """What was synchronised, by path."""

    def __init__(self) -> None:
        self.content: dict[Path, bytes] = {}
        self._readers: dict[int, int] = {}  # by the number of the file, which is another one where it was made again
        self._kept: list[Any] = []  # what SQLite has pointers to

    def synchronized(self, path: Path) -> None:
        """Keep the content of a file. It is never closed: that would end the locks that SQLite holds on it."""
        status = path.stat()
        reader = self._readers.get(status.st_ino)
        if reader is None:
            reader = self._readers[status.st_ino] = os.open(path, os.O_RDONLY)
        self.content[path] = os.pread(reader, status.st_size, 0)

    def cut(self, folder: Path, target: Path) -> Path:
        """A copy of a folder as a power cut may leave it. What SQLite does not write is there as it is now."""
        target.mkdir()
        for path in folder.iterdir():
            if path in self.content:
                (target / path.name).write_bytes(self.content[path])
            elif path.is_file() and not path.name.startswith("ledger.db"):
                (target / path.name).write_bytes(path.read_bytes())
        return target


@contextmanager
def watched_disk() -> Iterator[Disk]:
    """Keep what the connections that are made meanwhile synchronise."""
    try:
        library = ctypes.CDLL(_sqlite3.__file__)
        library.sqlite3_vfs_find.restype = ctypes.POINTER(_Vfs)
    except (AttributeError, OSError):
        pytest.skip("this Python has SQLite built in, and its functions cannot be called")
    disk = Disk()
    usual = library.sqlite3_vfs_find(None)
    open_usual = ctypes.cast(usual.contents.xOpen, _OPEN)

    # The name goes on as the pointer that it is: behind its end are the parameters of the address.
    def open_watched(vfs: int, name: int | None, file: int, flags: int, out: Any) -> int:
        code: int = open_usual(ctypes.addressof(usual.contents), name, file, flags, out)
        methods = ctypes.cast(file, ctypes.POINTER(_File)).contents
        if code == 0 and name and methods.methods:
            watched = _Methods.from_buffer_copy(methods.methods.contents)
            sync, path = ctypes.cast(watched.xSync, _SYNC), Path(os.fsdecode(ctypes.string_at(name)))

            def sync_watched(synced: int, how: int) -> int:
                result: int = sync(synced, how)
                if path.exists():
                    disk.synchronized(path)
                return result

            callback = _SYNC(sync_watched)
            watched.xSync = ctypes.cast(callback, ctypes.c_void_p)
            methods.methods = ctypes.pointer(watched)
            disk._kept += [watched, callback]
        return code

    vfs, callback = _Vfs.from_buffer_copy(usual.contents), _OPEN(open_watched)
    vfs.zName, vfs.xOpen = b"watched", ctypes.cast(callback, ctypes.c_void_p)
    assert library.sqlite3_vfs_register(ctypes.byref(vfs), 1) == 0
    try:
        yield disk
    finally:
        library.sqlite3_vfs_register(usual, 1)
        library.sqlite3_vfs_unregister(ctypes.byref(vfs))
        for reader in disk._readers.values():
            os.close(reader)
