"""Rarer searches for reference cycles while many objects are made."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_OBJECTS = 50_000
"""New objects after which Python searches the new ones; after a hundred times as many it searches all."""

_lock = threading.Lock()
_blocks = 0
_thresholds_before = gc.get_threshold()


@contextmanager
def rare_garbage_collection() -> Iterator[None]:
    """Python searches for reference cycles less often while any thread is in such a block.

    For work that makes many objects which stay, and no cycles: each search visits them again and finds nothing. The
    setting is of the whole process, so searches go on: other threads may make cycles. A program that has chosen a
    larger number, or none, keeps its own.
    """
    global _blocks, _thresholds_before
    with _lock:
        if _blocks == 0:
            _thresholds_before = gc.get_threshold()
            if 0 < _thresholds_before[0] < _OBJECTS:
                gc.set_threshold(_OBJECTS, *_thresholds_before[1:])
        _blocks += 1
    try:
        yield
    finally:
        with _lock:
            _blocks -= 1
            if _blocks == 0:
                gc.set_threshold(*_thresholds_before)
