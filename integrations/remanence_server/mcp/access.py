"""Who may use which space: everybody the same, each token its own, or each user of an identity provider their own."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from mcp.server.auth.provider import AccessToken, TokenVerifier

from remanence import InvalidInput

if TYPE_CHECKING:  # the engine is loaded when a space is first used, not when the server starts
    from remanence import Space
    from remanence.service.hosting.tokens import TokenStore

Right = Literal["read", "propose", "write", "admin"]
RIGHTS: tuple[Right, ...] = get_args(Right)
_ALL_SPACES = "*"
_MIN_TOKEN_LENGTH = 16
_SPACE_CLAIM, _SPACES_CLAIM, _RIGHT_CLAIM = "remanence_space", "remanence_spaces", "remanence_right"


@dataclass(frozen=True, slots=True)
class Grant:
    """The space that a caller uses, and what for: to read, also to propose, to write, or ("admin") to apply upkeep.
    `spaces` are those that the caller may name as the project of a call, with those below them; "*" is every space."""

    space: Space
    right: Right = "admin"
    spaces: tuple[str, ...] = ()

    def allows(self, right: Right) -> bool:
        """Whether the access level of the token is at least this."""
        return RIGHTS.index(right) <= RIGHTS.index(self.right)

    def in_project(self, project: str, *, writes: bool) -> Grant:
        """The grant for a project: a space by its full name, or by its name below the caller's space.

        Raises:
            InvalidInput: The caller may not use it; or there is none, and nothing is written.
        """
        from remanence.service.hosting.spaces import Spaces

        spaces = Spaces(self.space)
        below = f"{self.space.name}/{project}"
        name = next((each for each in (project, below) if self._covers(each)), None)
        known = [each for each in spaces.names() if self._covers(each)]
        if name is not None and below in known and project not in known:
            name = below  # a token for every space covers both
        if name is None or not (writes or name in known or name == self.space.name):
            near = get_close_matches(project, [each.rpartition("/")[2] for each in known] + known, n=1, cutoff=0.5)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise InvalidInput(
                f"there is no project {project!r} for this client.{hint} There are: {', '.join(known[:20]) or 'none'}."
            )
        return Grant(spaces.get(name), self.right, self.spaces)

    def _covers(self, name: str) -> bool:
        return any(each in (_ALL_SPACES, name) or name.startswith(f"{each}/") for each in self.spaces)


_current: ContextVar[Grant | None] = ContextVar("remanence_grant", default=None)
report_progress: ContextVar[Callable[[int, int], None] | None] = ContextVar("remanence_progress", default=None)
"""Tells the client of the call that is running how much of it is done, as (done, total)."""


def current_space() -> Space:
    """The space of the call that is running."""
    return _grant().space


def space_of_project(project: str) -> Space:
    """Another space that the caller of the call that is running may read, by its full name or by that below its own.

    Raises:
        InvalidInput: The caller may not, or there is none.
    """
    return _grant().in_project(project, writes=False).space


def require_right(right: Right, what: str) -> None:
    """Refuse the call that is running unless its caller has a right.

    Raises:
        InvalidInput: The caller has not.
    """
    if not may(right):
        raise InvalidInput(f"{what} needs a token with the access {right!r}, and this client has {_grant().right!r}.")


def may(right: Right) -> bool:
    """Whether the caller of the call that is running, if one is, has a right."""
    grant = _current.get()
    return grant is None or grant.allows(right)


def _grant() -> Grant:
    grant = _current.get()
    if grant is None:
        raise RuntimeError("no call of an MCP client is running")
    return grant


@contextmanager
def using_grant(grant: Grant) -> Iterator[None]:
    """Make a grant the current one in a `with` block."""
    token = _current.set(grant)
    try:
        yield
    finally:
        _current.reset(token)


class TokenFile(TokenVerifier):
    """Bearer tokens from a JSON file: `{"the token": "default/users/bob", "another": {"space": "x", "right": "read"}}`.

    In place of a token, the file may have "sha256:" and the hexadecimal SHA-256 of it.

    Args:
        tokens: The path of the file, or what is in it.

    Raises:
        InvalidInput: The file cannot be read, or a token is too short to be safe.

    Example:
        >>> TokenFile({"0123456789abcdef": "default/users/bob"}).spaces
        ['default/users/bob']
    """

    def __init__(self, tokens: str | Path | Mapping[str, Any]) -> None:
        given = tokens if isinstance(tokens, Mapping) else _read(Path(tokens).expanduser())
        self._grants = dict(_checked(token, grant) for token, grant in given.items())
        if not self._grants:
            raise InvalidInput(f"{tokens} names no token, so nobody could use the server. Add one.")

    @property
    def spaces(self) -> list[str]:
        """The full names of the spaces that some token may use."""
        return list(dict.fromkeys(space for spaces, _ in self._grants.values() for space in spaces))

    @property
    def opens_several(self) -> bool:
        """Whether a token may use more than one space."""
        return any(len(spaces) > 1 or _ALL_SPACES in spaces for spaces, _ in self._grants.values())

    async def verify_token(self, token: str) -> AccessToken | None:
        """The grant of a token; None if there is none."""
        digest = _digest(token)
        # Every one is compared, in a time that does not depend on where they differ.
        found = [grant for known, grant in self._grants.items() if hmac.compare_digest(known, digest)]
        if not found:
            return None
        spaces, right = found[0]
        claims = {_SPACE_CLAIM: spaces[0], _SPACES_CLAIM: list(spaces), _RIGHT_CLAIM: right}
        # The id differs for each token, as sessions belong to the client that opened them.
        return AccessToken(token=token, client_id=f"token:{digest[:16]}", scopes=[right], claims=claims)


class StoredTokens(TokenVerifier):
    """The tokens that `remanence tokens` makes, which the REST server takes, too.

    A token uses the space of the server if it opens that one, and otherwise the first space that it is bound to.

    Args:
        space: The space of the server. Its folder or database has the tokens.

    Raises:
        InvalidInput: There is no token.

    Example:
        >>> import remanence
        >>> with remanence.open(None) as space:
        ...     StoredTokens(space)
        Traceback (most recent call last):
        remanence.errors.InvalidInput: there are no tokens. Make one: remanence tokens create NAME SPACE --access write.
    """

    def __init__(self, space: Space, store: TokenStore | None = None) -> None:
        from remanence.service.hosting.server_database import location_of
        from remanence.service.hosting.tokens import TokenStore

        self._space = space.name
        self._store = store or TokenStore(location_of(space))
        if not self._store.list():
            self._store.close()
            raise InvalidInput("there are no tokens. Make one: remanence tokens create NAME SPACE --access write.")

    async def verify_token(self, token: str) -> AccessToken | None:
        """The grant of a token; None if it is unknown, expired or revoked."""
        found = self._store.cached(token) or await asyncio.to_thread(self._store.authenticate, token)
        if found is None:
            return None
        space = self._space if found.covers(self._space) else found.spaces[0]
        claims = {_SPACE_CLAIM: space, _SPACES_CLAIM: list(found.spaces), _RIGHT_CLAIM: found.access}
        expires_at = None if found.expires_at is None else int(found.expires_at.timestamp())
        return AccessToken(
            token=token, client_id=f"token:{found.id}", scopes=[found.access], expires_at=expires_at, claims=claims
        )

    @property
    def opens_several(self) -> bool:
        """Whether a token may use more than one space."""
        return any(len(token.spaces) > 1 or _ALL_SPACES in token.spaces for token in self._store.list())

    def close(self) -> None:
        """Close the store of the tokens."""
        self._store.close()


class _Client(NamedTuple):
    id: str


class CallersByVerifier:
    """Whose token one is, for the limits on requests."""

    def __init__(self, verifier: TokenVerifier | None) -> None:
        self._verifier = verifier
        self._valid: OrderedDict[str, None] = OrderedDict()  # digests of tokens

    def was_valid(self, token: str) -> bool:
        """Whether a token was valid when it was last seen."""
        return _digest(token) in self._valid

    async def identify(self, token: str) -> _Client | None:
        """The client of a token; None if it is not valid, or tokens are not asked for."""
        found = None if self._verifier is None else await self._verifier.verify_token(token)
        self._valid.pop(_digest(token), None)
        if found is None:
            return None
        self._valid[_digest(token)] = None
        if len(self._valid) > 10_000:
            self._valid.popitem(last=False)
        return _Client(found.client_id)


GrantOf = Callable[[AccessToken | None], Grant | None]
"""From the token of a call, if it has one, to what it may do; None refuses the call."""


def one_space(opened: Callable[[], Space], right: Right, token: AccessToken | None) -> Grant:
    """Every caller uses the same space, and those below it as projects."""
    space = opened()
    return Grant(space, right, (space.name,))


def space_of_token(opened: Callable[[], Space], right: Right, token: AccessToken | None) -> Grant | None:
    """Each token uses the space that `TokenFile` or `StoredTokens` names for it."""
    claims = (token.claims if token is not None else None) or {}
    if _SPACE_CLAIM not in claims:
        return None
    allowed = min(right, claims[_RIGHT_CLAIM], key=RIGHTS.index)
    from remanence.service.hosting.spaces import Spaces

    return Grant(Spaces(opened()).get(claims[_SPACE_CLAIM]), allowed, tuple(claims[_SPACES_CLAIM]))


def space_of_user(opened: Callable[[], Space], right: Right, token: AccessToken | None) -> Grant | None:
    """Each user has a space below this one: `root.child("users", subject)`, as with `user_key=` in the adapters.

    The subject is that of the token, by the verifier of an identity provider. If there are several providers, users of
    two of them with the same subject are distinguished by the issuer.
    """
    if token is None or not token.subject:
        return None
    issuer = (token.claims or {}).get("iss")
    below = ("users", token.subject) if issuer is None else ("users", str(issuer), token.subject)
    return one_space(lambda: opened().child(*below), right, token)


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode(errors="surrogatepass")).hexdigest()


def _checked(token: str, grant: Any) -> tuple[str, tuple[tuple[str, ...], Right]]:
    """The digest of a token, and its spaces and right."""
    fields = {"space": grant} if isinstance(grant, str | list) else grant
    given = fields.get("space") if isinstance(fields, Mapping) else None
    spaces: list[Any] = given if isinstance(given, list) else [given]
    is_named = bool(spaces) and all(isinstance(space, str) for space in spaces)
    if not is_named or set(fields) - {"space", "right"}:
        raise InvalidInput(f'a token has {grant!r}. Give the name of a space, or {{"space": "bob", "right": "read"}}.')
    right = fields.get("right", "write")
    if right not in RIGHTS:
        raise InvalidInput(f"a token has the right {right!r}. The rights are {', '.join(RIGHTS)}.")
    digest = token.removeprefix("sha256:") if token.startswith("sha256:") else _digest(token)
    if token.startswith("sha256:") and (len(digest) != 64 or set(digest) - set("0123456789abcdef")):
        raise InvalidInput(f"{token[:16]!r} is not a SHA-256 in small hexadecimal digits.")
    if len(token) < _MIN_TOKEN_LENGTH:
        raise InvalidInput(f"a token has {len(token)} characters. Use at least {_MIN_TOKEN_LENGTH} random characters.")
    return digest, (tuple(spaces), right)


def _read(path: Path) -> Mapping[str, Any]:
    example = '{"a long random token": "default/users/bob"}'
    try:
        found = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise InvalidInput(f"the file of tokens {path} cannot be read: {error.strerror}. Write {example}.") from None
    except ValueError as error:
        raise InvalidInput(f"the file of tokens {path} is not JSON ({error}). Write {example}.") from None
    if not isinstance(found, dict):
        raise InvalidInput(f"the file of tokens {path} is not a JSON object. Write {example}.")
    return found
