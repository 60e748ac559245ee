"""The tables of a ledger, what the database itself forbids, and the statements, each written once.

SQLAlchemy writes the text; the driver runs it, because on the paths that matter the rest of SQLAlchemy
would cost more than the database does.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

from sqlalchemy import (
    DDL,
    BigInteger,
    ClauseElement,
    Column,
    Connection,
    Dialect,
    Engine,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    Select,
    Table,
    Text,
    bindparam,
    delete,
    event,
    func,
    insert,
    literal_column,
    null,
    select,
    update,
)
from sqlalchemy.dialects import sqlite

from remanence.errors import LedgerCorrupt, LedgerTooNew
from remanence.ledger.sqlite import APPLICATION_ID

tables = MetaData()
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
    Index("entry_by_space", "space", "position"),
    Index("entry_by_time", "space", "at"),
)
embedding = Table(
    "embedding",
    tables,
    Column("model", Text),
    Column("hash", LargeBinary),
    Column("vector", LargeBinary, nullable=False),
    PrimaryKeyConstraint("hash", "model"),  # hash first: `erase` drops a text's vectors of every model
)
meta = Table("meta", tables, Column("name", Text, primary_key=True), Column("value", Text, nullable=False))

CHUNK = 2000  # lines read at a time; between two chunks no reader holds anything in the database
HEAD_KEY = "ledger:head"  # the name in `meta` under which each writer notes the last line

_UNCHANGED = " AND ".join(f"NEW.{c.name} IS OLD.{c.name}" for c in entry.c if c.name not in ("body", "salt"))
_NO_DELETE = """CREATE TRIGGER entry_stays BEFORE DELETE ON entry
BEGIN SELECT RAISE(ABORT, 'ledger lines are never deleted'); END"""
_NO_CHANGE = f"""CREATE TRIGGER entry_is_written_once BEFORE UPDATE ON entry
WHEN NOT (NEW.body IS NULL AND NEW.salt IS NULL AND OLD.kind <> 'erased' AND {_UNCHANGED})
BEGIN SELECT RAISE(ABORT, 'ledger lines are never changed, only blanked'); END"""
for trigger in (_NO_DELETE, _NO_CHANGE):
    event.listen(entry, "after_create", DDL(trigger))  # type: ignore[no-untyped-call]

MIGRATIONS: list[Callable[[Connection], None]] = []
"""Version n to n + 1, in order; the first is 1 to 2. Those that are needed run in one transaction."""


def create_or_migrate(engine: Engine, path: Path) -> None:
    """Make the tables, or bring an older ledger up to date; then let readers and writers overlap."""
    newest = 1 + len(MIGRATIONS)
    with engine.connect() as connection:
        run = connection.exec_driver_sql
        version = run("PRAGMA user_version").scalar_one()
        if version > newest:
            raise LedgerTooNew(
                f"{path} has schema {version}, and this release of Remanence knows up to {newest}. "
                "Upgrade with `pip install -U remanence`; the file was left as it is."
            )
        if version < newest:
            run("BEGIN IMMEDIATE")
            try:
                _migrate(connection, path, newest)
                run("COMMIT")
            except BaseException:
                run("ROLLBACK")
                raise
        # Only now: a file is empty or says whose it is, even for one who reads its first bytes by hand.
        if run("PRAGMA journal_mode").scalar_one() != "wal":
            run("PRAGMA journal_mode=WAL")


def _migrate(connection: Connection, path: Path, newest: int) -> None:
    run = connection.exec_driver_sql
    version = run("PRAGMA user_version").scalar_one()  # again: another process may have been faster
    if version == 0:
        if run("SELECT 1 FROM sqlite_master").first():
            raise LedgerCorrupt(f"{path} is not a Remanence ledger. It was left as it is: give another folder.")
        tables.create_all(connection, checkfirst=False)
        run(f"PRAGMA application_id={APPLICATION_ID}")
    else:
        for migrate in MIGRATIONS[version - 1 :]:
            migrate(connection)
    if version < newest:
        run(f"PRAGMA user_version={newest}")


class Statements:
    """The text of every statement, in one dialect, with its parameters in the order named."""

    def __init__(self, dialect: Dialect) -> None:
        def text(statement: ClauseElement) -> str:
            return str(statement.compile(dialect=dialect, compile_kwargs={"render_postcompile": True}))

        c, e, m = entry.c, embedding.c, meta.c
        line = (c.position, c.at, c.space, c.kind, c.subject, c.body, c.digest)
        space = c.space == bindparam("space")

        self.insert_entry = text(insert(entry))  # a chain.Line
        self.erase_entry = text(  # not an `Erased` line: it holds no words, and vouches for blank ones
            update(entry)
            .values(body=null(), salt=null())
            .where(c.position == bindparam("p"), c.kind != literal_column("'erased'"))
        )
        self.insert_vector = text(sqlite.insert(embedding).on_conflict_do_nothing())  # model, hash, vector
        self.delete_vectors = text(delete(embedding).where(e.hash == bindparam("h")))
        put = sqlite.insert(meta)
        self.put_meta = text(put.on_conflict_do_update(index_elements=[m.name], set_={"value": put.excluded.value}))
        self.get_meta = text(select(m.value).where(m.name == bindparam("n")))
        self.read_space = text(  # space, after
            first(CHUNK, select(*line).where(space, c.position > bindparam("after")).order_by(c.position))
        )
        self.read_stored = text(  # after: chain.Line
            first(CHUNK, select(entry).where(c.position > bindparam("after")).order_by(c.position))
        )
        self.last_entry = text(first(1, select(c.position, c.digest).order_by(c.position.desc())))
        self.last_time = text(first(1, select(c.at).where(space).order_by(c.position.desc())))
        self.position_at = text(  # space, moment
            first(
                1, select(c.position).where(space, c.at <= bindparam("moment")).order_by(c.at.desc(), c.position.desc())
            )
        )
        self.bodies = text(select(c.position, c.body))
        self.spaces = text(select(c.space).distinct())
        self.count = text(  # space, up to which position
            select(func.count(c.position)).where(space, c.position <= bindparam("upto"))
        )
        self.entries_at = lru_cache(lambda n: text(select(*line).where(c.position.in_([0] * n))))
        self.vectors = lru_cache(  # model, then n hashes
            lambda n: text(select(e.hash, e.vector).where(e.model == bindparam("m", ""), e.hash.in_([b""] * n)))
        )


def first(n: int, statement: Select[Any]) -> Select[Any]:
    """The first `n` rows. Both numbers stand in the text, so that there is nothing more to bind."""
    return statement.limit(literal_column(str(n))).offset(literal_column("0"))
