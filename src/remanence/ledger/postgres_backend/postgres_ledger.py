"""A ledger in a PostgreSQL database, for several machines: one connection writes, some others read.

Writers take turns by a lock that each of them holds until its transaction has ended, so that positions are committed in
their order: no reader ever meets a line at or below one that it has read. A transaction that only appends takes two
exchanges with the server: one begins, waits for the lock and reads the end of the chain, the other sends all that is
written together with the commit.
"""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any

import psycopg

from remanence.errors import LedgerError, LedgerUnavailable
from remanence.ledger import tables
from remanence.ledger.chain import ChainHead
from remanence.ledger.postgres_backend import postgres, postgres_tables
from remanence.ledger.postgres_backend.postgres import (
    Address,
    Connection,
    PostgresLocks,
    is_idle,
    is_lost,
    lock_key,
    to_numbered_placeholders,
)
from remanence.ledger.sql import Read, SqlLedger, SqlTransaction

log = logging.getLogger(__name__)

RECONNECT_SECONDS = 10.0
"""Seconds that a server which was restarted is waited for, to find out whether a commit has reached it."""
_POLL_SECONDS = 0.1


class PostgresLedger(SqlLedger):
    """Entries in a schema of a database, shared by every thread, process and machine that opens it."""

    def __init__(self, url: str) -> None:
        self._address = postgres.parse_address(url)
        super().__init__(self._address.shown)
        self._errors = postgres.translated_errors(self.name)
        self._key = lock_key(self._address.schema, "writer")
        self._begin_sql = (
            f"BEGIN; SELECT pg_advisory_xact_lock({self._key}); {tables.LAST_ENTRY}; "
            f"{tables.GET_META.replace('?', repr(tables.HEAD_KEY))}; {postgres_tables.RECORDED_AFTER}"
        )
        self._unsent: list[tuple[str, list[Sequence[Any]]]] = []
        self._has_failed = False  # whether a pipeline of the writer's connection failed
        self._last_times: dict[str, int] = {}  # when the last entry of some spaces was recorded
        self._last_times_at = 0  # the position as of which that is
        # Not a semaphore, which is Python code: an interrupt in it would leave it locked for ever.
        self._reader_locks = [threading.Lock() for _ in range(8)]  # a thread waits for a connection if all are in use
        self._writer = postgres.connect_to_write(self._address)
        try:
            with self._errors:
                postgres_tables.create_or_check(self._writer, self._address, self._key)
        except BaseException:
            self._writer.close()
            raise

    @property
    def address(self) -> Address:
        """Where it is, for further connections."""
        return self._address

    def locks(self) -> PostgresLocks:
        return PostgresLocks(self._address)

    # Writing

    def _begin(self) -> ChainHead:
        self._unsent = []
        if not is_idle(self._writer):
            self._connect_writer()
        try:
            with self._errors:
                return self._lock_and_find_head()
        except LedgerUnavailable:
            if not is_lost(self._writer):
                raise
        self._connect_writer()  # the server was restarted since the last write
        with self._errors:
            return self._lock_and_find_head()

    def _connect_writer(self) -> None:
        self._has_failed = False
        self._writer.close()  # which ends a transaction that an interrupt has left
        self._writer = postgres.connect_to_write(self._address)
        self._last_times.clear()  # the server may have been restored from a backup

    def _lock_and_find_head(self) -> ChainHead:
        """Begin, wait for the other writers, and read the end of the chain: in one exchange with the server."""
        cursor = self._writer.execute(self._begin_sql.format(self._last_times_at, 200))
        results: list[list[Any]] = [[]]
        while cursor.nextset():
            results.append(cursor.fetchall())
        _, _, last_entry, recorded, of_others = results
        head = self._read_head(lambda sql, _: last_entry if sql == tables.LAST_ENTRY else recorded)
        if head.position - self._last_times_at != len(of_others) or len(self._last_times) > 10_000:
            self._last_times.clear()
        self._last_times.update(reversed(of_others))
        self._last_times_at = head.position
        return head

    def _commit(self, transaction: SqlTransaction) -> None:
        with self._errors:
            if transaction.erased:
                name = postgres_tables.ERASING_TRANSACTION
                self._unsent.append((postgres_tables.PUT_ERASING_TRANSACTION, [(name,)]))
            try:
                status = self._flush_writes(commit=True)
            except psycopg.OperationalError as error:
                if not is_lost(self._writer):
                    raise
                self._check_committed(transaction, error)
                return
        if status != "COMMIT":  # PostgreSQL rolls back, without an error, what has failed before
            raise LedgerError(f"{self.name}: nothing was stored, since a statement of this transaction has failed.")
        self._last_times.update(transaction.last_times)
        self._last_times_at = transaction.chain_head.position

    def _flush_writes(self, *, commit: bool = False) -> str | None:
        """Send the queued writes in one round trip. Returns the status of the last statement."""
        unsent, self._unsent = self._unsent, []
        if not unsent and not commit:
            return None
        try:
            with self._writer.pipeline(), self._writer.cursor() as cursor:
                for statement, rows in unsent:
                    for values in rows:
                        cursor.execute(statement, values)
                if commit:
                    cursor.execute("COMMIT", prepare=False)  # a failed statement before it prevents it
        except psycopg.Error as error:
            # The server skipped the rest of the pipeline, and with it statements that the driver takes to be prepared.
            self._has_failed = True
            # The driver answers an interrupt in here with an error of its own.
            if isinstance(error.__context__, BaseException) and not isinstance(error.__context__, Exception):
                raise error.__context__ from None
            raise
        return cursor.statusmessage

    def _check_committed(self, transaction: SqlTransaction, error: Exception) -> None:
        """The connection was lost during a commit: find out whether it has reached the server."""
        lost = f"{self.name}: the connection was lost during a commit"
        if not transaction.has_entries:
            raise LedgerUnavailable(
                f"{lost}, and it is not known whether its vectors and settings were stored. They can be stored again.",
                written=None,
            ) from error
        head = transaction.chain_head
        try:
            found = self._digest_after_reconnecting(head.position)
        except (LedgerUnavailable, psycopg.OperationalError):
            raise LedgerUnavailable(
                f"{lost}, and it cannot be reached to find out whether the entries up to {head.position} were stored. "
                f"They were if entry {head.position} has the digest {head.digest.hex()}.",
                written=None,
            ) from error
        if found != head.digest:
            raise LedgerUnavailable(f"{lost}, and nothing of it was stored. Try again.") from error
        log.warning("%s; the entries up to %d are stored", lost, head.position)

    def _digest_after_reconnecting(self, position: int) -> bytes | None:
        """The digest of an entry, read after all that was being written has ended."""
        deadline = time.monotonic() + RECONNECT_SECONDS
        while True:
            try:
                self._connect_writer()
                break
            except LedgerUnavailable:
                if time.monotonic() > deadline:
                    raise
                time.sleep(_POLL_SECONDS)
        with self._writer.transaction():
            self._writer.execute("SELECT pg_advisory_xact_lock($1)", (self._key,))
            rows = self._writer.execute("SELECT digest FROM entry WHERE position = $1", (position,)).fetchall()
        return rows[0][0] if rows else None

    def _roll_back(self, *, interrupted: bool = False) -> None:
        # If interrupted, the driver may be in the middle of an exchange. The server rolls back when it has no client.
        if interrupted or self._has_failed:
            self._writer.close()
            return
        try:
            if not is_lost(self._writer) and not is_idle(self._writer):
                self._writer.execute("ROLLBACK")
        except psycopg.Error:
            self._writer.close()  # which rolls back too; the next transaction connects again

    def _write(self, sql: str, rows: Iterable[Sequence[Any]]) -> int:
        with self._errors, self._writer.cursor() as cursor:
            self._flush_writes()
            cursor.executemany(to_numbered_placeholders(sql), list(rows))
            return cursor.rowcount

    def _queue_write(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        self._unsent.append((to_numbered_placeholders(sql), list(rows)))

    def _last_time(self, space: str) -> int | None:
        return self._last_times.get(space) or super()._last_time(space)

    def _read_in_transaction(self, sql: str, values: Sequence[Any]) -> list[Any]:
        with self._errors:
            self._flush_writes()
            return self._writer.execute(to_numbered_placeholders(sql), values).fetchall()

    # Cleaning up

    def clean_up(self, *, wait: float = 0.0) -> bool:
        deadline = time.monotonic() + wait
        with self._between_transactions("cleaning up"):
            erased = self.last_erasure()
            if erased <= int(self.get_meta(tables.CLEANED_KEY) or 0):
                return True
            number = self.get_meta(postgres_tables.ERASING_TRANSACTION)
            while self._value(postgres_tables.HAS_OLDER_READER, (number,)):
                if time.monotonic() >= deadline:
                    return False
                time.sleep(_POLL_SECONDS)
            with self._errors:
                self._vacuum("")
                put_meta = to_numbered_placeholders(tables.PUT_META)
                self._writer.execute(put_meta, (postgres_tables.CLEANED_FILES, self._files()))
                self._writer.execute(put_meta, (tables.CLEANED_KEY, str(erased)))
        return True

    def rewrite_command(self) -> str | None:
        # Old versions of rows are removed from the pages, but their bytes stay there until they are overwritten. A
        # table that was written again has another file.
        cleaned = (self.get_meta(postgres_tables.CLEANED_FILES) or "").split()
        if not set(cleaned) & set(self._files().split()):
            return None
        names = (f"{self._address.schema}.{name}" for name in postgres_tables.TABLES_WITH_TEXT)
        return f"VACUUM FULL {', '.join(names)}"

    def rewrite(self) -> bool:
        if not self.clean_up(wait=1.0):
            return False
        if self.rewrite_command() is not None:
            with self._between_transactions("rewriting"), self._errors:
                self._vacuum("(FULL)")  # which skips tables, with a warning, whose owner is another role
        return self.rewrite_command() is None

    def _files(self) -> str:
        """The numbers of the files of the tables that have text."""
        names = ", ".join(f"pg_relation_filenode('{name}')" for name in postgres_tables.TABLES_WITH_TEXT)
        return " ".join(map(str, self._rows(f"SELECT {names}")[0]))

    def compact(self) -> None:
        with self._between_transactions("compacting"), self._errors:
            self._vacuum("(ANALYZE)")
        if not self.rewrite():
            raise LedgerUnavailable(
                f"{self.name}: the tables have erased text in unused space, and could not be written again now: "
                "another role owns them, or somebody reads an older state. "
                f"As their owner, run: {self.rewrite_command()}."
            )

    def _vacuum(self, option: str) -> None:
        """Remove old versions of rows. Others read and write meanwhile, unless the option is FULL."""
        with closing(postgres.connect(self._address)) as connection:
            connection.execute("SET statement_timeout = 0")
            connection.execute(f"VACUUM {option} {postgres_tables.TABLES}")

    # Reading

    def _rows(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        self._check_open()
        statement = to_numbered_placeholders(sql)
        with self._errors, self._reader_lock():
            while self._readers:
                try:
                    with self._reader() as reader:
                        return reader.execute(statement, values).fetchall()  # type: ignore[no-any-return]
                except psycopg.OperationalError:
                    if not is_lost(reader):
                        raise
                    # The idle connection was closed, for example by a restart of the server: use the next one.
            with self._reader() as reader:
                return reader.execute(statement, values).fetchall()  # type: ignore[no-any-return]

    def _rows_in(self, sql: str, values: Sequence[Any], choices: Sequence[Any]) -> list[Any]:
        return self._rows(f"{sql} = ANY(?)", (*values, list(choices)))

    @contextmanager
    def _snapshot(self) -> Iterator[Read]:
        self._rows("SELECT 1")  # so that a lost connection is replaced
        with self._errors, self._reader_lock(), self._reader() as reader:
            reader.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            yield lambda sql, values: reader.execute(to_numbered_placeholders(sql), values).fetchall()
            reader.execute("ROLLBACK")

    def _reader_lock(self) -> threading.Lock:
        """A lock that allows one more reader: a free one, if there is one."""
        return next((lock for lock in self._reader_locks if not lock.locked()), random.choice(self._reader_locks))

    def _connect(self) -> Connection:
        return postgres.connect(self._address)

    def _is_usable(self, reader: Connection) -> bool:
        return is_idle(reader)

    def _close(self) -> None:
        self._writer.close()


def exists(url: str) -> bool:
    """Whether there is a ledger at this address."""
    address = postgres.parse_address(url)
    with postgres.translated_errors(address.shown), closing(postgres.connect(address)) as connection:
        return postgres_tables.exists(connection, address)
