"""LangGraph stores: the file of a SqliteStore, or any object with the methods of a BaseStore.

An item becomes a memory: its text is that of the value, its source the namespace, and its metadata are the value. The
namespace is the owner of an item.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, Protocol, runtime_checkable

from remanence.transfer.imports.records import (
    Item,
    Record,
    SkippedItem,
    Source,
    SqliteFile,
    as_json,
    as_list,
    as_mapping,
    as_moment,
    as_text,
    make_key,
)

_PAGE = 100
"""Items of a store that are read at a time."""
_TEXT_FIELDS = ("content", "text", "memory", "data")
_TRIPLE = ("subject", "predicate", "object")
_MAX_SOURCE_LENGTH = 400
"""Characters of the source of an imported memory."""
_COLUMNS = "prefix key value created_at updated_at expires_at"


@runtime_checkable
class BaseStore(Protocol):
    """What is used of LangGraph's BaseStore."""

    def list_namespaces(self, *, limit: int, offset: int) -> Iterable[tuple[str, ...]]: ...

    def search(self, namespace_prefix: tuple[str, ...], /, *, limit: int, offset: int) -> Iterable[Any]: ...


class LangGraphFile(Source):
    """The items of a SqliteStore."""

    kind = "LangGraph store"

    def __init__(self, file: SqliteFile, now: datetime) -> None:
        super().__init__(str(file.path), file.count("store"))
        self._file, self._now = file, now

    def owners(self) -> list[tuple[str, ...]]:
        return [_namespace(prefix) for (prefix,) in self._file.execute("SELECT DISTINCT prefix FROM store")]

    def read(self) -> Iterator[Item]:
        for row in self._file.rows("store", _COLUMNS, "created_at, prefix, key"):
            self._done += 1
            namespace, key = _namespace(row["prefix"]), as_text(row["key"])
            expires = as_moment(row["expires_at"])
            try:
                value = json.loads(row["value"])
            except (ValueError, TypeError, RecursionError):
                yield SkippedItem(_where(namespace, key), "a value that is not JSON")
                continue
            if expires is not None and expires <= self._now:
                yield SkippedItem(_where(namespace, key), "it has expired")
            else:
                yield _item(namespace, key, value, as_moment(row["created_at"]), expires)

    def close(self) -> None:
        self._file.close()


class LangGraphStore(Source):
    """The items of a store object."""

    kind = "LangGraph store"

    def __init__(self, store: BaseStore) -> None:
        self._store = store
        self._namespaces: list[tuple[str, ...]] = []
        while page := list(store.list_namespaces(limit=_PAGE, offset=len(self._namespaces))):
            self._namespaces += [tuple(item) for item in page]
        super().__init__(type(store).__name__, len(self._namespaces))

    def owners(self) -> list[tuple[str, ...]]:
        return self._namespaces

    def read(self) -> Iterator[Item]:
        for namespace in self._namespaces:
            self._done += 1
            offset = 0
            while page := list(self._store.search(namespace, limit=_PAGE, offset=offset)):
                offset += len(page)
                # A search finds the namespaces below, too; they are read by themselves.
                for item in page:
                    if tuple(item.namespace) == namespace:
                        yield _item(namespace, item.key, item.value, item.created_at, None)


def stored_item(row: Mapping[str, Any]) -> Item:
    """An item as `Item.dict()` of LangGraph writes it."""
    created, namespace = as_moment(row.get("created_at")), tuple(map(str, as_list(row.get("namespace"))))
    return _item(namespace, as_text(row.get("key")), row.get("value"), created, None)


def _item(namespace: tuple[str, ...], key: str, value: Any, created: datetime | None, expires: datetime | None) -> Item:
    try:
        value = as_json(value)
    except ValueError:
        return SkippedItem(_where(namespace, key), "a value that cannot be written as JSON")
    found = text_of_value(value)
    if not found:
        return SkippedItem(_where(namespace, key), "an item without text")
    fields: dict[str, Any] = {
        "text": found,
        "now": created,
        "source": ("/".join(namespace) or "store")[:_MAX_SOURCE_LENGTH],
        "meta": {"namespace": list(namespace), "key": key, "value": value},
        "expires_at": expires,
    }
    # langmem stores a fact as a Triple, which is the content of the value.
    triple = [as_text(as_mapping(as_mapping(value).get("content")).get(part)) for part in _TRIPLE]
    if all(triple):
        fields |= {"text": " ".join(triple), "triples": [triple]}
    return Record(make_key("langgraph", "/".join(namespace), key), fields, owner=namespace)


def text_of_value(value: Any) -> str:
    """The text of a value: that of its field "content", "text", "memory" or "data", else all its texts by name.

    >>> text_of_value({"kind": "Memory", "content": {"content": "Ana likes tea."}})
    'Ana likes tea.'
    >>> text_of_value({"city": "Porto", "pets": {"dog": "Rex"}})
    'city: Porto\\npets.dog: Rex'
    """
    for name in _TEXT_FIELDS:
        inner = as_mapping(value).get(name)
        if found := as_text(inner) or (text_of_value(inner) if isinstance(inner, Mapping) else ""):
            return found
    return "\n".join(f"{path}: {text}" if path else text for path, text in _texts(value, ""))


def _texts(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """The texts and numbers in a value, with the names that lead to them. Without recursion: a value may be deep."""
    waiting = [(path, value)]
    while waiting:
        path, value = waiting.pop(0)
        if isinstance(value, Mapping):
            waiting[:0] = [(f"{path}.{name}" if path else str(name), inner) for name, inner in value.items()]
        elif isinstance(value, list | tuple):
            waiting[:0] = [(path, inner) for inner in value]
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield path, str(value)
        elif text := as_text(value):
            yield path, text


def _namespace(prefix: object) -> tuple[str, ...]:
    return tuple(part for part in as_text(prefix).split(".") if part)


def _where(namespace: tuple[str, ...], key: str) -> str:
    return "/".join((*namespace, key))
