"""The parts of a LangGraph store that need no state: validation, keys and tags, the text to index."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import date, time
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import UUID

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
from pydantic import BaseModel

from langchain_remanence.item_table import STAMP_KEY, Address, Stamp, Version, version_key
from langchain_remanence.store_filters import check_filter
from remanence import InvalidInput
from remanence.adapters import check_minutes, storable_text

if TYPE_CHECKING:
    from langgraph.store.base import IndexConfig

    from remanence import Change, Memory

IndexFields = Sequence[str] | bool | None
"""The paths of a value that are indexed; False for none, None for the default of the store."""

_MAX_NAME_LENGTH = 400
_MAX_TAGGED_DEPTH = 32
_TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d\S*")
_MAX_RECORD_LENGTH = 120
"""Up to this length the fields of a value are searched together: a question often has words of several."""
_MAX_INDEXED_FIELDS = 500
_MAX_INDEXED_LENGTH = 2_000_000


class IndexedText(NamedTuple):
    """The text by which an item is found, and the ranges of it that are searched separately."""

    text: str
    passages: list[tuple[int, int]]


def check_options(index: object, ttl: object, clock: object) -> None:
    """Refuse options of a store that are of the wrong type."""
    for name, value, example in (("index", index, '{"fields": ["title"]}'), ("ttl", ttl, '{"default_ttl": 60}')):
        if value is not None and not isinstance(value, Mapping):
            raise InvalidInput(
                f"{name}={value!r} is of type {type(value).__name__}, not a dict. Give {name}={example}."
            )
    if isinstance(ttl, Mapping):
        for name in ("default_ttl", "sweep_interval_minutes"):
            check_minutes(ttl.get(name), name)
    if clock is not None and not callable(clock):
        raise InvalidInput(f"clock={clock!r} cannot be called. Give a function that returns a datetime.")


def index_fields(index: IndexConfig | Mapping[str, Any] | None, fields: Sequence[str] | None) -> list[str] | None:
    """The paths that are indexed by default: those of `fields`, or of an IndexConfig."""
    configured = (index or {}).get("fields") or (index or {}).get("text_fields")
    if fields is not None and configured is not None:
        raise InvalidInput(f"fields={fields!r} and index with the fields {configured!r} were given. Give one of them.")
    given = configured if fields is None else fields
    if given is None or isinstance(given, str):
        return None if given is None else [given]
    if not isinstance(given, Sequence) or not all(isinstance(path, str) for path in given):
        raise InvalidInput(f"fields={given!r} is not a list of paths. Give for example fields=['title', 'body'].")
    return list(given)


def count_fields(index: IndexFields, default: Sequence[str] | None) -> int:
    """How many fields of an item were chosen to be indexed; 0 for the entire value."""
    chosen = default if index is None else index
    return 0 if chosen is None or isinstance(chosen, bool) else len(chosen)


def with_key(memory: dict[str, Any], stamp: Stamp | None) -> dict[str, Any]:
    """A memory with the key of its item and the checkpoint that writes it."""
    meta = memory["meta"]
    key = item_key(tuple(meta["namespace"]), meta["key"], stamp)
    return {**memory, "key": key, "meta": meta if stamp is None else meta | {STAMP_KEY: stamp.as_meta()}}


def read_item(memory: Memory, change: Change) -> tuple[Address, Version] | None:
    """The address and the version that a memory holds; None if it is not an item of a store."""
    meta = memory.meta
    if not {"namespace", "key", "put"} <= meta.keys():
        return None
    version = Version(
        written_at=change.at,
        position=change.position,
        memory_id=memory.id,
        version_key=version_key(memory),
        value=meta if "value" in meta else None,
        stamp=Stamp.from_memory(memory),
        expires_at=memory.expires_at,
        put_id=meta["put"],
        is_ttl_refresh=meta.get("renews", False),
    )
    return (tuple(meta["namespace"]), meta["key"]), version


def validate_op(op: Op) -> Op:
    """Return an operation if it is valid: what `put` and `search` refuse is refused in a batch too."""
    if isinstance(op, PutOp):
        _check_labels(op.namespace)
        if op.value is not None:
            if not op.namespace:
                raise InvalidNamespaceError("an item cannot be stored in the empty namespace. Give at least one label.")
            value: object = op.value
            if not isinstance(value, Mapping | BaseModel) and (not is_dataclass(value) or isinstance(value, type)):
                raise InvalidInput(f"value={op.value!r} is not a mapping. Give a dict that can be written as JSON.")
            check_minutes(op.ttl)
    elif isinstance(op, GetOp):
        _check_labels(op.namespace)
    elif isinstance(op, SearchOp):
        _check_labels(op.namespace_prefix)
        check_filter(op.filter)
        _check_page(op)
    elif isinstance(op, ListNamespacesOp):
        for condition in op.match_conditions or ():
            _check_labels(_path_labels(condition))
        _check_page(op)
    else:
        raise ValueError(f"{op!r} is not an operation of a store. Give GetOp, PutOp, SearchOp or ListNamespacesOp.")
    return op


def json_copy(value: Any) -> dict[str, Any]:
    """Return a value as it will be read back.

    >>> json_copy({"at": (1, 2), "day": date(2026, 5, 4)})
    {'at': [1, 2], 'day': '2026-05-04'}
    """
    mapping = dict(value) if isinstance(value, Mapping) else _as_json(value)
    try:
        copied: dict[str, Any] = json.loads(json.dumps(mapping, allow_nan=False, default=_as_json))
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(
            f"a value with the fields {', '.join(map(repr, mapping))} cannot be written as JSON ({error}). "
            "Use text, numbers, lists, dicts, datetimes, UUIDs, enums, dataclasses and pydantic models."
        ) from None
    return copied


def item_key(namespace: tuple[str, ...], key: str, stamp: Stamp | None) -> str:
    """Return the key of the memory of an item.

    Each checkpoint has its own, so that a branch of a thread does not overwrite what another branch wrote.

    >>> item_key(("users", "bob"), "tea", None)
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


