"""Which version of each item stands, for whoever asks.

A table follows the changes of a space, so that it also sees what other processes write, and folds them
into one standing version for each address. Asked from a checkpoint, it folds only what is seen from there.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from remanence import Change, Memory, View

Address = tuple[tuple[str, ...], str]
"""A namespace and a key in it."""
STAMP_KEY = "checkpoint"
"""Where the meta of a memory says under which checkpoint it was written."""


@dataclass(frozen=True, slots=True)
class Stamp:
    """Under which `checkpoint` of which `thread` something was written, and which checkpoint was the
    newest of the thread then. The two differ where an old checkpoint was run again in its place."""

    thread: str
    checkpoint: str
    newest: str

    @classmethod
    def from_memory(cls, memory: Memory) -> Stamp | None:
        """The stamp that a memory bears; None if it was written outside of any run."""
        said = memory.meta.get(STAMP_KEY)
        return None if said is None else cls(said["thread"], said["checkpoint"], said["newest"])

    def as_meta(self) -> dict[str, str]:
        """What a memory's meta keeps of it."""
        return {"thread": self.thread, "checkpoint": self.checkpoint, "newest": self.newest}


@dataclass(frozen=True, slots=True)
class Version:
    """What was written at an address, once. `value` is None where it was taken back; `renews` is set
    where only the expiry of the same `put` was moved."""

    written_at: datetime
    position: int
    memory_id: str
    version_key: tuple[str, datetime, int]
    value: Any
    stamp: Stamp | None = None
    expires_at: datetime | None = None
    put_id: str | None = None
    is_renewal: bool = False


@dataclass(frozen=True, slots=True)
class CurrentItem:
    """The version that stands at an address: since when there is one, and when it last changed."""

    version: Version
    created_at: datetime
    updated_at: datetime
    order: int

    def is_expired(self, now: datetime) -> bool:
        """Whether its time is over at `now`."""
        return self.version.expires_at is not None and self.version.expires_at <= now


class Seer(Protocol):
    """Somebody who sees some of the versions."""

    def is_visible(self, version: Version) -> bool:
        """Whether this version is known there."""
        ...


def version_key(memory: Memory) -> tuple[str, datetime, int]:
    """What tells a version of a memory from its other versions."""
    return memory.id, memory.revised_at, hash((memory.text, memory.meta.get("put")))


def after(before: CurrentItem | None, version: Version) -> CurrentItem | None:
    """What stands once this version was written."""
    if version.value is None:
        return None
    alive = None if before is None or before.is_expired(version.written_at) else before
    if version.is_renewal:
        # A renewal that lost the race against another put must not bring the old value back.
        same = alive is not None and alive.version.put_id == version.put_id
        return replace(alive, version=version) if alive is not None and same else before
    return CurrentItem(
        version,
        created_at=version.written_at if alive is None else alive.created_at,
        updated_at=version.written_at,
        order=version.position,
    )


class _Row:
    """One address: what stands there for one who sees everything, and every version if they are kept."""

    __slots__ = ("standing", "versions")

    def __init__(self) -> None:
        self.standing: CurrentItem | None = None
        self.versions: list[Version] = []

    def seen_by(self, seer: Seer | None) -> CurrentItem | None:
        if seer is None:
            return self.standing
        standing: CurrentItem | None = None
        for version in filter(seer.is_visible, self.versions):
            standing = after(standing, version)
        return standing


class ItemTable:
    """The addresses of one space and what stands there.

    `read` says which address a memory is written to and what it says there. `history` keeps every
    version, which is what a `Seer` chooses from; without it only the last one is held.
    """

    def __init__(
        self, view: View, read: Callable[[Memory, Change], tuple[Address, Version]], *, keep_history: bool
    ) -> None:
        self._view = view
        self._read = read
        self._history = keep_history
        self._lock = threading.RLock()
        self._position = 0
        self._rows: dict[tuple[str, ...], dict[str, _Row]] = {}
        self._last: dict[str, tuple[Address, Version]] = {}  # by memory

    def catch_up(self) -> None:
        """Take in what was written since, by whichever process."""
        with self._lock:
            for change in self._view.audit.changes(after=self._position):
                self._take_in(change)
                self._position = change.position

    def current_item(self, address: Address, seer: Seer | None = None) -> CurrentItem | None:
        """What stands at an address, for one who sees everything or for this seer."""
        namespace, key = address
        with self._lock:
            row = self._rows.get(namespace, {}).get(key)
            return None if row is None else row.seen_by(seer)

    def items_below(self, prefix: tuple[str, ...], seer: Seer | None = None) -> list[tuple[Address, CurrentItem]]:
        """Everything that stands in a namespace or one below it, last written first."""
        with self._lock:
            found = [
                ((namespace, key), standing)
                for namespace, rows in self._rows.items()
                if namespace[: len(prefix)] == prefix
                for key, row in rows.items()
                if (standing := row.seen_by(seer)) is not None
            ]
        return sorted(found, key=lambda pair: -pair[1].order)

    def address_of(self, memory_id: str) -> Address | None:
        """Where a memory is written to; None for one that is not of this space."""
        with self._lock:
            known = self._last.get(memory_id)
        return None if known is None else known[0]

    def _take_in(self, change: Change) -> None:
        if change.memory is not None:
            address, version = self._read(change.memory, change)
            self._last[change.memory_id] = address, version
            self._write(address, version)
            return
        known = self._last.get(change.memory_id)
        if known is None:
            return
        address, version = known
        if change.kind == "forgotten":
            self._write(address, replace(version, written_at=change.at, position=change.position, value=None))
        elif change.kind == "restored":
            self._write(address, replace(version, written_at=change.at, position=change.position))
        elif change.kind == "erased":
            del self._last[change.memory_id]
            self._erase(address, change.memory_id)

    def _write(self, address: Address, version: Version) -> None:
        namespace, key = address
        row = self._rows.setdefault(namespace, {}).setdefault(key, _Row())
        row.standing = after(row.standing, version)
        if self._history:
            row.versions.append(version)
        elif row.standing is None:
            self._drop(address)

    def _erase(self, address: Address, memory_id: str) -> None:
        """Unlearn every version of a memory, also for those who look from the past."""
        namespace, key = address
        row = self._rows.get(namespace, {}).get(key)
        if row is None:
            return
        row.versions = [version for version in row.versions if version.memory_id != memory_id]
        if row.standing is not None and row.standing.version.memory_id == memory_id:
            row.standing = None
            for version in row.versions:
                row.standing = after(row.standing, version)
        if row.standing is None and not row.versions:
            self._drop(address)

    def _drop(self, address: Address) -> None:
        namespace, key = address
        del self._rows[namespace][key]
        if not self._rows[namespace]:
            del self._rows[namespace]


def growing_limits(needed: int, most: int = 10_000) -> Iterator[int]:
    """How many hits to ask for, again and again, until enough of them are left after filtering.

    The steps are far apart and begin alike, so that pages of one search come from one ranking.

    >>> list(growing_limits(10))
    [50, 500, 5000, 10000]
    >>> list(growing_limits(200))
    [500, 5000, 10000]
    """
    ask = 50
    while ask < most:
        if ask >= 2 * needed:
            yield ask
        ask *= 10
    yield most
