"""`remember`: the facts of a text or a conversation as memories.

1. the source is written verbatim (by the caller), so that nothing is lost if a later step fails
2. `extract_facts`: an extractor finds the facts, without holding a lock, because a model may be slow
3. `_judge`: whether the facts update, extend or contradict older memories, which are similar or about the same subject
4. `store_facts`: facts, links to sources and older memories, and the extraction itself, in one transaction; older
   entries stay as they are
"""

from __future__ import annotations

import logging
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import groupby, islice
from typing import TYPE_CHECKING

import numpy as np

from remanence.core.identity import new_id
from remanence.core.index import Index, memory_from_entry
from remanence.errors import NotFound
from remanence.events import Event, Extracted, Forgotten, Invalidated, Linked, Queued, Remembered
from remanence.graph.assertions import invalidation_events
from remanence.language.rules.rule_extractor import RuleExtractor
from remanence.language.rules.update_rules import remaining_text
from remanence.language.text import normalize_text, text_hash
from remanence.schema import (
    SELF,
    Entry,
    ExtractionResult,
    Fact,
    LinkKind,
    Memory,
    Query,
    Snapshot,
    Triple,
    Utterance,
    Verdict,
)
from remanence.write.alias_detection import alias_events
from remanence.write.append import ExtraEvents, append
from remanence.write.prepare import PreparedVersion, prepare_fact, prepare_revision
from remanence.write.reader_verdicts import read_verdicts

if TYPE_CHECKING:
    from remanence.core.engine import Engine
    from remanence.ports import Extractor, Progress, Vector

log = logging.getLogger(__name__)

_BATCH = 200  # turns that are read, judged and written at once
_MIN_SIMILARITY = 0.55  # less similar memories are judged only if they are about the same subject
_MIN_READ_SIMILARITY = 0.2  # and less similar ones are not compared by the reader
_MAX_CANDIDATES = 8
_RECENT_ROWS = 64  # among which the latest facts are searched
_MAX_RANKED = 4 * _MAX_CANDIDATES  # the sources of facts are more similar than other facts, and are left out
_LINK_KINDS: Mapping[str, LinkKind] = {"updates": "supersedes", "extends": "extends", "contradicts": "contradicts"}


@dataclass(frozen=True, slots=True)
class SourceFacts:
    """Some sources, and what an extractor found in them. `Fact.source_turns` are places in `sources`."""

    sources: tuple[Memory, ...]
    result: ExtractionResult

    def sources_of(self, fact: Fact) -> list[Memory]:
        """The sources that a fact names."""
        return [self.sources[place] for place in fact.source_turns if place < len(self.sources)]


def remember(
    engine: Engine, space: str, sources: Sequence[Memory], now: datetime, progress: Progress | None = None
) -> list[Memory]:
    """The facts of these sources as memories. The same extractor is not asked twice about the same sources."""
    batches = [sources[begin : begin + _BATCH] for begin in range(0, len(sources), _BATCH)]
    return _remember_batches(engine, space, batches, now, progress, reuse=True)


def reextract(
    engine: Engine, space: str, memory_id: str | None, now: datetime, progress: Progress | None = None
) -> list[Memory]:
    """Read one source again, or all of them, each conversation at once; also those of abandoned jobs."""
    with engine.open_index(space) as index:
        ids = list(dict.fromkeys((*index.journal.extractions, *_sources_of_abandoned_jobs(engine, index))))
    if memory_id is not None and memory_id not in ids:
        raise NotFound(f"memory {memory_id!r} is not a source that remember() stored in space {space!r}.")
    sources = existing_memories(engine, space, [memory_id] if memory_id else ids)
    groups = groupby(sources, key=lambda m: ("memory", m.id) if m.turn is None else ("turn", m.turn.conversation))
    return _remember_batches(engine, space, [list(group) for _, group in groups], now, progress, reuse=False)


def _remember_batches(
    engine: Engine,
    space: str,
    batches: Sequence[Sequence[Memory]],
    now: datetime,
    progress: Progress | None,
    *,
    reuse: bool,
) -> list[Memory]:
    """The facts of some batches of sources. With `reuse`, those of an earlier extraction are returned."""
    facts: dict[str, Memory] = {}
    done, total = 0, sum(map(len, batches))
    for batch in batches:
        with engine.open_index(space) as index:
            known = _known_facts(index, batch, engine.extractor) if reuse else None
        if known is not None:
            found = existing_memories(engine, space, known)
        else:
            with engine.reading_dates(space, [memory.text for memory in batch]):
                source_facts = extract_facts(engine.extractor, batch, now)
            found = store_facts(engine, space, source_facts, now)
        facts |= {memory.id: memory for memory in found}
        done += len(batch)
        if progress is not None:
            progress(done, total)
    return list(facts.values())


