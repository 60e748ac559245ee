"""Answers by Idempotency-Key: a write that is sent again gets the first answer, and is not done again.

Answers are kept for a day in the database of the server, so that they outlive a restart. A key is that of
one caller and one route.
"""

from __future__ import annotations

import hashlib
import threading
import time
from dataclasses import dataclass

from remanence.service.hosting.server_database import Location, open_database
from remanence_server.problems import RequestRejected, problem

HEADER = "idempotency-key"
MAX_KEY_LENGTH = 255
_DAY = 86_400.0
_TABLE = """
CREATE TABLE IF NOT EXISTS answers (
    key {bytes} PRIMARY KEY, request {bytes} NOT NULL, status INTEGER NOT NULL, body {bytes} NOT NULL,
    at DOUBLE PRECISION NOT NULL
)"""
_STORE = """
INSERT INTO answers VALUES (?, ?, ?, ?, ?)
ON CONFLICT (key) DO UPDATE
SET request = excluded.request, status = excluded.status, body = excluded.body, at = excluded.at"""


@dataclass(frozen=True)
class StoredAnswer:
    """The status and body of an answer."""

    status: int
    body: bytes


class IdempotencyKeys:
    """The answers to writes that had a key."""

    def __init__(self, location: Location) -> None:
        self._lock = threading.Lock()
        self._running: set[bytes] = set()
        self._database = open_database(location)
        self._database.create(_TABLE)
        self._database.execute("DELETE FROM answers WHERE at < ?", (time.time() - _DAY,))

    def begin(self, caller: str, route: str, key: str, request: bytes) -> tuple[bytes, StoredAnswer | None]:
        """Begin a request with a key. Returns what to `end` it with, and the answer if it was done before.

        Raises:
            RequestRejected: The same key came with another request, or its request is still running.
        """
        name = _digest(caller, route, key)
        with self._lock:
            rows = self._database.execute(
                "SELECT request, status, body FROM answers WHERE key = ? AND at >= ?", (name, time.time() - _DAY)
            )
            if rows and rows[0][0] != _digest(request):
                detail = f"Idempotency-Key {key!r} came with another request before. Use a new key for a new request."
                raise RequestRejected(problem(422, detail))
            if rows:
                return name, StoredAnswer(*rows[0][1:])
            if name in self._running:
                raise RequestRejected(
                    problem(409, f"the request with Idempotency-Key {key!r} is still running. Wait for it.")
                )
            self._running.add(name)
        return name, None

    def end(self, name: bytes, request: bytes, answer: StoredAnswer | None) -> None:
        """End a request, and keep its answer if there is one."""
        try:
            if answer is not None:
                row = (name, _digest(request), answer.status, answer.body, time.time())
                self._database.execute(_STORE, row)
        finally:
            with self._lock:
                self._running.discard(name)

    def close(self) -> None:
        self._database.close()


def _digest(*parts: str | bytes) -> bytes:
    hashed = hashlib.blake2b(digest_size=16)
    for part in parts:
        written = part.encode() if isinstance(part, str) else part
        hashed.update(len(written).to_bytes(8, "big") + written)
    return hashed.digest()
