"""Calling a server as a client does."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import Any

import pytest

import remanence

pytest.importorskip("mcp", reason="mcp is not installed: pip install remanence[mcp]")

from mcp import Client

from remanence_mcp import make_server


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
