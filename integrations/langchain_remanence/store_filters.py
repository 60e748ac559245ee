"""Filters of a LangGraph store: names or dotted paths, equality and comparisons."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, datetime, timezone
from enum import Enum
from operator import ge, gt, le, lt
from typing import Any
from uuid import UUID

from remanence import InvalidInput

_COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {"$gt": gt, "$gte": ge, "$lt": lt, "$lte": le}
_OPERATORS = ("$eq", "$ne", *_COMPARISONS)


def check_filter(condition: Mapping[str, Any] | None) -> None:
    """Refuse an unknown operator, even if no item would be compared with it."""
    for part in (condition or {}).values():
        if not isinstance(part, Mapping):
            continue
        if _has_operators(part):
            for name in part:
                if name not in _OPERATORS:
                    raise InvalidInput(f"{name!r} is not an operator. The operators are {', '.join(_OPERATORS)}.")
        else:
            check_filter(part)


def matches_filter(value: Mapping[str, Any], condition: Mapping[str, Any] | None) -> bool:
    """Tell whether a value matches a filter that `check_filter` has checked.

    >>> matches_filter({"age": 42, "at": {"city": "Porto", "zip": 4000}}, {"age": {"$gt": 40}, "at": {"zip": 4000}})
    True
    >>> matches_filter({"at": {"city": "Porto"}, "days": ["2026-05-04"]}, {"at.city": "Porto", "days.0": {"$lt": "27"}})
    True
    """
    return all(_matches(_at_path(value, path), part) for path, part in (condition or {}).items())


def _at_path(value: Any, path: str) -> Any:
    """What is at a path in a value. A name that contains a period is preferred to a path of the same text."""
    if isinstance(value, list):
        head, _, rest = path.partition(".")
        if not head.isdecimal() or int(head) >= len(value):
            return None
        return _at_path(value[int(head)], rest) if rest else value[int(head)]
    if not isinstance(value, Mapping):
        return None
    if path in value:
        return value[path]
    starts = (position for position, character in enumerate(path) if character == ".")
    below = (_at_path(value[path[:dot]], path[dot + 1 :]) for dot in starts if path[:dot] in value)
    return next((found for found in below if found is not None), None)


def _matches(value: Any, condition: Any) -> bool:
    if isinstance(condition, Mapping):
        if _has_operators(condition):
            return all(_compare(value, name, operand) for name, operand in condition.items())
        return isinstance(value, Mapping) and matches_filter(value, condition)
    if isinstance(condition, list | tuple):
        return (
            isinstance(value, list | tuple)
            and len(value) == len(condition)
            and all(_matches(one, other) for one, other in zip(value, condition, strict=True))
        )
    return _equals(value, condition)


def _has_operators(condition: Mapping[str, Any]) -> bool:
    return any(name.startswith("$") for name in condition)


def _compare(value: Any, operator: str, operand: Any) -> bool:
    if operator in ("$eq", "$ne"):
        return _equals(value, operand) == (operator == "$eq")
    one, other = _comparable(value, operand)
    return one is not None and other is not None and _COMPARISONS[operator](one, other)


def _equals(value: Any, operand: Any) -> bool:
    if isinstance(operand, date):
        return _as_moment(value) == _as_moment(operand)
    return bool(value == _stored_form(operand))


def _comparable(value: Any, operand: Any) -> tuple[Any, Any]:
    """Both as moments, numbers or texts; None for what is neither."""
    if isinstance(operand, date):
        return _as_moment(value), _as_moment(operand)
    operand = _stored_form(operand)
    one, other = _as_number(value), _as_number(operand)
    if one is not None and other is not None:
        return one, other
    return (value, operand) if isinstance(value, str) and isinstance(operand, str) else (None, None)


def _stored_form(operand: Any) -> Any:
    """An operand as a stored value of the same kind is read back."""
    if isinstance(operand, Enum):
        return operand.value
    return str(operand) if isinstance(operand, UUID) else operand


def _as_moment(value: Any) -> datetime | None:
    """A date, a datetime or its ISO text as a moment; UTC if it has no time zone."""
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value.removesuffix("Z"))
        except ValueError:
            return None
    elif isinstance(value, date) and not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)
    if not isinstance(value, datetime):
        return None
    return value.replace(tzinfo=timezone.utc) if value.tzinfo is None else value


def _as_number(value: Any) -> float | None:
    if not isinstance(value, int | float | str):
        return None
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None
