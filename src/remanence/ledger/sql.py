"""A ledger in a SQLite database in the folder of the space.

One connection writes, and a small pool of others reads. Methods are documented in `ports.Ledger` and
`ports.Transaction`.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar
from weakref import WeakSet

import numpy as np

from remanence.errors import Closed, InvalidInput, LedgerError, LedgerTampered, LedgerUnavailable
from remanence.ledger import chain, sqlite, tables
from remanence.ledger.chain import EMPTY_HEAD, ChainedTransaction, ChainHead, StoredEntry
from remanence.ledger.head_record import HeadRecord
from remanence.schema import OPEN_END, Entry

if TYPE_CHECKING:
    from remanence.ports import Vector

BATCH = 500  # values in one IN (…)
VECTOR_DTYPE = np.dtype("<f4")
_LOG_WAIT = 0.1  # seconds to wait for readers after an erasure; other writers wait as long


class SqlLedger:
    """Entries in `<folder>/ledger.db`, shared by every thread and process that opens the folder.

    Not across `fork()`: SQLite's locks do not survive it and entries would be lost, so a forked child gets
    an error. Start processes by "spawn" or "forkserver", or open the ledger only after the fork.

    >>> import tempfile
    >>> ledger = SqlLedger(Path(tempfile.mkdtemp()) / "memory")
    >>> ledger.head()
    0
    >>> ledger.close()
    """

    _instances: ClassVar[WeakSet[SqlLedger]] = WeakSet()

    def __init__(self, folder: Path) -> None:
        self.path = sqlite.ensure_ledger_file(folder)
        self._pid = os.getpid()
        self._connected = self._closed = self._writing = self._log_has_erased_text = False
        self._write_lock = threading.RLock()
        self._errors = sqlite.TranslatedErrors(self.path)
        for other in self._instances:
            if other.path == self.path and other._connected:
                other._check_process()
        self._readers: deque[sqlite3.Connection] = deque()
        self._head_record = HeadRecord(self.path.parent)
        self._head = EMPTY_HEAD
        self._head_version: int | None = None  # see `_find_head`
        with self._errors:
            self._writer = sqlite.connect(self.path)
            self._file = sqlite.file_identity(self.path)
            # 16 and 32 MB: a large batch fits into the cache, and most of its pages are overwritten in the
            # write-ahead log by later batches before they are copied to the database.
            self._writer.execute("PRAGMA cache_size=-16000")
            self._writer.execute("PRAGMA wal_autocheckpoint=4000")
            self._connected = True
            self._instances.add(self)
            try:
                sqlite.retry_while_locked(lambda: tables.create_or_migrate(self._writer, self.path))
                self._check_head_record(self._writer)  # also finds damage at the end at once
                self._clean_log(wait=0)  # a crash may have left the text of an erased entry in the log
            except BaseException:
                self._disconnect()
                raise

    # Writing

    @contextmanager
    def transaction(self) -> Iterator[SqlTransaction]:
        with self._write_lock:
            self._check_open()
            if self._writing:
                raise LedgerError("this thread is already in a transaction: end that one first.")
            if self._log_has_erased_text:
                self._clean_log(wait=0)
            self._check_file()
            with self._errors:
                self._writer.execute("BEGIN IMMEDIATE")
            self._writing = True
            transaction = None
            try:
                with self._errors:
                    head = self._find_head()
                transaction = SqlTransaction(self._writer, self._errors, head)
                yield transaction
                transaction.record_head()
                with self._errors:
                    self._writer.execute("COMMIT")
                if transaction.chain_head != self._head:
                    self._head_record.write(transaction.chain_head)
                self._head = transaction.chain_head
            except BaseException:
                self._head_version = None
                with self._errors:
                    if self._writer.in_transaction:  # on a full disk SQLite has rolled back by itself
                        self._writer.execute("ROLLBACK")
                raise
            finally:
                self._writing = False
                if transaction is not None:
                    transaction.ended = True
            if transaction.erased:
                self._clean_log(wait=_LOG_WAIT)

    def _find_head(self) -> ChainHead:
        """The end of the chain. It is read again only if another connection has written since."""
        version = self._writer.execute("PRAGMA data_version").fetchone()[0]
        if version != self._head_version:
            self._head, self._head_version = self._read_head(), version
        return self._head

    def _read_head(self) -> ChainHead:
        row = self._writer.execute(tables.LAST_ENTRY).fetchone()
        head = EMPTY_HEAD if row is None else ChainHead(*row)
        if (self._recorded_head(self._writer) or EMPTY_HEAD) != head:
            raise LedgerTampered(
                f"{self.path} does not end with the entry that was written last; its last entry is "
                f"{head.position}. Run `verify()`, and restore a backup before writing again.",
                position=head.position + 1,
            )
        return head

    def _check_head_record(self, connection: sqlite3.Connection) -> None:
        """Raise if the ledger ends before an entry that was committed."""
        recorded = self._head_record.read()  # first: another process may be writing
        # The later of the last entry and what the ledger says of it: if they differ, `verify` names the fault.
        row = connection.execute(tables.LAST_ENTRY).fetchone()
        last = max(0 if row is None else row[0], (self._recorded_head(connection) or EMPTY_HEAD).position)
        if recorded is not None and recorded.position > last:
            raise LedgerTampered(
                f"{self.path} ends with entry {last}, but entry {recorded.position} was committed, as "
                f"{self._head_record.path} says: the file or its write-ahead log was damaged, or replaced by an older "
                "one. Nothing was changed. Make a copy of the folder, then restore a backup of the whole folder; or, "
                f"to go on without the entries that are missing, delete {self._head_record.path.name}.",
                position=last + 1,
            )

    def last_erasure(self) -> int:
        return int(self.get_meta(tables.ERASED_KEY) or 0)

    def clean_up(self, *, wait: float = 0.0) -> bool:
        with self._write_lock:
            self._check_open()
            if self._writing:
                raise LedgerError("this thread is in a transaction: end it before cleaning up.")
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

    # Reading

    def read(self, space: str, *, after: int = 0) -> Iterator[Entry]:
        def read_from(rows: list[Any]) -> Iterator[Entry]:
            while rows:
                yield from (chain.decode_entry(*row) for row in rows)
                if len(rows) < tables.CHUNK:
                    return
                rows = self._rows(tables.READ_SPACE, (space, rows[-1][0]))

        return read_from(self._rows(tables.READ_SPACE, (space, after)))  # a closed ledger raises at the call

    def entries_at(self, positions: Sequence[int]) -> dict[int, Entry]:
        self._check_open()
        found: dict[int, Entry] = {}
        for batch in _batches([p for p in positions if 0 < p <= OPEN_END]):
            for row in self._rows(tables.ENTRIES_AT + _placeholders(batch), batch):
                found[row[0]] = chain.decode_entry(*row)
        return found

    def position_at(self, space: str, moment: datetime) -> int:
        return self._value(tables.POSITION_AT, (space, chain.checked_micros(moment))) or 0

    def head(self) -> int:
        return self._value(tables.LAST_ENTRY) or 0

    def spaces(self, below: str | None = None) -> list[str]:
        if below is None:
            return self._without_emptied(self._rows(tables.SPACES), "", "\U0010ffff")
        # In SQLite's order of text, "/" is followed by "0".
        first, end = f"{below}/", f"{below}0"
        kind = self._value(tables.LAST_KIND, (below,))
        own = [] if kind in (None, "emptied") else [below]
        return own + self._without_emptied(self._rows(tables.SPACES_BELOW, (first, end)), first, end)

    def _without_emptied(self, rows: Sequence[tuple[str]], first: str, end: str) -> list[str]:
        """The names in these rows, from `first` to `end`, sorted, without those of spaces that were emptied."""
        emptied = {row[0] for row in self._rows(tables.EMPTIED_SPACES, (tables.EMPTIED_KEY, first, end))}
        return sorted(row[0] for row in rows if row[0] not in emptied)

    def count(self, space: str, *, up_to: int | None = None) -> int:
        return int(self._value(tables.COUNT, (space, OPEN_END if up_to is None else up_to)))

    def vectors(
        self, space: str, model: str, hashes: Sequence[bytes], *, inherited: bool = False
    ) -> dict[bytes, Vector]:
        self._check_open()
        found: dict[bytes, Vector] = {}
        for batch in _batches(hashes):
            rows = self._rows(tables.VECTORS + _placeholders(batch), (space, model, *batch))
            if inherited and len(rows) < len(batch):
                known = {text_hash for text_hash, _ in rows}
                older = [text_hash for text_hash in batch if text_hash not in known]
                rows += self._rows(tables.SHARED_VECTORS + _placeholders(older), (model, *older))
            found |= {text_hash: np.frombuffer(blob, VECTOR_DTYPE) for text_hash, blob in rows}
        return found

    def get_meta(self, name: str) -> str | None:
        value: str | None = self._value(tables.GET_META, (name,))
        return value

    def verify(self, space: str | None = None) -> tuple[int, bytes]:
        self._check_open()
        with self._errors, self._reader() as reader:
            self._check_head_record(reader)
            reader.execute("BEGIN")  # one snapshot: entries and recorded head of the same moment
            try:
                entries = map(StoredEntry._make, reader.execute(tables.READ_STORED))
                return chain.verify(entries, self._recorded_head(reader), space)
            finally:
                reader.execute("ROLLBACK")

    def compact(self) -> None:
        with self._write_lock:
            self._check_open()
            if self._writing:
                raise LedgerError("this thread is in a transaction: end it before compacting.")
            with self._errors:
                if self._writer.execute("PRAGMA freelist_count").fetchone()[0]:
                    self._writer.execute("VACUUM")
                self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def _recorded_head(self, connection: sqlite3.Connection) -> ChainHead | None:
        row = connection.execute(tables.GET_META, (tables.HEAD_KEY,)).fetchone()
        try:
            position, digest = row[0].split(" ")
            return ChainHead(int(position), bytes.fromhex(digest))
        except (TypeError, ValueError, AttributeError):
            return None  # missing, or not written by this library

    @contextmanager
    def _reader(self) -> Iterator[sqlite3.Connection]:
        """An unused connection. Each read on it is a transaction that ends with its last row."""
        try:
            reader = self._readers.pop()
        except IndexError:
            reader = sqlite.connect(self.path)
        try:
            yield reader
        finally:
            if self._connected:
                self._readers.append(reader)
            else:  # closed by another thread meanwhile
                reader.close()

    def _rows(self, sql: str, values: Sequence[Any] | Mapping[str, Any] = ()) -> list[Any]:
        self._check_open()
        with self._errors, self._reader() as reader:
            return reader.execute(sql, values).fetchall()

    def _value(self, sql: str, values: Sequence[Any] = ()) -> Any:
        rows = self._rows(sql, values)
        return rows[0][0] if rows else None

    # Opening and closing

    def close(self) -> None:
        if os.getpid() != self._pid:
            self._closed = True  # connections that a fork copied must not be used, not even to close them
            return
        with self._write_lock:
            if self._writing:
                raise LedgerError("this thread is in a transaction: end it before closing the ledger.")
            if not self._closed:
                self._closed = True
                self._clean_log(wait=1.0)
                self._disconnect()

    def _disconnect(self) -> None:
        self._writer.close()
        self._head_record.close()
        self._connected = False
        while self._readers:
            self._readers.pop().close()

    def _check_open(self) -> None:
        if self._closed:
            raise Closed(f"the ledger {self.path} was closed; open it again to use it.")
        self._check_process()

    def _check_file(self) -> None:
        """Raise if the file was moved or deleted: SQLite would write to it, and the entries would be lost."""
        if sqlite.file_identity(self.path) != self._file:
            raise LedgerUnavailable(
                f"{self.path} was moved, deleted or replaced while it was open, and nothing of this write was "
                "stored. Restore the file if necessary, close this space, and open it again."
            )

    def _check_process(self) -> None:
        if os.getpid() != self._pid:
            raise LedgerUnavailable(
                f"{self.path} was open in process {self._pid} when it forked this one ({os.getpid()}); "
                "using it here would lose entries. Start processes by 'spawn', or open after the fork."
            )


class SqlTransaction(ChainedTransaction):
    """The changes of one writer; the database stores them only if the block ends without an exception."""

    def __init__(self, writer: sqlite3.Connection, errors: sqlite.TranslatedErrors, head: ChainHead) -> None:
        super().__init__(head)
        self._writer, self._first_head = writer, head
        self._errors = errors
        self.erased = False

    def put_vectors(self, space: str, model: str, vectors: Mapping[bytes, Vector]) -> None:
        rows = ((space, bytearray(h), model, bytearray(np.asarray(v, VECTOR_DTYPE))) for h, v in vectors.items())
        self._write(tables.INSERT_VECTOR, rows)

    def erase(self, space: str, positions: Sequence[int], vector_hashes: Sequence[bytes]) -> int:
        self._check_open()
        self.erased = True
        self._write(tables.ERASE_ENTRY, ((p, space) for p in positions if 0 < p <= OPEN_END))
        self._write(tables.DELETE_SHARED_VECTORS, ((h,) for h in vector_hashes))
        return self._write(tables.DELETE_VECTORS, ((space, h) for h in vector_hashes))

    def put_meta(self, name: str, value: str) -> None:
        if name.startswith(tables.RESERVED_PREFIX):
            raise InvalidInput(f"{name!r} is reserved for the ledger. Choose another name.")
        self._write(tables.PUT_META, [(name, value)])

    def record_head(self) -> None:
        """Record the end of the chain, so that `verify` finds it if the last entries are removed later."""
        if self.chain_head != self._first_head:
            value = f"{self.chain_head.position} {self.chain_head.digest.hex()}"
            self._write(tables.PUT_META, [(tables.HEAD_KEY, value)])
        if self.erased:
            self._write(tables.PUT_META, [(tables.ERASED_KEY, str(self.head))])

    def _store(self, entries: Sequence[StoredEntry]) -> None:
        self._write(tables.INSERT_ENTRY, map(_bound_values, entries))

    def _blank_space(self, space: str) -> None:
        self.erased = True
        self._write(tables.ERASE_SPACE, [(space,)])

    def _mark_emptied(self, entry: Entry) -> None:
        self._write(tables.PUT_META, [(tables.EMPTIED_KEY + entry.space, str(entry.position))])

    def _write(self, sql: str, rows: Iterable[tuple[Any, ...]]) -> int:
        self._check_open()
        with self._errors:
            return self._writer.executemany(sql, rows).rowcount

    def _last_time(self, space: str) -> int | None:
        with self._errors:
            row = self._writer.execute(tables.LAST_TIME, (space,)).fetchone()
        return None if row is None else int(row[0])


def _bound_values(entry: StoredEntry) -> tuple[Any, ...]:
    """The values of an entry with its bytes as bytearrays: for bytes, sqlite3 searches for an adapter each time."""
    *texts, salt, content, digest = entry
    return (*texts, None if salt is None else bytearray(salt), bytearray(content), bytearray(digest))


def _placeholders(values: Sequence[Any]) -> str:
    return f"({', '.join('?' * len(values))})"


def _batches(values: Sequence[Any]) -> Iterator[Sequence[Any]]:
    for start in range(0, len(values), BATCH):
        yield values[start : start + BATCH]
