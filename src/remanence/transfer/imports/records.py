"""What a source of an import yields; and SQLite files of other programs, opened to read only, so that a program that
uses one at the moment is not disturbed."""

from __future__ import annotations

import json
import math
import re
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, get_args

from remanence.errors import InvalidInput
from remanence.index.engine.identity import content_digest
from remanence.schema import UTC
from remanence.text.text import replace_unstorable

ImportFormat = (
    Literal["chatgpt", "claude", "gemini", "whatsapp", "langgraph", "mem0", "memvara", "zep", "letta", "hindsight"]
    | Literal["server-memory", "csv", "text", "markdown", "okf"]
)
FORMAT_NAMES: tuple[str, ...] = tuple(name for names in get_args(ImportFormat) for name in get_args(names))

_MAX_ID_LENGTH = 120
"""Characters of an id that is a part of the key of a memory."""
_MAX_SECONDS = 1e11
"""The highest number that is a time in seconds, in the year 5138; larger numbers are milliseconds."""
_FRACTION = re.compile(r"(\.\d{6})\d+")


@dataclass(frozen=True, slots=True)
class Record:
    """One memory or chat turn of a source.

    `fields` are the arguments of `add`, or for a turn those of `add_turns`, without the key. `previous_versions` has
    the same for versions before this one. `owner` is the user that it belongs to, as the path of a child of the space.
    """

    key: str
    fields: Mapping[str, Any]
    is_turn: bool = False
    owner: tuple[str, ...] = ()
    previous_versions: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class SkippedItem:
    """Something of a source that is not imported. `reason` is the same text for all things of one sort.

    `is_damage` says that the source cannot be read from here on.
    """

    location: str
    reason: str
    is_damage: bool = False


Item = Record | SkippedItem


class Source(ABC):
    """What can be imported. It counts how much was read of how much there is, in any unit."""

    kind: str
    """A name for messages: "ChatGPT export"."""

    def __init__(self, path: str, total: int) -> None:
        self.path = path
        self._done, self._total = 0, total

    @abstractmethod
    def read(self) -> Iterator[Item]:
        """Yield every record, and everything that is left out, in order. It needs little memory however large the
        source is."""

    def check(self) -> None:  # noqa: B027  -- most sources are read as far as they go
        """Raise InvalidInput about the line that cannot be read, if all of the source has to be read or nothing."""

    def owners(self) -> Iterable[tuple[str, ...]]:
        """The users that the records belong to; empty if the source is that of one person."""
        return ()

    def progress(self) -> tuple[int, int]:
        """How much was read, and how much there is to read."""
        return self._done, self._total

    def close(self) -> None:  # noqa: B027  -- most sources keep nothing open
        """Close what was opened."""


def make_key(kind: str, *parts: str) -> str:
    """The key of a record. It is made of the ids that the source has, so that it is the same in every import.

    >>> make_key("chatgpt", "c1", "m1")
    'chatgpt:c1:m1'
    """
    return ":".join((kind, *(_short(part) for part in parts)))


def _short(part: str) -> str:
    usable = replace_unstorable(part) == part and part.strip() and len(part) <= _MAX_ID_LENGTH
    return part if usable else content_digest(replace_unstorable(part))


def as_text(value: object) -> str:
    """A text of a source as it can be stored; "" if it is not text, or has no visible character."""
    text = replace_unstorable(value) if isinstance(value, str) else ""
    return "" if text.isspace() else text


def as_moment(value: object) -> datetime | None:
    """A time of a source: seconds or milliseconds since 1970, or ISO text. None if it is none of these.

    >>> str(as_moment(1_700_000_000.0)), str(as_moment("2026-03-29T07:06:34Z"))
    ('2023-11-14 22:13:20+00:00', '2026-03-29 07:06:34+00:00')
    """
    try:
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value > 0:
            return datetime.fromtimestamp(value / 1_000 if value > _MAX_SECONDS else value, UTC)
        if isinstance(value, str):
            found = datetime.fromisoformat(_FRACTION.sub(r"\1", value.strip()).replace("Z", "+00:00"))
            return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return None


def as_json(value: object) -> Any:
    """A value of a source as JSON that can be stored: other objects become text.

    Raises:
        ValueError: It contains itself, or is nested too deeply.
    """
    try:
        written = json.dumps(value, ensure_ascii=False, default=str, skipkeys=True)
        return json.loads(replace_unstorable(written), parse_constant=str)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def as_mapping(value: object) -> Mapping[str, Any]:
    """The value if it is a JSON object, else an empty one."""
    return value if isinstance(value, Mapping) else {}


def as_list(value: object) -> list[Any]:
    """The value if it is a JSON array, else an empty one."""
    return value if isinstance(value, list) else []


SQLITE_MAGIC = b"SQLite format 3\x00"
_TIMEOUT_SECONDS = 10.0
"""Seconds that a database which another program writes is waited for."""


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
