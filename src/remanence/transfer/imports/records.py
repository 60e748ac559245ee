"""What a source of an import yields, and how its values are read."""

from __future__ import annotations

import json
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, get_args

from remanence.index.engine.identity import content_digest
from remanence.schema import UTC
from remanence.text.text import replace_unstorable

ImportFormat = Literal["chatgpt", "claude", "mem0", "zep", "server-memory", "csv", "text", "markdown"]
FORMAT_NAMES: tuple[str, ...] = get_args(ImportFormat)

MAX_NAME_LENGTH = 400
_FRACTION = re.compile(r"(\.\d{6})\d+")


@dataclass(frozen=True, slots=True)
class Record:
    """One memory or chat turn of a source.

    `fields` are the arguments of `add`, or for a turn those of `add_turns`, without the key. `user` is whom it belongs
    to, "" if the source is that of one person.
    """

    key: str
    fields: Mapping[str, Any]
    is_turn: bool = False
    user: str = ""


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
    """What can be imported."""

    path: str
    kind: str
    """A name for messages: "ChatGPT export"."""

    @abstractmethod
    def read(self) -> Iterator[Item]:
        """Yield every record, and everything that is left out, in order."""

    @abstractmethod
    def progress(self) -> tuple[int, int]:
        """How much was read, and how much there is to read, in any unit."""

    def check(self) -> None:  # noqa: B027  -- most sources are read as far as they go
        """Raise InvalidInput about the line that cannot be read, if all of the source has to be read or nothing."""

    def users(self) -> Iterable[str]:
        """The users that the records belong to; empty if the source is that of one person."""
        return ()

    def close(self) -> None:  # noqa: B027  -- most sources keep nothing open
        """Close what was opened."""


def make_key(kind: str, *parts: str) -> str:
    """The key of a record. It is made of the ids that the source has, so that it is the same in every import.

    >>> make_key("chatgpt", "c1", "m1")
    'chatgpt:c1:m1'
    """
    return ":".join((kind, *(_short(part) for part in parts)))


def _short(part: str) -> str:
    usable = replace_unstorable(part) == part and part.strip() and len(part) <= 120
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
            # Later than the year 5138: in milliseconds.
            return datetime.fromtimestamp(value / 1_000 if value > 1e11 else value, UTC)
        if isinstance(value, str):
            found = datetime.fromisoformat(_FRACTION.sub(r"\1", value.strip()).replace("Z", "+00:00"))
            return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return None


def as_json(value: object) -> Any:
    """A value of a source as JSON that can be stored: other objects become text."""
    return json.loads(replace_unstorable(json.dumps(value, ensure_ascii=False, default=str)), parse_constant=str)


def as_mapping(value: object) -> Mapping[str, Any]:
    """The value if it is a JSON object, else an empty one."""
    return value if isinstance(value, Mapping) else {}


def as_list(value: object) -> list[Any]:
    """The value if it is a JSON array, else an empty one."""
    return value if isinstance(value, list) else []
