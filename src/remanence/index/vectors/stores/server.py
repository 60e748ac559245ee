"""The vectors of one space on a Qdrant server or cluster, in a collection that it shares with other spaces and ledgers.

A point's id is a UUID of a hash of its ledger and its space and of its number, so a result needs nothing but ids. Every
call is filtered by ledger and space, so no space can read or delete what is another's. A point also has the ledger
position of the memory version that it was made from and the hash of its text, so that a process can tell what others
have written since it last read the ledger.

The collection is that of one embedder. Its name is an alias. The first collection behind it has a fixed name, so that
two processes that create it at once get the same one. A rebuilt collection gets a new name, and the alias is switched
when it is complete.
"""

from __future__ import annotations

import hashlib
import logging
import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from remanence.errors import Closed, ProjectionStale
from remanence.index.vectors.stores.exact import as_rows, top_points
from remanence.index.vectors.stores.qdrant import CollectionMissing, QdrantServer
from remanence.ports import StoredPoints

if TYPE_CHECKING:
    from qdrant_client import QdrantClient
    from qdrant_client.models import Filter, Record, SearchParams

    from remanence.ports import Vector

log = logging.getLogger(__name__)

T = TypeVar("T")
BATCH = 256
"""Points that are sent to a server at a time: with 1,536 dimensions as JSON they stay well under the 32 MB that a
server takes at once."""
PAGE = 10_000
"""Points that are read or deleted at a time; a server closes the connection of a request with the ids of a million."""


