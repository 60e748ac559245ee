"""Limits on connections, for the REST server and for MCP over HTTP: how many there are, how long the head of a request
is, and how long the next part of a request is waited for."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any, Literal

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from remanence.operating_system import max_open_files
from remanence_server.settings import ServerSettings


def limited_protocol(settings: ServerSettings) -> Callable[..., asyncio.Protocol]:
    """What uvicorn makes each connection of one server with."""
    return partial(_Protocol, connections=_Connections(settings))


def max_connections(settings: ServerSettings) -> int:
    """How many connections may be open: those of the settings, but at most half of the file descriptors that the
    process may have. Without a free one no connection is accepted, and no file of a memory can be opened."""
    files = max_open_files()
    return settings.max_connections if files is None else min(settings.max_connections, files // 2)


class _Connections:
    """The open connections of a server. If there are too many, the one that has waited longest for its client ends, of
    the address with the most of them that wait."""

    def __init__(self, settings: ServerSettings) -> None:
        self.settings = settings
        self._most = max_connections(settings)
        self._open: set[_Protocol] = set()

    def add(self, connection: _Protocol) -> None:
        self._open.add(connection)
        if len(self._open) <= self._most:
            return
        waiting = [each for each in self._open if each.waits_since is not None and each is not connection]
        by_address = Counter(each.address for each in waiting)
        ended = min(waiting, key=lambda each: (-by_address[each.address], each.waits_since or 0.0), default=connection)
        self.discard(ended)
        ended.transport.abort()

    def discard(self, connection: _Protocol) -> None:
        self._open.discard(connection)


class _Protocol(HttpToolsProtocol):
    """The protocol of one connection, which limits how large the head of a request is and how long it is waited for.

    uvicorn waits for ever for the rest of a request, and takes headers of any length.
    """

    def __init__(self, *args: Any, connections: _Connections, **options: Any) -> None:
        super().__init__(*args, **options)
        self._connections, self._settings = connections, connections.settings
        self.waits_since: float | None = None
        """Since when the client has to send something; None while a request is answered."""
        self._awaited: Literal["head", "body"] | None = "head"
        self._head = 0  # bytes of a head that is not complete
        self._timer: asyncio.TimerHandle | None = None

    @property
    def address(self) -> str:
        """The address of the client."""
        return self.client[0] if self.client else ""

    def connection_made(self, transport: Any) -> None:
        """Called by the event loop with the transport of the connection."""
        super().connection_made(transport)
        self._wait_for("head")
        self._connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Called by the event loop when the connection has ended."""
        self._wait_for(None)
        self._connections.discard(self)
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
        self.waits_since = None if part is None else self.loop.time()
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None if part is None else self.loop.call_later(self._settings.idle_seconds, self._end_waiting)

    def _end_waiting(self) -> None:
        if self.flow.read_paused:  # the application takes its time, not the client
            self._wait_for(self._awaited)
        else:
            self.transport.close()
