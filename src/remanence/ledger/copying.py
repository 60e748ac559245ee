"""Copying a whole ledger into an empty one, in a folder or a database: entries with their digests, vectors, settings.

It is done in chunks, and the target records how far it has come, so that a copy that was interrupted is continued. An
entry has the same digest in both, and a digest covers all entries before it: so if the last entry of the target is in
the source, the target is the beginning of the source.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from remanence.errors import InvalidInput, LedgerUnavailable
from remanence.events import Event
from remanence.ledger import tables
from remanence.ledger.chain import StoredEntry
from remanence.ledger.codec import decode
from remanence.ledger.sql import SqlLedger
from remanence.ports import Ledger, Progress

COPYING_KEY = "ledger:copying"
"""The name in `meta` that says, while a ledger is being copied into this one, from where and how far."""
_OWN_META = (
    *("id", tables.HEAD_KEY, tables.VECTORS_KEY, tables.CLEANED_KEY, tables.SHARED_EMBEDDINGS),
    *(tables.ENCRYPTION_KEY, COPYING_KEY),
)
_OWN_PREFIXES = ("ledger:schema", "ledger:erasing")

_DIGEST_AT = "SELECT digest FROM entry WHERE position = ?"
_BLANK = "SELECT position, space FROM entry WHERE body IS NULL"
_ALL_META = "SELECT name, value FROM meta"
_DELETE_VECTORS = "DELETE FROM space_embedding"
_SHARED = "SELECT hash, model, vector FROM embedding WHERE hash"

HashesOf = Callable[[Event], Sequence[bytes]]


class _CopyState(NamedTuple):
    """How far a copy has come: the last vector, and the last erasure that the source had when it began."""

    source: str
    erasure: int
    vector: tuple[str, str, str]

    @classmethod
    def of(cls, target: Ledger) -> _CopyState | None:
        text = target.get_meta(COPYING_KEY)
        return None if not text else cls(**{**json.loads(text), "vector": tuple(json.loads(text)["vector"])})

    def write(self, target: SqlLedger) -> None:
        target._write(tables.PUT_META, [(COPYING_KEY, json.dumps(self._asdict()))])


def check_complete(ledger: Ledger) -> None:
    """Refuse a ledger that is an unfinished copy: it looks as if it had fewer memories."""
    if ledger.get_meta(COPYING_KEY):
        source = json.loads(ledger.get_meta(COPYING_KEY) or "")["source"]
        raise LedgerUnavailable(
            f"this ledger is an unfinished copy of {source}. Run the same `remanence migrate` again to finish it."
        )


def copy_ledger(source: SqlLedger, target: SqlLedger, hashes_of: HashesOf, progress: Progress | None) -> int:
    """Copy all of `source` into `target`, which is empty or an unfinished copy of it. Returns how many vectors the
    target has then."""
    _begin(source, target)
    _copy_entries(source, target, hashes_of, progress)
    vectors = _copy_vectors(source, target)
    _copy_entries(source, target, hashes_of, progress)  # what was written meanwhile
    _finish(source, target)
    return vectors


def _begin(source: SqlLedger, target: SqlLedger) -> None:
    state, head = _CopyState.of(target), target.head()
    last = source._value(_DIGEST_AT, (head,))
    is_beginning = head == 0 or last == target._value(_DIGEST_AT, (head,))
    if not is_beginning or (state is None and head):
        raise InvalidInput(
            f"{target.name} is not empty: it has {head:,} entries, and is not an unfinished copy of {source.name}. "
            "Nothing was changed. Name an empty folder, database or schema."
        )
    erasure = source.last_erasure()
    if state is None or state.erasure != erasure:
        # Vectors that were copied may have been erased since.
        with target.transaction():
            target._write(_DELETE_VECTORS, [()])
            target._write(tables.PUT_META, [(tables.VECTORS_KEY, "0")])
            _CopyState(source.name, erasure, ("", "", "")).write(target)


def _copy_entries(source: SqlLedger, target: SqlLedger, hashes_of: HashesOf, progress: Progress | None) -> None:
    total = source.head()
    has_shared = source.shared_vectors and bool(source.get_meta(tables.SHARED_EMBEDDINGS))
    while rows := source._rows(tables.READ_STORED, (target.head(),)):
        entries = [source.unsealed_entry(row) for row in rows]
        with target.transaction() as transaction:
            transaction.append_stored(entries)
            if has_shared:
                target._insert_vectors(_shared_vectors(source, entries, hashes_of))
        if progress is not None:
            progress(min(entries[-1].position, total), total)


def _shared_vectors(source: SqlLedger, entries: Sequence[StoredEntry], hashes_of: HashesOf) -> list[tuple[Any, ...]]:
    """The vectors for these entries that an older release stored for all spaces together."""
    vectors: list[tuple[Any, ...]] = []
    for entry in entries:
        hashes = hashes_of(decode(entry.kind, entry.body)) if entry.body is not None else ()
        if hashes:
            rows = source._rows_in(_SHARED, (), list(hashes))
            vectors += [(entry.space, text_hash, model, vector) for text_hash, model, vector in rows]
    return vectors


def _copy_vectors(source: SqlLedger, target: SqlLedger) -> int:
    state = _CopyState.of(target)
    assert state is not None, "`_begin` has written it"
    space, text_hash, model = state.vector
    while rows := source._rows(tables.READ_VECTORS, (space, bytes.fromhex(text_hash), model)):
        space, raw, model, _ = rows[-1]
        text_hash = bytes(raw).hex()
        with target.transaction():
            target._insert_vectors(source.unsealed_vectors(rows))
            state._replace(vector=(space, text_hash, model)).write(target)
    return int(target._value("SELECT count(*) FROM space_embedding"))


def _finish(source: SqlLedger, target: SqlLedger) -> None:
    """Erase what was erased in the source during the copy, copy the meta values, and clear the copy marker."""
    blank = {position for position, _ in target._rows(_BLANK)}
    with target.transaction() as transaction:
        for position, space in source._rows(_BLANK):
            if position not in blank:
                transaction.erase(space, [position], ())
        meta = [
            (name, value)
            for name, value in source._rows(_ALL_META)
            if name not in _OWN_META and not name.startswith(_OWN_PREFIXES)
        ]
        target._write(tables.PUT_META, [*meta, (COPYING_KEY, "")])
