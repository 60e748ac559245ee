"""`remember`: a text or a conversation, kept as it was said; with a language model also the facts in it.

The source is written verbatim by the caller, so that nothing is lost if a later step fails. Without a language model
that is all. With one:

1. `find_known_facts`: the stored facts that the conversation may end, replace, confirm or add to
2. `extract_facts`: the model reads the conversation with them, in one call, without a lock, because it may be slow
3. `store_facts`: facts, links to sources and known facts, and the extraction itself, in one transaction; older entries
   stay as they are
"""

from __future__ import annotations

import logging
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from itertools import groupby, zip_longest
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from remanence.errors import NotFound
from remanence.events import Event, Extracted, Forgotten, Invalidated, Linked, Queued, Spent, Worked
from remanence.graph.assertions import invalidation_events
from remanence.hooks import step
from remanence.index.claims.claims import claim_id
from remanence.index.engine.embedding import embed, embed_descriptions
from remanence.index.engine.identity import new_id
from remanence.index.index import Index
from remanence.index.journal import JobStatus
from remanence.index.numbers import Row
from remanence.models.extractors import model_and_prompt
from remanence.models.llm_clients import is_refused
from remanence.models.llm_source import USER_LABEL
from remanence.ports import FactExtractor
from remanence.remember.alias_detection import alias_events
from remanence.remember.append import ExtraEvents, append
from remanence.remember.prepare import PreparedVersion, prepare_fact, prepare_revision
from remanence.remember.unread_turns import VERBATIM, failed_turns, is_read, unread_turns, utc_day
from remanence.schema import (
    MEMORY_KINDS,
    PLAN_TAG,
    PROCEDURE,
    ExtractionResult,
    Fact,
    FactEffect,
    FoundFacts,
    LinkKind,
    Memory,
    Query,
    Snapshot,
    Triple,
    Utterance,
    Window,
    micros,
)
from remanence.text.text import normalize_text, text_hash, tokens

if TYPE_CHECKING:
    from remanence.index.engine.engine import Engine
    from remanence.ports import Extractor, Progress, Signal, Vector

log = logging.getLogger(__name__)

BATCH = 200
_LINK_OF: dict[str, LinkKind] = {"confirms": "supports", "extends": "extends", "contradicts": "contradicts"}
MIN_SIMILARITY = 0.3
"""The least cosine of a fact and a known one that it ends or replaces, if they share no word. Of 94 such pairs of
strangers' chats 2 have less by the default embedder, and 50 of 435 that were drawn by chance."""


@dataclass(frozen=True, slots=True)
class SourceFacts:
    """Some sources, the known facts that they were read with, and the result of the extractor. `Fact.source_turns` are
    indexes of `sources`, `FactEffect.known_index` one of `known`."""

    sources: tuple[Memory, ...]
    known: tuple[Memory, ...]
    result: ExtractionResult

    @property
    def has_failed(self) -> bool:
        """Whether nothing was read, and another call may succeed."""
        return self.result.problem is not None and not self.result.answered and not self.result.facts

    @property
    def unread(self) -> set[str]:
        """The ids of the sources that were not read."""
        turns = range(len(self.sources)) if self.has_failed else self.result.unread
        return {self.sources[turn].id for turn in turns}

    @property
    def facts(self) -> list[Fact]:
        """The facts that have a text."""
        return [fact for fact in self.result.facts if normalize_text(fact.text)]

    def sources_of(self, fact: Fact) -> list[Memory]:
        """The sources that a fact names."""
        return [self.sources[number] for number in fact.source_turns if 0 <= number < len(self.sources)]

    def effects_of(self, fact: Fact) -> list[tuple[Memory, FactEffect]]:
        """The known facts that a fact has an effect on. An index of none of them is ignored: a model may invent it."""
        return [
            (self.known[effect.known_index], effect)
            for effect in fact.effects
            if 0 <= effect.known_index < len(self.known)
        ]


def remember(
    engine: Engine, space: str, sources: Sequence[Memory], now: datetime, progress: Progress | None = None
) -> FoundFacts:
    """What is remembered of these sources: the facts in them, or without a language model the sources themselves.

    Sources that the same extractor has read are not read again, unless one of their facts was forgotten since. Such a
    fact is then restored. Turns before them in their chats that a model failed to read are read with them.
    """
    if not isinstance(engine.extractor, FactExtractor):
        add_aliases(engine, space, sources, now)
        if progress is not None:
            progress(len(sources), len(sources))
        return FoundFacts(sources)
    sources = with_failed_turns(engine, space, sources)
    batches = [sources[begin : begin + BATCH] for begin in range(0, len(sources), BATCH)]
    return _remember_batches(engine, space, batches, now, progress, reuse_extractions=True)


