"""A REST server for a space, in a thread of the tests."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from remanence import Space
from remanence.service.hosting.tokens import TokenStore
from remanence_server import ServerSettings, create_app
from remanence_server.running import make_server


@contextmanager
def served(space: Space, tokens: TokenStore | None = None, **settings: Any) -> Iterator[str]:
    """The address of a server for this space."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    chosen = ServerSettings(sweep_seconds=0, port=port, shutdown_seconds=1, **settings)
    app = create_app(space, settings=chosen, tokens=tokens)
    server = make_server(app, chosen)
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
