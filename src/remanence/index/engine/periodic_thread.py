"""A thread that calls a function when it is notified, and at intervals."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from remanence.errors import Closed, LedgerUnavailable

log = logging.getLogger(__name__)


class PeriodicThread:
    """Calls `run_once` in a thread until it is stopped, or until `run_once` raises `Closed`.

    `run_once` returns the seconds until the next call; None waits for `notify`. After an error it is called again:
    the cause (a full disk, a locked folder) may be temporary, and no caller would report it.
    """

    def __init__(self, name: str, run_once: Callable[[], float | None], *, problem: str, retry_seconds: float) -> None:
        self._name, self._run_once, self._problem, self._retry_seconds = name, run_once, problem, retry_seconds
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
            if self._stopped:
                return
            try:
                pause = self._run_once()
            except Closed:
                return
            except LedgerUnavailable as error:
                log.warning("%s; trying again: %s", self._problem, error)
                pause = self._retry_seconds
            except Exception:
                log.exception("%s; trying again", self._problem)
                pause = self._retry_seconds