def reextract(
    engine: Engine, space: str, memory_id: str | None, now: datetime, progress: Progress | None = None
) -> FoundFacts:
    """Read one source again, or all of them, each conversation at once, including the sources of abandoned jobs.

    Without a language model the facts that were written for them are forgotten: the sources themselves stay.
    """
    with engine.open_index(space) as index:
        abandoned = sources_of_jobs(engine, index, ("given up", "cancelled"))
        ids = list(dict.fromkeys((*index.journal.extractions, *abandoned)))
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
) -> FoundFacts:
    """The facts of some batches of sources. With `reuse_extractions`, those of an earlier extraction are returned."""
    facts: dict[str, Memory] = {}
    problems: dict[str, None] = {}
    is_whole = True
    done, total = 0, sum(map(len, batches))
    for batch in batches:
        with engine.open_index(space) as index:
            extracted = _extracted_facts(index, batch, engine.extractor) if reuse_extractions else None
        memories = [] if extracted is None else existing_memories(engine, space, extracted)
        if extracted is None or len(memories) < len(extracted):  # a forgotten fact that is remembered again is restored
            found = extract_facts(engine, space, batch, now)
            memories = store_facts(engine, space, found, now, extra_events=partial(_given_up_job, engine, found, now))
            problems |= {found.result.problem: None} if found.result.problem else {}
            if found.unread:
                is_whole = False
                report_given_up(engine, space, found.result.problem or "")
        facts |= {memory.id: memory for memory in memories}
        done += len(batch)
        if progress is not None:
            progress(done, total)
    return FoundFacts(facts.values(), "done" if is_whole else "given up", " ".join(problems) or None)


def _given_up_job(engine: Engine, found: SourceFacts, now: datetime, index: Index, ids: Sequence[str]) -> list[Event]:
    """The record of what was not read, among the jobs."""
    if not found.unread:
        return []
    job, given = new_id(), {"memories": [s.id for s in found.sources if s.id in found.unread], "now": micros(now)}
    return [Queued(job, "remember", given), Worked(job, "given up", problem=found.result.problem)]


@step("give up")
def report_given_up(engine: Engine, space: str, problem: str) -> None:
    """Say in the log, and to whoever follows the steps, that turns were not read and no further try is planned."""
    log.error("facts of space %r were given up: %s", space, problem)


def with_failed_turns(engine: Engine, space: str, sources: Sequence[Memory]) -> list[Memory]:
    """These sources, after the turns of their chats that a model failed to read."""
    chats = dict.fromkeys(source.turn.conversation for source in sources if source.turn is not None)
    own = {source.id for source in sources}
    with engine.open_index(space) as index:
        failed = [turn for chat in chats for turn in failed_turns(index, chat) if turn not in own][:BATCH]
    return [*existing_memories(engine, space, failed), *sources]


def existing_memories(engine: Engine, space: str, ids: Iterable[str]) -> list[Memory]:
    """The memories with these ids, without those that are hidden."""
    with engine.open_index(space) as index:
        return index.visible_memories(ids, index.catalog.position)


def extract_facts(engine: Engine, space: str, sources: Sequence[Memory], now: datetime) -> SourceFacts:
    """The facts in these memories, by the language model of the engine. Without one, or if it fails, there are none,
    and the result says why."""
    extractor = engine.extractor
    if not isinstance(extractor, FactExtractor):
        return SourceFacts(tuple(sources), (), ExtractionResult(by=VERBATIM, answered=True))
    known = find_known_facts(engine, space, sources, now)
    utterances = [_as_utterance(source, now) for source in sources]
    before = [_as_utterance(turn, now) for turn in _turns_before(engine, space, sources)]
    try:
        with engine.use_date_order_of(space, [memory.text for memory in sources]):
            result = extractor.facts(utterances, now=now, known=known, before=before)
    except Exception as error:  # noqa: BLE001  -- the extractor is the caller's code and may raise anything
        log.warning("the extractor failed, so no facts are written: %s", error)
        problem = f"{type(error).__name__}: {error}"
        result = ExtractionResult(by=extractor.name, problem=problem, refused=is_refused(error))
    return SourceFacts(tuple(sources), tuple(known), result)


