"""Parses the rows of a model's answer, from its fields or from JSON in its text.

Models put JSON between fences or into prose, reason before it, write it in Python syntax, or stop in the middle.
Every complete row is read, and nothing is added to an incomplete one.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from remanence.models.llm_clients import Reply

MAX_TEXT = 1_000_000  # characters of an answer; the rest is not read

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ParsedRows:
    """The rows of an answer, and whether it was complete: neither cut off nor damaged."""

    rows: tuple[Row, ...] = ()
    complete: bool = True


def parse_rows(reply: Reply, key: str) -> ParsedRows | None:
    """What a reply lists under `key`; None if no list can be read.

    >>> parse_rows(Reply(text='Sure! {"facts": [{"text": "Tea."}, {"text": "Cof'), "facts")
    ParsedRows(rows=({'text': 'Tea.'},), complete=False)
    >>> parse_rows(Reply(text="I have no facts for you."), "facts")
    """
    if reply.fields is None:
        return _parse_text(reply.text, key)
    listed = reply.fields.get(key)
    if isinstance(listed, str):  # a list as JSON in a string
        return _parse_text(listed, key)
    if isinstance(listed, Mapping):
        listed = [listed]
    if not isinstance(listed, list | tuple):
        return None
    rows = tuple(row for row in map(_row, listed) if row is not None)
    return ParsedRows(rows, len(rows) == len(listed)) if rows or not listed else None


def _parse_text(text: str, key: str) -> ParsedRows | None:
    """The first list named `key` that has a row; else a list or objects without a name; else an empty list."""
    text = _THINKING.sub("", text[:MAX_TEXT])
    named = list(re.finditer(rf"""["']?\b{re.escape(key)}["']?\s*:\s*\[""", text, re.IGNORECASE))
    first = text.find("{")
    is_list = first > 0 and text[:first].rstrip().endswith("[")
    empty: ParsedRows | None = None
    end: int | None = 0
    for start, in_list in [(match.end(), True) for match in named] or [(max(first, 0), is_list)]:
        if end is None:
            break  # the rest of the text is inside a row that was cut off
        if start >= end:
            rows, end, is_complete = _parse_rows(text, start, in_list)
            if rows:
                return ParsedRows(rows, is_complete)
            empty = ParsedRows() if in_list and is_complete else empty
    return empty


_THINKING = re.compile(r"\A\s*<(think\w*)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_STRING_OR_BRACKET = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|(?P<unfinished>".*)|[][{}]', re.DOTALL)
_TRAILING_COMMA = re.compile(r",(?=\s*[}\]])")
_BETWEEN_ROWS = re.compile(r"[\s,]*")
_DECODER = json.JSONDecoder(strict=False)  # accepts line breaks inside strings


def _parse_rows(text: str, position: int, in_list: bool) -> tuple[tuple[Row, ...], int | None, bool]:
    """The rows from `position` on, in a list up to its end; where they end, None if the text ends first; and whether
    all of them could be read."""
    rows: list[Row] = []
    is_complete = True
    while True:
        position = _BETWEEN_ROWS.match(text, position).end() if in_list else text.find("{", position)  # type: ignore[union-attr]
        if position < 0:
            return tuple(rows), len(text), is_complete
        if text[position : position + 1] not in ("{", '"'):
            is_cut, is_closed = position == len(text), text[position : position + 1] == "]"
            return tuple(rows), None if is_cut else position, is_complete and is_closed
        value, end = _parse_value(text, position)
        if end is None:
            return tuple(rows), None, False
        position = end
        if (row := _row(value)) is not None:
            rows.append(row)
        elif in_list:
            is_complete = False


def _parse_value(text: str, position: int) -> tuple[object, int | None]:
    """The object or string at `position`, and where it ends; None for the end if the text ends first."""
    try:
        return _DECODER.raw_decode(text, position)
    except (ValueError, RecursionError):
        end = _find_end(text, position)
    return (None, None) if end is None else (_parse_repaired(text[position:end]), end)


def _find_end(text: str, start: int) -> int | None:
    """Where the object or string at `start` ends, by its brackets and quotes."""
    depth = 0
    for found in _STRING_OR_BRACKET.finditer(text, start):
        if found["unfinished"]:
            return None
        depth += (found.group() in "{[") - (found.group() in "}]")
        if depth <= 0:
            return found.end()
    return None


def _parse_repaired(text: str) -> object:
    """An object with trailing commas or in Python syntax; None if it cannot be parsed."""
    repaired = _TRAILING_COMMA.sub("", text)
    for parse in (_DECODER.decode, ast.literal_eval):
        try:
            return parse(repaired)
        except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
            continue
    return None


def _row(value: object) -> Row | None:
    """A value as a row: a mapping, or a text alone; None for anything else."""
    if isinstance(value, str):
        return {"text": value}
    return value if isinstance(value, Mapping) else None


def parse_index(value: object, count: int) -> int | None:
    """An index below `count`, given as a number or as digits."""
    if isinstance(value, str) and value.strip().isdecimal() and len(value) < 10:
        value = int(value)
    return value if type(value) is int and 0 <= value < count else None
