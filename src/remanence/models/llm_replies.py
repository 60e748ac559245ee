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
    text = _THINKING.sub("", text[:MAX_TEXT])
    named = re.compile(rf"""["']?\b{re.escape(key)}["']?\s*:\s*\[""", re.IGNORECASE)
    empty: ParsedRows | None = None
    position, lists = 0, 0
    while (opening := named.search(text, position) or (None if lists else _bare_list(text))) is not None:
        lists += 1
        rows, position, ending = _parse_list(text, opening.end())
        if rows:
            return ParsedRows(rows, ending == _CLOSED)
        if ending == _CLOSED:
            empty = ParsedRows()
        if ending == _CUT:  # the rest of the text is inside the row that was cut off
            return empty
    return empty if lists else _parse_objects(text)


def _bare_list(text: str) -> re.Match[str] | None:
    """A list without a name; not one that is part of an object."""
    opening = _LIST.search(text)
    return opening if opening and opening.end() == text.find("{") else None


_THINKING = re.compile(r"\A\s*<(think\w*)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_LIST = re.compile(r"\[\s*(?=\{)")
_STRING_OR_BRACKET = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|(?P<unfinished>".*)|[][{}]', re.DOTALL)
_TRAILING_COMMA = re.compile(r",(?=\s*[}\]])")
_CLOSED, _CUT, _DAMAGED = "closed", "cut", "damaged"
_DECODER = json.JSONDecoder(strict=False)  # accepts line breaks inside strings


def _parse_list(text: str, position: int) -> tuple[tuple[Row, ...], int, str]:
    """The rows of a list that begins at `position`, the position after them, and how the list ended."""
    rows: list[Row] = []
    ending = _CLOSED
    while True:
        while position < len(text) and (text[position].isspace() or text[position] == ","):
            position += 1
        if position == len(text):
            return tuple(rows), position, _CUT
        if text[position] == "]":
            return tuple(rows), position + 1, ending
        if text[position] not in '{"':
            return tuple(rows), position, _DAMAGED
        value, end = _parse_value(text, position)
        if end is None:
            return tuple(rows), len(text), _CUT
        position = end
        if (row := _row(value)) is not None:
            rows.append(row)
        else:
            ending = _DAMAGED


def _parse_objects(text: str) -> ParsedRows | None:
    """The objects of a text without a list: a single one, or one a line."""
    rows: list[Row] = []
    position: int | None = text.find("{")
    while position is not None and position >= 0:
        value, position = _parse_value(text, position)
        if (row := _row(value)) is not None:
            rows.append(row)
        if position is not None:
            position = text.find("{", position)
    return ParsedRows(tuple(rows), complete=position is not None) if rows else None


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
