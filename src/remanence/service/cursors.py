"""Where the next page of a list begins, as an opaque text that clients only pass back."""

from __future__ import annotations

import base64
import binascii
import json

from remanence.errors import InvalidInput


def make_cursor(kind: str, number: int) -> str:
    """The cursor after the item with this number.

    >>> read_cursor("memories", make_cursor("memories", 7))
    7
    """
    return base64.urlsafe_b64encode(json.dumps([kind, number]).encode()).decode().rstrip("=")


def read_cursor(kind: str, cursor: str | None, default: int = -1) -> int:
    """The number that a cursor of this kind was made of.

    Raises:
        InvalidInput: It is not a cursor of this list.
    """
    if cursor is None:
        return default
    try:
        made_for, number = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    except (ValueError, TypeError, binascii.Error):
        made_for, number = None, None
    if made_for != kind or type(number) is not int or number < 0:
        raise InvalidInput(f"cursor={cursor!r} is not a cursor of this list. Give the next_cursor of an earlier page.")
    return number