def indexed_text(value: Mapping[str, Any], index: IndexFields) -> IndexedText:
    """Return the text by which a value is found. It is empty if nothing is indexed.

    Each indexed field is a passage. By default the entire value is one, with the names of its fields; and if it is
    long, so that a short text would count little in it, every text in it is one too.

    >>> indexed_text({"title": "Tea", "body": "A drink.", "seen": 3}, ["title", "body"])
    IndexedText(text='Tea\\nA drink.', passages=[(0, 3), (4, 12)])
    >>> indexed_text({"content": "Bob drinks tea."}, None)
    IndexedText(text='Bob drinks tea.', passages=[(0, 15)])
    >>> text, passages = indexed_text({"name": "Bob", "age": 42}, None)
    >>> [text[start:end] for start, end in passages]
    ['name: Bob\\nage: 42']
    """
    if index is False:
        return IndexedText("", [])
    if index is not None and index is not True:
        texts = dict.fromkeys(text for path in index for text in get_text_at_path(value, path))
        return _joined(("", text) for text in texts)
    leaves = list(_leaves(value))
    if len(leaves) == 1 and isinstance(leaves[0][1], str):
        return _joined([("", leaves[0][1])])
    text, part_offsets = _joined(leaves)
    return IndexedText(text, [(0, len(text))] * bool(text) + (part_offsets if len(text) > _MAX_RECORD_LENGTH else []))


def select_namespaces(namespaces: Iterable[tuple[str, ...]], op: ListNamespacesOp) -> list[tuple[str, ...]]:
    """Return the namespaces that an operation asks for, sorted."""
    conditions = op.match_conditions or ()
    matching = {name for name in namespaces if all(_matches_path(name, condition) for condition in conditions)}
    if op.max_depth is not None:
        matching = {name[: op.max_depth] for name in matching}
    return sorted(matching)[op.offset : op.offset + op.limit]


def _as_json(value: Any) -> Any:
    """What JSON has no form of, as SqliteStore writes it; and pydantic models."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, UUID):
        return str(value)
    raise TypeError(f"{value!r} is {type(value).__name__}")


def _leaves(value: Any) -> Iterator[tuple[str, Any]]:
    """The texts, numbers and truth values in a value, each with the dotted name of its field.

    Timestamps are left out: they say when a program wrote something, and not when what the text says is true.
    """
    stack: list[tuple[str, Any]] = [("", value)]
    while stack:
        name, found = stack.pop()
        if isinstance(found, Mapping):
            stack += reversed([(f"{name}.{key}" if name else str(key), part) for key, part in found.items()])
        elif isinstance(found, list | tuple):
            stack += reversed([(name, part) for part in found])
        elif found is not None and str(found).strip() and not _TIMESTAMP.fullmatch(str(found)):
            yield name, found


def _joined(lines: Iterable[tuple[str, Any]]) -> IndexedText:
    """Values in one text, each after its name, if it has one. Each that is a text is a passage."""
    text, passages = "", list[tuple[int, int]]()
    for name, value in lines:
        line = storable_text(f"{name}: {value}" if name else str(value), replacement=" ")
        if not line.strip() or len(text) + len(line) > _MAX_INDEXED_LENGTH:
            continue
        text += "\n" + line if text else line
        if isinstance(value, str) and len(passages) < _MAX_INDEXED_FIELDS:
            passages.append((len(text) - len(value), len(text)))
    return IndexedText(text, passages)


def _check_labels(namespace: tuple[str, ...] | str) -> None:
    if isinstance(namespace, str):  # its characters would be labels
        raise InvalidNamespaceError(f"{namespace!r} is text, not a tuple of labels. Give ({namespace!r},).")
    for label in namespace:
        if not isinstance(label, str):
            raise InvalidNamespaceError(f"{label!r} in {namespace!r} is {type(label).__name__}, not text.")
        if not label or "." in label or "\x00" in label:
            raise InvalidNamespaceError(
                f"{label!r} in {namespace!r} is empty, or contains a period or a NUL byte. "
                "Encode it, for example as bob@example%2Ecom."
            )


def _check_page(op: SearchOp | ListNamespacesOp) -> None:
    for name, count in (("limit", op.limit), ("offset", op.offset)):
        if isinstance(count, bool) or not isinstance(count, int) or count < 0:
            raise InvalidInput(f"{name}={count!r} is not a whole number from 0 on.")


def _path_labels(condition: MatchCondition) -> tuple[str, ...]:
    """The labels of a condition; a text is one label."""
    path: str | Sequence[str] = condition.path
    return (path,) if isinstance(path, str) else tuple(path)


def _matches_path(namespace: tuple[str, ...], condition: MatchCondition) -> bool:
    path = _path_labels(condition)
    if len(namespace) < len(path):
        return False
    if condition.match_type not in ("prefix", "suffix"):
        raise InvalidInput(f"match_type={condition.match_type!r} is neither 'prefix' nor 'suffix'.")
    part = namespace[: len(path)] if condition.match_type == "prefix" else namespace[len(namespace) - len(path) :]
    return all(pattern in ("*", label) for label, pattern in zip(part, path, strict=True))


def _shortened(name: str) -> str:
    """A name that is short enough to be a key. A hash has no bracket, so it never equals a name."""
    return name if len(name) <= _MAX_NAME_LENGTH else hashlib.blake2b(name.encode(), digest_size=24).hexdigest()
