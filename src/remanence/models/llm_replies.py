"""The rows in a model's answer: from its fields, or from JSON somewhere in its text.

Models put JSON between fences or into prose, think aloud before it, write it as Python would, or stop in
the middle. Every row that stands there whole is read, and nothing is made up for one that does not.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from remanence.models.llm_clients import Reply

MOST_TEXT = 1_000_000  # characters of an answer that are looked at

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of an answer, and whether it was whole: neither broken off nor damaged."""

    rows: tuple[Row, ...] = ()
    complete: bool = True


def parse_rows(reply: Reply, key: str) -> Rows | None:
    """What a reply lists under `key`; None if it lists nothing that can be read.

    >>> parse_rows(Reply(text='Sure! {"facts": [{"text": "Tea."}, {"text": "Cof'), "facts")
    Rows(rows=({'text': 'Tea.'},), complete=False)
    >>> parse_rows(Reply(text="I have no facts for you."), "facts")
    """
    if reply.fields is None:
        return _in_text(reply.text, key)
    listed = reply.fields.get(key)
    if isinstance(listed, str):  # a list that was written out once more
        return _in_text(listed, key)
    if isinstance(listed, Mapping):
        listed = [listed]
    if not isinstance(listed, list | tuple):
        return None
    rows = tuple(row for row in map(_row, listed) if row is not None)
    return Rows(rows, len(rows) == len(listed)) if rows or not listed else None


def _in_text(text: str, key: str) -> Rows | None:
    text = _THINKING.sub("", text[:MOST_TEXT])
    named = re.compile(rf"""["']?\b{re.escape(key)}["']?\s*:\s*\[""", re.IGNORECASE)
    empty: Rows | None = None
    at, lists = 0, 0
    while (opening := named.search(text, at) or (None if lists else _LIST.search(text))) is not None:
        lists += 1
        rows, at, end = _members(text, opening.end())
        if rows:
            return Rows(rows, end == _CLOSED)
        if end == _CLOSED:
            empty = Rows()
        if end == _CUT:  # what follows lies inside the row that was cut, and is no row itself
            return empty
    return empty if lists else _loose(text)


_THINKING = re.compile(r"\A\s*<(think\w*)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_LIST = re.compile(r"\[\s*(?=\{)")
_TRAILING_COMMA = re.compile(r",(?=\s*[}\]])")
_CLOSED, _CUT, _DAMAGED = "closed", "cut", "damaged"
_DECODER = json.JSONDecoder(strict=False)  # a line break inside a string is a small sin


def _members(text: str, at: int) -> tuple[tuple[Row, ...], int, str]:
    """The rows of a list that begins at `at`, where reading stopped, and why."""
    rows: list[Row] = []
    sound = True
    while True:
        while at < len(text) and (text[at].isspace() or text[at] == ","):
            at += 1
        if at == len(text):
            return tuple(rows), at, _CUT
        if text[at] == "]":
            return tuple(rows), at + 1, _CLOSED if sound else _DAMAGED
        if text[at] not in '{"':
            return tuple(rows), at, _DAMAGED
        value, end = _value(text, at)
        if end is None:
            return tuple(rows), len(text), _CUT
        at = end
        row = _row(value)
        sound = sound and row is not None
        if row is not None:
            rows.append(row)


def _loose(text: str) -> Rows | None:
    """Objects that stand in no list: one alone, or one a line."""
    rows: list[Row] = []
    at = text.find("{")
    whole = True
    while at >= 0:
        value, end = _value(text, at)
        if end is None:
            whole = False
            break
        if (row := _row(value)) is not None:
            rows.append(row)
        at = text.find("{", end)
    return Rows(tuple(rows), whole) if rows else None


def _value(text: str, at: int) -> tuple[object, int | None]:
    """The object or string at `at`, and where it ends; no end where the text ends first."""
    try:
        return _DECODER.raw_decode(text, at)
    except (ValueError, RecursionError):
        end = _closing(text, at)
    return (None, None) if end is None else (_mended(text[at:end]), end)


def _closing(text: str, at: int) -> int | None:
    """Where the object at `at` ends, judged by its brackets."""
    depth, quoted, skip = 0, False, False
    for place in range(at, len(text)):
        char = text[place]
        if skip:
            skip = False
        elif char == "\\":
            skip = quoted
        elif char == '"':
            quoted = not quoted
            if not quoted and depth == 0:
                return place + 1
        elif not quoted and char in "{[":
            depth += 1
        elif not quoted and char in "}]":
            depth -= 1
            if depth <= 0:
                return place + 1
    return None


def _mended(written: str) -> object:
    """An object with a comma too many, or written as Python writes it; None for what cannot be read."""
    plain = _TRAILING_COMMA.sub("", written)
    for read in (_DECODER.decode, ast.literal_eval):
        try:
            return read(plain)
        except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
            continue
    return None


def _row(value: object) -> Row | None:
    """A row; a lone text is one too."""
    if isinstance(value, str):
        return {"text": value}
    return value if isinstance(value, Mapping) else None
