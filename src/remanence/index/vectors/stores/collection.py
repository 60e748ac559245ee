"""The collection of one embedder on a Qdrant server, shared by all ledgers and spaces that use this embedder.

Its name is an alias. The first collection behind it has a fixed name, so that two processes that create it at once get
the same one. A rebuilt collection gets a new name, and the alias is switched when it is complete.
"""

from __future__ import annotations

import logging
import threading
import uuid
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from remanence.errors import ProjectionStale
from remanence.index.vectors.stores.qdrant_connection import CollectionMissing, QdrantServer

if TYPE_CHECKING:
    from qdrant_client import QdrantClient
    from qdrant_client.models import Record

log = logging.getLogger(__name__)

T = TypeVar("T")
BATCH = 256  # 1,536 dimensions as JSON stay well under the 32 MB a server takes at once
PAGE = 10_000
"""Points whose ids are read at a time."""


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
