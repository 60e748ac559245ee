"""HTTP/1.1 as uvicorn speaks it, with the head and the body of an answer in one piece.

uvicorn writes them one after the other, and each is sent at once: the client wakes up twice, and on a busy machine it
waits for a processor twice.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_MAX_HEAD = 4_096


class Protocol(HttpToolsProtocol):
    """The protocol of one connection."""

    def connection_made(self, transport: Any) -> None:
        """Called by the event loop with the transport of the connection."""
        super().connection_made(JoinedWrites(transport, self.loop))  # type: ignore[arg-type]


class JoinedWrites:
    """A transport that holds a short write back until the next one, or until the event loop goes on.

    Everything but writing and closing is done by the transport that it is made of.
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
