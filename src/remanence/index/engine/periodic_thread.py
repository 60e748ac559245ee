"""A function that is called at intervals in a thread, and work in spaces that are quiet."""

from __future__ import annotations

import atexit
import inspect
import logging
import threading
import time
from collections.abc import Callable
from functools import partial
from weakref import WeakMethod, WeakSet

from remanence.errors import Closed, LedgerUnavailable

log = logging.getLogger(__name__)

_QUIET_SECONDS = 2.0


class PeriodicThread:
    """Calls `run_once` in a thread until it is stopped, or until `run_once` raises `Closed`.

    `run_once` returns the seconds until the next call; None waits for `notify`. After an error it is called again:
    the cause (a full disk, a locked folder) may be temporary, and no caller would report it. A method is not held
    during a pause: when its object is gone, as an engine that no caller closed, the thread ends.
    """

    def __init__(self, name: str, run_once: Callable[[], float | None], *, problem: str, retry_seconds: float) -> None:
        self._name, self._problem, self._retry_seconds = name, problem, retry_seconds
        self._work = WeakMethod(run_once) if inspect.ismethod(run_once) else lambda: run_once
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._stopped = False
        self._thread: threading.Thread | None = None

    def start(self, before: Callable[[], None] | None = None, first_pause: float | None = 0.0) -> None:
        """Start the thread, unless it was started or stopped earlier; `before` is called first."""
        with self._lock:
            if self._thread is not None or self._stopped:
                return
            if before is not None:
                before()
            self._thread = threading.Thread(target=self.run, args=(first_pause,), name=self._name, daemon=True)
            self._thread.start()
            _started.add(self)

    def notify(self) -> None:
        """End the present pause."""
        self._wake.set()

    def stop(self, wait: float = 5.0) -> None:
        """Make no more calls, and wait at most `wait` seconds for the present one."""
        with self._lock:
            self._stopped = True
            thread = self._thread
        self._wake.set()
        if thread is not None and thread is not threading.current_thread():
            thread.join(wait)

    @property
    def running(self) -> bool:
        return self._thread is not None and self._thread.is_alive() and not self._stopped

    def run(self, pause: float | None = 0.0) -> None:
        """Make the calls in the present thread, the first after a pause of some seconds."""
        while True:
            self._wake.wait(pause)
            self._wake.clear()
            run_once = None if self._stopped else self._work()
            if run_once is None:
                return
            try:
                pause = run_once()
            except Closed:
                return
            except LedgerUnavailable as error:
                log.warning("%s; trying again: %s", self._problem, error)
                pause = self._retry_seconds
            except Exception:
                log.exception("%s; trying again", self._problem)
                pause = self._retry_seconds
            del run_once


class QuietThread:
    """Does some work in each space that had news, once there were none for a while: it is not to slow down who writes.

    Args:
        work: Called with the name of a space and a function that says whether to go on. Returns whether all is done;
            what `go_on` ended is tried again.
    """

    def __init__(self, name: str, work: Callable[[str, Callable[[], bool]], bool]) -> None:
        self._work = work
        self._news: dict[str, float] = {}  # when each space that is not done had news last
        self._thread = PeriodicThread(name, self._run, problem="a background task failed", retry_seconds=_QUIET_SECONDS)

    def notify(self, space: str) -> None:
        """There are news in this space."""
        was_idle = not self._news
        self._news[space] = time.monotonic()
        self._thread.start(first_pause=_QUIET_SECONDS)
        if was_idle:
            self._thread.notify()

    def stop(self) -> None:
        self._thread.stop()

    @property
    def is_idle(self) -> bool:
        """Whether everything is done."""
        return not self._news

    def _may_go_on(self, space: str, since: float) -> bool:
        return self._thread.running and self._news[space] == since

    def _run(self) -> float | None:
        for space, since in list(self._news.items()):
            if time.monotonic() < since + _QUIET_SECONDS:
                continue
            if self._work(space, partial(self._may_go_on, space, since)):
                last = self._news.pop(space)
                if last != since:  # there were news meanwhile
                    self._news[space] = last
        if not self._news:
            return None
        # Seconds between two tries of work that was ended.
        return max(0.05, min(self._news.values()) + _QUIET_SECONDS - time.monotonic())


_started: WeakSet[PeriodicThread] = WeakSet()


@atexit.register
def _stop_at_exit() -> None:
    """Stop what was not closed. A thread that is inside a model while Python ends aborts the process."""
    threads = list(_started)
    for thread in threads:
        thread.stop(0.0)
    for thread in threads:
        thread.stop(5.0)  # seconds
