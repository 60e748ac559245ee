"""A ledger in a SQLite database in the folder of the space: one connection writes, a small pool of others reads."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar
from weakref import WeakSet

from remanence.errors import InvalidInput, LedgerTampered, LedgerUnavailable
from remanence.ledger import tables
from remanence.ledger.chain import EMPTY_HEAD, ChainHead
from remanence.ledger.locks import FolderLocks
from remanence.ledger.sql import Read, SqlLedger, SqlTransaction, parse_head
from remanence.ledger.sqlite_backend import sqlite
from remanence.operating_system import after_fork

if TYPE_CHECKING:
    from remanence.ledger.encryption import Encryption


class SqliteLedger(SqlLedger):
    """Entries in `<folder>/ledger.db`, shared by every thread and process that opens the folder.

    Not across `fork()`: SQLite's locks do not survive it and entries would be lost, so a forked child gets
    an error. Start processes by "spawn" or "forkserver", or open the ledger only after the fork.

    >>> import tempfile
    >>> ledger = SqliteLedger(Path(tempfile.mkdtemp()) / "memory")
    >>> ledger.head()
    0
    >>> ledger.close()
    """

    shared_vectors = True
    _instances: ClassVar[WeakSet[SqliteLedger]] = WeakSet()
    _opening: ClassVar[AbstractContextManager[object]] = threading.Lock()

    def __init__(self, folder: Path, encryption: Encryption | None = None, *, durable: bool = True) -> None:
        self._durable = durable
        self._connected = self._log_has_erased_text = False
        with self._opening:  # no other thread may connect while the file is read: see `ensure_ledger_file`
            connected = [other for other in self._instances if other._connected]
            self.path = sqlite.ensure_ledger_file(folder, {other._file for other in connected})
            super().__init__(str(self.path))
            for other in connected:
                if other.path == self.path:
                    other._check_process()
            self._errors = sqlite.translated_errors(self.path)
            self._head_record = sqlite.HeadRecord(self.path.parent)
            with self._errors:
                self._writer = sqlite.connect(self.path, durable=durable)
            self._file: tuple[int, int] | None = sqlite.file_identity(self.path)
            self._log_path = self.path.with_name(f"{self.path.name}-wal")
            self._log: tuple[int, int] | None = None
            self._connected = True
            self._instances.add(self)
        with self._errors:
            # 16 and 32 MB: a large batch fits into the cache, and most of its pages are overwritten in the
            # write-ahead log by later batches before they are copied to the database.
            self._writer.execute("PRAGMA cache_size=-16000")
            self._writer.execute("PRAGMA wal_autocheckpoint=4000")
            try:
                sqlite.retry_while_locked(lambda: tables.create_or_migrate(self._writer, self.path))
                self._open_cipher(encryption)
                self._check_head_record(self._writer)  # also finds damage at the end at once
                self._log = sqlite.file_identity(self._log_path)  # that SQLite has open from here on
                self._clean_log(wait=0)  # a crash may have left the text of an erased entry in the log
            except BaseException:
                self._disconnect()
                raise

    def locks(self) -> FolderLocks:
        return FolderLocks(self.path.parent)

    def _open_cipher(self, encryption: Encryption | None) -> None:
        """Read the data key; in a new ledger that is to be encrypted, make one."""
        record = self._writer.execute(tables.GET_META, (tables.ENCRYPTION_KEY,)).fetchone()
        if record is None and encryption is None:
            return
        from remanence.ledger.encryption import Cipher, Encryption, read_key

        key = read_key(encryption or Encryption(), self.name)
        if record is None:
            cipher = Cipher.create()
            with self.transaction():  # no other process writes meanwhile
                record = self._writer.execute(tables.GET_META, (tables.ENCRYPTION_KEY,)).fetchone()
                if record is None:
                    if self._writer.execute(tables.LAST_ENTRY).fetchone():
                        raise InvalidInput(
                            f"{self.name} is not encrypted. Close it everywhere and run `remanence encrypt "
                            f"{self.path.parent}`, or open it without a key."
                        )
                    record = (cipher.wrapped(key),)
                    self._writer.execute(tables.PUT_META, (tables.ENCRYPTION_KEY, *record))
                    self._writer.execute(tables.REFUSE_PLAIN_ENTRIES)
        self.cipher = Cipher.unwrap(record[0], key, self.name)

    def rotate_key(self, new: Encryption) -> None:
        """Wrap the data key with another key, and overwrite it as it was."""
        if self.cipher is None:
            raise InvalidInput(f"{self.name} is not encrypted. Run `remanence encrypt {self.path.parent}` first.")
        from remanence.ledger.encryption import read_key

        record = self.cipher.wrapped(read_key(new, self.name))
        with self.transaction():
            self._write(tables.PUT_META, [(tables.ENCRYPTION_KEY, record)])
        self.compact()  # until then the write-ahead log may have the former record

    # Writing

    def _begin(self) -> ChainHead:
        self._roll_back()
        if self._log_has_erased_text:
            self._clean_log(wait=0)
        self._check_file()
        with self._errors:
            self._writer.execute("BEGIN IMMEDIATE")
            return self._read_head(self._read_in_transaction)

    def _commit(self, transaction: SqlTransaction) -> None:
        with self._errors:
            self._writer.execute("COMMIT")
        if transaction.has_entries and self._durable:
            self._head_record.write(transaction.chain_head)
        if transaction.erased:
            self._clean_log(wait=0.1)  # seconds for readers; other writers wait as long

    def _roll_back(self, *, interrupted: bool = False) -> None:
        with self._errors:
            if self._writer.in_transaction:  # on a full disk SQLite has rolled back by itself
                self._writer.execute("ROLLBACK")

    def _write(self, sql: str, rows: Iterable[Sequence[Any]]) -> int:
        with self._errors:
            return self._writer.executemany(sql, rows).rowcount

    def _read_in_transaction(self, sql: str, values: Sequence[Any]) -> list[Any]:
        with self._errors:
            return self._writer.execute(sql, values).fetchall()

    def _check_head_record(self, connection: sqlite3.Connection) -> None:
        """Raise if the ledger ends before an entry that was committed."""
        recorded = self._head_record.read()  # first: another process may be writing
        # The later of the last entry and what the ledger says of it: if they differ, `verify` names the fault.
        row = connection.execute(tables.LAST_ENTRY).fetchone()
        said = parse_head(connection.execute(tables.GET_META, (tables.HEAD_KEY,)).fetchall())
        last = max(0 if row is None else row[0], (said or EMPTY_HEAD).position)
        if recorded is not None and recorded.position > last:
            raise LedgerTampered(
                f"{self.path} ends with entry {last}, but entry {recorded.position} was committed, as "
                f"{self._head_record.path} says: the file or its write-ahead log was damaged, or replaced by an older "
                "one. Nothing was changed. Make a copy of the folder, then restore a backup of the whole folder; or, "
                f"to go on without the entries that are missing, delete {self._head_record.path.name}.",
                position=last + 1,
            )

    # Cleaning up

    def clean_up(self, *, wait: float = 0.0) -> bool:
        with self._between_transactions("cleaning up"):
            return self._clean_log(wait)

    def _clean_log(self, wait: float) -> bool:
        """Remove old pages of erased entries from the write-ahead log. False if a reader prevents it for now."""

        def position(key: str) -> int:
            row = self._writer.execute(tables.GET_META, (key,)).fetchone()
            return 0 if row is None else int(row[0])

        self._log_has_erased_text = True
        try:
            self._writer.execute(f"PRAGMA busy_timeout={int(wait * 1000)}")
            erased = position(tables.ERASED_KEY)
            if erased > position(tables.CLEANED_KEY):
                if self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
                    return False
                self._writer.execute(tables.PUT_META, (tables.CLEANED_KEY, str(erased)))
            self._log_has_erased_text = False
        except sqlite3.Error:  # such as a lock; the erasure itself is committed, and this is tried again
            return False
        finally:
            self._writer.execute(f"PRAGMA busy_timeout={int(sqlite.BUSY_TIMEOUT * 1000)}")
        return True

    def compact(self) -> None:
        with self._between_transactions("compacting"), self._errors:
            if self._writer.execute("PRAGMA freelist_count").fetchone()[0]:
                self._writer.execute("VACUUM")
            self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    # Reading

    def head(self) -> int:
        self._check_log()
        return super().head()

    @contextmanager
    def _snapshot(self) -> Iterator[Read]:
        with self._errors, self._reader() as reader:
            self._check_head_record(reader)
            reader.execute("BEGIN")
            try:
                yield lambda sql, values: reader.execute(sql, values).fetchall()
            finally:
                reader.execute("ROLLBACK")

    def _rows(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        self._check_open()
        with self._errors, self._reader() as reader:
            return reader.execute(sql, values).fetchall()  # type: ignore[no-any-return]

    def _rows_in(self, sql: str, values: Sequence[Any], choices: Sequence[Any]) -> list[Any]:
        if not choices:
            return []
        # Pad the parameter list to a few sizes, so that sqlite3's statement cache is used.
        length = 1 << (len(choices) - 1).bit_length()
        repeated = [choices[-1]] * (length - len(choices))
        return self._rows(f"{sql} IN ({', '.join('?' * length)})", (*values, *choices, *repeated))

    def _connect(self) -> sqlite3.Connection:
        return sqlite.connect(self.path)

    def _is_usable(self, reader: sqlite3.Connection) -> bool:
        return not reader.in_transaction

    # Closing

    def _close(self) -> None:
        self._clean_log(wait=1.0)
        if not self._durable:
            self._record_head_when_durable()
        self._disconnect()

    def _disconnect(self) -> None:
        self._writer.close()
        self._head_record.close()
        self._connected = False

    def _record_head_when_durable(self) -> None:
        """Record the last entry once the disk has it, where commits did not wait for that."""
        with suppress(sqlite3.Error):  # such as a lock; then the record stays behind
            self._writer.execute("PRAGMA busy_timeout=0")
            last = self._writer.execute(tables.LAST_ENTRY).fetchone()
            blocked, in_log, copied = self._writer.execute("PRAGMA wal_checkpoint(FULL)").fetchone()
            if last is not None and not blocked and in_log == copied:
                self._head_record.write(ChainHead(*last))

    def _check_file(self) -> None:
        """Raise if the file was moved or deleted: SQLite would write to it, and the entries would be lost."""
        if sqlite.file_identity(self.path) != self._file:
            raise LedgerUnavailable(
                f"{self.path} was moved, deleted or replaced while it was open, and nothing of this write was "
                "stored. Restore the file if necessary, close this space, and open it again."
            )
        self._check_log()

    def _check_log(self) -> None:
        """Raise if the write-ahead log was deleted: SQLite would write to it, and read from it, all the same."""
        if self._log is not None and sqlite.file_identity(self._log_path) != self._log and self._connected:
            raise LedgerUnavailable(
                f"{self._log_path} was deleted by another process, because this one has lost its lock on {self.path}: "
                "something read or copied the file in this process, other than SQLite. Nothing was lost or written. "
                "Close every space of this folder in this process, open it again, and copy open folders in another "
                "process."
            )


def _allow_opening() -> None:
    SqliteLedger._opening = threading.Lock()  # another thread may have held it when this process was forked


after_fork(_allow_opening)