def _as_utterance(memory: Memory, now: datetime) -> Utterance:
    turn = memory.turn
    return Utterance(memory.text, turn.speaker if turn else memory.observed_by, (turn.at if turn else None) or now)


def _turns_before(engine: Engine, space: str, sources: Sequence[Memory]) -> list[Memory]:
    """The visible turns before the first of these sources in its conversation, in order."""
    if not sources or sources[0].turn is None:
        return []
    with engine.open_index(space) as index, index.lock:
        row: Row | None = index.current_row(sources[0].id, index.catalog.position)
        rows: list[Row] = []
        while row is not None and row >= 0 and len(rows) <= 4:
            rows.append(row)
            [row] = index.graph.previous_turns([row])
        ids = [index.catalog.ids[index.catalog.memory_of(row)] for row in reversed(rows[1:])]
        return index.visible_memories(ids, index.catalog.position)


class _SourceErased(Exception):
    """A source was erased while its facts were extracted."""


def store_facts(
    engine: Engine,
    space: str,
    source_facts: SourceFacts,
    now: datetime,
    *,
    job: str | None = None,
    extra_events: ExtraEvents | None = None,
) -> list[Memory]:
    """Write the facts, linked to their sources and to the known facts that they end, replace, confirm or add to.

    Facts that only an earlier extraction found in the same sources are forgotten. The tokens of the model are recorded
    for the `job`. `extra_events` may add events to the same transaction, or raise to write nothing.
    """
    while True:
        spent = spent_events(engine, source_facts, job)

        def events(index: Index, ids: Sequence[str], spent: Sequence[Event] = spent) -> list[Event]:
            return [*spent, *(extra_events(index, ids) if extra_events else ())]

        try:
            return _store_facts(engine, space, source_facts, now, events)
        except _SourceErased:  # its text must not be stored again
            remaining = existing_memories(engine, space, [source.id for source in source_facts.sources])
            again = extract_facts(engine, space, remaining, now)
            usage = source_facts.result.usage + again.result.usage
            source_facts = replace(again, result=replace(again.result, usage=usage))


def spent_events(engine: Engine, source_facts: SourceFacts, job: str | None) -> list[Spent]:
    """The record of the tokens that these facts cost, if a model was asked."""
    usage, model = source_facts.result.usage, model_and_prompt(engine.extractor)[0]
    if not usage.calls:
        return []
    return [Spent(job or new_id(), model, utc_day(engine.now()), usage.calls, usage.tokens_in, usage.tokens_out)]


def _store_facts(
    engine: Engine, space: str, source_facts: SourceFacts, now: datetime, extra_events: ExtraEvents
) -> list[Memory]:
    source_ids = {source.id for source in source_facts.sources}
    source_facts = _without_doubtful_ends(engine, space, source_facts)
    facts = source_facts.facts
    with engine.open_index(space) as index:
        prepared = [_prepare(index, fact, source_facts, now) for fact in facts]
    aliases: list[Event] = []

    def decide(index: Index, ids: Sequence[str]) -> list[Event]:
        if any(index.catalog.hidden.is_erased(index.require_number(source)) for source in source_ids):
            raise _SourceErased
        by = source_facts.result.by
        aliases[:] = alias_events(index, source_facts.sources, now, by)
        return [
            *_effect_events(index, source_facts, prepared, ids, now),
            *_source_links(source_facts, ids, by),
            *_confirmations(source_facts),
            *_extractions(index, source_facts, ids),
            *_forgotten_facts(index, source_facts, ids),
            *aliases,
            *extra_events(index, ids),
        ]

    memories = append(engine, space, prepared, extra_events=decide, at=now)
    if aliases:
        embed_descriptions(engine, space)
    return memories


def add_aliases(engine: Engine, space: str, sources: Sequence[Memory], now: datetime) -> None:
    """Register the other names that these sources give people: "Katherine Holm, whom everyone calls Katie"."""
    written = engine.write(space, lambda index: alias_events(index, sources, now, VERBATIM), now)
    if written:
        embed_descriptions(engine, space)


