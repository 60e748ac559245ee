"""The tables of a ledger in PostgreSQL, as `tables` describes them for SQLite, and how they are created.

Texts are compared by code point, as SQLite does, so that the same statements find the same spaces.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import uuid4

from remanence.errors import LedgerCorrupt, LedgerTooNew, LedgerUnavailable
from remanence.ledger import tables
from remanence.ledger.chain import StoredEntry, combined_digest
from remanence.ledger.postgres_backend.postgres import Address, Connection, to_numbered_placeholders
from remanence.ledger.tables import GET_META, PUT_META

if TYPE_CHECKING:
    from collections.abc import Sequence

SCHEMA_VERSION = 2
_VERSION_KEY = "ledger:schema"
_UNCHANGED = " AND ".join(
    f"NEW.{name} IS NOT DISTINCT FROM OLD.{name}" for name in StoredEntry._fields if name not in ("body", "salt")
)
_TEXT = 'TEXT COLLATE "C"'
_STATEMENTS: Sequence[str] = (
    f"""CREATE TABLE entry (position BIGINT PRIMARY KEY, at BIGINT NOT NULL, space {_TEXT} NOT NULL,
kind {_TEXT} NOT NULL, subject {_TEXT} NOT NULL, body TEXT, salt BYTEA, content BYTEA NOT NULL,
digest BYTEA NOT NULL)""",
    "CREATE INDEX entry_by_space ON entry (space, position)",
    "CREATE INDEX entry_by_time ON entry (space, at)",
    """CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION 'ledger lines are never deleted or changed, only erased_entries'; END $$""",
    "CREATE TRIGGER entry_stays BEFORE DELETE ON entry FOR EACH ROW EXECUTE FUNCTION refuse_change()",
    "CREATE TRIGGER entries_stay BEFORE TRUNCATE ON entry EXECUTE FUNCTION refuse_change()",
    f"""CREATE TRIGGER entry_is_written_once BEFORE UPDATE ON entry FOR EACH ROW
WHEN (NOT (NEW.body IS NULL AND NEW.salt IS NULL AND OLD.kind <> 'erased' AND {_UNCHANGED}))
EXECUTE FUNCTION refuse_change()""",
    f"""CREATE TABLE space_embedding (space {_TEXT} NOT NULL, hash BYTEA NOT NULL, model {_TEXT} NOT NULL,
vector BYTEA NOT NULL, PRIMARY KEY (space, hash, model))""",
    # Vectors do not compress, and trying takes time.
    "ALTER TABLE space_embedding ALTER COLUMN vector SET STORAGE EXTERNAL",
    f"CREATE TABLE meta (name {_TEXT} PRIMARY KEY, value TEXT NOT NULL)",
)


def create_or_check(connection: Connection, address: Address, lock: int) -> None:
    """Create the tables if the schema has none; else check that this release knows them."""
    if exists(connection, address):
        if _version(connection, address) < SCHEMA_VERSION:
            _digest_vectors(connection, address, lock)
        return
    [(encoding,)] = connection.execute("SHOW server_encoding").fetchall()
    if encoding != "UTF8":
        raise LedgerUnavailable(
            f"{address.shown} has the encoding {encoding}, which cannot store every text. Create a database with "
            "`createdb --encoding=UTF8 --template=template0`."
        )
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock($1)", (lock,))
        if not exists(connection, address):  # another process may have been faster
            connection.execute(f"CREATE SCHEMA IF NOT EXISTS {address.schema}")
            for statement in _STATEMENTS:
                connection.execute(statement)
            connection.execute(to_numbered_placeholders(PUT_META), ("id", uuid4().hex))
            connection.execute(to_numbered_placeholders(PUT_META), (tables.VECTORS_KEY, "0"))
            connection.execute(to_numbered_placeholders(PUT_META), (_VERSION_KEY, str(SCHEMA_VERSION)))
    _version(connection, address)


def _digest_vectors(connection: Connection, address: Address, lock: int) -> None:
    """Migrate to the second schema, which has a digest of all vectors."""
    with connection.transaction(), connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock($1)", (lock,))
        if _version(connection, address) < SCHEMA_VERSION:  # another process may have been faster
            digest, rows = 0, [("", b"", "")]
            while rows := cursor.execute(to_numbered_placeholders(tables.READ_VECTORS), rows[-1][:3]).fetchall():
                digest ^= combined_digest(rows)
            for name, value in ((tables.VECTORS_KEY, str(digest)), (_VERSION_KEY, str(SCHEMA_VERSION))):
                cursor.execute(to_numbered_placeholders(PUT_META), (name, value))


def exists(connection: Connection, address: Address) -> bool:
    """Whether the schema has the tables of a ledger; LedgerCorrupt if it has others."""
    found = {
        name
        for (name,) in connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = $1", (address.schema,))
    }
    if not found or {"entry", "meta", "space_embedding"} <= found:
        return bool(found)
    raise LedgerCorrupt(
        f"the schema {address.schema!r} of {address.shown} has tables of another program ({', '.join(sorted(found))}). "
        "It was not changed: name another schema, such as ?schema=memory."
    )


def _version(connection: Connection, address: Address) -> int:
    """The version of the schema; LedgerTooNew if this release does not know it."""
    rows = connection.execute(to_numbered_placeholders(GET_META), (_VERSION_KEY,)).fetchall()
    version = int(rows[0][0]) if rows else 0
    if version > SCHEMA_VERSION:
        raise LedgerTooNew(
            f"{address.shown} has schema {version}, and this release of Remanence knows up to {SCHEMA_VERSION}. "
            "Upgrade with `pip install -U remanence-memory`; nothing was changed."
        )
    return version


RECORDED_AFTER = "SELECT space, at FROM entry WHERE position > {} ORDER BY position DESC LIMIT {}"
TABLES = "entry, space_embedding, meta"
TABLES_WITH_TEXT = ("entry", "space_embedding")
CLEANED_FILES = f"{tables.RESERVED_PREFIX}cleaned files"
"""The name in `meta` for the files of these tables when old versions of erased rows were last removed from them."""
ERASING_TRANSACTION = f"{tables.RESERVED_PREFIX}erasing transaction"
"""The name in `meta` for the number of the transaction that erased something last."""
PUT_ERASING_TRANSACTION = """INSERT INTO meta (name, value) VALUES ($1, CAST(pg_current_xact_id() AS TEXT))
ON CONFLICT (name) DO UPDATE SET value = excluded.value"""
HAS_OLDER_READER = """SELECT EXISTS (SELECT 1 FROM pg_stat_activity WHERE pid <> pg_backend_pid()
AND backend_xmin IS NOT NULL AND age(backend_xmin) >= age(CAST(CAST(CAST($1 AS TEXT) AS xid8) AS xid)))"""