def existing_memories(engine: Engine, space: str, ids: Iterable[str]) -> list[Memory]:
    """The memories with these ids, without those that are hidden."""
    memories = (engine.get(space, memory_id, None) for memory_id in ids)
    return [memory for memory in memories if memory is not None]


def extract_facts(extractor: Extractor, sources: Sequence[Memory], now: datetime) -> SourceFacts:
    """The facts in these memories. If the extractor fails, the rules are used."""
    utterances = [
        Utterance(m.text, m.turn.speaker if m.turn else m.observed_by, (m.turn.at if m.turn else None) or now)
        for m in sources
    ]
    find_facts = getattr(extractor, "facts", None) or RuleExtractor().facts
    try:
        result = find_facts(utterances, now=now)
    except Exception as error:  # noqa: BLE001  -- the extractor is the caller's code and may raise anything
        log.warning("the extractor failed, so the rules are used: %s", error)
        result = replace(RuleExtractor().facts(utterances, now=now), problem=f"{type(error).__name__}: {error}")
    return SourceFacts(tuple(sources), result)


class _SourceErased(Exception):
    """A source was erased while its facts were extracted."""


def store_facts(
    engine: Engine, space: str, source_facts: SourceFacts, now: datetime, *, extra_events: ExtraEvents | None = None
) -> list[Memory]:
    """Write the facts, linked to their sources and to older memories.

    Facts that only an earlier extraction found in the same sources are forgotten. `extra_events` may add events to the
    same transaction, or raise to write nothing.
    """
    facts = [fact for fact in source_facts.result.facts if normalize_text(fact.text)]
    by = source_facts.result.by
    with engine.open_index(space) as index:
        prepared = [_prepare(index, fact, source_facts, now) for fact in facts]
        snapshot = index.snapshot(index.catalog.position, now)
        vectors, _ = engine.embed(space, [p.version.text for p in prepared])
        new = [_provisional_memory(place, space, p) for place, p in enumerate(prepared)]
        sources = {source.id for source in source_facts.sources}
        ended = [fact.ended_claims for fact in facts]
        recent = _recent_rows(index, snapshot) if engine.reader is not None else []
        near, wide = _comparison_candidates(index, new, ended, vectors, snapshot, sources, recent)
        source_turns = (
            _source_turns_of(index, source_facts, facts, new, wide, snapshot) if engine.reader is not None else {}
        )
    by_rule = not callable(getattr(engine.extractor, "judge", None)) or isinstance(engine.extractor, RuleExtractor)
    verdicts = _judge(engine.extractor, new, wide if by_rule else near)  # rules cost nothing
    turns = {memory.id: fact.source_turns for memory, fact in zip(new, facts, strict=True)}
    other_turns = [
        [older for older in candidates if turns.get(older.id) != turns[memory.id]]
        for memory, candidates in zip(new, wide, strict=True)
    ]
    verdicts += read_verdicts(engine.reader, new, other_turns, source_turns, verdicts)
    verdicts = _verdicts_by_trust(verdicts, new, wide)
    kept = _remaining_facts(verdicts, new, wide, facts)
    with engine.open_index(space) as index:
        prepared += [_prepare(index, fact, source_facts, now) for fact in kept]
    facts += kept

    alias_changes: list[Event] = []

    def decide(index: Index, ids: Sequence[str]) -> list[Event]:
        if any(index.catalog.is_erased(index.require_number(source)) for source in sources):
            raise _SourceErased
        alias_changes.extend(alias_events(index, source_facts.sources, now, by))
        return [
            *_verdict_links(verdicts, {f"new:{place}": memory for place, memory in enumerate(ids)}, by),
            *_source_links(source_facts, facts, ids),
            *_extractions(source_facts, facts, ids),
            *_forgotten_facts(index, source_facts, ids),
            *_invalidations(index, facts, [each.version for each in prepared], now, by),
            *alias_changes,
            *(extra_events(index, ids) if extra_events else ()),
        ]

    try:
        memories = append(engine, space, prepared, extra_events=decide, at=now)
    except _SourceErased:  # its text must not be stored again
        remaining = existing_memories(engine, space, sources)
        again = extract_facts(engine.extractor, remaining, now)
        return store_facts(engine, space, again, now, extra_events=extra_events)
    if alias_changes:
        engine.embed_descriptions(space)
    return memories


