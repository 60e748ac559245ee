"""Running the server with uvicorn."""

from __future__ import annotations

import contextlib
import signal
import socket
import time
from collections.abc import Callable
from types import FrameType

import uvicorn
from fastapi import FastAPI

from remanence import InvalidInput, Space
from remanence.service.hosting.network import bind_socket
from remanence.service.hosting.server_database import location_of
from remanence.service.hosting.tokens import TokenStore
from remanence_server.app import create_app
from remanence_server.connections import limited_protocol
from remanence_server.request_log import set_up_logging
from remanence_server.settings import ServerSettings
from remanence_server.state import ServerState


class _Server(uvicorn.Server):
    """Notifies the application as soon as the server is asked to stop, so that event streams end."""

    def __init__(self, config: uvicorn.Config, state: ServerState) -> None:
        super().__init__(config)
        self._state = state

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._state.stopping.set()
        self._state.stop_by = min(self._state.stop_by, time.monotonic() + self._state.settings.shutdown_seconds)
        super().handle_exit(sig, frame)


def serve(
    space: Space, settings: ServerSettings | None = None, *, on_start: Callable[[int], object] | None = None
) -> None:
    """Serve the spaces of an opened folder or database until SIGTERM or Ctrl-C.

    Requests that run are finished, then the space is closed.

    Args:
        space: Any space that `remanence.open` returned.
        on_start: Called with the port before the first request is taken, once the settings are checked.

    Raises:
        InvalidInput: The address is not a loopback address, and there are no tokens; or another program has the port.
    """
    chosen = settings or ServerSettings()
    tokens = TokenStore(location_of(space))
    end_logging = set_up_logging(chosen.log_format, chosen.log_level)
    try:
        if chosen.needs_token and not tokens.list():
            where = "A token is required" if chosen.is_loopback else f"{chosen.host} can be reached from other machines"
            raise InvalidInput(
                f"{where}, and there are no tokens. Make one: remanence tokens create NAME default --access write."
            )
        with contextlib.closing(bind_socket(chosen.host, chosen.port)) as bound:
            app = create_app(space, settings=chosen, tokens=tokens, close=True)
            if on_start is not None:
                on_start(bound.getsockname()[1])
            _run(make_server(app, chosen), bound)
    finally:
        end_logging()
        tokens.close()
        space.close()


def make_server(app: FastAPI, settings: ServerSettings) -> uvicorn.Server:
    """The server of an application, which does not run yet."""
    config = uvicorn.Config(
        app,
        host=settings.host,
        port=settings.port,
        log_config=None,  # its loggers write to the log of the process
        log_level=settings.log_level,
        access_log=False,
        timeout_graceful_shutdown=int(settings.shutdown_seconds),
        server_header=False,
        http=limited_protocol(settings),  # type: ignore[arg-type]
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
