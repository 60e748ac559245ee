"""Calls of models: of a caller's code with a time limit, and of one model by several threads in the order they came."""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

from remanence.errors import ExtractorError, InvalidInput
from remanence.ports import Extractor
from remanence.text.temporal.date_order import given_date_order, use_date_order


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


DEFAULT_TIMEOUT = 60.0
"""Seconds of one call, if the caller gives no limit."""
MAX_STUCK_THREADS = 4
"""Calls that may wait for a hanging model at one time; each occupies a thread."""
_EXTRACTOR_METHODS = ("extract", "facts", "compare", "summarize", "merge")
_EXTRACTOR_ATTRIBUTES = ("model", "prompt")

T = TypeVar("T")
_ends_at: ContextVar[float | None] = ContextVar("ends_at", default=None)


class TimedOut(TimeoutError):
    """The call did not return in time, or too many calls before it have not."""


def seconds_left() -> float | None:
    """How many seconds a caller still waits for the call that this thread makes; None without a limit."""
    end = _ends_at.get()
    return None if end is None else max(end - time.monotonic(), 0.0)


class TimeLimit:
    """Calls functions in threads and waits at most `seconds` for each; None waits without a limit.

    A hanging thread cannot be ended. While `MAX_STUCK_THREADS` threads hang, no new call is made, so that a model
    that is down does not fill the machine with threads.
    """

    def __init__(self, seconds: float | None) -> None:
        if seconds is not None and not (isinstance(seconds, int | float) and 0 < seconds < math.inf):
            raise InvalidInput(f"timeout={seconds!r} is not a number of seconds above 0. None waits without a limit.")
        self._seconds = seconds
        self._lock = threading.Lock()
        self._blocked_calls: list[threading.Thread] = []

    def call(self, function: Callable[..., T], *args: Any, **options: Any) -> T:
        """What the function returns or raises; TimedOut if it does neither in time, RuntimeError if no thread can be
        started."""
        if self._seconds is None:
            return function(*args, **options)
        with self._lock:
            self._blocked_calls = [thread for thread in self._blocked_calls if thread.is_alive()]
            if len(self._blocked_calls) >= MAX_STUCK_THREADS:
                raise TimedOut(f"has {MAX_STUCK_THREADS} earlier questions unanswered")
        returned: list[T] = []
        raised: list[BaseException] = []

        end = time.monotonic() + self._seconds

        def run() -> None:
            _ends_at.set(end)
            try:
                returned.append(function(*args, **options))
            except BaseException as error:  # noqa: BLE001  -- raised again below, in the thread of the caller
                raised.append(error)

        # A new thread has a new context: no callback of a running agent sees this call.
        thread = threading.Thread(target=run, name="remanence-call", daemon=True)
        thread.start()
        thread.join(self._seconds)
        if raised:
            raise raised[0]
        if returned:
            return returned[0]
        with self._lock:
            self._blocked_calls.append(thread)
        raise TimedOut(f"gave no answer in {self._seconds:g} seconds")


class LimitedExtractor:
    """Another extractor, each call of which has a time limit. It has the methods and attributes of the other
    one."""

    def __init__(self, inner: Extractor, seconds: float | None) -> None:
        self.inner, self.name = inner, inner.name
        self._limit = TimeLimit(seconds)
        for method in _EXTRACTOR_METHODS:
            if callable(getattr(inner, method, None)):
                setattr(self, method, self._limited(method))
        for attribute in _EXTRACTOR_ATTRIBUTES:
            if hasattr(inner, attribute):
                setattr(self, attribute, getattr(inner, attribute))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def _limited(self, method: str) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            order = given_date_order()  # the thread of the call has a context of its own

            def in_thread() -> Any:
                with use_date_order(order):
                    return getattr(self.inner, method)(*args, **options)

            try:
                return self._limit.call(in_thread)
            except TimedOut as error:
                raise ExtractorError(
                    f"The extractor {self.name!r} {error}. Nothing was stored by this call. Try again when it is up, "
                    "or open the space with a longer timeout."
                ) from error

        return call
