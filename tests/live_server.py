"""A REST server for a space, in a thread of the tests."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn

from remanence import Space
from remanence.service.hosting.tokens import TokenStore
from remanence_server import ServerSettings, create_app


@contextmanager
def served(space: Space, tokens: TokenStore | None = None, **settings: Any) -> Iterator[str]:
    """The address of a server for this space."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    app = create_app(space, settings=ServerSettings(sweep_seconds=0, port=port, **settings), tokens=tokens)
    server = uvicorn.Server(uvicorn.Config(app, port=port, log_level="warning", timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        app.state.server.stopping.set()
        server.should_exit = True
        thread.join()
