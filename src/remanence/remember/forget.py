"""Hiding memories, or all from a source, showing them again, deleting their text permanently, and recording what
expired."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from remanence.errors import InvalidInput, NotFound
from remanence.events import Emptied, Erased, Event, Expired, Forgotten, Quarantined, Released, Remembered, Restored
from remanence.index.engine import inputs
from remanence.index.engine.engine import Engine
from remanence.index.engine.identity import new_id
from remanence.index.index import Index
from remanence.index.names.names import version_names
from remanence.index.numbers import MemoryNumber, Row
from remanence.index.vectors.vectors import embeddable_texts
from remanence.ledger.tables import SHARED_EMBEDDINGS
from remanence.schema import Entry, Memory, Snapshot, from_micros
from remanence.text.text import pluralize, text_hash, truncate

if TYPE_CHECKING:
    from remanence.index.engine.engine import Engine
    from remanence.index.journal import QuarantineState

_BATCH = 2_000


def forget_many(engine: Engine, space: str, ids: Sequence[str], why: str | None, *, with_related: bool = False) -> int:
    """Hide these memories in one transaction, also archived ones. Returns how many were not forgotten before."""

    def decide(index: Index) -> list[Event]:
        forgettable = _visible_memories(index) | index.catalog.archived_mask(index.catalog.position)
        numbers = _numbers(index, ids, with_related)
        return [Forgotten(index.catalog.ids[number], why) for number in numbers if forgettable[number]]

    return len(engine.write(space, decide))


def unforget(engine: Engine, space: str, ids: Sequence[str], *, with_related: bool = False) -> int:
    """Show forgotten or archived memories again, in one transaction. Returns how many were hidden."""

    def decide(index: Index) -> list[Event]:
        visible = _visible_memories(index)
        numbers = _numbers(index, ids, with_related)
        return [Restored(index.catalog.ids[number]) for number in numbers if not visible[number]]

    return len(engine.write(space, decide))


@dataclass(frozen=True, slots=True)
class Erasure:
    """What was erased in one space: the chosen memories, the derived ones, how many ledger entries of each kind lost
    their text, how many embeddings were deleted, and the entry that records it."""

    space: str
    memories: tuple[str, ...]
    derived: tuple[str, ...]
    erased_entries: Mapping[str, int]
    vectors: int
    position: int
    digest: str


class Erasable(NamedTuple):
    """What is erased together: some memories, those that go with them, and the positions of all entries about these and
    about other things, by id."""

    positions_of: Mapping[str, Sequence[int]]
    chosen: Sequence[MemoryNumber] = ()
    memories: Sequence[MemoryNumber] = ()


def erasable_memories(index: Index, chosen: Iterable[MemoryNumber], *, with_sources: bool = False) -> Erasable:
    """These memories, and what was derived from them alone; the texts that they were found in, too, if asked for."""
    catalog = index.catalog
    chosen = [number for number in dict.fromkeys(chosen) if not catalog.hidden.is_erased(number)]
    sources = _sources(index, chosen) if with_sources else ()
    memories = [number for number in with_derived(index, [*chosen, *sources]) if not catalog.hidden.is_erased(number)]
    about = entry_positions_about(index, memories)
    return Erasable({catalog.ids[number]: positions for number, positions in about.items()}, chosen, memories)


def erase_together(
    engine: Engine,
    space: str,
    decide: Callable[[Index], Erasable],
    more_hashes: Callable[[Index, Sequence[Entry], Set[Row]], Iterable[bytes]] = lambda index, entries, rows: (),
) -> Erasure:
    """Delete what a function chooses, under the write lock and that of the index, in one transaction. `more_hashes`
    gives the hashes of other embedded texts in the erased entries, beside those of versions of memories."""
    copy_shared_vectors(engine)
    with engine.open_index(space, catch_up=False) as index:
        catalog = index.catalog
        with engine.write_lock, engine.ledger.transaction() as transaction:
            index.catch_up(transaction.head)
            with index.lock:
                found = decide(index)
                rows = {row for number in found.memories for row in catalog.rows_of(number)}
            positions = sorted({position for some in found.positions_of.values() for position in some})
            entries = list(engine.ledger.entries_at(positions).values())
            hashes = {*hashes_without_other_use(index, entries, rows), *more_hashes(index, entries, rows)}
            vectors = transaction.erase(space, positions, sorted(hashes))
            erased = [Erased(id_, tuple(some)) for id_, some in found.positions_of.items()]
            written = engine.append(transaction, space, erased, engine.now()) if erased else []
        index.apply_written(written)
    engine.erasure_cleaner.notify()
    chosen = [catalog.ids[number] for number in found.chosen]
    derived = [catalog.ids[number] for number in found.memories if number not in found.chosen]
    return erasure_of(space, chosen, derived, entries, vectors, written)


def erase(engine: Engine, space: str, ids: Sequence[str], *, with_related: bool = False) -> Erasure:
    """Delete the text of these memories and of what was derived from them alone, in every version, permanently; with
    `with_related`, also of the texts that they were found in."""

    def decide(index: Index) -> Erasable:
        return erasable_memories(index, map(index.require_number, ids), with_sources=with_related)

    return erase_together(engine, space, decide)


def erase_edge(engine: Engine, space: str, edge: str) -> Erasure:
    """Delete a relation or a link, as it was stated and ended, permanently. What memories claim stays."""
    return erase_together(engine, space, lambda index: Erasable(positions_of_edges(index, [edge], engine.now())))


def positions_of_edges(index: Index, edges: Iterable[str], now: datetime) -> dict[str, Sequence[int]]:
    """The positions of the entries about these relations and links, by all ids under which they were stated."""
    snapshot = index.snapshot(index.catalog.position, now)
    ids = dict.fromkeys(id_ for edge in edges for id_ in stated_edges(index, snapshot, edge))
    return {id_: sorted({*index.relations.positions_of_edge(id_), *index.links.positions_of_edge(id_)}) for id_ in ids}


def stated_edges(index: Index, snapshot: Snapshot, edge: str) -> list[str]:
    """The ids under which the same relation or link was stated, by anybody."""
    ids = [edge, *(id_ for id_, _ in index.relations.equivalent_claims(edge, snapshot))]
    stated = [id_ for id_ in ids if index.relations.is_assertion(id_)]
    stated += [link.id for link in index.links.statements_of(edge, snapshot)] or [edge] * index.links.has(edge)
    if stated:
        return list(dict.fromkeys(stated))
    memory = edge.rpartition(":")[0]
    if memory and index.relations.with_edge_id(edge):
        raise InvalidInput(f"relation {edge!r} is what memory {memory!r} says. Erase that memory.")
    raise NotFound(f"space {index.space!r} has no relation or link {edge!r}. Ids are those of what was made or found.")


def erase_space(engine: Engine, space: str) -> Erasure:
    """Delete the text of everything in a space, permanently. The space is no longer listed."""
    copy_shared_vectors(engine)
    with engine.open_index(space) as index:
        known = index.catalog.position
        # Before the lock is taken, because it takes most of the time.
        entries = [entry for entry in engine.ledger.read(space) if entry.position <= known]
        with engine.write_lock, engine.ledger.transaction() as transaction:
            entries += engine.ledger.read(space, after=known)
            index.catch_up(transaction.head)
            with index.lock:
                catalog = index.catalog
                erased = set(catalog.hidden.erased)
                ids = [id_ for number, id_ in enumerate(catalog.ids) if number not in erased]
                hashes = index.embedded_text_hashes()
            vectors = transaction.erase(space, (), hashes)
            # One event for each memory, for readers of the changes. That all entries are empty is recorded by the last
            # one.
            gone = [Erased(id_, ()) for id_ in ids]
            written = engine.append(transaction, space, gone, engine.now()) if gone else []
            [emptied] = engine.signatures.sign(space, [Emptied(space)])
            written.append(transaction.erase_space(space, at=engine.now(), signature=emptied.signature))
        index.apply_written(written)
    engine.erasure_cleaner.notify()
    return erasure_of(space, ids, [], entries, vectors, written)


def _numbers(index: Index, ids: Iterable[str], with_related: bool) -> list[MemoryNumber]:
    """These memories by number; with `with_related`, also the texts that they were found in, and the facts that were
    found in them alone."""
    chosen = [index.require_unerased(id_) for id_ in dict.fromkeys(ids)]
    if not with_related:
        return chosen
    related = dict.fromkeys([*with_derived(index, chosen), *_sources(index, chosen)])
    return [number for number in related if not index.catalog.hidden.is_erased(number)]


def _sources(index: Index, memories: Iterable[MemoryNumber]) -> list[MemoryNumber]:
    """The memories that these were found in."""
    return [source for memory in memories for source in index.links.all_linked(memory, "derived_from", "out")]


def with_derived(index: Index, memories: Iterable[MemoryNumber]) -> list[MemoryNumber]:
    """These memories, those derived from nothing else, and those that superseded one and contain its text."""
    numbers = dict.fromkeys(memories)
    waiting = list(numbers)
    while waiting:
        source = waiting.pop(0)
        superseding = index.links.all_linked(source, "supersedes", "in")
        for fact in index.links.all_linked(source, "derived_from", "in"):
            sources = index.links.all_linked(fact, "derived_from", "out")
            alone = all(
                source_number in numbers or index.catalog.hidden.is_erased(source_number) for source_number in sources
            )
            if fact not in numbers and (alone or fact in superseding):
                numbers[fact] = None
                waiting.append(fact)
    return list(numbers)


def entry_positions_about(index: Index, memories: Collection[MemoryNumber]) -> dict[int, list[int]]:
    """For each of these memories the ledger entries that contain text of it or are about it alone: its versions,
    links, extractions and assertions, and the recorded recalls that returned it."""
    positions_of: dict[int, list[int]] = {}
    asserted: dict[int, list[int]] = {}
    for position, memory in index.relations.positions_of_memories(set(memories)).items():
        asserted.setdefault(memory, []).append(position)
    listed: set[int] = set()
    for memory in memories:
        memory_id = index.catalog.ids[memory]
        positions = {
            *index.catalog.positions_of_memory(memory),
            *index.links.positions_of_memory(memory),
            *asserted.get(memory, ()),
            *(extraction.position for extraction in index.journal.extractions.get(memory_id, ())),
            *index.journal.recall_positions.get(memory_id, ()),
        }
        positions_of[memory] = sorted(positions - listed)
        listed |= positions
    return positions_of


def erasure_of(
    space: str,
    memories: Iterable[str],
    derived: Iterable[str],
    entries: Iterable[Entry],
    vectors: int,
    written: Sequence[Entry],
) -> Erasure:
    erased_entries = Counter(entry.kind for entry in entries if not isinstance(entry.event, Erased | Emptied | None))
    position, digest = (written[-1].position, written[-1].digest.hex()) if written else (0, "")
    return Erasure(space, tuple(memories), tuple(derived), dict(erased_entries), vectors, position, digest)


def hashes_without_other_use(index: Index, entries: Iterable[Entry], rows: Set[Row]) -> list[bytes]:
    """The hashes of the texts and names in these entries that no row of the space has besides these."""
    versions = [entry.event for entry in entries if isinstance(entry.event, Remembered)]
    hashes = {text_hash(text) for version in versions for text in embeddable_texts(version)}
    with index.lock:
        names = {name for version in versions for name, _ in version_names(version)}
        used = index.vectors.hashes_outside(sorted(rows), hashes) | index.graph.hashes_outside(rows, names)
    return sorted(hashes - used)


def copy_shared_vectors(engine: Engine) -> None:
    """Give each space a copy of the vectors that an older release stored for all spaces together, since an erasure
    deletes them there. This opens every space, once."""
    if not engine.ledger.get_meta(SHARED_EMBEDDINGS):
        return
    model = engine.embedder.fingerprint
    for space in engine.ledger.spaces():
        with engine.open_index(space) as index:
            hashes = index.embedded_text_hashes()
        for begin in range(0, len(hashes), _BATCH):
            vectors = engine.ledger.vectors(space, model, hashes[begin : begin + _BATCH], include_shared=True)
            with engine.transaction() as transaction:
                transaction.put_vectors(space, model, vectors)
    with engine.transaction() as transaction:
        transaction.put_meta(SHARED_EMBEDDINGS, "")


def record_expired(engine: Engine, space: str) -> list[Memory]:
    """Record which memories have expired since the last call."""
    with engine.open_index(space) as index:
        if not index.expired_rows(index.catalog.position, engine.now()):
            return []  # other writers do not have to wait for this
    ids: list[str] = []

    def decide(index: Index) -> list[Event]:
        rows = index.expired_rows(index.catalog.position, engine.now())
        ids.extend(index.catalog.ids[index.catalog.memory_of(row)] for row in rows)
        return [Expired(memory_id) for memory_id in ids]

    engine.write(space, decide)
    with engine.open_index(space) as index:
        return index.visible_memories(ids, index.catalog.position)


def _visible_memories(index: Index) -> NDArray[np.bool_]:
    """The memories, by number, that are not hidden."""
    return index.catalog.memories_of_rows(index.catalog.visible_mask(index.catalog.position))


@dataclass(frozen=True, slots=True)
class Quarantine:
    """A source whose memories are hidden, or would be.

    Attributes:
        id: For `space.audit.release`; None if this is a preview.
        source: The source, observer or conversation.
        memories: What is hidden: what came from it, and what was derived from that alone.
        since: When it began; None if this is a preview.
        released: Whether it was undone.
    """

    id: str | None
    source: str
    memories: tuple[Memory, ...]
    why: str | None = None
    since: datetime | None = None
    released: bool = False

    def __str__(self) -> str:
        state = "would be hidden" if self.id is None else "visible again" if self.released else "hidden"
        count = pluralize(len(self.memories), "memory", "memories")
        lines = [f"quarantine of {self.source!r}: {count} {state}"]
        return "\n".join(
            [*lines, *(f"  {memory.id}  {truncate(' '.join(memory.text.split()), 80)}" for memory in self.memories)]
        )


def preview_quarantine(engine: Engine, space: str, source: str) -> Quarantine:
    """What a quarantine of this source would hide."""
    with engine.open_index(space) as index, index.lock:
        return Quarantine(None, source, _memories(index, _affected_memory_ids(index, source)))


def quarantine(engine: Engine, space: str, source: str, why: str | None) -> Quarantine:
    """Hide everything from a source."""

    def decide(index: Index) -> list[Event]:
        if any(known.source == source and known.released is None for known in index.journal.quarantines.values()):
            raise InvalidInput(f"source {source!r} is in quarantine already. `space.audit.quarantines()` lists it.")
        return [Quarantined(new_id(), source, tuple(_affected_memory_ids(index, source)), why)]

    [entry] = engine.write(space, decide)
    return get(engine, space, entry.subject)


def check_quarantine_id(value: object) -> str:
    """The id of a quarantine, given by it or by its id."""
    if isinstance(value, Quarantine) and value.id is None:
        raise InvalidInput(f"this is a preview: nothing of {value.source!r} is hidden, so there is nothing to release.")
    return inputs.check_text(value.id if isinstance(value, Quarantine) else value, "id")


def release(engine: Engine, space: str, quarantine_id: str, why: str | None) -> Quarantine:
    """Show what a quarantine has hidden, except memories that were forgotten or erased in the meantime."""

    def decide(index: Index) -> list[Event]:
        state = _state(index, quarantine_id)
        if state.released is not None:
            return []
        numbers = {memory: index.catalog.number(memory) for memory in state.memories}
        others = {
            memory
            for other in index.journal.quarantines.values()
            if other.id != state.id and other.released is None
            for memory in other.memories
        }
        shown = [memory_id for memory_id, number in numbers.items() if number is not None and memory_id not in others]
        return [Released(state.id, tuple(shown), why)]

    engine.write(space, decide)
    return get(engine, space, quarantine_id)


def get(engine: Engine, space: str, quarantine_id: str) -> Quarantine:
    with engine.open_index(space) as index, index.lock:
        return _quarantine(index, _state(index, quarantine_id))


def all_quarantines(engine: Engine, space: str) -> list[Quarantine]:
    """Every quarantine of a space, oldest first, released ones too."""
    with engine.open_index(space) as index, index.lock:
        return [_quarantine(index, state) for state in index.journal.quarantines.values()]


def _state(index: Index, quarantine_id: str) -> QuarantineState:
    state = index.journal.quarantines.get(quarantine_id)
    if state is None:
        raise NotFound(f"space {index.space!r} has no quarantine {quarantine_id!r}. See `space.audit.quarantines()`.")
    return state


def _quarantine(index: Index, state: QuarantineState) -> Quarantine:
    memories = _memories(index, state.memories)
    return Quarantine(
        state.id,
        state.source,
        memories,
        state.why,
        from_micros(state.hidden_at_micros),
        released=state.released is not None,
    )


def _affected_memory_ids(index: Index, source: str) -> list[str]:
    """The visible memories whose present version is from a source, or was derived from what is."""
    position = index.catalog.position
    rows = index.rows_from_sources((source,), position)
    current = index.catalog.restrict_to_active(index.catalog.visible_mask(position), position)
    numbers = [index.catalog.memory_of(row) for row in np.flatnonzero(rows & current).tolist()]
    return [index.catalog.ids[number] for number in dict.fromkeys(numbers)]


def _memories(index: Index, ids: Sequence[str]) -> tuple[Memory, ...]:
    position = index.catalog.position
    numbers = (index.catalog.number(id_) for id_ in ids)
    rows = [index.catalog.row_at(number, position) for number in numbers if number is not None]
    return tuple(index.readable_memories([row for row in rows if row is not None]))
