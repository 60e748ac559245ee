"""Whether the day or the month comes first in dates such as 03/04/2025.

A text that has a date for which only one order makes sense tells it itself. Else the setting of the space decides, then
what the texts of the space tell, then the language: everywhere but in English the day comes first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from remanence.text.lexicon.languages import ENGLISH, language_of

_DATE = re.compile(r"(?<![\w./-])([0-9]{1,2})([/-])([0-9]{1,2})\2(?:[0-9]{4}|[0-9]{2})(?![\w/-])")
_NUMBERS = re.compile("[0-9][/-][0-9]")
_day_first: ContextVar[bool | None] = ContextVar("day_first", default=None)


@contextmanager
def use_date_order(day_first: bool | None) -> Iterator[None]:
    """Read ambiguous dates in this order; None leaves it to the language of the text."""
    token = _day_first.set(day_first)
    try:
        yield
    finally:
        _day_first.reset(token)


def given_date_order() -> bool | None:
    """The order that `use_date_order` gave, for code that runs in another thread."""
    return _day_first.get()


def has_numeric_date(text: str) -> bool:
    """Whether the order matters for a text."""
    return ("/" in text or "-" in text) and _NUMBERS.search(text) is not None


def date_order_evidence(text: str) -> int:
    """How many dates of a text have the day first for sure, less those that have the month first.

    >>> [date_order_evidence(text) for text in ("from 25/12/2024 to 3/1/2025", "on 12/25/2024", "24/7")]
    [1, -1, 0]
    """
    if not has_numeric_date(text):
        return 0
    # The beginning of a pasted log says it, too.
    pairs = [(int(match[1]), int(match[3])) for match in _DATE.finditer(text, 0, 100_000)]
    return sum(second <= 12 < first <= 31 for first, second in pairs) - sum(
        first <= 12 < second <= 31 for first, second in pairs
    )


def is_day_first(text: str) -> bool:
    """Whether the day comes first in the dates of this text."""
    if not has_numeric_date(text):
        return False
    if evidence := date_order_evidence(text):
        return evidence > 0
    day_first = _day_first.get()
    return language_of(text) != ENGLISH if day_first is None else day_first
