"""Tokens: who may use which spaces over the network. Only hashes of them are stored, beside the ledger.

A token is `rem_`, its id and a secret of 256 random bits. It is bound to spaces, and opens those below them, too.
What it allows is one of "read", "propose" (also offers memories to be approved), "write" (also writes and approves)
and "admin" (also erases, applies upkeep, and rebuilds).
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import get_args

from remanence.errors import InvalidInput, NotFound
from remanence.schema import UTC
from remanence.service.hosting.server_database import Location, Row, open_database
from remanence.service.operation import Access

ACCESSES: tuple[Access, ...] = get_args(Access)
ALL_SPACES = "*"
_PREFIX = "rem"
_TABLE = """
CREATE TABLE IF NOT EXISTS tokens (
    id TEXT PRIMARY KEY, name TEXT NOT NULL, hash {bytes} NOT NULL, spaces TEXT NOT NULL, access TEXT NOT NULL,
    created_at TEXT NOT NULL, expires_at TEXT, revoked_at TEXT
)"""


@dataclass(frozen=True)
class AccessToken:
    """A token without its secret.

    Attributes:
        id: Its id, which is also a part of the token.
        name: What it was called when it was made.
        spaces: The full names of the spaces that it opens; "*" is every space.
        access: "read", "propose", "write" or "admin".
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

    def covers(self, space: str) -> bool:
        """Whether it is bound to this space, or to one above it.

        >>> from remanence.schema import EPOCH
        >>> token = AccessToken("t", "bob", ("default/users/bob",), "read", EPOCH)
        >>> token.covers("default/users/bob/work"), token.covers("default/users/bobby"), token.covers("default")
        (True, False, False)
        """
        return any(
            allowed == ALL_SPACES or space == allowed or space.startswith(f"{allowed}/") for allowed in self.spaces
        )

    def allows(self, access: Access) -> bool:
        """Whether the access level of the token is at least this."""
        return ACCESSES.index(access) <= ACCESSES.index(self.access)


