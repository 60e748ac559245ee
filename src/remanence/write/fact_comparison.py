"""Compares new facts with older memories: update, extend or contradict.

1. `find_candidates`: older memories that are similar, about the same subject, or recent
2. `find_verdicts`: the extractor and the reader compare each new fact with its candidates, without holding a lock
3. `remaining_facts`: what is still true of a memory of which a new fact changes only a part
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from remanence.core.embedding import embed
from remanence.core.index import Index
from remanence.language.fact_extraction.rule_extractor import RuleExtractor
from remanence.language.fact_extraction.verdict_rules import remaining_statements
from remanence.language.text import text_hash
from remanence.ports import ComparingExtractor
from remanence.schema import SELF, Fact, LinkKind, Memory, Query, Snapshot, Triple, Verdict
from remanence.write.reader_verdicts import read_verdicts, unchanged_clauses

if TYPE_CHECKING:
    from remanence.core.engine import Engine
    from remanence.ports import Extractor, Reader, Vector
    from remanence.write.prepare import PreparedVersion

_MIN_SIMILARITY = 0.55  # less similar memories are judged only if they are about the same subject
_MIN_READ_SIMILARITY = 0.2  # less similar memories are not compared by the reader
_MAX_CANDIDATES = 8
_RECENT_ROWS = 64  # among which the latest facts are searched
_MAX_RANKED = 4 * _MAX_CANDIDATES  # the sources of facts are more similar than other facts, and are excluded
LINK_KINDS: Mapping[str, LinkKind] = {"updates": "supersedes", "extends": "extends", "contradicts": "contradicts"}
"""The kind of the link for each effect of a verdict."""


class NewFact(NamedTuple):
    """A fact to be stored, its version, a memory with a provisional id to compare it by, and its sources."""

    fact: Fact
    prepared: PreparedVersion
    memory: Memory
    sources: Sequence[Memory]


@dataclass(frozen=True, slots=True)
class ComparisonCandidates:
    """The older memories to compare each new fact with: a list for each, in the order of the new facts."""

    similar: list[list[Memory]]
    """Memories with a similar text or about the same subject, for a language model."""
    wider: list[list[Memory]]
    """The similar ones, and others, for the rules and the reader, which take little time."""

    def older(self, verdict: Verdict) -> Memory | None:
        """The older memory of a verdict."""
        return next((memory for memory in self.wider[verdict.new_index] if memory.id == verdict.old_id), None)


def find_candidates(
    engine: Engine, index: Index, new: Sequence[NewFact], sources: Container[str], snapshot: Snapshot
) -> ComparisonCandidates:
    """The older memories that each new fact may relate to, including the facts before it in `new`.

    Turns and other sources are not among them, nor are `sources`: quotations are not superseded.
    """
    vectors, _ = embed(engine, index.space, [new_memory.prepared.version.text for new_memory in new])
    recent = _recent_rows(index, snapshot) if engine.reader is not None else []
    similar: list[list[Memory]] = []
    wider: list[list[Memory]] = []
    for number, (fact, _, memory, _) in enumerate(new):
        with index.lock:
            scores = _similar_rows(index, memory, vectors.get(text_hash(memory.text)), snapshot)
            scores |= dict.fromkeys(_same_subject_rows(index, (*memory.triples, *fact.ended_claims), snapshot), 1.0)
            for row in recent:
                scores.setdefault(row, _MIN_READ_SIMILARITY)
            rows = [row for row in scores if not index.graph.is_turn(row)]
            older = dict(zip(rows, index.memories(rows), strict=True))
            readable = {m.id for m in index.readable_memories(rows)}
        facts = {
            row: m for row, m in older.items() if m.id in readable and m.id not in sources and _is_fact(index, m.id)
        }
        earlier = [other.memory for other in new[:number] if _share_a_name(memory, other.memory)]
        similar.append([*(m for row, m in facts.items() if scores[row] >= _MIN_SIMILARITY), *earlier])
        wider.append([*facts.values(), *earlier])
    return ComparisonCandidates(similar, wider)


def compare_facts(
    engine: Engine, new: Sequence[NewFact], candidates: ComparisonCandidates, whole_turns: Container[int] = ()
) -> list[Verdict]:
    """The verdicts of the extractor or of the rules, and the verdicts of the reader on the other pairs.

    `whole_turns` are the indexes in `new` of turns without facts. A memory that is trusted less than the one it would
    update contradicts it instead.
    """
    memories = [new_memory.memory for new_memory in new]
    is_model = isinstance(engine.extractor, ComparingExtractor) and not isinstance(engine.extractor, RuleExtractor)
    verdicts = _compare_with_extractor(engine.extractor, memories, candidates.similar if is_model else candidates.wider)
    turns = {new_memory.memory.id: new_memory.fact.source_turns for new_memory in new}
    from_other_turns = [
        [older for older in wider if turns.get(older.id) != turns[memory.id]]
        for memory, wider in zip(memories, candidates.wider, strict=True)
    ]
    verdicts += read_verdicts(engine.reader, memories, from_other_turns, _source_turns(new), verdicts, whole_turns)
    verdicts = _verdicts_in_order(verdicts, memories, candidates.wider)
    return _verdicts_by_trust(verdicts, memories, candidates.wider)


def _source_turns(new: Sequence[NewFact]) -> dict[str, str]:
    """The text that each new fact was extracted from, where there is only one, by the id of its memory."""
    return {new_memory.memory.id: new_memory.sources[0].text for new_memory in new if len(new_memory.sources) == 1}


def remaining_facts(
    reader: Reader | None, verdicts: Iterable[Verdict], new: Sequence[NewFact], candidates: ComparisonCandidates
) -> list[Fact]:
    """What is still true of older memories of which new facts change only a part, as facts of their own."""
    remaining: dict[str, Fact] = {}
    for verdict in verdicts:
        fact, _, memory, _ = new[verdict.new_index]
        older = candidates.older(verdict)
        if older is None or verdict.effect != "updates":
            continue
        statements = remaining_statements(memory, older) or unchanged_clauses(reader, memory, older, _source_turns(new))
        remaining |= {text: _remaining_fact(text, older, fact) for text in statements}
    return list(remaining.values())


def _remaining_fact(text: str, older: Memory, fact: Fact) -> Fact:
    """A statement of an older memory as a fact of its own, with the claims and names of that memory that it has."""

    def has(name: str) -> bool:
        return name == SELF or name in text

    return Fact(
        text=text,
        kind=older.kind,
        mentions=tuple(mention for mention in older.mentions if has(mention.name)),
        triples=tuple(claim for claim in older.triples if has(claim.subject) and has(claim.object)),
        valid=older.valid,
        importance=older.importance,
        tags=older.tags,
        source_turns=fact.source_turns,
    )


def _compare_with_extractor(
    extractor: Extractor, new: Sequence[Memory], old: Sequence[Sequence[Memory]]
) -> list[Verdict]:
    """The extractor's verdicts, without verdicts about memories that it was not asked about."""
    if not any(old):
        return []
    judging = extractor if isinstance(extractor, ComparingExtractor) else RuleExtractor()
    candidate_ids = [{memory.id for memory in candidates} for candidates in old]
    return [
        verdict
        for verdict in judging.compare(new, old)
        if 0 <= verdict.new_index < len(new)
        and verdict.old_id in candidate_ids[verdict.new_index]
        and verdict.effect in LINK_KINDS
    ]


