"""The parts of a LangGraph store that need no state: validation, filters, keys and tags, the text to index."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import ge, gt, le, lt
from typing import Any

from langgraph.store.base import (
    GetOp,
    InvalidNamespaceError,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    SearchOp,
    get_text_at_path,
)

from langchain_remanence.item_table import Stamp
from remanence import InvalidInput
from remanence.adapters import storable_text

IndexFields = Sequence[str] | bool | None
"""The paths of a value that are indexed; False for none, None for the default of the store."""

_MAX_NAME_LENGTH = 400
_MAX_TAGGED_DEPTH = 32
_TEXT_FIELDS = ("content", "text", "memory", "data")
_COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {"$gt": gt, "$gte": ge, "$lt": lt, "$lte": le}
_OPERATORS = ("$eq", "$ne", *_COMPARISONS)


def validate_op(op: Op) -> Op:
    """Return an operation if it is valid: what `put` and `search` refuse is refused in a batch too."""
    if isinstance(op, PutOp):
        _check_labels(op.namespace)
        if op.value is not None:
            _check_put_namespace(op.namespace)
            if not isinstance(op.value, Mapping):
                raise InvalidInput(f"value={op.value!r} is no mapping. Give a dict that can be written as JSON.")
    elif isinstance(op, GetOp):
        _check_labels(op.namespace)
    elif isinstance(op, SearchOp):
        _check_labels(op.namespace_prefix)
        _check_filter(op.filter)
    elif isinstance(op, ListNamespacesOp):
        for condition in op.match_conditions or ():
            _check_labels(condition.path)
    else:
        raise ValueError(f"{op!r} is no operation of a store. Give GetOp, PutOp, SearchOp or ListNamespacesOp.")
    return op


def json_copy(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return a value as it will be read back.

    >>> json_copy({"at": (1, 2)})
    {'at': [1, 2]}
    """
    try:
        copied: dict[str, Any] = json.loads(json.dumps(dict(value), allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(
            f"a value with the fields {', '.join(map(repr, value))} cannot be written as JSON ({error}). "
            "Use text, numbers, lists and dicts."
        ) from None
    return copied


def item_key(namespace: tuple[str, ...], key: str, stamp: Stamp | None = None) -> str:
    """Return the key of the memory of an item.

    Each checkpoint has its own, so that a branch of a thread does not overwrite what another branch wrote.

    >>> item_key(("users", "bob"), "tea")
    '[["users", "bob"], "tea"]'
    """
    checkpoint = [] if stamp is None else [stamp.thread, stamp.checkpoint, stamp.newest]
    return _shortened(json.dumps([list(namespace), key, *checkpoint]))


def prefix_tag(prefix: tuple[str, ...]) -> str:
    """Return the tag of all items below a namespace; of a very deep one, the tag of its ancestor.

    >>> prefix_tag(("users",))
    '["users"]'
    """
    return _shortened(json.dumps(list(prefix[:_MAX_TAGGED_DEPTH])))


def prefix_tags(namespace: tuple[str, ...]) -> list[str]:
    """Return the tags of an item: one for its namespace and one for each above."""
    return [prefix_tag(namespace[:depth]) for depth in range(min(len(namespace), _MAX_TAGGED_DEPTH) + 1)]


def indexed_text(value: Mapping[str, Any], index: IndexFields) -> str | None:
    """Return the text by which a value is found; None if it is not indexed.

    >>> indexed_text({"content": "Bob drinks tea.", "seen": 3}, None)
    'Bob drinks tea.'
    >>> indexed_text({"city": "Porto"}, None)
    '{"city": "Porto"}'
    >>> indexed_text({"city": "Porto", "tags": ["a", "b"]}, ["tags[*]"])
    'a\\nb'
    """
    if index is False:
        return None
    if index is None or index is True:
        texts = (value[name] for name in _TEXT_FIELDS if isinstance(value.get(name), str) and value[name].strip())
        text = next(texts, None) or get_text_at_path(value, "$")[0]
    else:
        text = "\n".join(found for path in index for found in get_text_at_path(value, path))
    text = storable_text(text, replacement=" ")
    return text if text.strip() else None


def matches_filter(value: Mapping[str, Any], condition: Mapping[str, Any] | None) -> bool:
    """Tell whether a value matches a filter that `validate_op` has checked.

    >>> matches_filter({"age": 42, "at": {"city": "Porto", "zip": 4000}}, {"age": {"$gt": 40}, "at": {"zip": 4000}})
    True
    """
    return all(_matches(value.get(name), part) for name, part in (condition or {}).items())


def select_namespaces(namespaces: Iterable[tuple[str, ...]], op: ListNamespacesOp) -> list[tuple[str, ...]]:
    """Return the namespaces that an operation asks for, sorted."""
    conditions = op.match_conditions or ()
    matching = {name for name in namespaces if all(_matches_path(name, condition) for condition in conditions)}
    if op.max_depth is not None:
        matching = {name[: op.max_depth] for name in matching}
    return sorted(matching)[op.offset : op.offset + op.limit]


def _check_filter(condition: Mapping[str, Any] | None) -> None:
    """Refuse an unknown operator, even if no item would be compared with it."""
    for part in (condition or {}).values():
        if not isinstance(part, Mapping):
            continue
        if any(name.startswith("$") for name in part):
            for name in part:
                if name not in _OPERATORS:
                    raise InvalidInput(f"{name!r} is no operator. The operators are {', '.join(_OPERATORS)}.")
        else:
            _check_filter(part)


def _check_put_namespace(namespace: tuple[str, ...]) -> None:
    if not namespace:
        raise InvalidNamespaceError("an item cannot be stored in the empty namespace. Give at least one label.")
    if namespace[0] == "langgraph":
        raise InvalidNamespaceError(f"{namespace!r} begins with 'langgraph', which LangGraph reserves for itself.")


def _check_labels(namespace: tuple[str, ...]) -> None:
    for label in namespace:
        if not isinstance(label, str):
            raise InvalidNamespaceError(f"{label!r} in {namespace!r} is {type(label).__name__}, not text.")
        if not label or "." in label or "\x00" in label:
            raise InvalidNamespaceError(
                f"{label!r} in {namespace!r} is empty, or contains a period or a NUL byte. "
                "Encode it, for example as bob@example%2Ecom."
            )


def _matches_path(namespace: tuple[str, ...], condition: MatchCondition) -> bool:
    path = tuple(condition.path)
    if len(namespace) < len(path):
        return False
    if condition.match_type not in ("prefix", "suffix"):
        raise InvalidInput(f"match_type={condition.match_type!r} is neither 'prefix' nor 'suffix'.")
    part = namespace[: len(path)] if condition.match_type == "prefix" else namespace[len(namespace) - len(path) :]
    return all(pattern in ("*", label) for label, pattern in zip(part, path, strict=True))


def _matches(value: Any, condition: Any) -> bool:
    if isinstance(condition, Mapping):
        if any(name.startswith("$") for name in condition):
            return all(_compare(value, name, operand) for name, operand in condition.items())
        return isinstance(value, Mapping) and matches_filter(value, condition)
    if isinstance(condition, list | tuple):
        return (
            isinstance(value, list | tuple)
            and len(value) == len(condition)
            and all(_matches(one, other) for one, other in zip(value, condition, strict=True))
        )
    return bool(value == condition)


def _compare(value: Any, operator: str, operand: Any) -> bool:
    if operator in ("$eq", "$ne"):
        return bool(value == operand) == (operator == "$eq")
    one, other = _as_number(value), _as_number(operand)
    if one is not None and other is not None:
        return _COMPARISONS[operator](one, other)
    return isinstance(value, str) and isinstance(operand, str) and _COMPARISONS[operator](value, operand)


def _as_number(value: Any) -> float | None:
    if not isinstance(value, int | float | str):
        return None
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None


def _shortened(name: str) -> str:
    """A name that is short enough to be a key. A hash has no bracket, so it never equals a name."""
    return name if len(name) <= _MAX_NAME_LENGTH else hashlib.blake2b(name.encode(), digest_size=24).hexdigest()
