"""A thread that deletes expired items from time to time."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future

from remanence.adapters import log_and_continue

log = logging.getLogger(__name__)


class TTLSweeper:
    """Calls `sweep` at an interval, in a thread, until it is stopped."""

    def __init__(self, sweep: Callable[[], int]) -> None:
        self._sweep = sweep
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self, interval_seconds: float) -> Future[None]:
        """Start the thread, or replace the running one. Cancelling the future stops it."""
        self.stop()
        self._stop = stop = threading.Event()
        done: Future[None] = Future()
        done.add_done_callback(lambda future: stop.set() if future.cancelled() else None)

        def run() -> None:
            while not stop.wait(interval_seconds):
                with log_and_continue(log, "sweep expired items"):
                    self._sweep()
            if not done.cancelled():
                done.set_result(None)

        self._thread = threading.Thread(target=run, name="remanence-ttl-sweeper", daemon=True)
        self._thread.start()
        return done

    def stop(self, timeout: float | None = None) -> bool:
        """Stop the thread. Return whether it has ended after at most `timeout` seconds."""
        self._stop.set()
        if self._thread is None:
            return True
        self._thread.join(timeout)
        return not self._thread.is_alive()