def _remaining_facts(
    verdicts: Iterable[Verdict], new: Sequence[Memory], old: Sequence[Sequence[Memory]], facts: Sequence[Fact]
) -> list[Fact]:
    """What still holds of older memories of which the new ones change only a part, as facts of their own."""
    kept: dict[str, Fact] = {}
    for verdict in verdicts:
        older = next((memory for memory in old[verdict.new_index] if memory.id == verdict.old_id), None)
        text = remaining_text(new[verdict.new_index], older) if older and verdict.effect == "updates" else None
        if older is None or text is None:
            continue
        names = [mention for mention in older.mentions if mention.name in text or mention.name == SELF]
        kept[text] = Fact(
            text=text,
            kind=older.kind,
            mentions=tuple(names),
            valid=older.valid,
            importance=older.importance,
            tags=older.tags,
            source_turns=facts[verdict.new_index].source_turns,
        )
    return list(kept.values())


def _known_facts(index: Index, sources: Sequence[Memory], extractor: Extractor) -> list[str] | None:
    """The facts that this extractor found in these sources before; None if it has not read all of them."""
    author = extractor if callable(getattr(extractor, "facts", None)) else RuleExtractor()
    key = (author.name, getattr(author, "model", None), getattr(author, "prompt", None))
    extractions = [index.journal.extraction_by(source.id, key) for source in sources]
    if not all(extractions):
        return None
    return list(dict.fromkeys(fact for extraction in extractions if extraction for fact in extraction.facts))


def _sources_of_abandoned_jobs(engine: Engine, index: Index) -> list[str]:
    positions = [job.position for job in index.journal.jobs.values() if job.status in ("given up", "cancelled")]
    events = (entry.event for entry in engine.ledger.entries_at(positions).values())
    return [source for event in events if isinstance(event, Queued) for source in event.given["memories"]]


def _prepare(index: Index, fact: Fact, source_facts: SourceFacts, now: datetime) -> PreparedVersion:
    """The version a fact becomes; one with the text of its only source is a new version of that source."""
    sources = source_facts.sources_of(fact)
    only = sources[0] if len(sources) == 1 else None
    if only is not None and only.turn is None and normalize_text(only.text) == normalize_text(fact.text):
        version = index.latest_version(only.id)
        if version is not None:
            return prepare_revision(version, fact, now)
    return prepare_fact(fact, now, sources=sources)


def _provisional_memory(place: int, space: str, prepared: PreparedVersion) -> Memory:
    """A memory to compare before it is written, with an id made of its place."""
    version = replace(prepared.version, memory=f"new:{place}")
    entry = Entry(0, prepared.recorded_at, space, "remembered", version.memory, version)
    return memory_from_entry(entry, version, prepared.recorded_at)


def _source_links(source_facts: SourceFacts, facts: Sequence[Fact], ids: Sequence[str]) -> list[Linked]:
    return [
        Linked(new_id(), memory, "derived_from", source.id, observed_by=fact.by or source_facts.result.by)
        for fact, memory in zip(facts, ids, strict=True)
        for source in source_facts.sources_of(fact)
        if source.id != memory
    ]


