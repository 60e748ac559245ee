"""How the collection of a shared Qdrant is made, and how long a call of it may take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from remanence.errors import InvalidInput

QUANTIZATIONS = ("int8", "binary")


@dataclass(frozen=True, slots=True)
class QdrantSettings:
    """Settings of a Qdrant server or cluster, for `remanence.open(qdrant_settings=...)`.

    All but `timeout` apply when a collection is created. `space.admin.rebuild_collection()` makes it again with others.

    Attributes:
        shards: Into how many shards the collection is divided; None: one for each node, as the server decides.
        replicas: How many nodes have each point.
        write_consistency: How many replicas have to confirm a write.
        quantization: "int8" keeps a quarter of each vector in memory, "binary" a thirty-second (for embedders of 1,000
            dimensions and more). Hits are scored again with the whole vector. None: no quantisation.
        on_disk: Whether whole vectors are read from disk when they are needed, and not kept in memory.
        timeout: How many seconds one call of the server may take. A server that does not answer in time is not asked
            again for a while, and `recall(...).missing` says so.

    Example:
        >>> QdrantSettings(shards=6, replicas=2, quantization="int8").replicas
        2
    """

    shards: int | None = None
    replicas: int = 1
    write_consistency: int = 1
    quantization: Literal["int8", "binary"] | None = None
    on_disk: bool = False
    timeout: int = 5

    def __post_init__(self) -> None:
        for name in ("shards", "replicas", "write_consistency", "timeout"):
            value: object = getattr(self, name)
            if value is None and name == "shards":
                continue
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise InvalidInput(f"QdrantSettings({name}={value!r}): give a whole number of 1 or more.")
        if self.write_consistency > self.replicas:
            raise InvalidInput(
                f"QdrantSettings(write_consistency={self.write_consistency}) asks more replicas to confirm a write "
                f"than there are: replicas={self.replicas}."
            )
        if self.quantization not in (None, *QUANTIZATIONS):
            raise InvalidInput(
                f"QdrantSettings(quantization={self.quantization!r}): give one of {', '.join(QUANTIZATIONS)}, or None."
            )
        if not isinstance(self.on_disk, bool):
            raise InvalidInput(f"QdrantSettings(on_disk={self.on_disk!r}): give True or False.")


DEFAULT_SETTINGS = QdrantSettings()
