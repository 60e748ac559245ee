"""Running the server with uvicorn."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import Any, Literal

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
            _run(make_server(app, chosen, log_level=log_level), bound)
    finally:
        tokens.close()
        space.close()


def make_server(app: FastAPI, settings: ServerSettings, *, log_level: str = "warning") -> uvicorn.Server:
    """The server of an application, which does not run yet."""
    config = uvicorn.Config(
        app,
        host=settings.host,
        port=settings.port,
        log_level=log_level,
        access_log=False,
        timeout_graceful_shutdown=int(settings.shutdown_seconds),
        server_header=False,
        http=partial(Protocol, settings=settings),  # type: ignore[arg-type]
        ws="none",
    )
    return _Server(config, app.state.server)


def _run(server: uvicorn.Server, bound: socket.socket) -> None:
    before = {signal_number: signal.getsignal(signal_number) for signal_number in (signal.SIGINT, signal.SIGTERM)}
    try:
        with contextlib.suppress(KeyboardInterrupt):  # uvicorn raises the signal again when it has ended
            server.run(sockets=[bound])
    finally:
        for key, handler in before.items():
            signal.signal(key, handler)


class Protocol(HttpToolsProtocol):
    """The protocol of one connection, which limits how large the head of a request is and how long it is waited for.

    uvicorn waits for ever for the rest of a request, and takes headers of any length.
    """

    def __init__(self, *args: Any, settings: ServerSettings, **options: Any) -> None:
        super().__init__(*args, **options)
        self._settings = settings
        self._awaited: Literal["head", "body"] | None = "head"
        self._head = 0  # bytes of a head that is not complete
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Called by the event loop with the transport of the connection."""
        super().connection_made(transport)
        self._wait_for("head")

    def connection_lost(self, exc: Exception | None) -> None:
        """Called by the event loop when the connection has ended."""
        self._wait_for(None)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Called by the event loop with what has come."""
        before = self._awaited
        super().data_received(data)
        if self.transport.is_closing():
            return
        if self._awaited == "body":
            self._wait_for("body")
        elif before == self._awaited == "head":
            self._head += len(data)
            if self._head > self._settings.max_head:
                self.send_400_response(f"The headers are larger than {self._settings.max_head:,} bytes.")

    def on_message_begin(self) -> None:
        """Called by the parser at the first byte of a request. The time for its head runs already, except after
        another request that is still being answered."""
        super().on_message_begin()
        if self._awaited != "head":
            self._wait_for("head")

    def on_headers_complete(self) -> None:
        """Called by the parser at the end of a head."""
        if sum(len(name) + len(value) for name, value in self.headers) > self._settings.max_head:
            raise ValueError("the headers are too large")  # answered with status 400
        super().on_headers_complete()
        self._awaited = "body"

    def on_message_complete(self) -> None:
        """Called by the parser at the end of a request."""
        super().on_message_complete()
        self._wait_for("head" if self.cycle.response_complete else None)

    def on_response_complete(self) -> None:
        """Called at the end of an answer."""
        super().on_response_complete()
        if self._awaited is None and self.cycle.response_complete:  # else another request is being answered
            self._wait_for("head")

    def _wait_for(self, part: Literal["head", "body"] | None) -> None:
        self._awaited, self._head = part, 0
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None if part is None else self.loop.call_later(self._settings.idle_seconds, self._end_waiting)

    def _end_waiting(self) -> None:
        if self.flow.read_paused:  # the application takes its time, not the client
            self._wait_for(self._awaited)
        else:
            self.transport.close()
