"""A Qdrant server or cluster: one collection for all spaces. A point's id is a UUID made of its space and its number,
so spaces cannot overwrite each other; every call is also filtered by the space."""

from __future__ import annotations

import os
import threading
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from remanence.errors import (
    Closed,
    InvalidInput,
    ProjectionError,
    ProjectionStale,
    ProjectionUnreachable,
    RemanenceError,
)
from remanence.signals.stores.exact import as_rows, top_points

if TYPE_CHECKING:
    from qdrant_client import QdrantClient
    from qdrant_client.models import Filter

    from remanence.ports import Vector

BATCH = 256  # 1,536 dimensions as JSON stay well under the 32 MB a server takes at once
PAGE = 10_000
NAMESPACE = uuid.UUID("5b0d2a39-6d0c-5f0e-9b86-6f1f4b1c7a11")

_locks: WeakKeyDictionary[QdrantClient, threading.RLock] = WeakKeyDictionary()


def connect(qdrant: str | QdrantClient) -> QdrantClient:
    """A client for this URL, with the key in QDRANT_API_KEY if there is one; a client is returned as is. Nothing is
    sent yet: if the server is down, the first call reports it."""
    from qdrant_client import QdrantClient

    if isinstance(qdrant, QdrantClient):
        return qdrant
    if not isinstance(qdrant, str) or not qdrant.startswith(("http://", "https://")):
        raise InvalidInput(
            f"qdrant={qdrant!r} is neither a Qdrant URL nor a QdrantClient. Give one such as 'http://localhost:6333'."
        )
    return QdrantClient(url=qdrant, api_key=os.environ.get("QDRANT_API_KEY"), check_compatibility=False)


