"""The tables of a ledger, the triggers that keep entries unchanged, and the SQL statements."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

from remanence.errors import LedgerCorrupt, LedgerTooNew
from remanence.ledger.chain import StoredEntry, combined_digest

APPLICATION_ID = 0x52454D4E
""""REMN", at byte 68 of the file: it identifies our files."""
CHUNK = 2000
"""Entries that are read at a time; between two chunks a reader holds no lock in the database."""
SCAN = 100_000
HEAD_KEY = "ledger:head"  # the name in `meta` under which each writer records the last entry
ERASED_KEY = "ledger:erased"  # the position of the last entry that records an erasure
VECTORS_KEY = "ledger:vectors"  # the digests of all vectors, combined by exclusive or
CLEANED_KEY = "ledger:cleaned"  # up to which of these the write-ahead log has no erased text any more
ENCRYPTION_KEY = "ledger:encryption"  # the data key of an encrypted folder, wrapped with the key of the caller
EMPTIED_KEY = "ledger:emptied:"  # followed by the name of a space: the position at which it was emptied
RESERVED_PREFIX = "ledger:"
SHARED_EMBEDDINGS = "embeddings without a space"
"""The name in `meta` that says whether spaces may still use embeddings that an older release stored for all of them."""

_ENTRY = """position INTEGER NOT NULL|at BIGINT NOT NULL|space TEXT NOT NULL|kind TEXT NOT NULL|subject TEXT NOT NULL|\
body TEXT|salt BLOB|content BLOB NOT NULL|digest BLOB NOT NULL|PRIMARY KEY (position)"""
# Vectors of all spaces together, as the first schema had them: read where a space has none of its own, never written.
_EMBEDDING = "model TEXT NOT NULL|hash BLOB NOT NULL|vector BLOB NOT NULL|PRIMARY KEY (hash, model)"
# Which spaces have a text with which embedding, as the second schema recorded it.
_EMBEDDING_SPACE = "hash BLOB NOT NULL|space TEXT NOT NULL|PRIMARY KEY (hash, space)"
# hash before model: `erase` deletes a text's vectors of every model
_SPACE_EMBEDDING = """space TEXT NOT NULL|hash BLOB NOT NULL|model TEXT NOT NULL|vector BLOB NOT NULL|\
PRIMARY KEY (space, hash, model)"""
_META = "name TEXT NOT NULL|value TEXT NOT NULL|PRIMARY KEY (name)"
_UNCHANGED = " AND ".join(f"NEW.{name} IS OLD.{name}" for name in StoredEntry._fields if name not in ("body", "salt"))


def _create_table(name: str, columns: str) -> str:
    return f"CREATE TABLE {name} (\n\t" + columns.replace("|", ", \n\t") + "\n)"


_CREATE_EMBEDDING = _create_table("embedding", _EMBEDDING)
_CREATE_SPACE_EMBEDDING = _create_table("space_embedding", _SPACE_EMBEDDING)

SCHEMA = (
    _create_table("entry", _ENTRY),
    "CREATE INDEX entry_by_space ON entry (space, position)",
    "CREATE INDEX entry_by_time ON entry (space, at)",
    """CREATE TRIGGER entry_stays BEFORE DELETE ON entry
BEGIN SELECT RAISE(ABORT, 'ledger lines are never deleted'); END""",
    f"""CREATE TRIGGER entry_is_written_once BEFORE UPDATE ON entry
WHEN NOT (NEW.body IS NULL AND NEW.salt IS NULL AND OLD.kind <> 'erased' AND {_UNCHANGED})
BEGIN SELECT RAISE(ABORT, 'ledger lines are never changed, only erased_entries'); END""",
    _CREATE_EMBEDDING,
    _CREATE_SPACE_EMBEDDING,
    _create_table("meta", _META),
)


def _add_embedding_space(connection: sqlite3.Connection) -> None:
    connection.execute(f"{_create_table('embedding_space', _EMBEDDING_SPACE)} WITHOUT ROWID")
    if connection.execute("SELECT 1 FROM embedding LIMIT 1").fetchone():
        connection.execute(PUT_META, (SHARED_EMBEDDINGS, "1"))
    connection.execute(PUT_META, (ERASED_KEY, "1"))  # the log of an older release may have erased text


def _scope_embeddings_to_spaces(connection: sqlite3.Connection) -> None:
    """Migrate to embeddings per space, which other spaces cannot read or replace. Each space gets those that it is
    recorded to use. Those of the first schema stay where they are: which space uses them takes a reading of every text,
    which is done before the first erasure."""
    connection.execute(_CREATE_SPACE_EMBEDDING)
    connection.execute("""INSERT INTO space_embedding (space, hash, model, vector)
