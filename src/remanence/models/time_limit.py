"""Calls of models: of a caller's code with a time limit, and of one model by several threads in the order they came."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeout
from contextvars import ContextVar
from typing import Any, TypeVar

from remanence.errors import Closed, ExtractorError, InvalidInput
from remanence.ports import Extractor
from remanence.text.temporal.date_order import given_date_order, use_date_order

DEFAULT_TIMEOUT = 60.0
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


class CallQueue:
    """Threads that make calls. Who comes later than others waits until theirs have begun."""

    def __init__(self, threads: int) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="remanence-model")
        self._lock, self._threads, self._unfinished = threading.Lock(), threads, 0

    def call(self, function: Callable[[bool], T]) -> T:
        """What the function returns; it is told whether no other call runs or waits.

        Raises:
            TimedOut: The caller's time was over before the call began (`TimeLimit`).
            Closed: The program ends, and starts no calls any more.
        """
        with self._lock:
            is_alone = not self._unfinished
            has_place = self._unfinished < self._threads
            try:
                future = self._pool.submit(function, is_alone)
            except RuntimeError as error:
                raise Closed("the program ends, so no model is asked any more") from error
            self._unfinished += 1
        future.add_done_callback(self._finished)
        try:
            return future.result(None if has_place else seconds_left())
        except FutureTimeout as error:
            if future.cancel():
                raise TimedOut("had no place in the queue of its model in time") from error
            return future.result()  # it runs, or has raised this itself

    def _finished(self, _: Future[Any]) -> None:
        with self._lock:
            self._unfinished -= 1


class TimeLimit:
    """Calls functions in threads and waits at most `seconds` for each; None waits without a limit.

    A hanging thread cannot be ended. While `MAX_STUCK_THREADS` threads hang, no new call is made, so that a model
    that is down does not fill the machine with threads. They are daemons, unlike those of a pool: a program may end
    while a call hangs.
    """

    def __init__(self, seconds: float | None) -> None:
        if seconds is not None and not (isinstance(seconds, int | float) and 0 < seconds < math.inf):
            raise InvalidInput(f"timeout={seconds!r} is not a number of seconds above 0. None waits without a limit.")
        self._seconds = seconds
        self._lock = threading.Lock()
        self._stuck: list[Future[Any]] = []

    def call(self, function: Callable[..., T], *args: Any, **options: Any) -> T:
        """What the function returns or raises; TimedOut if it does neither in time, RuntimeError if no thread can be
        started."""
        if self._seconds is None:
            return function(*args, **options)
        with self._lock:
            self._stuck = [call for call in self._stuck if not call.done()]
            if len(self._stuck) >= MAX_STUCK_THREADS:
                raise TimedOut(f"has {MAX_STUCK_THREADS} earlier questions unanswered")
        end, future = time.monotonic() + self._seconds, Future[T]()

        def run() -> None:
            _ends_at.set(end)
            try:
                future.set_result(function(*args, **options))
            except BaseException as error:  # noqa: BLE001  -- raised again below, in the thread of the caller
                future.set_exception(error)

        # A new thread has a new context: no callback of a running agent sees this call.
        threading.Thread(target=run, name="remanence-call", daemon=True).start()
        try:
            return future.result(self._seconds)
        except FutureTimeout:
            if future.done():  # just now, or with such an error of its own
                return future.result()
        with self._lock:
            self._stuck.append(future)
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
