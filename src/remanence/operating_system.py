"""What differs between operating systems: locks, files without a name, sparse files, processes, limits, folders.

Nothing else in this package asks which system it runs on, or imports a module that not every system has
(`tests/test_operating_system.py`). Each function says what Windows and macOS do instead. What Python offers on all of
them (sockets, SIGINT and SIGTERM, `os.dup2`, `pathlib`) is used where it is needed.
"""

from __future__ import annotations

import os
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from io import BufferedWriter
from pathlib import Path
from typing import IO, Any

LOCKED_BYTE = 2**30
"""The byte that is locked on Windows, where a locked byte cannot be read. It lies behind the content of lock files."""

_PRIVATE = 0o600
_OPEN_FILES = "/proc/self/fd"
_writing = threading.Lock()


# Locks


def try_lock(file: IO[Any]) -> bool:
    """Lock an open file for whoever opened it, until it is closed or the process ends; False if it is locked."""
    return _lock_windows(file.fileno()) if sys.platform == "win32" else _lock_posix(file.fileno())


def _lock_posix(number: int) -> bool:
    import fcntl

    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)  # type: ignore[attr-defined, unused-ignore]
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


# Files


def open_for_changes(path: Path) -> int:
    """Open a file to read and write its bytes as they are; it is created if necessary, and no child process has it."""
    flags = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)  # the second one on Windows only
    return os.open(path, os.O_RDWR | os.O_CREAT | flags, _PRIVATE)


def write_at_start(number: int, content: bytes) -> None:
    """Write over the first bytes of an open file, without a buffer."""
    if hasattr(os, "pwrite"):
        os.pwrite(number, content, 0)
        return
    with _writing:
        os.lseek(number, 0, os.SEEK_SET)
        os.write(number, content)


def open_unnamed(folder: Path) -> BufferedWriter | None:
    """A file without a name, which is deleted when it is closed; None where there is no such thing: on macOS, on
    Windows, and in some file systems of Linux."""
    if not hasattr(os, "O_TMPFILE") or not os.path.isdir(_OPEN_FILES):
        return None
    try:
        return os.fdopen(os.open(folder, os.O_TMPFILE | os.O_RDWR, _PRIVATE), "wb")
    except OSError:  # or the folder cannot be written: then opening a file with a name raises
        return None


def give_name(unnamed: BufferedWriter, path: Path) -> None:
    """Give a file of `open_unnamed` an absolute path, where there is no file yet."""
    # With a descriptor of a folder (any: the path is absolute) it follows the link to the file.
    number = unnamed.fileno()
    os.link(f"{_OPEN_FILES}/{number}", path, src_dir_fd=number, follow_symlinks=True)


def next_data(number: int, place: int) -> int | None:
    """Where the next bytes of a sparse file begin that are not in a hole, from `place` on; None if none do. `place`
    where the system cannot tell, as Windows."""
    seek_data = getattr(os, "SEEK_DATA", None)
    if seek_data is None:
        return place
    try:
        return os.lseek(number, place, seek_data)
    except OSError:
        return None


def bytes_on_disk(info: os.stat_result) -> int:
    """The bytes that a file takes: of a sparse one less than its length, where the system says so."""
    blocks: int | None = getattr(info, "st_blocks", None)
    return info.st_size if blocks is None else blocks * 512


def user_cache_folder() -> Path:
    """The folder for what a program of this user can make again."""
    home = Path(os.path.expanduser("~"))
    if sys.platform == "win32":
        folder = Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local") / "remanence" / "Cache"
    elif sys.platform == "darwin":
        folder = home / "Library" / "Caches" / "remanence"
    else:
        folder = Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache") / "remanence"
    return folder


# Processes


def after_fork(function: Callable[[], object]) -> None:
    """Call a function in each process that is forked from this one. Windows has no forks."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=function)


def user_number() -> int | None:
    """The number of the user of this process; None on Windows, where users have none."""
    return os.getuid() if hasattr(os, "getuid") else None


def limit_this_process(memory: int) -> None:
    """Limit the memory of this process, in bytes, and let it leave no core file if it crashes. Without effect on
    Windows, and on macOS, which refuses the first limit: those of the machine apply there."""
    try:
        import resource
    except ImportError:  # on Windows
        return
    with suppress(OSError, ValueError):  # above what this process may have: that is a limit as well
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # type: ignore[attr-defined, unused-ignore]
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))  # type: ignore[attr-defined, unused-ignore]


def max_open_files() -> int | None:
    """How many files and sockets this process may have open; None if there is no limit, as on Windows."""
    try:
        import resource
    except ImportError:  # on Windows
        return None
    soft: int = resource.getrlimit(resource.RLIMIT_NOFILE)[0]  # type: ignore[attr-defined, unused-ignore]
    return None if soft == resource.RLIM_INFINITY else soft  # type: ignore[attr-defined, unused-ignore]


# Sockets


def allow_port_again(listening: socket.socket) -> None:
    """Let a port be used again at once after a server on it has ended. Not on Windows: there this would allow two
    servers on one port, and the port is free at once anyhow."""
    if sys.platform != "win32":
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
