"""A conversation to memories that stay true: what `remember` does.

keep        the source, verbatim, first of all: whatever happens next, nothing is lost
read        what it tells, by a model or by rule (slow, so with nothing held)
judge       what that means for what was known before
write       facts, their ties to source and to older memories, and whose opinion it was: one transaction
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import groupby
from typing import TYPE_CHECKING

from remanence.core.identity import new_id
from remanence.core.index import Index, memory_from_entry
from remanence.errors import NotFound
from remanence.events import Event, Extracted, Forgotten, Invalidated, Linked, Queued
from remanence.graph.assertions import invalidation_events
from remanence.language.rules.rule_extractor import RuleExtractor
from remanence.language.text import normalize_text
from remanence.schema import Entry, ExtractionResult, Fact, Memory, Snapshot, Triple, Utterance
from remanence.write.append import append
from remanence.write.evolve import comparison_candidates, judge, verdict_links
from remanence.write.extract import PreparedVersion, prepare_fact, prepare_revision

if TYPE_CHECKING:
    from remanence.core.engine import Engine
    from remanence.ports import Extractor, Progress

log = logging.getLogger(__name__)

_STRETCH = 200
"""How many turns are read, judged and written at once."""

Settled = Callable[[Index, Sequence[str]], Sequence[Event]]


@dataclass(frozen=True, slots=True)
class Reading:
    """What an extractor told about some sources."""

    sources: tuple[Memory, ...]
    result: ExtractionResult


def remember(
    engine: Engine, space: str, sources: Sequence[Memory], now: datetime, progress: Progress | None = None
) -> list[Memory]:
    """What these sources tell, as memories. The same extractor is not asked about the same ones twice.

    A long conversation is read and written a stretch at a time.
    """
    out: dict[str, Memory] = {}
    for begin in range(0, len(sources), _STRETCH):
        stretch = sources[begin : begin + _STRETCH]
        out |= {memory.id: memory for memory in _remember(engine, space, stretch, now)}
        if progress is not None:
            progress(begin + len(stretch), len(sources))
    return list(out.values())


def _remember(engine: Engine, space: str, sources: Sequence[Memory], now: datetime) -> list[Memory]:
    with engine.open_index(space) as index:
        told = known(index, sources, author(engine.extractor))
    if told is not None:
        found = (engine.get(space, memory, None) for memory in told)
        return [memory for memory in found if memory is not None]
    return store_facts(engine, space, extract_facts(engine.extractor, sources, now), now)


def reextract(
    engine: Engine, space: str, memory_id: str | None, now: datetime, progress: Progress | None = None
) -> list[Memory]:
    """Read one source again, or all, conversation by conversation; also what a job gave up reading."""
    with engine.open_index(space) as index:
        every = list(dict.fromkeys((*index.journal.extractions, *_unread(engine, index))))
    if memory_id is not None and memory_id not in every:
        raise NotFound(f"memory {memory_id!r} is not a source that remember() kept in space {space!r}.")
    shown = (engine.get(space, source, None) for source in ([memory_id] if memory_id else every))
    sources = [source for source in shown if source is not None]
    out: dict[str, Memory] = {}
    done = 0
    for _, run in groupby(sources, key=_conversation):
        group = list(run)
        out |= {
            memory.id: memory for memory in store_facts(engine, space, extract_facts(engine.extractor, group, now), now)
        }
        done += len(group)
        if progress is not None:
            progress(done, len(sources))
    return list(out.values())


def _unread(engine: Engine, index: Index) -> list[str]:
    """The sources of jobs that were given up."""
    lines = engine.ledger.entries_at([job.position for job in index.journal.jobs.values() if job.status == "given up"])
    queued = (entry.event for entry in lines.values())
    return [source for event in queued if isinstance(event, Queued) for source in event.given["memories"]]


def extract_facts(extractor: Extractor, sources: Sequence[Memory], now: datetime) -> Reading:
    """What these memories tell. An extractor that fails costs its opinion: the rules give theirs."""
    said = [
        Utterance(m.text, m.turn.speaker if m.turn else m.observed_by, (m.turn.at if m.turn else None) or now)
        for m in sources
    ]
    asked = getattr(extractor, "facts", None) or RuleExtractor().facts
    try:
        found = asked(said, now=now)
    except Exception as error:  # noqa: BLE001  -- it is the caller's code, and anything may come out of it
        log.warning("the extractor failed, so the rules read this: %s", error)
        found = replace(RuleExtractor().facts(said, now=now), problem=f"{type(error).__name__}: {error}")
    return Reading(tuple(sources), found)


def author(extractor: Extractor) -> tuple[str, str | None, str | None]:
    """Whose opinion an extractor's is: its name, its model, the version of its prompt."""
    if not callable(getattr(extractor, "facts", None)):
        extractor = RuleExtractor()
    return extractor.name, getattr(extractor, "model", None), getattr(extractor, "prompt", None)


