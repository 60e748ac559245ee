"""A package of somebody else's: a fifth signal and another vector store, written against `remanence.ports` alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from remanence import InvalidInput
from remanence.ports import Query, Ranking, Remembered, Stage, Vector


class TagSignal:
    """Ranks memories whose tags are named in the question."""

    name = "tags"
    stage = Stage.FIND
    needs_embedding = False

    def __init__(self, weight: float = 1.0) -> None:
        self.weight = weight
        self._tags: list[str] = []

    def apply(self, first: int, versions: Sequence[Remembered | None]) -> None:
        known = max(0, len(self._tags) - first)
        self._tags += [" ".join(version.tags).lower() if version else "" for version in versions[known:]]

    def rank(self, query: Query, limit: int) -> Ranking:
        words = set(query.text.lower().replace("?", "").split())
        counts = {row: len(words & set(tags.split())) for row, tags in enumerate(self._tags) if query.allowed[row]}
        found = sorted((row for row, count in counts.items() if count), key=lambda row: (-counts[row], row))[:limit]
        if not found:
            return Ranking.abstain(self.name, "the question names no tag")
        return Ranking(
            self.name,
            found,
            [float(counts[row]) for row in found],
            explain_rows=lambda rows: [f"tagged {self._tags[row]}" for row in rows],
        )

    def save(self) -> Mapping[str, NDArray[Any]]:
        return {"tags": np.array(self._tags, dtype=np.str_)}

    def load(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        self._tags = arrays["tags"].tolist()


class DictStore:
    """Vectors of one space in a dict."""

    def __init__(self, dimension: int) -> None:
        self._dimension = dimension
        self._points: dict[int, Vector] = {}

    def upsert(self, ids: Sequence[int], vectors: Vector) -> None:
        if np.shape(vectors) != (len(ids), self._dimension):
            raise InvalidInput(f"{np.shape(vectors)} vectors for {len(ids)} points of {self._dimension} dimensions.")
        self._points.update((int(key), np.array(row)) for key, row in zip(ids, vectors, strict=True))

    def search(
        self, vector: Vector, limit: int, allowed_ids: Sequence[int] | None = None
    ) -> tuple[list[int], list[float]]:
        if np.shape(vector) != (self._dimension,):
            raise InvalidInput(f"a vector of shape {np.shape(vector)} where {self._dimension} numbers were due.")
        keys = [key for key in (self._points if allowed_ids is None else allowed_ids) if key in self._points]
        scores = {key: float(self._points[key] @ vector) for key in keys}
        best = sorted(scores, key=lambda key: (-scores[key], key))[:limit]
        return best, [scores[key] for key in best]

    def delete(self, ids: Sequence[int]) -> None:
        for key in ids:
            self._points.pop(key, None)

    def ids(self) -> list[int]:
        return list(self._points)

    def clear(self) -> None:
        self._points.clear()

    def flush(self) -> None: ...

    def close(self) -> None: ...


class DictStores:
    """A `DictStore` for each space."""

    def __init__(self) -> None:
        self.opened: dict[str, DictStore] = {}

    def open(self, space: str, dimension: int) -> DictStore:
        return self.opened.setdefault(space, DictStore(dimension))

    def close(self) -> None: ...
