"""Vector stores: in memory, in a folder, or on a Qdrant server. All of them search exactly.

The ledger has every vector, so a store may lose points: what it has is compared with the ledger when a space is opened,
and missing points are restored.
"""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from remanence.index.vectors.stores.qdrant import Qdrant
    from remanence.index.vectors.stores.server import Collection
    from remanence.ports import VectorStore


_FORMAT = 2
"""How ids and fields of points are made. Collections that an earlier build filled are left alone."""


class LocalStores:
    """The built-in vector stores of one process: in the folder if there is one, else in memory.

    Without `engine`, the vectors in a folder are in the index file only, however many there are: the engine writes
    files of its own, which cannot be encrypted.
    """

    def __init__(self, folder: Path | None = None, *, engine: bool = True) -> None:
        self._folder, self._engine = folder, engine

    def open(self, space: str, dimension: int, points: int = 0) -> VectorStore:
        """The store of this space, for about this many points: in a folder, few are kept in memory only."""
        from remanence.index.vectors.stores.exact import ExactStore

        if self._folder is not None:
            from remanence.index.vectors.stores.folder import FolderStore

            return FolderStore(self._folder / folder_name(space), dimension, points, engine=self._engine)
        return ExactStore(dimension)

    def close(self) -> None:
        """Nothing is shared by all stores."""


class SharedStores:
    """The vector stores of one ledger on a Qdrant server or cluster. Nothing is sent before the first call of a store.

    Args:
        ledger: Returns the id of the ledger: ledgers on one server do not see each other's points.
    """

    def __init__(self, qdrant: Qdrant, ledger: Callable[[], str]) -> None:
        from remanence.index.vectors.stores.qdrant import QdrantServer

        self._server = QdrantServer(qdrant)
        self._ledger = ledger
        self._lock = threading.Lock()
        self._collections: dict[str, Collection] = {}

    def collection(self, embedder: str, dimension: int) -> Collection:
        """The collection of an embedder, given by its fingerprint."""
        from remanence.index.vectors.stores.server import Collection

        name = collection_name(embedder, dimension)
        with self._lock:
            if name not in self._collections:
                self._collections[name] = Collection(self._server, name, dimension)
            return self._collections[name]

    def open(self, space: str, dimension: int, embedder: str = "") -> VectorStore:
        """The store of this space, for vectors of this embedder."""
        from remanence.index.vectors.stores.server import ServerStore

        return ServerStore(self.collection(embedder, dimension), self._ledger(), space)

    def delete_ledger(self, embedder: str, dimension: int) -> None:
        """Remove what this ledger has in the collection of an embedder that it does not use any more."""
        self.collection(embedder, dimension).delete_ledger(self._ledger())

    def close(self) -> None:
        """Close the connections to the server that were opened here."""
        self._server.close()


def collection_name(embedder: str, dimension: int) -> str:
    """The name of the collection of an embedder: readable at the front, different for different fingerprints.

    >>> collection_name("wordllama-256@256:4f", 256)
    'remanence-wordllama-256-256-7aeec27343'
    """
    readable = re.sub(r"[^a-z0-9]+", "-", embedder.partition("@")[0].lower()).strip("-")[:40].strip("-")
    digest = hashlib.sha256(f"{_FORMAT}:{embedder}".encode("utf-8", "surrogatepass")).hexdigest()[:10]
    return f"remanence-{readable or 'embedder'}-{dimension}-{digest}"


def folder_name(space: str) -> str:
    """A name any file system takes, readable at the front, different for different spaces."""
    readable = re.sub(r"[^a-z0-9]+", "-", space[:200].lower()).strip("-")[:40].strip("-")
    return f"{readable or 'space'}-{hashlib.sha256(space.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}"
