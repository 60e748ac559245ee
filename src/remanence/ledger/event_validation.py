"""Whether the fields of an event have the types that they are declared with. JSON can hold anything in their place."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import is_dataclass
from functools import cache
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from remanence.errors import LedgerCorrupt
from remanence.language.text import truncate
from remanence.schema import Entry

WRONG_TYPES = (TypeError, ValueError, LookupError, AttributeError, OverflowError)
"""What a value of a wrong type may raise where it is used."""


def find_damage(entries: Iterable[Entry]) -> LedgerCorrupt | None:
    """The error that names the first of these entries with a value that no release writes; None if there is none. It
    is asked after something has failed: checking every entry that is read would take as long as reading it."""
    for entry in entries:
        name = None if entry.event is None else first_invalid_field(entry.event)
        if name is not None:
            return LedgerCorrupt(
                f"entry {entry.position} of space {entry.space!r} cannot be read: {name} is "
                f"{truncate(repr(getattr(entry.event, name)), 60)}. The ledger was damaged or changed from outside: "
                "run `verify()`, then restore a backup."
            )
    return None


def first_invalid_field(value: Any) -> str | None:
    """The first field of an event with a value of a wrong type; None if there is none."""
    kind: Any = type(value)
    return next((name for name, hint in _hints(kind).items() if not _fits(getattr(value, name), hint)), None)


_hints = cache(get_type_hints)


def _fits(value: Any, hint: Any) -> bool:
    """Whether a value is of a type. JSON values only: mappings are dicts, and True is not a number."""
    origin, args = get_origin(hint), get_args(hint)
    if hint is Any:
        return True
    if origin in (Union, UnionType):
        return any(_fits(value, argument) for argument in args)
    if origin is Literal:
        return isinstance(value, str) and value in args
    if origin is tuple:
        hints = args[:1] * len(value) if type(value) is tuple and args[-1] is ... else args
        return type(value) is tuple and len(value) == len(hints) and all(map(_fits, value, hints))
    if hint is float:
        return type(value) in (int, float) and math.isfinite(value)
    if is_dataclass(hint):
        return type(value) is hint and first_invalid_field(value) is None
    return type(value) is (dict if origin is Mapping else origin or hint)
