"""The indexes that are in memory: opened when a space is used, closed when they take too much memory together.

Opening one space never waits for another: the shared lock is held only for bookkeeping, and an index is opened and
closed under the lock of its own space.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from remanence.errors import Closed
from remanence.index.index import Index

log = logging.getLogger(__name__)

_MIN_OPEN = 8
"""Indexes that stay open no matter how much memory they take: a large space would otherwise be read from disk for every
call."""


class _Slot:
    """The place of one space's index."""

    __slots__ = ("index", "lock", "size", "users")

    def __init__(self) -> None:
        self.lock = threading.Lock()  # held while the index is opened or closed
        self.index: Index | None = None
        self.users = 0
        self.size = 0


class OpenIndexes:
    """The open indexes by space, the least recently used first."""

    def __init__(self, open_index: Callable[[str], Index], is_outdated: Callable[[Index], bool], limit: int) -> None:
        self._open_index = open_index
        self._is_outdated = is_outdated
        self._limit = limit
        self._lock = threading.Lock()
        self._slots: OrderedDict[str, _Slot] = OrderedDict()
        self._size = 0
        self._closed = False
        self._evictor: threading.Thread | None = None

    def __len__(self) -> int:
        return len(self._slots)

    def items(self) -> list[tuple[str, Index]]:
        """The indexes that are open now, by space."""
        with self._lock:
            found = [(space, slot.index) for space, slot in self._slots.items()]
        return [(space, index) for space, index in found if index is not None]

    @property
    def memory_bytes(self) -> int:
        """About how much memory the open indexes take."""
        return self._size

    @contextmanager
    def use(self, space: str) -> Iterator[tuple[Index, bool]]:
        """The index of a space, which stays open during the block, and whether it was opened for it."""
        with self._lock:
            self._check_open()
            slot = self._slots.get(space)
            if slot is None:
                slot = self._slots[space] = _Slot()
            self._slots.move_to_end(space)
            slot.users += 1
        try:
            index, opened = slot.index, False
            if index is None or self._is_outdated(index):
                index, opened = self._fill(slot, space)
            yield index, opened
        finally:
            self._release(space, slot)

    def close(self) -> None:
        """Close all indexes. An index that cannot be closed is logged; the others are closed. All data is in the
        ledger."""
        with self._lock:
            self._closed = True
            slots, evictor = list(self._slots.items()), self._evictor
        if evictor is not None and evictor is not threading.current_thread():
            evictor.join()
        for space, slot in slots:
            with slot.lock:
                self._close_index(space, slot)
        with self._lock:
            self._slots.clear()

    def _check_open(self) -> None:
        if self._closed:
            raise Closed("this space was closed. Open it again with remanence.open(...).")

    def _fill(self, slot: _Slot, space: str) -> tuple[Index, bool]:
        """The index, and whether it was opened now and not by another thread meanwhile."""
        with slot.lock:
            if slot.index is not None and not self._is_outdated(slot.index):
                return slot.index, False
            self._check_open()
            slot.index = self._open_index(space)
            return slot.index, True

    def _release(self, space: str, slot: _Slot) -> None:
        index = slot.index
        size = 0 if index is None else index.memory_bytes
        with self._lock:
            slot.users -= 1
            self._size += size - slot.size
            slot.size = size
            self._forget_if_empty(space, slot)
            excess = self._size > self._limit and len(self._slots) > _MIN_OPEN and not self._closed
            # From here on the caller closes indexes itself, in place of the background thread.
            wait = excess and self._size > 1.5 * self._limit
            if excess and not wait and self._evictor is None:
                self._evictor = threading.Thread(target=self._run_evictor, name="remanence-evict", daemon=True)
                self._evictor.start()
        if wait:
            self._evict()

    def _run_evictor(self) -> None:
        try:
            self._evict()
        finally:
            with self._lock:
                self._evictor = None

    def _evict(self) -> None:
        """Close the least recently used indexes until the others take less than the limit."""
        while (taken := self._pop_idle()) is not None:
            space, slot = taken
            try:
                self._close_index(space, slot)
            finally:
                slot.lock.release()
                with self._lock:
                    self._forget_if_empty(space, slot)

    def _pop_idle(self) -> tuple[str, _Slot] | None:
        """The least recently used idle index, with its lock held; None if no index has to be closed."""
        with self._lock:
            surplus = len(self._slots) - _MIN_OPEN
            if self._closed or surplus <= 0 or self._size <= 0.9 * self._limit:
                return None
            for space, slot in self._slots.items():
                if surplus <= 0:
                    return None
                surplus -= 1
                if not slot.users and slot.index is not None and slot.lock.acquire(blocking=False):
                    return space, slot
            return None

    def _close_index(self, space: str, slot: _Slot) -> None:
        """Close the index of a slot whose lock is held."""
        index, slot.index = slot.index, None
        with self._lock:
            self._size -= slot.size
            slot.size = 0
        if index is None:
            return
        try:
            index.close()
        except Exception:
            # It cannot be repaired here, and must not prevent other spaces from being closed.
            log.exception(
                "the index of space %r was not closed properly; it is rebuilt from the ledger if needed", space
            )

    def _forget_if_empty(self, space: str, slot: _Slot) -> None:
        if not slot.users and slot.index is None and self._slots.get(space) is slot and not slot.lock.locked():
            del self._slots[space]
