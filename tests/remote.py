"""A space over a connection, for tests: the server runs in the same process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
from anyio.from_thread import BlockingPortal, start_blocking_portal
from fastapi import FastAPI

import remanence
from remanence.service.hosting.tokens import TokenStore
from remanence_server import ServerSettings, create_app

_URL = "http://127.0.0.1"


class _InProcess(httpx.BaseTransport):
    """Requests go to an application in a thread of this process, not to the network."""

    def __init__(self, app: FastAPI, portal: BlockingPortal) -> None:
        self._app, self._portal = httpx.ASGITransport(app), portal

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        request.read()
        return self._portal.call(self._answer, request)

    async def _answer(self, request: httpx.Request) -> httpx.Response:
        asked = httpx.Request(request.method, request.url, headers=request.headers, content=request.content)
        answer = await self._app.handle_async_request(asked)
        content = await answer.aread()
        return httpx.Response(answer.status_code, content=content)


@contextmanager
def connected(
    space: remanence.Space, *, tokens: TokenStore | None = None, token: str | None = None, **settings: Any
) -> Iterator[remanence.Space]:
    """The same space, as a client of a server has it."""
    app = create_app(space, settings=ServerSettings(**{"sweep_seconds": 0, **settings}), tokens=tokens)
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(app.router.lifespan_context(app)):
        transport = _InProcess(app, portal)
        with remanence.connect(_URL, token=token, space=space.name, transport=transport, timeout=30) as it:
            yield it
