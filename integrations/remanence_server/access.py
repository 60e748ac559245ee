"""Authentication and authorization of requests, before their bodies are read."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import Scope

from remanence.service.hosting.network import is_loopback
from remanence.service.hosting.tokens import AccessToken, TokenStore
from remanence.service.operation import Access
from remanence_server.problems import RequestRejected, problem
from remanence_server.settings import ServerSettings

IDENTIFIED = "remanence.token"
"""Where the scope of a request has the description of its token; None if it has none or no valid one."""


@dataclass(frozen=True)
class Caller:
    """The caller: a token, or a local client without a token, which has all rights."""

    token: AccessToken | None

    @property
    def name(self) -> str:
        return "" if self.token is None else self.token.id

    def opens(self, space: str) -> bool:
        """Whether the caller may use this space at all."""
        return self.token is None or self.token.covers(space)

    def allows(self, access: Access) -> bool:
        """Whether the access level of the caller is at least this."""
        return self.token is None or self.token.allows(access)

    def require(self, space: str, access: Access) -> None:
        """Refuse the request unless the caller may do this in this space."""
        if self.token is None:
            return
        if not self.token.covers(space):
            raise _denied(f"this token is not bound to space {space!r}. Ask for one that is.")
        if not self.allows(access):
            raise _denied(f"this token allows {self.token.access!r}, and this needs {access!r}. Ask for another.")


class Identified(Protocol):
    """A valid token."""

    @property
    def id(self) -> str: ...


class Callers(Protocol):
    """Finds out whose token one is."""

    def was_valid(self, token: str) -> bool: ...

    async def identify(self, token: str) -> Identified | None: ...


class AccessControl:
    """Finds out who asks. Without a token only loopback addresses are answered, and no page of another site."""

    def __init__(self, settings: ServerSettings, tokens: TokenStore) -> None:
        self._settings = settings
        self._tokens = tokens

    def was_valid(self, token: str) -> bool:
        """Whether a token was valid when this process saw it last. Never waits."""
        return self._tokens.was_valid(token)

    async def identify(self, token: str) -> AccessToken | None:
        """The description of a token; None if it is not valid."""
        # Looking it up may wait for a database, and must not hold up the event loop.
        return self._tokens.cached(token) or await asyncio.to_thread(self._tokens.authenticate, token)

    def caller(self, request: Request) -> Caller:
        """Who sent a request, whose token `Limits` has identified.

        Raises:
            RequestRejected: The token is missing or not valid, or a page of another site sends the request.
        """
        if given_token(request.scope):
            token: AccessToken | None = request.scope[IDENTIFIED]
            if token is None:
                raise _no_token("this token is unknown, expired or revoked. Make one: remanence tokens create.")
            return Caller(token)
        if self._settings.needs_token:
            raise _no_token("a token is needed, as in: Authorization: Bearer rem_... Ask for one.")
        self._refuse_other_sites(request)
        return Caller(None)

    def check(self) -> None:
        """Read the tokens; raises an error of Remanence if they cannot be read."""
        self._tokens.list()

    def is_still_valid(self, caller: Caller) -> bool:
        """Whether the token of a caller is neither revoked nor expired by now. It may wait for a database."""
        return caller.token is None or self._tokens.is_still_valid(caller.token.id)

    def _refuse_other_sites(self, request: Request) -> None:
        """A web page must not use the server of its visitor, under any name of this machine."""
        address, *others = request.headers.getlist("host") or [""]
        if others:
            raise RequestRejected(problem(400, "the request has several Host headers. Send one.", error="InvalidInput"))
        host = _host_name(address)
        if not is_loopback(host) and host != self._settings.host:
            raise _denied(f"host {host!r} is not this machine. Without a token, ask 127.0.0.1.")
        origin = request.headers.get("origin")
        if origin in self._settings.cors_origins:
            return
        if origin and urlsplit(origin).netloc != address:
            raise _denied(f"pages of {origin!r} cannot use this server without a token.")
        # A browser sends no Origin with an image or a script, whose loading or failing tells a page what is there.
        if request.headers.get("sec-fetch-site", "") not in ("", "same-origin", "none"):
            raise _denied("pages of other sites cannot use this server without a token.")


def given_token(scope: Scope) -> str:
    """The token that a request names, valid or not; "" if there is none.

    >>> given_token({"headers": [(b"authorization", b"bearer  rem_1_x")]}), given_token({"headers": []})
    ('rem_1_x', '')
    """
    written = Headers(scope=scope).get("authorization", "")
    scheme, _, token = written.partition(" ")
    return token.strip() if scheme.lower() == "bearer" else written


def _denied(detail: str) -> RequestRejected:
    return RequestRejected(problem(403, detail, error="AccessDenied"))


def _no_token(detail: str) -> RequestRejected:
    return RequestRejected(problem(401, detail, error="InvalidToken"))


_ADDRESS = re.compile(r"(\[[0-9a-f:.]+\]|[^\s:@/?#\[\]]*)(?::\d+)?", re.IGNORECASE)


def _host_name(address: str) -> str:
    """The host of a Host header; "" if it is not a host with or without a port."""
    found = _ADDRESS.fullmatch(address)
    return found[1].strip("[]").lower() if found else ""