def store_facts(
    engine: Engine, space: str, reading: Reading, now: datetime, *, extra_events: Settled | None = None
) -> list[Memory]:
    """Keep what was read, tied to its sources and to what it means for older memories.

    What the same sources were thought to tell before, and now are not, is forgotten: history keeps it.
    `also` may add lines to the same transaction, or raise to write nothing.
    """
    facts = [fact for fact in reading.result.facts if normalize_text(fact.text)]
    with engine.open_index(space) as index:
        prepared = [_prepared(index, fact, reading, now) for fact in facts]
        sight = index.snapshot(index.catalog.position, now)
        vectors, _ = engine.embed([p.version.text for p in prepared])
        new = [_as_new(place, space, p) for place, p in enumerate(prepared)]
        old = comparison_candidates(index, new, vectors, sight, {source.id for source in reading.sources})
    verdicts = judge(engine.extractor, new, old)

    def decide(index: Index, ids: Sequence[str]) -> list[Event]:
        by = reading.result.by
        names = {f"new:{place}": memory for place, memory in enumerate(ids)}
        lines: list[Event] = []
        lines += verdict_links(verdicts, names, by)
        lines += _derived(reading, facts, ids, by)
        lines += _opinions(reading, facts, ids)
        lines += _retracted(index, reading, ids)
        lines += _ended(index, facts, now, by)
        return [*lines, *(extra_events(index, ids) if extra_events else ())]

    return append(engine, space, prepared, extra_events=decide, at=now)


def known(index: Index, sources: Sequence[Memory], by: tuple[str, str | None, str | None]) -> list[str] | None:
    """The facts that this author found in these very sources before; None if it was not asked about all."""
    told = [index.journal.extraction_by(source.id, by) for source in sources]
    if not all(told):
        return None
    return list(dict.fromkeys(fact for opinion in told if opinion for fact in opinion.facts))


def _prepared(index: Index, fact: Fact, reading: Reading, now: datetime) -> PreparedVersion:
    """The version a fact becomes; one that says just what its source says is a better version of that."""
    sources = [reading.sources[place] for place in fact.source_turns if place < len(reading.sources)]
    only = sources[0] if len(sources) == 1 else None
    if only is not None and only.turn is None and normalize_text(only.text) == normalize_text(fact.text):
        version = index.latest_version(only.id)
        if version is not None:
            return prepare_revision(version, fact, now)
    return prepare_fact(fact, now, source=sources[0] if sources else None)


def _conversation(source: Memory) -> str:
    return source.id if source.turn is None else f"of {source.turn.conversation}"


def _as_new(place: int, space: str, prepared: PreparedVersion) -> Memory:
    version = replace(prepared.version, memory=f"new:{place}")
    entry = Entry(0, prepared.recorded_at, space, "remembered", version.memory, version)
    return memory_from_entry(entry, version, prepared.recorded_at)


def _derived(reading: Reading, facts: Sequence[Fact], ids: Sequence[str], by: str) -> list[Linked]:
    return [
        Linked(new_id(), memory, "derived_from", reading.sources[place].id, observed_by=by)
        for fact, memory in zip(facts, ids, strict=True)
        for place in fact.source_turns
        if place < len(reading.sources) and reading.sources[place].id != memory
    ]


def _opinions(reading: Reading, facts: Sequence[Fact], ids: Sequence[str]) -> list[Extracted]:
    found = reading.result
    told: dict[str, list[str]] = {source.id: [] for source in reading.sources}
    for fact, memory in zip(facts, ids, strict=True):
        for place in fact.source_turns or range(len(reading.sources)):
            if place < len(reading.sources):
                told[reading.sources[place].id].append(memory)
    return [
        Extracted(source, found.by, found.model, found.prompt, found.problem, tuple(dict.fromkeys(memories)))
        for source, memories in told.items()
    ]


def _ended(index: Index, facts: Sequence[Fact], now: datetime, by: str) -> list[Invalidated]:
    """What the facts say holds no longer ("I left Google") ends where they begin, whoever said it."""
    sight = index.snapshot(index.catalog.position, now)
    return [
        line
        for fact in facts
        for left in fact.ended_claims
        for claim in _meant(index, sight, left)
        for line in invalidation_events(index, sight, claim, fact.valid.start or now, fact.text, by)
    ]


def _meant(index: Index, sight: Snapshot, claim: Triple) -> list[Triple]:
    """The claims that an ended one stands for: where an end of it is empty, whatever holds."""
    if claim.subject and claim.object:
        return [claim]
    number = index.names.number(claim.subject or claim.object)
    if number is None:
        return []
    same = {index.names.spellings[each] for each in index.registry.same_entity(number, sight.position)}
    held = index.relations.relations_of(number, sight, predicates=[claim.predicate], direction="both")
    return [
        Triple(relation.subject, relation.predicate, relation.object)
        for relation in held
        if (relation.subject if claim.subject else relation.object) in same
    ]


def _retracted(index: Index, reading: Reading, ids: Sequence[str]) -> list[Forgotten]:
    """What these sources were thought to tell, and now are not."""
    sources = {source.id for source in reading.sources}
    earlier = {
        fact
        for source in sources
        for opinion in index.journal.extractions.get(source, [])[-1:]
        for fact in opinion.facts
    }
    gone = earlier - set(ids) - sources
    why = f"read again by {reading.result.by}"
    now = index.catalog.position
    return [Forgotten(fact, why) for fact in sorted(gone) if index.current_row(fact, now) is not None]
