"""A queue for a model that several threads call: so many calls at once as there are cores, in the order they came."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

from remanence.models.time_limit import TimedOut, seconds_left


class CallQueue:
    """Places for calls that run at once. Who comes later than others waits until these have had a place."""

    def __init__(self, places: int) -> None:
        self._lock = threading.Lock()
        self._places, self._free = places, places
        self._waiting: deque[threading.Lock] = deque()

    @contextmanager
    def place(self) -> Iterator[bool]:
        """A place, and whether no other call runs or waits.

        Raises:
            TimedOut: The caller's time was over before there was one (`TimeLimit`).
        """
        with self._lock:
            is_alone = self._free == self._places
            turn = None
            if self._free:
                self._free -= 1
            else:
                turn = threading.Lock()
                turn.acquire()
                self._waiting.append(turn)
        if turn is not None:
            self._wait(turn)
        try:
            yield is_alone
        finally:
            self._leave()

    def _wait(self, turn: threading.Lock) -> None:
        seconds = seconds_left()
        if turn.acquire(timeout=-1 if seconds is None else seconds):
            return
        with self._lock:
            if turn in self._waiting:
                self._waiting.remove(turn)
                raise TimedOut("had no place in the queue of its model in time")

    def _leave(self) -> None:
        with self._lock:
            if self._waiting:
                self._waiting.popleft().release()  # the place goes on to the first that waits
            else:
                self._free += 1
