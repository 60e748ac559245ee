"""Running the server with uvicorn."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
from collections.abc import Callable
from types import FrameType
from typing import Any

import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from remanence import InvalidInput, Space
from remanence.service.hosting.network import bind_socket
from remanence.service.hosting.server_database import location_of
from remanence.service.hosting.tokens import TokenStore
from remanence_server.app import create_app
from remanence_server.settings import ServerSettings
from remanence_server.state import ServerState


class _Server(uvicorn.Server):
    """Notifies the application as soon as the server is asked to stop, so that event streams end."""

    def __init__(self, config: uvicorn.Config, state: ServerState) -> None:
        super().__init__(config)
        self._state = state

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._state.stopping.set()
        super().handle_exit(sig, frame)


def serve(
    space: Space,
    settings: ServerSettings | None = None,
    *,
    log_level: str = "warning",
    on_start: Callable[[], object] | None = None,
) -> None:
    """Serve the spaces of an opened folder or database until SIGTERM or Ctrl-C.

    Requests that run are finished, then the space is closed.

    Args:
        space: Any space that `remanence.open` returned.
        settings: The settings.
        log_level: What uvicorn logs.
        on_start: Called before the first request is taken, once the settings are checked.

    Raises:
        InvalidInput: The address is not a loopback address, and there are no tokens; or another program has the port.
    """
    chosen = settings or ServerSettings()
    tokens = TokenStore(location_of(space))
    try:
        if chosen.needs_token and not tokens.list():
            where = "A token is required" if chosen.is_loopback else f"{chosen.host} can be reached from other machines"
            raise InvalidInput(
                f"{where}, and there are no tokens. Make one: remanence tokens create NAME default --access write."
            )
        with contextlib.closing(bind_socket(chosen.host, chosen.port)) as bound:
            app = create_app(space, settings=chosen, tokens=tokens, close=True)
            if on_start is not None:
                on_start()
            _run(app, chosen, log_level, bound)
    finally:
        tokens.close()
        space.close()


def _run(app: FastAPI, settings: ServerSettings, log_level: str, bound: socket.socket) -> None:
    config = uvicorn.Config(
        app,
        host=settings.host,
        port=settings.port,
        log_level=log_level,
        access_log=False,
        timeout_graceful_shutdown=int(settings.shutdown_seconds),
        server_header=False,
        http=Protocol,
    )
    server = _Server(config, app.state.server)
    before = {signal_number: signal.getsignal(signal_number) for signal_number in (signal.SIGINT, signal.SIGTERM)}
    try:
        with contextlib.suppress(KeyboardInterrupt):  # uvicorn raises the signal again when it has ended
            server.run(sockets=[bound])
    finally:
        for key, handler in before.items():
            signal.signal(key, handler)


_MAX_HEAD = 4_096


class Protocol(HttpToolsProtocol):
    """The protocol of one connection."""

    def connection_made(self, transport: Any) -> None:
        """Called by the event loop with the transport of the connection."""
        super().connection_made(JoinedWrites(transport, self.loop))  # type: ignore[arg-type]


class JoinedWrites:
    """A transport that holds a short write back until the next one, or until the event loop goes on.

    uvicorn writes the head and the body of an answer one after the other, and each is sent at once: the client would
    wake up twice, and on a busy machine wait for a processor twice. Everything but writing and closing is done by the
    transport that it is made of.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._held: bytes | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Send something, in one piece with what is held back."""
        held, self._held = self._held, None
        if held is not None:
            self._transport.writelines((held, data))
        elif len(data) <= _MAX_HEAD:
            self._held = data
            self._loop.call_soon(self._flush)
        else:
            self._transport.write(data)

    def close(self) -> None:
        """Send what is held back, and close the connection."""
        self._flush()
        self._transport.close()

    def _flush(self) -> None:
        held, self._held = self._held, None
        if held is not None:
            self._transport.write(held)
