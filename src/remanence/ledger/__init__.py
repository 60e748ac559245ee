"""The ledger is the truth; everything else can be rebuilt from it.

`open_ledger` gives one: in memory (`volatile.py`, the reference in plain Python) or in a folder
(`sql.py`, SQLite).
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from remanence.errors import InvalidInput

if TYPE_CHECKING:
    from remanence.ports import Ledger

__all__ = ["open_ledger"]


def open_ledger(location: str | Path | None) -> Ledger:
    """The ledger in this folder, made if there is none; None for one that is gone with the process.

    >>> open_ledger(None).head()
    0
    """
    if location is None:
        from remanence.ledger.in_memory import InMemoryLedger

        return InMemoryLedger()
    if not isinstance(location, str | os.PathLike):
        raise InvalidInput(f"{location!r} is no folder. Give a path such as './memory', or None.")
    if "://" in str(location):
        scheme = str(location).split("://")[0]  # the rest may hold a password
        raise InvalidInput(f"'{scheme}://…' is a URL; this release keeps ledgers in folders. Give a path.")
    if not str(location).strip() or "\0" in str(location):
        raise InvalidInput(f"{str(location)!r} is no folder name. Give a path such as './memory'.")
    if str(location) == ":memory:":
        raise InvalidInput("':memory:' would be a folder of that name. Give None to keep nothing on disk.")
    from remanence.ledger.sql import SqlLedger

    try:
        folder = Path(location).expanduser()
    except RuntimeError:
        raise InvalidInput(f"{str(location)!r} is in the home of nobody known here. Spell it out.") from None
    return SqlLedger(folder)
