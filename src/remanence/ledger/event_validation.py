"""Whether the fields of an event have the types that they are declared with. JSON can hold anything in their place."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
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
    for name, fits in _checks_of_fields(kind):
        if not fits(getattr(value, name)):
            return name
    return None


_Check = Callable[[Any], bool]


@cache
def _checks_of_fields(kind: type[Any]) -> list[tuple[str, _Check]]:
    return [(name, _check_of(hint)) for name, hint in get_type_hints(kind).items()]


def _check_of(hint: Any) -> _Check:
    """What says whether a value is of this type. JSON values only: mappings are dicts, and True is not a number.

    Made once for each field: taking the type apart takes longer than the check, and an import checks every entry."""
    origin, args = get_origin(hint), get_args(hint)
    if hint is Any:
        return lambda _: True
    if origin in (Union, UnionType):
        choices = [_check_of(argument) for argument in args]
        return lambda value: any(fits(value) for fits in choices)
    if origin is Literal:
        return lambda value: isinstance(value, str) and value in args
    if origin is tuple and args[-1] is ...:
        item_fits = _check_of(args[0])
        return lambda value: type(value) is tuple and all(map(item_fits, value))
    if origin is tuple:
        items = [_check_of(argument) for argument in args]
        return lambda value: (
            type(value) is tuple
            and len(value) == len(items)
            and all(fits(item) for fits, item in zip(items, value, strict=True))
        )
    if hint is float:
        return lambda value: type(value) in (int, float) and math.isfinite(value)
    if is_dataclass(hint):
        return lambda value: type(value) is hint and first_invalid_field(value) is None
    plain = dict if origin is Mapping else origin or hint
    return lambda value: type(value) is plain
