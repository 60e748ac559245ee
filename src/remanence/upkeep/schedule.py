"""Upkeep in the background, at intervals."""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Callable
from datetime import timedelta

from remanence.errors import Closed, InvalidInput, LedgerUnavailable

log = logging.getLogger(__name__)

_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
_INTERVAL = re.compile(r"(\d+(?:\.\d+)?)\s*([smhd])")


def parse_interval(every: str | float | timedelta) -> float:
    """An interval in seconds, from a number of seconds, a timedelta, or a text such as "90s", "15m", "1h", "2d".

    >>> parse_interval("1h"), parse_interval("1.5m"), parse_interval(10), parse_interval(timedelta(minutes=1))
    (3600.0, 90.0, 10.0, 60.0)
    """
    seconds = 0.0
    if isinstance(every, timedelta):
        seconds = every.total_seconds()
    elif isinstance(every, str) and (match := _INTERVAL.fullmatch(every.strip().lower())):
        seconds = float(match[1]) * _UNITS[match[2]]
    elif isinstance(every, int | float) and not isinstance(every, bool):
        seconds = float(every)
    if not 0 < seconds < threading.TIMEOUT_MAX:
        raise InvalidInput(f"every={every!r} is not a valid interval. Use one such as '30m', '1h' or '2d'.")
    return seconds


class Schedule:
    """Calls a function at once and then at intervals, in a thread, until it is stopped.

    A call that fails is logged and repeated at the next interval. As a context manager it stops at the end.
    """

    def __init__(self, work: Callable[[], object], every: float) -> None:
        self._stopped = threading.Event()
        arguments = (work, every, self._stopped.wait)
        self._thread = threading.Thread(target=repeat, args=arguments, name="remanence-upkeep", daemon=True)
        self._thread.start()

    def __enter__(self) -> Schedule:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def running(self) -> bool:
        """Whether it has not been stopped."""
        return self._thread.is_alive() and not self._stopped.is_set()

    def stop(self, wait: float = 5.0) -> None:
        """Start no new call, and wait at most so many seconds for the current one."""
        self._stopped.set()
        if self._thread is not threading.current_thread():
            self._thread.join(wait)


def repeat(work: Callable[[], object], every: float, wait: Callable[[float], bool]) -> None:
    """Call a function again and again; `wait` sleeps for so many seconds, and returns True to stop."""
    while True:
        try:
            work()
        except Closed:
            return
        except LedgerUnavailable as error:
            log.info("upkeep did not run: %s", error)
        except Exception:
            log.exception("upkeep failed; the next attempt is in %g seconds", every)
        if wait(every):
            return
