"""A PostgreSQL database: its address, its connections, and its errors in terms of this library."""

from __future__ import annotations

import logging
import os
import re
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from hashlib import blake2b
from itertools import count
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

import psycopg
from psycopg.pq import TransactionStatus

from remanence.errors import Closed, InvalidInput, LedgerCorrupt, LedgerError, LedgerUnavailable
from remanence.ledger.locks import ThreadLocks
from remanence.ledger.postgres_backend import postgres
from remanence.ledger.sql import DatabaseErrors

if TYPE_CHECKING:
    from collections.abc import Mapping

Connection: TypeAlias = "psycopg.Connection[tuple[Any, ...]]"

DEFAULT_SCHEMA = "remanence"
LOCK_SECONDS = 30
_SETTINGS = {
    "lock_timeout": f"{LOCK_SECONDS}s",
    "statement_timeout": "60s",
    # Idle transactions are ended by the server, so that a stopped writer does not block others.
    "idle_in_transaction_session_timeout": "60s",
    # TCP keepalives of the server detect a lost client within a minute; its locks are then released.
    "tcp_keepalives_idle": "30",
    "tcp_keepalives_interval": "10",
    "tcp_keepalives_count": "3",
    "client_encoding": "UTF8",
}
_PARAMETERS: Mapping[str, Any] = {
    "connect_timeout": 10,
    # TCP keepalives of the client detect a lost server within a minute.
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}
_ISOLATION = "-c default_transaction_isolation=read\\ committed"
"""Whatever the address and the database say: a writer that has waited has to see what the others wrote meanwhile."""
_SECRET = ("password", "sslpassword", "passfile")
_SCHEMA_NAME = re.compile(r"(?!pg_)[a-z_][a-z0-9_]{0,62}")


@dataclass(frozen=True, slots=True)
class Address:
    """Where a ledger is: a database, and the schema in it that the tables are in."""

    conninfo: str
    schema: str
    shown: str
    """The address without the password."""


def parse_address(url: str) -> Address:
    """What an address such as postgresql://ana@db.example/memory?schema=team says.

    >>> parse_address("postgresql://ana:secret@db.example/memory?schema=team").shown
    'postgresql://ana@db.example/memory?schema=team'
    """
    example = "Give for example postgresql://user@host/database?schema=team"
    try:
        parts = urlsplit(url)
        query = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
        netloc = re.sub(r":[^@]*@", "@", parts.netloc)
    except ValueError as error:
        raise InvalidInput(f"this is not the address of a database: {error}. {example}.") from None
    schema = dict(query).get("schema", DEFAULT_SCHEMA)
    if not _SCHEMA_NAME.fullmatch(schema):
        raise InvalidInput(f"schema={schema!r} is not a name of lower-case letters, digits and '_'. {example}.")
    shown = urlencode([(key, value) for key, value in query if key not in _SECRET], safe="/", quote_via=quote)
    conninfo = urlencode([(key, value) for key, value in query if key != "schema"], quote_via=quote)
    address = Address(
        urlunsplit(parts._replace(query=conninfo)), schema, urlunsplit(parts._replace(netloc=netloc, query=shown))
    )
    try:
        psycopg.conninfo.conninfo_to_dict(address.conninfo)
    except psycopg.ProgrammingError as error:
        reason = str(error).strip().replace(address.conninfo, address.shown)
        raise InvalidInput(f"{address.shown} is not the address of a database: {reason}. {example}.") from None
    return address


def connect(address: Address) -> Connection:
    """A connection with our settings that commits each statement, unless a transaction was begun."""
    connection_parameters = psycopg.conninfo.conninfo_to_dict(address.conninfo)
    options = " ".join(f"-c {name}={value}" for name, value in _SETTINGS.items())
    options = f"{options} {connection_parameters.get('options') or ''} {_ISOLATION} -c search_path={address.schema}"
    parameters = {name: value for name, value in _PARAMETERS.items() if name not in connection_parameters}
    name = connection_parameters.get("application_name") or "remanence"
    try:
        return psycopg.connect(
            address.conninfo,
            autocommit=True,
            cursor_factory=psycopg.RawCursor,
            **{**parameters, "options": options, "application_name": name},
        )
    except psycopg.Error as error:
        raise _connection_error(error, address) from error


def connect_to_write(address: Address) -> Connection:
    """A connection whose commits are not lost if the server crashes, also where that is the default."""
    connection = connect(address)
    try:
        [(setting,)] = connection.execute("SHOW synchronous_commit").fetchall()
        if setting == "off":
            connection.execute("SET synchronous_commit = on")
    except psycopg.Error as error:  # it was cut at once
        connection.close()
        raise _connection_error(error, address) from error
    return connection


def _connection_error(error: Exception, address: Address) -> LedgerUnavailable:
    text = " ".join(str(error).split())
    steps = {
        "password": "Check the user and the password: in the address, in PGPASSWORD, or in ~/.pgpass.",
        "does not exist": "Create it, for example with `createdb`, or check the name in the address.",
        "too many": "Close other connections, or raise `max_connections` of the server.",
        "starting up": "The server is starting: try again.",
        "shutting down": "The server is stopping: try again when it is back.",
    }
    step = next((step for said, step in steps.items() if said in text), None)
    step = step or "Check the host and the port in the address, and that the server runs and can be reached."
    return LedgerUnavailable(f"{address.shown} cannot be opened: {text}. {step}", written=False)


def is_lost(connection: Connection) -> bool:
    """Whether a connection cannot be used any more."""
    return bool(connection.closed or connection.broken)


def is_idle(connection: Connection) -> bool:
    """Whether a connection can be used for the next statement."""
    return not is_lost(connection) and connection.info.transaction_status == TransactionStatus.IDLE