def _prepare(index: Index, fact: Fact, source_facts: SourceFacts, now: datetime) -> PreparedVersion:
    """The version of a fact; one with the text of its only source is a new version of that source."""
    sources = source_facts.sources_of(fact)
    only = sources[0] if len(sources) == 1 else None
    if only is not None and only.turn is None and normalize_text(only.text) == normalize_text(fact.text):
        version = index.latest_version(only.id)
        if version is not None:
            return prepare_revision(version, fact, now)
    return prepare_fact(fact, now, sources=sources)


def _extracted_facts(index: Index, sources: Sequence[Memory], extractor: Extractor) -> list[str] | None:
    """The facts that this extractor found in these sources before; None if it has not read all of them."""
    key = (extractor.name, *model_and_prompt(extractor))
    extractions = [index.journal.extraction_by(source.id, key) for source in sources]
    if not all(extractions):
        return None
    return list(dict.fromkeys(fact for extraction in extractions if extraction for fact in extraction.facts))


def _source_links(source_facts: SourceFacts, ids: Sequence[str], by: str) -> list[Linked]:
    return [
        Linked(new_id(), memory, "derived_from", source.id, observed_by=by)
        for fact, memory in zip(source_facts.facts, ids, strict=True)
        for source in source_facts.sources_of(fact)
        if source.id != memory
    ]


def _confirmations(source_facts: SourceFacts) -> list[Linked]:
    """A link to each known fact that was only said again, from the source that says it."""
    sources, known, by = source_facts.sources, source_facts.known, source_facts.result.by
    return [
        Linked(new_id(), sources[turn].id, "supports", known[index].id, observed_by=by)
        for index, turn in source_facts.result.confirmed
        if 0 <= turn < len(sources) and 0 <= index < len(known)
    ]


def _extractions(index: Index, source_facts: SourceFacts, ids: Sequence[str]) -> list[Extracted]:
    """The facts of each source. A fact that names no source is attributed to all of them. Of what the model failed to
    read, what it found before stays, and it does not count as one that has read it: it is asked again."""
    result, unread = source_facts.result, source_facts.unread
    author = result.by, result.model, result.prompt
    facts_of: dict[str, dict[str, None]] = {source.id: {} for source in source_facts.sources}
    for fact, memory in zip(source_facts.facts, ids, strict=True):
        for source in source_facts.sources_of(fact) if fact.source_turns else source_facts.sources:
            facts_of[source.id][memory] = None
    return [
        Extracted(source, *((VERBATIM, None, None) if source in unread else author), result.problem, tuple(memories))
        for source, memories in facts_of.items()
        if not (source in unread and index.journal.extractions.get(source))
    ]


def _forgotten_facts(index: Index, source_facts: SourceFacts, ids: Sequence[str]) -> list[Forgotten]:
    """The facts that the last extraction found in these sources and this one did not."""
    sources = {source.id for source in source_facts.sources} - source_facts.unread
    last = (index.journal.extractions.get(source, [])[-1:] for source in sources)
    earlier = {fact for extractions in last for extraction in extractions for fact in extraction.facts}
    dropped = sorted(earlier - set(ids) - sources)
    why = f"read again by {source_facts.result.by}"
    return [Forgotten(fact, why) for fact in dropped if index.current_row(fact, index.catalog.position) is not None]


def _without_doubtful_ends(engine: Engine, space: str, source_facts: SourceFacts) -> SourceFacts:
    """The facts, of which one that ends or replaces a known fact with which it shares no word, and which it is not
    like, only contradicts that: a model confuses numbers, and what is ended is not seen again."""
    doubtful = {
        (fact.text, known.text)
        for fact in source_facts.facts
        for known, effect in source_facts.effects_of(fact)
        if effect.effect in ("ends", "replaces") and not _shares_word(fact, known)
    }
    vectors, _ = embed(engine, space, list(dict.fromkeys(text for pair in doubtful for text in pair)))

    def is_like(one: str, other: str) -> bool:
        first, second = vectors.get(text_hash(one)), vectors.get(text_hash(other))
        return first is None or second is None or float(first @ second) >= MIN_SIMILARITY

    def checked(fact: Fact, effect: FactEffect) -> FactEffect:
        known = source_facts.known[effect.known_index] if 0 <= effect.known_index < len(source_facts.known) else None
        if known is None or (fact.text, known.text) not in doubtful or is_like(fact.text, known.text):
            return effect
        log.warning("a fact that is to end memory %s is not like it: it is kept as a contradiction", known.id)
        return replace(effect, effect="contradicts")

    facts = tuple(
        replace(fact, effects=tuple(checked(fact, effect) for effect in fact.effects))
        for fact in source_facts.result.facts
    )
    return replace(source_facts, result=replace(source_facts.result, facts=facts))


