"""Filters as mem0 has them: ids, and conditions on metadata with its operators."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from remanence.errors import InvalidInput

_IDS = ("user_id", "agent_id", "run_id")
_OPERATORS = ("eq", "ne", "gt", "gte", "lt", "lte", "in", "nin", "contains")


@dataclass(frozen=True, slots=True)
class FilterParts:
    """The ids of a filter, the name of the speaker, and the conditions on metadata."""

    ids: dict[str, str]
    actor: str | None = None
    metadata: list[Mapping[str, Any]] = field(default_factory=list)

    def meta(self, prefix: str) -> dict[str, Any]:
        """The conditions as a filter of `recall`, on fields below `prefix`."""
        return {"$and": [_translated(condition, prefix) for condition in self.metadata]}


def split_filters(filters: Mapping[str, Any] | None, ids: Mapping[str, object]) -> FilterParts:
    """The parts of a filter, with ids that were given beside it.

    Raises:
        InvalidInput: It names no user, agent or run; or two of one sort; or a value cannot be used.
    """
    if filters is not None and not isinstance(filters, Mapping):
        raise InvalidInput(f"filters={filters!r} is not a dict. Give for example filters={{'user_id': 'alice'}}.")
    found: dict[str, str] = {}
    actors: list[str] = []
    metadata: list[Mapping[str, Any]] = []
    waiting: list[Mapping[str, Any]] = [ids, dict(filters or {})]
    while waiting:
        part = waiting.pop(0)
        for name, value in part.items():
            if name in _IDS and value is not None:
                checked = _checked_id(name, value)
                if found.setdefault(name, checked) != checked:
                    raise InvalidInput(f"{name} is both {found[name]!r} and {checked!r}. Give one of them.")
            elif name == "actor_id":
                actors.append(_checked_id(name, value))
            elif name == "AND":
                waiting += _conditions(name, value)
            elif name not in _IDS:
                metadata.append({name: value})
    if not found:
        raise InvalidInput(
            "At least one of user_id, agent_id or run_id is needed, such as filters={'user_id': 'alice'}. "
            "They cannot stand inside OR or NOT."
        )
    if len(set(actors)) > 1:
        raise InvalidInput(f"actor_id is both {actors[0]!r} and {actors[1]!r}. Give one of them.")
    return FilterParts(found, actors[0] if actors else None, metadata)


def result_count(top_k: int | None, limit: int | None) -> int:
    """How many results are asked for: 20, if it is not said."""
    count = next((value for value in (top_k, limit) if value is not None), 20)
    if not isinstance(count, int) or isinstance(count, bool) or count < 0:
        raise InvalidInput(f"top_k={count!r} is not a whole number of 0 or more.")
    return count


def _checked_id(name: str, value: object) -> str:
    written = str(value).strip()
    if not written or any(letter.isspace() for letter in written) or isinstance(value, Mapping | list):
        raise InvalidInput(f"{name}={value!r} is not an identifier without spaces.")
    return written


def _conditions(name: str, value: object) -> list[Mapping[str, Any]]:
    if not isinstance(value, list) or not value or not all(isinstance(part, Mapping) for part in value):
        raise InvalidInput(f"{name}={value!r} is not a list of conditions.")
    return value


def _translated(condition: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    parts = [_part(name, value, prefix) for name, value in condition.items()]
    return parts[0] if len(parts) == 1 else {"$and": parts}


def _part(name: str, value: Any, prefix: str) -> dict[str, Any]:
    if name in ("AND", "OR", "NOT"):
        inner = [_translated(each, prefix) for each in _conditions(name, value)]
        return {"$not": {"$or": inner}} if name == "NOT" else {f"${name.lower()}": inner}
    if name in _IDS:
        raise InvalidInput(f"{name}={value!r} stands in OR or NOT. Give it beside them: it names what is searched.")
    if value == "*":
        return {f"{prefix}.{name}": {"$exists": True}}
    if not isinstance(value, Mapping):
        return {f"{prefix}.{name}": value}
    for operator in value:
        if operator not in _OPERATORS:
            raise InvalidInput(f"{name}: there is no operator {operator!r} here. Use {', '.join(_OPERATORS)}.")
    return {f"{prefix}.{name}": {f"${operator}": operand for operator, operand in value.items()}}
