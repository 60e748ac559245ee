"""A space over a connection, for tests: the server runs in the same process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

import httpx
from anyio.from_thread import BlockingPortal, start_blocking_portal
from fastapi import FastAPI

import remanence
from remanence.service.client.http_pool import HttpAnswer, HttpRequest
from remanence.service.hosting.tokens import TokenStore
from remanence_server import ServerSettings, create_app

_URL = "http://127.0.0.1"


class _InProcess:
    """Requests go to an application in a thread of this process, not to the network."""

    def __init__(self, app: FastAPI, portal: BlockingPortal) -> None:
        self._app, self._portal = httpx.ASGITransport(app), portal

    def exchange(self, request: HttpRequest, into: IO[bytes] | None = None) -> HttpAnswer:
        content = request.content if isinstance(request.content, bytes) else request.content.read()
        answer = self._portal.call(self._answer, request, content)
        if into is not None and answer.status == 200:
            into.write(answer.content)
        return answer

    def close(self) -> None:
        pass

    async def _answer(self, request: HttpRequest, content: bytes) -> HttpAnswer:
        asked = httpx.Request(request.method, f"{_URL}{request.target}", headers=request.headers, content=content)
        answer = await self._app.handle_async_request(asked)
        assert isinstance(answer.stream, httpx.AsyncByteStream)
        return HttpAnswer(answer.status_code, b"".join([part async for part in answer.stream]))


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
