"""Filters as mem0 has them: ids, and conditions on metadata with its operators."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from remanence.errors import InvalidInput

ID_NAMES = ("user_id", "agent_id", "run_id")
KEPT = "mem0"
"""The field of `Memory.meta` with the metadata of the caller."""
_OPERATORS = ("eq", "ne", "gt", "gte", "lt", "lte", "in", "nin", "contains")


@dataclass(frozen=True, slots=True)
class Filters:
    """The ids of a filter, and the rest of it as filters of `recall`."""

    ids: dict[str, str]
    of_recall: dict[str, Any]


def read_filters(filters: Mapping[str, Any] | None, **ids: object) -> Filters:
    """A filter, with ids that were given beside it.

    Raises:
        InvalidInput: It names no user, agent or run; or two of one sort; or a value cannot be used.
    """
    if filters is not None and not isinstance(filters, Mapping):
        raise InvalidInput(f"filters={filters!r} is not a dict. Give for example filters={{'user_id': 'alice'}}.")
    found: dict[str, str] = {}
    metadata: list[dict[str, Any]] = []
    waiting: list[Mapping[str, Any]] = [ids, dict(filters or {})]
    while waiting:
        for name, value in waiting.pop(0).items():
            if name == "AND":
                waiting += _conditions(name, value)
            elif name not in (*ID_NAMES, "actor_id"):
                metadata.append(_condition(name, value))
            elif value is not None:
                written = str(value).strip()
                if not written or any(letter.isspace() for letter in written) or isinstance(value, Mapping | list):
                    raise InvalidInput(f"{name}={value!r} is not an identifier without spaces.")
                if found.setdefault(name, written) != written:
                    raise InvalidInput(f"{name} is both {found[name]!r} and {written!r}. Give one of them.")
    of_recall: dict[str, Any] = {"speaker": found.pop("actor_id")} if "actor_id" in found else {}
    if not found:
        raise InvalidInput(
            "At least one of user_id, agent_id or run_id is needed, such as filters={'user_id': 'alice'}. "
            "They cannot stand inside OR or NOT."
        )
    if metadata:
        of_recall["meta"] = {"$and": metadata}
    return Filters({name: found[name] for name in ID_NAMES if name in found}, of_recall)


def _conditions(name: str, value: object) -> list[Mapping[str, Any]]:
    if not isinstance(value, list) or not value or not all(isinstance(part, Mapping) for part in value):
        raise InvalidInput(f"{name}={value!r} is not a list of conditions.")
    return value


def _condition(name: str, value: Any) -> dict[str, Any]:
    """A condition as a filter of `recall` on metadata."""
    if name in ("AND", "OR", "NOT"):
        inner = [{"$and": [_condition(*item) for item in each.items()]} for each in _conditions(name, value)]
        return {"$not": {"$or": inner}} if name == "NOT" else {f"${name.lower()}": inner}
    if name in ID_NAMES:
        raise InvalidInput(f"{name}={value!r} stands in OR or NOT. Give it beside them: it names what is searched.")
    if value == "*":
        return {f"{KEPT}.{name}": {"$exists": True}}
    if not isinstance(value, Mapping):
        return {f"{KEPT}.{name}": value}
    for operator in value:
        if operator not in _OPERATORS:
            raise InvalidInput(f"{name}: there is no operator {operator!r} here. Use {', '.join(_OPERATORS)}.")
    return {f"{KEPT}.{name}": {f"${operator}": operand for operator, operand in value.items()}}
