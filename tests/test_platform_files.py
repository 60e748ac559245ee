"""Locks of files, with a double of Windows' `msvcrt` beside the real ones of this system."""

from __future__ import annotations

import fcntl
import os
import struct
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from remanence.ledger import platform_files
from remanence.ledger.locks import FolderLocks
from remanence.ledger.platform_files import may_have_ended, try_lock, write_at_start
from remanence.testing import LocksContract

ROOT = Path(__file__).parent.parent


def lock_byte(number: int, mode: int, count: int) -> None:
    """`msvcrt.locking`: a lock of bytes from the present place of one open file, by Linux's locks of open files. Bytes
    of the content must not be locked, because nobody could read them on Windows."""
    place = os.lseek(number, 0, os.SEEK_CUR)
    assert mode == 2, "without waiting"
    assert place > os.fstat(number).st_size
    kind = fcntl.F_WRLCK if _is_writable(number) else fcntl.F_RDLCK  # Linux wants it writable
    request = struct.pack("hhqqi4x", kind, os.SEEK_SET, place, count, 0)
    try:
        fcntl.fcntl(number, fcntl.F_OFD_SETLK, request)
    except BlockingIOError as error:
        raise PermissionError(13, "Permission denied") from error


def _is_writable(number: int) -> bool:
    return fcntl.fcntl(number, fcntl.F_GETFL) & os.O_ACCMODE != os.O_RDONLY


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """The path that Windows takes, on this system."""
    monkeypatch.setitem(sys.modules, "msvcrt", SimpleNamespace(locking=lock_byte, LK_NBLCK=2))
    monkeypatch.setattr(platform_files, "sys", SimpleNamespace(platform="win32"))
    monkeypatch.delattr(os, "pwrite")


@pytest.mark.usefixtures("windows")
class TestFolderLocksOnWindows(LocksContract):
    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self.folder = tmp_path

    def make(self) -> FolderLocks:
        return FolderLocks(self.folder)


@pytest.mark.parametrize("system", ["posix", "windows"])
def test_a_file_is_locked_once(system: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """A second one that opens the file waits for the first to close it."""
    if system == "windows":
        request.getfixturevalue("windows")
    path = tmp_path / "a.lock"
    with path.open("a") as first, path.open("a") as second:
        assert try_lock(first)
        assert not try_lock(second)
    with path.open("a") as third:
        assert try_lock(third)


@pytest.mark.usefixtures("windows")
def test_a_lock_keeps_the_place_in_the_file(tmp_path: Path) -> None:
    """What is written after locking lands where it would have without."""
    with (tmp_path / "a").open("wb", buffering=0) as file:
        file.write(b"one ")
        try_lock(file)
        file.write(b"two")
        write_at_start(file.fileno(), b"ONE")
    assert (tmp_path / "a").read_bytes() == b"ONE two"


def test_a_process_that_has_ended_is_known() -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    assert may_have_ended(ended.pid)
    assert not may_have_ended(os.getpid())


@pytest.mark.usefixtures("windows")
def test_no_signal_is_sent_to_ask_for_a_process_on_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Signal 0 is Ctrl-C there."""
    monkeypatch.setattr(os, "kill", None)
    assert may_have_ended(os.getpid())


def test_only_one_module_locks_files() -> None:
    """What is of one operating system only is asked for in `platform_files`."""
    modules = [path for folder in ("src", "integrations") for path in (ROOT / folder).rglob("*.py")]
    users = {
        path.name
        for path in modules
        if "import fcntl" in path.read_text("utf-8") or "msvcrt" in path.read_text("utf-8")
    }
    assert users == {"platform_files.py"}
