"""Filters on the metadata of memories: `{"lang": "pt", "page": {"$gte": 3}}`.

A filter maps the names of fields to values, or to conditions such as `{"$in": ["pt", "es"]}`. A name with dots leads
into nested metadata, unless there is a field of that very name. A field that is missing counts as null.
"""

from __future__ import annotations

import json
import operator
from collections.abc import Callable, Mapping
from functools import reduce
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from remanence.errors import InvalidInput
from remanence.text.text import truncate

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Predicate: TypeAlias = Callable[[Any], bool]
"""Whether the value of a field matches; it is given `MISSING` if there is no such field."""
Mask: TypeAlias = "NDArray[np.bool_]"

MISSING: Final = object()
_EXAMPLE = "Give for example {'lang': 'pt', 'page': {'$gte': 3}}."


def check_filter(value: object) -> dict[str, Any]:
    """The filter as plain JSON values.

    Raises:
        InvalidInput: It is not a filter; the message names the part that is wrong.
    """
    try:
        checked = json.loads(json.dumps(value, allow_nan=False, ensure_ascii=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(
            f"meta={truncate(repr(value), 120) if not isinstance(error, RecursionError) else '...'} cannot be "
            f"written as JSON ({error}). Use only text, numbers, booleans, None and lists of them."
        ) from None
    try:
        _check(checked, "meta")
    except RecursionError:
        raise InvalidInput(f"meta is nested too deeply. {_EXAMPLE}") from None
    return dict(checked)


def filter_mask(checked: Mapping[str, Any], field_mask: Callable[[str, Predicate], Mask]) -> Mask:
    """The rows that match a filter. `field_mask` returns those of which one field satisfies a predicate."""
    return reduce(operator.and_, [_part_mask(name, operand, field_mask) for name, operand in checked.items()])


def value_at(value: Any, path: str) -> Any:
    """The value in nested metadata that a name with dots leads to, or `MISSING`.

    >>> value_at({"author": {"name": "Ana"}}, "author.name")
    'Ana'
    """
    if not isinstance(value, Mapping):
        return MISSING
    if path in value:
        return value[path]
    first, _, rest = path.partition(".")
    return value_at(value[first], rest) if rest and first in value else MISSING


def _part_mask(name: str, operand: Any, field_mask: Callable[[str, Predicate], Mask]) -> Mask:
    if name in ("$and", "$or"):
        masks = [filter_mask(part, field_mask) for part in operand]
        return reduce(operator.and_ if name == "$and" else operator.or_, masks)
    if name == "$not":
        negated: Mask = ~filter_mask(operand, field_mask)
        return negated
    return field_mask(name, _predicate(operand))


def _predicate(operand: Any) -> Predicate:
    if not _is_condition(operand):
        return lambda found: _equal(found, operand)
    tests = [(_OPERATORS[name], value) for name, value in operand.items()]
    return lambda found: all(test(found, value) for test, value in tests)


def _equal(value: Any, operand: Any) -> bool:
    if value is MISSING:
        return operand is None
    if isinstance(value, bool) or isinstance(operand, bool):  # True is not 1
        return value is operand
    return bool(value == operand)


def _compare(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    def test(found: Any, operand: Any) -> bool:
        comparable = isinstance(found, str) if isinstance(operand, str) else _is_number(found)
        return comparable and compare(found, operand)

    return test


def _contains(value: Any, operand: Any) -> bool:
    if isinstance(value, list):
        return any(_equal(item, operand) for item in value)
    return isinstance(value, str) and isinstance(operand, str) and operand in value


_OPERATORS: Mapping[str, Callable[[Any, Any], bool]] = MappingProxyType(
    {
        "$eq": _equal,
        "$ne": lambda found, operand: not _equal(found, operand),
        "$gt": _compare(operator.gt),
        "$gte": _compare(operator.ge),
        "$lt": _compare(operator.lt),
        "$lte": _compare(operator.le),
        "$in": lambda found, operand: any(_equal(found, option) for option in operand),
        "$nin": lambda found, operand: not any(_equal(found, option) for option in operand),
        "$contains": _contains,
        "$exists": lambda found, operand: (found is not MISSING) == operand,
    }
)
_COMPARISONS = ("$gt", "$gte", "$lt", "$lte")


def _check(value: object, where: str) -> None:
    if not isinstance(value, dict) or not value:
        raise InvalidInput(f"{where}={_shown(value)} is not a dict of fields. {_EXAMPLE}")
    for name, operand in value.items():
        if name in ("$and", "$or"):
            if not isinstance(operand, list) or not operand:
                raise InvalidInput(f"{where}: {name} is given {_shown(operand)}. Give it a list of filters.")
            for place, part in enumerate(operand):
                _check(part, f"{where}: {name}[{place}]")
        elif name == "$not":
            _check(operand, f"{where}: $not")
        elif name.startswith("$"):
            raise InvalidInput(
                f"{where}: {name!r} stands where a field is expected. Only $and, $or and $not may stand there; "
                f"an operator belongs to a field: {{'page': {{'$gte': 3}}}}."
            )
        elif _is_condition(operand):
            _check_condition(operand, f"{where}: {name}")


def _check_condition(condition: Mapping[str, Any], where: str) -> None:
    for name, operand in condition.items():
        if name not in _OPERATORS:
            raise InvalidInput(f"{where}: there is no operator {name!r}. The operators are {', '.join(_OPERATORS)}.")
        if name in ("$in", "$nin") and not isinstance(operand, list):
            raise InvalidInput(f"{where}: {name} is given {_shown(operand)}. Give it a list.")
        if name in _COMPARISONS and not (isinstance(operand, str) or _is_number(operand)):
            raise InvalidInput(f"{where}: {name} is given {_shown(operand)}. Give it a number or a text.")
        if name == "$exists" and not isinstance(operand, bool):
            raise InvalidInput(f"{where}: $exists is given {_shown(operand)}. Give it True or False.")


def _is_condition(operand: object) -> bool:
    """Whether this is a dict of operators. Any other dict is a value."""
    return isinstance(operand, dict) and any(name.startswith("$") for name in operand)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _shown(value: object) -> str:
    return truncate(repr(value), 120)