def _shares_word(fact: Fact, known: Memory) -> bool:
    """Whether a fact or its quotation has a word of a known fact, beside the word for the user."""
    said, known_words = f"{fact.text} {fact.quotation}", set(tokens(known.text)) - {USER_LABEL}
    return not known_words.isdisjoint(tokens(said))


def _effect_events(
    index: Index, source_facts: SourceFacts, prepared: Sequence[PreparedVersion], ids: Sequence[str], now: datetime
) -> list[Event]:
    """What the facts do to known ones: a link for each, and the ends of the claims of those that are over.

    A fact that is trusted less than a known one contradicts it in place of ending it.
    """
    by, snapshot = source_facts.result.by, index.snapshot(index.catalog.position, now)
    events: list[Event] = []
    for fact, new, memory_id in zip(source_facts.facts, prepared, ids, strict=True):
        for known, effect in source_facts.effects_of(fact):
            if known.id == memory_id:
                continue
            is_trusted = new.version.trust >= known.trust
            kind = _LINK_OF.get(effect.effect, "supersedes" if is_trusted else "contradicts")
            valid = _replacement_window(new, known) if kind == "supersedes" else Window()
            events.append(
                Linked(new_id(), memory_id, kind, known.id, valid, observed_by=by, why=fact.quotation or None)
            )
            if kind == "supersedes":
                told_at, start = new.version.told_at or now, new.version.valid.start
                is_put_off = start is not None and start > told_at
                of_plan = index.links.links_of(index.require_number(known.id), snapshot, kinds=[kind], direction="out")
                for link in of_plan:  # what a plan was to replace on its day
                    if link.valid.start is None or (link.valid.start <= told_at and not is_put_off):
                        continue
                    events.append(Invalidated(link.id, told_at, fact.quotation or None, by))
                    if effect.effect == "replaces":
                        later = Window(start) if is_put_off else Window()
                        events.append(Linked(new_id(), memory_id, kind, link.target, later, observed_by=by))
            if kind == "supersedes" and not valid.has_bound:
                until = new.version.valid.start or new.version.told_at or now
                claims = [claim for claim in known.triples if claim not in fact.triples]
                events += _claim_ends(index, known, claims, until, fact.text, by, snapshot=snapshot)
    return events


def _claim_ends(
    index: Index, known: Memory, claims: Iterable[Triple], until: datetime, why: str, by: str, *, snapshot: Snapshot
) -> list[Invalidated]:
    """The ends of the claims of a known fact, and of the turns that it comes from. A claim that another memory makes
    too goes on."""
    events = (event for claim in claims for event in invalidation_events(index, snapshot, claim, until, why, by))
    sources = index.links.all_linked(index.require_number(known.id), "derived_from", "out")
    ids = (known.id, *(index.catalog.ids[source] for source in sources))
    own = {claim_id(memory, claim) for memory in ids for claim in known.triples}
    return [event for event in events if event.edge in own]


def _replacement_window(new: PreparedVersion, old: Memory) -> Window:
    """When a memory takes the place of another: at once, or when it begins. Until "In June I move to Oslo" comes true,
    "I live in Rome" is true. What is itself to come is replaced at once, as an appointment that is moved, and so is any
    plan: if its day has passed, it did not happen."""
    version = new.version
    start, told_at, old_start = version.valid.start, version.told_at or new.recorded_at, old.valid.start
    is_event = version.kind == "episode" and PLAN_TAG not in version.tags  # a funeral is held after the end
    is_to_come = PLAN_TAG in old.tags or (old_start is not None and old_start > told_at)
    return Window() if start is None or start <= told_at or is_event or is_to_come else Window(start)


MAX_KNOWN = 40
"""Known facts that a model is shown with a conversation, at most: all of them while there are no more."""
_MAX_OF_TURN = 6
"""Known facts that a model is shown for one turn, at most, by their meaning; and as many by their words."""
_UNREAD: tuple[JobStatus, ...] = ("queued", "waiting", "given up", "cancelled")
"""The jobs whose sources were not read: they are not facts, although nothing was extracted from them."""


