"""The index of one space: lookups in what its ledger entries add up to."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from copy import copy
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from remanence.errors import LedgerCorrupt, LedgerTampered, NotFound
from remanence.events import Erased, Forgotten, Remembered, Restored
from remanence.index.memory_cache import RowErased
from remanence.index.numbers import MemoryNumber, Position, Row
from remanence.index.projection import Projection
from remanence.ledger.codec import find_damage
from remanence.schema import Change, Entry, Memory, Snapshot
from remanence.text.temporal import date_order_evidence, has_numeric_date

if TYPE_CHECKING:
    from remanence.index.versions.catalog import Catalog
    from remanence.ports import Signal


class Index(Projection):
    """Everything needed to answer questions about one space. Use it under its `lock`."""

    def signals_for(self, names: Collection[str] | None) -> list[Signal]:
        return [signal for name, signal in self.signals.items() if names is None or name in names]

    def memories(self, rows: Sequence[Row]) -> list[Memory]:
        """The memories of these rows, in this order. No row may be erased."""
        with self.lock:
            return self.cache.get_many(self.catalog.positions_of_rows(rows), self._read)

    def readable_memories(self, rows: Sequence[Row]) -> list[Memory]:
        """The memories of these rows, in this order, without those that were erased."""
        with self.lock:
            while True:
                readable = np.array(rows, np.int64)
                readable = readable[~self.catalog.erased_mask(readable)]
                try:
                    return self.memories(readable.tolist())
                except RowErased:
                    self.catch_up()

    def require_number(self, memory_id: str) -> MemoryNumber:
        number = self.catalog.number(memory_id)
        if number is None:
            advice = "Ids are those of memories that were added or found, and belong to one space."
            raise NotFound(f"space {self.space!r} has no memory {memory_id!r}. {advice}")
        return number

    def require_unerased(self, memory_id: str) -> MemoryNumber:
        number = self.require_number(memory_id)
        if self.catalog.hidden.is_erased(number):
            raise NotFound(f"memory {memory_id!r} was erased: its text cannot be restored.")
        return number

    def require_visible(self, memory_id: str, position: Position) -> Row:
        """The version of a memory at a position; NotFound if there is none, or it is hidden there."""
        self.require_unerased(memory_id)
        row = self.current_row(memory_id, position)
        if row is None:
            advice = f"Restore it first: space.unforget({memory_id!r})."
            raise NotFound(f"memory {memory_id!r} is forgotten or archived. {advice}")
        return row

    def current_row(self, memory_id: str, position: Position) -> Row | None:
        """The version of a memory at a position; None if there is none, or it is hidden there."""
        number = self.catalog.number(memory_id)
        if number is None or not self.catalog.hidden.is_visible(number, position):
            return None
        return self.catalog.row_at(number, position)

    def visible_memories(self, ids: Iterable[str], position: Position) -> list[Memory]:
        """The memories with these ids at a position, in this order, without those that are hidden or erased."""
        with self.lock:
            rows = (self.current_row(memory_id, position) for memory_id in ids)
            return self.readable_memories([row for row in rows if row is not None])

    def shows(self, memory_id: str) -> bool:
        """Whether there is such a memory, and it is not hidden now."""
        return self.current_row(memory_id, self.catalog.position) is not None

    def latest_version(self, memory_id: str) -> Remembered | None:
        """The latest version of a memory; None if there is none, or it was erased."""
        with self.lock:
            number = self.catalog.number(memory_id)
            row = None if number is None else self.catalog.row_at(number, self.catalog.position)
            if row is None:
                return None
            [position] = self.catalog.positions_of_rows([row])
            event = self.entries_at([position])[position].event
            return event if isinstance(event, Remembered) else None

    def entries_at(self, positions: Sequence[int]) -> dict[int, Entry]:
        """Entries that this index was built from; LedgerTampered if one is not in the ledger any more."""
        entries = self._ledger.entries_at(positions)
        for position in positions:
            if position not in entries:
                raise LedgerTampered(
                    f"entry {position} of space {self.space!r} is not in the ledger any more. Run `verify()`, and "
                    "restore a backup.",
                    position=position,
                )
        return entries

    def change_from_entry(self, entry: Entry) -> Change | None:
        """What an entry did to a memory; None for other entries, and for erased ones."""
        event = entry.event
        if isinstance(event, Remembered):
            if self.contents.is_erased(entry.subject):  # its text was put back from an older copy
                return None
            return Change(entry.position, entry.at, entry.kind, entry.subject, self._memory(entry, event))
        if isinstance(event, Forgotten):
            return Change(entry.position, entry.at, entry.kind, entry.subject, why=event.why)
        if isinstance(event, Erased) and self.catalog.number(event.memory) is None:
            return None  # a relation or a link
        if isinstance(event, Restored | Erased):
            return Change(entry.position, entry.at, entry.kind, entry.subject)
        return None

    def snapshot(self, position: Position, now: datetime) -> Snapshot:
        with self.lock:
            visible = self.catalog.visible_mask(position)
            if self._snapshot_masks is None or self._snapshot_masks[0] is not visible:
                rows = self.catalog.restrict_to_active(visible, position)
                self._snapshot_masks = visible, rows, self.catalog.memories_of_rows(rows)
            return Snapshot(position, now, *self._snapshot_masks[1:])

    def with_archive(self) -> Index:
        """A read-only copy of this index in which archived memories are visible."""
        with self.lock:
            return self._with_catalog(self.catalog.with_archive())

    def rows_from_sources(self, names: Collection[str], position: Position) -> NDArray[np.bool_]:
        """The versions that come from these sources, observers or conversations alone, and those of memories that were
        derived from them."""
        with self.lock:
            rows = self.fields.only_source_mask(names)
            others = self.catalog.memories_of_rows(~rows)
            derived = self.links.derived_only_from(self.catalog.memories_of_rows(rows) & ~others, position)
            return rows | self.catalog.rows_of_memories(derived)

    def without_rows(self, excluded: NDArray[np.bool_]) -> Index:
        """A read-only copy of this index as if these versions had never been written."""
        with self.lock:
            return self._with_catalog(self.catalog.without_rows(excluded))

    def with_aliases(self, names: Sequence[str], position: Position) -> tuple[str, ...]:
        names_with_aliases: dict[str, None] = dict.fromkeys(names)
        for name in names:
            number = self.names.number(name)
            same = () if number is None else self.registry.names_of_same_entity(number, position)
            names_with_aliases |= dict.fromkeys(self.names.spellings[other] for other in same)
        return tuple(names_with_aliases)

    def current_rows(self, position: Position) -> list[Row]:
        """The active rows at this position, in the order they were written; expired ones included."""
        with self.lock:
            active = self.catalog.restrict_to_active(self.catalog.visible_mask(position), position)
            return [*np.flatnonzero(active).tolist()]

    def expired_rows(self, position: Position, now: datetime) -> list[Row]:
        """The active rows that have expired and that `upkeep.expire` has not recorded yet."""
        with self.lock:
            rows = np.array(self.current_rows(position), np.int64)
            ended = rows[~self.catalog.current_mask(rows, position, now)].tolist()
            ids, memory_of = self.catalog.ids, self.catalog.memory_of
            return [row for row in ended if ids[memory_of(row)] not in self.journal.expiry_positions]

    def record_recalled(self, memories: Iterable[Memory]) -> None:
        with self.lock:
            self.cache.record_recalled(memories)

    def date_order(self, position: Position, texts: Iterable[str]) -> bool | None:
        """Whether the day comes first in the dates of these texts: by the setting, or by the unambiguous dates in them
        and in the space. None if there are none, or if the texts have no such date."""
        texts = [text for text in texts if has_numeric_date(text)]
        if self._day_first is not None or not texts:
            return self._day_first
        day_first_evidence = self.times.date_order_evidence(self.catalog.visible_mask(position)) + sum(
            map(date_order_evidence, texts)
        )
        return None if day_first_evidence == 0 else day_first_evidence > 0

    def find_damage_in_read_entries(self) -> LedgerCorrupt | None:
        """The error that names an entry with a value of a wrong type, among those of the memories that were read. An
        index that was loaded from its file has not read the entries."""
        with self.lock:
            return find_damage(self._ledger.entries_at(self.cache.positions()).values())

    def _with_catalog(self, catalog: Catalog) -> Index:
        index = copy(self)
        index.contents, index._snapshot_masks = copy(self.contents), None
        index.contents.catalog = catalog
        return index

    def _read(self, positions: Sequence[int]) -> dict[int, Memory]:
        memories: dict[int, Memory] = {}
        for position, entry in self.entries_at(positions).items():
            if not isinstance(entry.event, Remembered):
                erased = self.contents.is_erased(entry.subject)  # by another thread, and the index has applied it
                raise (
                    RowErased(f"entry {position} was erased")
                    if erased
                    else self._missing_text(entry.position, self.contents)
                )
            memories[position] = self._memory(entry, entry.event)
        return memories

    def _memory(self, entry: Entry, event: Remembered) -> Memory:
        try:
            number = self.catalog.number(event.memory)
        except TypeError as error:  # it is a list or a dict
            raise find_damage([entry]) or error from error
        return memory_from_entry(entry, event, entry.at if number is None else self.catalog.first_recorded(number))


def memory_from_entry(entry: Entry, event: Remembered, recorded_at: Any) -> Memory:
    # In the order of its fields, because it is done for every memory that is added or read: by name it takes twice as
    # long.
    return Memory(
        *(event.memory, entry.space, event.text, event.key, event.kind, event.valid, recorded_at, entry.at),
        event.told_at or (entry.at if event.turn is None else event.turn.at or entry.at),
        *(event.importance, event.confidence, event.strength, event.tags, event.source, event.observed_by),
        *(event.expires_at, event.mentions, event.triples, event.turn, event.meta, event.trust),
    )
