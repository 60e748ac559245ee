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
from numpy.typing import NDArray

from remanence.index.index import Index
from remanence.ports import Progress
from remanence.schema import Memory
from remanence.text.lexicon.word_lists import words_of_series
from remanence.text.passages import split_passages
from remanence.text.text import pluralize, text_hash, truncate
from remanence.upkeep.plans import ResultTable, TableResult, batches
from remanence.upkeep.settings import UpkeepSettings
from remanence.upkeep.steps.decay import ScoredMemories, ScoredMemory
from remanence.upkeep.steps.merged_text import NEGATION_PATTERN, NUMBER_PATTERN

Indices = NDArray[np.intp]
Vector = NDArray[np.float32]

_MAX_SCORES = 8_388_608
"""Similarities in memory at a time: 32 MB."""


class Pairs(NamedTuple):
    """Indices of two vectors each, and their similarity (dot product)."""

    first: Indices
    second: Indices
    score: Vector


def find_pairs(
    vectors: Vector,
    min_similarity: float,
    max_neighbours: int,
    seeds: Sequence[int] | None = None,
    progress: Progress | None = None,
) -> Pairs:
    """The pairs with at least this similarity, for each vector no more than the nearest few. Each pair comes once, the
    smaller index first, the most similar pairs first.

    With `seeds`, only the pairs connected to these vectors, directly or through others.
    """
    queue = np.arange(len(vectors)) if seeds is None else np.unique(np.asarray(seeds, np.intp))
    visited, parts = queue, list[Pairs]()
    while len(queue):
        size = max(1, _MAX_SCORES // len(vectors))
        for block in batches(queue.tolist(), size, progress):
            parts.append(_nearest(vectors, np.array(block, np.intp), min_similarity, max_neighbours))
        queue = np.setdiff1d(np.concatenate([part.second for part in parts]), visited)
        visited = np.union1d(visited, queue)
    return _unique(parts)


def cohesion(vectors: Vector, indices: Sequence[int]) -> float:
    """The average similarity of all pairs among these vectors."""
    chosen = vectors[list(indices)]
    total = float((chosen @ chosen.T).sum() - np.einsum("ij,ij->", chosen, chosen))
    return round(min(1.0, total / (len(chosen) * (len(chosen) - 1))), 4)


def _nearest(vectors: Vector, indices: Indices, min_similarity: float, limit: int) -> Pairs:
    """The nearest few of each of these vectors."""
    scores = vectors[indices] @ vectors.T
    scores[np.arange(len(indices)), indices] = -np.inf
    near = scores >= min_similarity
    crowded = np.flatnonzero(np.count_nonzero(near, axis=1) > limit)
    near[crowded] = False
    near[crowded[:, None], np.argpartition(scores[crowded], -limit, axis=1)[:, -limit:]] = bool(len(crowded))
    rows, second = np.nonzero(near)
    return Pairs(indices[rows], second, scores[near])


def _unique(parts: Sequence[Pairs]) -> Pairs:
    empty = Pairs(np.empty(0, np.intp), np.empty(0, np.intp), np.empty(0, np.float32))
    one, other, score = (np.concatenate(column) for column in zip(empty, *parts, strict=True))
    first, second = np.minimum(one, other), np.maximum(one, other)
    # The two directions of a pair may have scores that differ in the last digit: one of them is chosen.
    _, once = np.unique(first << 32 | second, return_index=True)
    order = once[np.lexsort((second[once], first[once], -score[once]))]
    return Pairs(first[order], second[order], score[order])


Action = Literal["merge", "review", "keep"]

MAX_CLUSTER_SIZE = 12
"""Memories of a cluster; a larger one is divided."""
MAX_NEIGHBOURS = 16
"""How many of the memories nearest to each are considered."""
_REVIEW_COHESION = 0.65
"""Clusters with at least this cohesion, but less than `merge_cohesion`, are for a person to review."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """Similar memories: their average similarity (`cohesion`), what is suggested, and why."""

    id: str
    items: tuple[ScoredMemory, ...]
    cohesion: float
    action: Action
    why: str = ""

    @property
    def memory_ids(self) -> tuple[str, ...]:
        """The ids of the memories, in the order in which they were added."""
        return tuple(item.memory.id for item in self.items)

    @property
    def texts(self) -> tuple[str, ...]:
        return tuple(item.memory.text for item in self.items)

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
    """All clusters, the highest cohesion first. It prints as a table."""

    clusters: tuple[Cluster, ...]
    examined_count: int
    position: int
    similarity: float
    _examined: Sequence[ScoredMemory] = field(default=(), compare=False, repr=False)
    _near: Pairs | None = field(default=None, compare=False, repr=False)

    @property
    def pairs(self) -> list[SimilarPair]:
        """Every two memories that are at least so similar, the most similar first."""
        if self._near is None:
            return []
        return [
            SimilarPair(self._examined[first].memory, self._examined[second].memory, min(1.0, score))
            for first, second, score in zip(*(column.tolist() for column in self._near), strict=True)
        ]

    def __len__(self) -> int:
        return len(self.clusters)

    def __iter__(self) -> Iterator[Cluster]:
        return iter(self.clusters)

    @property
    def table(self) -> ResultTable:
        examined = pluralize(self.examined_count, "memory", "memories")
        title = f"clusters: {len(self)} among {examined}, similarity {self.similarity:g} and up"
        rows = [(c.cohesion, c.action, len(c.items), c.summary, c.why) for c in self.clusters]
        return ResultTable(title, ("cohesion", "action", "size", "memories", "reason"), rows)


def find_clusters(
    index: Index,
    memories: ScoredMemories,
    settings: UpkeepSettings,
    similarity: float,
    *,
    seeds: Collection[int] | None = None,
    progress: Progress | None,
    max_size: int = MAX_CLUSTER_SIZE,
) -> Clusters:
    """The clusters among the current memories; with `seeds`, those connected to one of these rows.

    Left out are chat turns and sources of `remember`, which stay as they were said, and long documents.
    """
    with index.lock:
        merged = [item for item in memories.items if _may_be_merged(index, item.memory)]
    items, vectors = _with_vectors(index, merged)
    seed_indices = None if seeds is None else [at for at, item in enumerate(items) if item.row in seeds]
    clusters: list[Cluster] = []
    near = find_pairs(vectors, similarity, MAX_NEIGHBOURS, seed_indices, progress)
    for group in _connected_components(near, max_size):
        members, similar = tuple(items[at] for at in group), cohesion(vectors, group)
        ids = "|".join(sorted(item.memory.id for item in members))
        cluster_id = hashlib.blake2b(ids.encode(), digest_size=6).hexdigest()
        action, why = _suggestion(index, memories, members, similar, settings.merge_cohesion)
        clusters.append(Cluster(cluster_id, members, similar, action, why))
    clusters.sort(key=lambda cluster: (-cluster.cohesion, cluster.memory_ids))
    return Clusters(tuple(clusters), len(items), memories.position, similarity, items, near)


def _with_vectors(index: Index, items: Sequence[ScoredMemory]) -> tuple[list[ScoredMemory], Vector]:
    """Those of the items whose text has a vector other than zero, and these vectors as rows."""
    hashes = [text_hash(item.memory.text) for item in items]
    vectors = {key: vector for key, vector in index.load_vectors(hashes).items() if np.any(vector)}
    found = [(item, vectors[key]) for item, key in zip(items, hashes, strict=True) if key in vectors]
    rows = np.stack([vector for _, vector in found]) if found else np.empty((0, 1), np.float32)
    return [item for item, _ in found], rows


def _may_be_merged(index: Index, memory: Memory) -> bool:
    return memory.turn is None and memory.id not in index.journal.extractions and not split_passages(memory.text)


def _connected_components(pairs: Pairs, max_size: int) -> list[list[int]]:
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
    conflict = _conflict(index, memories, items)
    return ("merge", "") if conflict is None else ("review", conflict)


def _conflict(index: Index, memories: ScoredMemories, items: Sequence[ScoredMemory]) -> str | None:
    """Why these memories should not be merged; None if there is no reason."""
    if any(item.memory.key is not None for item in items):
        return "one has a key, and its next version would be hidden"
    if len({item.memory.observed_by for item in items}) > 1:
        return "different people say so"
    if len({item.memory.trust for item in items}) > 1:
        return "they are not trusted alike, and the merged one would be trusted as the least"
    if len({item.memory.valid for item in items if item.memory.valid.has_bound}) > 1:
        return "they are about different times"
    if topic := _disagreement(index, memories, items):
        return f"they disagree about {topic}"
    for text, other in combinations((item.memory.text for item in items), 2):
        if bool(NEGATION_PATTERN.search(text)) != bool(NEGATION_PATTERN.search(other)):
            return "only one of them is negated"
        numbers, other_numbers = set(NUMBER_PATTERN.findall(text)), set(NUMBER_PATTERN.findall(other))
        if numbers - other_numbers and other_numbers - numbers:
            return "they have different numbers"
        if different := _different_in_series(text, other):
            return f"one says {different[0]!r} and another {different[1]!r}"
    return None


def _different_in_series(text: str, other: str) -> tuple[str, str] | None:
    """A word of each text, of which only one can be meant: two numbers, months or days of the week."""
    words, other_words = words_of_series(text), words_of_series(other)
    for series in words.keys() & other_words.keys():
        only, only_other = words[series] - other_words[series], other_words[series] - words[series]
        if only and only_other:
            return min(only), min(only_other)
    return None


def _disagreement(index: Index, memories: ScoredMemories, items: Sequence[ScoredMemory]) -> str | None:
    """What two of these memories make different claims about."""
    rows = {item.row for item in items}
    with index.lock:  # another thread may be building the index again
        numbers = {index.catalog.memory_of(row) for row in rows}
        for row in rows:
            if not numbers.isdisjoint(index.links.contradicting(index.catalog.memory_of(row), memories.snapshot)):
                return "something, as a link says"
            for other, kind, topic in index.relations.disagreements(row, memories.snapshot):
                if other in rows and kind != "coexistence":
                    return topic.replace("_", " ")
    return None
