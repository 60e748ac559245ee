"""A Qdrant server: where it is, how its collection is made, how long a call may take, and what its errors mean."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeVar
from weakref import WeakKeyDictionary

from remanence.errors import InvalidInput, MissingExtra, ProjectionUnavailable, RemanenceError

if TYPE_CHECKING:
    from qdrant_client import QdrantClient

QUANTIZATIONS = ("int8", "binary")


@dataclass(frozen=True, slots=True)
class Qdrant:
    """A Qdrant server or cluster with the vectors of spaces, for `remanence.open(vectors=...)`.

    All but `url`, `key` and `timeout` apply when a collection is created. `space.admin.rebuild_collection()` makes it
    again with others. Several processes and several ledgers may use the same server.

    Attributes:
        url: The URL, a list of URLs of one cluster, or a `QdrantClient`.
        key: The key of the server; that in QDRANT_API_KEY if left out.
        shards: Into how many shards the collection is divided; None: one for each node, as the server decides.
        replicas: How many nodes have each point.
        write_consistency: How many replicas have to confirm a write.
        quantization: "int8" keeps a quarter of each vector in memory, "binary" a thirty-second (for embedders of 1,000
            dimensions and more). Hits are scored again with the whole vector. None: no quantisation.
        on_disk: Whether whole vectors are read from disk when they are needed, and not kept in memory.
        timeout: How many seconds one call of the server may take. A server that does not answer in time is not asked
            again for a while, and `recall(...).missing` says so.

    Example:
        >>> Qdrant("http://qdrant:6333", shards=6, replicas=2, quantization="int8").replicas
        2
    """

    url: str | Sequence[str] | QdrantClient
    key: str | None = field(default=None, repr=False)
    shards: int | None = None
    replicas: int = 1
    write_consistency: int = 1
    quantization: Literal["int8", "binary"] | None = None
    on_disk: bool = False
    timeout: int = 5

    def __post_init__(self) -> None:
        key: object = self.key
        if key is not None and not isinstance(key, str):
            raise InvalidInput(f"Qdrant(key=...) is {type(key).__name__}, not text.")
        for name in ("shards", "replicas", "write_consistency", "timeout"):
            value: object = getattr(self, name)
            if value is None and name == "shards":
                continue
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise InvalidInput(f"Qdrant({name}={value!r}): give a whole number of 1 or more.")
        if self.write_consistency > self.replicas:
            raise InvalidInput(
                f"Qdrant(write_consistency={self.write_consistency}) asks more replicas to confirm a write "
                f"than there are: replicas={self.replicas}."
            )
        if self.quantization not in (None, *QUANTIZATIONS):
            raise InvalidInput(
                f"Qdrant(quantization={self.quantization!r}): give one of {', '.join(QUANTIZATIONS)}, or None."
            )
        if not isinstance(self.on_disk, bool):
            raise InvalidInput(f"Qdrant(on_disk={self.on_disk!r}): give True or False.")


log = logging.getLogger(__name__)

T = TypeVar("T")
_SAFE = "The ledger has every vector, and what is missing is written when Qdrant answers."

_BEGAN = "remanence_began"
MAX_RESPONSE_BYTES = 1 << 28
"""Bytes of an answer of the server, at most: several times the longest one, a page of ten thousand points, or the ids
of a million hits."""

_locks: WeakKeyDictionary[QdrantClient, threading.RLock] = WeakKeyDictionary()


class CollectionMissing(ProjectionUnavailable):
    """The server answers, but does not have the collection."""


class QdrantServer:
    """One Qdrant behind one address or several. The one that answered last is asked first; if it fails, the next.

    Nothing is sent before the first call: if the server is down, that reports it.

    Args:
        qdrant: Where it is, and how long one call may take at each address. A `QdrantClient` is left open by `close`.
    """

    def __init__(self, qdrant: Qdrant) -> None:
        try:
            from qdrant_client import QdrantClient
        except ImportError as error:
            raise MissingExtra(
                "vectors=Qdrant(...) needs the package qdrant-client, which this environment lacks. "
                "Run: pip install qdrant-client"
            ) from error

        self.settings = qdrant
        self._owns_clients = not isinstance(qdrant.url, QdrantClient)
        if isinstance(qdrant.url, QdrantClient):
            self._clients = [qdrant.url]
        else:
            key = qdrant.key if qdrant.key is not None else os.environ.get("QDRANT_API_KEY")
            self._clients = [
                QdrantClient(
                    url=url,
                    api_key=key,
                    timeout=qdrant.timeout,
                    check_compatibility=False,
                    event_hooks=_response_limits(qdrant.timeout, MAX_RESPONSE_BYTES),
                )
                for url in addresses(qdrant.url)
            ]
        self._first = 0
        options = self._clients[0].init_options
        self.in_process = options.get("location") == ":memory:" or options.get("path") is not None
        # The in-process client loses points when two threads use it at once; a server does not.
        self._turn = _locks.setdefault(self._clients[0], threading.RLock()) if self.in_process else nullcontext()

    @property
    def address(self) -> str:
        """Where the server is, for messages."""
        return _address(self._clients[self._first])

    def call(self, action: Callable[[QdrantClient], T]) -> T:
        """What `action` returns for a client. Every error of the server is raised as ProjectionUnavailable, which
        callers handle; CollectionMissing if it says that there is no such collection."""
        count, begin = len(self._clients), self._first
        for attempt in range(count):
            number = (begin + attempt) % count
            try:
                with self._turn:
                    result = action(self._clients[number])
            except RemanenceError:
                raise
            except Exception as error:  # httpx, grpc and qdrant-client raise many exception types
                problem, elsewhere = _explain(error, _address(self._clients[number]), self.in_process)
                if not elsewhere or attempt == count - 1:
                    raise problem from error
                log.info("%s The next address is asked.", problem)
            else:
                self._first = number
                return result
        raise AssertionError("a server has at least one address")

    def close(self) -> None:
        """Close the connections that were opened here."""
        for client in self._clients if self._owns_clients else ():
            client.close()


def addresses(qdrant: object) -> list[str]:
    """The URLs that a caller gave, checked."""
    given: Sequence[object] = [qdrant] if isinstance(qdrant, str) or not isinstance(qdrant, Sequence) else qdrant
    urls = [url for url in given if isinstance(url, str) and url.startswith(("http://", "https://"))]
    if not urls or len(urls) != len(given):
        raise InvalidInput(
            f"{qdrant!r} is neither the URL of a Qdrant server, a list of them, nor a QdrantClient. Give one such as "
            "'http://localhost:6333'."
        )
    return urls


def _address(client: QdrantClient) -> str:
    options = client.init_options
    return str(options.get("url") or options.get("location") or options.get("host") or "localhost")


def _explain(error: Exception, address: str, in_process: bool) -> tuple[ProjectionUnavailable, bool]:
    """Our error for one of the client, and whether another address of the same cluster may do better."""
    status = getattr(error, "status_code", None)
    if status == 404 or (in_process and isinstance(error, ValueError) and "not found" in str(error)):
        return CollectionMissing(f"Qdrant at {address} has lost its collection. It is filled again."), False
    if status in (401, 403):
        advice = f"Give the right key with Qdrant(url, key=...) or in QDRANT_API_KEY. {_SAFE}"
        return ProjectionUnavailable(f"Qdrant at {address} refuses the key: {status}. {advice}"), False
    if status is not None:
        said = getattr(error, "content", b"")[:200].decode("utf-8", "replace")
        reason = " ".join(filter(None, (str(status), getattr(error, "reason_phrase", ""), said)))
        return ProjectionUnavailable(f"Qdrant at {address} answers with an error: {reason}. {_SAFE}"), status >= 429
    if isinstance(error, RuntimeError):  # a client that was closed
        return ProjectionUnavailable(f"Qdrant at {address} cannot be asked: {error} {_SAFE}"), False
    reason = str(error).partition("\n")[0]  # pydantic has a line for each field of an answer that is none of Qdrant's
    return ProjectionUnavailable(f"Qdrant at {address} does not answer: {reason}. {_SAFE}"), True


def _response_limits(seconds: float, max_bytes: int) -> Mapping[str, Sequence[Callable[..., Any]]]:
    """Event hooks for an httpx client: a response that takes longer, or is longer, is an error of httpx. The time
    limit of httpx itself is for each part of a response that arrives."""
    import httpx

    class LimitedStream(httpx.SyncByteStream):
        def __init__(self, response: httpx.Response) -> None:
            self._stream, self._request = response.stream, response.request

        def __iter__(self) -> Iterator[bytes]:
            size, deadline = 0, self._request.extensions[_BEGAN] + seconds
            assert isinstance(self._stream, httpx.SyncByteStream)
            for chunk in self._stream:
                size += len(chunk)
                if time.monotonic() > deadline:
                    raise httpx.ReadTimeout(f"its answer took longer than {seconds:g} s", request=self._request)
                if size > max_bytes:
                    raise httpx.ReadError(f"its answer is longer than {max_bytes >> 20} MB", request=self._request)
                yield chunk

        def close(self) -> None:
            assert isinstance(self._stream, httpx.SyncByteStream)
            self._stream.close()

    def begin(request: httpx.Request) -> None:
        request.extensions = {**request.extensions, _BEGAN: time.monotonic()}

    def limit(response: httpx.Response) -> None:
        response.stream = LimitedStream(response)

    return {"request": [begin], "response": [limit]}
