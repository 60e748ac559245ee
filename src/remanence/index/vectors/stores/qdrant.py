"""A Qdrant server: where it is, how its collection is made, and how long a call of it may take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from remanence.errors import InvalidInput

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
