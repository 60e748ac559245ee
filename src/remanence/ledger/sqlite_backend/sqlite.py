"""The files of a ledger in SQLite: their checks, connections, and errors in terms of this library."""

from __future__ import annotations

import logging
import os
import shutil
import sqlite3
import time
import zlib
from collections.abc import Callable, Container
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import TypeVar

from remanence.errors import Closed, InvalidInput, LedgerCorrupt, LedgerError, LedgerUnavailable
from remanence.ledger.chain import EMPTY_HEAD, ChainHead
from remanence.ledger.sql import DatabaseErrors
from remanence.ledger.tables import APPLICATION_ID, LAST_ENTRY
from remanence.operating_system import open_for_changes

log = logging.getLogger(__name__)

BUSY_TIMEOUT = 30.0
"""Seconds that the transaction of another process is waited for."""
MIN_FREE_BYTES = 2**16
"""Bytes of free disk that SQLite needs to open a ledger: it makes a file of 32 KB beside it, which its connections
share."""
_HEAD_FILE, _HEAD_SIZE = "ledger.head", 128
T = TypeVar("T")

_RESTORE = (
    "Nothing was changed. Make a copy of the folder, then restore a backup of the file; "
    "`sqlite3 ledger.db .recover` may recover what can still be read."
)


def ensure_ledger_file(folder: Path, open_files: Container[tuple[int, int] | None]) -> Path:
    """The path of the ledger file in this folder: created empty, or checked to be a ledger.

    Args:
        folder: The folder of the ledger.
        open_files: The files that this process has open as ledgers. They were checked, and must not be read here:
            closing a file ends the locks that SQLite holds on it for the whole process. Another process would then take
            itself for the last one, delete the write-ahead log when it closes, and with it what is written here later.
    """
    path = folder.absolute() / "ledger.db"
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        is_open = file_identity(path) in open_files
        created = not path.exists()
        if created:
            path.touch(mode=0o600)  # SQLite gives the files beside it the same mode
            _synchronize_folder(path.parent.parent)
        header = b""
        if not is_open:
            with path.open("rb") as file:
                header = file.read(100)
    except FileExistsError as error:
        raise LedgerUnavailable(f"{folder} is a file, not a folder. Give another path.") from error
    except OSError as error:
        raise LedgerUnavailable(
            f"{path} cannot be opened ({error.strerror or error}). "
            "Check the path, its permissions, and that the disk is neither full nor read-only."
        ) from error
    if not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)):
        raise LedgerUnavailable(
            f"{path} is read-only. A ledger needs to write in its folder, even to read: "
            "change the permissions, or copy the folder to a writable place."
        )
    if is_open:
        return path
    if not header and (remains := _leftover_files(path.parent)):
        if created:
            path.unlink()
        raise LedgerCorrupt(
            f"{path} is {'missing' if created else 'empty'}, but {', '.join(remains)} in its folder "
            f"{'was' if len(remains) == 1 else 'were'} made from its entries. {_RESTORE} "
            "To start with an empty ledger, delete those."
        )
    # Read without SQLite, which may change another program's database by opening it.
    if header and (len(header) < 100 or header[:16] != b"SQLite format 3\0"):
        raise LedgerCorrupt(f"{path} is damaged, or is not a Remanence ledger: no SQLite header. {_RESTORE}")
    if header and int.from_bytes(header[68:72], "big") != APPLICATION_ID:
        raise LedgerCorrupt(
            f"{path} is not a Remanence ledger, but another program's database. "
            "It was not changed: give another folder."
        )
    return path


def _synchronize_folder(folder: Path) -> None:
    """Let the disk have a folder that was made in this one. SQLite does it for its own files."""
    with suppress(OSError):  # not every system can
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _leftover_files(folder: Path) -> list[str]:
    """What there is in a folder that only a ledger with entries leaves behind."""
    patterns = {_HEAD_FILE: (_HEAD_FILE,), "index": ("index/*.npz", "index/*/*.idx"), "vectors": ("vectors/*/",)}
    return [name for name, those in patterns.items() if any(any(folder.glob(pattern)) for pattern in those)]