def _verdicts_by_trust(
    verdicts: Iterable[Verdict], new: Sequence[Memory], old: Sequence[Sequence[Memory]]
) -> list[Verdict]:
    """The verdicts; a memory that is trusted less than the one it would update contradicts it instead."""
    trust = {memory.id: memory.trust for candidates in old for memory in candidates}
    return [
        replace(verdict, effect="contradicts")
        if verdict.effect == "updates" and new[verdict.new_index].trust < trust.get(verdict.old_id, 0.0)
        else verdict
        for verdict in verdicts
    ]


def _verdicts_in_order(
    verdicts: Iterable[Verdict], new: Sequence[Memory], old: Sequence[Sequence[Memory]]
) -> list[Verdict]:
    """The verdicts, without updates of a memory that was stated after the new one."""
    stated_at = {memory.id: memory.told_at for candidates in old for memory in candidates}
    return [
        verdict
        for verdict in verdicts
        if verdict.effect != "updates"
        or new[verdict.new_index].valid.start is not None
        or new[verdict.new_index].told_at >= stated_at[verdict.old_id]
    ]


def _is_fact(index: Index, memory: str) -> bool:
    """Whether a memory is a fact: not a source of facts, or one that is its own only fact."""
    extractions = index.journal.extractions.get(memory)
    return not extractions or memory in extractions[-1].facts


def _similar_rows(index: Index, memory: Memory, vector: Vector | None, snapshot: Snapshot) -> dict[int, float]:
    """The most similar rows that are not turns and that no link supersedes, with their similarity."""
    if vector is None:
        return {}
    query = Query(memory.text, visible=snapshot.row_mask, allowed=snapshot.row_mask, vector=vector)
    ranking = index.vectors.rank(query, _MAX_RANKED)
    superseded = index.links.superseded_mask(snapshot)
    near = {
        row: score
        for row, score in zip(ranking.rows, ranking.scores, strict=True)
        if score >= _MIN_READ_SIMILARITY
        and not index.graph.is_turn(row)
        and not superseded[index.catalog.memory_of(row)]
    }
    return dict(list(near.items())[:_MAX_CANDIDATES])


def _recent_rows(index: Index, snapshot: Snapshot) -> list[int]:
    """The rows written last that are not turns and that no link supersedes, the latest first: a text often changes an
    earlier one without similar words."""
    superseded = index.links.superseded_mask(snapshot)
    begin = max(0, len(snapshot.row_mask) - _RECENT_ROWS)
    rows = (np.flatnonzero(snapshot.row_mask[begin:]) + begin).tolist()[::-1]
    facts = (row for row in rows if not index.graph.is_turn(row) and not superseded[index.catalog.memory_of(row)])
    return list(islice(facts, _MAX_CANDIDATES))


def _same_subject_rows(index: Index, claims: Iterable[Triple], snapshot: Snapshot) -> list[int]:
    """The rows with a claim of the same subject and predicate as one of these."""
    rows: dict[int, None] = {}
    for triple in claims:
        subject = index.names.number(triple.subject)
        if subject is not None:
            rows |= dict.fromkeys(index.relations.rows_claiming(subject, triple.predicate, snapshot))
    return list(rows)[-_MAX_CANDIDATES:]


def _share_a_name(a: Memory, b: Memory) -> bool:
    return not {m.name for m in a.mentions}.isdisjoint(m.name for m in b.mentions)
