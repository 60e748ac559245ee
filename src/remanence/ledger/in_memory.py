"""A ledger in plain Python, gone with the process: for tests, and what the others are compared with."""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np

from remanence.errors import Closed, InvalidInput, LedgerError
from remanence.ledger import chain
from remanence.ledger.chain import EMPTY_HEAD, ChainHead, StoredEntry
from remanence.schema import Entry

if TYPE_CHECKING:
    from remanence.events import Event
    from remanence.ports import Vector


class InMemoryLedger:
    """Lines in a list.

    >>> from datetime import datetime, timezone
    >>> from remanence.events import Restored
    >>> ledger = InMemoryLedger()
    >>> with ledger.transaction() as pen:
    ...     written = pen.append("home", [Restored("m1")], at=datetime(2026, 5, 1, tzinfo=timezone.utc))
    >>> [entry.event for entry in ledger.read("home")]
    [Restored(memory='m1')]
    """

    def __init__(self) -> None:
        self._pen = threading.RLock()  # one writer at a time
        self._lock = threading.RLock()  # held only to look or to commit, so no reader waits for a writer
        self._writing = self._closed = False
        self._lines: list[StoredEntry] = []
        self._spaces: dict[str, list[int]] = {}
        self._vectors: dict[bytes, dict[str, Vector]] = {}
        self._meta: dict[str, str] = {}

    @contextmanager
    def transaction(self) -> Iterator[VolatileTransaction]:
        """Hold the pen. What was appended is kept if the block ends, and gone if it raises."""
        with self._pen:
            self._open()
            if self._writing:
                raise LedgerError("this thread already holds the pen: end its transaction first.")
            self._writing = True
            draft = VolatileTransaction(self)
            try:
                yield draft
                self._commit(draft)
            finally:
                draft.ended = True
                self._writing = False

    def read(self, space: str, *, after: int = 0) -> Iterator[Entry]:
        """The lines of one space above position `after`, in order, erased ones with `event=None`."""
        with self._open():
            positions = self._spaces.get(space, [])
            lines = [self._lines[p - 1] for p in positions[bisect_right(positions, after) :]]
        return map(_entry, lines)

    def entries_at(self, positions: Sequence[int]) -> dict[int, Entry]:
        """These lines, by position. Positions that do not exist are left out."""
        with self._open():
            return {p: _entry(self._lines[p - 1]) for p in positions if 1 <= p <= len(self._lines)}

    def position_at(self, space: str, moment: datetime) -> int:
        """The last position of this space recorded at or before `moment`; 0 if there is none."""
        limit = chain.checked_micros(moment)
        with self._open():
            positions = self._spaces.get(space, [])
            count = bisect_right(positions, limit, key=lambda p: self._lines[p - 1].at)
            return positions[count - 1] if count else 0

    def head(self) -> int:
        """The last position of all; 0 for an empty ledger."""
        with self._open():
            return len(self._lines)

    def spaces(self) -> list[str]:
        """The names of all spaces that hold a line, sorted."""
        with self._open():
            return sorted(self._spaces)

    def count(self, space: str, *, up_to: int | None = None) -> int:
        """How many lines a space holds, up to a position, that one included."""
        with self._open():
            positions = self._spaces.get(space, [])
            return len(positions) if up_to is None else bisect_right(positions, up_to)

    def vectors(self, model: str, hashes: Sequence[bytes]) -> dict[bytes, Vector]:
        """The embeddings kept for these text hashes; unknown ones are left out."""
        with self._open():
            return {h: self._vectors[h][model] for h in hashes if model in self._vectors.get(h, ())}

    def texts_in_other_entries(self, texts: Collection[str], *, excluded_positions: Collection[int]) -> set[str]:
        """Those of these texts that stand in the words of another line than these."""
        with self._open():
            return chain.texts_in_other_entries(
                ((line.position, line.body) for line in self._lines), texts, excluded_positions
            )

    def get_meta(self, name: str) -> str | None:
        """A small fact that `set_meta` remembered."""
        with self._open():
            return self._meta.get(name)

    def verify(self) -> tuple[int, bytes]:
        """How many lines there are, and the last digest; LedgerTampered names the first bad line."""
        with self._open():
            lines = list(self._lines)
        return chain.verify(lines, self._tail(lines))

    def compact(self) -> None:
        """Nothing to give back: what is not used is not there."""
        self._open()

    def close(self) -> None:
        """Let everything go. Closing twice is fine."""
        with self._pen:
            if self._writing:
                raise LedgerError("this thread holds the pen: end its transaction before closing the ledger.")
            self._closed = True
            self._lines, self._spaces, self._vectors, self._meta = [], {}, {}, {}

    def _open(self) -> threading.RLock:
        if self._closed:
            raise Closed("this ledger was closed; open it again to use it.")
        return self._lock

    @staticmethod
    def _tail(lines: Sequence[StoredEntry]) -> ChainHead:
        return ChainHead(lines[-1].position, lines[-1].digest) if lines else EMPTY_HEAD

    def _commit(self, draft: VolatileTransaction) -> None:
        with self._lock:
            for line in draft.lines:
                self._lines.append(line)
                self._spaces.setdefault(line.space, []).append(line.position)
            for position in draft.blanked:
                line = self._lines[position - 1]
                if line.kind != "erased":  # it holds no words, and vouches for blank lines
                    self._lines[position - 1] = line._replace(body=None, salt=None)
            for text_hash in draft.dropped:
                self._vectors.pop(text_hash, None)
            for text_hash, kept in draft.vectors.items():
                for model, vector in kept.items():
                    self._vectors.setdefault(text_hash, {}).setdefault(model, vector)
            self._meta.update(draft.meta)