class TokenStore:
    """The tokens for the spaces of one ledger.

    Args:
        location: The folder of the ledger, or the address of its database; None keeps the tokens in memory.

    Example:
        >>> store = TokenStore(None)
        >>> secret, token = store.create("bob", spaces=["default/users/bob"], access="write")
        >>> store.authenticate(secret) == token, store.authenticate("rem_wrong_token")
        (True, None)
        >>> _ = store.revoke(token.id)
        >>> store.authenticate(secret) is None
        True
    """

    def __init__(self, location: Location, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._known: OrderedDict[bytes, tuple[float, AccessToken]] = OrderedDict()
        self._lock = threading.Lock()
        self._database = open_database(location)
        self._database.create(_TABLE)

    def create(
        self, name: str, *, spaces: Sequence[str], access: str, expires_at: datetime | None = None
    ) -> tuple[str, AccessToken]:
        """Make a token.

        Args:
            name: What it is called in lists.
            spaces: The full names of the spaces that it opens, with those below them; "*" is every space.
            access: "read", "propose", "write" or "admin".
            expires_at: From when on it is refused.

        Returns:
            The token, which is not stored and cannot be shown again, and its description.

        Raises:
            InvalidInput: The name is blank, no space is given, or the access is unknown.
        """
        if not name.strip():
            raise InvalidInput(f"name={name!r} is blank. Say who the token is for.")
        if not spaces or not all(space.strip() for space in spaces):
            raise InvalidInput(f"spaces={list(spaces)!r} names no space. Give for example default, or * for all.")
        if wrong := next((space for space in spaces if not all(part.strip() for part in space.split("/"))), None):
            raise InvalidInput(
                f"{wrong!r} is no name of a space: a part of it is empty. Give it as `remanence spaces` prints it, for "
                "example default/users/bob."
            )
        if access not in ACCESSES:
            raise InvalidInput(f"access={access!r} is none of {', '.join(ACCESSES)}.")
        token = AccessToken(secrets.token_hex(6), name, tuple(spaces), access, datetime.now(UTC), expires_at)
        secret = secrets.token_urlsafe(32)
        row = (token.id, name, _hash(secret), json.dumps(list(spaces)), access)
        times = (token.created_at.isoformat(), None if expires_at is None else expires_at.isoformat())
        self._database.execute(_INSERT, (*row, *times))
        return f"{_PREFIX}_{token.id}_{secret}", token

    def authenticate(self, token_text: str) -> AccessToken | None:
        """The description of a token; None if it is unknown, revoked or expired."""
        known = self.cached(token_text)
        if known is not None:
            return known
        token = self._look_up(token_text)
        with self._lock:
            self._known.pop(_hash(token_text), None)
            if token is not None:
                # So long may a revocation by another process take.
                self._known[_hash(token_text)] = (self._clock() + 1.0, token)
            if len(self._known) > 1_000:
                self._known.popitem(last=False)
        return token

    def _look_up(self, token_text: str) -> AccessToken | None:
        parts = token_text.split("_", 2)
        if len(parts) != 3 or parts[0] != _PREFIX or not parts[1].isalnum():
            return None
        rows = self._database.execute(f"{_SELECT} WHERE id = ?", (parts[1],))
        if not rows or not hmac.compare_digest(rows[0][-1], _hash(parts[2])):
            return None
        token = _token(rows[0])
        return token if token.is_valid(datetime.now(UTC)) else None

    def cached(self, token_text: str) -> AccessToken | None:
        """As `authenticate`, for a token found valid within the last second; None for any other. Never waits."""
        with self._lock:
            until, token = self._known.get(_hash(token_text), (0.0, None))
        return token if token is not None and self._clock() < until and token.is_valid(datetime.now(UTC)) else None

    def was_valid(self, token_text: str) -> bool:
        """Whether a token was valid when `authenticate` saw it last. Never waits."""
        with self._lock:
            return _hash(token_text) in self._known

    def is_still_valid(self, token_id: str) -> bool:
        """Whether a token is neither revoked nor expired by now. Always asks the database."""
        rows = self._database.execute(f"{_SELECT} WHERE id = ?", (token_id,))
        return bool(rows) and _token(rows[0]).is_valid(datetime.now(UTC))

    def list(self) -> list[AccessToken]:
        """All tokens, oldest first, revoked ones too."""
        return [_token(row) for row in self._database.execute(f"{_SELECT} ORDER BY created_at, id")]

    def revoke(self, token_id: str) -> AccessToken:
        """Refuse a token from now on. Another process that has just used it refuses it after a second.

        Raises:
            NotFound: There is no token with this id.
        """
        moment = datetime.now(UTC).isoformat()
        self._database.execute(
            "UPDATE tokens SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL", (moment, token_id)
        )
        with self._lock:
            self._known.clear()
        rows = self._database.execute(f"{_SELECT} WHERE id = ?", (token_id,))
        if not rows:
            raise NotFound(f"there is no token {token_id!r}. `remanence tokens list` shows their ids.")
        return _token(rows[0])

    def close(self) -> None:
        self._database.close()


_INSERT = "INSERT INTO tokens VALUES (?, ?, ?, ?, ?, ?, ?, NULL) ON CONFLICT (id) DO NOTHING"
_SELECT = "SELECT id, name, spaces, access, created_at, expires_at, revoked_at, hash FROM tokens"


def _token(row: Row) -> AccessToken:
    token_id, name, spaces, access, *times, _ = row
    created, expires, revoked = (None if time_ is None else datetime.fromisoformat(str(time_)) for time_ in times)
    assert created is not None, "the column is NOT NULL"
    return AccessToken(token_id, name, tuple(json.loads(spaces)), access, created, expires, revoked)


def _hash(secret: str) -> bytes:
    # The secret has 256 random bits, so that a slow hash would add nothing.
    return hashlib.sha256(secret.encode(errors="surrogatepass")).digest()
