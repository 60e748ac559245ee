"""Locks between all machines that use a ledger in PostgreSQL, see `ports.Locks`.

They belong to a connection: the server releases them when it ends. A process publishes its position as the name of its
connection, which the others read in the list of connections.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from typing import Any

import psycopg

from remanence.errors import Closed
from remanence.ledger.locks import ThreadLocks
from remanence.ledger.postgres_backend import postgres
from remanence.ledger.postgres_backend.postgres import Address, Connection, is_lost

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
