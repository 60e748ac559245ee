"""Which memories a space has, in which versions, and which of them a view may see.

The catalog numbers versions (rows) in ledger order and stores what filters need: the positions between
which a version is active, its window, kind, tags and expiry. It contains no text: that stays in the ledger.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from remanence.events import Forgotten, Remembered
from remanence.schema import MEMORY_KINDS, OPEN_END, OPEN_START, Entry, Window, from_micros, micros, window_to_micros
from remanence.state.columns import Column, pack, pack_texts, unpack, unpack_texts

MEMORY_ENTRY_KINDS = ("remembered", "forgotten", "restored", "erased")
"""The kinds of entries that change which memories are visible."""
_MAX_CACHED_MASKS = 8
_COLUMN_TYPES = {
    "last_row": np.int64,  # of each memory; the others are of each row
    "memory": np.int64,
    "earlier": np.int64,  # the row of the previous version, or -1
    "opened": np.int64,  # the ledger position
    "revised": np.int64,  # the ledger position of the next version, or OPEN_END
    "valid_from": np.int64,
    "valid_until": np.int64,
    "expires": np.int64,
    "recorded": np.int64,
    "importance": np.float32,
    "kind": np.int8,
    "said": np.int64,  # the time of a chat turn
}


class Catalog:
    """The versions of one space, by row."""

    def __init__(self) -> None:
        self.position = 0
        self.ids: list[str] = []
        self._number: dict[str, int] = {}
        self._by_identity: dict[str, int] = {}
        self.content_digests: list[str] = []
        self._tags: dict[str, list[int]] = {}
        self._next_turns: dict[str, int] = {}
        self._columns = {name: Column(dtype) for name, dtype in _COLUMN_TYPES.items()}
        # Spans over which a memory is hidden: (memory, from position, until position).
        self._hidden = Column(np.int64, width=3)
        self._open_spans: dict[int, int] = {}  # by memory: the span that hides it now
        self._archived: set[int] = set()  # the spans that archive a memory
        self._reasons: dict[int, list[int]] = {}  # by memory: the entries that say why it was forgotten
        self._erased: dict[int, int] = {}  # by memory: the entry that erased it
        self._last_change = 0  # the last position at which visibility changed
        self._masks: dict[int, NDArray[np.bool_]] = {}

    def __len__(self) -> int:
        return len(self._columns["opened"])

    def apply_versions(self, entries: Sequence[Entry]) -> None:
        """Apply entries of kind "remembered", in order, all after `position`: each adds a row."""
        if not entries:
            return
        self.position = self._last_change = entries[-1].position
        self._masks = {}
        first_row = len(self)
        memories = [self._intern(entry.subject) for entry in entries]
        versions = [entry.event if isinstance(entry.event, Remembered) else None for entry in entries]
        # Only `erase` removes the text of an entry, and it hides the memory in every view.
        windows = [(OPEN_START, OPEN_END) if each is None else window_to_micros(each.valid) for each in versions]
        expiries = [None if each is None else each.expires_at for each in versions]
        turns = [None if each is None else each.turn for each in versions]
        # Column by column: adding the values row by row takes as long as all the rest.
        values: dict[str, Sequence[float]] = {
            "memory": memories,
            "earlier": [-1] * len(entries),
            "opened": [entry.position for entry in entries],
            "revised": [OPEN_END] * len(entries),
            "valid_from": [start for start, _ in windows],
            "valid_until": [end for _, end in windows],
            "expires": [OPEN_END if expiry is None else micros(expiry) for expiry in expiries],
            "recorded": [micros(entry.at) for entry in entries],
            "importance": [0.0 if each is None else each.importance for each in versions],
            "kind": [0 if each is None else MEMORY_KINDS.index(each.kind) for each in versions],
            "said": [OPEN_START if turn is None or turn.at is None else micros(turn.at) for turn in turns],
        }
        for name, column in values.items():
            self._columns[name].extend(column)
        for row, (memory, version) in enumerate(zip(memories, versions, strict=True), first_row):
            if version is not None:
                self._index_version(row, memory, version)
            if memory == len(self._columns["last_row"]):
                self._columns["last_row"].append(row)
            else:
                self._replace_last_row(memory, row)

    def apply_entry(self, entry: Entry) -> None:
        """Apply an entry of another kind. One at or below `position` is ignored."""
        if entry.position <= self.position:
            return
        self.position = entry.position
        if entry.kind in MEMORY_ENTRY_KINDS:
            self._last_change, self._masks = entry.position, {}
        memory = self._number.get(entry.subject)
        if memory is None:
            return
        if entry.kind == "forgotten":
            event = entry.event if isinstance(entry.event, Forgotten) else None
            self._hide(memory, entry.position, archived=event is not None and event.archived)
            if event is not None and event.why is not None:
                self._reasons.setdefault(memory, []).append(entry.position)
        elif entry.kind == "restored":
            self._show(memory, entry.position)
        elif entry.kind == "erased":
            self._erase(memory, entry.position)

    # Memories and rows

    def number(self, memory_id: str) -> int | None:
        """The number of a memory, or None if this space has none with that id."""
        return self._number.get(memory_id)

    def is_erased(self, memory: int) -> bool:
        """Whether the text of a memory was erased."""
        return memory in self._erased

    def positions_of_memory(self, memory: int) -> list[int]:
        """The positions of all entries with text about a memory: its versions, and why it was forgotten."""
        return self.positions_of_rows(self.rows_of(memory)) + self._reasons.get(memory, [])

    def visibility_changes(self, memory: int) -> list[int]:
        """The positions at which a memory was hidden, shown again, or erased."""
        spans = self._hidden.values
        positions: list[int] = spans[spans[:, 0] == memory, 1:].ravel().tolist()
        return sorted({each for each in (*positions, self._erased.get(memory, 0)) if 0 < each < OPEN_END})

    def with_identity(self, identity: str) -> int | None:
        """The number of the memory whose latest version has this identity."""
        return self._by_identity.get(identity)

    def rows_of(self, memory: int) -> list[int]:
        """Every version of a memory, oldest first."""
        rows = [int(self._values("last_row")[memory])]
        while (earlier := int(self._values("earlier")[rows[-1]])) >= 0:
            rows.append(earlier)
        return rows[::-1]

    def memory_of(self, row: int) -> int:
        """The memory that a row is a version of."""
        return int(self._values("memory")[row])

    def memories_among(self, rows: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """The memories, by number, that have a version among these rows."""
        out = np.zeros(len(self.ids), np.bool_)
        out[self._values("memory")[rows]] = True
        return out

    def rows_among(self, memories: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """The rows that are versions of these memories."""
        rows: NDArray[np.bool_] = memories[self._values("memory")]
        return rows

    def positions_of_rows(self, rows: Sequence[int]) -> list[int]:
        """The ledger positions of these rows."""
        return self._values("opened")[list(rows)].tolist()  # type: ignore[no-any-return]

    def recorded_at(self, row: int) -> datetime:
        """When a row was recorded."""
        return from_micros(int(self._values("recorded")[row]))

    def first_recorded(self, memory: int) -> datetime:
        """When the first version of a memory was recorded."""
        return self.recorded_at(self.rows_of(memory)[0])

    def next_turn(self, conversation: str) -> int:
        """The number of the next turn of this conversation."""
        return self._next_turns.get(conversation, 0)

    def is_visible(self, memory: int, position: int) -> bool:
        """Whether a memory is not hidden at this position."""
        return memory not in self._hidden_at(self._hidden.values, position)

    def hidden_since(self, memory: int) -> int | None:
        """The position of the entry that hides a memory now; None for an erased one."""
        span = self._open_spans.get(memory)
        return None if span is None else int(self._hidden.values[span, 1])

    def archived_mask(self, position: int) -> NDArray[np.bool_]:
        """The memories, by number, that are archived at this position."""
        out = np.zeros(len(self.ids), np.bool_)
        out[self._hidden_at(self._hidden.values[sorted(self._archived)], position)] = True
        out[list(self._erased)] = False
        return out

    def with_archive(self) -> Catalog:
        """A read-only copy in which archived memories are visible."""
        out = copy(self)
        spans, archived = self._hidden.values.copy(), sorted(self._archived)
        spans[archived, 2] = spans[archived, 1]  # empty; the indexes of the others do not change
        out._hidden, out._masks = Column(np.int64, spans), {}
        out._open_spans = {m: span for m, span in self._open_spans.items() if span not in self._archived}
        return out

    def row_at(self, memory: int, position: int) -> int | None:
        """The version of a memory at this position, hidden or not."""
        opened = self._values("opened")
        return next((row for row in reversed(self.rows_of(memory)) if opened[row] <= position), None)

    def row_count(self, position: int) -> int:
        """How many rows there are at this position."""
        return int(np.searchsorted(self._values("opened"), position, side="right"))

    def last_rows(self, position: int) -> NDArray[np.int64]:
        """The last version of each memory at this position, hidden or not, in the order of the memories."""
        rows = np.flatnonzero((self._values("opened") <= position) & (self._values("revised") > position))
        ordered: NDArray[np.int64] = rows[np.argsort(self._values("memory")[rows])]
        return ordered

    def count_kinds(self, rows: NDArray[np.int64]) -> dict[str, int]:
        """How many of these rows have which kind."""
        counts = np.bincount(self._values("kind")[rows], minlength=len(MEMORY_KINDS)).tolist()
        return {kind: count for kind, count in zip(MEMORY_KINDS, counts, strict=True) if count}

    def erased_mask(self, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which of these rows belong to erased memories."""
        return np.isin(self._values("memory")[rows], list(self._erased))

    def active(self, rows: NDArray[np.int64], position: int) -> NDArray[np.bool_]:
        """Which of these rows have no later version."""
        return self._values("revised")[rows] > position

    def active_among(self, rows: NDArray[np.bool_], position: int) -> NDArray[np.bool_]:
        """The rows of this mask that have no later version."""
        active: NDArray[np.bool_] = rows & (self._values("revised") > position)
        return active

    def current(self, rows: NDArray[np.int64], position: int, now: datetime) -> NDArray[np.bool_]:
        """Which of these rows have no later version and have not expired."""
        return self.active(rows, position) & (self._values("expires")[rows] > micros(now))

    def successor(self, row: int, position: int) -> int | None:
        """The version at `position` that replaced this one; None if this one is the latest."""
        return None if self._values("revised")[row] > position else self.row_at(self.memory_of(row), position)

    def importance(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """The importance of each row."""
        return self._values("importance")[rows]

    def event_times(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """The start of the window of each row in microseconds; if that is open, when it was recorded."""
        starts = self._values("valid_from")[rows]
        return np.where(starts == OPEN_START, self._values("recorded")[rows], starts)

    def turn_times(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """When each row was said, in microseconds, if it is a chat turn; else OPEN_START."""
        return self._values("said")[rows]

    # Visibility

    def visible(self, position: int) -> NDArray[np.bool_]:
        """The rows that exist at `position` and are not hidden. The array is shared: do not change it."""
        position = min(position, self._last_change)
        if position in self._masks:
            return self._masks[position]
        mask = self._values("opened") <= position
        if len(self._hidden):
            hidden = np.zeros(len(self.ids), np.bool_)
            hidden[self._hidden_at(self._hidden.values, position)] = True
            mask &= ~hidden[self._values("memory")]
        mask.flags.writeable = False
        if len(self._masks) >= _MAX_CACHED_MASKS:
            self._masks.clear()
        self._masks[position] = mask
        return mask

    def allowed(
        self,
        visible: NDArray[np.bool_],
        position: int,
        *,
        now: datetime,
        history: bool,
        kinds: Sequence[str] | None = None,
        tags: Sequence[str] | None = None,
        during: Window | None = None,
    ) -> NDArray[np.bool_]:
        """The visible rows that pass every filter. A row has to have all of `tags`."""
        mask: NDArray[np.bool_] = visible.copy()
        if not history:
            mask &= self._values("revised") > position
            mask &= self._values("expires") > micros(now)
        if kinds is not None:
            mask &= np.isin(self._values("kind"), [MEMORY_KINDS.index(kind) for kind in kinds])
        for tag in tags or ():
            tagged = np.zeros(len(mask), np.bool_)
            tagged[self._tags.get(tag, [])] = True
            mask &= tagged
        if during is not None:
            start, end = window_to_micros(during)
            mask &= (self._values("valid_from") < end) & (self._values("valid_until") > start)
        return mask

    # Snapshots

    def save(self) -> Mapping[str, NDArray[Any]]:
        values = {
            "tags": self._tags,
            "turns": self._next_turns,
            "hiding": list(self._open_spans.items()),
            "archived": sorted(self._archived),
            "reasons": list(self._reasons.items()),
            "erased": sorted(self._erased.items()),
        }
        return {
            "ids": pack_texts(self.ids),
            "contents": pack_texts(self.content_digests),
            "identities": pack_texts(self._by_identity),
            "identified": np.fromiter(self._by_identity.values(), np.int64, len(self._by_identity)),
            "words": pack(values),
            "position": np.array([self.position]),
            "hidden": self._hidden.values,
            **{name: column.values for name, column in self._columns.items()},
        }

    def load(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        values = unpack(arrays["words"])
        self.position = self._last_change = int(arrays["position"][0])
        self._masks = {}
        self.ids, self.content_digests = unpack_texts(arrays["ids"]), unpack_texts(arrays["contents"])
        self._number = {memory_id: number for number, memory_id in enumerate(self.ids)}
        identities = unpack_texts(arrays["identities"])
        self._by_identity = dict(zip(identities, arrays["identified"].tolist(), strict=True))
        self._tags, self._next_turns = values["tags"], values["turns"]
        self._open_spans, self._reasons = dict(values["hiding"]), dict(values["reasons"])
        self._archived, self._erased = set(values["archived"]), dict(values["erased"])
        self._hidden = Column(np.int64, arrays["hidden"])
        self._columns = {name: Column(dtype, arrays[name]) for name, dtype in _COLUMN_TYPES.items()}

    # Helpers

    def _values(self, column: str) -> NDArray[Any]:
        return self._columns[column].values

    def _intern(self, memory_id: str) -> int:
        memory = self._number.setdefault(memory_id, len(self.ids))
        if memory == len(self.ids):
            self.ids.append(memory_id)
            self.content_digests.append("")
        return memory

    def _index_version(self, row: int, memory: int, version: Remembered) -> None:
        self.content_digests[memory] = version.content
        self._by_identity[version.identity] = memory
        for tag in version.tags:
            self._tags.setdefault(tag, []).append(row)
        if version.turn is not None:
            conversation = version.turn.conversation
            self._next_turns[conversation] = max(version.turn.number + 1, self.next_turn(conversation))

    def _replace_last_row(self, memory: int, row: int) -> None:
        position = int(self._values("opened")[row])
        last = self._values("last_row")[memory]
        self._values("earlier")[row] = last
        self._values("revised")[last] = position
        self._values("last_row")[memory] = row
        self._show(memory, position)  # a new version of a forgotten memory makes it visible again

    @staticmethod
    def _hidden_at(spans: NDArray[np.int64], position: int) -> NDArray[np.int64]:
        """The memories that these spans hide at a position."""
        memories: NDArray[np.int64] = spans[(spans[:, 1] <= position) & (position < spans[:, 2]), 0]
        return memories

    def _hide(self, memory: int, position: int, *, archived: bool) -> None:
        if not archived and self._open_spans.get(memory) in self._archived:
            self._show(memory, position)  # forgetting an archived memory removes it from the archive
        if memory not in self._open_spans:
            span = len(self._hidden)
            self._hidden.append((memory, position, OPEN_END))
            self._open_spans[memory] = span
            if archived:
                self._archived.add(span)

    def _show(self, memory: int, position: int) -> None:
        span = self._open_spans.pop(memory, None)
        if span is not None:
            self._hidden.values[span, 2] = position

    def _erase(self, memory: int, position: int) -> None:
        self._hidden.append((memory, 0, OPEN_END))
        self._erased[memory] = position
        self._reasons.pop(memory, None)
        self.content_digests[memory] = ""
        self._by_identity = {identity: number for identity, number in self._by_identity.items() if number != memory}
        erased = set(self.rows_of(memory))
        tags = ((tag, [row for row in rows if row not in erased]) for tag, rows in self._tags.items())
        self._tags = {tag: rows for tag, rows in tags if rows}
        # The same text added again after this is another memory: the old id stays erased.
        self._open_spans.pop(memory, None)
