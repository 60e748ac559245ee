"""Where a server keeps its own tables (tokens, answers by Idempotency-Key): beside the ledger, and not in it.

For a folder that is the file server.db in it; for a ledger in PostgreSQL, tables in the same schema, so that all
servers of one database have the same tokens.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from remanence.errors import Closed, LedgerUnavailable
from remanence.ledger import is_address, require_psycopg
from remanence.space.space import Space

if TYPE_CHECKING:
    from remanence.ledger.postgres_backend.postgres import Address, Connection

SERVER_FILE = "server.db"
Row: TypeAlias = "tuple[Any, ...]"
Location: TypeAlias = "str | Path | Address | None"


def open_database(location: Location) -> SqliteDatabase | PostgresDatabase:
    """The database of a server for the ledger at this location; None keeps everything in memory.

    Raises:
        LedgerUnavailable: It cannot be opened.
    """
    if location is None:
        return SqliteDatabase(None)
    if isinstance(location, str | Path) and not is_address(location):
        return SqliteDatabase(Path(location))
    require_psycopg()
    from remanence.ledger.postgres_backend.postgres import parse_address

    return PostgresDatabase(parse_address(location) if isinstance(location, str) else location)  # type: ignore[arg-type]


def location_of(space: Space) -> Location:
    """Where the ledger of an opened space is, as `open_database` takes it."""
    location = space.admin.location
    if location is None:
        return None
    if is_address(location):
        from remanence.ledger.postgres_backend.postgres_ledger import PostgresLedger

        if isinstance(space._engine.ledger, PostgresLedger):
            return space._engine.ledger.address
    return Path(location)


class SqliteDatabase:
    """A file beside the ledger, which only its owner may read. Any thread may use it."""

    def __init__(self, folder: Path | None) -> None:
        self._lock = threading.Lock()
        self._path = None if folder is None else folder / SERVER_FILE
        try:
            if self._path is not None:
                self._path.touch(mode=0o600)
            self._connection = sqlite3.connect(self._path or ":memory:", check_same_thread=False, timeout=10)
            self._connection.execute("PRAGMA journal_mode=WAL")
            self._connection.execute("PRAGMA synchronous=FULL")
            self._connection.execute("PRAGMA secure_delete=ON")
        except (OSError, sqlite3.Error) as error:
            raise self._unavailable(error) from error

    def create(self, table: str) -> None:
        """Create or drop a table if need be; `{bytes}` is the type of a column of bytes."""
        self.execute(table.format(bytes="BLOB"))

    def execute(self, sql: str, values: Sequence[object] = ()) -> list[Row]:
        """Run a statement with `?` for each value in a transaction of its own, and return its rows. It is one that
        SQLite and PostgreSQL both support.

        Raises:
            LedgerUnavailable: The database cannot be reached or written to.
        """
        try:
            with self._lock, self._connection:
                return self._connection.execute(sql, tuple(values)).fetchall()
        except sqlite3.ProgrammingError as error:
            raise Closed(f"the database of the server is closed ({error}). Open it again.") from error
        except sqlite3.Error as error:
            raise self._unavailable(error) from error

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    def _unavailable(self, error: Exception) -> LedgerUnavailable:
        return LedgerUnavailable(
            f"{self._path} cannot be used: {error}. Check that its folder can be written to and its disk is not full."
        )


class PostgresDatabase:
    """Tables in the schema of the ledger. A connection that was cut is made again. Any thread may use it."""

    def __init__(self, address: Address) -> None:
        from remanence.ledger.postgres_backend.postgres import connect_to_write, translated_errors

        self._address = address
        self._errors = translated_errors(address.shown)
        self._lock = threading.Lock()
        self._closed = False
        self._connection: Connection = connect_to_write(address)

    def create(self, table: str) -> None:
        from remanence.ledger.postgres_backend.postgres import lock_key

        # Two servers that start at the same time would each find no table, and one of them would fail.
        with self._lock, self._errors, self._connection.transaction():
            key = lock_key(self._address.schema, "server")
            self._connection.execute("SELECT pg_advisory_xact_lock($1)", (key,))
            self._connection.execute(table.format(bytes="BYTEA"))

    def execute(self, sql: str, values: Sequence[object] = ()) -> list[Row]:
        from remanence.ledger.postgres_backend.postgres import (
            connect_to_write,
            is_idle,
            is_lost,
            to_numbered_placeholders,
        )

        with self._lock:
            if self._closed:
                raise Closed(f"the connection of the server to {self._address.shown} is closed. Open it again.")
            for attempt in (1, 2):
                if not is_idle(self._connection):
                    self._connection.close()
                    self._connection = connect_to_write(self._address)
                try:
                    with self._errors:
                        cursor = self._connection.execute(to_numbered_placeholders(sql), tuple(values))
                        return [] if cursor.description is None else cursor.fetchall()
                except LedgerUnavailable:
                    # A restart of the database cuts idle connections, which shows at the next statement. Every
                    # statement here may be run twice.
                    if attempt == 2 or not is_lost(self._connection):
                        raise
        raise AssertionError("the second attempt returns or raises")

    def close(self) -> None:
        with self._lock, suppress(LedgerUnavailable), self._errors:
            self._closed = True
            self._connection.close()
