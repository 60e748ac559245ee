"""Copying a ledger from a folder to a database, or back, with a check of the chain on both sides."""

from __future__ import annotations

from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from remanence.errors import InvalidInput, LedgerTampered
from remanence.events import Event, Remembered
from remanence.index.vectors.vectors import embeddable_texts
from remanence.ledger import ledger_exists, open_ledger, shown_location
from remanence.ledger.copying import check_complete, copy_ledger
from remanence.ledger.sql import SqlLedger
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
