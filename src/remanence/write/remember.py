"""`remember`: the facts of a text or a conversation as memories.

1. the source is written verbatim (by the caller), so that nothing is lost if a later step fails
2. `extract_facts`: an extractor finds the facts, without holding a lock, because a model may be slow
3. `fact_comparison`: whether the facts update, extend or contradict older memories
4. `store_facts`: facts, links to sources and older memories, and the extraction itself, in one transaction; older
   entries stay as they are
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import groupby
from typing import TYPE_CHECKING

from remanence.core.embedding import embed_descriptions
from remanence.core.identity import new_id
from remanence.core.index import Index, memory_from_entry
from remanence.errors import NotFound
from remanence.events import Event, Extracted, Forgotten, Invalidated, Linked, Queued
from remanence.graph.assertions import backdated_invalidation_events, invalidation_events
from remanence.language.fact_extraction.rule_extractor import RuleExtractor
from remanence.language.fact_extraction.verdict_rules import claims_ended_before_told
from remanence.language.text import normalize_text
from remanence.models.extractors import model_and_prompt
from remanence.ports import FactExtractor, RelationReader
from remanence.schema import Entry, ExtractionResult, Fact, Memory, Snapshot, Triple, Utterance, Verdict, Window
from remanence.state.edges.claims import claim_id
from remanence.write.alias_detection import alias_events
from remanence.write.append import ExtraEvents, append
from remanence.write.fact_comparison import (
    LINK_KINDS,
    ComparisonCandidates,
    NewFact,
    compare_facts,
    find_candidates,
    remaining_facts,
)
from remanence.write.prepare import prepare_fact, prepare_revision

if TYPE_CHECKING:
    from remanence.core.engine import Engine
    from remanence.ports import Extractor, Progress

log = logging.getLogger(__name__)

_BATCH = 200  # turns that are read, judged and written at once


@dataclass(frozen=True, slots=True)
class SourceFacts:
    """Some sources, and the result of an extractor for them. `Fact.source_turns` are indexes of `sources`."""

    sources: tuple[Memory, ...]
    result: ExtractionResult

    @property
    def facts(self) -> list[Fact]:
        """The facts that have a text."""
        return [fact for fact in self.result.facts if normalize_text(fact.text)]

    def sources_of(self, fact: Fact) -> list[Memory]:
        """The sources that a fact names."""
        return [self.sources[number] for number in fact.source_turns if number < len(self.sources)]


def remember(
    engine: Engine, space: str, sources: Sequence[Memory], now: datetime, progress: Progress | None = None
) -> list[Memory]:
    """The facts of these sources as memories. Sources that the same extractor has read are not read again, unless one
    of their facts was forgotten since. Such a fact is then restored."""
    batches = [sources[begin : begin + _BATCH] for begin in range(0, len(sources), _BATCH)]
    return _remember_batches(engine, space, batches, now, progress, reuse_extractions=True)


def reextract(
    engine: Engine, space: str, memory_id: str | None, now: datetime, progress: Progress | None = None
) -> list[Memory]:
    """Read one source again, or all of them, each conversation at once, including the sources of abandoned jobs."""
    with engine.open_index(space) as index:
        ids = list(dict.fromkeys((*index.journal.extractions, *_sources_of_abandoned_jobs(engine, index))))
    if memory_id is not None and memory_id not in ids:
        raise NotFound(f"memory {memory_id!r} is not a source that remember() stored in space {space!r}.")
    sources = existing_memories(engine, space, [memory_id] if memory_id else ids)
    groups = groupby(sources, key=lambda m: ("memory", m.id) if m.turn is None else ("turn", m.turn.conversation))
    return _remember_batches(
        engine, space, [list(group) for _, group in groups], now, progress, reuse_extractions=False
    )


def _remember_batches(
    engine: Engine,
    space: str,
    batches: Sequence[Sequence[Memory]],
    now: datetime,
    progress: Progress | None,
    *,
    reuse_extractions: bool,
) -> list[Memory]:
    """The facts of some batches of sources. With `reuse_extractions`, those of an earlier extraction are returned."""
    facts: dict[str, Memory] = {}
    done, total = 0, sum(map(len, batches))
    for batch in batches:
        with engine.open_index(space) as index:
            extracted = _extracted_facts(index, batch, engine.extractor) if reuse_extractions else None
        memories = [] if extracted is None else existing_memories(engine, space, extracted)
        if extracted is None or len(memories) < len(extracted):  # a forgotten fact that is remembered again is restored
            with engine.use_date_order_of(space, [memory.text for memory in batch]):
                source_facts = extract_facts(engine.extractor, batch, now)
            memories = store_facts(engine, space, source_facts, now)
        facts |= {memory.id: memory for memory in memories}
        done += len(batch)
        if progress is not None:
            progress(done, total)
    return list(facts.values())


def existing_memories(engine: Engine, space: str, ids: Iterable[str]) -> list[Memory]:
    """The memories with these ids, without those that are hidden."""
    with engine.open_index(space) as index:
        return index.visible_memories(ids, index.catalog.position)


def extract_facts(extractor: Extractor, sources: Sequence[Memory], now: datetime) -> SourceFacts:
    """The facts in these memories. If the extractor fails, the rules are used."""
    utterances = _to_utterances(sources, now)
    try:
        result = _fact_extractor(extractor).facts(utterances, now=now)
    except Exception as error:  # noqa: BLE001  -- the extractor is the caller's code and may raise anything
        log.warning("the extractor failed, so the rules are used: %s", error)
        result = replace(RuleExtractor().facts(utterances, now=now), problem=f"{type(error).__name__}: {error}")
    return SourceFacts(tuple(sources), result)


def _to_utterances(sources: Sequence[Memory], now: datetime | None = None) -> list[Utterance]:
    return [
        Utterance(m.text, m.turn.speaker if m.turn else m.observed_by, (m.turn.at if m.turn else None) or now)
        for m in sources
    ]


class _SourceErased(Exception):
    """A source was erased while its facts were extracted."""


def store_facts(
    engine: Engine, space: str, source_facts: SourceFacts, now: datetime, *, extra_events: ExtraEvents | None = None
) -> list[Memory]:
    """Write the facts, linked to their sources and to older memories.

    Facts that only an earlier extraction found in the same sources are forgotten. `extra_events` may add events to the
    same transaction, or raise to write nothing.
    """
    while True:
        try:
            return _compare_and_store(engine, space, source_facts, now, extra_events)
        except _SourceErased:  # its text must not be stored again
            remaining = existing_memories(engine, space, [source.id for source in source_facts.sources])
            source_facts = extract_facts(engine.extractor, remaining, now)


def _compare_and_store(
    engine: Engine, space: str, source_facts: SourceFacts, now: datetime, extra_events: ExtraEvents | None
) -> list[Memory]:
    source_ids = {source.id for source in source_facts.sources}
    statements = _turns_without_facts(engine, source_facts)
    with engine.open_index(space) as index:
        facts = [*source_facts.facts, *statements]
        new = [_new_fact(index, number, fact, source_facts, now) for number, fact in enumerate(facts)]
        snapshot = index.snapshot(index.catalog.position, now)
        candidates = find_candidates(engine, index, new, source_ids, snapshot)
    whole_turns = range(len(new) - len(statements), len(new))
    verdicts = compare_facts(engine, new, candidates, whole_turns)
    # Turns without facts that update no older fact either are not kept.
    idle = set(whole_turns) - {verdict.new_index for verdict in verdicts if verdict.effect == "updates"}
    idle_ids = {new[number].memory.id for number in idle}
    verdicts = [verdict for verdict in verdicts if verdict.new_index not in idle and verdict.old_id not in idle_ids]
    remaining = remaining_facts(engine.reader, verdicts, new, candidates)
    with engine.open_index(space) as index:
        for fact in remaining:
            new.append(_new_fact(index, len(new), fact, source_facts, now))
    compared, new = new, [new_memory for number, new_memory in enumerate(new) if number not in idle]
    aliases: list[Event] = []

    def decide(index: Index, ids: Sequence[str]) -> list[Event]:
        if any(index.catalog.hidden.is_erased(index.require_number(source)) for source in source_ids):
            raise _SourceErased
        by = source_facts.result.by
        final_ids = {new_memory.memory.id: id_ for new_memory, id_ in zip(new, ids, strict=True)}
        aliases[:] = alias_events(index, source_facts.sources, now, by)
        return [
            *_verdict_links(verdicts, compared, candidates, final_ids, by),
            *_source_links(new, ids, by),
            *_extractions(source_facts, new, ids),
            *_forgotten_facts(index, source_facts, ids),
            *_invalidations(index, new, now, by),
            *_backdated_invalidations(index, verdicts, compared, candidates, final_ids, now, by),
            *aliases,
            *(extra_events(index, ids) if extra_events else ()),
        ]

    memories = append(engine, space, [new_memory.prepared for new_memory in new], extra_events=decide, at=now)
    if aliases:
        embed_descriptions(engine, space)
    return memories


def _turns_without_facts(engine: Engine, source_facts: SourceFacts) -> list[Fact]:
    """The turns in which the rules found no fact, as statements for the reader to compare with older facts."""
    reader, by = engine.reader, source_facts.result.by
    if reader is None or not isinstance(reader, RelationReader) or by != RuleExtractor.name:
        return []
    return RuleExtractor().statements(_to_utterances(source_facts.sources), source_facts.facts)


def _new_fact(index: Index, number: int, fact: Fact, source_facts: SourceFacts, now: datetime) -> NewFact:
    """A fact with the version it becomes; one with the text of its only source is a new version of that source."""
    sources = source_facts.sources_of(fact)
    only = sources[0] if len(sources) == 1 else None
    prepared = None
    if only is not None and only.turn is None and normalize_text(only.text) == normalize_text(fact.text):
        version = index.latest_version(only.id)
        prepared = None if version is None else prepare_revision(version, fact, now)
    prepared = prepared or prepare_fact(fact, now, sources=sources)
    provisional = replace(prepared.version, memory=f"new:{number}")
    entry = Entry(0, prepared.recorded_at, index.space, "remembered", provisional.memory, provisional)
    return NewFact(fact, prepared, memory_from_entry(entry, provisional, prepared.recorded_at), sources)


def _fact_extractor(extractor: Extractor) -> FactExtractor:
    return extractor if isinstance(extractor, FactExtractor) else RuleExtractor()


def _extracted_facts(index: Index, sources: Sequence[Memory], extractor: Extractor) -> list[str] | None:
    """The facts that this extractor found in these sources before; None if it has not read all of them."""
    author = _fact_extractor(extractor)
    key = (author.name, *model_and_prompt(author))
    extractions = [index.journal.extraction_by(source.id, key) for source in sources]
    if not all(extractions):
        return None
    return list(dict.fromkeys(fact for extraction in extractions if extraction for fact in extraction.facts))


def _sources_of_abandoned_jobs(engine: Engine, index: Index) -> list[str]:
    positions = [job.position for job in index.journal.jobs.values() if job.status in ("given up", "cancelled")]
    events = (entry.event for entry in engine.ledger.entries_at(positions).values())
    return [source for event in events if isinstance(event, Queued) for source in event.given["memories"]]


def _source_links(new: Sequence[NewFact], ids: Sequence[str], by: str) -> list[Linked]:
    return [
        Linked(new_id(), memory, "derived_from", source.id, observed_by=new_memory.fact.by or by)
        for new_memory, memory in zip(new, ids, strict=True)
        for source in new_memory.sources
        if source.id != memory
    ]


def _extractions(source_facts: SourceFacts, new: Sequence[NewFact], ids: Sequence[str]) -> list[Extracted]:
    """The facts of each source. A fact that names no source is attributed to all of them."""
    result = source_facts.result
    facts_of: dict[str, dict[str, None]] = {source.id: {} for source in source_facts.sources}
    for new_memory, memory in zip(new, ids, strict=True):
        for source in new_memory.sources if new_memory.fact.source_turns else source_facts.sources:
            facts_of[source.id][memory] = None
    return [
        Extracted(source, result.by, result.model, result.prompt, result.problem, tuple(memories))
        for source, memories in facts_of.items()
    ]


def _invalidations(index: Index, new: Sequence[NewFact], now: datetime, observed_by: str) -> list[Invalidated]:
    """The claims that the facts end ("I left Google"), from when the facts are true. A fact ends no claim of a more
    trusted memory, and none if its source is in quarantine."""
    snapshot = index.snapshot(index.catalog.position, now)
    return [
        event
        for fact, prepared, _, _ in new
        if not index.journal.is_quarantined(prepared.version)
        for pattern in fact.ended_claims
        for claim in _matching_claims(index, snapshot, pattern)
        for event in invalidation_events(index, snapshot, claim, fact.valid.start or now, fact.text, observed_by)
        if prepared.version.trust >= index.relations.trust_of_edge(event.edge)
    ]


def _backdated_invalidations(
    index: Index,
    verdicts: Iterable[Verdict],
    compared: Sequence[NewFact],
    candidates: ComparisonCandidates,
    ids: Mapping[str, str],
    now: datetime,
    by: str,
) -> list[Invalidated]:
    """The ends of undated claims that had been replaced when they were stated: "I live in Ghent", and then "I moved to
    Bruges last month". Without them the claim that begins later would replace the one that replaces it.
    `ids` maps the provisional ids of new memories to their final ids."""
    snapshot = index.snapshot(index.catalog.position, now)
    events: dict[str, Invalidated] = {}
    for verdict in verdicts:
        memory = compared[verdict.new_index].memory
        older = candidates.older(verdict)
        until = memory.valid.start
        if verdict.effect != "updates" or older is None or until is None:
            continue
        for claim in claims_ended_before_told(memory, older):
            invalidations = backdated_invalidation_events(index, snapshot, claim, until, memory.text, by)
            if older.id in ids:  # it is written in this transaction, so the index does not have it yet
                edge = claim_id(ids[older.id], claim)
                invalidations.append(Invalidated(edge, until, memory.text, by))
            trusted = [event for event in invalidations if memory.trust >= index.relations.trust_of_edge(event.edge)]
            events |= {event.edge: event for event in trusted}
    return list(events.values())


def _matching_claims(index: Index, snapshot: Snapshot, pattern: Triple) -> list[Triple]:
    """The claims that a triple means; one with an empty end means every current claim that fits."""
    if pattern.subject and pattern.object:
        return [pattern]
    number = index.names.number(pattern.subject or pattern.object)
    if number is None:
        return []
    names = {
        index.names.spellings[name_number]
        for name_number in index.registry.names_of_same_entity(number, snapshot.position)
    }
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


def _verdict_links(
    verdicts: Sequence[Verdict],
    compared: Sequence[NewFact],
    candidates: ComparisonCandidates,
    ids: Mapping[str, str],
    by: str,
) -> list[Linked]:
    """The verdicts as links. `ids` maps the provisional ids of new memories to their final ids."""
    links: dict[tuple[str, str, str], Linked] = {}
    for verdict in verdicts:
        new, old = ids[f"new:{verdict.new_index}"], ids.get(verdict.old_id, verdict.old_id)
        if new != old:
            kind = LINK_KINDS[verdict.effect]
            older = candidates.older(verdict)
            valid = Window() if older is None else _replacement_window(compared[verdict.new_index].memory, older)
            link = Linked(new_id(), new, kind, old, valid, observed_by=by, why=verdict.why or None)
            links.setdefault((new, kind, old), link)
    return list(links.values())


def _replacement_window(new: Memory, old: Memory) -> Window:
    """When a memory takes the place of another: at once, or when it begins. Until "In June I move to Oslo" comes true,
    "I live in Rome" is true. What is itself to come is replaced at once, as an appointment that is moved."""
    start, old_start = new.valid.start, old.valid.start
    if start is None or start <= new.told_at or new.kind == "episode":  # a funeral is held after the end
        return Window()
    return Window(start) if old_start is None or old_start <= new.told_at else Window()
