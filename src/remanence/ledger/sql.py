"""A ledger in a database: SQLite, in the space's folder.

One connection writes, a small pool reads, and one only watches for what other processes write.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar
from weakref import WeakSet

import numpy as np
from sqlalchemy import create_engine
from sqlalchemy.pool import NullPool

from remanence.errors import Closed, InvalidInput, LedgerError, LedgerTampered, LedgerUnavailable
from remanence.ledger import chain, sqlite, tables
from remanence.ledger.chain import EMPTY_HEAD, ChainHead, StoredEntry
from remanence.schema import Entry

if TYPE_CHECKING:
    from remanence.events import Event
    from remanence.ports import Vector

BATCH = 500  # values in one IN (…)
LONG_AGO = -(2**63)  # moments before 1970 are negative
FLOATS = np.dtype("<f4")  # of the vectors that are kept


class SqlLedger:
    """Lines in `<folder>/ledger.db`, shared by every thread and process that opens the folder.

    Not across `fork()`: SQLite's locks do not survive it and lines would be lost, so a forked child is
    refused. Start processes by "spawn" or "forkserver", or open the ledger only after the fork.

    >>> import tempfile
    >>> ledger = SqlLedger(Path(tempfile.mkdtemp()) / "memory")
    >>> ledger.head()
    0
    >>> ledger.close()
    """

    _all: ClassVar[WeakSet[SqlLedger]] = WeakSet()

    def __init__(self, folder: Path) -> None:
        self.path = sqlite.ensure_ledger_file(folder)
        self._pid = os.getpid()
        self._connected = self._closed = self._writing = self._unscrubbed = False
        self._pen = threading.RLock()
        self._errors = sqlite.ErrorTranslator(self.path)
        for other in self._all:
            if other.path == self.path and other._connected:
                other._same_process()
        self._engine = create_engine(
            "sqlite://",
            creator=partial(sqlite.connect, self.path),
            poolclass=NullPool,  # it only makes the tables; see `_reader`
            isolation_level="AUTOCOMMIT",
        )
        self._readers: deque[sqlite3.Connection] = deque()
        self._sql = tables.Statements(self._engine.dialect)
        self._tail, self._last_at = EMPTY_HEAD, dict[str, int]()
        self._known: int | None = None  # the data_version for which these two are right
        with self._errors:
            self._writer = sqlite.connect(self.path)
            self._file = sqlite.file_identity(self.path)
            # 16 and 32 MB: a large batch need not spill midway, nor be moved out of the log before the next
            # ones have written over half of its pages.
            self._writer.execute("PRAGMA cache_size=-16000")
            self._writer.execute("PRAGMA wal_autocheckpoint=4000")
            self._connected = True
            self._all.add(self)
            try:
                sqlite.retry_while_locked(lambda: tables.create_or_migrate(self._engine, self.path))
                self._writer.execute(self._sql.last_entry).fetchone()  # damage at the end shows at once
                self._unscrubbed = True  # a crash may have left an erased line in the log
                self._scrub(wait=0)
                self._unscrubbed = False
            except BaseException:
                self._disconnect()
                raise

    # Writing

    @contextmanager
    def transaction(self) -> Iterator[SqlTransaction]:
        """Hold the pen. What was appended is kept if the block ends, and gone if it raises."""
        with self._pen:
            self._open()
            if self._writing:
                raise LedgerError("this thread already holds the pen: end its transaction first.")
            self._scrub(wait=0)
            self._still_there()
            with self._errors:
                self._writer.execute("BEGIN IMMEDIATE")
            self._writing = True
            draft = None
            try:
                with self._errors:
                    tail = self._find_tail()
                draft = SqlTransaction(self._writer, self._sql, self._errors, tail, self._last_at)
                yield draft
                with self._errors:
                    draft.finish()
                    self._writer.execute("COMMIT")
            except BaseException:
                with self._errors:
                    if self._writer.in_transaction:  # on a full disk SQLite has rolled back by itself
                        self._writer.execute("ROLLBACK")
                raise
            finally:
                self._writing = False
                if draft is not None:
                    draft.ended = True
            self._tail = draft.tail
            self._last_at.update(draft.last_at)
            if draft.erased:
                self._unscrubbed = True
                self._scrub(wait=1000)

    def _find_tail(self) -> ChainHead:
        """Where the chain ends, looked up again if another process wrote."""
        now = self._writer.execute("PRAGMA data_version").fetchone()[0]
        if now != self._known:
            row = self._writer.execute(self._sql.last_entry).fetchone()
            tail = EMPTY_HEAD if row is None else ChainHead(*row)
            if (self._noted_head(self._writer) or EMPTY_HEAD) != tail:
                raise LedgerTampered(
                    f"{self.path} does not end with the line that was written last; its last line is "
                    f"{tail.position}. Run `verify()`, and restore a backup before writing on.",
                    position=tail.position + 1,
                )
            self._tail, self._last_at, self._known = tail, {}, now
        return self._tail

    def _scrub(self, wait: int) -> None:
        """Move erased lines' old pages out of the write-ahead log; if a reader is in the way, next time."""
        if self._unscrubbed:
            with contextlib.suppress(sqlite3.Error):  # the erasure itself is committed; this is tried again
                self._writer.execute(f"PRAGMA busy_timeout={wait}")
                busy = self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
                self._unscrubbed = bool(busy)
            self._writer.execute(f"PRAGMA busy_timeout={int(sqlite.BUSY_TIMEOUT * 1000)}")

    # Reading

    def read(self, space: str, *, after: int = 0) -> Iterator[Entry]:
        """The lines of one space above position `after`, in order, erased ones with `event=None`."""
        first = self._rows(self._sql.read_space, (space, after))
        return self._read(space, first)

    def _read(self, space: str, rows: list[Any]) -> Iterator[Entry]:
        while rows:
            for row in rows:
                yield chain.decode_entry(*row)
            if len(rows) < tables.CHUNK:
                return
            rows = self._rows(self._sql.read_space, (space, rows[-1][0]))

    def entries_at(self, positions: Sequence[int]) -> dict[int, Entry]:
        """These lines, by position. Positions that do not exist are left out."""
        self._open()
        found: dict[int, Entry] = {}
        for batch in _batches([p for p in positions if 0 < p < 2**63]):
            for row in self._rows(self._sql.entries_at(len(batch)), batch):
                found[row[0]] = chain.decode_entry(*row)
        return found

    def position_at(self, space: str, moment: datetime) -> int:
        """The last position of this space recorded at or before `moment`; 0 if there is none."""
        return self._one(self._sql.position_at, (space, chain.checked_micros(moment))) or 0

    def head(self) -> int:
        """The last position of all; 0 for an empty ledger."""
        return self._one(self._sql.last_entry) or 0

    def spaces(self) -> list[str]:
        """The names of all spaces that hold a line, sorted."""
        return sorted(row[0] for row in self._rows(self._sql.spaces))

    def count(self, space: str, *, up_to: int | None = None) -> int:
        """How many lines a space holds, up to a position, that one included."""
        return int(self._one(self._sql.count, (space, 2**63 - 1 if up_to is None else up_to)))

    def vectors(self, model: str, hashes: Sequence[bytes]) -> dict[bytes, Vector]:
        """The embeddings kept for these text hashes; unknown ones are left out."""
        self._open()
        found: dict[bytes, Vector] = {}
        for batch in _batches(hashes):
            for text_hash, blob in self._rows(self._sql.vectors(len(batch)), (model, *map(bytearray, batch))):
                found[text_hash] = np.frombuffer(blob, FLOATS)
        return found

    def texts_in_other_entries(self, texts: Collection[str], *, excluded_positions: Collection[int]) -> set[str]:
        """Those of these texts that stand in the words of another line than these."""
        self._open()
        with self._errors, self._reader() as reader:
            return chain.texts_in_other_entries(reader.execute(self._sql.bodies), texts, excluded_positions)

    def get_meta(self, name: str) -> str | None:
        """A small fact that `set_meta` remembered."""
        value: str | None = self._one(self._sql.get_meta, (name,))
        return value

    def verify(self) -> tuple[int, bytes]:
        """How many lines there are, and the last digest; LedgerTampered names the first bad line."""
        self._open()
        with self._errors, self._reader() as reader:
            reader.execute("BEGIN")  # one snapshot: lines and head of the same moment, whoever writes
            try:
                return chain.verify(self._whole(reader), self._noted_head(reader))
            finally:
                reader.execute("ROLLBACK")

    def compact(self) -> None:
        """Give back the room that nothing uses: free pages, and the write-ahead log."""
        with self._pen:
            self._open()
            if self._writing:
                raise LedgerError("this thread holds the pen: end its transaction before compacting.")
            with self._errors:
                if self._writer.execute("PRAGMA freelist_count").fetchone()[0]:
                    self._writer.execute("VACUUM")
                self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def _whole(self, reader: sqlite3.Connection) -> Iterator[StoredEntry]:
        after = -(2**63)
        while rows := reader.execute(self._sql.read_stored, (after,)).fetchall():
            yield from map(StoredEntry._make, rows)
            after = rows[-1][0]

    def _noted_head(self, connection: sqlite3.Connection) -> ChainHead | None:
        row = connection.execute(self._sql.get_meta, (tables.HEAD_KEY,)).fetchone()
        try:
            position, digest = row[0].split(" ")
            return ChainHead(int(position), bytes.fromhex(digest))
        except (TypeError, ValueError, AttributeError):
            return None  # no note, or none that a writer of ours made

    @contextmanager
    def _reader(self) -> Iterator[sqlite3.Connection]:
        """A connection nobody else is using. Each read on it is a transaction that ends with its last row.

        A stack, not SQLAlchemy's pool, which takes as long to hand a connection out as SQLite to answer.
        """
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

    def _rows(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        self._open()
        with self._errors, self._reader() as reader:
            return reader.execute(sql, values).fetchall()

    def _one(self, sql: str, values: Sequence[Any] = ()) -> Any:
        rows = self._rows(sql, values)
        return rows[0][0] if rows else None

    # Opening and closing

    def close(self) -> None:
        """Let go of files and connections. Closing twice is fine."""
        if os.getpid() != self._pid:
            self._closed = True  # a fork's copies must not be touched, not even to close them
            return
        with self._pen:
            if self._writing:
                raise LedgerError("this thread holds the pen: end its transaction before closing the ledger.")
            if not self._closed:
                self._closed = True
                self._scrub(wait=1000)
                self._disconnect()

    def _disconnect(self) -> None:
        self._writer.close()
        self._connected = False
        while self._readers:
            self._readers.pop().close()

    def _open(self) -> None:
        if self._closed:
            raise Closed(f"the ledger {self.path} was closed; open it again to use it.")
        if os.getpid() != self._pid:
            self._same_process()

    def _still_there(self) -> None:
        """Refuse to write where nobody will read: a file that is taken away still takes lines, in silence."""
        try:
            found: tuple[int, int] | None = sqlite.file_identity(self.path)
        except OSError:
            found = None
        if found != self._file:
            raise LedgerUnavailable(
                f"{self.path} was taken away or replaced while it was open, and nothing was kept of this "
                "write. Put it back if need be, close this space, and open it again."
            )

    def _same_process(self) -> None:
        if os.getpid() != self._pid:
            raise LedgerUnavailable(
                f"{self.path} was open in process {self._pid} when it forked this one ({os.getpid()}); "
                "using it here would lose lines. Start processes by 'spawn', or open after the fork."
            )


class SqlTransaction:
    """What one writer adds; the database keeps it only if the block ends well."""

    def __init__(
        self,
        writer: sqlite3.Connection,
        sql: tables.Statements,
        errors: sqlite.ErrorTranslator,
        tail: ChainHead,
        known: Mapping[str, int],
    ) -> None:
        self._writer, self._sql, self._errors, self._known = writer, sql, errors, known
        self._start = self.tail = tail
        self.last_at: dict[str, int] = {}
        self.ended = self.erased = False

    @property
    def head(self) -> int:
        """The position of the last line, those of this transaction among them."""
        return self.tail.position

    def append(self, space: str, events: Sequence[Event], *, at: datetime) -> list[Entry]:
        """Add one line for each event. Visible to others only once the transaction ends well."""
        with self._writing():
            moment = chain.recording_time(at, self._last(space))
            lines = chain.build_entries(self.tail, space, events, moment)
            if lines:
                self._writer.executemany(self._sql.insert_entry, map(_bound, lines))
                self.tail = ChainHead(lines[-1].position, lines[-1].digest)
                self.last_at[space] = moment
        return chain.to_entries(lines, events)

    def append_erased(self, space: str, kind: str, subject: str, *, at: datetime) -> Entry:
        """Add a line whose words were erased before it came here."""
        with self._writing():
            line = chain.build_erased_entry(
                self.tail, space, kind, subject, chain.recording_time(at, self._last(space))
            )
            self._writer.execute(self._sql.insert_entry, line)
            self.tail = ChainHead(line.position, line.digest)
            self.last_at[space] = line.at
        return chain.decode_entry(line.position, line.at, space, kind, subject, None, line.digest)

    def put_vectors(self, model: str, vectors: Mapping[bytes, Vector]) -> None:
        """Keep embeddings by the hash of the text they were made of. Known ones stay as they are."""
        with self._writing():
            rows = ((model, bytearray(h), bytearray(np.asarray(v, FLOATS))) for h, v in vectors.items())
            self._writer.executemany(self._sql.insert_vector, rows)

    def erase(self, positions: Sequence[int], vector_hashes: Sequence[bytes]) -> None:
        """Blank the words of these lines and drop these embeddings, of every model."""
        with self._writing():
            self.erased = True
            self._writer.executemany(self._sql.erase_entry, ((p,) for p in positions if 0 < p < 2**63))
            self._writer.executemany(self._sql.delete_vectors, ((h,) for h in vector_hashes))

    def put_meta(self, name: str, value: str) -> None:
        """Remember a small fact about the ledger itself."""
        if name == tables.HEAD_KEY:
            raise InvalidInput(f"{name!r} is the ledger's own note. Choose another name.")
        with self._writing():
            self._writer.execute(self._sql.put_meta, (name, value))

    def finish(self) -> None:
        """Note where the chain ends, so that a tail cut off later is missed."""
        if self.tail != self._start:
            note = f"{self.tail.position} {self.tail.digest.hex()}"
            self._writer.execute(self._sql.put_meta, (tables.HEAD_KEY, note))

    def _writing(self) -> sqlite.ErrorTranslator:
        if self.ended:
            raise LedgerError("this transaction has ended; start another with `ledger.transaction()`.")
        return self._errors

    def _last(self, space: str) -> int:
        at = self.last_at.get(space, self._known.get(space))
        if at is None:
            row = self._writer.execute(self._sql.last_time, (space,)).fetchone()
            at = LONG_AGO if row is None else row[0]
        return int(at)


def _bound(line: StoredEntry) -> tuple[Any, ...]:
    """The values of a line as sqlite3 takes them fastest: for bytes it looks for an adapter each time."""
    *plain, salt, content, digest = line
    return (*plain, None if salt is None else bytearray(salt), bytearray(content), bytearray(digest))


def _batches(values: Sequence[Any]) -> Iterator[Sequence[Any]]:
    for start in range(0, len(values), BATCH):
        yield values[start : start + BATCH]
