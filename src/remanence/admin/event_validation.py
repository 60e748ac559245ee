"""Whether an event that somebody else wrote holds what an event of ours would."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import is_dataclass
from types import NoneType, UnionType
from typing import Any, Literal, TypeAlias, Union, get_args, get_origin, get_type_hints

from remanence.events import Event

_Fits: TypeAlias = Callable[[Any], bool]


def first_invalid_field(event: Event) -> str | None:
    """The first field that holds something of another type than it should; None if all of them fit.

    >>> from remanence.events import Forgotten
    >>> first_invalid_field(Forgotten("m1")), first_invalid_field(Forgotten(7))
    (None, 'memory')
    """
    for name, fits in _fields(type(event)):
        if not fits(getattr(event, name)):
            return name
    return None


# Made once for each type: to look at the annotations of every value takes longer than all the rest.
_KNOWN: dict[Any, list[tuple[str, _Fits]]] = {}


def _fields(kind: Any) -> list[tuple[str, _Fits]]:
    if kind not in _KNOWN:
        _KNOWN[kind] = [(name, _test(hint)) for name, hint in get_type_hints(kind).items()]
    return _KNOWN[kind]


def _test(hint: Any) -> _Fits:
    """What tells whether a value is of a type."""
    origin, args = get_origin(hint), get_args(hint)
    if hint is Any:
        return lambda value: True
    if origin in (Union, UnionType):
        tests = [_test(each) for each in args]
        return lambda value: any(fits(value) for fits in tests)
    if origin is Literal:
        return lambda value: isinstance(value, str) and value in args
    if origin is tuple:
        return _tuple_test(args)
    if hint is float:
        return lambda value: type(value) in (int, float) and math.isfinite(value)
    if is_dataclass(hint):
        fields = _fields(hint)
        return lambda value: type(value) is hint and all(fits(getattr(value, n)) for n, fits in fields)
    # JSON has no mappings but dicts, and only strings for their keys; and True is not a whole number.
    plain = {None: NoneType, Mapping: dict}.get(origin or hint, origin or hint)
    return lambda value: type(value) is plain


def _tuple_test(args: tuple[Any, ...]) -> _Fits:
    if args[-1] is ...:
        fits = _test(args[0])
        return lambda value: type(value) is tuple and all(map(fits, value))
    tests = [_test(each) for each in args]
    return lambda value: (
        type(value) is tuple
        and len(value) == len(tests)
        and all(fits(each) for fits, each in zip(tests, value, strict=True))
    )
