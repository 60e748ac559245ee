"""A value that is made in a thread, one at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic

from remanence.index.arrays.columns import T


class BackgroundBuild(Generic[T]):
    """Makes one value at a time. What it is made of must not change meanwhile. Use it under a lock.

    >>> build = BackgroundBuild[int]()
    >>> build.start(lambda: 6 * 7)
    >>> build.wait()
    >>> build.pop_result(), build.pop_result()
    (42, None)
    """

    __slots__ = ("_made", "_thread")

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None
        self._made: list[T] = []

    def start(self, make: Callable[[], T]) -> None:
        """Make another value, unless one is being made or waits to be taken."""
        if (self._thread is not None and self._thread.is_alive()) or self._made:
            return
        made = self._made
        self._thread = threading.Thread(target=lambda: made.append(make()), name="remanence-index", daemon=True)
        self._thread.start()

    def pop_result(self) -> T | None:
        """The value, once, as soon as it is made; else None."""
        return self._made.pop() if self._made else None

    def wait(self) -> None:
        if self._thread is not None:
            self._thread.join()

    def cancel(self) -> None:
        """Do not use what is being made."""
        self._thread, self._made = None, []
