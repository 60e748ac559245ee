"""SQLite files of other programs, opened to read only: a program that uses one at the moment is not disturbed."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from remanence.errors import InvalidInput

SQLITE_MAGIC = b"SQLite format 3\x00"
_TIMEOUT_SECONDS = 10.0


class SqliteFile:
    """A SQLite file that is only read. Rows are dicts; columns that an older release did not have are None."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            uri = f"{path.absolute().as_uri()}?mode=ro"
            self._connection = sqlite3.connect(uri, uri=True, timeout=_TIMEOUT_SECONDS, check_same_thread=False)
            # Text that is not UTF-8 is read with replacement characters.
            self._connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
            names = [name for (name,) in self._connection.execute("SELECT name FROM sqlite_master WHERE type='table'")]
        except sqlite3.Error as error:
            raise InvalidInput(
                f"{path} cannot be read: {error}. Close the program that uses it, or make a new copy of it."
            ) from error
        self.tables: dict[str, list[str]] = {name: self._columns(name) for name in names}

    def has(self, table: str, *columns: str) -> bool:
        return table in self.tables and set(columns) <= set(self.tables[table])

    def count(self, table: str) -> int:
        [(number,)] = self.execute(f"SELECT count(*) FROM {_quoted(table)}")
        return int(number)

    def rows(self, table: str, columns: str, order: str = "") -> Iterator[dict[str, Any]]:
        """The rows of a table, one at a time, with these columns."""
        names = columns.split()
        known = [_quoted(name) if name in self.tables[table] else f"NULL AS {_quoted(name)}" for name in names]
        query = f"SELECT {', '.join(known)} FROM {_quoted(table)}"
        query += f" ORDER BY {order}" if order else ""
        for row in self.execute(query):
            yield dict(zip(names, row, strict=True))

    def execute(self, query: str, values: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        try:
            yield from self._connection.execute(query, values)
        except sqlite3.Error as error:
            raise InvalidInput(f"{self.path} cannot be read: {error}. Make a new copy of it.") from error

    def close(self) -> None:
        self._connection.close()

    def _columns(self, table: str) -> list[str]:
        return [row[1] for row in self._connection.execute(f"PRAGMA table_info({_quoted(table)})")]


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
