"""Databases of mem0 and memvara.

Of mem0: its local Qdrant folder, its `history.db`, or a folder that has both.
The Qdrant folder has the memories with their metadata, the history what they said before. With the history alone,
memories are imported without users and metadata. Qdrant stores Python pickles, which can run any code when they are
read; here they are read without importing or calling anything.

Of memvara: its claims with both clocks, its turns and its documents.
"""

from __future__ import annotations

import io
import json
import pickle
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from remanence.errors import InvalidInput
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

HISTORY_COLUMNS = ("memory_id", "old_memory", "new_memory", "event")
_OWN_FIELDS = {"data", "hash", "created_at", "updated_at", "text_lemmatized", "expiration_date", "attributed_to"}
_BROKEN_PICKLE = (
    *(pickle.UnpicklingError, ValueError, TypeError, KeyError, IndexError, AttributeError, EOFError),
    *(RecursionError, MemoryError, OverflowError),
)
_MESSAGE_COLUMNS = "id session_scope role content name created_at"


class Mem0Database(Source):
    """The memories of mem0, with their earlier versions, and the last messages that it keeps."""

    kind = "mem0 database"

    def __init__(self, path: Path, collections: list[SqliteFile], history: SqliteFile | None, now: datetime) -> None:
        super().__init__(str(path), sum(collection.count("points") for collection in collections))
        self._collections, self._history, self._now = collections, history, now
        if history is not None:
            self._total += history.count("messages") if history.has("messages") else 0
            self._total += 0 if collections else history.count("history")

    def owners(self) -> list[tuple[str, ...]]:
        """The users, by a pass through all memories."""
        payloads = (_payload(point) for file in self._collections for point in _points(file) if _payload(point))
        found = dict.fromkeys(_owner(payload) for payload in payloads if "linked_memory_ids" not in payload)
        scopes = dict.fromkeys(_scope_owner(row["session_scope"]) for row in self._messages())
        return [owner for owner in found | scopes if owner]

    def read(self) -> Iterator[Item]:
        """Yield every memory, and then the messages."""
        self._index_history()
        for file in self._collections:
            for point in _points(file):
                self._done += 1
                yield from self._memory(point)
        if self._history is not None:
            yield from self._history_alone() if not self._collections else self._deleted()
        for row in self._messages():
            self._done += 1
            yield _message(row)

    def close(self) -> None:
        for file in (*self._collections, *([self._history] if self._history else [])):
            file.close()

    def _memory(self, point: Mapping[str, Any] | None) -> Iterator[Item]:
        payload = _payload(point)
        if point is None or not payload:
            yield SkippedItem(self.path, "a point of Qdrant that is not one of mem0, or is damaged")
            return
        if "linked_memory_ids" in payload:
            yield SkippedItem(as_text(payload.get("data")), "an entity: names are found in the memories again")
            return
        memory_id, text = str(point.get("id")), as_text(payload.get("data"))
        expires = as_moment(payload.get("expiration_date"))
        if not text or (expires is not None and expires <= self._now):
            yield SkippedItem(text or memory_id, "it has expired" if text else "a memory without text")
            return
        user, role = as_text(payload.get("user_id")), payload.get("role")
        said_by = as_text(payload.get("actor_id")) or (user if role == "user" else as_text(role))
        try:
            meta = as_json({name: value for name, value in payload.items() if name not in _OWN_FIELDS})
        except ValueError:
            yield SkippedItem(memory_id, "metadata that cannot be written as JSON")
            return
        common = {
            "meta": meta,
            "expires_at": expires,
            **({"observed_by": said_by} if said_by else {}),
            **({"tags": tags} if (tags := [*filter(None, map(as_text, as_list(payload.get("categories"))))]) else {}),
        }
        created, updated = as_moment(payload.get("created_at")), as_moment(payload.get("updated_at"))
        said_before = [(before, at) for before, at in self._versions(memory_id) if before != text]
        yield Record(
            make_key("mem0", memory_id),
            {"text": text, "now": updated if said_before else created, **common},
            owner=_owner(payload),
            previous_versions=tuple({"text": before, "now": at or created, **common} for before, at in said_before),
        )

    def _index_history(self) -> None:
        """Copy the history, by memory, to a temporary table of SQLite: mem0 has no index for it."""
        if self._history is not None:
            list(
                self._history.execute(
                    "CREATE TEMP TABLE versions AS SELECT memory_id, new_memory, event, "
                    "coalesce(updated_at, created_at) AS at FROM history ORDER BY memory_id, at, history.rowid"
                )
            )
            list(self._history.execute("CREATE INDEX temp.by_memory ON versions (memory_id)"))

    def _versions(self, memory_id: str) -> Iterator[tuple[str, Any]]:
        """The texts that a memory has had, in order."""
        if self._history is not None:
            query = "SELECT new_memory, at FROM versions WHERE memory_id = ? AND new_memory IS NOT NULL ORDER BY rowid"
            for text, at in self._history.execute(query, [memory_id]):
                if as_text(text):
                    yield as_text(text), as_moment(at)

    def _deleted(self) -> Iterator[Item]:
        assert self._history is not None
        for (memory_id,) in self._history.execute("SELECT memory_id FROM versions WHERE event = 'DELETE'"):
            yield SkippedItem(str(memory_id), "a memory that was deleted in mem0")

    def _history_alone(self) -> Iterator[Item]:
        assert self._history is not None
        for (memory_id,) in self._history.execute("SELECT DISTINCT memory_id FROM versions WHERE event != 'DELETE'"):
            self._done += 1
            is_deleted = "SELECT 1 FROM versions WHERE memory_id = ? AND event = 'DELETE'"
            versions = [{"text": text, "now": at} for text, at in self._versions(memory_id)]
            if any(self._history.execute(is_deleted, [memory_id])):
                yield SkippedItem(str(memory_id), "a memory that was deleted in mem0")
            elif versions:
                yield Record(make_key("mem0", memory_id), versions[-1], previous_versions=tuple(versions[:-1]))

    def _messages(self) -> Iterator[dict[str, Any]]:
        if self._history is not None and self._history.has("messages", "content"):
            yield from self._history.rows("messages", _MESSAGE_COLUMNS, "created_at, rowid")


