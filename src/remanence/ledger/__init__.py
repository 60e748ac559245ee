"""The append-only ledger, from which everything else can be rebuilt.

codec       events as JSON
chain       entries chained by digest, and `verify`
in_memory   a ledger in plain Python, the reference
sql         what ledgers in SQL databases share, with `tables`
sqlite_ledger, sqlite       a ledger in a folder
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
    """The ledger in this folder, created if there is none; None for one in memory.

    >>> open_ledger(None).head()
    0
    """
    if location is None:
        from remanence.ledger.in_memory import InMemoryLedger

        return InMemoryLedger()
    if not isinstance(location, str | os.PathLike):
        raise InvalidInput(f"{location!r} is not a folder. Give a path such as './memory', or None.")
    if "://" in str(location):
        scheme = str(location).split("://")[0]  # the rest may contain a password
        raise InvalidInput(f"'{scheme}://…' is a URL; this release stores ledgers in folders. Give a path.")
    if not str(location).strip() or "\0" in str(location):
        raise InvalidInput(f"{str(location)!r} is not a folder name. Give a path such as './memory'.")
    if str(location) == ":memory:":
        raise InvalidInput("':memory:' would be a folder of that name. Give None to store nothing on disk.")
    from remanence.ledger.sqlite_ledger import SqliteLedger

    try:
        folder = Path(location).expanduser()
    except RuntimeError:
        raise InvalidInput(f"{str(location)!r} is in the home of an unknown user. Give the full path.") from None
    return SqliteLedger(folder)
