"""What differs between operating systems, with doubles of Windows and macOS beside this system."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import socket
import struct
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from remanence import operating_system
from remanence.cli import doctor
from remanence.index.vectors.stores import edge
from remanence.ledger.locks import FolderLocks
from remanence.operating_system import (
    after_fork,
    allow_port_again,
    bytes_on_disk,
    limit_this_process,
    max_open_files,
    next_data,
    open_for_changes,
    open_unnamed,
    try_lock,
    user_cache_folder,
    user_number,
    write_at_start,
)
from remanence.testing import LocksContract
from remanence.transfer.jsonlines import JsonLinesWriter

ROOT = Path(__file__).parent.parent
_OF_ONE_SYSTEM = re.compile(
    r"import (fcntl|msvcrt|resource|pwd|termios|winreg)\b|sys\.platform|os\.name\b|platform\.system"
    r"|register_at_fork|os\.(fork|getuid|geteuid|kill|pwrite|pread)\b|O_(TMPFILE|CLOEXEC|BINARY)|SEEK_DATA|SO_REUSEADDR"
    r"|st_blocks|/proc/self|LOCALAPPDATA"
)


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
    """The path that Windows takes, on this system: what its Python lacks is taken away."""
    monkeypatch.setitem(sys.modules, "msvcrt", SimpleNamespace(locking=lock_byte, LK_NBLCK=2))
    monkeypatch.setitem(sys.modules, "resource", None)
    monkeypatch.setattr(operating_system, "sys", SimpleNamespace(platform="win32"))
    for name in ("pwrite", "register_at_fork", "getuid", "O_TMPFILE", "SEEK_DATA", "O_CLOEXEC"):
        monkeypatch.delattr(os, name)


@pytest.fixture
def macos(monkeypatch: pytest.MonkeyPatch) -> None:
    """The path that macOS takes."""
    monkeypatch.setattr(operating_system, "sys", SimpleNamespace(platform="darwin"))
    monkeypatch.delattr(os, "O_TMPFILE")


SYSTEMS = pytest.mark.parametrize("system", ["posix", "windows", "macos"])


@pytest.fixture(autouse=True)
def _system(request: pytest.FixtureRequest) -> None:
    """The system of a test that is run on each."""
    system = request.node.callspec.params.get("system", "posix") if hasattr(request.node, "callspec") else "posix"
    if system != "posix":
        request.getfixturevalue(system)


@pytest.mark.usefixtures("windows")
class TestFolderLocksOnWindows(LocksContract):
    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self.folder = tmp_path

    def make(self) -> FolderLocks:
        return FolderLocks(self.folder)


@SYSTEMS
def test_a_file_is_locked_once(system: str, tmp_path: Path) -> None:
    """A second one that opens the file waits for the first to close it."""
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


@SYSTEMS
def test_an_export_is_complete_or_absent(system: str, tmp_path: Path) -> None:
    """Where no file is without a name, it is written under another one."""
    path = tmp_path / "lines.jsonl"
    with suppress(KeyError), JsonLinesWriter(path) as writer:
        writer.write('{"a": 1}')
        raise KeyError
    assert not list(tmp_path.iterdir())

    with JsonLinesWriter(path) as writer:
        writer.write('{"a": 1}')
        writer.finish()
    assert list(tmp_path.iterdir()) == [path]
    unnamed = open_unnamed(tmp_path)
    assert (unnamed is None) == (system != "posix")
    if unnamed is not None:
        unnamed.close()


@SYSTEMS
def test_a_sparse_file_has_the_checksum_of_a_full_one(system: str, tmp_path: Path) -> None:
    """Holes are read as zeros where the system does not say where they are."""
    sparse, full = tmp_path / "sparse", tmp_path / "full"
    with sparse.open("wb") as file:
        file.seek(1 << 20)
        file.write(b"data")
    full.write_bytes(bytes(1 << 20) + b"data")
    assert edge._checksum(sparse) == edge._checksum(full) != 0
    with sparse.open("rb") as file:
        assert next_data(file.fileno(), 0) == (0 if system == "windows" else 1 << 20)


def test_bytes_on_disk_are_those_of_the_blocks() -> None:
    """Or the length, where the system does not say how many blocks there are."""
    assert bytes_on_disk(cast("os.stat_result", SimpleNamespace(st_size=10**6, st_blocks=8))) == 4096
    assert bytes_on_disk(cast("os.stat_result", SimpleNamespace(st_size=10**6))) == 10**6


@SYSTEMS
def test_a_file_for_changes_keeps_its_content(system: str, tmp_path: Path) -> None:
    """It is opened, not made anew, and only its owner may read it."""
    path = tmp_path / "head"
    for content in (b"one", b"two"):
        number = open_for_changes(path)
        write_at_start(number, content)
        os.close(number)
        assert path.read_bytes() == content
    assert path.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    ("system", "variable", "expected"),
    [
        ("posix", "XDG_CACHE_HOME", "remanence"),
        ("windows", "LOCALAPPDATA", "remanence/Cache"),
        ("macos", "HOME", "Library/Caches/remanence"),
    ],
)
def test_caches_are_where_the_system_has_them(
    system: str, variable: str, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, str(tmp_path))
    assert user_cache_folder() == tmp_path / expected


@SYSTEMS
def test_limits_are_those_of_the_system(system: str) -> None:
    """Windows has none that a process can ask for, and users without numbers."""
    has_none = system == "windows"
    assert (max_open_files() is None) == has_none
    assert (user_number() is None) == has_none


@pytest.mark.usefixtures("windows")
def test_windows_has_no_forks_and_limits() -> None:
    """What is asked for them has no effect there."""
    after_fork(lambda: None)
    limit_this_process(1)


@SYSTEMS
def test_the_doctor_reads_modes_where_there_are_some(system: str, tmp_path: Path) -> None:
    """On Windows everybody would seem to be let in."""
    tmp_path.chmod(0o755)
    found = [finding.text for finding in doctor._permissions(tmp_path)]
    assert found == ([] if system == "windows" else ["other users of this machine may enter the folder (755)"])


@SYSTEMS
def test_a_port_is_used_again_but_on_windows(system: str) -> None:
    """There two servers could have one port."""
    with socket.socket() as listening:
        allow_port_again(listening)
        is_allowed = listening.getsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR) != 0
    assert is_allowed == (system != "windows")


def test_only_one_module_asks_for_the_system() -> None:
    """What not every system has is in `operating_system`, so its doubles stand for all of the package."""
    modules = [path for folder in ("src", "integrations") for path in (ROOT / folder).rglob("*.py")]
    found = {path.name for path in modules if _OF_ONE_SYSTEM.search(path.read_text("utf-8"))}
    assert found == {"operating_system.py"}


@pytest.mark.slow
@pytest.mark.parametrize("platform", ["win32", "darwin"])
def test_types_are_right_on_other_systems(platform: str, tmp_path: Path) -> None:
    """Of the one module that asks for the system, alone, as all else takes long; `ci.yml` checks all."""
    module = shutil.copy(operating_system.__file__, tmp_path)
    options = ["--strict", "--warn-unreachable", "--python-version=3.10", f"--platform={platform}"]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options, module], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
