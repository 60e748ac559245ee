"""Where entries are stored, and the locks of several processes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Protocol, runtime_checkable

from remanence.events import Event
from remanence.ports.vector_ports import Vector
from remanence.schema import Entry


class Transaction(Protocol):
    """A write transaction. Only one is open at a time, across all processes.

    Using it after its end, or opening another one inside it, raises LedgerError.
    """

    @property
    def head(self) -> int:
        """The position of the last entry, those of this transaction included; 0 if there is none."""
        ...

    def append(self, space: str, events: Sequence[Event], *, at: datetime) -> list[Entry]:
        """Add one entry for each event. Others see them once the transaction is committed.

        An entry is never recorded before the previous entry of its space: an earlier `at` is taken as the moment
        just after it. A naive `at`, and text or values that cannot be stored as JSON, raise InvalidInput.
        """
        ...

    def append_erased(self, space: str, kind: str, subject: str, *, at: datetime) -> Entry:
        """Add an entry whose text was erased before it came here, as when a ledger is imported.

        The caller appends the `Erased` event that confirms it, in the same transaction.
        """
        ...

    def put_vectors(self, space: str, model: str, vectors: Mapping[bytes, Vector]) -> None:
        """Store embeddings of a space by the hash of their text. Known ones stay as they are."""
        ...

    def erase(self, space: str, positions: Sequence[int], vector_hashes: Sequence[bytes]) -> int:
        """Remove the text of these entries of a space, and these embeddings of every model. Positions that are unknown
        or of another space are skipped. Returns how many embeddings were removed.

        The caller appends the `Erased` event that records it, in the same transaction. `Erased` entries hold no
        text and stay: they confirm which entries are empty.
        """
        ...

    def erase_space(self, space: str, *, at: datetime, signature: str | None = None) -> Entry:
        """Remove the text of every entry of a space, and append the `Emptied` event that records it, with this
        signature. The space is not in `spaces` until something else is appended to it."""
        ...

    def put_meta(self, name: str, value: str) -> None:
        """Store a value about the ledger itself."""
        ...


@runtime_checkable
class Ledger(Protocol):
    """An append-only list of entries, shared by every process that opens it.

    After `close` every method raises Closed.
    """

    def transaction(self) -> AbstractContextManager[Transaction]:
        """Open the write transaction. It is committed when the block ends, and rolled back if it raises."""
        ...

    def read(self, space: str, *, after: int = 0, kinds: Sequence[str] | None = None) -> Iterator[Entry]:
        """The entries of one space above position `after`, in order; erased ones have `event=None`. With `kinds` only
        entries of these kinds; the others are not decoded."""
        ...

    def entries_at(self, positions: Sequence[int]) -> dict[int, Entry]:
        """These entries, by position. Positions that do not exist are left out."""
        ...

    def position_at(self, space: str, moment: datetime) -> int:
        """The last position of this space recorded at or before `moment`; 0 if there is none."""
        ...

    def head(self) -> int:
        """The last position of all; 0 for an empty ledger. Must be cheap: it is how new entries are noticed."""
        ...

    def spaces(self, prefix: str | None = None) -> list[str]:
        """The names of all spaces that have an entry, sorted, without those that were emptied; with `prefix`, only this
        one and those whose name starts with it and a slash, in time that does not depend on the other spaces."""
        ...

    def spaces_with(self, kind: str, *, after: int = 0) -> list[str]:
        """The names of the spaces that have an entry of this kind above position `after`, sorted. The time depends on
        the entries above it, not on those before."""
        ...

    def count(self, space: str, *, up_to: int | None = None) -> int:
        """How many entries a space has, up to and including a position."""
        ...

    def vectors(
        self, space: str, model: str, hashes: Sequence[bytes], *, include_shared: bool = False
    ) -> dict[bytes, Vector]:
        """The embeddings that a space has for these text hashes; unknown ones are left out. With `include_shared` also
        those that earlier releases stored for all spaces together: only for texts that the space is known to have."""
        ...

    def get_meta(self, name: str) -> str | None:
        """A value that `put_meta` stored."""
        ...

    def verify(self, space: str | None = None) -> tuple[int, bytes]:
        """How many entries there are, and the last digest, of the whole ledger or of one space. All entries are checked
        in both cases: LedgerTampered names the first changed one. An entry without text that no `Erased` event records
        counts as changed."""
        ...

    def last_erasure(self) -> int:
        """The position of the last entry that records an erasure; 0 if there is none. Must be cheap."""
        ...

    def clean_up(self, *, wait: float = 0.0) -> bool:
        """Remove erased text from where it may be besides the entries, such as a write-ahead log.

        Waits at most so many seconds for others. False if something prevents it for now, such as a long read.
        """
        ...

    def compact(self) -> None:
        """Free unused disk space. Entries, vectors and meta values stay as they are.

        LedgerUnavailable if another process prevents it; nothing is lost then.
        """
        ...

    def close(self) -> None:
        """Release files and connections. Closing twice is fine."""
        ...


class Locks(Protocol):
    """Named locks shared by all threads and processes that use a ledger, and the erasure position that each process has
    indexed. The locks of a process are released when it ends, also after a crash."""

    is_shared: bool
    """Whether other processes may use the ledger."""

    def acquire(self, name: str) -> AbstractContextManager[bool]:
        """Acquire a lock for a block; yields False if it is held elsewhere."""
        ...

    def is_locked(self, name: str) -> bool:
        """Whether anybody holds a lock."""
        ...

    def delete(self, name: str) -> None:
        """Delete what is stored for a lock that will not be used again."""
        ...

    def publish_position(self, position: int) -> None:
        """Publish the position of the last erasure that the indexes of this process contain."""
        ...

    def other_processes(self) -> list[tuple[str, int]]:
        """The published positions of other processes, by process."""
        ...

    def close(self) -> None:
        """Release everything. Closing twice is fine."""
        ...


@runtime_checkable
class RewritableLedger(Protocol):
    """Optional methods of a ledger in whose files erased text stays until they are written again."""

    def rewrite_command(self) -> str | None:
        """What an administrator runs to write those files again; None if no erased text is left in them."""
        ...

    def rewrite(self) -> bool:
        """Write them again. Others wait meanwhile. False if something prevents it, such as a long read or a missing
        right; LedgerUnavailable if others use them for too long."""
        ...


@runtime_checkable
class LockingLedger(Protocol):
    """Optional method of a ledger: locks between its users. Without it, lock files in the folder are used."""

    def locks(self) -> Locks:
        """Locks for one opened space, which closes them."""
        ...
