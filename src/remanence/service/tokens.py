"""Tokens: who may use which spaces over the network. Only hashes of them are stored, in server.db beside the ledger.

A token is `rem_`, its id and a secret of 256 random bits. It is bound to spaces, and opens those below them, too.
What it allows is one of "read", "write" (also reads) and "admin" (also erases, applies upkeep, and rebuilds).
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
import sqlite3
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from remanence.errors import InvalidInput, LedgerUnavailable, NotFound
from remanence.ledger import is_address, shown_location
from remanence.schema import UTC
from remanence.service.operation import Access

SERVER_FILE = "server.db"
ACCESSES: tuple[Access, ...] = ("read", "write", "admin")
ALL_SPACES = "*"
_PREFIX = "rem"
_TABLE = """
CREATE TABLE IF NOT EXISTS tokens (
    id TEXT PRIMARY KEY, name TEXT NOT NULL, hash BLOB NOT NULL, spaces TEXT NOT NULL, access TEXT NOT NULL,
    created_at TEXT NOT NULL, expires_at TEXT, revoked_at TEXT
)"""


@dataclass(frozen=True)
class Token:
    """A token without its secret.

    Attributes:
        id: Its id, which is also a part of the token.
        name: What it was called when it was made.
        spaces: The full names of the spaces that it opens; "*" is every space.
        access: "read", "write" or "admin".
        created_at: When it was made.
        expires_at: From when on it is refused; None is never.
        revoked_at: When it was revoked; None if it was not.
    """

    id: str
    name: str
    spaces: tuple[str, ...]
    access: Access
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None

    def is_valid(self, now: datetime) -> bool:
        """Whether it is neither revoked nor expired."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)

    def opens(self, space: str) -> bool:
        """Whether it is bound to this space, or to one above it.

        >>> from remanence.schema import EPOCH
        >>> token = Token("t", "bob", ("default/users/bob",), "read", EPOCH)
        >>> token.opens("default/users/bob/work"), token.opens("default/users/bobby"), token.opens("default")
        (True, False, False)
        """
        return any(each == ALL_SPACES or space == each or space.startswith(f"{each}/") for each in self.spaces)

    def allows(self, access: Access) -> bool:
        """Whether it allows as much."""
        return ACCESSES.index(access) <= ACCESSES.index(self.access)


