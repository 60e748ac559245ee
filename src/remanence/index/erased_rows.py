"""Reads that find a memory which another process erases before its text is read."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

_MAX_RETRIES = 20
"""How often a read is run again while other processes erase what it finds."""


class RowErased(LookupError):
    """The text of a row was erased between ranking it and reading it."""


def retry_if_erased(read: Callable[P, T]) -> Callable[P, T]:
    """Run a read again if another process erased a memory between finding it and reading it."""

    @wraps(read)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        for _ in range(_MAX_RETRIES):
            try:
                return read(*args, **kwargs)
            except RowErased:
                continue  # opening the index applies the erasure; there may be another one by then
        return read(*args, **kwargs)

    return run
