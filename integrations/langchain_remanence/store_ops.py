"""What the operations of a LangGraph store mean: names, filters, and the text by which an item is found."""

from __future__ import annotations

import hashlib
import json
import re
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

from langchain_remanence.store_table import Stamp
from remanence import InvalidInput

IndexFields = Sequence[str] | bool | None
"""Which fields of a value are indexed: those, none (False), or what the store takes by itself (None)."""

_MOST_NAME = 400
_DEEPEST = 32
_TELLING = ("content", "text", "memory", "data")
_UNWRITABLE = re.compile("[\x00\ud800-\udfff]")
_ORDER: Mapping[str, Callable[[Any, Any], bool]] = {"$gt": gt, "$gte": ge, "$lt": lt, "$lte": le}
_OPERATORS = ("$eq", "$ne", *_ORDER)


def validate_op(op: Op) -> Op:
    """An operation that can be carried out; what `put` and `search` refuse is refused in a batch too."""
    if isinstance(op, PutOp):
        _check_labels(op.namespace)
        if op.value is not None:
            _check_home(op.namespace)
            if not isinstance(op.value, Mapping):
                raise InvalidInput(f"value={op.value!r} is no mapping. Give a dict that JSON can hold.")
    elif isinstance(op, GetOp):
        _check_labels(op.namespace)
    elif isinstance(op, SearchOp):
        _check_labels(op.namespace_prefix)
        check_filter(op.filter)
    elif isinstance(op, ListNamespacesOp):
        for condition in op.match_conditions or ():
            _check_labels(condition.path)
    else:
        raise ValueError(f"{op!r} is no operation of a store. Give GetOp, PutOp, SearchOp or ListNamespacesOp.")
    return op


def json_copy(value: Mapping[str, Any]) -> dict[str, Any]:
    """A value as it will come back.

    >>> json_copy({"at": (1, 2)})
    {'at': [1, 2]}
    """
    try:
        read: dict[str, Any] = json.loads(json.dumps(dict(value), allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(
            f"a value with the fields {', '.join(map(repr, value))} cannot be written as JSON ({error}). "
            "Keep to text, numbers, lists and dicts."
        ) from None
    return read


def item_key(namespace: tuple[str, ...], key: str, stamp: Stamp | None = None) -> str:
    """The key under which the memory of an item is kept: one for each checkpoint that writes it, so that
    no branch of a thread revises what another wrote.

    >>> item_key(("users", "bob"), "tea")
    '[["users", "bob"], "tea"]'
    """
    mark = [] if stamp is None else [stamp.thread, stamp.checkpoint, stamp.newest]
    return _short(json.dumps([list(namespace), key, *mark]))


def prefix_tag(prefix: tuple[str, ...]) -> str:
    """The tag of everything below a namespace; below a very deep one, that of the namespace above.

    >>> prefix_tag(("users",))
    '["users"]'
    """
    return _short(json.dumps(list(prefix[:_DEEPEST])))


def prefix_tags(namespace: tuple[str, ...]) -> list[str]:
    """The tags of an item in this namespace: one for each namespace that it is below."""
    return [prefix_tag(namespace[:depth]) for depth in range(min(len(namespace), _DEEPEST) + 1)]


def indexed_text(value: Mapping[str, Any], index: IndexFields) -> str | None:
    """The text by which a value is found; None where it is not to be found by its text.

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
        told = (value[name] for name in _TELLING if isinstance(value.get(name), str) and value[name].strip())
        text = next(told, None) or get_text_at_path(value, "$")[0]
    else:
        text = "\n".join(found for path in index for found in get_text_at_path(value, path))
    text = _UNWRITABLE.sub(" ", text)
    return text if text.strip() else None


def matches_filter(value: Mapping[str, Any], wanted: Mapping[str, Any] | None) -> bool:
    """Whether a value passes a filter, which `check_filter` has let through.

    >>> matches_filter({"age": 42, "at": {"city": "Porto", "zip": 4000}}, {"age": {"$gt": 40}, "at": {"zip": 4000}})
    True
    """
    return all(_agrees(value.get(name), asked) for name, asked in (wanted or {}).items())


def check_filter(wanted: Mapping[str, Any] | None) -> None:
    """Refuse an operator that there is not, whether or not an item would be held against it."""
    for asked in (wanted or {}).values():
        if not isinstance(asked, Mapping):
            continue
        if any(name.startswith("$") for name in asked):
            for name in asked:
                if name not in _OPERATORS:
                    raise InvalidInput(f"{name!r} is no operator. The operators are {', '.join(_OPERATORS)}.")
        else:
            check_filter(asked)


def select_namespaces(found: Iterable[tuple[str, ...]], op: ListNamespacesOp) -> list[tuple[str, ...]]:
    """The namespaces that an operation asks for, in order."""
    conditions = op.match_conditions or ()
    fitting = {name for name in found if all(_fits(name, condition) for condition in conditions)}
    if op.max_depth is not None:
        fitting = {name[: op.max_depth] for name in fitting}
    return sorted(fitting)[op.offset : op.offset + op.limit]


def _check_home(namespace: tuple[str, ...]) -> None:
    if not namespace:
        raise InvalidNamespaceError("an item cannot be kept in the empty namespace. Give at least one label.")
    if namespace[0] == "langgraph":
        raise InvalidNamespaceError(f"{namespace!r} begins with 'langgraph', which LangGraph keeps to itself.")


def _check_labels(namespace: tuple[str, ...]) -> None:
    for label in namespace:
        if not isinstance(label, str):
            raise InvalidNamespaceError(f"{label!r} in {namespace!r} is {type(label).__name__}, not text.")
        if not label or "." in label or "\x00" in label:
            raise InvalidNamespaceError(
                f"{label!r} in {namespace!r} is empty, or holds a period or a NUL byte. "
                "Write it another way, for example bob@example%2Ecom."
            )


def _fits(namespace: tuple[str, ...], condition: MatchCondition) -> bool:
    path = tuple(condition.path)
    if len(namespace) < len(path):
        return False
    if condition.match_type not in ("prefix", "suffix"):
        raise InvalidInput(f"match_type={condition.match_type!r} is neither 'prefix' nor 'suffix'.")
    part = namespace[: len(path)] if condition.match_type == "prefix" else namespace[len(namespace) - len(path) :]
    return all(asked in ("*", label) for label, asked in zip(part, path, strict=True))


def _agrees(held: Any, asked: Any) -> bool:
    if isinstance(asked, Mapping):
        if any(name.startswith("$") for name in asked):
            return all(_compares(held, name, limit) for name, limit in asked.items())
        return isinstance(held, Mapping) and all(_agrees(held.get(name), part) for name, part in asked.items())
    if isinstance(asked, list | tuple):
        return (
            isinstance(held, list | tuple)
            and len(held) == len(asked)
            and all(_agrees(one, other) for one, other in zip(held, asked, strict=True))
        )
    return bool(held == asked)


def _compares(held: Any, operator: str, limit: Any) -> bool:
    if operator in ("$eq", "$ne"):
        return bool(held == limit) == (operator == "$eq")
    one, other = _number(held), _number(limit)
    if one is not None and other is not None:
        return _ORDER[operator](one, other)
    texts = isinstance(held, str) and isinstance(limit, str)
    return texts and _ORDER[operator](held, limit)


def _number(value: Any) -> float | None:
    if not isinstance(value, int | float | str):
        return None
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None


def _short(name: str) -> str:
    """A name that is not too long to be one. What is hashed begins with no bracket, so it meets no other."""
    return name if len(name) <= _MOST_NAME else hashlib.blake2b(name.encode(), digest_size=24).hexdigest()
