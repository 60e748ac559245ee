"""Clusters of memories that say nearly the same, whether it would be right to merge them, and one text
in place of theirs: each sentence once, and no sentence lost.

Pairs with similar vectors are joined to clusters, the most similar first, as long as a cluster stays small.
Embeddings hardly distinguish "she likes tea" from "she does not like tea", or one door code from another.
Clusters with such a conflict are left to a person.
"""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from remanence.index.index import Index
from remanence.models.extractors import model_and_prompt
from remanence.ports import Extractor, MergingExtractor, Progress
from remanence.schema import Memory
from remanence.text.lexicon.word_lists import words_of_series
from remanence.text.named_entities.name_rules import find_names
from remanence.text.text import normalize_text, pluralize, split_passages, split_sentences, text_hash, tokens, truncate
from remanence.upkeep.plans import ResultTable, TableResult, batches
from remanence.upkeep.settings import UpkeepSettings
from remanence.upkeep.steps.decay import ScoredMemories, ScoredMemory

log = logging.getLogger(__name__)

NEGATION_PATTERN = re.compile(
    r"\b(?:not|no|never|none|nobody|nothing|without|cannot|stopped|quit)\b|n['’]t\b", re.IGNORECASE
)
NUMBER_PATTERN = re.compile(r"\d+(?:[.,:]\d+)*")
_SENTENCE_END = re.compile(r"[.!?…。！？:;][\"'”’)\]」』]*$")
_AROUND_SENTENCE = " .!…。\"'“”„‘’«»「」『』"
"""Quotes and marks that say nothing of what a sentence tells."""
_CLAUSE_BREAK = re.compile(r"[,;:]|\b(?:and|but|while|whereas|though|although)\b", re.IGNORECASE)
_WORD = re.compile(r"\w+")
MAX_FAILURES = 2
"""Calls of a language model that may fail before rules merge the rest."""
_MIN_COVERED = 0.8
"""The share of its words that a text has in common with a sentence, at least, to cover it. Chosen by hand."""
_MIN_KNOWN = 0.6
"""The share of the words that a model writes which must be words of the memories, at least. Chosen by hand."""
_MAX_LENGTH = 1.2
"""How many times as long as the text made by rule the text of a model may be. Chosen by hand."""


def merge_sentences(texts: Sequence[str]) -> str:
    """All of these texts, in this order, each sentence once."""
    sentences: dict[str, str] = {}
    for sentence in _sentences(texts):
        sentences.setdefault(sentence_key(sentence), sentence)
    return " ".join(
        sentence_text if _SENTENCE_END.search(sentence_text) else f"{sentence_text}."
        for sentence_text in sentences.values()
    )


def sentence_key(sentence: str) -> str:
    """A form that is the same for two spellings of one sentence: in quotes or not, with whatever mark at its end or
    none. A question is not the statement with the same words.

    >>> sentence_key("“Ana rows!”") == sentence_key("Ana rows."), sentence_key("Ana rows?") == sentence_key("Ana rows.")
    (True, False)
    """
    words = normalize_text(sentence).strip(_AROUND_SENTENCE)
    return words.rstrip(_AROUND_SENTENCE + "?") + "?" if words.endswith("?") else words


@dataclass(frozen=True, slots=True)
class MergedText:
    """One text in place of several: its author, with model and prompt. `problem` says why the text of a
    model was not used."""

    text: str
    author: str = "rules"
    model: str | None = None
    prompt: str | None = None
    problem: str | None = None

    @property
    def author_label(self) -> str:
        details = ", ".join(part for part in (self.model, self.prompt and f"prompt {self.prompt}") if part)
        return f"{self.author} ({details})" if details else self.author


class TextMerger:
    """Merges texts with the extractor's `merge(texts)`, where it has one, and otherwise by rule.

    The result of an extractor is compared with the sources. If it fails, loses or invents a name or a number,
    or changes a negation, the rules write instead. A lost sentence is appended. After two failures in a row
    the extractor is not called again.
    """

    def __init__(self, extractor: Extractor) -> None:
        self._extractor = extractor
        self._failures = 0

    def merge(self, texts: Sequence[str], names: Iterable[str] = ()) -> MergedText:
        """These texts as one; `names` are the names in them."""
        by_rule = merge_sentences(texts)
        if not isinstance(self._extractor, MergingExtractor):
            return MergedText(by_rule)
        if self._failures >= MAX_FAILURES:
            return MergedText(by_rule, problem="was not called again")
        written, problem = _write(self._extractor, texts)
        problem = problem or _problem(written, texts, names, by_rule)
        if problem is not None:
            self._failures += 1
            more = " It is not called again." if self._failures == MAX_FAILURES else ""
            log.warning("%s %s, so the rules merge %d memories.%s", self._extractor.name, problem, len(texts), more)
            return MergedText(by_rule, problem=problem)
        self._failures = 0
        missing = [sentence for sentence in _sentences(texts) if not _is_covered(sentence, written)]
        return MergedText(
            merge_sentences([written, *missing]), self._extractor.name, *model_and_prompt(self._extractor)
        )


