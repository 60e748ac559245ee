"""Clusters of memories that say nearly the same, and whether it would be right to merge them.

Pairs with similar vectors are joined to clusters, the most similar first, as long as a cluster stays small.
Embeddings hardly distinguish "she likes tea" from "she does not like tea", or one door code from another.
Clusters with such a conflict are left to a person.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Literal, NamedTuple

import numpy as np

from remanence.index.index import Index
from remanence.ports import Progress
from remanence.schema import Memory
from remanence.text.lexicon.word_lists import words_of_series
from remanence.text.repetition import NEGATION_PATTERN
from remanence.text.text import pluralize, split_passages, text_hash, truncate
from remanence.upkeep.plans import ResultTable, TableResult
from remanence.upkeep.settings import UpkeepSettings
from remanence.upkeep.steps.decay import ScoredMemories, ScoredMemory
from remanence.upkeep.steps.merged_text import NUMBER_PATTERN
from remanence.upkeep.steps.near_pairs import Pairs, cohesion, find_pairs

Action = Literal["merge", "review", "keep"]
MAX_CLUSTER_SIZE = 12
MAX_NEIGHBOURS = 16
_REVIEW_COHESION = 0.65


@dataclass(frozen=True, slots=True)
class Cluster:
    """Similar memories: their average similarity (`cohesion`), what is suggested, and why."""

    id: str
    memories: tuple[Memory, ...]
    cohesion: float
    action: Action
    why: str = ""

    @property
    def memory_ids(self) -> tuple[str, ...]:
        """The ids of the memories, in the order in which they were added."""
        return tuple(memory.id for memory in self.memories)

    @property
    def texts(self) -> tuple[str, ...]:
        return tuple(memory.text for memory in self.memories)

    @property
    def summary(self) -> str:
        return " | ".join(truncate(text, 40) for text in self.texts)


class SimilarPair(NamedTuple):
    """Two memories that say nearly the same, and their similarity (cosine)."""

    first: Memory
    second: Memory
    similarity: float


@dataclass(frozen=True, slots=True)
class Clusters(TableResult):
    """All clusters, the highest cohesion first, and every two memories that are so similar, the most similar first.
    It prints as a table."""

    items: tuple[Cluster, ...]
    examined_count: int
    position: int
    similarity: float
    pairs: list[SimilarPair] = field(default_factory=list, repr=False)

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Cluster]:
        return iter(self.items)

    @property
    def table(self) -> ResultTable:
        examined = pluralize(self.examined_count, "memory", "memories")
        title = f"clusters: {len(self)} among {examined}, similarity {self.similarity:g} and up"
        rows = [(c.cohesion, c.action, len(c.memories), c.summary, c.why) for c in self]
        return ResultTable(title, ("cohesion", "action", "size", "memories", "reason"), rows)


def find_clusters(
    index: Index,
    memories: ScoredMemories,
    settings: UpkeepSettings,
    similarity: float,
    *,
    seeds: Collection[str] | None = None,
    progress: Progress | None,
    max_size: int = MAX_CLUSTER_SIZE,
) -> Clusters:
    """The clusters among the current memories; with `seeds`, those connected to one of these.

    Left out are chat turns and sources of `remember`, which stay as they were said, and long documents.
    """
    with index.lock:
        sources = index.journal.extractions.keys()
        items = [
            item
            for item in memories.items
            if item.memory.turn is None and item.memory.id not in sources and not split_passages(item.memory.text)
        ]
    hashes = [text_hash(item.memory.text) for item in items]
    known = {key: vector for key, vector in index.load_vectors(hashes).items() if np.any(vector)}
    items = [item for item, key in zip(items, hashes, strict=True) if key in known]
    vectors = np.stack([known[key] for key in hashes if key in known]) if items else np.empty((0, 1), np.float32)
    seed_indices = None if seeds is None else [at for at, item in enumerate(items) if item.memory.id in seeds]
    near = find_pairs(vectors, similarity, MAX_NEIGHBOURS, seed_indices, progress)
    clusters: list[Cluster] = []
    for group in _joined_groups(near, max_size):
        members, similar = [items[at] for at in group], cohesion(vectors, group)
        ids = "|".join(sorted(item.memory.id for item in members))
        cluster_id = hashlib.blake2b(ids.encode(), digest_size=6).hexdigest()
        action, why = _suggestion(index, memories, members, similar, settings.merge_cohesion)
        clusters.append(Cluster(cluster_id, tuple(item.memory for item in members), similar, action, why))
    clusters.sort(key=lambda cluster: (-cluster.cohesion, cluster.memory_ids))
    pairs = [
        SimilarPair(items[first].memory, items[second].memory, min(1.0, score))
        for first, second, score in zip(*(column.tolist() for column in near), strict=True)
    ]
    return Clusters(tuple(clusters), len(items), memories.position, similarity, pairs)


def _joined_groups(pairs: Pairs, max_size: int) -> list[list[int]]:
    """Groups of indices joined by pairs in the order given; none larger than `max_size`."""
    group_of: dict[int, list[int]] = {}
    for first, second in zip(pairs.first.tolist(), pairs.second.tolist(), strict=True):
        group, other = group_of.setdefault(first, [first]), group_of.setdefault(second, [second])
        if group is not other and len(group) + len(other) <= max_size:
            group += other
            group_of.update(dict.fromkeys(other, group))
    groups = {id(group): sorted(group) for group in group_of.values() if len(group) > 1}
    return sorted(groups.values())


def _suggestion(
    index: Index, memories: ScoredMemories, items: Sequence[ScoredMemory], cohesion: float, merge_cohesion: float
) -> tuple[Action, str]:
    if cohesion < min(_REVIEW_COHESION, merge_cohesion):
        return "keep", "they are not similar enough"
    if cohesion < merge_cohesion:
        return "review", "they may say different things"
    conflict = _conflict([item.memory for item in items]) or _disagreement(index, memories, items)
    return ("merge", "") if conflict is None else ("review", conflict)


def _conflict(memories: Sequence[Memory]) -> str | None:
    """What these memories differ in, so that they should not be merged; None if in nothing."""
    if any(memory.key is not None for memory in memories):
        return "one has a key, and its next version would be hidden"
    if len({memory.observed_by for memory in memories}) > 1:
        return "different people say so"
    if len({memory.trust for memory in memories}) > 1:
        return "they are not trusted alike, and the merged one would be trusted as the least"
    if len({memory.valid for memory in memories if memory.valid.has_bound}) > 1:
        return "they are about different times"
    if len({bool(NEGATION_PATTERN.search(memory.text)) for memory in memories}) > 1:
        return "only some of them are negated"
    # Of each text the numbers, and the words of which only one can be meant: numbers, months, days of the week.
    series = [{-1: set(NUMBER_PATTERN.findall(memory.text))} | words_of_series(memory.text) for memory in memories]
    for one, other in combinations(series, 2):
        for number in one.keys() & other.keys():
            if (only := one[number] - other[number]) and (only_other := other[number] - one[number]):
                return f"one says {min(only)!r} and another {min(only_other)!r}"
    return None


def _disagreement(index: Index, memories: ScoredMemories, items: Sequence[ScoredMemory]) -> str | None:
    """What two of these memories make different claims about."""
    rows = {item.row for item in items}
    with index.lock:  # another thread may be building the index again
        numbers = {index.catalog.memory_of(row) for row in rows}
        for row in rows:
            if not numbers.isdisjoint(index.links.contradicting(index.catalog.memory_of(row), memories.snapshot)):
                return "they disagree about something, as a link says"
            for other, kind, topic in index.relations.disagreements(row, memories.snapshot):
                if other in rows and kind != "coexistence":
                    return f"they disagree about {topic.replace('_', ' ')}"
    return None