class Collection:
    """A collection under its alias. It is created at the first call if it does not exist; nothing here clears it."""

    def __init__(self, server: QdrantServer, name: str, dimension: int) -> None:
        self.server = server
        self.name = name
        self.dimension = dimension
        self.settings = server.settings
        self._lock = threading.Lock()
        self._ready = False

    def call(self, action: Callable[[QdrantClient], T]) -> T:
        """What `action` returns, with the collection created before."""
        with self._lock:
            if not self._ready:
                self._prepare()
                self._ready = True
        try:
            return self.server.call(action)
        except CollectionMissing:
            self._ready = False  # the next call creates it
            raise

    def delete_ledger(self, ledger: str) -> None:
        """Remove the points of one ledger, which does not use this embedder any more."""
        from qdrant_client.models import FieldCondition, Filter, FilterSelector, MatchValue

        chosen = Filter(must=[FieldCondition(key="ledger", match=MatchValue(value=ledger))])
        try:
            self.server.call(lambda client: client.delete(self.name, FilterSelector(filter=chosen), wait=True))
        except CollectionMissing:
            log.info("Collection %r has no points to remove: it does not exist.", self.name)

    def rebuild(self) -> str:
        """Copy all points to a new collection with the present settings, then switch the alias to it and delete the old
        one. Others read and write meanwhile. Returns the name of the new collection."""
        self.call(lambda client: client.get_collection(self.name))
        old = self._target()
        new = f"{self.name}-{uuid.uuid4().hex[:8]}"
        self._drop_unfinished(old)
        self._create(new)
        copied: set[Any] = set()
        self._copy(old, new, copied)
        self._switch_alias(new)
        # What was written or deleted in the old one meanwhile; since the switch it does not change any more.
        present = self._copy(old, new, copied)
        deleted = list(copied - present)
        for begin in range(0, len(deleted), PAGE):
            batch = deleted[begin : begin + PAGE]
            self.server.call(lambda client, ids=batch: client.delete(new, ids, wait=True))  # type: ignore[misc]
        self.server.call(lambda client: client.delete_collection(old))
        return new

    def _copy(self, old: str, new: str, copied: set[Any]) -> set[Any]:
        """Copy the points that are not copied yet. Returns all ids that the old collection has."""
        from qdrant_client.models import PointStruct

        present: set[Any] = set()
        for page in self.scroll(old, BATCH, with_payload=True, with_vectors=True):
            present.update(point.id for point in page)
            points = [
                PointStruct(id=point.id, vector=point.vector, payload=point.payload)  # type: ignore[arg-type]
                for point in page
                if point.id not in copied
            ]
            if points:
                self.server.call(lambda client, batch=points: client.upsert(new, batch, wait=True))  # type: ignore[misc]
                copied.update(point.id for point in points)
        return present

    def scroll(self, name: str, limit: int = PAGE, **options: Any) -> Iterator[list[Record]]:
        """All points of a collection, page by page."""
        offset: Any = None
        while True:
            page, offset = self.call(
                lambda client, start=offset: client.scroll(name, limit=limit, offset=start, **options)  # type: ignore[misc]
            )
            yield page
            if offset is None:
                return

    def _prepare(self) -> None:
        """Create the collection and its alias if they do not exist; refuse one of another dimension."""
        try:
            found = self.server.call(lambda client: client.get_collection(self.name))
        except CollectionMissing:
            first = f"{self.name}-1"
            self._create(first)
            self._switch_alias(first)
            return
        vectors = found.config.params.vectors
        size = getattr(vectors, "size", None)
        if size != self.dimension:
            raise ProjectionStale(
                f"Collection {self.name!r} at {self.server.address} holds vectors of {size or 'several'} "
                f"dimensions but this space opens with {self.dimension}. Open with the embedder it was "
                "made with, or delete the collection: it is filled again from the ledger."
            )

    def _create(self, name: str) -> None:
        from qdrant_client import models

        settings = self.settings

        def create(client: QdrantClient) -> None:
            vectors = models.VectorParams(
                size=self.dimension, distance=models.Distance.DOT, on_disk=settings.on_disk or None
            )
            try:
                client.create_collection(
                    name,
                    vectors_config=vectors,
                    # Searches are exact: an HNSW graph would only use memory.
                    hnsw_config=models.HnswConfigDiff(m=0),
                    shard_number=settings.shards,
                    replication_factor=settings.replicas,
                    write_consistency_factor=settings.write_consistency,
                    quantization_config=_quantization(settings.quantization),
                )
            except Exception as error:
                # Another process may have created it.
                if getattr(error, "status_code", None) != 409 and "already exists" not in str(error):
                    raise

        self.server.call(create)
        if self.server.in_process:  # there an index has no effect, and causes a warning
            return
        keyword, integer = models.KeywordIndexType.KEYWORD, models.IntegerIndexType.INTEGER
        indexes: dict[str, Any] = {
            "tenant": models.KeywordIndexParams(type=keyword, is_tenant=True),
            "ledger": models.KeywordIndexParams(type=keyword),
            "position": models.IntegerIndexParams(type=integer, lookup=False, range=True),
        }
        for field, schema in indexes.items():
            self.server.call(
                lambda client, field=field, schema=schema: client.create_payload_index(  # type: ignore[misc]
                    name, field, field_schema=schema, wait=True
                )
            )

    def _switch_alias(self, target: str) -> None:
        """Let the alias name this collection, in one step."""
        from qdrant_client import models

        new = models.CreateAliasOperation(create_alias=models.CreateAlias(collection_name=target, alias_name=self.name))
        old = models.DeleteAliasOperation(delete_alias=models.DeleteAlias(alias_name=self.name))
        steps: list[models.AliasOperations] = [new] if self._target(missing="") == "" else [old, new]
        self.server.call(lambda client: client.update_collection_aliases(change_aliases_operations=steps))

    def _target(self, missing: str | None = None) -> str:
        """The name of the collection that the alias stands for."""
        aliases = self.server.call(lambda client: client.get_aliases()).aliases
        found = next((alias.collection_name for alias in aliases if alias.alias_name == self.name), missing)
        if found is None:
            raise CollectionMissing(f"Qdrant at {self.server.address} has no collection {self.name!r}.")
        return found

    def _drop_unfinished(self, current: str) -> None:
        """Delete the collections of rebuilds that did not finish."""
        for collection in self.server.call(lambda client: client.get_collections()).collections:
            if collection.name != current and collection.name.startswith(f"{self.name}-"):
                log.warning("Collection %r of a rebuild that did not finish is deleted.", collection.name)
                self.server.call(lambda client, name=collection.name: client.delete_collection(name))  # type: ignore[misc]


def _quantization(kind: str | None) -> Any:
    from qdrant_client import models

    if kind == "int8":
        return models.ScalarQuantization(
            scalar=models.ScalarQuantizationConfig(type=models.ScalarType.INT8, always_ram=True)
        )
    if kind == "binary":
        return models.BinaryQuantization(binary=models.BinaryQuantizationConfig(always_ram=True))
    return None


_FIELDS = ["position", "text"]


