"""One connection to a server, and the answers that come over it (HTTP/1.1, RFC 9112)."""

from __future__ import annotations

import select
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from http.client import BadStatusLine, HTTPConnection, HTTPException, IncompleteRead, LineTooLong, RemoteDisconnected
from typing import IO

NO_ANSWER = (OSError, HTTPException, zlib.error)
"""What is raised where there is no whole answer: TimeoutError, an OSError, where the server is silent too long."""
BLOCK = 1 << 20
_BUFFER = 1 << 16
_MAX_LINE = 1 << 16
_MAX_HEADERS = 100
_GZIP = 16 + zlib.MAX_WBITS
_NO_CONTENT = (204, 304)


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """The answer to a request: its status and its body."""

    status: int
    content: bytes


class HttpChannel:
    """A connection, for one request after the other."""

    def __init__(self, connection: HTTPConnection) -> None:
        self._connection = connection
        self._socket = connection.sock
        self._file = self._socket.makefile("rb", _BUFFER)
        self.reusable = True
        """Whether another request may be sent, after an answer."""

    @property
    def is_open(self) -> bool:
        """Whether the server has not closed it: there is nothing to read while no request is sent."""
        if not hasattr(select, "poll"):
            return not select.select([self._socket], [], [], 0)[0]
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        return not poll.poll(0)

    def set_timeout(self, seconds: float) -> None:
        self._socket.settimeout(seconds)

    def send(self, content: bytes) -> None:
        self._socket.sendall(content)

    def close(self) -> None:
        self._file.close()
        self._connection.close()

    def read_response(self, method: str, into: IO[bytes] | None = None) -> HttpResponse:
        """The answer to a request with this method. The body of a success is written into a file, if one is given.

        Raises:
            OSError, HTTPException, zlib.error: There is no whole answer.
        """
        version, status = self._read_status()
        headers = self._read_headers()
        while 100 <= status < 200:  # what comes before the answer
            version, status = self._read_status()
            headers = self._read_headers()
        options = headers.get("connection", "").lower()
        self.reusable = version == b"HTTP/1.1" and "close" not in options
        blocks = self._blocks(headers) if method != "HEAD" and status not in _NO_CONTENT else iter(())
        if into is not None and 200 <= status < 300:
            for block in blocks:
                into.write(block)
            return HttpResponse(status, b"")
        content = b"".join(blocks)
        is_gzip = headers.get("content-encoding", "").lower() == "gzip"
        return HttpResponse(status, zlib.decompress(content, _GZIP) if is_gzip and content else content)

    def _read_status(self) -> tuple[bytes, int]:
        line = self._read_line()
        if not line:
            raise RemoteDisconnected("the server closed the connection without an answer")
        version, _, rest = line.partition(b" ")
        status = rest[:3]
        if not version.startswith(b"HTTP/1.") or not status.isdigit() or len(status) != 3:
            raise BadStatusLine(repr(line))
        return version, int(status)

    def _read_headers(self) -> dict[str, str]:
        """The headers, with their names in small letters."""
        headers: dict[str, str] = {}
        for _ in range(_MAX_HEADERS):
            line = self._read_line()
            if not line:
                raise IncompleteRead(b"")
            if line in (b"\r\n", b"\n"):
                return headers
            name, _, value = line.decode("latin-1").partition(":")
            headers[name.lower()] = value.strip()
        raise HTTPException(f"the answer has more than {_MAX_HEADERS} headers")

    def _read_line(self) -> bytes:
        line = self._file.readline(_MAX_LINE + 1)
        if len(line) > _MAX_LINE:
            raise LineTooLong("the answer")
        return line

    def _blocks(self, headers: dict[str, str]) -> Iterator[bytes]:
        """The body of an answer, in parts."""
        length = headers.get("content-length", "")
        if headers.get("transfer-encoding", "").lower() == "chunked":
            while size := self._chunk_size():
                yield from self._read(size)
                self._read_line()
            self._read_headers()  # and what else comes after the last chunk
        elif length.isdigit():
            yield from self._read(int(length))
        elif length:
            raise HTTPException(f"Content-Length {length!r} is not a number")
        else:  # the end of the connection is that of the body
            self.reusable = False
            while block := self._file.read(BLOCK):
                yield block

    def _chunk_size(self) -> int:
        line = self._read_line()
        try:
            return int(line.partition(b";")[0], 16)
        except ValueError:
            raise IncompleteRead(line) from None

    def _read(self, length: int) -> Iterator[bytes]:
        """So many bytes."""
        while length:
            block = self._file.read(min(length, BLOCK))
            if not block:
                raise IncompleteRead(b"", length)
            length -= len(block)
            yield block
