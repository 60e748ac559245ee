"""Last step of the write path: versions are embedded and appended, each chunk in one transaction."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from itertools import groupby, pairwise
from operator import itemgetter
from typing import TYPE_CHECKING

from remanence.errors import LedgerUnavailable
from remanence.events import Event, Invalidated, Quarantined, Remembered
from remanence.graph.assertions import invalidation_events
from remanence.index.engine.embedding import embed, embed_missing, store_vectors
from remanence.index.engine.engine import Engine
from remanence.index.index import Index, memory_from_entry
from remanence.index.passages import is_pasted, passages_of
from remanence.models.embedders import SentenceEmbedder
from remanence.models.turn_classes import classify_turn
from remanence.remember.prepare import PreparedVersion
from remanence.remember.resolve_identity import IdentityResolver, add_registered_mentions
from remanence.schema import Entry, Memory, Window
from remanence.text.claims.predicates import STATES_ENDED_BY_EVENT, claims_ended_by
from remanence.text.text import normalize_name, text_hash

if TYPE_CHECKING:
    from remanence.ports import Progress, Vector


CHUNK = 250

ExtraEvents = Callable[[Index, Sequence[str]], Sequence[Event]]


def append(
    engine: Engine,
    space: str,
    prepared: Sequence[PreparedVersion],
    progress: Progress | None = None,
    extra_events: ExtraEvents | None = None,
    at: datetime | None = None,
    embed_later: bool = False,
) -> list[Memory]:
    """Write these versions, each chunk in one transaction, and return the memories they became. With `embed_later`
    their vectors are made in the background, unless the embedder is fast.

    `extra_events` is called under the write lock with the ids of all memories. Its events are written in the
    last transaction, at the moment of the last version, or `at` if there is no version.
    """
    memories: list[Memory] = []
    chunks = _chunks(prepared)
    for number, chunk in enumerate(chunks, 1):
        is_last = number == len(chunks)
        extra_at = chunk[-1].recorded_at if chunk else at or engine.now()
        extra = extra_events if is_last else None
        with counting_stored_rows(memories):
            memories += _append_chunk(engine, space, chunk, prepared, memories, extra, extra_at, embed_later)
        if progress is not None:
            progress(len(memories), len(prepared))
    engine.report_news(space)
    return memories


@contextmanager
def counting_stored_rows(stored: Sequence[Memory]) -> Iterator[None]:
    """If the ledger fails in the block, the error also counts these rows, which were stored before (`stored_rows`)."""
    try:
        yield
    except LedgerUnavailable as error:
        error.stored_rows += len(stored)
        raise


def _chunks(prepared: Sequence[PreparedVersion]) -> list[Sequence[PreparedVersion]]:
    """The versions in chunks. One that ends claims begins a chunk if an earlier one claims something of the same
    subject, so that this is indexed by then."""
    bounds, claimed = [0], set[str]()
    for number, draft in enumerate(prepared):
        names = {normalize_name(name) for triple in draft.version.triples for name in (triple.subject, triple.object)}
        may_end = not claimed.isdisjoint(names) and ends_claims(draft.version)
        if number - bounds[-1] == CHUNK or may_end:
            bounds.append(number)
            claimed = set()
        claimed |= names
    return [prepared[begin:end] for begin, end in pairwise([*bounds, len(prepared)])]


def _append_chunk(
    engine: Engine,
    space: str,
    prepared: Sequence[PreparedVersion],
    batch: Sequence[PreparedVersion],
    earlier_chunks: Sequence[Memory],
    extra_events: ExtraEvents | None,
    extra_at: datetime,
    embed_later: bool,
) -> list[Memory]:
    with engine.open_index(space, catch_up=False) as index:
        # Before the write lock is taken: this may call an embedding model.
        is_later = embed_later and not engine.embedder.is_fast
        may_wait = not engine.embedder.is_fast
        texts = [] if is_later else index.texts_to_embed([p.version for p in prepared], may_wait=may_wait)
        vectors, new_vectors = embed(engine, space, texts)
        prepared = with_kinds(prepared, vectors, engine.embedder.fingerprint)
        entries: list[Entry] = []
        with engine.write_lock, engine.ledger.transaction() as transaction:
            index.catch_up(transaction.head)
            with index.lock:
                prepared = [add_registered_mentions(index, draft) for draft in prepared]
                resolver = IdentityResolver(index, batch)
                resolved = [resolver.resolve(p) for p in prepared]
                existing = _existing_memories(index, resolved)
                extra: Sequence[Event] = ()
                if extra_events is not None:
                    ids = [*(memory.id for memory in earlier_chunks), *(memory_id for memory_id, _ in resolved)]
                    extra = extra_events(index, ids)
                ending = [
                    (version, draft.recorded_at)
                    for draft, (_, version) in zip(prepared, resolved, strict=True)
                    if version is not None and ends_claims(version)
                ]
                ended = ending_events(index, ending) if ending else []
            times = [p.recorded_at for p, (_, version) in zip(prepared, resolved, strict=True) if version is not None]
            new = list(zip(times, [version for _, version in resolved if version is not None], strict=True))
            for at, run in groupby(new, key=itemgetter(0)):
                entries += engine.append(transaction, space, [version for _, version in run], at)
            if extra:
                entries += engine.append(transaction, space, extra, extra_at)
            if ended:
                entries += engine.append(transaction, space, ended, extra_at)
            corrected = {p.version.memory for p in prepared if p.is_revision and index.shows(p.version.memory)}
            if hidden := _quarantine_events(index, [version for _, version in new if version.memory not in corrected]):
                entries += engine.append(transaction, space, hidden, extra_at)
            if entries and vectors:
                store_vectors(engine, transaction, space, new_vectors)
        index.apply_written(entries, vectors)
        if index.vectors.sync.missing_vectors:
            is_later = is_later or (may_wait and any(is_pasted(p.version) for p in prepared))
            _embed_missing(engine, space, len(index.vectors.sync.missing_vectors), is_later, bool(vectors))
        return _written_memories(index, resolved, entries, existing)


def _embed_missing(engine: Engine, space: str, count: int, is_later: bool, embedder_is_up: bool) -> None:
    """Embed in the background what lacks a vector. If that waits for an embedder that was down and is up again, do it
    at once, unless it is much."""
    background = engine.background_embedder
    if is_later or not embedder_is_up:
        background.watch(space, embedder_is_down=not is_later)
    elif background.is_pausing(space):
        if count <= CHUNK:
            embed_missing(engine, space)
        else:
            background.end_pause(space)


def _quarantine_events(index: Index, versions: Sequence[Remembered]) -> list[Event]:
    """The events that hide the versions whose source is in quarantine."""
    if not index.journal.quarantines:
        return []
    hidden = [(state, version.memory) for version in versions if (state := index.journal.quarantine_of(version))]
    return [Quarantined(state.id, state.source, (memory,)) for state, memory in hidden]


def _existing_memories(index: Index, resolved: Sequence[tuple[str, Remembered | None]]) -> dict[str, Memory]:
    """The memories that exist already, by id, as they are before anything is written."""
    # Under the write lock, so that no other thread or process erases them.
    rows = {
        memory_id: index.current_row(memory_id, index.catalog.position)
        for memory_id, version in resolved
        if version is None
    }
    visible = {memory_id: row for memory_id, row in rows.items() if row is not None}
    if not visible:
        return {}
    return dict(zip(visible, index.memories(list(visible.values())), strict=True))


def _written_memories(
    index: Index,
    resolved: Sequence[tuple[str, Remembered | None]],
    entries: Sequence[Entry],
    existing: dict[str, Memory],
) -> list[Memory]:
    """The memory of each version, without reading back what was just written."""
    memories: list[Memory] = []
    latest, written = dict(existing), iter(entries)
    with index.lock:
        for memory_id, version in resolved:
            if version is not None:
                first = index.catalog.first_recorded(index.require_number(memory_id))
                latest[memory_id] = memory_from_entry(next(written), version, first)
            memories.append(latest[memory_id])
    return memories


def with_kinds(
    prepared: Sequence[PreparedVersion], vectors: Mapping[bytes, Vector], fingerprint: str
) -> list[PreparedVersion]:
    """The versions with their kind and importance.

    The kind decides what `kinds=` finds and how fast a memory fades, the importance breaks near ties. Both are said by
    a table of weights for the vectors of the default embedder; in a space with another one, turns are episodes. Texts
    that were added get what their caller left out.
    """
    if fingerprint != SentenceEmbedder.fingerprint:
        return list(prepared)
    before: dict[str, str] = {}
    return [_classified(draft, vectors, before) for draft in prepared]


def _classified(draft: PreparedVersion, vectors: Mapping[bytes, Vector], before: dict[str, str]) -> PreparedVersion:
    """A turn with its kind. `before` has the last turn of each conversation, and gets this one."""
    version = draft.version
    if draft.is_revision:
        return draft
    if version.turn is None:
        return _classified_note(draft, vectors)
    conversation = version.turn.conversation
    previous, before[conversation] = version.turn.before or before.get(conversation, ""), version.text
    first = next(passages_of(version), None)
    vector = None if first is None else vectors.get(text_hash(first.text))
    if vector is None:
        return draft
    found = classify_turn(version.text, vector, previous, makes_claims=bool(version.triples))
    told = Window.from_moment(version.turn.at or draft.recorded_at)
    is_dated = version.valid.end is not None and version.valid != told
    version = replace(version, importance=found.importance)
    if found.kind != "episode" and not is_dated:
        # What is so, or what somebody likes, holds from when it was said on; what has a date in its text, at that date.
        version = replace(version, kind=found.kind, valid=Window(version.valid.start))
    return draft._replace(version=version)


def _classified_note(draft: PreparedVersion, vectors: Mapping[bytes, Vector]) -> PreparedVersion:
    """A text that was added, with the importance and the kind of what it tells, unless the caller gave them. Whether it
    is a state or an event is said by its date; one that a chat would not tell, as a list, is as important as before."""
    version = draft.version
    first = next(passages_of(version), None)
    vector = None if first is None else vectors.get(text_hash(first.text))
    if vector is None or version.passages or not draft.may_set:
        return draft
    found = classify_turn(version.text, vector, makes_claims=bool(version.triples))
    if found.is_telling and "importance" in draft.may_set:
        version = replace(version, importance=found.importance)
    if found.kind == "viewpoint" and version.kind == "semantic" and "kind" in draft.may_set:
        version = replace(version, kind=found.kind)
    return draft._replace(version=version)


BY = "rules"


def ends_claims(version: Remembered) -> bool:
    """Whether a version may end claims of other memories."""
    return any(triple.predicate in STATES_ENDED_BY_EVENT for triple in version.triples)


def ending_events(index: Index, versions: Iterable[tuple[Remembered, datetime]]) -> list[Invalidated]:
    """The events that end the claims which these versions say are over.

    Each version comes with the moment when it is recorded. A version ends no claim of a more trusted memory, and none
    if its source is in quarantine. Use it with the lock of the index.
    """
    events: dict[str, Invalidated] = {}
    for version, recorded_at in versions:
        if index.journal.is_quarantined(version):
            continue
        snapshot = index.snapshot(index.catalog.position, recorded_at)
        begins = version.valid.start if version.valid.start is not None else recorded_at
        until = min(begins, recorded_at)
        for claim in claims_ended_by(version.triples):
            for event in invalidation_events(index, snapshot, claim, until, version.text, BY):
                if version.trust >= index.relations.trust_of_edge(event.edge):
                    events[event.edge] = event
    return list(events.values())
