"""Answers by Idempotency-Key: a write that is sent again gets the first answer, and is not done again.

What was written is kept for a day in the database of the server, so that it outlives a restart: the status and the ids
of the memories, but no text of theirs, which may be erased in the meantime. Answers as they were sent are in memory
only, and are forgotten when anything is erased. A key is that of one caller and one route.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pydantic_core import from_json, to_json

from remanence import Memory, Space
from remanence.service.endpoints.memory_operations import JobReport
from remanence.service.hosting.server_database import Location, open_database
from remanence.service.noun_forms import adapter_of
from remanence_server.problems import RequestRejected, problem

HEADER = "idempotency-key"
MAX_KEY_LENGTH = 255
_DAY = 86_400.0
_MAX_IN_MEMORY, _MAX_BYTES = 1_000, 1 << 16
"""How many answers are in memory, and how long one of them may be."""
_WITHOUT_TEXT = (type(None), int, JobReport)
_TABLE = """
CREATE TABLE IF NOT EXISTS outcomes (
    key {bytes} PRIMARY KEY, request {bytes} NOT NULL, status INTEGER NOT NULL, outcome {bytes} NOT NULL,
    at DOUBLE PRECISION NOT NULL
)"""
_STORE = """
INSERT INTO outcomes VALUES (?, ?, ?, ?, ?)
ON CONFLICT (key) DO UPDATE
SET request = excluded.request, status = excluded.status, outcome = excluded.outcome, at = excluded.at"""


@dataclass(frozen=True)
class Outcome:
    """The status of an answer, what is stored of it, and its body while it is in memory."""

    status: int
    stored: bytes
    body: bytes | None = None


def outcome_of(status: int, body: bytes, returns: Any) -> Outcome:
    """What is kept of the answer of what returns this type: the ids of its memories, or all of one without text."""
    stored: dict[str, Any] = {}
    if returns in _WITHOUT_TEXT:
        stored = {"answer": from_json(body)}
    elif returns in (Memory, list[Memory]):
        memories = [from_json(body)] if returns is Memory else from_json(body)["items"]
        as_of = max((memory["revised_at"] for memory in memories), default=None)
        stored = {"ids": [memory["id"] for memory in memories], "as_of": as_of}
    return Outcome(status, to_json(stored), body)


def body_of(outcome: Outcome, space: Space, returns: Any, key: str) -> bytes:
    """The first answer: as it was sent, or with its memories read again, as they were then.

    Raises:
        RequestRejected: A memory was erased since, or nothing but the status is known.
    """
    if outcome.body is not None:
        return outcome.body
    stored, done = from_json(outcome.stored), f"the request with Idempotency-Key {key!r} was done"
    if "answer" in stored:
        return to_json(stored["answer"])
    if "ids" not in stored:
        raise RequestRejected(problem(409, f"{done}, and its answer is not kept. Read what it wrote."))
    view = space if stored["as_of"] is None else space.as_of(stored["as_of"])
    found = {item.id: item.memory for item in view.get_many(stored["ids"])}
    memories = [memory for memory_id in stored["ids"] if (memory := found.get(memory_id)) is not None]
    if len(memories) < len(stored["ids"]):
        raise RequestRejected(problem(410, f"{done}, and what it wrote was erased since."))
    if returns is Memory:
        return adapter_of(Memory).dump_json(memories[0])
    return b'{"items":%s}' % adapter_of(list[Memory]).dump_json(memories)


class IdempotencyKeys:
    """What the writes did that had a key.

    Args:
        location: Where the ledger is, beside which this is stored.
        last_erasure: Returns the ledger position at which something was erased last.
        digest: In place of the one for requests and keys, for an encrypted folder.
    """

    def __init__(
        self, location: Location, last_erasure: Callable[[], int], digest: Callable[[bytes], bytes] | None = None
    ) -> None:
        self._last_erasure = last_erasure
        self._digest_again = digest or bytes
        self._lock = threading.Lock()
        self._running: set[bytes] = set()
        self._bodies: OrderedDict[bytes, tuple[int, bytes]] = OrderedDict()  # with the last erasure before each
        self._database = open_database(location)
        self._database.create(_TABLE)
        self._database.execute("DELETE FROM outcomes WHERE at < ?", (time.time() - _DAY,))

    def begin(self, caller: str, route: str, key: str, request: bytes) -> tuple[bytes, Outcome | None]:
        """Begin a request with a key. Returns what to `end` it with, and what it did if it was done before.

        Raises:
            RequestRejected: The same key came with another request, or its request is still running.
        """
        name = self._digest(caller, route, key)
        with self._lock:
            rows = self._database.execute(
                "SELECT request, status, outcome FROM outcomes WHERE key = ? AND at >= ?", (name, time.time() - _DAY)
            )
            if rows and rows[0][0] != self._digest(request):
                detail = f"Idempotency-Key {key!r} came with another request before. Use a new key for a new request."
                raise RequestRejected(problem(422, detail))
            if rows:
                erasure, body = self._bodies.get(name, (0, None))
                _, status, stored = rows[0]
                return name, Outcome(status, stored, body if erasure == self._last_erasure() else None)
            if name in self._running:
                raise RequestRejected(
                    problem(409, f"the request with Idempotency-Key {key!r} is still running. Wait for it.")
                )
            self._running.add(name)
        return name, None

    def end(self, name: bytes, request: bytes, outcome: Outcome | None) -> None:
        """End a request, and keep what it did, unless it failed."""
        try:
            if outcome is not None:
                row = (name, self._digest(request), outcome.status, outcome.stored, time.time())
                self._database.execute(_STORE, row)
                self._keep_in_memory(name, outcome.body or b"")
        finally:
            with self._lock:
                self._running.discard(name)

    def _keep_in_memory(self, name: bytes, body: bytes) -> None:
        erasure = self._last_erasure()
        with self._lock:
            if len(body) <= _MAX_BYTES:
                self._bodies[name] = erasure, body
            outdated = [key for key, (before, _) in self._bodies.items() if before != erasure]
            for key in outdated or list(self._bodies)[:-_MAX_IN_MEMORY]:
                del self._bodies[key]

    def _digest(self, *parts: str | bytes) -> bytes:
        return self._digest_again(_digest(*parts))

    def close(self) -> None:
        self._database.close()


def _digest(*parts: str | bytes) -> bytes:
    hashed = hashlib.blake2b(digest_size=16)
    for part in parts:
        written = part.encode() if isinstance(part, str) else part
        hashed.update(len(written).to_bytes(8, "big") + written)
    return hashed.digest()
