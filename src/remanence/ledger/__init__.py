"""The append-only ledger, from which everything else can be rebuilt.

codec             events as JSON, and what is wrong with a stored event
chain             entries chained by digest, and `verify`
in_memory         a ledger in plain Python, the reference
sql               what ledgers in SQL databases share; `tables` has the tables and the statements
locks             locks between threads, and between processes by files in a folder
copying           copying a ledger to another place
encryption        keys, and what is encrypted with them
sqlite_backend    a ledger in a folder
postgres_backend  a ledger in a PostgreSQL database
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from remanence.errors import InvalidInput, MissingExtra

if TYPE_CHECKING:
    from remanence.ledger.encryption import Cipher, Encryption
    from remanence.ports import Ledger

__all__ = ["cipher_of", "is_address", "ledger_exists", "open_ledger", "require_psycopg", "shown_location"]

_SCHEMES = ("postgresql", "postgres")


def open_ledger(location: str | Path | None, encryption: Encryption | None = None, *, durable: bool = True) -> Ledger:
    """The ledger in this folder or database, created if there is none; None for one in memory.

    Without `encryption`, the key of a folder that is encrypted is looked for in the environment. If it is not
    `durable`, a write in a folder does not wait for the disk.

    >>> open_ledger(None).head()
    0
    """
    if encryption is not None and (location is None or is_address(location)):
        reason = "nothing is stored" if location is None else "only folders are encrypted here"
        raise InvalidInput(
            f"encryption= is for a folder, and here {reason}. Leave it out, or name a folder; a PostgreSQL database is "
            "encrypted by its server or its disk."
        )
    if not durable and (location is None or is_address(location)):
        reason = "nothing is stored" if location is None else "the server stores what is written"
        raise InvalidInput(f"durable=False is for a folder, and here {reason}. Leave it out, or name a folder.")
    if location is None:
        from remanence.ledger.in_memory import InMemoryLedger

        return InMemoryLedger()
    if is_address(location):
        require_psycopg()
        from remanence.ledger.postgres_backend.postgres_ledger import PostgresLedger

        return PostgresLedger(str(location))
    from remanence.ledger.sqlite_backend.sqlite_ledger import SqliteLedger

    return SqliteLedger(_folder(location), encryption, durable=durable)


def cipher_of(ledger: Ledger) -> Cipher | None:
    """What encrypts the files of a ledger; None if they are not encrypted."""
    cipher: Cipher | None = getattr(ledger, "cipher", None)
    return cipher


def ledger_exists(location: str | Path) -> bool:
    """Whether there is a ledger in this folder or database. Nothing is created."""
    if is_address(location):
        require_psycopg()
        from remanence.ledger.postgres_backend.postgres_ledger import exists

        return exists(str(location))
    return (_folder(location) / "ledger.db").is_file()


def is_address(location: object) -> bool:
    """Whether a location is the address of a database; InvalidInput if it is one that no ledger can be in.

    >>> is_address("postgresql://db.example/memory"), is_address("./memory")
    (True, False)
    """
    scheme, separator, _ = str(location).partition("://")
    if separator and scheme not in _SCHEMES:
        # The rest may contain a password.
        raise InvalidInput(
            f"'{scheme}://…' is not an address that a ledger can be at. Give a folder, or "
            "postgresql://user@host/database."
        )
    return bool(separator)


def shown_location(location: str | Path) -> str:
    """A location for messages: an address without its password."""
    if not is_address(location):
        return str(location)
    require_psycopg()
    from remanence.ledger.postgres_backend.postgres import parse_address

    return parse_address(str(location)).shown


def require_psycopg() -> None:
    """MissingExtra if the package for PostgreSQL is not installed."""
    try:
        import psycopg  # noqa: F401
    except ImportError as missing:
        raise MissingExtra(
            "a ledger in PostgreSQL needs psycopg, which is not installed. Install it with "
            "`pip install 'remanence-memory[postgres]'`."
        ) from missing


def _folder(location: str | Path) -> Path:
    if not isinstance(location, str | os.PathLike):
        raise InvalidInput(f"{location!r} is not a folder. Give a path such as './memory', or None.")
    if not str(location).strip() or "\0" in str(location):
        raise InvalidInput(f"{str(location)!r} is not a folder name. Give a path such as './memory'.")
    if str(location) == ":memory:":
        raise InvalidInput("':memory:' would be a folder of that name. Give None to store nothing on disk.")
    try:
        return Path(location).expanduser()
    except RuntimeError:
        raise InvalidInput(f"{str(location)!r} is in the home of an unknown user. Give the full path.") from None
