"""The vectors of one space on a Qdrant server or cluster, in a collection that it shares with other spaces and ledgers.

A point's id is a UUID made of its ledger, its space and its number, and every call is filtered by both, so no space can
read, overwrite or delete what is another's. A point also has the ledger position of the memory version that it was made
from and the hash of its text, so that a process can tell what others have written since it last read the ledger.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from remanence.errors import Closed
from remanence.index.vectors.stores.collection import BATCH, Collection
from remanence.index.vectors.stores.exact import as_rows, top_points
from remanence.ports import StoredPoints

if TYPE_CHECKING:
    from qdrant_client.models import Filter, SearchParams

    from remanence.ports import Vector

NAMESPACE = uuid.UUID("5b0d2a39-6d0c-5f0e-9b86-6f1f4b1c7a11")
_FIELDS = ["n", "position", "text"]


class ServerStore:
    """Vectors of one space of one ledger. Closing leaves the collection and its connection open: they are shared."""

    def __init__(self, collection: Collection, ledger: str, space: str) -> None:
        self._collection = collection
        self._ledger = ledger
        self._space = space
        self._tenant = f"{ledger}/{space}"
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
                PointStruct(id=self._key(n), vector=row.tolist(), payload=self._payload(n, position, text))
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
                    with_payload=["n"],
                )
            )
            return [(_field(point.payload, "n"), point.score) for point in found.points]

        return top_points(scan, limit)

    def delete(self, ids: Sequence[int], up_to: int | None = None) -> None:
        if len(ids):
            self._delete(self._filter(ids, up_to))

    def get_points(self, ids: Sequence[int] | None = None) -> StoredPoints:
        self._check_open()
        chosen, name = self._filter(ids), self._collection.name
        pages = self._collection.scroll(name, scroll_filter=chosen, with_payload=_FIELDS)
        points = [point for page in pages for point in page]
        return StoredPoints(
            np.array([_field(point.payload, "n") for point in points], np.int64),
            np.array([_field(point.payload, "position") for point in points], np.int64),
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
        """Exact, also with quantisation: more are taken by quantised vectors, and scored by whole ones."""
        from qdrant_client.models import QuantizationSearchParams, SearchParams

        if self._collection.server.in_process:  # it is always exact, and warns about the parameter
            return None
        if self._collection.settings.quantization is None:
            return SearchParams(exact=True)
        return SearchParams(exact=True, quantization=QuantizationSearchParams(rescore=True, oversampling=4.0))

    def _payload(self, n: int, position: int, text: bytes) -> dict[str, Any]:
        return {
            "tenant": self._tenant,
            "ledger": self._ledger,
            "n": int(n),
            "position": int(position),
            "text": text.hex(),
        }

    def _key(self, n: int) -> str:
        return str(uuid.uuid5(NAMESPACE, f"{n}:{self._tenant}"))

    def _check_open(self) -> None:
        if self._closed:
            raise Closed(f"The vector store of space {self._space!r} was closed. Open the space again.")


def _field(payload: dict[str, Any] | None, name: str) -> int:
    return int((payload or {})[name])
