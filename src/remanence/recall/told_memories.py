"""What may be stated in a profile: the facts and what people said, in the order told.

Left out is what is superseded, expired, over or forgotten, what the assistant said, documents, and turns that tell
nothing. Of what was told again, the last telling is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from remanence.index.numbers import Position, Row
from remanence.models.embedders import sentence_embedder
from remanence.models.readers import BEFORE_WORDS
from remanence.recall.hits import turns_before
from remanence.recall.told import Told
from remanence.recall.validity.current import is_over
from remanence.recall.validity.superseded import unsuperseded_mask
from remanence.schema import ASSISTANT, PROCEDURE, RULES
from remanence.text.repetition import same_time
from remanence.text.text import last_words, text_hash

if TYPE_CHECKING:
    from remanence.index.index import Index
    from remanence.ports import Vector
    from remanence.schema import Memory


class LatestTold(NamedTuple):
    """The latest memories that may be stated."""

    told: list[Told]
    """In the order told; empty until all that are wanted have been judged."""
    judged: int
    wanted: int
    total: int
    """How many there are of any age, of those that a profile looks at."""


class ToldMemories:
    """The memories of an index that may be stated, with what was judged of each."""

    def __init__(self) -> None:
        self._known: dict[str, Told] = {}

    def at(self, index: Index, position: Position, now: datetime) -> list[Told]:
        """Those at a position, in the order told."""
        pairs = self._pairs(index, position, now)
        self._judge(index, pairs)
        return self._told(pairs)

    def latest(self, index: Index, position: Position, now: datetime, *, count: int, most: int) -> LatestTold:
        """The latest `count` of those at a position, and more only if they were judged before. At most `most` are
        judged now, the latest ones first; until all are, none is returned."""
        pairs = self._pairs(index, position, now)
        known = next((number for number, pair in enumerate(reversed(pairs)) if not self._knows(*pair)), len(pairs))
        wanted = max(min(count, len(pairs)), known)
        part = pairs[len(pairs) - wanted :]
        new = [pair for pair in reversed(part) if not self._knows(*pair)]
        self._judge(index, new[:most])
        # Counted again: what was known before may have been cleared.
        unknown = sum(not self._knows(*pair) for pair in part)
        return LatestTold([] if unknown else self._told(part), wanted - unknown, wanted, len(pairs))

    def _pairs(self, index: Index, position: Position, now: datetime) -> list[tuple[Memory, str]]:
        """The memories that may be stated, each with the turn before it, by when they happened."""
        with index.lock:
            rows = _current_rows(index, position, now)
            left_out = _extracted(index)
            memories = zip(rows, index.memories(rows), strict=True)
            stated = [pair for pair in memories if _may_be_stated(pair[1], now) and pair[1].id not in left_out]
            contexts = turns_before(index, [row for row, _ in stated], position)
        return [(memory, context) for (_, memory), context in zip(stated, contexts, strict=True)]

    def _told(self, pairs: Sequence[tuple[Memory, str]]) -> list[Told]:
        """What these tell, in the order told; each has been judged."""
        told = sorted((self._known[memory.id] for memory, _ in pairs), key=lambda each: each.at)
        return [each for each in _told_last(told) if each.tells_something]

    def _knows(self, memory: Memory, context: str) -> bool:
        known = self._known.get(memory.id)
        return known is not None and known.context == context and (known.memory is memory or known.memory == memory)

    def _judge(self, index: Index, pairs: Sequence[tuple[Memory, str]]) -> None:
        new = [pair for pair in pairs if not self._knows(*pair)]
        if len(self._known) + len(new) > 20_000:
            self._known.clear()
            new = list(pairs)
        texts = [f"{last_words(context, BEFORE_WORDS)} {memory.text}".strip() for memory, context in new]
        for (memory, context), vector in zip(new, _vectors(index, texts), strict=True):
            self._known[memory.id] = Told(memory, context, vector)


def _vectors(index: Index, texts: Sequence[str]) -> list[Vector]:
    """The vectors of these texts by the default embedder; those that the space has are not made again."""
    embedder = sentence_embedder()
    hashes = [text_hash(text) for text in texts]
    known = dict(index.load_vectors(hashes)) if index.model == embedder.fingerprint else {}
    if new := {key: text for key, text in zip(hashes, texts, strict=True) if key not in known}:
        known.update(zip(new, embedder.embed(list(new.values())), strict=True))
    return [known[key] for key in hashes]


def _current_rows(index: Index, position: Position, now: datetime) -> list[Row]:
    """The rows that hold. Needs the lock of the index."""
    rows = np.array(index.current_rows(position), np.int64)
    rows = rows[index.catalog.current_mask(rows, position, now)]
    rows = rows[np.argsort(index.catalog.times.event_times(rows), kind="stable")][-4_000:]
    rows = rows[~index.catalog.erased_mask(rows)]
    snapshot = index.snapshot(position, now)
    rows = rows[unsuperseded_mask(index, rows, snapshot)]
    # A sentence that is only partly valid would be wrong.
    claims = index.relations.has_claims(rows).tolist()
    stale = index.relations.is_partly_stale
    return [row for row, has in zip(rows.tolist(), claims, strict=True) if not (has and stale(row, snapshot))]


def _extracted(index: Index) -> set[str]:
    """The facts that the rules of an earlier release wrote, and the sources that the facts of a model stand for."""
    last = {source: records[-1] for source, records in index.journal.extractions.items()}
    by_rules = {fact for source, record in last.items() if record.by == RULES for fact in record.facts}
    by_rules -= set(last)
    with_facts = {source for source, record in last.items() if record.facts and record.by != RULES} - {
        fact for record in last.values() for fact in record.facts
    }
    return by_rules | with_facts


def undisputed_facts(index: Index, now: datetime) -> set[str]:
    """The facts that a language model wrote and nothing contradicts. Needs the lock of the index."""
    snapshot = index.snapshot(index.catalog.position, now)
    records = (records[-1] for records in index.journal.extractions.values())
    facts = {fact for record in records if record.by != RULES for fact in record.facts}
    return {fact for fact in facts if not index.links.contradicting(index.require_number(fact), snapshot)}


def _may_be_stated(memory: Memory, now: datetime) -> bool:
    if memory.kind == PROCEDURE:
        return False
    if memory.turn is not None:
        return memory.turn.speaker != ASSISTANT
    return len(memory.text) <= 1_000 and not is_over(memory, now)


def _told_last(told: Sequence[Told]) -> list[Told]:
    """What is told again as it was told last."""
    kept: list[Told] = []
    statements: dict[str, list[Told]] = {}
    for each in reversed(told):
        same = statements.setdefault(each.statement, [])
        if not any(same_time(each.memory, other.memory) for other in same):
            same.append(each)
            kept.append(each)
    return kept[::-1]