def _write(writer: MergingExtractor, texts: Sequence[str]) -> tuple[str, str | None]:
    try:
        written = writer.merge(list(texts))
    except Exception as error:  # noqa: BLE001  -- the caller's code may raise anything
        return "", f"raised {type(error).__name__}"
    if not isinstance(written, str) or not written.strip():
        return "", "returned no usable text"
    return written.strip(), None


def contains_name(name: str, text: str) -> bool:
    """Whether a text has a name as separate words."""
    name, text = normalize_text(name), normalize_text(text)
    if name == name.upper():  # a script without capitals may have no spaces either
        return name in text
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None


def _problem(written: str, texts: Sequence[str], names: Iterable[str], by_rule: str) -> str | None:
    """Why a text cannot replace these texts; None if it can."""
    if len(written) > _MAX_LENGTH * len(by_rule):
        return f"wrote {len(written)} characters in place of {len(by_rule)}"
    if lost := [name for name in names if not contains_name(name, written)]:
        return f"left out {lost[0]!r}"
    sources = "\n".join(texts)
    known = _words(sources)
    if invented := [name.text for name in find_names(written) if not _words(name.text) <= known]:
        return f"made up the name {invented[0]!r}"
    before, after = set(NUMBER_PATTERN.findall(sources)), set(NUMBER_PATTERN.findall(written))
    if before != after:
        return f"{'left out' if before - after else 'made up'} the number {min(before ^ after)}"
    if _changes_negation(written, texts, by_rule):
        return "negated something that the memories do not, or the other way round"
    words = set(tokens(written))
    if len(words & set(tokens(sources))) < _MIN_KNOWN * len(words):
        return "wrote about something else"
    return None


def _changes_negation(written: str, texts: Sequence[str], by_rule: str) -> bool:
    """Whether a text has fewer negations than one of the sources, more than all of them, or others."""
    minimum = max(len(NEGATION_PATTERN.findall(text)) for text in texts)
    if not minimum <= len(NEGATION_PATTERN.findall(written)) <= len(NEGATION_PATTERN.findall(by_rule)):
        return True
    affirmed, negated = _affirmed_and_negated("\n".join(texts))
    affirmed_now, negated_now = _affirmed_and_negated(written)
    return bool((affirmed_now & negated) - affirmed or (negated_now & affirmed) - negated)


def _affirmed_and_negated(text: str) -> tuple[set[str], set[str]]:
    """The words of the clauses without a negation, and of those with one."""
    affirmed: set[str] = set()
    negated: set[str] = set()
    for sentence in split_sentences(text):
        for clause in _CLAUSE_BREAK.split(sentence):
            (negated if NEGATION_PATTERN.search(clause) else affirmed).update(tokens(clause))
    return affirmed, negated


def _words(text: str) -> set[str]:
    return set(_WORD.findall(normalize_text(text)))


def _sentences(texts: Iterable[str]) -> Iterator[str]:
    return (sentence for text in texts for sentence in split_sentences(text))


def _is_covered(sentence: str, text: str) -> bool:
    needed = set(tokens(sentence))
    return bool(needed) and len(needed.intersection(tokens(text))) >= _MIN_COVERED * len(needed)


Indices = NDArray[np.intp]
Vector = NDArray[np.float32]

_MAX_SCORES = 8_388_608
"""Similarities that are in memory at a time: 32 MB."""


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
"""Memories of a cluster, at most; a larger one is divided."""
MAX_NEIGHBOURS = 16
"""Memories nearest to each one that are considered. It limits the work."""
_REVIEW_COHESION = 0.65
"""The cohesion (mean cosine of the pairs) from which on a cluster of less than `merge_cohesion` is for a person to
review. Chosen by hand."""


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
    for group in _joined_groups(near, max_size):
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
