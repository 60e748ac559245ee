"""Compares new facts with older memories: update, extend or contradict.

1. `find_candidates`: older memories that are similar, about the same subject, or recent
2. `compare_facts`: the extractor and the reader compare each new fact with its candidates, without holding a lock
3. `remaining_facts`: what is still true of a memory of which a new fact changes only a part
"""

from __future__ import annotations

import logging
import re
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from remanence.core.embedding import embed
from remanence.core.index import Index
from remanence.language.claim_extraction.predicate_rules import LASTING_PREDICATES
from remanence.language.fact_extraction.fact_attributes import NEWS, without_past_times
from remanence.language.fact_extraction.replacement_candidates import (
    may_replace,
    says_it_goes_on,
    share_short_word,
    share_topic,
    share_word,
)
from remanence.language.fact_extraction.rule_extractor import RuleExtractor
from remanence.language.fact_extraction.statements import listed_parts, split_statements
from remanence.language.fact_extraction.verdict_rules import remaining_statements
from remanence.language.temporal import find_stated_times
from remanence.language.text import text_hash
from remanence.ports import ComparingExtractor, RelationReader
from remanence.schema import SELF, Fact, LinkKind, Memory, Query, Snapshot, Triple, Verdict, Window

if TYPE_CHECKING:
    from remanence.core.engine import Engine
    from remanence.ports import Extractor, Reader, Vector
    from remanence.write.prepare import PreparedVersion

log = logging.getLogger(__name__)

_MIN_SIMILARITY = 0.55  # less similar memories are judged only if they are about the same subject
_MIN_READ_SIMILARITY = 0.2  # less similar memories are not compared by the reader
_MAX_CANDIDATES = 8
_RECENT_ROWS = 64  # among which the latest facts are searched
_MAX_RANKED = 4 * _MAX_CANDIDATES  # the sources of facts are more similar than other facts, and are excluded
LINK_KINDS: Mapping[str, LinkKind] = {"updates": "supersedes", "extends": "extends", "contradicts": "contradicts"}
"""The kind of the link for each effect of a verdict."""
MAX_READ = 6
"""How many older facts a new one is compared with; a comparison takes some milliseconds."""
MIN_REPLACED = 0.9
"""The least probability that a message replaces or ends an older fact with which it shares a topic."""
MIN_REPLACED_UNLIKE = 0.95
"""The same for other facts."""
MIN_OTHER_CLAUSE = 0.97
"""The least probability that a message also replaces a second clause of an older fact, or a second fact of the same
older message. That is rare."""
MAX_UNCHANGED = 0.5
"""A part of a list that is replaced with a lower probability stays."""

_INTRODUCTION = re.compile(r"(?:The user|[A-Z][\w'’-]+) is [A-Z][\w'’-]+(?: [A-Z][\w'’-]+)?\.")


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
        names = {mention.name for mention in memory.mentions}
        earlier = [other.memory for other in new[:number] if names & {m.name for m in other.memory.mentions}]
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
        valid=older.valid if older.told_at in older.valid or find_stated_times(text, older.told_at) else Window(),
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


# The reader says which older facts a new one replaces or ends in other words. The rules choose what to ask
# (`may_replace`). The reader makes mistakes, so its probability has to be high. It is called outside of locks, with a
# limited number of older facts.


def read_verdicts(
    reader: Reader | None,
    new: Sequence[Memory],
    old: Sequence[Sequence[Memory]],
    source_turns: Mapping[str, str],
    decided: Sequence[Verdict],
    whole_turns: Container[int] = (),
) -> list[Verdict]:
    """The verdicts of the reader on pairs for which there is none yet.

    An older fact is compared with the only turn that the new fact was extracted from (`source_turns`, by the id of the
    fact), which tells what changes better than the fact does. The turn of the older fact is not used: it may state more
    than that fact. Of several facts of a turn, the one that replaces the older fact most likely has the verdict.
    `whole_turns` are the indexes in `new` of statements without facts: they are compared only with facts on the same
    topic.
    """
    if reader is None or not isinstance(reader, RelationReader):
        return []
    judged = {(verdict.new_index, verdict.old_id) for verdict in decided}
    pairs = [
        (number, memory, other)
        for number, memory in enumerate(new)
        for other in _facts_to_read(memory, old[number], _turn_text(memory, source_turns), number in whole_turns)
        if (number, other.id) not in judged and other.id != memory.id
    ]
    if not pairs:
        return []
    texts = [(at, text) for at, (_, _, other) in enumerate(pairs) for text in _parts(other.text)]
    best = dict.fromkeys(range(len(pairs)), 0.0)
    probabilities = _replacement_probabilities(reader, [(text, *pairs[at][1:]) for at, text in texts], source_turns)
    for (at, _), probability in zip(texts, probabilities, strict=False):
        best[at] = max(best[at], probability)
    likeliest = _likeliest_of_message(pairs, best)
    replaced = [
        at
        for at, (_, memory, other) in enumerate(pairs)
        if best[at] >= (_min_replaced(_turn_text(memory, source_turns), other) if at in likeliest else MIN_OTHER_CLAUSE)
    ]
    return [
        Verdict(pairs[at][0], pairs[at][2].id, "updates", f"the reader says that it replaces it ({best[at]:.2f})")
        for at in _likeliest_of_turn(reader, replaced, pairs, source_turns)
    ]


