"""Pages of lists, and where the next one begins, as an opaque text that clients only pass back."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from remanence.errors import InvalidInput

ItemT = TypeVar("ItemT")


@dataclass(frozen=True)
class Page(Generic[ItemT]):
    """Some items of a list. `next_cursor` is None on the last page."""

    items: Sequence[ItemT]
    next_cursor: str | None = None


@dataclass(frozen=True)
class CountedPage(Generic[ItemT]):
    """Some items of a list that has `total` items. `next_cursor` is None on the last page."""

    items: Sequence[ItemT]
    total: int
    next_cursor: str | None = None


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
