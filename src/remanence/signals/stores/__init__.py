"""Where vectors lie: in memory, in a folder, or on a Qdrant server. All three answer exactly.

    exact.py    a numpy matrix: the reference, for volatile spaces and second processes
    edge.py     the Qdrant engine in this process, one shard for each space
    server.py   a Qdrant server, one collection for all spaces

The ledger holds every vector, so a store may lose points: `ids()` is compared with the ledger when a
space opens, and what is missing is put back.
"""

from __future__ import annotations

import hashlib
import logging
import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from qdrant_client import QdrantClient

    from remanence.ports import VectorStore

__all__ = ["StoreBusy", "VectorStoreFactory", "folder_name"]

log = logging.getLogger(__name__)


class StoreBusy(Exception):
    """The folder is held by another opener, or cannot be locked here.

    It never reaches the user: whoever opens stores falls back to one in memory.
    """


class VectorStoreFactory:
    """Opens the store of a space: on the server if one is named, else in the folder, else in memory.

    On a server, ledgers that know the same names of spaces need a `collection` each.

    >>> store = VectorStoreFactory(dimension=2).open("alice")
    >>> type(store).__name__
    'ExactStore'
    """

    def __init__(
        self,
        folder: Path | None = None,
        qdrant: str | QdrantClient | None = None,
        *,
        dimension: int,
        collection: str = "remanence",
    ) -> None:
        self._folder = folder
        self._qdrant = qdrant
        self._dimension = dimension
        self._collection = collection
        self._client: QdrantClient | None = None

    def open(self, space: str) -> VectorStore:
        """The store of this space. A folder that somebody else holds gives an empty one in memory."""
        from remanence.signals.stores.exact import ExactStore

        if self._qdrant is not None:
            from remanence.signals.stores.server import ServerStore, connect

            self._client = self._client or connect(self._qdrant)
            return ServerStore(self._client, self._collection, space, self._dimension)
        if self._folder is not None:
            from remanence.signals.stores.edge import EdgeStore

            try:
                return EdgeStore(self._folder / folder_name(space), self._dimension)
            except StoreBusy as busy:
                log.info("%s The vectors of space %r are kept in memory here.", busy, space)
        return ExactStore(self._dimension)

    def close(self) -> None:
        """Hang up on the server, if the connection was made here. Stores are closed by who opened them."""
        if self._client is not None and self._client is not self._qdrant:
            self._client.close()
        self._client = None


def folder_name(space: str) -> str:
    """A name any file system takes, readable at the front, different for different spaces.

    >>> folder_name("Alice & Bob")
    'alice-bob-aacc61bee213'
    >>> folder_name("../..")
    'space-0cfd1c96cbc0'
    """
    readable = re.sub(r"[^a-z0-9]+", "-", space[:200].lower()).strip("-")[:40].strip("-")
    return f"{readable or 'space'}-{hashlib.sha256(space.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}"
