"""Copying a ledger, with a check of the chain on both sides: from a folder to a database or back, or to encrypt a
folder that is not encrypted; and changing the key of one that is."""

from __future__ import annotations

import shutil
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from remanence.errors import InvalidInput, LedgerTampered
from remanence.events import Event, Remembered
from remanence.index.engine.inputs import progress_bar
from remanence.index.vectors.vectors import embeddable_texts
from remanence.ledger import is_address, ledger_exists, open_ledger, shown_location
from remanence.ledger.copying import check_complete, copy_ledger
from remanence.ledger.encryption import Encryption, read_key
from remanence.ledger.sql import SqlLedger
from remanence.ledger.sqlite_backend import sqlite
from remanence.ledger.sqlite_backend.sqlite_ledger import SqliteLedger
from remanence.text.text import pluralize, text_hash

if TYPE_CHECKING:
    from remanence.ports import Progress


@dataclass(frozen=True, slots=True)
class MigrationReport:
    """What was copied from where to where. `digest` is that of the last entry, which is the same on both sides."""

    source: str
    target: str
    entries: int
    vectors: int
    digest: str

    def __str__(self) -> str:
        entries = pluralize(self.entries, "entry", "entries")
        return (
            f"{self.source} -> {self.target}: {entries}, {self.vectors:,} vectors\ndigest {self.digest} on both sides"
        )


def migrate(source: str | Path, target: str | Path, progress: Progress | None = None) -> MigrationReport:
    """Copy the ledger at `source` to `target`, which is empty or an unfinished copy of it."""
    shown = shown_location(source), shown_location(target)
    if not ledger_exists(source):
        raise InvalidInput(f"{shown[0]!r} contains no memories. Name the folder or the database to copy from.")
    with ExitStack() as opened:
        old, new = (opened.enter_context(closing(_sql_ledger(location))) for location in (source, target))
        if old.name == new.name:
            raise InvalidInput(f"{shown[0]!r} cannot be copied into itself. Name another folder or database.")
        return copy_and_verify(old, new, progress)


def copy_and_verify(old: SqlLedger, new: SqlLedger, progress: Progress | None) -> MigrationReport:
    """Copy a ledger, and check the chain on both sides."""
    check_complete(old)
    old.verify()
    vectors = copy_ledger(old, new, _hashes, progress)
    expected, target_result = old.verify(), new.verify()
    if expected != target_result:
        raise LedgerTampered(
            f"{new.name} ends with entry {target_result[0]}, and {old.name} with entry {expected[0]}. One was "
            "written to during the copy. Stop all writers, and copy into an empty folder, database or schema.",
            position=min(expected[0], target_result[0]) + 1,
        )
    return MigrationReport(old.name, new.name, target_result[0], vectors, target_result[1].hex())


def _sql_ledger(location: str | Path) -> SqlLedger:
    ledger = open_ledger(location)
    assert isinstance(ledger, SqlLedger), "a folder and a database hold SQL ledgers"
    return ledger


def _hashes(event: Event) -> list[bytes]:
    return [text_hash(text) for text in embeddable_texts(event)] if isinstance(event, Remembered) else []


_WORK_FOLDER = "encrypting"
"""Where the encrypted ledger is, inside of the folder, until it is complete."""


def encrypt(
    folder: str | Path, *, encryption: Encryption | None = None, progress: bool | Progress = False
) -> MigrationReport:
    """Encrypt a folder: a new one from the start, or all that is in one. Close it everywhere before.

    The ledger is copied, encrypted and checked beside the present one, which it then replaces in one step. If this is
    interrupted, the folder is as it was, and the same call begins again. Index and vector files are deleted, and made
    again, encrypted, when spaces are used. Deleted files are not overwritten, and copies elsewhere stay as they are.

    Args:
        encryption: The key; left out, the one in the environment, as `Encryption()` says.
        progress: True shows a progress bar; a function is called with (done, total).

    Returns:
        How many entries and vectors were encrypted, and the digest of the last entry, which stays the same.

    Raises:
        InvalidInput: The folder is encrypted already, or this is a database.
        EncryptionKeyError: There is no key.
        LedgerUnavailable: The folder is open somewhere.
    """
    given = Encryption(read_key(encryption or Encryption(), str(folder)))  # before a folder is made
    is_new = is_address(folder) or not ledger_exists(folder)
    with (
        closing(_folder_ledger(folder, given if is_new else None)) as old,
        progress_bar(progress, "encrypting") as shown,
    ):
        home = old.path.parent
        if is_new:
            entries, digest = old.verify()
            return MigrationReport(str(home), "encrypted", entries, 0, digest.hex())
        if old.cipher is not None:
            raise InvalidInput(f"{home} is encrypted already. `remanence rotate-key {home}` changes its key.")
        shutil.rmtree(home / _WORK_FOLDER, ignore_errors=True)  # of an interrupted call
        with closing(SqliteLedger(home / _WORK_FOLDER, given)) as new:
            report = copy_and_verify(old, new, shown)
    sqlite.replace_ledger_file(old.path, new.path, report.digest)
    shutil.rmtree(home / _WORK_FOLDER)
    return replace(report, source=str(home), target="encrypted")


def rotate_key(folder: str | Path, *, new: Encryption, encryption: Encryption | None = None) -> None:
    """Change the key of an encrypted folder. Nothing else is written again: the key encrypts the data key only.

    Processes that have the folder open go on; from then on it opens with the new key only. Whoever had the old key and
    a copy of the folder from before can still read that copy, and what is written later.

    Args:
        encryption: The present key; left out, the one in the environment, as `Encryption()` says.

    Raises:
        InvalidInput: The folder is not encrypted, or this is a database.
        EncryptionKeyError: A key is missing, or the present one is another.
    """
    if not is_address(folder) and not ledger_exists(folder):
        raise InvalidInput(f"{str(folder)!r} contains no memories. Name the folder whose key is to be changed.")
    with closing(_folder_ledger(folder, encryption)) as ledger:
        ledger.rotate_key(new)


def _folder_ledger(folder: str | Path, encryption: Encryption | None) -> SqliteLedger:
    if is_address(folder):
        raise InvalidInput(f"{shown_location(folder)} is a database. Encrypt it on its server, or its disk.")
    ledger = open_ledger(folder, encryption)
    assert isinstance(ledger, SqliteLedger), "a folder holds such a ledger"
    return ledger