def qdrant_collections(folder: Path) -> list[SqliteFile]:
    """The collections in a folder of Qdrant's local mode."""
    try:
        described = json.loads((folder / "meta.json").read_bytes())
    except (OSError, ValueError) as error:
        raise InvalidInput(f"{folder / 'meta.json'} is not that of a Qdrant folder: {error}.") from error
    names = as_mapping(as_mapping(described).get("collections"))
    files = [folder / "collection" / name / "storage.sqlite" for name in names if name != "mem0migrations"]
    return [SqliteFile(file) for file in files if file.is_file()]


def _message(row: Mapping[str, Any]) -> Item:
    text, scope = as_text(row["content"]), as_text(row["session_scope"])
    if not text:
        return SkippedItem(scope, "a message without text")
    speaker = {"speaker": as_text(row["name"])} if as_text(row["name"]) else {}
    fields = {
        "content": text,
        "role": as_text(row["role"]) or "user",
        "time": as_moment(row["created_at"]),
        "conversation": f"mem0:{scope}"[:400],
    }
    return Record(make_key("mem0", "message", str(row["id"])), fields | speaker, True, _scope_owner(scope))


def _owner(payload: Mapping[str, Any]) -> tuple[str, ...]:
    user = as_text(payload.get("user_id"))
    return ("users", user) if user else ()


def _scope_owner(scope: object) -> tuple[str, ...]:
    """The user in a scope such as "agent_id=coach&user_id=bob"."""
    parts = dict(part.partition("=")[::2] for part in as_text(scope).split("&"))
    return ("users", parts["user_id"]) if parts.get("user_id") else ()


def _payload(point: Mapping[str, Any] | None) -> Mapping[str, Any]:
    return as_mapping(as_mapping(point).get("payload"))


def _points(file: SqliteFile) -> Iterator[Mapping[str, Any] | None]:
    """The points of a collection, those that were written last at the end; None for one that cannot be read."""
    # An older release of Qdrant may have left a copy of a point: only the last one counts.
    last = {_point_id(point): row for row, point in _rows(file)}
    for row, point in _rows(file):
        if point is None or last[_point_id(point)] == row:
            yield point


def _point_id(point: Mapping[str, Any] | None) -> str:
    return str(as_mapping(point).get("id"))


def _rows(file: SqliteFile) -> Iterator[tuple[int, Mapping[str, Any] | None]]:
    for row, pickled in file.execute("SELECT rowid, point FROM points ORDER BY rowid"):
        try:
            point = _PointUnpickler(io.BytesIO(pickled)).load()
        except _BROKEN_PICKLE:
            yield row, None
        else:
            yield row, point.fields if isinstance(point, _Point) else None


class _Point:
    """Stands for any class in a pickle: it keeps the fields that it is given, and does nothing."""

    def __init__(self, *_: Any) -> None:
        self.fields: dict[str, Any] = {}

    def __setstate__(self, state: Any) -> None:
        self.fields = dict(as_mapping(as_mapping(state).get("__dict__", state)))


class _PointUnpickler(pickle.Unpickler):
    """Reads a point of Qdrant. No module is imported and no function called, whatever the pickle names."""

    def find_class(self, module: str, name: str) -> Any:
        if module.partition(".")[0] not in ("qdrant_client", "pydantic", "pydantic_core"):
            raise pickle.UnpicklingError(f"{module}.{name} is not part of a point of Qdrant")
        return _Point


