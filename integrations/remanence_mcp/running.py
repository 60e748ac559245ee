"""Serving one client over standard input and output, or many over streamable HTTP."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import anyio
import uvicorn
from mcp.server.transport_security import TransportSecuritySettings

from remanence import InvalidInput
from remanence.service.hosting.network import bind_socket, is_loopback

if TYPE_CHECKING:
    from remanence_mcp.server import MemoryServer

PATH = "/mcp"
DEFAULT_HOST, DEFAULT_PORT = "127.0.0.1", 8765


def run_stdio(server: MemoryServer) -> None:
    """Serve one client until it closes standard input. Nothing but the protocol is written to standard output."""
    anyio.run(server.run_stdio_async)


def run_http(server: MemoryServer, host: str, port: int, *, on_start: Callable[[], object] | None = None) -> None:
    """Serve until interrupted, at http://HOST:PORT/mcp.

    Args:
        server: What `make_server` made.
        host: The address to listen on.
        port: The port.
        on_start: Called before the first request is taken, once the port is bound.

    Raises:
        InvalidInput: The host is not this machine, and the server asks for no token; or another program has the port.
    """
    options = http_options(server, host)
    with contextlib.closing(bind_socket(host, port)) as bound:
        app = server.streamable_http_app(host=host, **options)
        config = uvicorn.Config(app, host=host, port=port, log_level=server.settings.log_level.lower())
        if on_start is not None:
            on_start()
        anyio.run(lambda: uvicorn.Server(config).serve(sockets=[bound]))


def http_options(server: MemoryServer, host: str) -> dict[str, Any]:
    """How to serve at a host.

    Raises:
        InvalidInput: The host is not this machine, and the server asks for no token.
    """
    if is_loopback(host):
        return {"streamable_http_path": PATH}
    if not server.asks_for_token:
        raise InvalidInput(
            f"host={host!r} can be reached from other machines, and everybody there could read and write all memories. "
            "Give tokens (`remanence tokens create`, --token or --tokens FILE), or serve at 127.0.0.1."
        )
    # Tokens protect it, and behind a proxy the name of the host is not known here.
    security = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    return {"streamable_http_path": PATH, "transport_security": security}
