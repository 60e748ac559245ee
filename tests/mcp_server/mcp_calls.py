"""Calling a server as a client does."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import pytest

import remanence

pytest.importorskip("mcp", reason="mcp is not installed: pip install remanence[mcp]")

from mcp import Client

from remanence_server.mcp import make_server
from remanence_server.mcp.server import http_server


class Caller:
    """A client in the same process."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def call(self, tool: str, **arguments: Any) -> Any:
        """What a tool returned, for programs."""
        result = await self.client.call_tool(tool, arguments)
        assert not result.is_error, result.content
        return result.structured_content

    async def fail(self, tool: str, **arguments: Any) -> Any:
        """The error that a tool returned."""
        result = await self.client.call_tool(tool, arguments)
        assert result.is_error, result.structured_content
        return result


@asynccontextmanager
async def connected(space: remanence.Space, **options: Any) -> Any:
    async with Client(make_server(space, **options)) as client:
        yield Caller(client)


@contextmanager
def serving(server: Any, **limits: Any) -> Iterator[str]:
    """A server on a free port of this machine, in a thread."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    running = http_server(server, "127.0.0.1", port, **limits)
    thread = threading.Thread(target=running.run, daemon=True)
    thread.start()
    while not running.started:
        assert thread.is_alive()
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        running.should_exit = True
        thread.join(30)