class ServerStore:
    """Vectors of one space in a collection that all spaces share. The collection is created at the first call if it
    does not exist. Closing leaves the client open: it is shared."""

    def __init__(self, client: QdrantClient, collection: str, space: str, dimension: int) -> None:
        self._client = client
        self._collection = collection
        self._space = space
        self._dimension = dimension
        self._ready = False
        self._closed = False
        options = client.init_options
        self._in_process = options.get("location") == ":memory:" or options.get("path") is not None
        self._address = options.get("url") or options.get("location") or options.get("host") or "localhost"
        # The in-process client loses points when two threads use it at once; a server does not.
        self._turn = _locks.setdefault(client, threading.RLock()) if self._in_process else nullcontext()

    def upsert(self, ids: Sequence[int], vectors: Vector) -> None:
        from qdrant_client.models import PointStruct

        rows = as_rows(vectors, len(ids), self._dimension)
        for start in range(0, len(ids), BATCH):
            points = [
                PointStruct(id=self._key(n), vector=row.tolist(), payload={"space": self._space, "n": int(n)})
                for n, row in zip(ids[start : start + BATCH], rows[start : start + BATCH], strict=True)
            ]
            with self._server() as client:
                client.upsert(self._collection, points, wait=True)

    def search(self, vector: Vector, limit: int, only: Sequence[int] | None = None) -> tuple[list[int], list[float]]:
        from qdrant_client.models import SearchParams

        query = as_rows(vector, 1, self._dimension)[0].tolist()
        chosen = self._filter(only)
        # The in-process client is always exact, and warns about the parameter.
        exact = None if self._in_process else SearchParams(exact=True)

        def scan(depth: int) -> list[tuple[int, float]]:
            found = client.query_points(
                self._collection, query=query, query_filter=chosen, search_params=exact, limit=depth, with_payload=["n"]
            )
            return [(_number(point.payload), point.score) for point in found.points]

        with self._server() as client:
            return top_points(scan, limit)

    def delete(self, ids: Sequence[int]) -> None:
        if len(ids):
            self._delete(self._filter(ids))

    def ids(self) -> list[int]:
        with self._server() as client:
            found: list[int] = []
            offset: Any = None
            while True:
                page, offset = client.scroll(
                    self._collection, scroll_filter=self._filter(), limit=PAGE, offset=offset, with_payload=["n"]
                )
                found.extend(_number(point.payload) for point in page)
                if offset is None:
                    return found

    def clear(self) -> None:
        """Remove all points of this space, and of no other."""
        self._delete(self._filter())

    def flush(self) -> None:
        """Nothing to do: each call waits until the server has written."""

    def close(self) -> None:
        """Refuse further calls. The client stays open: it is shared."""
        self._closed = True

    def _delete(self, points: Filter) -> None:
        from qdrant_client.models import FilterSelector

        with self._server() as client:
            client.delete(self._collection, FilterSelector(filter=points), wait=True)

    def _filter(self, only: Sequence[int] | None = None) -> Filter:
        """The filter of every call: this space, and these points of it if given."""
        from qdrant_client.models import FieldCondition, Filter, HasIdCondition, MatchValue

        space = FieldCondition(key="space", match=MatchValue(value=self._space))
        if only is None:
            return Filter(must=[space])
        return Filter(must=[space, HasIdCondition(has_id=[self._key(n) for n in only])])

    def _key(self, n: int) -> str:
        return str(uuid.uuid5(NAMESPACE, f"{n}:{self._space}"))

    @contextmanager
    def _server(self) -> Iterator[QdrantClient]:
        """The client, with its collection created; its errors become ours, with the address."""
        from qdrant_client.http.exceptions import ApiException, UnexpectedResponse

        if self._closed:
            raise Closed(f"The vector store of space {self._space!r} was closed. Open the space again.")
        try:
            with self._turn:
                if not self._ready:
                    self._prepare()
                    self._ready = True
                yield self._client
        except UnexpectedResponse as error:
            # If somebody else deleted the collection, the next call creates it again.
            self._ready = self._ready and error.status_code != 404
            kind = ProjectionUnreachable if (error.status_code or 0) >= 500 else ProjectionError
            raise kind(
                f"Qdrant at {self._address} refused a call on collection {self._collection!r}: "
                f"{error.status_code} {error.reason_phrase}. For 401 or 403 set QDRANT_API_KEY; "
                "otherwise see the server's log."
            ) from error
        except ApiException as error:
            advice = "The ledger is not affected: start the server, or correct its address, and try again."
            raise ProjectionUnreachable(f"Qdrant at {self._address} does not answer: {error}. {advice}") from error
        except RemanenceError:
            raise
        except (RuntimeError, ValueError) as error:
            # A closed client raises this, and the in-process one for a collection that does not exist.
            self._ready = False
            advice = "The ledger is not affected: open the space again with a client that is open."
            raise ProjectionError(f"Qdrant at {self._address} cannot be asked: {error} {advice}") from error

    def _prepare(self) -> None:
        """Create the collection if it does not exist; refuse one of another dimension."""
        from qdrant_client.http.exceptions import UnexpectedResponse
        from qdrant_client.models import Distance, HnswConfigDiff, KeywordIndexParams, KeywordIndexType, VectorParams

        client, collection = self._client, self._collection
        if not client.collection_exists(collection):
            try:
                client.create_collection(
                    collection,
                    vectors_config=VectorParams(size=self._dimension, distance=Distance.DOT),
                    hnsw_config=HnswConfigDiff(m=0),  # searches are exact: an HNSW graph would only use memory
                )
            except UnexpectedResponse as error:
                if error.status_code != 409:  # another process has created it
                    raise
        if not self._in_process:  # there an index has no effect, and causes a warning
            by_space = KeywordIndexParams(type=KeywordIndexType.KEYWORD, is_tenant=True)
            client.create_payload_index(collection, "space", field_schema=by_space, wait=True)
        existing = client.get_collection(collection).config.params.vectors
        size = existing.size if isinstance(existing, VectorParams) else None
        if size != self._dimension:
            raise ProjectionStale(
                f"Collection {collection!r} at {self._address} holds vectors of {size or 'several'} "
                f"dimensions but this space opens with {self._dimension}. Open with the embedder it was "
                "made with, or delete the collection: it is filled again from the ledger."
            )


def _number(payload: dict[str, Any] | None) -> int:
    return int((payload or {})["n"])
