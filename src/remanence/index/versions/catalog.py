"""Which memories a space has, in which versions, and which of them a view may see.

The catalog numbers versions (rows) in ledger order and stores the positions between which each is active. What is known
of a row besides is in the parts of the catalog: which memories are hidden, the times, the attributes and the digests.
It contains no text: that stays in the ledger.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from datetime import datetime
from typing import Any, ClassVar
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from remanence.events import Forgotten, Quarantined, Released
from remanence.index.arrays.codecs import COLUMN, GROWING, INTERNED, JSON, SavedPart
from remanence.index.arrays.columns import Column, Interner
from remanence.index.batch import Batch
from remanence.index.numbers import MemoryNumber, Position, Row
from remanence.index.versions.version_columns import HiddenMemories, RowAttributes, VersionDigests, VersionTimes
from remanence.schema import MEMORY_KINDS, OPEN_END, Entry, Window

_NO_TEXT = -1
"""Stands for the checksum of a text where a version has none, as it was forgotten."""
MEMORY_ENTRY_KINDS = ("remembered", "forgotten", "restored", "erased", "quarantined", "released")


class Catalog(SavedPart):
    """The versions of one space, by row."""

    _saved: ClassVar = {
        **dict.fromkeys(("position", "_last_change"), JSON),
        **dict.fromkeys(("_last_row", "_revised"), COLUMN),
        **dict.fromkeys(("memory_numbers", "_earlier", "_opened", "_texts", "_text_row"), GROWING),
        "_numbers": INTERNED,
    }

    def __init__(self) -> None:
        self.position = Position(0)
        self.hidden = HiddenMemories()
        self.times = VersionTimes()
        self.attributes = RowAttributes()
        self._digests = VersionDigests()
        self._numbers: Interner[str] = Interner()
        self._last_row = Column(np.int64)  # of each memory; the following are of each row
        self.memory_numbers = Column(np.int64)
        self._earlier = Column(np.int64)  # the row of the previous version, or -1
        self._opened = Column(np.int64)  # the ledger position
        self._revised = Column(np.int64)  # the ledger position of the next version, or OPEN_END
        self._texts = Column(np.int64)  # a checksum of the text
        self._text_row = Column(np.int64)  # the first of the versions with this text, up to this one
        self._last_change = Position(0)  # the last position at which visibility changed
        self._last_mask: tuple[Position, NDArray[np.bool_]] | None = None
        self._active: tuple[NDArray[np.bool_], int, NDArray[np.bool_]] | None = None  # visible, position, active

    @property
    def parts(self) -> dict[str, SavedPart]:
        """What the index file contains, by name. The catalog is loaded last."""
        return {
            "hidden": self.hidden,
            "version_times": self.times,
            "attributes": self.attributes,
            "digests": self._digests,
            "catalog": self,
        }

    def __len__(self) -> int:
        return len(self._opened)

    def load(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        super().load(arrays)
        self._digests.load_memories(self.memory_numbers.values)

    @property
    def ids(self) -> list[str]:
        return self._numbers.values

    def apply(self, batch: Batch) -> None:
        """Add a row for each version, or show or hide what an entry of another kind is about. A batch at or below
        `position` is ignored."""
        if batch.entries[-1].position <= self.position:
            return
        if batch.entry is None:
            self._add_versions(batch)
        else:
            self._apply_event(batch.entry)

    # Memories and rows

    def number(self, memory_id: str) -> MemoryNumber | None:
        number = self._numbers.number(memory_id)
        return None if number is None else MemoryNumber(number)

    def positions_of_memory(self, memory: MemoryNumber) -> list[Position]:
        """The positions of all entries with text about a memory: its versions, and why it was forgotten."""
        return self.positions_of_rows(self.rows_of(memory)) + self.hidden.reasons_of(memory)

    def find_by_identity(self, identity: str) -> MemoryNumber | None:
        """The number of the memory whose latest version has this identity."""
        number = self._digests.memory_with_identity(identity)
        return None if number is None or self.hidden.is_erased(number) else number

    def has_content(self, memory: MemoryNumber, content: str) -> bool:
        """Whether the latest version of a memory has this content digest."""
        return self._digests.has_content(self._last_row.values[memory], content)

    def has_text(self, memory: MemoryNumber) -> bool:
        """Whether a version of a memory was indexed with its text: it was not erased by then."""
        return any(self._texts.values[row] != _NO_TEXT for row in self.rows_of(memory))

    def rows_of(self, memory: MemoryNumber) -> list[Row]:
        rows = [Row(int(self._last_row.values[memory]))]
        while (earlier := int(self._earlier.values[rows[-1]])) >= 0:
            rows.append(Row(earlier))
        return rows[::-1]

    def memory_of(self, row: Row) -> MemoryNumber:
        return MemoryNumber(int(self.memory_numbers.values[row]))

    def memories_of_rows(self, rows: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """The memories, by number, that have a version among these rows."""
        mask = np.zeros(len(self.ids), np.bool_)
        mask[self.memory_numbers.values[rows]] = True
        return mask

    def rows_of_memories(self, memories: NDArray[np.bool_]) -> NDArray[np.bool_]:
        rows: NDArray[np.bool_] = memories[self.memory_numbers.values]
        return rows

    def positions_of_rows(self, rows: Sequence[Row]) -> list[Position]:
        return self._opened.values[list(rows)].tolist()  # type: ignore[no-any-return]

    def first_recorded(self, memory: MemoryNumber) -> datetime:
        return self.times.recorded_at(self.rows_of(memory)[0])

    def previous_row(self, row: Row) -> Row | None:
        """The previous version of the memory of a row."""
        earlier = int(self._earlier.values[row])
        return Row(earlier) if earlier >= 0 else None

    def same_text(self, row: Row, other: int) -> bool:
        return bool(self._texts.values[row] == self._texts.values[other])

    @property
    def text_rows(self) -> NDArray[np.int64]:
        """For each row, the first version of its memory since which the text is the same."""
        return self._text_row.values

    def changed_after(
        self, memories: NDArray[np.int64], positions: NDArray[np.int64], position: Position
    ) -> NDArray[np.bool_]:
        """Which of these memories have another text at `position` than they had at their own position."""
        opened = self._opened.values[self._text_row.values]
        changed: NDArray[np.bool_] = opened[self._last_row.values[memories]] > positions
        for i in np.flatnonzero(changed).tolist():
            row = self.row_at(MemoryNumber(int(memories[i])), position)
            changed[i] = row is not None and opened[row] > positions[i]
        return changed

    def archived_mask(self, position: Position) -> NDArray[np.bool_]:
        """The memories, by number, that are in the archive at a position."""
        mask = np.zeros(len(self.ids), np.bool_)
        mask[self.hidden.archived_at(position)] = True
        return mask

    def with_archive(self) -> Catalog:
        """A read-only copy in which archived memories are visible."""
        catalog = copy(self)
        catalog.hidden, catalog._last_mask, catalog._active = self.hidden.without_archived(), None, None
        return catalog

    def row_at(self, memory: MemoryNumber, position: Position) -> Row | None:
        """The version of a memory at this position, hidden or not."""
        opened = self._opened.values
        return next((row for row in reversed(self.rows_of(memory)) if opened[row] <= position), None)

    def row_count(self, position: Position) -> int:
        return int(np.searchsorted(self._opened.values, position, side="right"))

    def last_rows(self, position: Position) -> NDArray[np.int64]:
        """The last version of each memory at this position, hidden or not, in the order of the memories."""
        rows = np.flatnonzero((self._opened.values <= position) & (self._revised.values > position))
        ordered: NDArray[np.int64] = rows[np.argsort(self.memory_numbers.values[rows])]
        return ordered

    def erased_mask(self, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        return np.isin(self.memory_numbers.values[rows], self.hidden.erased)

    def unerased_mask(self, rows: Sequence[Row]) -> NDArray[np.bool_]:
        """Those of these rows that were not erased, as a mask of all rows."""
        row_numbers, mask = np.array(rows, np.int64), np.zeros(len(self), np.bool_)
        mask[row_numbers[~self.erased_mask(row_numbers)]] = True
        return mask

    def active_mask(self, rows: NDArray[np.int64], position: Position) -> NDArray[np.bool_]:
        """Which of these rows have no later version."""
        return self._revised.values[rows] > position

    def restrict_to_active(self, rows: NDArray[np.bool_], position: Position) -> NDArray[np.bool_]:
        active: NDArray[np.bool_] = rows & (self._revised.values > position)
        return active

    def current_mask(self, rows: NDArray[np.int64], position: Position, now: datetime) -> NDArray[np.bool_]:
        """Which of these rows have no later version and have not expired."""
        return self.active_mask(rows, position) & self.times.unexpired_mask(rows, now)

    def ended_mask(self, rows: NDArray[np.int64], now: datetime) -> NDArray[np.bool_]:
        """Which of these rows tell a state that ended before `now`. Events are never over: they happened."""
        is_state: NDArray[np.bool_] = self.attributes.kinds[rows] != MEMORY_KINDS.index("episode")
        is_state &= self.times.ended_mask(rows, now)
        return is_state

    def successor(self, row: Row, position: Position) -> Row | None:
        """The version at `position` that replaced this one; None if this one is the latest."""
        return None if self._revised.values[row] > position else self.row_at(self.memory_of(row), position)

    def without_rows(self, excluded: NDArray[np.bool_]) -> Catalog:
        """A read-only copy as if these versions had never been written."""
        catalog = copy(self)
        opened, revised = self._opened.values.copy(), self._revised.values.copy()
        for row in np.flatnonzero(excluded).tolist()[::-1]:  # the latest first: what it revised is revised by its next
            earlier = int(self._earlier.values[row])
            if earlier >= 0:
                revised[earlier] = revised[row]
        opened[excluded] = OPEN_END
        catalog._opened, catalog._revised = Column(np.int64, opened), Column(np.int64, revised)
        catalog._last_mask = catalog._active = None
        return catalog

    # Visibility

    def visible_mask(self, position: Position) -> NDArray[np.bool_]:
        """The rows that exist at `position` and are not hidden. The array is shared: do not change it."""
        position = min(position, self._last_change)
        if self._last_mask is not None and self._last_mask[0] == position:
            return self._last_mask[1]
        mask = self._opened.values <= position
        if len(self.hidden):
            hidden = np.zeros(len(self.ids), np.bool_)
            hidden[self.hidden.memories_at(position)] = True
            mask &= ~hidden[self.memory_numbers.values]
        mask.flags.writeable = False
        self._last_mask = position, mask
        return mask

    def valid_mask(
        self, visible: NDArray[np.bool_], position: Position, *, now: datetime, history: bool, during: Window | None
    ) -> NDArray[np.bool_]:
        """The visible rows that are valid in this time; without `history`, only the latest versions."""
        mask: NDArray[np.bool_] = visible.copy() if history else self._cached_active_mask(visible, position).copy()
        if not history:
            self.times.remove_expired(mask, now)
        if during is not None:
            mask &= self.times.valid_mask(during)
        return mask

    def _cached_active_mask(self, visible: NDArray[np.bool_], position: Position) -> NDArray[np.bool_]:
        """The visible rows without a later version. A mask of many rows is made once for all questions in between two
        writes."""
        known = self._active
        if known is None or known[0] is not visible or known[1] != position:
            known = self._active = visible, position, self.restrict_to_active(visible, position)
        return known[2]

    def mask_with_texts(self, texts: Iterable[str]) -> NDArray[np.bool_]:
        """The rows with one of these texts."""
        return np.isin(self._texts.values, [_checksum(text) for text in texts])

    # Helpers

    def _add_versions(self, batch: Batch) -> None:
        entries, versions = batch.entries, batch.versions
        self.position = self._last_change = entries[-1].position
        self._last_mask = self._active = None
        memories = [MemoryNumber(self._numbers.intern(entry.subject)) for entry in entries]
        # Column by column: adding the values row by row takes as long as all the rest.
        self.memory_numbers.extend(memories)
        self._earlier.fill(len(entries), -1)
        self._opened.extend([entry.position for entry in entries])
        self._revised.fill(len(entries), OPEN_END)
        self._text_row.extend(range(batch.first, batch.first + len(entries)))
        self._texts.extend([_NO_TEXT if remembered is None else _checksum(remembered.text) for remembered in versions])
        self.times.apply(batch)
        self.attributes.apply(batch)
        self._digests.apply(batch, memories)
        known = len(self._last_row)
        first_rows: list[Row] = []  # of memories that are new
        later_rows: list[tuple[MemoryNumber, Row]] = []
        for (row, _), memory in zip(batch.numbered(), memories, strict=True):
            if memory == known + len(first_rows):
                first_rows.append(row)
            else:
                later_rows.append((memory, row))
        self._last_row.extend(first_rows)
        for memory, row in later_rows:
            self._replace_last_row(memory, row)

    def _apply_event(self, entry: Entry) -> None:
        self.position = entry.position
        if entry.kind in MEMORY_ENTRY_KINDS:
            self._last_change, self._last_mask, self._active = entry.position, None, None
        if isinstance(entry.event, Quarantined | Released):
            self._quarantine_or_release(entry.event, entry.position)
            return
        memory = self.number(entry.subject)
        if memory is None:
            return
        if entry.kind == "forgotten":
            event = entry.event if isinstance(entry.event, Forgotten) else None
            self.hidden.hide(memory, entry.position, archived=event is not None and event.archived)
            if event is not None and event.why is not None:
                self.hidden.add_reason(memory, entry.position)
        elif entry.kind == "restored":
            self.hidden.show(memory, entry.position)
        elif entry.kind == "erased":
            self.hidden.erase(memory, entry.position)

    def _replace_last_row(self, memory: MemoryNumber, row: Row) -> None:
        position = Position(int(self._opened.values[row]))
        last = self._last_row.values[memory]
        self._earlier.values[row] = last
        self._revised.values[last] = position
        if self.same_text(row, int(last)):
            self._text_row.values[row] = self._text_row.values[last]
        self._last_row.values[memory] = row
        self.hidden.show(memory, position)  # a new version of a forgotten memory makes it visible again

    def _quarantine_or_release(self, event: Quarantined | Released, position: Position) -> None:
        numbers = [number for memory_id in event.memories if (number := self.number(memory_id)) is not None]
        for memory in numbers:
            if self.hidden.is_erased(memory):
                continue
            if isinstance(event, Quarantined):
                self.hidden.hide(memory, position)
            else:
                self.hidden.show(memory, position)


def _checksum(text: str) -> int:
    return crc32(text.encode("utf-8", "surrogatepass"))
