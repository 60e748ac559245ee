"""Base class of the SQL ledgers: statements, transactions and reads.

Subclasses provide the connections. Methods are documented in `ports.Ledger` and `ports.Transaction`.
"""

from __future__ import annotations

import os
import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from remanence.errors import Closed, InvalidInput, LedgerError, LedgerTampered, LedgerUnavailable
from remanence.events import Emptied, Erased
from remanence.hooks import step
from remanence.ledger import chain, tables
from remanence.ledger.chain import EMPTY_HEAD, ChainedTransaction, ChainHead, StoredEntry
from remanence.schema import OPEN_END, Entry

if TYPE_CHECKING:
    from remanence.ledger.encryption import Cipher
    from remanence.ports import Vector

Read = Callable[[str, Sequence[Any]], list[Any]]
BATCH = 500
VECTOR_DTYPE = np.dtype("<f4")


class DatabaseErrors:
    """Turns database errors of some types inside a `with` block into ours, with the place and the next step.

    One object serves all blocks. A function with `@contextmanager` would make several objects for each, and
    every add has about ten such blocks.
    """

    def __init__(self, kinds: tuple[type[Exception], ...], translate: Callable[[Exception], Exception]) -> None:
        self._kinds, self._translate = kinds, translate

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if isinstance(error, self._kinds):
            raise self._translate(error) from error


