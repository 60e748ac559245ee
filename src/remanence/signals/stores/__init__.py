"""Vector stores: in memory, in a folder, or on a Qdrant server. All of them search exactly.

The ledger has every vector, so a store may lose points: `ids()` is compared with the ledger when a space is opened, and
missing points are restored.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from qdrant_client import QdrantClient

    from remanence.ports import VectorStore


class QdrantStores:
    """The built-in vector stores: on the server if one is given, else in the folder, else in memory. On a server,
    ledgers with spaces of the same name need a `collection` each."""

    def __init__(
        self, folder: Path | None = None, qdrant: str | QdrantClient | None = None, collection: str = "remanence"
    ) -> None:
        self._folder = folder
        self._qdrant = qdrant
        self._collection = collection
        self._client: QdrantClient | None = None

    def open(self, space: str, dimension: int, points: int = 0) -> VectorStore:
        """The store of this space, for about this many points: in a folder, few are kept in memory only."""
        from remanence.signals.stores.exact import ExactStore

        if self._qdrant is not None:
            from remanence.signals.stores.server import ServerStore, connect

            self._client = self._client or connect(self._qdrant)
            return ServerStore(self._client, self._collection, space, dimension)
        if self._folder is not None:
            from remanence.signals.stores.folder import FolderStore

            return FolderStore(self._folder / folder_name(space), dimension, points)
        return ExactStore(dimension)

    def close(self) -> None:
        """Close the connection to the server, if it was opened here."""
        if self._client is not None and self._client is not self._qdrant:
            self._client.close()
        self._client = None


def folder_name(space: str) -> str:
    """A name any file system takes, readable at the front, different for different spaces."""
    readable = re.sub(r"[^a-z0-9]+", "-", space[:200].lower()).strip("-")[:40].strip("-")
    return f"{readable or 'space'}-{hashlib.sha256(space.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}"
