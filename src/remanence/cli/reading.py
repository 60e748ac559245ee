"""Texts and rows from files and from standard input."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from remanence.errors import InvalidInput
from remanence.text import cut


def read_text(given: str) -> str:
    """A text as it was typed; - stands for standard input."""
    return _standard_input() if given == "-" else given


def read_rows(file: str) -> list[dict[str, Any]]:
    """The JSON objects of a file, one a line; blank lines are skipped."""
    rows = []
    for number, line in enumerate(_standard_input().split("\n") if file == "-" else _lines(file), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError as error:
            raise InvalidInput(f"{file}, line {number} is not JSON: {error}. Nothing was kept.") from None
        if not isinstance(row, dict):
            raise InvalidInput(f"{file}, line {number} is no JSON object, but {cut(line, 60)!r}.")
        rows.append(row)
    return rows


def _lines(file: str) -> list[str]:
    try:
        # Not splitlines(): a text may hold a line separator that JSON does not count as one.
        return Path(file).expanduser().read_text("utf-8-sig").split("\n")
    except OSError as error:
        raise InvalidInput(f"{file} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{file} is not UTF-8 text: {error}.") from None


def _standard_input() -> str:
    try:
        return sys.stdin.read()
    except UnicodeDecodeError as error:
        raise InvalidInput(f"standard input is not UTF-8 text: {error}.") from None
