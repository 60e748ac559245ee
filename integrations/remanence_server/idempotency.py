"""Answers by Idempotency-Key: a write that is sent again gets the first answer, and is not done again.

Answers are kept for a day in server.db, so that they outlive a restart. A key is that of one caller and one route.
"""

from __future__ import annotations

import hashlib
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from remanence.service.tokens import connect
from remanence_server.problems import Refused, problem

HEADER = "idempotency-key"
MAX_KEY_LENGTH = 255
_DAY = 86_400.0
_TABLE = """
CREATE TABLE IF NOT EXISTS answers (
    key BLOB PRIMARY KEY, request BLOB NOT NULL, status INTEGER NOT NULL, body BLOB NOT NULL, at REAL NOT NULL
)"""


@dataclass(frozen=True)
class StoredAnswer:
    """The status and body of an answer."""

    status: int
    body: bytes


class IdempotencyKeys:
    """The answers to writes that had a key."""

    def __init__(self, folder: Path | None) -> None:
        self._lock = threading.Lock()
        self._running: set[bytes] = set()
        self._connection = connect(folder)
        with self._lock, self._connection:
            self._connection.execute(_TABLE)
            self._connection.execute("DELETE FROM answers WHERE at < ?", (time.time() - _DAY,))

    def begin(self, caller: str, route: str, key: str, request: bytes) -> tuple[bytes, StoredAnswer | None]:
        """Begin a request with a key. Returns what to `end` it with, and the answer if it was done before.

        Raises:
            Refused: The same key came with another request, or its request is still running.
        """
        name = _digest(caller, route, key)
        with self._lock:
            row = self._connection.execute(
                "SELECT request, status, body FROM answers WHERE key = ? AND at >= ?", (name, time.time() - _DAY)
            ).fetchone()
            if row is not None and row[0] != _digest(request):
                detail = f"Idempotency-Key {key!r} came with another request before. Use a new key for a new request."
                raise Refused(problem(422, detail))
            if row is not None:
                return name, StoredAnswer(row[1], row[2])
            if name in self._running:
                raise Refused(problem(409, f"the request with Idempotency-Key {key!r} is still running. Wait for it."))
            self._running.add(name)
        return name, None

    def end(self, name: bytes, request: bytes, answer: StoredAnswer | None) -> None:
        """End a request, and keep its answer if there is one."""
        with self._lock:
            self._running.discard(name)
            if answer is not None:
                row = (name, _digest(request), answer.status, answer.body, time.time())
                with self._connection:
                    self._connection.execute("INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?, ?)", row)

    def close(self) -> None:
        with self._lock:
            self._connection.close()


def _digest(*parts: str | bytes) -> bytes:
    hashed = hashlib.blake2b(digest_size=16)
    for part in parts:
        written = part.encode() if isinstance(part, str) else part
        hashed.update(len(written).to_bytes(8, "big") + written)
    return hashed.digest()
