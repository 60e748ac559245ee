"""Where vectors are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Vector: TypeAlias = NDArray[np.float32]

LoadVectors: TypeAlias = Callable[[Sequence[bytes]], Mapping[bytes, Vector]]


@runtime_checkable
class VectorStore(Protocol):
    """The vectors of one space. Points are numbered by the caller."""

    def upsert(self, ids: Sequence[int], vectors: Vector) -> None:
        """Store these vectors under these numbers. Another dimension raises InvalidInput."""
        ...

    def search(
        self, vector: Vector, limit: int, allowed_ids: Sequence[int] | None = None
    ) -> tuple[list[int], list[float]]:
        """The nearest points by dot product, exactly, best first; among `allowed_ids` if given."""
        ...

    def delete(self, ids: Sequence[int]) -> None:
        """Remove these points; unknown ones are skipped."""
        ...

    def ids(self) -> list[int]:
        """The numbers of all points, in any order."""
        ...

    def clear(self) -> None:
        """Remove all points of this space."""
        ...

    def flush(self) -> None:
        """Write to disk what is not there yet."""
        ...

    def close(self) -> None:
        """Release files and connections."""
        ...


@runtime_checkable
class ReportingVectorStore(Protocol):
    """Optional methods of a vector store: what it reports about itself."""

    def memory_bytes(self) -> int:
        """About how many bytes of memory it takes. They count towards `cache_size` of `remanence.open`."""
        ...

    def problem(self) -> str | None:
        """Why its answers are slower or less complete for now; None if they are not. `Recall.missing` has it."""
        ...


class StoredPoints(NamedTuple):
    """What a shared store has of a space: for each point its number, the ledger position of the version that it was
    made from, and the hash of its text."""

    ids: NDArray[np.int64]
    positions: NDArray[np.int64]
    hashes: Sequence[bytes]


@runtime_checkable
class SharedVectorStore(VectorStore, Protocol):
    """The vectors of one space in a place that other processes write to as well. It is never cleared: each process
    writes the points of its own entries, and those of others that are missing."""

    def write(self, ids: Sequence[int], vectors: Vector, positions: Sequence[int], hashes: Sequence[bytes]) -> None:
        """Store these vectors under these numbers, with where they come from."""
        ...

    def get_points(self, ids: Sequence[int] | None = None) -> StoredPoints:
        """What is stored under these numbers; under all if None."""
        ...

    def count(self, up_to: int) -> int:
        """How many points come from a ledger position up to this one."""
        ...

    def delete(self, ids: Sequence[int], up_to: int | None = None) -> None:
        """Remove these points; with `up_to`, only those that come from a position up to this one."""
        ...


@runtime_checkable
class VectorStores(Protocol):
    """Opens the vector store of each space. A store may lose points: missing ones are restored from the ledger."""

    def open(self, space: str, dimension: int) -> VectorStore:
        """The store of this space, for vectors of this dimension."""
        ...

    def close(self) -> None:
        """Release what all stores share. Each store is closed before."""
        ...
