"""A space over a connection, for tests: the server runs in the same process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
from starlette.testclient import TestClient

import remanence
from remanence.service.tokens import TokenStore
from remanence_server import ServerSettings, create_app


class _InProcess(httpx.BaseTransport):
    """Requests go to a test client, not to the network."""

    def __init__(self, client: TestClient) -> None:
        self._client = client

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        headers = {name: value for name, value in request.headers.items() if name != "content-length"}
        answer = self._client.request(request.method, str(request.url), headers=headers, content=request.read())
        plain = [(name, value) for name, value in answer.headers.items() if name != "content-encoding"]
        return httpx.Response(answer.status_code, headers=plain, content=answer.content)


@contextmanager
def connected(
    space: remanence.Space, *, tokens: TokenStore | None = None, token: str | None = None, **settings: Any
) -> Iterator[remanence.Space]:
    """The same space, as a client of a server has it."""
    app = create_app(space, settings=ServerSettings(**{"sweep_seconds": 0, **settings}), tokens=tokens)
    with TestClient(app, base_url="http://127.0.0.1") as client:
        remote = remanence.connect(
            "http://127.0.0.1", token=token, space=space.name, transport=_InProcess(client), timeout=30
        )
        with remote:
            yield remote
