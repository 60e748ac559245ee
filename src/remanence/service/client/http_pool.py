"""HTTP/1.1 over connections that are kept open, for any number of threads.

`http.client` sets up connections, with TLS and tunnels, and reads answers. A request is written here, in one piece: the
server would wake up twice for its head and its body.
"""

from __future__ import annotations

import os
import select
import shutil
import zlib
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPResponse, IncompleteRead
from typing import IO, Protocol

from remanence.service.client.http_address import ServerAddress

NO_ANSWER = (OSError, HTTPException, zlib.error)
"""What is raised where there is no whole answer: TimeoutError, an OSError, where the server is silent too long."""
_BLOCK = 1 << 20
_GZIP = 16 + zlib.MAX_WBITS
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


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """The answer to a request: its status and its body."""

    status: int
    content: bytes


class Transport(Protocol):
    """Brings requests to a server, and answers back."""

    def exchange(self, request: HttpRequest, into: IO[bytes] | None = None) -> HttpAnswer:
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
        self._head = _lines(address.headers)
        # Within one machine, compressing an answer takes longer than sending it.
        self._compression = "" if address.is_local else "accept-encoding: gzip\r\n"
        self._idle: deque[HTTPConnection] = deque()
        self._process = os.getpid()
        self._closed = False

    def exchange(self, request: HttpRequest, into: IO[bytes] | None = None) -> HttpAnswer:
        connection = self._take(request.timeout)
        try:
            self._send(connection, request, self._compression if into is None else "")
            response = HTTPResponse(connection.sock, method=request.method)
            answer = _read_answer(response, into)
        except BaseException:
            connection.close()  # what is left of this answer must not be read as the next one
            self._close_idle()  # a server that was started again knows none of them
            raise
        if response.will_close or self._closed or len(self._idle) >= _MAX_IDLE:
            connection.close()
        else:
            self._idle.append(connection)
        return answer

    def close(self) -> None:
        self._closed = True
        self._close_idle()

    def _take(self, timeout: float) -> HTTPConnection:
        """A connection that no other request has."""
        if self._process != os.getpid():
            self._idle, self._process = deque(), os.getpid()  # after a fork the parent reads from these
        with suppress(IndexError):
            while True:
                connection = self._idle.pop()
                if _is_open(connection):
                    connection.sock.settimeout(timeout)
                    return connection
                connection.close()
        return self._address.connect(timeout)

    def _close_idle(self) -> None:
        with suppress(IndexError):
            while True:
                self._idle.pop().close()

    def _send(self, connection: HTTPConnection, request: HttpRequest, more_headers: str) -> None:
        content = request.content
        length = len(content) if isinstance(content, bytes) else os.fstat(content.fileno()).st_size
        lines = self._head + _lines(request.headers) + more_headers
        lines += f"content-length: {length}\r\n" if length or request.method != "GET" else ""
        head = f"{request.method} {self._address.origin}{request.target} HTTP/1.1\r\n{lines}\r\n".encode("latin-1")
        if isinstance(content, bytes):
            connection.sock.sendall(head + content)
            return
        connection.sock.sendall(head)
        content.seek(0)
        with suppress(BrokenPipeError, ConnectionResetError):  # where the server refuses the file, its answer says why
            while block := content.read(_BLOCK):
                connection.sock.sendall(block)


def _lines(headers: Mapping[str, str]) -> str:
    return "".join([f"{name}: {value}\r\n" for name, value in headers.items()])


def _is_open(connection: HTTPConnection) -> bool:
    """Whether the server has not closed a connection: there is nothing to read while no request is sent."""
    if not hasattr(select, "poll"):
        return not select.select([connection.sock], [], [], 0)[0]
    poll = select.poll()
    poll.register(connection.sock, select.POLLIN)
    return not poll.poll(0)


def _read_answer(response: HTTPResponse, into: IO[bytes] | None) -> HttpAnswer:
    response.begin()
    while response.status < 200:  # what comes before the answer, such as 103 Early Hints
        response.headers = None  # type: ignore[assignment]  # `begin` reads no further while there are headers
        response.begin()
    content = b""
    if response.length is None and not response.chunked and response.getheader("content-length"):
        raise HTTPException(f"Content-Length {response.getheader('content-length')!r} is not a number")
    if into is not None and 200 <= response.status < 300:
        shutil.copyfileobj(response, into, _BLOCK)
        if response.length:
            raise IncompleteRead(b"", response.length)
    else:
        content = response.read()
    response.close()
    is_gzip = (response.getheader("content-encoding") or "").lower() == "gzip"
    return HttpAnswer(response.status, zlib.decompress(content, _GZIP) if is_gzip and content else content)