class ServerStore:
    """Vectors of one space of one ledger. Closing leaves the collection and its connection open: they are shared."""

    def __init__(self, collection: Collection, ledger: str, space: str) -> None:
        self._collection = collection
        self._ledger = ledger
        self._space = space
        self._tenant = f"{ledger}/{space}"
        digits = hashlib.sha256(self._tenant.encode("utf-8", "surrogatepass")).hexdigest()
        self._key_prefix = f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}"
        self._closed = False

    def upsert(self, ids: Sequence[int], vectors: Vector) -> None:
        self.write(ids, vectors, [0] * len(ids), [b""] * len(ids))

    def write(self, ids: Sequence[int], vectors: Vector, positions: Sequence[int], hashes: Sequence[bytes]) -> None:
        from qdrant_client.models import PointStruct

        self._check_open()
        rows = as_rows(vectors, len(ids), self._collection.dimension)
        for start in range(0, len(ids), BATCH):
            part = slice(start, start + BATCH)
            points = [
                PointStruct(id=self._key(n), vector=row.tolist(), payload=self._payload(position, text))
                for n, row, position, text in zip(ids[part], rows[part], positions[part], hashes[part], strict=True)
            ]
            self._collection.call(
                lambda client, batch=points: client.upsert(self._collection.name, batch, wait=True)  # type: ignore[misc]
            )

    def search(
        self, vector: Vector, limit: int, allowed_ids: Sequence[int] | None = None
    ) -> tuple[list[int], list[float]]:
        self._check_open()
        query = as_rows(vector, 1, self._collection.dimension)[0].tolist()
        chosen, parameters = self._filter(allowed_ids), self._search_parameters()

        def scan(depth: int) -> list[tuple[int, float]]:
            found = self._collection.call(
                lambda client: client.query_points(
                    self._collection.name,
                    query=query,
                    query_filter=chosen,
                    search_params=parameters,
                    limit=depth,
                    with_payload=False,
                )
            )
            return [(_number(point.id), point.score) for point in found.points]

        return top_points(scan, limit)

    def delete(self, ids: Sequence[int], up_to: int | None = None) -> None:
        for begin in range(0, len(ids), PAGE):
            self._delete(self._filter(ids[begin : begin + PAGE], up_to))

    def get_points(self, ids: Sequence[int] | None = None) -> StoredPoints:
        self._check_open()
        chosen, name = self._filter(ids), self._collection.name
        pages = self._collection.scroll(name, scroll_filter=chosen, with_payload=_FIELDS)
        points = [point for page in pages for point in page]
        return StoredPoints(
            np.array([_number(point.id) for point in points], np.int64),
            np.array([(point.payload or {})["position"] for point in points], np.int64),
            [bytes.fromhex((point.payload or {})["text"]) for point in points],
        )

    def count(self, up_to: int) -> int:
        self._check_open()
        chosen = self._filter(up_to=up_to)
        return self._collection.call(
            lambda client: client.count(self._collection.name, count_filter=chosen, exact=True)
        ).count

    def ids(self) -> list[int]:
        return [*self.get_points().ids.tolist()]

    def clear(self) -> None:
        """Remove all points of this space, and of no other."""
        self._delete(self._filter())

    def flush(self) -> None:
        """Nothing to do: each call waits until the server has written."""

    def close(self) -> None:
        self._closed = True

    def _delete(self, points: Filter) -> None:
        from qdrant_client.models import FilterSelector

        self._check_open()
        self._collection.call(
            lambda client: client.delete(self._collection.name, FilterSelector(filter=points), wait=True)
        )

    def _filter(self, only: Sequence[int] | None = None, up_to: int | None = None) -> Filter:
        """The filter of every call: this space of this ledger, and of it these points, or those up to a position."""
        from qdrant_client.models import FieldCondition, Filter, HasIdCondition, MatchValue, Range

        must: list[Any] = [FieldCondition(key="tenant", match=MatchValue(value=self._tenant))]
        if only is not None:
            must.append(HasIdCondition(has_id=[self._key(n) for n in only]))
        if up_to is not None:
            must.append(FieldCondition(key="position", range=Range(lte=up_to)))
        return Filter(must=must)

    def _search_parameters(self) -> SearchParams | None:
        """All vectors are compared. With quantisation more are taken by quantised vectors, and scored by whole ones;
        `exact` would make the server read whole ones only."""
        from qdrant_client.models import QuantizationSearchParams, SearchParams

        if self._collection.server.in_process:  # it is always exact, and warns about the parameter
            return None
        if self._collection.settings.quantization is None:
            return SearchParams(exact=True)
        return SearchParams(quantization=QuantizationSearchParams(rescore=True, oversampling=4.0))

    def _payload(self, position: int, text: bytes) -> dict[str, Any]:
        return {"tenant": self._tenant, "ledger": self._ledger, "position": int(position), "text": text.hex()}

    def _key(self, n: int) -> str:
        digits = f"{n:016x}"
        return f"{self._key_prefix}-{digits[:4]}-{digits[4:]}"

    def _check_open(self) -> None:
        if self._closed:
            raise Closed(f"The vector store of space {self._space!r} was closed. Open the space again.")


def _number(key: object) -> int:
    """The number of a point with this id."""
    return int(str(key).replace("-", "")[16:], 16)