def file_identity(path: Path) -> tuple[int, int] | None:
    """The device and inode of a file, which differ if it was replaced; None if there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def connect(path: Path, *, durable: bool = True) -> sqlite3.Connection:
    """A connection with our settings that several threads may use, one at a time. If it is `durable`, a commit waits
    until the disk has it."""
    # mode=rw: if the file was deleted meanwhile, this is an error and does not create an empty ledger.
    connection = sqlite3.connect(
        f"{path.as_uri()}?mode=rw", uri=True, timeout=BUSY_TIMEOUT, isolation_level=None, check_same_thread=False
    )
    # For a new file: with pages of 4,096 bytes, embeddings of a kilobyte leave a quarter of each page empty.
    connection.execute("PRAGMA page_size=8192")
    connection.execute(f"PRAGMA synchronous={'FULL' if durable else 'NORMAL'}")
    connection.execute("PRAGMA fullfsync=ON")  # for macOS, where the disk may keep in memory what was synchronised
    connection.execute("PRAGMA secure_delete=ON")  # erased text is overwritten, not only unlinked
    return connection


def retry_while_locked(work: Callable[[], T]) -> T:
    """Retry `work` while another process has the file locked.

    SQLite's own timeout covers neither the switch to WAL nor the recovery after a crash.
    """
    deadline = time.monotonic() + BUSY_TIMEOUT
    while True:
        try:
            return work()
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def translated_errors(path: Path) -> DatabaseErrors:
    return DatabaseErrors((sqlite3.Error, UnicodeError, OverflowError), partial(_translate, path))


def _translate(path: Path, error: Exception) -> Exception:
    text = str(error)

    def mentions(*fragments: str) -> bool:
        return any(fragment in text for fragment in fragments)

    if isinstance(error, UnicodeEncodeError):
        return InvalidInput(f"text with a lone surrogate cannot be stored ({text}). Repair it before adding it.")
    if isinstance(error, OverflowError) or mentions("binding", "too big"):
        return InvalidInput(f"a value cannot be stored or searched for: {text}.")
    if mentions("closed database"):
        return Closed("this ledger was closed; open it again to use it.")
    # sqlite3 cannot decode the text of an error that quotes a damaged table. Python 3.10 then leaves it out.
    if isinstance(error, UnicodeDecodeError) or mentions("Could not decode") or not text:
        return LedgerCorrupt(f"{path} is damaged: it has text that is not UTF-8. {_RESTORE}")
    if mentions("not a database", "malformed", "no such table", "no such column"):
        return LedgerCorrupt(f"{path} is damaged: {text}. {_RESTORE}")
    if mentions("full"):
        return LedgerUnavailable(f"{path}: the disk is full, and nothing of this write was stored. Free some space.")
    if mentions("locked", "busy"):
        seconds = f"{BUSY_TIMEOUT:.0f} s"
        return LedgerUnavailable(f"{path}: another process has been writing for {seconds}. Try again, or end it.")
    if mentions("I/O", "unable to open") and shutil.disk_usage(path.parent).free < MIN_FREE_BYTES:
        return LedgerUnavailable(
            f"{path}: the disk is full. To open it, SQLite needs {MIN_FREE_BYTES // 1024} KB beside it, even to read. "
            "Free some space."
        )
    if mentions("readonly", "unable to open", "I/O"):
        return LedgerUnavailable(
            f"{path} cannot be written ({text}). Check its permissions, and that the disk is there and not read-only."
        )
    return LedgerError(f"{path}: {text}")


def replace_ledger_file(path: Path, new: Path, digest: str) -> None:
    """Replace a ledger file that nobody has open by a copy of it, and delete index and vector files. `digest` is that
    of the last entry of the copy, as hexadecimal text."""
    with closing(connect(path)) as connection:
        try:
            connection.execute("PRAGMA busy_timeout=1000")
            connection.execute("PRAGMA journal_mode=DELETE")  # only the last connection may leave write-ahead logging
            connection.execute("BEGIN EXCLUSIVE")
            last = connection.execute(LAST_ENTRY).fetchone()
        except sqlite3.OperationalError as error:
            raise LedgerUnavailable(
                f"{path} is open somewhere ({error}), and was not changed. Close it everywhere, and try again."
            ) from error
        if (EMPTY_HEAD if last is None else ChainHead(*last)).digest.hex() != digest:
            raise LedgerUnavailable(f"{path} was written to meanwhile, and was not changed. Try again.")
        for name in ("index", "vectors"):
            shutil.rmtree(path.parent / name, ignore_errors=True)
        new.replace(path)


class HeadRecord:
    """The file `ledger.head` next to the ledger, with the position and digest of the last commit.

    SQLite ignores its write-ahead log after the first damaged page, without an error. The record is written after each
    commit, outside that log, so that a ledger that ends before it is detected. It is never ahead of what the disk has,
    as the log was synchronised before. The record itself is not: after a power cut it may be behind, and says nothing.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / _HEAD_FILE
        self._file: int | None = None

    def read(self) -> ChainHead | None:
        """The last entry that was committed; None if there is no record, or it is damaged."""
        try:
            return _decode_head(self.path.read_bytes())
        except OSError:
            return None

    def write(self, head: ChainHead) -> None:
        """Record a head that was just committed, unless another process has recorded a later one. An error is logged:
        the entries are committed."""
        try:
            if self._file is None:
                self._file = open_for_changes(self.path)
            os.lseek(self._file, 0, os.SEEK_SET)
            known = _decode_head(os.read(self._file, _HEAD_SIZE))
            if known is None or known.position < head.position:
                os.lseek(self._file, 0, os.SEEK_SET)
                os.write(self._file, _encode_head(head))
        except OSError as error:
            log.warning("%s was not written: %s", self.path, error)

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None


def _encode_head(head: ChainHead) -> bytes:
    text = f"{head.position} {head.digest.hex()}"
    return f"{text} {zlib.crc32(text.encode()):08x}".ljust(_HEAD_SIZE - 1).encode() + b"\n"


def _decode_head(content: bytes) -> ChainHead | None:
    text, _, checksum = content[:_HEAD_SIZE].strip().rpartition(b" ")
    try:
        if int(checksum, 16) != zlib.crc32(text):
            return None
        position, digest = text.split(b" ")
        return ChainHead(int(position), bytes.fromhex(digest.decode()))
    except ValueError:
        return None