def _extractions(source_facts: SourceFacts, facts: Sequence[Fact], ids: Sequence[str]) -> list[Extracted]:
    """What was found in each source. A fact that names no source is attributed to all of them."""
    result = source_facts.result
    found: dict[str, dict[str, None]] = {source.id: {} for source in source_facts.sources}
    for fact, memory in zip(facts, ids, strict=True):
        for source in source_facts.sources_of(fact) if fact.source_turns else source_facts.sources:
            found[source.id][memory] = None
    return [
        Extracted(source, result.by, result.model, result.prompt, result.problem, tuple(memories))
        for source, memories in found.items()
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


def _invalidations(
    index: Index, facts: Sequence[Fact], versions: Sequence[Remembered], now: datetime, by: str
) -> list[Invalidated]:
    """The claims that the facts end ("I left Google"), from when the facts are true. A fact ends no claim of a more
    trusted memory, and none if its source is in quarantine."""
    snapshot = index.snapshot(index.catalog.position, now)
    return [
        event
        for fact, version in zip(facts, versions, strict=True)
        if not index.journal.is_quarantined(version)
        for pattern in fact.ended_claims
        for claim in _matching_claims(index, snapshot, pattern)
        for event in invalidation_events(index, snapshot, claim, fact.valid.start or now, fact.text, by)
        if version.trust >= index.relations.trust_of_edge(event.edge)
    ]


def _matching_claims(index: Index, snapshot: Snapshot, pattern: Triple) -> list[Triple]:
    """The claims that a triple means; one with an empty end means every current claim that fits."""
    if pattern.subject and pattern.object:
        return [pattern]
    number = index.names.number(pattern.subject or pattern.object)
    if number is None:
        return []
    names = {index.names.spellings[each] for each in index.registry.same_entity(number, snapshot.position)}
    relations = index.relations.relations_of(number, snapshot, predicates=[pattern.predicate], direction="both")
    return [
        Triple(relation.subject, relation.predicate, relation.object)
        for relation in relations
        if (relation.subject if pattern.subject else relation.object) in names
    ]


def _forgotten_facts(index: Index, source_facts: SourceFacts, ids: Sequence[str]) -> list[Forgotten]:
    """The facts that the last extraction found in these sources and this one did not."""
    sources = {source.id for source in source_facts.sources}
    last = (index.journal.extractions.get(source, [])[-1:] for source in sources)
    earlier = {fact for extractions in last for extraction in extractions for fact in extraction.facts}
    dropped = sorted(earlier - set(ids) - sources)
    why = f"read again by {source_facts.result.by}"
    return [Forgotten(fact, why) for fact in dropped if index.current_row(fact, index.catalog.position) is not None]


def _comparison_candidates(
    index: Index,
    new: Sequence[Memory],
    ended: Sequence[Sequence[Triple]],
    vectors: Mapping[bytes, Vector],
    snapshot: Snapshot,
    sources: Container[str],
    recent: Iterable[int],
) -> tuple[list[list[Memory]], list[list[Memory]]]:
    """For each new memory the memories that it may relate to, including those before it in `new`: the similar ones,
    and a wider choice, for rules and for a reader.

    Turns and other sources are not among them, nor are `sources`: quotations are not superseded.
    """
    near: list[list[Memory]] = []
    wide: list[list[Memory]] = []
    for place, memory in enumerate(new):
        with index.lock:
            scores = _similar_rows(index, memory, vectors.get(text_hash(memory.text)), snapshot)
            scores |= dict.fromkeys(_same_subject_rows(index, (*memory.triples, *ended[place]), snapshot), 1.0)
            for row in recent:
                scores.setdefault(row, _MIN_READ_SIMILARITY)
            rows = [row for row in scores if not index.graph.is_turn(row)]
            older = dict(zip(rows, index.memories(rows), strict=True))
            readable = {m.id for m in index.readable_memories(rows)}
        facts = {
            row: m for row, m in older.items() if m.id in readable and m.id not in sources and _is_fact(index, m.id)
        }
        earlier = [other for other in new[:place] if _share_a_name(memory, other)]
        near.append([*(m for row, m in facts.items() if scores[row] >= _MIN_SIMILARITY), *earlier])
        wide.append([*facts.values(), *earlier])
    return near, wide


def _is_fact(index: Index, memory: str) -> bool:
    """Whether a memory is a fact: not a source of facts, or one that is its own only fact."""
    extractions = index.journal.extractions.get(memory)
    return not extractions or memory in extractions[-1].facts


def _source_turns_of(
    index: Index,
    source_facts: SourceFacts,
    facts: Sequence[Fact],
    new: Sequence[Memory],
    old: Sequence[Sequence[Memory]],
    snapshot: Snapshot,
) -> dict[str, str]:
    """The words that each fact was drawn from, where they are one turn, by the id of the fact."""
    source_turns: dict[str, str] = {}
    for memory, fact in zip(new, facts, strict=True):
        sources = source_facts.sources_of(fact)
        if len(sources) == 1:
            source_turns[memory.id] = sources[0].text
    for memory in {each.id: each for candidates in old for each in candidates}.values():
        number = index.catalog.number(memory.id)
        if number is None:
            continue
        links = index.links.links_of(number, snapshot, kinds=("derived_from",), direction="out")
        row = index.current_row(links[0].target, snapshot.position) if len(links) == 1 else None
        if row is not None:
            source_turns[memory.id] = index.memories([row])[0].text
    return source_turns


def _judge(extractor: Extractor, new: Sequence[Memory], old: Sequence[Sequence[Memory]]) -> list[Verdict]:
    """The extractor's verdicts, without those about memories that were not given to it."""
    if not any(old):
        return []
    ask = getattr(extractor, "judge", None) or RuleExtractor().judge
    candidate_ids = [{memory.id for memory in candidates} for candidates in old]
    return [
        verdict
        for verdict in ask(new, old)
        if 0 <= verdict.new_index < len(new)
        and verdict.old_id in candidate_ids[verdict.new_index]
        and verdict.effect in _LINK_KINDS
    ]


def _verdict_links(verdicts: Sequence[Verdict], ids: Mapping[str, str], by: str) -> list[Linked]:
    """The verdicts as links. `ids` maps the provisional ids of new memories to their final ids."""
    links: dict[tuple[str, str, str], Linked] = {}
    for verdict in verdicts:
        new, old = ids[f"new:{verdict.new_index}"], ids.get(verdict.old_id, verdict.old_id)
        if new != old:
            kind = _LINK_KINDS[verdict.effect]
            link = Linked(new_id(), new, kind, old, observed_by=by, why=verdict.why or None)
            links.setdefault((new, kind, old), link)
    return list(links.values())


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
    earlier one in words that are not similar."""
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