SELECT used.space, used.hash, shared.model, shared.vector FROM embedding_space AS used JOIN embedding AS shared
ON shared.hash = used.hash ORDER BY used.space""")
    connection.execute("DROP TABLE embedding_space")
    if not any(value for (value,) in connection.execute(GET_META, (SHARED_EMBEDDINGS,))):
        connection.execute("DROP TABLE embedding")
        connection.execute(_CREATE_EMBEDDING)


def _digest_vectors(connection: sqlite3.Connection) -> None:
    rows = connection.execute("SELECT space, hash, model, vector FROM space_embedding")
    connection.execute(PUT_META, (VECTORS_KEY, str(combined_digest(rows))))


REFUSE_PLAIN_ENTRIES = """CREATE TRIGGER entry_is_encrypted BEFORE INSERT ON entry WHEN typeof(NEW.subject) <> 'blob'
BEGIN SELECT RAISE(ABORT, 'the ledger was encrypted meanwhile: open it again'); END"""
"""For an encrypted ledger: another process may have opened it before it was."""

MIGRATIONS: list[Callable[[sqlite3.Connection], None]] = [
    _add_embedding_space,
    _scope_embeddings_to_spaces,
    _digest_vectors,
]
"""From version n to n + 1, in order; the first is 1 to 2. Those that are needed run in one transaction."""

_COLUMNS = "position, at, space, kind, subject, body, digest"
_ALL_COLUMNS = ", ".join(StoredEntry._fields)
INSERT_ENTRY = f"INSERT INTO entry ({_ALL_COLUMNS}) VALUES ({', '.join('?' * len(StoredEntry._fields))})"
# These entries contain no text, and explain entries without text.
_EXPLAINS = "kind IN ('erased', 'emptied')"
ERASE_ENTRY = f"UPDATE entry SET body = NULL, salt = NULL WHERE position = ? AND space = ? AND NOT {_EXPLAINS}"
ERASE_SPACE = f"UPDATE entry SET body = NULL, salt = NULL WHERE space = ? AND body IS NOT NULL AND NOT {_EXPLAINS}"
# Before a vector is inserted, unless there is one already. `(a | b) - (a & b)` is exclusive or, also in SQLite.
DIGEST_NEW_VECTOR = f"""UPDATE meta
SET value = CAST((CAST(value AS BIGINT) | ?) - (CAST(value AS BIGINT) & ?) AS TEXT) WHERE name = '{VECTORS_KEY}'
AND NOT EXISTS (SELECT 1 FROM space_embedding WHERE space = ? AND hash = ? AND model = ?)"""
INSERT_VECTOR = "INSERT INTO space_embedding (space, hash, model, vector) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING"
VECTORS_OF_TEXTS = "SELECT space, hash, model, vector FROM space_embedding WHERE space = ? AND hash"
READ_VECTORS = f"""SELECT space, hash, model, vector FROM space_embedding WHERE (space, hash, model) > (?, ?, ?)
ORDER BY space, hash, model LIMIT {CHUNK // 2}"""
DELETE_VECTORS = "DELETE FROM space_embedding WHERE space = ? AND hash = ?"
DELETE_SHARED_VECTORS = "DELETE FROM embedding WHERE hash = ?"
PUT_META = "INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value"
GET_META = "SELECT value FROM meta WHERE name = ?"
READ_SPACE = f"SELECT {_COLUMNS} FROM entry WHERE space = ? AND position > ? ORDER BY position LIMIT {CHUNK}"
READ_STORED = f"SELECT {_ALL_COLUMNS} FROM entry WHERE position > ? ORDER BY position LIMIT {CHUNK}"
LAST_ENTRY = "SELECT position, digest FROM entry ORDER BY position DESC LIMIT 1"
LAST_TIME = "SELECT at FROM entry WHERE space = ? ORDER BY position DESC LIMIT 1"
POSITION_AT = "SELECT position FROM entry WHERE space = ? AND at <= ? ORDER BY at DESC, position DESC LIMIT 1"
# From one name to the next in the index: DISTINCT would read every entry.
SPACES = """WITH RECURSIVE name(space) AS (SELECT min(space) FROM entry UNION ALL
SELECT (SELECT min(space) FROM entry WHERE space > name.space) FROM name WHERE name.space IS NOT NULL)
SELECT space FROM name WHERE space IS NOT NULL"""
SPACES_BELOW = """WITH RECURSIVE name(space) AS (SELECT min(space) FROM entry WHERE space >= ? AND space < ? UNION ALL
SELECT (SELECT min(space) FROM entry WHERE space > name.space AND space < ?) FROM name WHERE name.space IS NOT NULL)
SELECT space FROM name WHERE space IS NOT NULL"""
SPACES_WITH = "SELECT DISTINCT space FROM entry WHERE kind = ? AND position > ? AND position <= ?"
LAST_KIND = "SELECT kind FROM entry WHERE space = ? ORDER BY position DESC LIMIT 1"
# A space is no longer listed while the entry that emptied it is its last one. The name in meta has a prefix.
EMPTIED_SPACES = f"""SELECT substr(name, {len(EMPTIED_KEY) + 1}) FROM meta WHERE name >= ? AND name < ?
AND CAST(value AS BIGINT) = (SELECT max(position) FROM entry WHERE space = substr(name, {len(EMPTIED_KEY) + 1}))"""
COUNT = "SELECT count(position) FROM entry WHERE space = ? AND position <= ?"
ENTRIES_AT = f"SELECT {_COLUMNS} FROM entry WHERE position"
VECTORS = "SELECT hash, vector FROM space_embedding WHERE space = ? AND model = ? AND hash"
SHARED_VECTORS = "SELECT hash, vector FROM embedding WHERE model = ? AND hash"


def read_kinds(count: int) -> str:
    """The statement that reads the entries of so many kinds."""
    return READ_SPACE.replace(" ORDER BY", f" AND kind IN ({', '.join('?' * count)}) ORDER BY")


def create_or_migrate(connection: sqlite3.Connection, path: Path) -> None:
    """Create the tables, or update those of an older release; then switch to write-ahead logging."""
    newest = 1 + len(MIGRATIONS)
    version = _pragma(connection, "user_version")
    if version > newest:
        raise LedgerTooNew(
            f"{path} has schema {version}, and this release of Remanence knows up to {newest}. "
            "Upgrade with `pip install -U remanence-memory`; the file was not changed."
        )
    if version < newest:
        connection.execute("BEGIN IMMEDIATE")
        try:
            _migrate(connection, path, newest)
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:  # on a full disk SQLite has rolled back by itself
                connection.execute("ROLLBACK")
            raise
    # Only after the commit: until then the file is empty or has its application id, for those who read
    # its header without SQLite.
    if _pragma(connection, "journal_mode") != "wal":
        connection.execute("PRAGMA journal_mode=WAL")


def _migrate(connection: sqlite3.Connection, path: Path, newest: int) -> None:
    version = _pragma(connection, "user_version")  # again: another process may have been faster
    if version == 0:
        if connection.execute("SELECT 1 FROM sqlite_master").fetchone():
            raise LedgerCorrupt(f"{path} is not a Remanence ledger. It was not changed: give another folder.")
        for statement in SCHEMA:
            connection.execute(statement)
        connection.execute(PUT_META, (VECTORS_KEY, "0"))
        connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
    else:
        for migrate in MIGRATIONS[version - 1 :]:
            migrate(connection)
    if version < newest:
        connection.execute(f"PRAGMA user_version={newest}")


def _pragma(connection: sqlite3.Connection, name: str) -> Any:
    return connection.execute(f"PRAGMA {name}").fetchone()[0]
