"""memvara databases: its claims with both clocks, its turns and its documents."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from remanence.transfer.imports.records import (
    Item,
    Record,
    SkippedItem,
    Source,
    SqliteFile,
    as_json,
    as_mapping,
    as_moment,
    as_text,
    make_key,
)

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
        found = [_owner({"tenant": tenant, "usr": user}) for tenant, user in self._file.execute(query)]
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
            "source": _source(row),
            "meta": _meta(row["meta"]),
        }
        return Record(make_key("memvara", where), fields, owner=_owner(row))

    def _titles(self) -> dict[str, str]:
        if not self._file.has("documents"):
            return {}
        rows = self._file.rows("documents", "id title filepath source_uri")
        return {row["id"]: as_text(row["title"] or row["filepath"] or row["source_uri"]) for row in rows}


def _episode(row: Mapping[str, Any], titles: Mapping[str, str]) -> Item:
    text, where = as_text(row["content"]), as_text(row["id"])
    document = _meta(row["meta"]).get("document_id")
    if not text:
        return SkippedItem(where, "a turn without text")
    key, owner = make_key("memvara", where), _owner(row)
    if document is not None:
        source = titles.get(str(document)) or str(document)
        return Record(key, {"text": text, "now": as_moment(row["ts"]), "source": source[:400]}, owner=owner)
    if row["role"] not in ("user", "assistant"):
        return SkippedItem(text, "a turn of the system or of a tool")
    fields = {"content": text, "role": row["role"], "time": as_moment(row["ts"]), "conversation": _source(row)}
    return Record(key, fields, is_turn=True, owner=owner)


def _owner(row: Mapping[str, Any]) -> tuple[str, ...]:
    """The user; of another tenant than the usual one, below it."""
    tenant, user = as_text(row["tenant"]), as_text(row["usr"])
    in_tenant = () if tenant in ("", _ONE_TENANT) else ("tenants", tenant)
    return (*in_tenant, "users", user) if user else in_tenant


def _source(row: Mapping[str, Any]) -> str:
    parts = (as_text(row[name]) for name in ("agent", "session"))
    return ":".join(("memvara", *(part for part in parts if part)))[:400]


def _meta(written: object) -> dict[str, Any]:
    try:
        return dict(as_mapping(as_json(json.loads(written)))) if isinstance(written, str) else {}
    except (ValueError, RecursionError):
        return {}


def _fraction(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and 0 <= value <= 1 else None
