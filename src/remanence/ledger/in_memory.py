"""A ledger in plain Python that is lost with the process: for tests, and the reference for other ledgers.

Methods are documented in `ports.Ledger` and `ports.Transaction`.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np

from remanence.errors import Closed, InvalidInput, LedgerError
from remanence.hooks import step
from remanence.ledger import chain
from remanence.ledger.chain import EMPTY_HEAD, ChainedTransaction, ChainHead, StoredEntry
from remanence.ledger.locks import ThreadLocks
from remanence.schema import Entry

if TYPE_CHECKING:
    from remanence.ports import Vector


class InMemoryLedger:
    """Entries in a list.

    >>> from datetime import datetime, timezone
    >>> from remanence.events import Restored
    >>> ledger = InMemoryLedger()
    >>> with ledger.transaction() as transaction:
    ...     entries = transaction.append("home", [Restored("m1")], at=datetime(2026, 5, 1, tzinfo=timezone.utc))
    >>> [entry.event.memory for entry in ledger.read("home")]
    ['m1']
    """

    def __init__(self) -> None:
        self._write_lock = threading.RLock()  # one writer at a time
        self._lock = threading.RLock()  # held only to read or to commit, so no reader waits for a writer
        self._writing = threading.Lock()  # locked while the thread with the first lock is in a transaction
        self._closed = False
        self._entries: list[StoredEntry] = []
        self._vectors: dict[tuple[str, bytes], dict[str, Vector]] = {}  # by space and hash of the text
        self._last_erasure = 0
        self._meta: dict[str, str] = {}

    @step("write ledger")
    @contextmanager
    def transaction(self) -> Iterator[InMemoryTransaction]:
        with self._write_lock:
            self._check_open()
            if self._writing.locked():
                raise LedgerError("this thread is already in a transaction: end that one first.")
            with self._writing:
                transaction = InMemoryTransaction(self)
                try:
                    yield transaction
                    self._commit(transaction)
                finally:
                    transaction.ended = True

    def read(self, space: str, *, after: int = 0, kinds: Sequence[str] | None = None) -> Iterator[Entry]:
        with self._check_open():
            entries = [
                entry
                for entry in self._entries[max(0, after) :]
                if entry.space == space and (kinds is None or entry.kind in kinds)
            ]
        return map(_decode, entries)

    def entries_at(self, positions: Sequence[int]) -> dict[int, Entry]:
        with self._check_open():
            return {p: _decode(self._entries[p - 1]) for p in positions if 1 <= p <= len(self._entries)}

    def position_at(self, space: str, moment: datetime) -> int:
        limit = chain.checked_micros(moment)
        with self._check_open():
            newest_first = reversed(self._entries)
            return next((entry.position for entry in newest_first if entry.space == space and entry.at <= limit), 0)

    def head(self) -> int:
        with self._check_open():
            return len(self._entries)

    def spaces(self, prefix: str | None = None) -> list[str]:
        with self._check_open():
            last_kinds = {entry.space: entry.kind for entry in self._entries}
        names = [space for space, kind in last_kinds.items() if kind != "emptied"]
        return sorted(name for name in names if prefix is None or name == prefix or name.startswith(f"{prefix}/"))

    def spaces_with(self, kind: str, *, after: int = 0) -> list[str]:
        with self._check_open():
            return sorted({entry.space for entry in self._entries[max(0, after) :] if entry.kind == kind})

    def count(self, space: str, *, up_to: int | None = None) -> int:
        with self._check_open():
            return sum(entry.space == space and (up_to is None or entry.position <= up_to) for entry in self._entries)

    def vectors(
        self, space: str, model: str, hashes: Sequence[bytes], *, include_shared: bool = False
    ) -> dict[bytes, Vector]:
        with self._check_open():
            return {h: self._vectors[space, h][model] for h in hashes if model in self._vectors.get((space, h), ())}

    def last_erasure(self) -> int:
        with self._check_open():
            return self._last_erasure

    def clean_up(self, *, wait: float = 0.0) -> bool:
        """Nothing to do: the text is only in the entries."""
        self._check_open()
        return True

    def locks(self) -> ThreadLocks:
        return ThreadLocks()

    def get_meta(self, name: str) -> str | None:
        with self._check_open():
            return self._meta.get(name)

    def verify(self, space: str | None = None) -> tuple[int, bytes]:
        with self._check_open():
            entries = list(self._entries)
        return chain.verify(entries, _head_of(entries), space)

    def compact(self) -> None:
        """Nothing to do: unused data is not stored."""
        self._check_open()

    def close(self) -> None:
        with self._write_lock:
            if self._writing.locked():
                raise LedgerError("this thread is in a transaction: end it before closing the ledger.")
            self._closed = True
            self._entries, self._vectors, self._meta = [], {}, {}

    def _check_open(self) -> threading.RLock:
        if self._closed:
            raise Closed("this ledger was closed; open it again to use it.")
        return self._lock

    def _commit(self, transaction: InMemoryTransaction) -> None:
        with self._lock:
            self._entries += transaction.entries
            for position in transaction.erased_positions:
                entry = self._entries[position - 1]
                if entry.kind not in ("erased", "emptied"):  # they contain no text, and explain entries without
                    self._entries[position - 1] = entry._replace(body=None, salt=None)
            if transaction.erased_positions:
                self._last_erasure = len(self._entries)
            for key in transaction.dropped_vectors:
                self._vectors.pop(key, None)
            for key, by_model in transaction.vectors.items():
                self._vectors[key] = {**by_model, **self._vectors.get(key, {})}
            self._meta.update(transaction.meta)


class InMemoryTransaction(ChainedTransaction):
    """The changes of one writer; the ledger applies them when the block ends."""

    def __init__(self, ledger: InMemoryLedger) -> None:
        super().__init__(_head_of(ledger._entries))
        self._ledger = ledger
        self.entries: list[StoredEntry] = []
        self.erased_positions: set[int] = set()
        # by space and hash of the text
        self.dropped_vectors: set[tuple[str, bytes]] = set()
        self.vectors: dict[tuple[str, bytes], dict[str, Vector]] = {}
        self.meta: dict[str, str] = {}

    def put_vectors(self, space: str, model: str, vectors: Mapping[bytes, Vector]) -> None:
        self._check_open()
        _check_unicode(space, model)
        for text_hash, vector in vectors.items():
            copy = np.array(vector, dtype=np.float32)
            copy.flags.writeable = False
            self.vectors.setdefault((space, text_hash), {}).setdefault(model, copy)

    def erase(self, space: str, positions: Sequence[int], vector_hashes: Sequence[bytes]) -> int:
        self._check_open()
        known = [p for p in positions if 1 <= p <= self.head]
        self.erased_positions.update(p for p in known if self._entry_at(p).space == space)
        keys = {(space, text_hash) for text_hash in vector_hashes}
        count = sum(len(self._ledger._vectors.get(key, {}).keys() | self.vectors.get(key, {})) for key in keys)
        self.dropped_vectors |= keys
        for key in keys:
            self.vectors.pop(key, None)
        return count

    def put_meta(self, name: str, value: str) -> None:
        self._check_open()
        _check_unicode(name, value)
        self.meta[name] = value

    def _entry_at(self, position: int) -> StoredEntry:
        committed = self._ledger._entries
        return committed[position - 1] if position <= len(committed) else self.entries[position - len(committed) - 1]

    def _store(self, entries: Sequence[StoredEntry]) -> None:
        self.entries += entries

    def _blank_space(self, space: str) -> None:
        entries = itertools.chain(self._ledger._entries, self.entries)
        self.erased_positions.update(entry.position for entry in entries if entry.space == space)

    def _mark_emptied(self, entry: Entry) -> None:
        """Nothing to do: the kind of the last entry says it."""

    def _last_time(self, space: str) -> int | None:
        newest_first = itertools.chain(reversed(self.entries), reversed(self._ledger._entries))
        return next((entry.at for entry in newest_first if entry.space == space), None)


def _head_of(entries: Sequence[StoredEntry]) -> ChainHead:
    return ChainHead(entries[-1].position, entries[-1].digest) if entries else EMPTY_HEAD


def _decode(entry: StoredEntry) -> Entry:
    return chain.decode_entry(*entry[:6], entry.digest)


def _check_unicode(*texts: str) -> None:
    for text in texts:
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise InvalidInput(f"{text!r} is not valid Unicode ({error}).") from error
