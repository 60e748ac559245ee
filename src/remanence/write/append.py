"""Last step of the write path: it is decided which memory each version belongs to, and the version is appended.

Each chunk of versions is embedded, and then written in one transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

from remanence.core.engine import Engine
from remanence.core.index import Index, memory_from_entry
from remanence.events import Event, Remembered
from remanence.schema import Entry, Memory, Turn
from remanence.write.extract import PreparedVersion

if TYPE_CHECKING:
    from remanence.ports import Progress

_CHUNK = 2_000

ExtraEvents = Callable[[Index, Sequence[str]], Sequence[Event]]
"""Returns the events to write together with memories, given the index and the ids of the memories."""


def append(
    engine: Engine,
    space: str,
    prepared: Sequence[PreparedVersion],
    progress: Progress | None = None,
    extra_events: ExtraEvents | None = None,
    at: datetime | None = None,
) -> list[Memory]:
    """Write these versions, each chunk in one transaction, and return the memories they became.

    `extra_events` is called under the write lock with the ids of all memories. Its events are written in the
    last transaction, at the moment of the last version, or `at` if there is no version.
    """
    memories: list[Memory] = []
    for begin in range(0, max(len(prepared), 1), _CHUNK):
        is_last = begin + _CHUNK >= len(prepared)
        chunk = prepared[begin : begin + _CHUNK]
        extra_at = chunk[-1].recorded_at if chunk else at or engine.now()
        memories += _append_chunk(engine, space, chunk, memories, extra_events if is_last else None, extra_at)
        if progress is not None:
            progress(len(memories), len(prepared))
    return memories


def _append_chunk(
    engine: Engine,
    space: str,
    prepared: Sequence[PreparedVersion],
    earlier_chunks: Sequence[Memory],
    extra_events: ExtraEvents | None,
    extra_at: datetime,
) -> list[Memory]:
    with engine.open_index(space, to_write=True) as index:
        # Before the write lock is taken: this may call an embedding model.
        vectors, new_vectors = engine.embed(index.texts_to_embed([p.version for p in prepared]))
        entries: list[Entry] = []
        with engine.write_lock, engine.ledger.transaction() as transaction:
            index.catch_up(transaction.head)
            with index.lock:
                resolver = _IdentityResolver(index)
                settled = [resolver.resolve(p) for p in prepared]
                existing = _existing_memories(index, settled)
                extra: Sequence[Event] = ()
                if extra_events is not None:
                    ids = [*(memory.id for memory in earlier_chunks), *(memory_id for memory_id, _ in settled)]
                    extra = extra_events(index, ids)
            new = [(p.recorded_at, v) for p, (_, v) in zip(prepared, settled, strict=True) if v is not None]
            for at, run in groupby(new, key=itemgetter(0)):
                entries += transaction.append(space, [version for _, version in run], at=at)
            if extra:
                entries += transaction.append(space, extra, at=extra_at)
            if entries:
                engine.store_vectors(transaction, vectors, new_vectors)
        index.apply_written(entries, vectors)
        if index.vectors.missing_vectors and vectors:
            engine.embed_missing(space, None)
        return _written_memories(index, settled, entries, existing)


def _existing_memories(index: Index, settled: Sequence[tuple[str, Remembered | None]]) -> dict[str, Memory]:
    """The memories that exist already, by id, as they are before anything is written."""
    # Under the write lock, so that nobody erases them.
    rows = {each: index.current_row(each, index.catalog.position) for each, version in settled if version is None}
    found = {memory_id: row for memory_id, row in rows.items() if row is not None}
    return dict(zip(found, index.memories(list(found.values())), strict=True))


def _written_memories(
    index: Index,
    settled: Sequence[tuple[str, Remembered | None]],
    entries: Sequence[Entry],
    existing: dict[str, Memory],
) -> list[Memory]:
    """The memory of each version, without reading back what was just written."""
    memories: list[Memory] = []
    latest, written = dict(existing), iter(entries)
    with index.lock:
        for memory_id, version in settled:
            if version is not None:
                first = index.catalog.first_recorded(index.require_number(memory_id))
                latest[memory_id] = memory_from_entry(next(written), version, first)
            memories.append(latest[memory_id])
    return memories


class _IdentityResolver:
    """Decides, under the write lock, whether each version is a new memory, a revision or a repetition."""

    def __init__(self, index: Index) -> None:
        self._index, self._catalog = index, index.catalog
        self._resolved: dict[str, Remembered] = {}
        self._next_turns: dict[str, int] = {}

    def resolve(self, prepared: PreparedVersion) -> tuple[str, Remembered | None]:
        """The id of the memory, and the version to write; None if it repeats what is known."""
        version = prepared.version
        if prepared.is_revision:
            return version.memory, version
        earlier = self._resolved.get(version.identity)
        number = self._catalog.with_identity(version.identity)
        if earlier is not None:
            if earlier.content == version.content:
                return earlier.memory, None
            memory = earlier.memory
        elif number is not None:
            memory = self._catalog.ids[number]
            visible = self._catalog.is_visible(number, self._catalog.position)
            if visible and self._catalog.content_digests[number] == version.content:
                return memory, None
        elif (recalled := self._recalled_memory(prepared)) is not None:
            return recalled, None
        else:
            memory = version.memory
        settled = version
        if memory != version.memory or version.turn is not None:
            settled = replace(version, memory=memory, turn=self._numbered_turn(version, memory))
        self._resolved[version.identity] = settled
        return memory, settled

    def _recalled_memory(self, prepared: PreparedVersion) -> str | None:
        """The memory whose text was just recalled and is now added again, unless it is forgotten."""
        memory = self._index.recently_recalled.get(prepared.echo or "")
        visible = memory is not None and self._index.current_row(memory, self._catalog.position) is not None
        return memory if visible else None

    def _numbered_turn(self, version: Remembered, memory: str) -> Turn | None:
        """The turn of a version with its number: the next one, or that of the earlier version."""
        turn = version.turn
        if turn is None:
            return None
        earlier = self._resolved.get(version.identity) or self._index.latest_version(memory)
        if earlier is not None and earlier.turn is not None and earlier.turn.conversation == turn.conversation:
            return replace(turn, number=earlier.turn.number)
        number = self._next_turns.get(turn.conversation, self._catalog.next_turn(turn.conversation))
        self._next_turns[turn.conversation] = number + 1
        return replace(turn, number=number)
