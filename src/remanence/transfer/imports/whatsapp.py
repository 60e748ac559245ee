"""Chats that WhatsApp exports as text, by Android or by iOS.

    03/05/2026, 14:30 - Ana: I moved to Lisbon.        Android; a message goes on in the lines after it
    [03.05.26, 14:30:05] Ana: I moved to Lisbon.       iOS

A date is written as the phone writes it. Whether the day or the month comes first follows from dots, from a number over
12, or from the order of the messages; a file where both are possible is refused unless `date_order` says it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Any

from remanence.index.engine.identity import content_digest
from remanence.schema import UTC
from remanence.transfer.imports.records import SkippedItem
from remanence.transfer.imports.tables import BadRow

_DATE = r"(\d{1,4})[/.\-](\d{1,2})[/.\-](\d{2,4})\.?"
_CLOCK = r"(\d{1,2})[:.](\d{2})(?:[:.](\d{2}))?(?:\s?([ap])\.?\s?m\.?)?"
_WHEN = rf"{_DATE},?\s(?:[^\W\d]+\s)?{_CLOCK}"
_LINE = re.compile(rf"(?:\[{_WHEN}\]|{_WHEN}\s-)\s(.*)", re.IGNORECASE)
_SAID = re.compile(r"([^:\n]{1,100}): ?(.*)", re.DOTALL)
_WRITTEN_BY_WHATSAPP = "\u200e"
"""A mark before what WhatsApp wrote in the place of a person, in the exports of iOS."""
_MARKS = dict.fromkeys(map(ord, "\u200e\u200f\u202a\u202b\u202c\u2068\u2069"))
_SPACES = str.maketrans("\u202f\u00a0", "  ")
_NO_WORDS = re.compile(
    r"<[^<>]{1,60}>|.{0,200}\((?:file attached|Datei angehängt|archivo adjunto|fichier joint)\)|null"
    r"|(?:image|video|audio|sticker|GIF|document|Contact card) omitted"
    r"|(?:This message was deleted|You deleted this message)\.?|(?:Missed (?:voice|video) call).{0,40}",
    re.IGNORECASE,
)
_ADDED = re.compile(r"(?<!\s)\s*<(?:This message was edited|attached: [^<>]*)>")
_DOTTED = re.compile(r"\[?\d+\.\d")
_ORDERS = {"DMY": (2, 1, 0), "MDY": (2, 0, 1), "YMD": (0, 1, 2)}
DATE_ORDERS = tuple(_ORDERS)


@dataclass(slots=True)
class _Message:
    """A message: the numbers of its date as they are written, and its lines."""

    line: int
    is_dotted: bool
    date: tuple[int, int, int]
    clock: tuple[int, int, int]
    lines: list[str]


def is_whatsapp(text: str) -> bool:
    """Whether a text begins as an exported chat does."""
    return _LINE.match(_plain(text.lstrip("\ufeff\r\n").partition("\n")[0])) is not None


def whatsapp_rows(text: str, date_order: str | None = None) -> Iterator[tuple[int, Mapping[str, Any] | SkippedItem]]:
    """The messages of a chat, each with the number of its first line.

    Raises:
        BadRow: The file does not begin with a message, a date does not exist, or the order of the dates is not known.
    """
    messages = _messages(text)
    order = _date_order(messages) if date_order is None else date_order
    first = messages[0]
    chat = content_digest(*map(str, first.date), *map(str, first.clock), first.lines[0])[:16]
    seen: dict[str, int] = {}
    for message in messages:
        at, whole = _moment(message, order), "\n".join(message.lines)
        said = _SAID.fullmatch(whole.translate(_MARKS))
        words = "" if said is None else _words(said[2])
        if said is None or (words and whole.partition(": ")[2].startswith(_WRITTEN_BY_WHATSAPP)):
            yield message.line, SkippedItem(whole.translate(_MARKS), "a line of WhatsApp itself")
        elif not words:
            yield message.line, SkippedItem(f"{said[1]}, line {message.line}", "a file, a call or a deleted message")
        else:
            key = content_digest(at.isoformat(), said[1], words)
            seen[key] = seen.get(key, 0) + 1
            row = {"id": f"{chat}:{key}:{seen[key]}", "said": words, "time": at.isoformat(), "chat": chat}
            yield message.line, row | {"speaker": said[1].strip()}


def _words(said: str) -> str:
    """What a person wrote: without the name of an attached file, and without the note that it was edited."""
    lines = [line for line in _ADDED.sub("", said).split("\n") if not _NO_WORDS.fullmatch(line.strip())]
    return "\n".join(lines).strip()


def _messages(text: str) -> list[_Message]:
    messages: list[_Message] = []
    for number, raw in enumerate(text.replace("\r\n", "\n").split("\n"), 1):
        found = _LINE.match(_plain(raw))
        if found is not None:
            parts = found.groups()
            when = parts[:7] if parts[0] else parts[7:14]
            date, clock, said = when[:3], when[3:], parts[14]
            hour = int(clock[0]) % 12 + 12 * (clock[3].lower() == "p") if clock[3] else int(clock[0])
            numbers = (int(date[0]), int(date[1]), int(date[2]))
            messages.append(
                _Message(
                    number,
                    _DOTTED.match(_plain(raw)) is not None,
                    numbers,
                    (hour, int(clock[1]), int(clock[2] or 0)),
                    [said],
                )
            )
        elif messages:
            messages[-1].lines.append(raw)
        elif raw.strip():
            raise BadRow("it is not a message of WhatsApp, such as '03/05/2026, 14:30 - Ana: Hello'", number)
    if not messages:
        raise BadRow("the file is empty", 1)
    return messages


def _plain(line: str) -> str:
    return line.translate(_SPACES).lstrip("\u200e\u200f")


def _date_order(messages: Sequence[_Message]) -> str:
    """The one order in which all dates exist and no message is much older than the one before it."""
    possible = [order for order in _ORDERS if all(_exists(message, order) for message in messages)]
    if len(possible) > 1:
        possible = [order for order in possible if _is_in_order(messages, order)] or possible
    if len(possible) == 1:
        return possible[0]
    if not possible:
        best = min(_ORDERS, key=lambda order: sum(not _exists(message, order) for message in messages))
        wrong = next(message for message in messages if not _exists(message, best))
        raise BadRow(f"{'/'.join(map(str, wrong.date))} is not a date as those of the other lines are", wrong.line)
    date = "/".join(map(str, messages[0].date))
    raise BadRow(f"{date} may begin with the day or the month. Give date_order='DMY' or 'MDY'", messages[0].line)


def _is_in_order(messages: Sequence[_Message], order: str) -> bool:
    times = [_moment(message, order) for message in messages]
    return all(earlier <= later for earlier, later in pairwise(times))


def _exists(message: _Message, order: str) -> bool:
    """Whether a date can be read so. With dots, no language has the month first."""
    if message.is_dotted and order == "MDY":
        return False
    try:
        _moment(message, order)
    except BadRow:
        return False
    return True


def _moment(message: _Message, order: str) -> datetime:
    """When a message was sent, by the clock of the phone, taken as UTC."""
    year, month, day = (message.date[place] for place in _ORDERS[order])
    try:
        if order == "YMD" and year < 100:
            raise ValueError("a year has four digits")
        return datetime(year + 2000 if year < 100 else year, month, day, *message.clock, tzinfo=UTC)
    except ValueError as error:
        date = "/".join(map(str, message.date))
        raise BadRow(f"{date} {message.clock[0]}:{message.clock[1]:02} is not a time", message.line) from error