class TokenStore:
    """The tokens of one folder.

    Args:
        folder: The folder of the ledger; None keeps the tokens in memory.

    Example:
        >>> store = TokenStore(None)
        >>> secret, token = store.create("bob", spaces=["default/users/bob"], access="write")
        >>> store.check(secret) == token, store.check("rem_wrong_token")
        (True, None)
        >>> _ = store.revoke(token.id)
        >>> store.check(secret) is None
        True
    """

    def __init__(self, folder: Path | None) -> None:
        self._lock = threading.Lock()
        self._connection = connect(folder)
        with self._lock, self._connection:
            self._connection.execute(_TABLE)

    def create(
        self,
        name: str,
        *,
        spaces: Sequence[str],
        access: str,
        expires_at: datetime | None = None,
        now: datetime | None = None,
    ) -> tuple[str, Token]:
        """Make a token.

        Args:
            name: What it is called in lists.
            spaces: The full names of the spaces that it opens, with those below them; "*" is every space.
            access: "read", "write" or "admin".
            expires_at: From when on it is refused.
            now: The present moment.

        Returns:
            The token, which is not stored and cannot be shown again, and its description.

        Raises:
            InvalidInput: The name is blank, no space is given, or the access is unknown.
        """
        if not name.strip():
            raise InvalidInput(f"name={name!r} is blank. Say who the token is for.")
        if not spaces or not all(space.strip() for space in spaces):
            raise InvalidInput(f"spaces={list(spaces)!r} names no space. Give for example default, or * for all.")
        for each in ACCESSES:
            if each == access:
                break
        else:
            raise InvalidInput(f"access={access!r} is none of {', '.join(ACCESSES)}.")
        token = Token(secrets.token_hex(6), name, tuple(spaces), each, now or datetime.now(UTC), expires_at)
        secret = secrets.token_urlsafe(32)
        row = (token.id, name, _hash(secret), json.dumps(list(spaces)), access)
        times = (token.created_at.isoformat(), None if expires_at is None else expires_at.isoformat())
        with self._lock, self._connection:
            self._connection.execute("INSERT INTO tokens VALUES (?, ?, ?, ?, ?, ?, ?, NULL)", (*row, *times))
        return f"{_PREFIX}_{token.id}_{secret}", token

    def check(self, given: str, now: datetime | None = None) -> Token | None:
        """The description of a token; None if it is unknown, revoked or expired."""
        parts = given.split("_", 2)
        if len(parts) != 3 or parts[0] != _PREFIX:
            return None
        with self._lock:
            row = self._connection.execute(f"{_SELECT} WHERE id = ?", (parts[1],)).fetchone()
        if row is None or not hmac.compare_digest(row[-1], _hash(parts[2])):
            return None
        token = _token(row)
        return token if token.is_valid(now or datetime.now(UTC)) else None

    def list(self) -> list[Token]:
        """All tokens, oldest first, revoked ones too."""
        with self._lock:
            rows = self._connection.execute(f"{_SELECT} ORDER BY created_at, id").fetchall()
        return [_token(row) for row in rows]

    def revoke(self, token_id: str, now: datetime | None = None) -> Token:
        """Refuse a token from now on.

        Raises:
            NotFound: There is no token with this id.
        """
        moment = (now or datetime.now(UTC)).isoformat()
        with self._lock, self._connection:
            self._connection.execute(
                "UPDATE tokens SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL", (moment, token_id)
            )
            row = self._connection.execute(f"{_SELECT} WHERE id = ?", (token_id,)).fetchone()
        if row is None:
            raise NotFound(f"there is no token {token_id!r}. `remanence tokens list` shows their ids.")
        return _token(row)

    def close(self) -> None:
        with self._lock:
            self._connection.close()


def server_folder(location: str | Path | None) -> Path | None:
    """The folder for the files of a server, which is that of the ledger; None for a ledger in memory.

    Raises:
        InvalidInput: The ledger is in a database.
    """
    if location is not None and is_address(location):
        raise InvalidInput(
            f"{shown_location(location)} is a database, and a server keeps its tokens in the folder of the ledger. "
            "Serve a folder; `remanence migrate` copies a database into one."
        )
    return None if location is None else Path(location)


def connect(folder: Path | None) -> sqlite3.Connection:
    """The database of a server, beside the ledger. Only its owner may read it.

    Raises:
        LedgerUnavailable: It cannot be opened.
    """
    if folder is None:
        return sqlite3.connect(":memory:", check_same_thread=False)
    path = folder / SERVER_FILE
    try:
        path.touch(mode=0o600)
        connection = sqlite3.connect(path, check_same_thread=False, timeout=10)
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=NORMAL")
    except (OSError, sqlite3.Error) as error:
        raise LedgerUnavailable(
            f"{path} cannot be opened: {error}. Check that the folder can be written to."
        ) from error
    return connection


_SELECT = "SELECT id, name, spaces, access, created_at, expires_at, revoked_at, hash FROM tokens"


def _token(row: tuple[str, str, str, Access, str, str | None, str | None, bytes]) -> Token:
    token_id, name, spaces, access, *times, _ = row
    created, expires, revoked = (None if each is None else datetime.fromisoformat(str(each)) for each in times)
    assert created is not None, "the column is NOT NULL"
    return Token(token_id, name, tuple(json.loads(spaces)), access, created, expires, revoked)


def _hash(secret: str) -> bytes:
    # The secret has 256 random bits, so that a slow hash would add nothing.
    return hashlib.sha256(secret.encode()).digest()
