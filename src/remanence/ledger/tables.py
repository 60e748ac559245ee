"""The tables of a ledger, the triggers that keep entries unchanged, and the SQL statements.

SQLAlchemy only generates the SQL text. The driver executes it, because the overhead of SQLAlchemy would be
larger than the time in the database.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import BigInteger, Column, Integer, LargeBinary, Table, Text, bindparam, literal_column, select
from sqlalchemy.dialects import sqlite

from remanence.errors import LedgerCorrupt, LedgerTooNew
from remanence.ledger.sqlite import APPLICATION_ID

tables = sa.MetaData()
entry = Table(
    "entry",
    tables,
    Column("position", Integer, primary_key=True, autoincrement=False),
    Column("at", BigInteger, nullable=False),
    Column("space", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("subject", Text, nullable=False),
    Column("body", Text),
    Column("salt", LargeBinary),
    Column("content", LargeBinary, nullable=False),
    Column("digest", LargeBinary, nullable=False),
    sa.Index("entry_by_space", "space", "position"),
    sa.Index("entry_by_time", "space", "at"),
)
embedding = Table(
    "embedding",
    tables,
    Column("model", Text),
    Column("hash", LargeBinary),
    Column("vector", LargeBinary, nullable=False),
    sa.PrimaryKeyConstraint("hash", "model"),  # hash first: `erase` deletes a text's vectors of every model
)
meta = Table("meta", tables, Column("name", Text, primary_key=True), Column("value", Text, nullable=False))

CHUNK = 2000  # entries read at a time; between two chunks a reader holds no lock in the database
HEAD_KEY = "ledger:head"  # the name in `meta` under which each writer records the last entry

_UNCHANGED = " AND ".join(f"NEW.{c.name} IS OLD.{c.name}" for c in entry.c if c.name not in ("body", "salt"))
_NO_DELETE = """CREATE TRIGGER entry_stays BEFORE DELETE ON entry
BEGIN SELECT RAISE(ABORT, 'ledger lines are never deleted'); END"""
_NO_CHANGE = f"""CREATE TRIGGER entry_is_written_once BEFORE UPDATE ON entry
WHEN NOT (NEW.body IS NULL AND NEW.salt IS NULL AND OLD.kind <> 'erased' AND {_UNCHANGED})
BEGIN SELECT RAISE(ABORT, 'ledger lines are never changed, only blanked'); END"""
for trigger in (_NO_DELETE, _NO_CHANGE):
    sa.event.listen(entry, "after_create", sa.DDL(trigger))  # type: ignore[no-untyped-call]

MIGRATIONS: list[Callable[[sa.Connection], None]] = []
"""From version n to n + 1, in order; the first is 1 to 2. Those that are needed run in one transaction."""


def create_or_migrate(engine: sa.Engine, path: Path) -> None:
    """Create the tables, or update those of an older release; then switch to write-ahead logging."""
    newest = 1 + len(MIGRATIONS)
    with engine.connect() as connection:
        run = connection.exec_driver_sql
        version = run("PRAGMA user_version").scalar_one()
        if version > newest:
            raise LedgerTooNew(
                f"{path} has schema {version}, and this release of Remanence knows up to {newest}. "
                "Upgrade with `pip install -U remanence`; the file was not changed."
            )
        if version < newest:
            run("BEGIN IMMEDIATE")
            try:
                _migrate(connection, path, newest)
                run("COMMIT")
            except BaseException:
                run("ROLLBACK")
                raise
        # Only after the commit: until then the file is empty or has its application id, for those who read
        # its header without SQLite.
        if run("PRAGMA journal_mode").scalar_one() != "wal":
            run("PRAGMA journal_mode=WAL")


def _migrate(connection: sa.Connection, path: Path, newest: int) -> None:
    run = connection.exec_driver_sql
    version = run("PRAGMA user_version").scalar_one()  # again: another process may have been faster
    if version == 0:
        if run("SELECT 1 FROM sqlite_master").first():
            raise LedgerCorrupt(f"{path} is not a Remanence ledger. It was not changed: give another folder.")
        tables.create_all(connection, checkfirst=False)
        run(f"PRAGMA application_id={APPLICATION_ID}")
    else:
        for migrate in MIGRATIONS[version - 1 :]:
            migrate(connection)
    if version < newest:
        run(f"PRAGMA user_version={newest}")


class Statements:
    """The text of every statement in one dialect. Comments name the parameters, in their order."""

    def __init__(self, dialect: sa.Dialect) -> None:
        def text(statement: sa.ClauseElement) -> str:
            return str(statement.compile(dialect=dialect, compile_kwargs={"render_postcompile": True}))

        def first(count: int, statement: sa.Select[Any]) -> str:
            """The first rows only. As literals, so that there are no more parameters to bind."""
            return text(statement.limit(literal_column(str(count))).offset(literal_column("0")))

        c, e, m = entry.c, embedding.c, meta.c
        columns = (c.position, c.at, c.space, c.kind, c.subject, c.body, c.digest)
        in_space = c.space == bindparam("space")
        after = c.position > bindparam("after")
        # An `erased` entry contains no text, and explains entries without text.
        erasable = (c.position == bindparam("p"), c.kind != literal_column("'erased'"))
        until = (in_space, c.at <= bindparam("moment"))
        upsert = sqlite.insert(meta)
        upsert = upsert.on_conflict_do_update(index_elements=[m.name], set_={"value": upsert.excluded.value})

        self.insert_entry = text(sa.insert(entry))  # a StoredEntry
        self.erase_entry = text(sa.update(entry).values(body=sa.null(), salt=sa.null()).where(*erasable))  # position
        self.insert_vector = text(sqlite.insert(embedding).on_conflict_do_nothing())  # model, hash, vector
        self.delete_vectors = text(sa.delete(embedding).where(e.hash == bindparam("h")))  # hash
        self.put_meta = text(upsert)  # name, value
        self.get_meta = text(select(m.value).where(m.name == bindparam("n")))  # name
        self.read_space = first(CHUNK, select(*columns).where(in_space, after).order_by(c.position))  # space, after
        self.read_stored = first(CHUNK, select(entry).where(after).order_by(c.position))  # after
        self.last_entry = first(1, select(c.position, c.digest).order_by(c.position.desc()))
        self.last_time = first(1, select(c.at).where(in_space).order_by(c.position.desc()))  # space
        self.position_at = first(1, select(c.position).where(*until).order_by(c.at.desc(), c.position.desc()))
        self.bodies = text(select(c.position, c.body))
        self.spaces = text(select(c.space).distinct())
        self.count = text(  # space, last position
            select(sa.func.count(c.position)).where(in_space, c.position <= bindparam("upto"))
        )
        self.entries_at = lru_cache(lambda n: text(select(*columns).where(c.position.in_([0] * n))))  # n positions
        self.vectors = lru_cache(  # model, then n hashes
            lambda n: text(select(e.hash, e.vector).where(e.model == bindparam("m", ""), e.hash.in_([b""] * n)))
        )
