"""HTTP/1.1 over connections that are kept open, for any number of threads.

`http.client` sets up connections, with TLS and tunnels. Requests are written and answers are read here: that takes a
third of the processor time, since a request is sent in one piece, and headers are not parsed as those of an email.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import IO, Protocol

from remanence.service.client.http_address import ServerAddress
from remanence.service.client.http_channel import BLOCK, HttpChannel, HttpResponse

_MAX_IDLE = 32


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """One request to a server.

    Attributes:
        method: The method.
        target: The path and the query.
        headers: The headers, except for those that every request has.
        content: The body, or an open file that contains it.
        timeout: How many seconds the server may be silent.
    """

    method: str
    target: str
    headers: Mapping[str, str]
    content: bytes | IO[bytes]
    timeout: float


class Transport(Protocol):
    """Brings requests to a server, and answers back."""

    def exchange(self, request: HttpRequest, into: IO[bytes] | None = None) -> HttpResponse:
        """Send a request, and return the answer. The body of a success is written into a file, if one is given.

        Raises:
            OSError, HTTPException, zlib.error: There is no whole answer.
        """
        ...

    def close(self) -> None:
        """Close all connections."""
        ...


class HttpPool:
    """The transport over a network. A connection belongs to one request at a time, and is kept for later ones."""

    def __init__(self, address: ServerAddress) -> None:
        self._address = address
        self._origin = address.origin
        self._head = _lines(address.headers)
        # Within one machine, compressing an answer takes longer than sending it.
        self._compression = "" if address.is_local else "accept-encoding: gzip\r\n"
        self._idle: deque[HttpChannel] = deque()
        self._process = os.getpid()
        self._closed = False

    def exchange(self, request: HttpRequest, into: IO[bytes] | None = None) -> HttpResponse:
        channel = self._take(request.timeout)
        try:
            self._send(channel, request, self._compression if into is None else "")
            response = channel.read_response(request.method, into)
        except BaseException:
            channel.close()  # what is left of this answer must not be read as the next one
            self._close_idle()  # a server that was started again knows none of them
            raise
        if not channel.reusable or self._closed or len(self._idle) >= _MAX_IDLE:
            channel.close()
        else:
            self._idle.append(channel)
        return response

    def close(self) -> None:
        self._closed = True
        self._close_idle()

    def _take(self, timeout: float) -> HttpChannel:
        """A connection that no other request has."""
        if self._process != os.getpid():
            self._idle, self._process = deque(), os.getpid()  # after a fork the parent reads from these
        with suppress(IndexError):
            while True:
                channel = self._idle.pop()
                if channel.is_open:
                    channel.set_timeout(timeout)
                    return channel
                channel.close()
        return HttpChannel(self._address.connect(timeout))

    def _close_idle(self) -> None:
        with suppress(IndexError):
            while True:
                self._idle.pop().close()

    def _send(self, channel: HttpChannel, request: HttpRequest, more_headers: str) -> None:
        content = request.content
        length = len(content) if isinstance(content, bytes) else os.fstat(content.fileno()).st_size
        lines = self._head + _lines(request.headers) + more_headers
        lines += f"content-length: {length}\r\n" if length or request.method != "GET" else ""
        head = f"{request.method} {self._origin}{request.target} HTTP/1.1\r\n{lines}\r\n".encode("latin-1")
        if isinstance(content, bytes):
            channel.send(head + content)
            return
        channel.send(head)
        content.seek(0)
        with suppress(BrokenPipeError, ConnectionResetError):  # where the server refuses the file, its answer says why
            while block := content.read(BLOCK):
                channel.send(block)


def _lines(headers: Mapping[str, str]) -> str:
    return "".join([f"{name}: {value}\r\n" for name, value in headers.items()])