class SqlLedger(ABC):
    """A ledger in a database that the messages call `name`."""

    shared_vectors: ClassVar[bool] = False
    """Whether there may be vectors of all spaces together, as the first release stored them."""

    cipher: Cipher | None = None
    """What encrypts the texts and vectors in the database; None if they are not encrypted."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._pid = os.getpid()
        self._closed = False
        self._write_lock = threading.RLock()
        self._writing = threading.Lock()  # locked while the thread with the other lock is in a transaction
        self._readers: deque[Any] = deque()

    # Writing

    @step("write ledger")
    @contextmanager
    def transaction(self) -> Iterator[SqlTransaction]:
        with self._write_lock:
            self._check_open()
            if self._writing.locked():
                raise LedgerError("this thread is already in a transaction: end that one first.")
            with self._writing:
                transaction: SqlTransaction | None = None
                try:
                    transaction = SqlTransaction(self, self._begin())
                    yield transaction
                    transaction.record_head()
                    self._commit(transaction)
                except BaseException as error:
                    self._roll_back(interrupted=not isinstance(error, Exception))
                    raise
                finally:
                    if transaction is not None:
                        transaction.ended = True

    @abstractmethod
    def _begin(self) -> ChainHead:
        """Begin the transaction of the only writer, and end one that an interrupt has left. Returns the end of the
        chain."""

    @abstractmethod
    def _commit(self, transaction: SqlTransaction) -> None: ...

    @abstractmethod
    def _roll_back(self, *, interrupted: bool = False) -> None:
        """Undo the transaction. If it was `interrupted` (Ctrl-C, a timeout by signal), the connection may be in any
        state."""

    @abstractmethod
    def _write(self, sql: str, rows: Iterable[Sequence[Any]]) -> int:
        """Run a statement in the transaction, once with each of these rows. Returns how many rows it changed."""

    def _queue_write(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        """The same, at the latest with the commit."""
        self._write(sql, rows)

    def _insert_vectors(self, rows: Sequence[Sequence[Any]]) -> None:
        """Store these vectors in the transaction, each with space, hash and model, unless there are others already."""
        if self.cipher is not None:
            rows = [self.cipher.seal_vector(*row) for row in rows]
        digests = [chain.vector_digest(*row) for row in rows]
        digest_rows = [(digest, digest, *row[:3]) for digest, row in zip(digests, rows, strict=True)]
        self._queue_write(tables.DIGEST_NEW_VECTOR, digest_rows)
        self._queue_write(tables.INSERT_VECTOR, rows)

    def _remove_digests(self, space: str, hashes: Sequence[bytes]) -> None:
        """Remove the vectors of these texts, which are deleted next, from the digest of all vectors."""
        removed = 0
        for batch in _batches(list(dict.fromkeys(hashes))):
            statement = f"{tables.VECTORS_OF_TEXTS} IN ({', '.join('?' * len(batch))})"
            removed ^= chain.combined_digest(self._read_in_transaction(statement, (space, *batch)))
        if removed:
            [(recorded,)] = self._read_in_transaction(tables.GET_META, (tables.VECTORS_KEY,))
            self._queue_write(tables.PUT_META, [(tables.VECTORS_KEY, str(int(recorded) ^ removed))])

    def _last_time(self, space: str) -> int | None:
        """When the last entry of a space was recorded, of those before this transaction."""
        rows = self._read_in_transaction(tables.LAST_TIME, (space,))
        return int(rows[0][0]) if rows else None

    @abstractmethod
    def _read_in_transaction(self, sql: str, values: Sequence[Any]) -> list[Any]:
        """Read in the transaction."""

    def _read_head(self, read: Read) -> ChainHead:
        """The end of the chain; LedgerTampered if it is not the one that was recorded."""
        rows = read(tables.LAST_ENTRY, ())
        head = ChainHead(*rows[0]) if rows else EMPTY_HEAD
        if (parse_head(read(tables.GET_META, (tables.HEAD_KEY,))) or EMPTY_HEAD) != head:
            raise LedgerTampered(
                f"{self.name} does not end with the entry that was written last; its last entry is "
                f"{head.position}. Run `verify()`, and restore a backup before writing again.",
                position=head.position + 1,
            )
        return head

    # Encryption

    def unsealed_entry(self, row: Sequence[Any]) -> StoredEntry:
        """An entry of all its columns as it was before it was encrypted."""
        return StoredEntry._make(row) if self.cipher is None else self.cipher.unseal_entry(row)

    def unsealed_vectors(self, rows: Sequence[Any]) -> Sequence[Any]:
        """Rows of vectors as they were before they were encrypted."""
        if self.cipher is None:
            return rows
        try:
            return [self.cipher.unseal_vector(*row) for row in rows]
        except (ValueError, TypeError) as error:
            raise self._changed("a vector", 0, error) from error

    def _stored_hashes(self, hashes: Sequence[bytes]) -> Sequence[bytes]:
        return hashes if self.cipher is None else [self.cipher.digest(text_hash) for text_hash in hashes]

    def _decode(self, row: Sequence[Any]) -> Entry:
        if self.cipher is None:
            return chain.decode_entry(*row)
        try:
            row = self.cipher.unseal_columns(row)
        except (ValueError, TypeError) as error:
            raise self._changed(f"entry {row[0]} of space {row[2]!r}", row[0], error) from error
        return chain.decode_entry(*row)

    def _changed(self, what: str, position: int, error: Exception) -> LedgerTampered:
        return LedgerTampered(
            f"{what} in {self.name} cannot be decrypted: {error}. Run `verify()`, and restore a backup.",
            position=position,
        )

    def last_erasure(self) -> int:
        return int(self.get_meta(tables.ERASED_KEY) or 0)

    # Reading

    def read(self, space: str, *, after: int = 0, kinds: Sequence[str] | None = None) -> Iterator[Entry]:
        self._check_open()
        if kinds is not None and not kinds:
            return iter(())
        values = tuple(kinds or ())
        statement = tables.read_kinds(len(values)) if values else tables.READ_SPACE

        # Who reads on from a position knows what was erased up to there.
        is_erased = None if after else self._erased(space)

        def read_from(rows: list[Any]) -> Iterator[Entry]:
            while rows:
                for entry in map(self._decode, rows):
                    yield entry if is_erased is None or not is_erased(entry) else replace(entry, event=None)
                if len(rows) < tables.CHUNK:
                    return
                rows = self._rows(statement, (space, rows[-1][0], *values))

        return read_from(self._rows(statement, (space, after, *values)))

    def _erased(self, space: str) -> Callable[[Entry], bool] | None:
        """Tells of an entry whether a later one records its erasure; None if nothing was erased. Its text may have been
        put back since, from an older copy of the ledger: `verify` reports that."""
        if not self.last_erasure():
            return None
        positions, emptied = set[int](), 0
        rows = self._rows(tables.read_kinds(len(chain.EXPLAINS)), (space, 0, *chain.EXPLAINS))
        while rows:
            for entry in map(self._decode, rows):
                if isinstance(entry.event, Emptied):
                    emptied = entry.position
                elif isinstance(entry.event, Erased):
                    positions.update(position for position in entry.event.positions if position < entry.position)
            rows = self._rows(tables.read_kinds(len(chain.EXPLAINS)), (space, rows[-1][0], *chain.EXPLAINS))

        def is_erased(entry: Entry) -> bool:
            return entry.kind not in chain.EXPLAINS and (entry.position < emptied or entry.position in positions)

        return is_erased if positions or emptied else None

    def entries_at(self, positions: Sequence[int]) -> dict[int, Entry]:
        self._check_open()
        entries: dict[int, Entry] = {}
        for batch in _batches([p for p in positions if 0 < p <= OPEN_END]):
            for row in self._rows_in(tables.ENTRIES_AT, (), batch):
                entries[row[0]] = self._decode(row)
        return entries

    def position_at(self, space: str, moment: datetime) -> int:
        return self._value(tables.POSITION_AT, (space, chain.checked_micros(moment))) or 0

    def head(self) -> int:
        return self._value(tables.LAST_ENTRY) or 0

    def spaces(self, prefix: str | None = None) -> list[str]:
        if prefix is None:
            return self._without_emptied(self._rows(tables.SPACES), "", "\U0010ffff")
        # In the order of code points, "/" is followed by "0".
        first, end = f"{prefix}/", f"{prefix}0"
        kind = self._value(tables.LAST_KIND, (prefix,))
        own = [] if kind in (None, "emptied") else [prefix]
        return own + self._without_emptied(self._rows(tables.SPACES_BELOW, (first, end, end)), first, end)

    def _without_emptied(self, rows: Sequence[tuple[str]], first: str, end: str) -> list[str]:
        """The names in these rows, from `first` to `end`, sorted, without those of spaces that were emptied."""
        names = tables.EMPTIED_KEY + first, tables.EMPTIED_KEY + end
        emptied = {row[0] for row in self._rows(tables.EMPTIED_SPACES, names)}
        return sorted(row[0] for row in rows if row[0] not in emptied)

    def spaces_with(self, kind: str, *, after: int = 0) -> list[str]:
        names: set[str] = set()
        for begin in range(max(0, after), self.head(), tables.SCAN):
            names.update(name for (name,) in self._rows(tables.SPACES_WITH, (kind, begin, begin + tables.SCAN)))
        return sorted(names)

    def count(self, space: str, *, up_to: int | None = None) -> int:
        return int(self._value(tables.COUNT, (space, OPEN_END if up_to is None else up_to)))

    def vectors(
        self, space: str, model: str, hashes: Sequence[bytes], *, include_shared: bool = False
    ) -> dict[bytes, Vector]:
        self._check_open()
        vectors: dict[bytes, Vector] = {}
        for batch in _batches(hashes):
            rows = self._rows_in(tables.VECTORS, (space, model), self._stored_hashes(batch))
            if self.cipher is not None:
                rows = [row[1::2] for row in self.unsealed_vectors([(space, key, model, blob) for key, blob in rows])]
            if include_shared and self.shared_vectors and len(rows) < len(batch):
                known = {text_hash for text_hash, _ in rows}
                older = [text_hash for text_hash in batch if text_hash not in known]
                rows += self._rows_in(tables.SHARED_VECTORS, (model,), older)
            vectors |= _vectors(rows)
        return vectors

    def get_meta(self, name: str) -> str | None:
        value: str | None = self._value(tables.GET_META, (name,))
        return value

    def verify(self, space: str | None = None) -> tuple[int, bytes]:
        self._check_open()
        with self._snapshot() as read:
            verified = chain.verify(
                map(self.unsealed_entry, _stored_rows(read)),
                parse_head(read(tables.GET_META, (tables.HEAD_KEY,))),
                space,
            )
            recorded = read(tables.GET_META, (tables.VECTORS_KEY,))
            chain.verify_vectors(self.name, _stored_vectors(read), recorded[0][0] if recorded else None)
            return verified

    @abstractmethod
    def _snapshot(self) -> AbstractContextManager[Read]:
        """Read several times as of one moment."""

    @abstractmethod
    def _rows(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        """Read what is committed."""

    @abstractmethod
    def _rows_in(self, sql: str, values: Sequence[Any], choices: Sequence[Any]) -> list[Any]:
        """The same with a statement whose last word is a column, which has to be one of these values."""

    @contextmanager
    def _reader(self) -> Iterator[Any]:
        """An unused connection that reads; one that was left in the middle of something is closed."""
        try:
            reader = self._readers.pop()
        except IndexError:
            reader = self._connect()
        try:
            yield reader
        finally:
            if self._closed or not self._is_usable(reader):
                reader.close()
            else:
                self._readers.append(reader)

    @abstractmethod
    def _connect(self) -> Any: ...

    def _is_usable(self, reader: Any) -> bool:
        return True

    def _value(self, sql: str, values: Sequence[Any] = ()) -> Any:
        rows = self._rows(sql, values)
        return rows[0][0] if rows else None

    # Closing

    @abstractmethod
    def clean_up(self, *, wait: float = 0.0) -> bool: ...

    @abstractmethod
    def compact(self) -> None: ...

    def close(self) -> None:
        if os.getpid() != self._pid:
            self._closed = True  # connections that a fork copied must not be used, not even to close them
            return
        with self._write_lock:
            if self._writing.locked():
                raise LedgerError("this thread is in a transaction: end it before closing the ledger.")
            if not self._closed:
                self._closed = True
                self._close()
                while self._readers:
                    self._readers.pop().close()

    @abstractmethod
    def _close(self) -> None: ...

    @contextmanager
    def _between_transactions(self, action: str) -> Iterator[None]:
        """Do something with the connection that writes."""
        with self._write_lock:
            self._check_open()
            if self._writing.locked():
                raise LedgerError(f"this thread is in a transaction: end it before {action}.")
            yield

    def _check_open(self) -> None:
        if self._closed:
            raise Closed(f"the ledger {self.name} was closed; open it again to use it.")
        self._check_process()

    def _check_process(self) -> None:
        if os.getpid() != self._pid:
            raise LedgerUnavailable(
                f"{self.name} was open in process {self._pid} when it forked this one ({os.getpid()}); "
                "using it here would lose entries. Start processes by 'spawn', or open after the fork."
            )


class SqlTransaction(ChainedTransaction):
    """The changes of one writer; the database stores them only if the block ends without an exception."""

    def __init__(self, ledger: SqlLedger, head: ChainHead) -> None:
        super().__init__(head)
        self._ledger, self._first_head = ledger, head
        self.erased = False
        self.last_times: dict[str, int] = {}
        """When the last entry of each space was recorded, of those of this transaction."""

    @property
    def has_entries(self) -> bool:
        return self.chain_head != self._first_head

    def put_vectors(self, space: str, model: str, vectors: Mapping[bytes, Vector]) -> None:
        self._check_open()
        self._ledger._insert_vectors(
            [(space, h, model, np.asarray(v, VECTOR_DTYPE).tobytes()) for h, v in vectors.items()]
        )

    def erase(self, space: str, positions: Sequence[int], vector_hashes: Sequence[bytes]) -> int:
        self._check_open()
        self.erased = True
        self._write(tables.ERASE_ENTRY, ((p, space) for p in positions if 0 < p <= OPEN_END))
        vector_hashes = self._ledger._stored_hashes(vector_hashes)
        if self._ledger.shared_vectors:
            self._write(tables.DELETE_SHARED_VECTORS, ((h,) for h in vector_hashes))
        self._ledger._remove_digests(space, vector_hashes)
        return self._write(tables.DELETE_VECTORS, ((space, h) for h in vector_hashes))

    def put_meta(self, name: str, value: str) -> None:
        if name.startswith(tables.RESERVED_PREFIX):
            raise InvalidInput(f"{name!r} is reserved for the ledger. Choose another name.")
        self._write(tables.PUT_META, [(name, value)])

    def record_head(self) -> None:
        """Record the end of the chain, so that `verify` finds it if the last entries are removed later."""
        if self.has_entries:
            value = f"{self.chain_head.position} {self.chain_head.digest.hex()}"
            self._queue_write(tables.PUT_META, [(tables.HEAD_KEY, value)])
        if self.erased:
            self._queue_write(tables.PUT_META, [(tables.ERASED_KEY, str(self.head))])

    def _store(self, entries: Sequence[StoredEntry]) -> None:
        cipher = self._ledger.cipher
        self._queue_write(tables.INSERT_ENTRY, entries if cipher is None else map(cipher.seal_entry, entries))
        self.last_times.update((entry.space, entry.at) for entry in entries)

    def _blank_space(self, space: str) -> None:
        self.erased = True
        self._write(tables.ERASE_SPACE, [(space,)])

    def _mark_emptied(self, entry: Entry) -> None:
        self._queue_write(tables.PUT_META, [(tables.EMPTIED_KEY + entry.space, str(entry.position))])

    def _write(self, sql: str, rows: Iterable[Sequence[Any]]) -> int:
        self._check_open()
        return self._ledger._write(sql, rows)

    def _queue_write(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        self._check_open()
        self._ledger._queue_write(sql, rows)

    def _last_time(self, space: str) -> int | None:
        own = self.last_times.get(space)
        return self._ledger._last_time(space) if own is None else own


def parse_head(rows: Sequence[Any]) -> ChainHead | None:
    """The end of the chain as it was recorded; None if that is missing, or was not written by this library."""
    try:
        position, digest = rows[0][0].split(" ")
        return ChainHead(int(position), bytes.fromhex(digest))
    except (LookupError, TypeError, ValueError, AttributeError):
        return None


def _stored_rows(read: Read) -> Iterator[Sequence[Any]]:
    rows = read(tables.READ_STORED, (-OPEN_END,))
    while rows:
        yield from rows
        rows = read(tables.READ_STORED, (rows[-1][0],)) if len(rows) == tables.CHUNK else []


def _stored_vectors(read: Read) -> Iterator[Sequence[Any]]:
    rows = read(tables.READ_VECTORS, ("", b"", ""))
    while rows:
        yield from rows
        rows = read(tables.READ_VECTORS, rows[-1][:3])


def _vectors(rows: Sequence[tuple[bytes, bytes]]) -> dict[bytes, Vector]:
    """The vectors in these rows by the hash of their text. `verify` finds those that are cut off."""
    rows = [row for row in rows if not len(row[1]) % VECTOR_DTYPE.itemsize]
    hashes, blobs = zip(*rows, strict=True) if rows else ((), ())
    if len(set(map(len, blobs))) == 1:  # always, unless the ledger was changed from outside
        return dict(zip(hashes, np.frombuffer(b"".join(blobs), VECTOR_DTYPE).reshape(len(rows), -1), strict=True))
    return {text_hash: np.frombuffer(blob, VECTOR_DTYPE) for text_hash, blob in rows}


def _batches(values: Sequence[Any]) -> Iterator[Sequence[Any]]:
    for start in range(0, len(values), BATCH):
        yield values[start : start + BATCH]
