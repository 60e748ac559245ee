"""Texts and rows from files and from standard input."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from remanence.errors import InvalidInput
from remanence.ledger.codec import json_objects


def read_text(given: str) -> str:
    """A text as it was typed; - stands for standard input."""
    return _standard_input() if given == "-" else given


def read_rows(file: str) -> list[dict[str, Any]]:
    """The JSON objects of a file, one a line; blank lines are skipped."""
    lines = _standard_input().split("\n") if file == "-" else _lines(file)
    try:
        return [row for _, row in json_objects(lines, file)]
    except InvalidInput as error:
        raise InvalidInput(f"{error} Nothing was kept.") from None


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
