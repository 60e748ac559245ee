"""Calling a server as a client does."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import pytest

import remanence

pytest.importorskip("mcp", reason="mcp is not installed: pip install remanence-memory[mcp]")

import jsonschema
from mcp import Client

from remanence_server.mcp import make_server
from remanence_server.mcp.server import http_server


class Caller:
    """A client in the same process."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self._output_schemas: dict[str, Any] = {}

    async def call(self, tool: str, **arguments: Any) -> Any:
        """What a tool returned, for programs. It is as its schema says."""
        result = await self.client.call_tool(tool, arguments)
        assert not result.is_error, result.content
        if not self._output_schemas:
            listed = await self.client.list_tools()
            self._output_schemas = {each.name: each.output_schema for each in listed.tools}
        if (schema := self._output_schemas[tool]) is not None:
            jsonschema.validate(result.structured_content, schema)
        return result.structured_content

    async def fail(self, tool: str, **arguments: Any) -> Any:
        """The error that a tool returned. It has no structured content: clients that compare that with the output
        schema of the tool would show nothing of it."""
        result = await self.client.call_tool(tool, arguments)
        assert result.is_error, result.structured_content
        assert result.structured_content is None
        return result

    async def failure(self, tool: str, **arguments: Any) -> Any:
        """The fields of the error of a tool that has some."""
        return json.loads((await self.fail(tool, **arguments)).content[0].text)


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