@cache
def to_numbered_placeholders(sql: str) -> str:
    """A statement with the parameters of PostgreSQL.

    >>> to_numbered_placeholders("SELECT value FROM meta WHERE name = ? OR name = ?")
    'SELECT value FROM meta WHERE name = $1 OR name = $2'
    """
    numbers = count(1)
    return re.sub(r"\?", lambda _: f"${next(numbers)}", sql)


def translated_errors(name: str) -> DatabaseErrors:
    return DatabaseErrors((psycopg.Error, UnicodeEncodeError, OverflowError), partial(_translate, name))


def _translate(name: str, error: Exception) -> Exception:
    text = " ".join(str(error).split())
    codes = psycopg.errors
    if isinstance(error, UnicodeEncodeError):
        return InvalidInput(f"text with a lone surrogate cannot be stored ({text}). Repair it before adding it.")
    if isinstance(error, psycopg.DataError | OverflowError):
        return InvalidInput(f"a value cannot be stored or searched for: {text}.")
    if isinstance(error, codes.LockNotAvailable):
        return LedgerUnavailable(
            f"{name}: another process has been writing for longer than lock_timeout, which is {LOCK_SECONDS} s unless "
            "the address says otherwise. Try again, or end it."
        )
    if isinstance(error, codes.QueryCanceled):
        return LedgerUnavailable(f"{name} did not answer in time ({text}). Try again, or look at its load.")
    if isinstance(error, codes.InsufficientPrivilege):
        return LedgerUnavailable(f"{name} refuses: {text}. Grant the user what is missing, or name another user.")
    if isinstance(error, codes.ReadOnlySqlTransaction):
        return LedgerUnavailable(f"{name} is read-only ({text}). Give the address of the primary server.")
    if isinstance(error, codes.DiskFull):
        return LedgerUnavailable(f"{name}: the disk of the server is full, and nothing of this write was stored.")
    if isinstance(error, codes.UndefinedTable | codes.UndefinedColumn | codes.InvalidSchemaName):
        return LedgerCorrupt(f"{name} is damaged: {text}. Restore a backup of the database.")
    if isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
        return LedgerUnavailable(
            f"{name}: the connection was lost, and nothing of this call was stored ({text}). Try again: the next call "
            "connects again."
        )
    return LedgerError(f"{name}: {text}")


log = logging.getLogger(__name__)

_IS_HELD = """SELECT EXISTS (SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 1
AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
AND (CAST(classid AS BIGINT) << 32) | CAST(objid AS BIGINT) = $1)"""
_OTHERS = """SELECT application_name FROM pg_stat_activity WHERE datname = current_database()
AND pid <> pg_backend_pid() AND starts_with(application_name, $1)"""


class PostgresLocks:
    """The locks of one opened space, on a connection of their own."""

    is_shared = True

    def __init__(self, address: Address) -> None:
        self._address = address
        self._errors = postgres.translated_errors(address.shown)
        self._threads = ThreadLocks()
        self._lock = threading.RLock()
        self._connection: Connection | None = None
        self._published: str | None = None
        self._closed = False
        self._prefix = f"remanence {blake2b(address.schema.encode(), digest_size=4).hexdigest()} "

    @contextmanager
    def acquire(self, name: str) -> Iterator[bool]:
        key = lock_key(self._address.schema, f"lock {name}")
        with self._threads.acquire(name) as free:
            if not free or not self._value("SELECT pg_try_advisory_lock($1)", (key,)):
                yield False
                return
            try:
                yield True
            finally:
                if not self._value("SELECT pg_advisory_unlock($1)", (key,)):
                    log.warning("the lock %r was lost with its connection to %s", name, self._address.shown)

    def is_locked(self, name: str) -> bool:
        return self._threads.is_locked(name) or bool(
            self._value(_IS_HELD, (lock_key(self._address.schema, f"lock {name}"),))
        )

    def delete(self, name: str) -> None:
        """Nothing is stored."""

    def publish_position(self, position: int) -> None:
        host = socket.gethostname().encode("ascii", "replace").decode()[:16]
        self._published = f"{self._prefix}{position} {host}:{os.getpid()}"
        self._rows("SELECT set_config('application_name', $1, false)", (self._published,))

    def other_processes(self) -> list[tuple[str, int]]:
        names = [name.removeprefix(self._prefix) for (name,) in self._rows(_OTHERS, (self._prefix,))]
        return [(process, int(position)) for position, _, process in (name.partition(" ") for name in names)]

    def close(self) -> None:
        with self._lock:
            self._closed = True
            connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _value(self, sql: str, values: Sequence[Any]) -> Any:
        return self._rows(sql, values)[0][0]

    def _rows(self, sql: str, values: Sequence[Any]) -> list[Any]:
        with self._lock, self._errors:
            if self._closed:
                raise Closed(f"the locks of {self._address.shown} were closed; open the space again.")
            if self._connection is not None and not is_lost(self._connection):
                try:
                    return self._connection.execute(sql, values).fetchall()
                except psycopg.OperationalError:
                    if not is_lost(self._connection):
                        raise
            self._connection = postgres.connect(self._address)
            if self._published is not None:
                self._connection.execute("SELECT set_config('application_name', $1, false)", (self._published,))
            return self._connection.execute(sql, values).fetchall()


def lock_key(schema: str, name: str) -> int:
    """The number of a lock. A database has one set of numbers for all its schemas."""
    digest = blake2b(f"{schema} {name}".encode(), digest_size=8, person=b"remanence").digest()
    return int.from_bytes(digest, "big", signed=True)
