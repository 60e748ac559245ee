"""Memories that say nearly the same, in groups of at most a dozen.

The nearest neighbours of each are asked of the vector index, a few for each memory; pairs near enough are
joined, the nearest first, as long as a group stays small. Nothing here compares all pairs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from remanence.index import Index
from remanence.model import Query
from remanence.passages import split
from remanence.text import text_hash
from remanence.upkeep.differing import difference
from remanence.upkeep.settings import UpkeepSettings
from remanence.upkeep.standing import Item, Standing
from remanence.upkeep.tables import many, table

if TYPE_CHECKING:
    from remanence.ports import Progress, Vector

Action = Literal["merge", "review", "keep"]
_CHUNK = 256

Pair = tuple[int, int, float]
"""Two rows, the smaller first, and how near they are."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """Memories near each other: how near on average (`cohesion`), what is suggested, and why."""

    id: str
    items: tuple[Item, ...]
    cohesion: float
    action: Action
    why: str = ""

    @property
    def memories(self) -> tuple[str, ...]:
        """The ids of its memories, in the order they were learned."""
        return tuple(item.memory.id for item in self.items)

    @property
    def texts(self) -> tuple[str, ...]:
        """What they say."""
        return tuple(item.memory.text for item in self.items)


@dataclass(frozen=True, slots=True)
class Clusters:
    """All clusters, the tightest first. It prints as a table."""

    found: tuple[Cluster, ...]
    looked_at: int
    position: int
    similarity: float

    def __len__(self) -> int:
        return len(self.found)

    def __iter__(self) -> Iterator[Cluster]:
        return iter(self.found)

    def __str__(self) -> str:
        title = (
            f"clusters: {len(self.found)} among {many(self.looked_at, 'memory', 'memories')}, "
            f"similarity {self.similarity:g} and up"
        )
        rows = [
            (c.cohesion, c.action, len(c.items), " | ".join(text[:40] for text in c.texts), c.why)
            for c in self.found
        ]
        return table(title, ("cohesion", "action", "size", "memories", "because"), rows)


def find(
    index: Index,
    there: Standing,
    settings: UpkeepSettings,
    *,
    similarity: float,
    seeds: Iterable[int] | None = None,
    progress: Progress | None = None,
) -> Clusters:
    """The clusters among what stands; with `seeds`, those that hold one of these rows.

    What was said in a conversation, or was given to `remember` as a source, stays as it was said; a long
    text is a document, of which no other memory is a copy. Those are left out.
    """
    items = {item.row: item for item in there.items if _may_be_merged(index, item)}
    allowed = np.zeros(len(there.sight.rows), np.bool_)
    allowed[list(items)] = True
    wanted = items if seeds is None else [row for row in seeds if row in items]
    near = _Nearness(index, items, allowed, settings.cluster_neighbours, similarity)
    pairs = near.pairs(wanted, progress)
    groups = _joined(pairs, settings.cluster_size)
    found = [_cluster(index, there, [items[row] for row in rows], near, settings) for rows in groups]
    found.sort(key=lambda cluster: (-cluster.cohesion, cluster.memories))
    return Clusters(tuple(found), len(items), there.position, similarity)


class _Nearness:
    """How near memories are, asked of the vector index."""

    def __init__(
        self,
        index: Index,
        items: Mapping[int, Item],
        allowed: np.ndarray[tuple[int], np.dtype[np.bool_]],
        neighbours: int,
        similarity: float,
    ) -> None:
        self._index, self._items, self._allowed = index, items, allowed
        self._neighbours, self._similarity = neighbours, similarity

    def pairs(self, seeds: Iterable[int], progress: Progress | None) -> list[Pair]:
        """Every pair near enough that can be reached from these rows, the nearest first."""
        waiting, met = list(dict.fromkeys(seeds)), set(seeds)
        found: dict[tuple[int, int], float] = {}
        done = 0
        while waiting:
            some, waiting = waiting[:_CHUNK], waiting[_CHUNK:]
            for row, vector in self.vectors(some).items():
                for other, score in self._near(row, vector):
                    found[min(row, other), max(row, other)] = score
                    if other not in met:
                        met.add(other)
                        waiting.append(other)
            done += len(some)
            if progress is not None:
                progress(done, len(met))
        ordered = sorted(found.items(), key=lambda pair: (-pair[1], pair[0]))
        return [(one, other, score) for (one, other), score in ordered]

    def vectors(self, rows: Sequence[int]) -> dict[int, Vector]:
        """The embeddings of these rows, where there are any."""
        hashes = {row: text_hash(self._items[row].memory.text) for row in rows}
        kept = self._index.kept(list(hashes.values()))
        return {row: kept[key] for row, key in hashes.items() if key in kept}

    def cohesion(self, rows: Sequence[int]) -> float:
        """How near all pairs among these rows are, on average."""
        matrix = np.stack(list(self.vectors(rows).values()))
        sums = float((matrix @ matrix.T).sum() - np.einsum("ij,ij->", matrix, matrix))
        return round(min(1.0, sums / (len(matrix) * (len(matrix) - 1))), 4)

    def _near(self, row: int, vector: Vector) -> list[tuple[int, float]]:
        with self._index.lock:  # for one search at a time: others recall meanwhile
            query = Query("", visible=self._allowed, allowed=self._allowed, vector=vector)
            ranking = self._index.vectors.rank(query, self._neighbours + 1)
        ranked = zip(ranking.rows, ranking.scores, strict=True)
        return [(other, score) for other, score in ranked if other != row and score >= self._similarity]


def _may_be_merged(index: Index, item: Item) -> bool:
    memory = item.memory
    return memory.turn is None and memory.id not in index.journal.opinions and not split(memory.text)


def _joined(pairs: Sequence[Pair], most: int) -> list[list[int]]:
    """Groups of rows joined by pairs, taken as they come; none larger than `most`.

    >>> _joined([(1, 2, 0.99), (2, 3, 0.95), (4, 5, 0.9), (3, 4, 0.85)], 3)
    [[1, 2, 3], [4, 5]]
    """
    leader: dict[int, int] = {}
    members: dict[int, list[int]] = {}

    def lead(row: int) -> int:
        while leader.setdefault(row, row) != row:
            leader[row] = row = leader[leader[row]]
        return row

    for one, other, _ in pairs:
        a, b = lead(one), lead(other)
        if a == b:
            continue
        mine, theirs = members.setdefault(a, [a]), members.setdefault(b, [b])
        if len(mine) + len(theirs) <= most:
            leader[b] = a
            mine += members.pop(b)
    return sorted(sorted(rows) for rows in members.values() if len(rows) > 1)


def _cluster(
    index: Index, there: Standing, items: Sequence[Item], near: _Nearness, settings: UpkeepSettings
) -> Cluster:
    cohesion = near.cohesion([item.row for item in items])
    action, why = _suggested(index, there, items, cohesion, settings)
    ids = "|".join(sorted(item.memory.id for item in items))
    return Cluster(
        hashlib.blake2b(ids.encode(), digest_size=6).hexdigest(), tuple(items), cohesion, action, why
    )


def _suggested(
    index: Index, there: Standing, items: Sequence[Item], cohesion: float, settings: UpkeepSettings
) -> tuple[Action, str]:
    if cohesion < settings.review_cohesion:
        return "keep", "they are not alike enough"
    if cohesion < settings.merge_cohesion:
        return "review", "they may say different things"
    different = difference(index, there, items)
    return ("merge", "") if different is None else ("review", different)
