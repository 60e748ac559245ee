"""Files on different operating systems: locks, writes at the start, and processes that have ended.

Nothing else in this package imports `fcntl` or `msvcrt`.
"""

from __future__ import annotations

import os
import sys
import threading
from typing import IO, Any

LOCKED_BYTE = 2**30
"""The byte that is locked on Windows, where a locked byte cannot be read. It lies behind the content of lock files."""

_writing = threading.Lock()


def try_lock(file: IO[Any]) -> bool:
    """Lock an open file for whoever opened it, until it is closed or the process ends; False if it is locked."""
    return _lock_windows(file.fileno()) if sys.platform == "win32" else _lock_posix(file.fileno())


def _lock_posix(number: int) -> bool:
    import fcntl

    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _lock_windows(number: int) -> bool:
    import msvcrt

    place = os.lseek(number, 0, os.SEEK_CUR)
    os.lseek(number, LOCKED_BYTE, os.SEEK_SET)
    try:
        msvcrt.locking(number, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined, unused-ignore]
    except PermissionError:
        return False
    finally:
        os.lseek(number, place, os.SEEK_SET)
    return True


def write_at_start(number: int, content: bytes) -> None:
    """Write over the first bytes of an open file, without a buffer."""
    if hasattr(os, "pwrite"):
        os.pwrite(number, content, 0)
        return
    with _writing:
        os.lseek(number, 0, os.SEEK_SET)
        os.write(number, content)


def may_have_ended(process: int) -> bool:
    """Whether no process has this number. Always True on Windows, where signal 0 is Ctrl-C and cannot be used to ask:
    there a file that a running process has open cannot be deleted."""
    if sys.platform == "win32":
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except PermissionError:  # it is of another user
        return False
    return False