class VolatileTransaction:
    """What one writer has said so far; the ledger takes it in when the block ends."""

    def __init__(self, ledger: InMemoryLedger) -> None:
        self._ledger = ledger
        self._tail = ledger._tail(ledger._lines)
        self._last: dict[str, int] = {}
        self.ended = False
        self.lines: list[StoredEntry] = []
        self.blanked: set[int] = set()
        self.dropped: set[bytes] = set()
        self.vectors: dict[bytes, dict[str, Vector]] = {}
        self.meta: dict[str, str] = {}

    @property
    def head(self) -> int:
        """The position of the last line, those of this transaction among them."""
        return self._tail.position

    def append(self, space: str, events: Sequence[Event], *, at: datetime) -> list[Entry]:
        """Add one line for each event. Visible to others only once the transaction ends well."""
        self._check()
        moment = chain.recording_time(at, self._last_at(space))
        lines = chain.build_entries(self._tail, space, events, moment)
        if lines:
            self._tail = ChainHead(lines[-1].position, lines[-1].digest)
            self._last[space] = moment
        self.lines += lines
        return chain.to_entries(lines, events)

    def append_erased(self, space: str, kind: str, subject: str, *, at: datetime) -> Entry:
        """Add a line whose words were erased before it came here."""
        self._check()
        line = chain.build_erased_entry(
            self._tail, space, kind, subject, chain.recording_time(at, self._last_at(space))
        )
        self._tail = ChainHead(line.position, line.digest)
        self._last[space] = line.at
        self.lines.append(line)
        return _entry(line)

    def put_vectors(self, model: str, vectors: Mapping[bytes, Vector]) -> None:
        """Keep embeddings by the hash of the text they were made of. Known ones stay as they are."""
        self._check()
        _writable(model)
        for text_hash, vector in vectors.items():
            copy = np.array(vector, dtype=np.float32)
            copy.flags.writeable = False
            self.vectors.setdefault(text_hash, {}).setdefault(model, copy)

    def erase(self, positions: Sequence[int], vector_hashes: Sequence[bytes]) -> None:
        """Blank the words of these lines and drop these embeddings, of every model."""
        self._check()
        self.blanked.update(p for p in positions if 1 <= p <= self._tail.position)
        self.dropped.update(vector_hashes)
        for text_hash in vector_hashes:
            self.vectors.pop(text_hash, None)

    def put_meta(self, name: str, value: str) -> None:
        """Remember a small fact about the ledger itself."""
        self._check()
        _writable(name, value)
        self.meta[name] = value

    def _check(self) -> None:
        if self.ended:
            raise LedgerError("this transaction has ended; start another with `ledger.transaction()`.")

    def _last_at(self, space: str) -> int:
        if space not in self._last:
            positions = self._ledger._spaces.get(space)
            # Moments before 1970 are negative, so "no line yet" is lower than any of them.
            self._last[space] = self._ledger._lines[positions[-1] - 1].at if positions else -(2**63)
        return self._last[space]


def _entry(line: StoredEntry) -> Entry:
    return chain.decode_entry(line.position, line.at, line.space, line.kind, line.subject, line.body, line.digest)


def _writable(*texts: str) -> None:
    for text in texts:
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise InvalidInput(f"{text!r} is not valid Unicode ({error}).") from error