def _likeliest_of_turn(
    reader: RelationReader,
    replaced: Sequence[int],
    pairs: Sequence[tuple[int, Memory, Memory]],
    source_turns: Mapping[str, str],
) -> list[int]:
    """Of the pairs of one older fact and the facts of one turn, the index of the one whose fact replaces it most
    likely; one that is to come only if no other does."""
    groups: dict[tuple[str, str], list[int]] = {}
    for at in replaced:
        _, memory, other = pairs[at]
        groups.setdefault((other.id, _turn_text(memory, source_turns)), []).append(at)
    several = [at for group in groups.values() if len(group) > 1 for at in group]
    probabilities = _replacement_probabilities(reader, [(pairs[at][2].text, *pairs[at][1:]) for at in several], {})
    by_fact = dict(zip(several, probabilities, strict=False))

    def likelihood(at: int) -> tuple[bool, float]:
        memory, probability = pairs[at][1], by_fact.get(at, 0.0)
        starts_later = memory.valid.start is not None and memory.valid.start > memory.told_at
        return not starts_later and probability >= MIN_REPLACED, probability

    return [max(group, key=likelihood) for group in groups.values()]


def _likeliest_of_message(pairs: Sequence[tuple[int, Memory, Memory]], probabilities: Mapping[int, float]) -> set[int]:
    """The indexes of the likeliest pairs: one for each new fact and each older message. Facts of the message that share
    a topic word with the new fact come before others, then the higher probability decides."""
    best: dict[tuple[int, datetime, str | None], tuple[bool, float, int]] = {}
    for at, (number, memory, other) in enumerate(pairs):
        key = number, other.told_at, other.observed_by
        rank = share_word(memory.text, other.text), probabilities[at], at
        best[key] = max(best.get(key, rank), rank)
    return {at for _, _, at in best.values()}


def _parts(text: str) -> list[str]:
    """A text, and its clauses if it has several: a new fact may replace only one of them."""
    clauses = split_statements(text)
    return [text, *clauses] if len(clauses) > 1 else [text]


def unchanged_clauses(reader: Reader | None, new: Memory, old: Memory, source_turns: Mapping[str, str]) -> list[str]:
    """The clauses of `old` that `new` does not replace, by the reader.

    The clause that is replaced with the highest probability is not among them.
    """
    if reader is None or not isinstance(reader, RelationReader):
        return []
    clauses = split_statements(old.text)
    if len(clauses) < 2:
        return _unchanged_parts(reader, new, old, source_turns)
    probabilities = _replacement_probabilities(reader, [(clause, new, old) for clause in clauses], source_turns)
    min_replaced = min(MIN_OTHER_CLAUSE, max(probabilities, default=0.0))
    return [clause for clause, probability in zip(clauses, probabilities, strict=False) if probability < min_replaced]


def _unchanged_parts(reader: RelationReader, new: Memory, old: Memory, source_turns: Mapping[str, str]) -> list[str]:
    """A text that lists several things without those that `new` replaces, if the others clearly stay."""
    listed = listed_parts(old.text)
    if listed is None:
        return []
    parts = [(statement, new, old) for statement in listed.statements]
    probabilities = _replacement_probabilities(reader, parts, source_turns)
    changed = [number for number, probability in enumerate(probabilities) if probability >= MAX_UNCHANGED]
    text = listed.without(changed) if changed else None
    return [text] if text else []


def _replacement_probabilities(
    reader: RelationReader, parts: Sequence[tuple[str, Memory, Memory]], source_turns: Mapping[str, str]
) -> list[float]:
    """For each text of an older fact (the last of the three), the probability that the turn of the newer fact replaces
    it. An empty list if the reader fails.

    Times since the older fact was told are left out: the reader takes a statement with a time for one about the past
    ("quit smoking in March").
    """
    read = [(text, _turn_text(new, source_turns, since=old.told_at - NEWS)) for text, new, old in parts]
    try:
        return [odds.get("replaces", 0.0) + odds.get("ends", 0.0) for odds in reader.compare(read)] if read else []
    except Exception as error:  # noqa: BLE001  -- the caller's code may raise anything
        log.warning("remember continues without the reader: %s", error)
        return []


def _facts_to_read(new: Memory, old: Sequence[Memory], turn: str, is_whole_turn: bool) -> list[Memory]:
    """The older facts that a reader compares with a new one."""
    facts = [one for one in old if _needs_reader(new, one, is_whole_turn) and not says_it_goes_on(turn, one.text)]
    return facts[:MAX_READ]


def _needs_reader(new: Memory, old: Memory, is_whole_turn: bool) -> bool:
    """Whether only a reader can tell if `new` replaces `old`. Claims of one subject with one predicate have been
    compared already: values of a predicate that has several ("likes jazz", "likes rock") are valid together. A
    claim such as where a person was born does not change, nor does a name, nor what has happened."""
    claims = {(claim.subject, claim.predicate) for claim in new.triples}
    if any((claim.subject, claim.predicate) in claims for claim in old.triples):
        return False
    if old.triples and all(claim.predicate in LASTING_PREDICATES for claim in old.triples):
        return False
    if _INTRODUCTION.fullmatch(old.text) or (old.kind == "episode" and not _is_to_come(old, new.told_at)):
        return False
    if is_whole_turn and not _share_topic(new.text, old.text):
        return False
    return may_replace(new, old)


def _is_to_come(memory: Memory, now: datetime) -> bool:
    return any(moment is not None and moment > now for moment in (memory.valid.end, memory.expires_at))


def _min_replaced(turn: str, old: Memory) -> float:
    return MIN_REPLACED if _share_topic(turn, old.text) else MIN_REPLACED_UNLIKE


def _share_topic(one: str, other: str) -> bool:
    return share_topic(one, other) or share_short_word(one, other)


def _turn_text(memory: Memory, source_turns: Mapping[str, str], since: datetime | None = None) -> str:
    """The turn of a fact as a reader is given it, without times that lie after `since`."""
    speaker = "user" if memory.observed_by in (None, SELF) else memory.observed_by
    text = source_turns.get(memory.id, memory.text)
    return f"{speaker}: {text if since is None else without_past_times(text, memory.told_at, since)}"
