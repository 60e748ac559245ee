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
    """An interval in seconds: a number of them, a timedelta, or such as "90s", "15m", "1h" and "2d".

    >>> parse_interval("1h"), parse_interval("1.5m"), parse_interval(10), parse_interval(timedelta(minutes=1))
    (3600.0, 90.0, 10.0, 60.0)
    """
    if isinstance(every, timedelta):
        found = every.total_seconds()
    elif isinstance(every, str):
        read = _INTERVAL.fullmatch(every.strip().lower())
        if read is None:
            raise InvalidInput(f"every={every!r} is no interval. Say such as '30m', '1h' or '2d'.")
        found = float(read[1]) * _UNITS[read[2]]
    elif isinstance(every, bool) or not isinstance(every, int | float):
        raise InvalidInput(f"every={every!r} is no interval. Say such as '30m', '1h' or '2d'.")
    else:
        found = float(every)
    if not 0 < found < threading.TIMEOUT_MAX:
        raise InvalidInput(f"every={every!r} is not an interval that can be waited for.")
    return found


class Schedule:
    """Does a piece of work at once and then at intervals, in a thread, until it is stopped.

    Work that fails is logged and tried again at the next interval. As a context manager it stops at the end.
    """

    def __init__(self, work: Callable[[], object], every: float) -> None:
        self._work, self._every = work, every
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="remanence-upkeep", daemon=True)
        self._thread.start()

    def __enter__(self) -> Schedule:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def running(self) -> bool:
        """Whether it goes on."""
        return self._thread.is_alive() and not self._stopped.is_set()

    def stop(self, wait: float = 5.0) -> None:
        """Start nothing new, and wait at most so many seconds for what is at hand."""
        self._stopped.set()
        if self._thread is not threading.current_thread():
            self._thread.join(wait)

    def _run(self) -> None:
        repeat(self._work, self._every, self._stopped.wait)


def repeat(work: Callable[[], object], every: float, wait: Callable[[float], bool]) -> None:
    """Do a piece of work again and again; `wait` sleeps for so many seconds, and is true to stop."""
    while True:
        try:
            work()
        except Closed:
            return
        except LedgerUnavailable as error:
            log.info("no upkeep this time: %s", error)
        except Exception:
            log.exception("upkeep failed; it is tried again in %g seconds", every)
        if wait(every):
            return
