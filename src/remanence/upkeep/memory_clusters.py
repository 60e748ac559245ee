"""Memories that say nearly the same, in groups of at most a dozen.

Pairs near enough are found by their vectors (nearness.py), a few for each memory, and joined, the nearest
first, as long as a group stays small.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from remanence.core.index import Index
from remanence.language.passages import split_passages
from remanence.language.text import pluralize, text_hash, truncate
from remanence.upkeep.merge_conflicts import find_conflict
from remanence.upkeep.near_pairs import NearPairFinder, Pairs
from remanence.upkeep.scored_memories import ScoredMemories, ScoredMemory
from remanence.upkeep.settings import UpkeepSettings
from remanence.upkeep.text_tables import format_table

if TYPE_CHECKING:
    from remanence.ports import Progress, Vector

Action = Literal["merge", "review", "keep"]
_CHUNK = 1_000


@dataclass(frozen=True, slots=True)
class Cluster:
    """Memories near each other: how near on average (`cohesion`), what is suggested, and why."""

    id: str
    items: tuple[ScoredMemory, ...]
    cohesion: float
    action: Action
    why: str = ""

    @property
    def memory_ids(self) -> tuple[str, ...]:
        """The ids of its memories, in the order they were learned."""
        return tuple(item.memory.id for item in self.items)

    @property
    def texts(self) -> tuple[str, ...]:
        """What they say."""
        return tuple(item.memory.text for item in self.items)


@dataclass(frozen=True, slots=True)
class Clusters:
    """All clusters, the tightest first. It prints as a table."""

    clusters: tuple[Cluster, ...]
    examined_count: int
    position: int
    similarity: float

    def __len__(self) -> int:
        return len(self.clusters)

    def __iter__(self) -> Iterator[Cluster]:
        return iter(self.clusters)

    def __str__(self) -> str:
        title = (
            f"clusters: {len(self.clusters)} among {pluralize(self.examined_count, 'memory', 'memories')}, "
            f"similarity {self.similarity:g} and up"
        )
        rows = [
            (c.cohesion, c.action, len(c.items), " | ".join(truncate(text, 40) for text in c.texts), c.why)
            for c in self.clusters
        ]
        return format_table(title, ("cohesion", "action", "size", "memories", "because"), rows)


def find_clusters(
    index: Index,
    memories: ScoredMemories,
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
    items, vectors = _embedded(index, [item for item in memories.items if _may_be_merged(index, item)])
    near = NearPairFinder(vectors, similarity, settings.cluster_neighbours)
    wanted = None
    if seeds is not None:
        chosen = set(seeds)
        wanted = [place for place, item in enumerate(items) if item.row in chosen]
    groups = _joined(near.pairs(wanted, progress), settings.cluster_size)
    found = [_cluster(index, memories, items, places, near, settings) for places in groups]
    found.sort(key=lambda cluster: (-cluster.cohesion, cluster.memory_ids))
    return Clusters(tuple(found), len(items), memories.position, similarity)


def _embedded(index: Index, items: Sequence[ScoredMemory]) -> tuple[list[ScoredMemory], Vector]:
    """Those of the items whose text has a vector that says anything, and the vectors, one below the other."""
    kept: list[ScoredMemory] = []
    parts: list[Vector] = []
    for begin in range(0, len(items), _CHUNK):
        hashes = [text_hash(item.memory.text) for item in items[begin : begin + _CHUNK]]
        vectors = index.load_vectors(hashes)
        for item, key in zip(items[begin:], hashes, strict=False):
            if key in vectors and np.any(vectors[key]):
                kept.append(item)
                parts.append(vectors[key])
    return kept, np.stack(parts) if parts else np.empty((0, 1), np.float32)


def _may_be_merged(index: Index, item: ScoredMemory) -> bool:
    memory = item.memory
    return memory.turn is None and memory.id not in index.journal.extractions and not split_passages(memory.text)


def _joined(pairs: Pairs, most: int) -> list[list[int]]:
    """Groups of places joined by pairs, taken as they come; none larger than `most`.

    >>> def pairs(*given): return Pairs(*(np.array(column) for column in zip(*given)))
    >>> _joined(pairs((1, 2, 0.99), (2, 3, 0.95), (4, 5, 0.9), (3, 4, 0.85)), 3)
    [[1, 2, 3], [4, 5]]
    """
    leader: dict[int, int] = {}
    members: dict[int, list[int]] = {}

    def lead(place: int) -> int:
        while leader.setdefault(place, place) != place:
            leader[place] = place = leader[leader[place]]
        return place

    for one, other in zip(pairs.first.tolist(), pairs.second.tolist(), strict=True):
        a, b = lead(one), lead(other)
        if a == b:
            continue
        mine, theirs = members.setdefault(a, [a]), members.setdefault(b, [b])
        if len(mine) + len(theirs) <= most:
            leader[b] = a
            mine += members.pop(b)
    return sorted(sorted(places) for places in members.values() if len(places) > 1)


def _cluster(
    index: Index,
    there: ScoredMemories,
    items: Sequence[ScoredMemory],
    places: Sequence[int],
    near: NearPairFinder,
    settings: UpkeepSettings,
) -> Cluster:
    cohesion, inside = near.cohesion(places), [items[place] for place in places]
    action, why = _suggested(index, there, inside, cohesion, settings)
    ids = "|".join(sorted(item.memory.id for item in inside))
    name = hashlib.blake2b(ids.encode(), digest_size=6).hexdigest()
    return Cluster(name, tuple(inside), cohesion, action, why)


def _suggested(
    index: Index, there: ScoredMemories, items: Sequence[ScoredMemory], cohesion: float, settings: UpkeepSettings
) -> tuple[Action, str]:
    if cohesion < settings.review_cohesion:
        return "keep", "they are not alike enough"
    if cohesion < settings.merge_cohesion:
        return "review", "they may say different things"
    different = find_conflict(index, there, items)
    return ("merge", "") if different is None else ("review", different)
