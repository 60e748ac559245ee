"""The current version of each item, as seen from now or from a checkpoint.

A table follows the changes of a space and reduces them to one current version for each address. A read from a
checkpoint reduces only the versions that are visible there.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from remanence.adapters import ChangeFollower

if TYPE_CHECKING:
    from remanence import Change, Memory, View

Address = tuple[tuple[str, ...], str]
_MAX_HITS = 10_000
STAMP_KEY = "checkpoint"


@dataclass(frozen=True, slots=True)
class Stamp:
    """The checkpoint under which a memory was written, and the newest of its thread at that time.

    The two differ where an older checkpoint was run again.
    """

    thread: str
    checkpoint: str
    newest: str

    @classmethod
    def from_memory(cls, memory: Memory) -> Stamp | None:
        """Return the stamp of a memory; None if it was written outside of any run."""
        meta = memory.meta.get(STAMP_KEY)
        return None if meta is None else cls(meta["thread"], meta["checkpoint"], meta["newest"])

    def as_meta(self) -> dict[str, str]:
        """Return the stamp as it is stored in the meta of a memory."""
        return {"thread": self.thread, "checkpoint": self.checkpoint, "newest": self.newest}


@dataclass(frozen=True, slots=True)
class Version:
    """One write to an address.

    `value` is None for a deletion. `is_ttl_refresh` is True where only the expiry of the same put was changed.
    """

    written_at: datetime
    position: int
    memory_id: str
    version_key: tuple[str, datetime, int]
    value: Any
    stamp: Stamp | None = None
    expires_at: datetime | None = None
    put_id: str | None = None
    is_ttl_refresh: bool = False


@dataclass(frozen=True, slots=True)
class CurrentItem:
    """The current version at an address. `position` is that of its last put."""

    version: Version
    created_at: datetime
    updated_at: datetime
    position: int

    def is_expired(self, now: datetime) -> bool:
        """Tell whether it is expired at `now`."""
        return self.version.expires_at is not None and self.version.expires_at <= now


@dataclass(frozen=True, slots=True)
class ReadPoint:
    """A point of a thread to read from.

    `ancestors` are the stamps (checkpoint, newest at that time) of the writes that led to this point. `rewound_to`
    is the moment to which the thread was rewound, if no new turn has begun since: later writes of other threads
    are not visible. `stamp` is for writes at this point; None if it is read-only.
    """

    thread: str
    ancestors: frozenset[tuple[str, str]]
    saved: Container[str]
    rewound_to: datetime | None = None
    stamp: Stamp | None = None

    def is_visible(self, version: Version) -> bool:
        """Tell whether a version is visible from this point."""
        stamp = version.stamp
        if stamp is None or stamp.thread != self.thread or stamp.checkpoint not in self.saved:
            # Written by another thread, or under a checkpoint that was pruned, so that its branch is unknown.
            return self.rewound_to is None or version.written_at <= self.rewound_to
        return (stamp.checkpoint, stamp.newest) in self.ancestors

    def expiry_reference(self, version: Version, now: datetime) -> datetime:
        """Return the moment at which a version must not be expired: in a rewound thread a moment of the past."""
        return now if self.rewound_to is None or version.written_at > self.rewound_to else self.rewound_to


def version_key(memory: Memory) -> tuple[str, datetime, int]:
    """Return a value that differs between the versions of a memory."""
    return memory.id, memory.revised_at, hash((memory.text, memory.meta.get("put")))


def _apply(current: CurrentItem | None, version: Version) -> CurrentItem | None:
    """The current item after a version was written."""
    if version.value is None:
        return None
    unexpired = None if current is None or current.is_expired(version.written_at) else current
    if version.is_ttl_refresh:
        # A renewal that was written after another put must not restore the old value.
        if unexpired is None or unexpired.version.put_id != version.put_id:
            return current
        return replace(unexpired, version=version)
    return CurrentItem(
        version,
        created_at=version.written_at if unexpired is None else unexpired.created_at,
        updated_at=version.written_at,
        position=version.position,
    )


def _apply_all(versions: Iterable[Version]) -> CurrentItem | None:
    current: CurrentItem | None = None
    for version in versions:
        current = _apply(current, version)
    return current


@dataclass(slots=True)
class _Row:
    """One address: its current item without any filter, and all versions if they are kept."""

    current: CurrentItem | None = None
    versions: list[Version] = field(default_factory=list)

    def visible_from(self, point: ReadPoint | None) -> CurrentItem | None:
        return self.current if point is None else _apply_all(filter(point.is_visible, self.versions))


class ItemTable(ChangeFollower):
    """The addresses of one space and their current items.

    `read` returns the address and the version that a memory stores; None if it stores none. `keep_history` keeps
    all versions, which reads from a `ReadPoint` need.
    """

    def __init__(
        self, view: View, read: Callable[[Memory, Change], tuple[Address, Version] | None], *, keep_history: bool
    ) -> None:
        super().__init__()
        self._view = view
        self._read = read
        self._keep_history = keep_history
        self._rows: dict[tuple[str, ...], dict[str, _Row]] = {}
        self._latest: dict[str, tuple[Address, Version]] = {}  # by memory id

    def update(self) -> None:
        """Apply what was written since, by this process or another."""
        self.catch_up(self._view)

    def current_item(self, address: Address, point: ReadPoint | None) -> CurrentItem | None:
        """Return the current item at an address, of all versions or of those that are visible from a point."""
        namespace, key = address
        with self.lock:
            row = self._rows.get(namespace, {}).get(key)
            return None if row is None else row.visible_from(point)

    def items_below(self, prefix: tuple[str, ...], point: ReadPoint | None = None) -> list[tuple[Address, CurrentItem]]:
        """Return the current items in a namespace and those below it, last written first."""
        with self.lock:
            items = [
                ((namespace, key), current)
                for namespace, rows in self._rows.items()
                if namespace[: len(prefix)] == prefix
                for key, row in rows.items()
                if (current := row.visible_from(point)) is not None
            ]
        return sorted(items, key=lambda item: -item[1].position)

    def address_of(self, memory_id: str) -> Address | None:
        """Return the address of a memory; None if it is not in this space."""
        with self.lock:
            latest = self._latest.get(memory_id)
        return None if latest is None else latest[0]

    def memories_at(self, address: Address) -> list[str]:
        """Return the ids of all memories that were written to an address, also of deleted and expired items."""
        with self.lock:
            return [memory_id for memory_id, (stored_at, _) in self._latest.items() if stored_at == address]

    def apply_change(self, change: Change) -> None:
        """Update the table with one change."""
        if change.memory is not None:
            stored = self._read(change.memory, change)
            if stored is not None:
                self._latest[change.memory_id] = stored
                self._write(*stored)
            return
        latest = self._latest.get(change.memory_id)
        if latest is None:
            return
        address, version = latest
        changed = replace(version, written_at=change.at, position=change.position)
        if change.kind == "forgotten":
            self._write(address, replace(changed, value=None))
        elif change.kind == "restored":
            self._write(address, changed)
        elif change.kind == "erased":
            del self._latest[change.memory_id]
            self._erase(address, change.memory_id)

    def _write(self, address: Address, version: Version) -> None:
        namespace, key = address
        row = self._rows.setdefault(namespace, {}).setdefault(key, _Row())
        row.current = _apply(row.current, version)
        if self._keep_history:
            row.versions.append(version)
        elif row.current is None:
            self._drop(address)

    def _erase(self, address: Address, memory_id: str) -> None:
        """Remove every version of a memory, for reads from the past too."""
        namespace, key = address
        row = self._rows.get(namespace, {}).get(key)
        if row is None:
            return
        row.versions = [version for version in row.versions if version.memory_id != memory_id]
        if row.current is not None and row.current.version.memory_id == memory_id:
            row.current = _apply_all(row.versions)
        if row.current is None and not row.versions:
            self._drop(address)

    def _drop(self, address: Address) -> None:
        namespace, key = address
        del self._rows[namespace][key]
        if not self._rows[namespace]:
            del self._rows[namespace]


def growing_limits(needed: int) -> Iterator[int]:
    """Yield limits for repeated recalls, until enough hits are left after filtering.

    There are few steps and they are the same for most needs, so that the pages of a search come from one ranking.

    >>> list(growing_limits(10))
    [50, 500, 5000, 10000]
    >>> list(growing_limits(200))
    [500, 5000, 10000]
    """
    limit = 50
    while limit < _MAX_HITS:
        if limit >= 2 * needed:
            yield limit
        limit *= 10
    yield _MAX_HITS
