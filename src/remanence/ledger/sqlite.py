"""One SQLite file: where it may lie, how it is opened, and what its errors mean."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import TypeVar

from sqlalchemy.exc import DBAPIError

from remanence.errors import Closed, InvalidInput, LedgerCorrupt, LedgerError, LedgerUnavailable

APPLICATION_ID = 0x52454D4E  # "REMN", at byte 68 of the file, so that no other program's file is taken for ours
BUSY_TIMEOUT = 30.0  # seconds to wait for another process's transaction
T = TypeVar("T")

_RESTORE = (
    "Nothing was changed. Copy the folder aside, then put a backup of the file in its place; "
    "`sqlite3 ledger.db .recover` may save what can still be read."
)


def ensure_ledger_file(folder: Path) -> Path:
    """The ledger file in this folder, made empty if there is none, and known to be ours or empty."""
    path = folder.absolute() / "ledger.db"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        made = not path.exists()
        if made:
            path.touch()
        with path.open("rb") as file:
            header = file.read(100)
    except FileExistsError as error:
        raise LedgerUnavailable(f"{folder} is a file, and a ledger needs a folder. Give another path.") from error
    except OSError as error:
        raise LedgerUnavailable(
            f"{path} cannot be opened ({error.strerror or error}). "
            "Check the path, its permissions, and that the disk is neither full nor read-only."
        ) from error
    if not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)):
        raise LedgerUnavailable(
            f"{path} is read-only. A ledger needs to write in its folder, even to read: "
            "change the permissions, or copy the folder to a place that can be written."
        )
    if not (header or made) and any((path.parent / "index").glob("*.npz")):
        raise LedgerCorrupt(
            f"{path} is empty, but {path.parent / 'index'} was made of lines in it. {_RESTORE} "
            "To begin anew, delete both."
        )
    # Read by hand: merely opening somebody else's database with SQLite may already change it.
    if header and (len(header) < 100 or header[:16] != b"SQLite format 3\0"):
        raise LedgerCorrupt(f"{path} is damaged, or is not a Remanence ledger: no SQLite header. {_RESTORE}")
    if header and int.from_bytes(header[68:72], "big") != APPLICATION_ID:
        raise LedgerCorrupt(
            f"{path} is not a Remanence ledger, but another program's database. "
            "It was left as it is: give another folder."
        )
    return path


def file_identity(path: Path) -> tuple[int, int]:
    """Which file it is that goes by this name."""
    found = os.stat(path)
    return found.st_dev, found.st_ino


def connect(path: Path) -> sqlite3.Connection:
    """A connection set up our way, that threads may hand to one another."""
    # mode=rw: if the file is taken away under us, that is an error and not a fresh, empty ledger.
    connection = sqlite3.connect(
        f"{path.as_uri()}?mode=rw", uri=True, timeout=BUSY_TIMEOUT, isolation_level=None, check_same_thread=False
    )
    # For a new file: of 4,096, an embedding of a kilobyte leaves a quarter of each page empty.
    connection.execute("PRAGMA page_size=8192")
    connection.execute("PRAGMA synchronous=NORMAL")
    connection.execute("PRAGMA secure_delete=ON")  # erased words are overwritten, not only unlinked
    return connection


def retry_while_locked(work: Callable[[], T]) -> T:
    """Do `work` again while another process has the file locked.

    SQLite's own patience does not cover the switch to WAL, nor recovery after a crash.
    """
    deadline = time.monotonic() + BUSY_TIMEOUT
    while True:
        try:
            return work()
        except (sqlite3.OperationalError, DBAPIError) as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.01)


class ErrorTranslator:
    """Around every call to the database: its errors come out as ours, with the path and the next step."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None and isinstance(error, DBAPIError | sqlite3.Error | UnicodeEncodeError | OverflowError):
            raise explained(error, self._path) from error


def explained(error: BaseException, path: Path) -> Exception:
    """What a database error means to the person who meets it."""
    cause = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
    said = str(cause)
    if isinstance(cause, UnicodeEncodeError):
        return InvalidInput(f"text with a lone surrogate cannot be kept ({said}). Repair it before adding it.")
    if isinstance(cause, OverflowError) or "binding" in said or "too big" in said:
        return InvalidInput(f"a value cannot be kept or asked for: {said}.")
    if "closed database" in said:
        return Closed("this ledger was closed; open it again to use it.")
    if "not a database" in said or "malformed" in said or "no such table" in said or "no such column" in said:
        return LedgerCorrupt(f"{path} is damaged: {said}. {_RESTORE}")
    if "full" in said:
        return LedgerUnavailable(f"{path}: the disk is full, and nothing was kept of this write. Free some space.")
    if "locked" in said or "busy" in said:
        return LedgerUnavailable(
            f"{path}: another process has been writing for {BUSY_TIMEOUT:.0f} s. Try again, or end that process."
        )
    if "readonly" in said or "unable to open" in said or "I/O" in said:
        return LedgerUnavailable(
            f"{path} cannot be written ({said}). Check its permissions, and that the disk is there and not read-only."
        )
    return LedgerError(f"{path}: {said}")
