"""Which memories a space has, in which versions, and which of them a view may see.

The catalog numbers versions (rows) in ledger order and stores what filters need: the positions between
which a version is active, its window, kind, tags and expiry. It contains no text: that stays in the ledger.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from datetime import datetime
from hashlib import blake2b
from typing import Any, ClassVar
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from remanence.events import Forgotten, Quarantined, Released, Remembered
from remanence.schema import MEMORY_KINDS, OPEN_END, OPEN_START, Entry, Window, from_micros, micros, window_to_micros
from remanence.state.arrays.columns import (
    COLUMN,
    COLUMNS,
    DICT_CODEC,
    GROWING,
    INTERNED,
    JSON,
    Codec,
    Column,
    Interner,
    SavedPart,
    pack,
    unpack,
)

_NO_TEXT = -1
_DIGEST_SIZE = 12
_NO_DIGEST = bytes(_DIGEST_SIZE)
_HEXADECIMAL = frozenset("0123456789abcdef")
MEMORY_ENTRY_KINDS = ("remembered", "forgotten", "restored", "erased", "quarantined", "released")
"""The kinds of entries that change which memories are visible."""


class Catalog(SavedPart):
    """The versions of one space, by row."""

    _saved: ClassVar = {
        **dict.fromkeys(("position", "_last_change"), JSON),
        "_tags": COLUMNS,
        **dict.fromkeys(("_open_spans", "_reasons", "_erased"), DICT_CODEC),
        **dict.fromkeys(("_last_row", "_revised", "_hidden", "_next_turns"), COLUMN),
        **dict.fromkeys(("_memory", "_earlier", "_opened", "_valid_from", "_valid_until", "_expires"), GROWING),
        **dict.fromkeys(("_recorded", "_importance", "_kind", "_said", "_texts", "_text_row", "_trust"), GROWING),
        **dict.fromkeys(("_identities", "_contents"), GROWING),
        **dict.fromkeys(("_numbers", "_conversations"), INTERNED),
        "_archived": Codec(lambda spans: pack(sorted(spans)), lambda array: set(unpack(array))),
    }

    def __init__(self) -> None:
        self.position = 0
        self._numbers: Interner[str] = Interner()
        self._by_identity: dict[bytes, int] = {}
        self._tags: dict[str, Column] = {}
        self._conversations: Interner[str] = Interner()
        self._next_turns = Column(np.int64)  # of each conversation
        self._last_row = Column(np.int64)  # of each memory; the following are of each row
        self._memory = Column(np.int64)
        self._earlier = Column(np.int64)  # the row of the previous version, or -1
        self._opened = Column(np.int64)  # the ledger position
        self._revised = Column(np.int64)  # the ledger position of the next version, or OPEN_END
        self._valid_from, self._valid_until = Column(np.int64), Column(np.int64)
        self._expires, self._recorded = Column(np.int64), Column(np.int64)
        self._importance, self._kind = Column(np.float32), Column(np.int8)
        self._trust = Column(np.float32)
        self._said = Column(np.int64)  # the time of a chat turn
        self._identities, self._contents = Column(np.uint8, width=_DIGEST_SIZE), Column(np.uint8, width=_DIGEST_SIZE)
        self._texts = Column(np.int64)  # a checksum of the text
        self._text_row = Column(np.int64)  # the first of the versions with this text, up to this one
        # Spans over which a memory is hidden: (memory, from position, until position).
        self._hidden = Column(np.int64, width=3)
        self._open_spans: dict[int, int] = {}  # by memory: the span that hides it now
        self._archived: set[int] = set()  # the spans that archive a memory
        self._reasons: dict[int, list[int]] = {}  # by memory: the entries that say why it was forgotten
        self._erased: dict[int, int] = {}  # by memory: the entry that erased it
        self._last_change = 0  # the last position at which visibility changed
        self._last_mask: tuple[int, NDArray[np.bool_]] | None = None
        self._active: tuple[NDArray[np.bool_], int, NDArray[np.bool_]] | None = None  # visible, position, active
        self._first_expiry = OPEN_END

    def __len__(self) -> int:
        return len(self._opened)

    def load(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        super().load(arrays)
        self._first_expiry = int(self._expires.values.min(initial=OPEN_END))
        self._by_identity = dict(
            zip(_rows_of_bytes(self._identities.values), self._memory.values.tolist(), strict=True)
        )
        self._by_identity.pop(_NO_DIGEST, None)

    @property
    def ids(self) -> list[str]:
        return self._numbers.values

    def apply_versions(self, entries: Sequence[Entry]) -> None:
        """Apply entries of kind "remembered", in order, all after `position`: each adds a row."""
        if not entries:
            return
        self.position = self._last_change = entries[-1].position
        self._last_mask = self._active = None
        first_row = len(self)
        memories = [self._numbers.intern(entry.subject) for entry in entries]
        versions = [entry.event if isinstance(entry.event, Remembered) else None for entry in entries]
        # Only `erase` removes the text of an entry, and it hides the memory in every view.
        windows = [
            (OPEN_START, OPEN_END) if remembered is None else window_to_micros(remembered.valid)
            for remembered in versions
        ]
        expiries = [None if remembered is None else remembered.expires_at for remembered in versions]
        turns = [None if remembered is None else remembered.turn for remembered in versions]
        # Column by column: adding the values row by row takes as long as all the rest.
        self._memory.extend(memories)
        self._earlier.fill(len(entries), -1)
        self._opened.extend([entry.position for entry in entries])
        self._revised.fill(len(entries), OPEN_END)
        self._valid_from.extend([start for start, _ in windows])
        self._valid_until.extend([end for _, end in windows])
        ends = [OPEN_END if expiry is None else micros(expiry) for expiry in expiries]
        self._first_expiry = min(self._first_expiry, *ends)
        self._expires.extend(ends)
        self._recorded.extend([micros(entry.at) for entry in entries])
        self._text_row.extend(range(first_row, first_row + len(entries)))
        self._texts.extend([_NO_TEXT if remembered is None else _checksum(remembered.text) for remembered in versions])
        self._importance.extend([0.0 if remembered is None else remembered.importance for remembered in versions])
        self._trust.extend([1.0 if remembered is None else remembered.trust for remembered in versions])
        self._kind.extend([0 if remembered is None else MEMORY_KINDS.index(remembered.kind) for remembered in versions])
        self._said.extend([OPEN_START if turn is None or turn.at is None else micros(turn.at) for turn in turns])
        identities = [
            _NO_DIGEST if remembered is None else _digest_bytes(remembered.identity) for remembered in versions
        ]
        contents = [_NO_DIGEST if remembered is None else _digest_bytes(remembered.content) for remembered in versions]
        self._identities.extend(_as_rows(identities))
        self._contents.extend(_as_rows(contents))
        self._by_identity.update(zip(identities, memories, strict=True))
        self._by_identity.pop(_NO_DIGEST, None)
        known = len(self._last_row)
        first_rows: list[int] = []  # of memories that are new
        later_rows: list[tuple[int, int]] = []
        for row, (memory, version) in enumerate(zip(memories, versions, strict=True), first_row):
            if version is not None:
                self._index_version(row, version)
            if memory == known + len(first_rows):
                first_rows.append(row)
            else:
                later_rows.append((memory, row))
        self._last_row.extend(first_rows)
        for memory, row in later_rows:
            self._replace_last_row(memory, row)

    def apply_entry(self, entry: Entry) -> None:
        """Apply an entry of another kind. One at or below `position` is ignored."""
        if entry.position <= self.position:
            return
        self.position = entry.position
        if entry.kind in MEMORY_ENTRY_KINDS:
            self._last_change, self._last_mask, self._active = entry.position, None, None
        if isinstance(entry.event, Quarantined | Released):
            self._hide_or_show(entry.event, entry.position)
            return
        memory = self._numbers.number(entry.subject)
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
        return self._numbers.number(memory_id)

    def is_erased(self, memory: int) -> bool:
        return memory in self._erased

    def positions_of_memory(self, memory: int) -> list[int]:
        """The positions of all entries with text about a memory: its versions, and why it was forgotten."""
        return self.positions_of_rows(self.rows_of(memory)) + self._reasons.get(memory, [])

    def visibility_changes(self, memory: int) -> list[int]:
        """The positions at which a memory was hidden, shown again, or erased."""
        spans = self._hidden.values
        positions: list[int] = spans[spans[:, 0] == memory, 1:].ravel().tolist()
        return sorted({position for position in (*positions, self._erased.get(memory, 0)) if 0 < position < OPEN_END})

    def find_by_identity(self, identity: str) -> int | None:
        """The number of the memory whose latest version has this identity."""
        number = self._by_identity.get(_digest_bytes(identity))
        return None if number in self._erased else number

    def has_content(self, memory: int, content: str) -> bool:
        """Whether the latest version of a memory has this content digest."""
        return bool(self._contents.values[self._last_row.values[memory]].tobytes() == _digest_bytes(content))

    def has_text(self, memory: int) -> bool:
        """Whether a version of a memory was indexed with its text: it was not erased by then."""
        return any(self._texts.values[row] != _NO_TEXT for row in self.rows_of(memory))

    def rows_of(self, memory: int) -> list[int]:
        rows = [int(self._last_row.values[memory])]
        while (earlier := int(self._earlier.values[rows[-1]])) >= 0:
            rows.append(earlier)
        return rows[::-1]

    def memory_of(self, row: int) -> int:
        return int(self._memory.values[row])

    def memories_of_rows(self, rows: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """The memories, by number, that have a version among these rows."""
        mask = np.zeros(len(self.ids), np.bool_)
        mask[self._memory.values[rows]] = True
        return mask

    def rows_of_memories(self, memories: NDArray[np.bool_]) -> NDArray[np.bool_]:
        rows: NDArray[np.bool_] = memories[self._memory.values]
        return rows

    def positions_of_rows(self, rows: Sequence[int]) -> list[int]:
        return self._opened.values[list(rows)].tolist()  # type: ignore[no-any-return]

    def recorded_at(self, row: int) -> datetime:
        return from_micros(int(self._recorded.values[row]))

    def recording_days(self) -> NDArray[np.datetime64]:
        """The day (UTC) on which each row was recorded."""
        return self._recorded.values.astype("M8[us]").astype("M8[D]")

    def first_recorded(self, memory: int) -> datetime:
        row = int(self._last_row.values[memory])
        while (earlier := int(self._earlier.values[row])) >= 0:
            row = earlier
        return self.recorded_at(row)

    def previous_row(self, row: int) -> int | None:
        """The previous version of the memory of a row."""
        earlier = int(self._earlier.values[row])
        return earlier if earlier >= 0 else None

    def same_text(self, row: int, other: int) -> bool:
        return bool(self._texts.values[row] == self._texts.values[other])

    def changed_after(
        self, memories: NDArray[np.int64], positions: NDArray[np.int64], position: int
    ) -> NDArray[np.bool_]:
        """Which of these memories have another text at `position` than they had at their own position."""
        opened = self._opened.values[self._text_row.values]
        changed: NDArray[np.bool_] = opened[self._last_row.values[memories]] > positions
        for i in np.flatnonzero(changed).tolist():
            row = self.row_at(int(memories[i]), position)
            changed[i] = row is not None and opened[row] > positions[i]
        return changed

    def mask_started_by(self, moment: datetime) -> NDArray[np.bool_]:
        """The rows that begin at a moment or earlier. Those without a date begin when their text was recorded."""
        learned = self._recorded.values[self._text_row.values]
        starts = np.where(self._valid_from.values == OPEN_START, learned, self._valid_from.values)
        # What had ended before it was learned has no known beginning.
        mask: NDArray[np.bool_] = (starts <= micros(moment)) | (self._valid_until.values <= starts)
        return mask

    def next_turn(self, conversation: str) -> int:
        number = self._conversations.number(conversation)
        return 0 if number is None else int(self._next_turns.values[number])

    def is_visible(self, memory: int, position: int) -> bool:
        return memory not in self._hidden_at(self._hidden.values, position)

    def hidden_since(self, memory: int) -> int | None:
        """The position of the entry that hides a memory now; None for an erased one."""
        span = self._open_spans.get(memory)
        return None if span is None else int(self._hidden.values[span, 1])

    def archived_mask(self, position: int) -> NDArray[np.bool_]:
        mask = np.zeros(len(self.ids), np.bool_)
        mask[self._hidden_at(self._hidden.values[sorted(self._archived)], position)] = True
        mask[list(self._erased)] = False
        return mask

    def with_archive(self) -> Catalog:
        """A read-only copy in which archived memories are visible."""
        catalog = copy(self)
        spans, archived = self._hidden.values.copy(), sorted(self._archived)
        spans[archived, 2] = spans[archived, 1]  # empty; the indexes of the others do not change
        catalog._hidden, catalog._last_mask, catalog._active = Column(np.int64, spans), None, None
        catalog._open_spans = {m: span for m, span in self._open_spans.items() if span not in self._archived}
        return catalog

    def row_at(self, memory: int, position: int) -> int | None:
        """The version of a memory at this position, hidden or not."""
        opened = self._opened.values
        return next((row for row in reversed(self.rows_of(memory)) if opened[row] <= position), None)

    def row_count(self, position: int) -> int:
        return int(np.searchsorted(self._opened.values, position, side="right"))

    def last_rows(self, position: int) -> NDArray[np.int64]:
        """The last version of each memory at this position, hidden or not, in the order of the memories."""
        rows = np.flatnonzero((self._opened.values <= position) & (self._revised.values > position))
        ordered: NDArray[np.int64] = rows[np.argsort(self._memory.values[rows])]
        return ordered

    def count_kinds(self, rows: NDArray[np.int64]) -> dict[str, int]:
        counts = np.bincount(self._kind.values[rows], minlength=len(MEMORY_KINDS)).tolist()
        return {kind: count for kind, count in zip(MEMORY_KINDS, counts, strict=True) if count}

    def erased_mask(self, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        return np.isin(self._memory.values[rows], list(self._erased))

    def unerased_mask(self, rows: Sequence[int]) -> NDArray[np.bool_]:
        """Those of these rows that were not erased, as a mask of all rows."""
        row_numbers, mask = np.array(rows, np.int64), np.zeros(len(self), np.bool_)
        mask[row_numbers[~self.erased_mask(row_numbers)]] = True
        return mask

    def active_mask(self, rows: NDArray[np.int64], position: int) -> NDArray[np.bool_]:
        """Which of these rows have no later version."""
        return self._revised.values[rows] > position

    def restrict_to_active(self, rows: NDArray[np.bool_], position: int) -> NDArray[np.bool_]:
        active: NDArray[np.bool_] = rows & (self._revised.values > position)
        return active

    def current_mask(self, rows: NDArray[np.int64], position: int, now: datetime) -> NDArray[np.bool_]:
        """Which of these rows have no later version and have not expired."""
        return self.active_mask(rows, position) & (self._expires.values[rows] > micros(now))

    def successor(self, row: int, position: int) -> int | None:
        """The version at `position` that replaced this one; None if this one is the latest."""
        return None if self._revised.values[row] > position else self.row_at(self.memory_of(row), position)

    def importance(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        return self._importance.values[rows]

    def importance_of(self, row: int) -> float:
        return float(self._importance.values[row])

    def kind(self, row: int) -> str:
        return MEMORY_KINDS[int(self._kind.values[row])]

    def mask_stated_since(self, moment: datetime) -> NDArray[np.bool_]:
        """The rows that were told at this moment or later: for chat turns the time of the turn, for others when they
        were recorded."""
        stated_at = np.where(self._said.values == OPEN_START, self._recorded.values, self._said.values)
        mask: NDArray[np.bool_] = stated_at >= micros(moment)
        return mask

    def trust(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """How far the source of each row is trusted, from 0 to 1."""
        return self._trust.values[rows]

    def trust_of(self, row: int) -> float:
        return float(self._trust.values[row])

    def mask_with_min_trust(self, min_trust: float) -> NDArray[np.bool_]:
        """The rows that are trusted this far, at least."""
        mask: NDArray[np.bool_] = self._trust.values >= np.float32(min_trust)
        return mask

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

    def event_times(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """The start of the window of each row in microseconds; if that is open, when it was recorded."""
        starts = self._valid_from.values[rows]
        return np.where(starts == OPEN_START, self._recorded.values[rows], starts)

    def turn_times(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """The time of each row that is a chat turn, in microseconds; OPEN_START for others."""
        return self._said.values[rows]

    # Visibility

    def visible_mask(self, position: int) -> NDArray[np.bool_]:
        """The rows that exist at `position` and are not hidden. The array is shared: do not change it."""
        position = min(position, self._last_change)
        if self._last_mask is not None and self._last_mask[0] == position:
            return self._last_mask[1]
        mask = self._opened.values <= position
        if len(self._hidden):
            hidden = np.zeros(len(self.ids), np.bool_)
            hidden[self._hidden_at(self._hidden.values, position)] = True
            mask &= ~hidden[self._memory.values]
        mask.flags.writeable = False
        self._last_mask = position, mask
        return mask

    def valid_mask(
        self, visible: NDArray[np.bool_], position: int, *, now: datetime, history: bool, during: Window | None
    ) -> NDArray[np.bool_]:
        """The visible rows that are valid in this time; without `history`, only the latest versions."""
        mask: NDArray[np.bool_] = visible.copy() if history else self._cached_active_mask(visible, position).copy()
        if not history and self._first_expiry <= micros(now):
            mask &= self._expires.values > micros(now)
        if during is not None:
            start, end = window_to_micros(during)
            mask &= (self._valid_from.values < end) & (self._valid_until.values > start)
        return mask

    def _cached_active_mask(self, visible: NDArray[np.bool_], position: int) -> NDArray[np.bool_]:
        """The visible rows without a later version. A mask of many rows is made once for all questions in between two
        writes."""
        known = self._active
        if known is None or known[0] is not visible or known[1] != position:
            known = self._active = visible, position, self.restrict_to_active(visible, position)
        return known[2]

    def mask_with_kinds_and_tags(self, kinds: Sequence[str] | None, tags: Sequence[str] | None) -> NDArray[np.bool_]:
        """The rows of one of these kinds that have all of these tags."""
        mask = np.ones(len(self), np.bool_)
        if kinds is not None:
            wanted = np.isin(np.arange(len(MEMORY_KINDS)), [MEMORY_KINDS.index(kind) for kind in kinds])
            mask &= wanted[self._kind.values]
        for tag in tags or ():
            tagged = np.zeros(len(mask), np.bool_)
            if tag in self._tags:
                tagged[self._tags[tag].values] = True
            mask &= tagged
        return mask

    def mask_with_texts(self, texts: Iterable[str]) -> NDArray[np.bool_]:
        """The rows with one of these texts."""
        return np.isin(self._texts.values, [_checksum(text) for text in texts])

    # Helpers

    def _index_version(self, row: int, version: Remembered) -> None:
        for tag in version.tags:
            if tag not in self._tags:
                self._tags[tag] = Column(np.int64)
            self._tags[tag].append(row)
        if version.turn is not None:
            number, following = self._conversations.intern(version.turn.conversation), version.turn.number + 1
            if number == len(self._next_turns):
                self._next_turns.append(max(following, 0))
            elif following > self._next_turns.values[number]:
                self._next_turns.values[number] = following

    def _replace_last_row(self, memory: int, row: int) -> None:
        position = int(self._opened.values[row])
        last = self._last_row.values[memory]
        self._earlier.values[row] = last
        self._revised.values[last] = position
        if self.same_text(row, int(last)):
            self._text_row.values[row] = self._text_row.values[last]
        self._last_row.values[memory] = row
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

    def _hide_or_show(self, event: Quarantined | Released, position: int) -> None:
        numbers = [number for memory_id in event.memories if (number := self._numbers.number(memory_id)) is not None]
        for memory in numbers:
            if memory in self._erased:
                continue
            if isinstance(event, Quarantined):
                self._hide(memory, position, archived=False)
            else:
                self._show(memory, position)

    def _show(self, memory: int, position: int) -> None:
        span = self._open_spans.pop(memory, None)
        if span is not None:
            self._hidden.values[span, 2] = position

    def _erase(self, memory: int, position: int) -> None:
        self._hidden.append((memory, 0, OPEN_END))
        self._erased[memory] = position
        self._reasons.pop(memory, None)
        # The same text added again after this is another memory: the old id stays erased.
        self._open_spans.pop(memory, None)


def _digest_bytes(digest: str) -> bytes:
    """The bytes that a digest spells; for one that this library did not make, a digest of it."""
    if len(digest) == 2 * _DIGEST_SIZE and _HEXADECIMAL.issuperset(digest):
        return bytes.fromhex(digest)
    return blake2b(digest.encode("utf-8", "surrogatepass"), digest_size=_DIGEST_SIZE).digest()


def _as_rows(digests: Sequence[bytes]) -> NDArray[np.uint8]:
    return np.frombuffer(b"".join(digests), np.uint8).reshape(-1, _DIGEST_SIZE)


def _rows_of_bytes(rows: NDArray[np.uint8]) -> list[bytes]:
    raw = rows.tobytes()
    return [raw[begin : begin + _DIGEST_SIZE] for begin in range(0, len(raw), _DIGEST_SIZE)]


def _checksum(text: str) -> int:
    return crc32(text.encode("utf-8", "surrogatepass"))
