"""Results that are computed once for a position of an index."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeVar
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    pass
from remanence.index.index import Index

T = TypeVar("T")


@dataclass(eq=False)
class _Results(Generic[T]):
    lock: threading.Lock = field(default_factory=threading.Lock)
    position: int = -1
    by_key: dict[Hashable, T] = field(default_factory=dict)


class PositionCache(Generic[T]):
    """Results by index and key. Whoever asks for one that is being computed waits for it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._results: WeakKeyDictionary[Index, _Results[T]] = WeakKeyDictionary()

    def get(self, index: Index, key: Hashable, compute: Callable[[], T]) -> T:
        """The result with this key, computed if it is not known at the present position of the index."""
        with self._lock:
            kept = self._results.setdefault(index, _Results())
        with kept.lock:
            # An erasure is a new entry, too: nothing that was erased is kept longer than until the next call.
            if kept.position != index.catalog.position or len(kept.by_key) >= 8:  # of a few views and limits
                kept.by_key.clear()
                kept.position = index.catalog.position
            if key not in kept.by_key:
                kept.by_key[key] = compute()
            return kept.by_key[key]
