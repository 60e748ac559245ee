"""How likely each memory still holds: by its age, what it is about, and how fast such things ended in this space.

The curves of `models/lifetimes` say how many ends to expect of memories of a topic. What the ledger has closed in this
space (a later version, a link, a later claim) beside that says how much faster or slower they end here: a Gamma
distribution, first of the space, then of each topic in it. Only what can be closed is counted. Chat turns without a
claim are not: whether one ended is the reader's opinion, and is read anew for each question.

A memory that is closed holds with probability 0. What a reader says of the others is added in `by_reader`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from remanence.index.index import Index
from remanence.index.memory_cache import MemoryCache
from remanence.index.numbers import Position, Row
from remanence.models.embedders import SentenceEmbedder
from remanence.models.lifetimes import (
    Matter,
    Pace,
    expected_ends,
    matter_of_kind,
    matters_of,
    pace_of_spaces,
    pace_of_topic,
    survival,
)
from remanence.recall.validity.superseded import isolated_mask, replacement_row, unsuperseded_mask
from remanence.schema import PROCEDURE, Hit, Memory, Snapshot
from remanence.text.text import text_hash

_MAX_COUNTED = 500
"""Memories of a space that say how fast things end in it, the last ones that could be closed. It limits the work."""
_COUNTED_BITS = 4
"""Binary digits of the position up to which the history of a space is counted, so that it is counted again when the
ledger has grown by a sixteenth to an eighth, and the same ledger gives the same probabilities."""
_MAX_CACHED = 50_000
"""Texts that are kept with what they are about."""
_SECONDS_PER_DAY = 86_400
"""Seconds of a day."""

_MATTERS: dict[bytes, Matter] = {}
"""What texts are about, by their hash, by vectors of the default embedder."""


class Paces(NamedTuple):
    """How fast things end in a space, and in each of its topics that has a history."""

    space: Pace
    topics: dict[str, Pace]

    def of(self, topic: str) -> Pace:
        """The pace of a topic."""
        return self.topics.get(topic) or pace_of_topic(self.space)


_PACES: WeakKeyDictionary[MemoryCache, tuple[int, Paces]] = WeakKeyDictionary()
"""The paces of spaces at the last position for which they were counted; copies of an index share its cache."""


def with_lifetimes(index: Index, hits: Sequence[Hit], snapshot: Snapshot) -> tuple[Hit, ...]:
    """The hits, each with the probability that it holds at the moment of a snapshot. Needs the lock of the index."""
    probabilities = holding([hit.memory for hit in hits], index, snapshot)
    return tuple(
        replace(hit, holds=probability if hit.current else 0.0)
        for hit, probability in zip(hits, probabilities, strict=True)
    )


def holding(memories: Sequence[Memory], index: Index, snapshot: Snapshot) -> list[float]:
    """The probability that what is not closed holds at the moment of a snapshot. What was done for a task stays
    true."""
    if not memories:
        return []
    paces, now = paces_at(index, snapshot), snapshot.now
    return [
        1.0 if memory.kind == PROCEDURE else survival(matter, _days(began(memory), now), paces.of(matter.topic))
        for memory, matter in zip(memories, matters(index, memories), strict=True)
    ]


def began(memory: Memory) -> datetime:
    """From when on a memory held for certain: when it was told, or from when it was said to hold, if that is later."""
    start = memory.valid.start
    return memory.told_at if start is None else max(start, memory.told_at)


def matters(index: Index, memories: Sequence[Memory]) -> list[Matter]:
    """What memories are about: by their stored vectors if the default embedder made them, else by their kind."""
    if index.model != SentenceEmbedder.fingerprint:
        return [matter_of_kind(memory.kind) for memory in memories]
    hashes = [text_hash(memory.text) for memory in memories]
    if new := list({key: None for key in hashes if key not in _MATTERS}):
        if len(_MATTERS) > _MAX_CACHED:
            _MATTERS.clear()
            new = list(dict.fromkeys(hashes))
        vectors = {key: vector for key, vector in index.load_vectors(new).items() if np.any(vector)}
        if vectors:
            _MATTERS.update(zip(vectors, matters_of(np.stack(list(vectors.values()))), strict=True))
    # A long text has vectors of its passages only.
    return [_MATTERS.get(key) or matter_of_kind(memory.kind) for key, memory in zip(hashes, memories, strict=True)]


def paces_at(index: Index, snapshot: Snapshot) -> Paces:
    """How fast things end in a space, by what had been closed at a position shortly before that of a snapshot."""
    surplus = max(0, snapshot.position.bit_length() - _COUNTED_BITS)
    position = Position(snapshot.position >> surplus << surplus)
    known = _PACES.get(index.cache)
    if known is None or known[0] != position:
        known = _PACES[index.cache] = position, _count(index, index.snapshot(position, snapshot.now))
    return known[1]


def _count(index: Index, snapshot: Snapshot) -> Paces:
    """The paces by the ends among the last memories that could be closed, and by how many were to be expected."""
    ended, expected = defaultdict[str, int](int), defaultdict[str, float](float)
    watched = list(_watched(index, snapshot))
    for (_, days, has_ended), matter in zip(watched, matters(index, [memory for memory, *_ in watched]), strict=True):
        ended[matter.topic] += has_ended
        expected[matter.topic] += expected_ends(matter, days)
    space = pace_of_spaces().after(sum(ended.values()), sum(expected.values()))
    topics = {topic: pace_of_topic(space).after(ended[topic], expected[topic]) for topic in expected}
    return Paces(space, topics)


def _watched(index: Index, snapshot: Snapshot) -> Iterator[tuple[Memory, float, bool]]:
    """The memories that could be closed, each with the days for which it held, and whether it ended."""
    procedures = index.catalog.attributes.mask_with_kinds_and_tags((PROCEDURE,), None)
    rows = np.flatnonzero(index.catalog.visible_mask(snapshot.position) & ~index.fields.document_mask & ~procedures)
    rows = rows[~index.catalog.erased_mask(rows)]
    rows = rows[~isolated_mask(index, rows) | ~index.catalog.active_mask(rows, snapshot.position)][-_MAX_COUNTED:]
    if not len(rows):
        return
    memories = index.memories(rows.tolist())
    newest = max(map(began, memories))
    current = unsuperseded_mask(index, rows, snapshot).tolist()
    for row, memory, is_current in zip(rows.tolist(), memories, current, strict=True):
        successor = None if is_current else replacement_row(index, row, snapshot)
        if successor is not None and not index.catalog.same_text(row, successor):
            yield memory, _days(began(memory), began(index.memories([successor])[0])), True
        elif is_current and _can_be_closed(index, row, memory):
            yield memory, _days(began(memory), newest), False


def _can_be_closed(index: Index, row: Row, memory: Memory) -> bool:
    """Whether the ledger would say that a memory ended: it has earlier versions, a claim with one value at a time, or
    links, as facts have that a language model wrote."""
    catalog, position = index.catalog, index.catalog.position
    return (
        catalog.previous_row(row) is not None
        or (memory.turn is None and index.links.has_links(catalog.memory_of(row)))
        or any(index.relations.has_one_value(triple.predicate, position) for triple in memory.triples)
    )


def _days(begin: datetime, end: datetime) -> float:
    return max(0.0, (end - begin).total_seconds() / _SECONDS_PER_DAY)