def find_known_facts(engine: Engine, space: str, sources: Sequence[Memory], now: datetime) -> list[Memory]:
    """All current facts, oldest first, while they are few. Else those that are nearest to one of these sources in
    meaning, or share names, numbers and other words with it, or claim something of the same subject; and the latest
    plans; but not what is past. Turns and other sources are not among them: what was said stays said."""
    with engine.open_index(space) as index:
        vectors, _ = embed(engine, space, [source.text for source in sources])
        excluded = {source.id for source in sources}.union(sources_of_jobs(engine, index, _UNREAD))
        with index.lock:
            snapshot = index.snapshot(index.catalog.position, now)
            facts = _current_facts(index, snapshot, excluded)
            rows = list(map(Row, np.flatnonzero(facts).tolist()))
            if len(rows) > MAX_KNOWN:
                plans = index.catalog.attributes.mask_with_kinds_and_tags(None, [PLAN_TAG])[: len(facts)]
                facts &= plans | ~index.catalog.times.ended_mask(np.arange(len(facts)), snapshot.now)
                places: dict[Row, int] = {}
                for source in sources:
                    near = _facts_near(index, source, vectors.get(text_hash(source.text)), snapshot, facts)
                    for place, row in enumerate(near):
                        places[row] = min(place, places.get(row, place))
                nearest = sorted(places, key=lambda row: (places[row], row))
                latest_plans = map(Row, np.flatnonzero(facts & plans)[::-1].tolist())
                rows = list(dict.fromkeys([*nearest, *latest_plans]))[:MAX_KNOWN]
            return index.readable_memories(rows)


def sources_of_jobs(engine: Engine, index: Index, statuses: Container[JobStatus]) -> dict[str, None]:
    """The ids of the sources of the jobs with one of these statuses that nothing has read since, oldest first, each
    once."""
    jobs = [job for job in list(index.journal.jobs.values()) if job.status in statuses]
    events = (entry.event for entry in engine.ledger.entries_at([job.position for job in jobs]).values())
    given = (event.given.get("memories", ()) for event in events if isinstance(event, Queued))
    chats = dict.fromkeys(job.conversation for job in jobs if job.conversation is not None)
    unread = (unread_turns(index, chat) for chat in chats)
    return dict.fromkeys(
        source for sources in (*given, *unread) for source in sources if not is_read(index.journal, source)
    )


def _current_facts(index: Index, snapshot: Snapshot, excluded: Container[str]) -> NDArray[np.bool_]:
    """Which rows are facts, or other memories that were added, that nothing superseded."""
    mask: NDArray[np.bool_] = index.catalog.restrict_to_active(snapshot.row_mask, snapshot.position)
    mask = mask & ~index.links.superseded_mask(snapshot)[index.catalog.memory_numbers.values]
    rows = np.flatnonzero(mask).tolist()
    mask[[row for row in rows if not _is_fact(index, row, excluded)]] = False
    return mask


def _facts_near(
    index: Index, source: Memory, vector: Vector | None, snapshot: Snapshot, facts: NDArray[np.bool_]
) -> list[Row]:
    """The facts nearest to a source: in turn one that claims something of the same, by its meaning, by its words."""
    query = Query(source.text, visible=snapshot.row_mask, allowed=facts, vector=vector)
    signals: list[Signal] = [index.words] if vector is None else [index.words, index.vectors]
    ranked = [list(map(Row, signal.rank(query, _MAX_OF_TURN).rows)) for signal in signals]
    same = [row for row in _rows_about_same(index, source, snapshot) if facts[row]]
    return [row for place in zip_longest(same, *ranked) for row in place if row is not None]


def _rows_about_same(index: Index, source: Memory, snapshot: Snapshot) -> list[Row]:
    """The rows with a claim of the same subject and predicate as one of the source."""
    rows: dict[Row, None] = {}
    for triple in source.triples:
        subject = index.names.number(triple.subject)
        if subject is not None:
            rows |= dict.fromkeys(index.relations.rows_claiming(subject, triple.predicate, snapshot))
    return list(rows)


def _is_fact(index: Index, row: Row, excluded: Container[str]) -> bool:
    """Whether a row is neither a turn nor a source of facts, or is its own only fact."""
    if index.graph.is_turn(row) or MEMORY_KINDS[index.catalog.attributes.kinds[row]] == PROCEDURE:
        return False
    memory = index.catalog.ids[index.catalog.memory_of(row)]
    if memory in excluded:
        return False
    extractions = index.journal.extractions.get(memory)
    return not extractions or memory in extractions[-1].facts