_KINDS = {"episodic": "episode", "semantic": "semantic", "procedural": "viewpoint"}
_SCOPE = "tenant usr agent session"
_CLAIM = (
    f"id {_SCOPE} subject predicate object text polarity memory_type valid_from valid_to recorded_at invalidated_at "
    "confidence expires_at meta"
)
_EPISODE = f"id {_SCOPE} role content ts meta"
_ONE_TENANT = "default"


class MemvaraDatabase(Source):
    """The claims, turns and documents of memvara."""

    kind = "memvara database"

    def __init__(self, file: SqliteFile, now: datetime) -> None:
        super().__init__(str(file.path), file.count("claims") + file.count("episodes"))
        self._file, self._now = file, now

    def owners(self) -> list[tuple[str, ...]]:
        query = "SELECT tenant, usr FROM claims UNION SELECT tenant, usr FROM episodes"
        found = [_owner_in_tenant({"tenant": tenant, "usr": user}) for tenant, user in self._file.execute(query)]
        return [owner for owner in found if owner]

    def read(self) -> Iterator[Item]:
        """Yield the claims, which have the older times, then turns and documents."""
        for row in self._file.rows("claims", _CLAIM, "recorded_at, id"):
            self._done += 1
            yield self._claim(row)
        titles = self._titles()
        for row in self._file.rows("episodes", _EPISODE, "ts, rowid"):
            self._done += 1
            yield _episode(row, titles)
        if self._file.has("claim_links") and (links := self._file.count("claim_links")):
            yield SkippedItem(f"{links:,} links", "links between memories")

    def close(self) -> None:
        self._file.close()

    def _claim(self, row: Mapping[str, Any]) -> Item:
        text, where = as_text(row["text"]), as_text(row["id"])
        expires = as_moment(row["expires_at"])
        if not text:
            return SkippedItem(where, "a claim without text")
        if row["invalidated_at"] is not None:
            return SkippedItem(text, "a claim that was withdrawn in memvara")
        if expires is not None and expires <= self._now:
            return SkippedItem(text, "it has expired")
        triple = tuple(as_text(row[name]) for name in ("subject", "predicate", "object"))
        valid_from, valid_until = as_moment(row["valid_from"]), as_moment(row["valid_to"])
        is_window = valid_until is not None and (valid_from is None or valid_until > valid_from)
        fields = {
            "text": text,
            "kind": _KINDS.get(row["memory_type"]),
            "now": as_moment(row["recorded_at"]),
            "valid_from": valid_from,
            "valid_until": valid_until if is_window else None,
            "confidence": _fraction(row["confidence"]),
            "expires_at": expires,
            "triples": [triple] if all(triple) and row["polarity"] == 1 else None,
            "source": _claim_source(row),
            "meta": _read_meta(row["meta"]),
        }
        return Record(make_key("memvara", where), fields, owner=_owner_in_tenant(row))

    def _titles(self) -> dict[str, str]:
        if not self._file.has("documents"):
            return {}
        rows = self._file.rows("documents", "id title filepath source_uri")
        return {row["id"]: as_text(row["title"] or row["filepath"] or row["source_uri"]) for row in rows}


def _episode(row: Mapping[str, Any], titles: Mapping[str, str]) -> Item:
    text, where = as_text(row["content"]), as_text(row["id"])
    document = _read_meta(row["meta"]).get("document_id")
    if not text:
        return SkippedItem(where, "a turn without text")
    key, owner = make_key("memvara", where), _owner_in_tenant(row)
    if document is not None:
        source = titles.get(str(document)) or str(document)
        return Record(key, {"text": text, "now": as_moment(row["ts"]), "source": source[:400]}, owner=owner)
    if row["role"] not in ("user", "assistant"):
        return SkippedItem(text, "a turn of the system or of a tool")
    fields = {"content": text, "role": row["role"], "time": as_moment(row["ts"]), "conversation": _claim_source(row)}
    return Record(key, fields, is_turn=True, owner=owner)


def _owner_in_tenant(row: Mapping[str, Any]) -> tuple[str, ...]:
    """The user; of another tenant than the usual one, below it."""
    tenant, user = as_text(row["tenant"]), as_text(row["usr"])
    in_tenant = () if tenant in ("", _ONE_TENANT) else ("tenants", tenant)
    return (*in_tenant, "users", user) if user else in_tenant


def _claim_source(row: Mapping[str, Any]) -> str:
    parts = (as_text(row[name]) for name in ("agent", "session"))
    return ":".join(("memvara", *(part for part in parts if part)))[:400]


def _read_meta(written: object) -> dict[str, Any]:
    try:
        return dict(as_mapping(as_json(json.loads(written)))) if isinstance(written, str) else {}
    except (ValueError, RecursionError):
        return {}


def _fraction(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and 0 <= value <= 1 else None
