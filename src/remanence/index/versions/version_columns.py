"""The parts of the catalog: the times, the attributes and the digests of each version, and which memories are hidden
(forgotten, archived, quarantined or erased) at which ledger positions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from datetime import datetime
from hashlib import blake2b
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from remanence.events import Remembered
from remanence.index.arrays.codecs import COLUMN, COLUMNS, DICT_CODEC, GROWING, Codec, SavedPart, pack, unpack
from remanence.index.arrays.columns import Column, split_bytes
from remanence.index.batch import Batch
from remanence.index.numbers import MemoryNumber, Position, Row
from remanence.schema import MEMORY_KINDS, OPEN_END, OPEN_START, Window, from_micros, micros, window_to_micros

_DIGEST_SIZE = 12
_NO_DIGEST = bytes(_DIGEST_SIZE)
_HEXADECIMAL = frozenset("0123456789abcdef")


class VersionTimes(SavedPart):
    """When each row was recorded and told, when it is valid and when it expires, in microseconds."""

    _saved: ClassVar = dict.fromkeys(("recorded", "told", "said", "_valid_from", "_valid_until", "_expires"), GROWING)

    def __init__(self) -> None:
        self.recorded, self._expires = Column(np.int64), Column(np.int64)
        self.told = Column(np.int64)  # as `Memory.told_at`
        self.said = Column(np.int64)  # the time of a chat turn; OPEN_START for others
        self._valid_from, self._valid_until = Column(np.int64), Column(np.int64)
        self._first_expiry = OPEN_END

    def load(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        super().load(arrays)
        self._first_expiry = int(self._expires.values.min(initial=OPEN_END))

    def apply(self, batch: Batch) -> None:
        """Add a row for each version."""
        versions = batch.versions
        # Only `erase` removes the text of an entry, and it hides the memory in every view.
        windows = [
            (OPEN_START, OPEN_END) if remembered is None else window_to_micros(remembered.valid)
            for remembered in versions
        ]
        expiries = [None if remembered is None else remembered.expires_at for remembered in versions]
        turns = [None if remembered is None else remembered.turn for remembered in versions]
        self._valid_from.extend([start for start, _ in windows])
        self._valid_until.extend([end for _, end in windows])
        ends = [OPEN_END if expiry is None else micros(expiry) for expiry in expiries]
        self._first_expiry = min(self._first_expiry, *ends)
        self._expires.extend(ends)
        recorded = [micros(entry.at) for entry in batch.entries]
        self.recorded.extend(recorded)
        self.told.extend([_told_at(version, at) for version, at in zip(versions, recorded, strict=True)])
        self.said.extend([OPEN_START if turn is None or turn.at is None else micros(turn.at) for turn in turns])

    def recorded_at(self, row: Row) -> datetime:
        return from_micros(int(self.recorded.values[row]))

    def recording_days(self) -> NDArray[np.datetime64]:
        """The day (UTC) on which each row was recorded."""
        return self.recorded.values.astype("M8[us]").astype("M8[D]")

    def event_times(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """The start of the window of each row; if that is open, when it was recorded."""
        starts = self._valid_from.values[rows]
        return np.where(starts == OPEN_START, self.recorded.values[rows], starts)

    def mask_started_by(self, moment: datetime, text_rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """The rows that begin at a moment or earlier. Those without a date begin when their text was recorded, which is
        that of `text_rows`."""
        learned = self.recorded.values[text_rows]
        starts = np.where(self._valid_from.values == OPEN_START, learned, self._valid_from.values)
        # What had ended before it was learned has no known beginning.
        mask: NDArray[np.bool_] = (starts <= micros(moment)) | (self._valid_until.values <= starts)
        return mask

    def mask_told_since(self, moment: datetime) -> NDArray[np.bool_]:
        """The rows that were told at this moment or later: for chat turns the time of the turn, for others when they
        were recorded."""
        told_at = np.where(self.said.values == OPEN_START, self.recorded.values, self.said.values)
        mask: NDArray[np.bool_] = told_at >= micros(moment)
        return mask

    @property
    def can_expire(self) -> bool:
        """Whether any version has a time at which it expires, or did."""
        return self._first_expiry < OPEN_END

    def unexpired_mask(self, rows: NDArray[np.int64], now: datetime) -> NDArray[np.bool_]:
        """Which of these rows have not expired."""
        return self._expires.values[rows] > micros(now)

    def next_change(self, now: datetime) -> datetime | None:
        """The next moment at which a row begins or ends to be valid, or expires; None if there is none."""
        moment = micros(now)
        ends = (self._valid_from.values, self._valid_until.values, self._expires.values)
        later = min(int(values.min(where=values > moment, initial=OPEN_END)) for values in ends)
        return None if later >= OPEN_END else from_micros(later)

    def ended_mask(self, rows: NDArray[np.int64], now: datetime) -> NDArray[np.bool_]:
        """Which of these rows are no chat turns and were valid until an earlier moment."""
        ended: NDArray[np.bool_] = self._valid_until.values[rows] <= micros(now)
        ended &= self.said.values[rows] == OPEN_START
        return ended

    def remove_expired(self, mask: NDArray[np.bool_], now: datetime) -> None:
        """Set the expired rows in a mask of all rows to False."""
        if self._first_expiry <= micros(now):
            mask &= self._expires.values > micros(now)

    def valid_mask(self, during: Window) -> NDArray[np.bool_]:
        """The rows that are valid at some time in a window."""
        start, end = window_to_micros(during)
        mask: NDArray[np.bool_] = (self._valid_from.values < end) & (self._valid_until.values > start)
        return mask


def _told_at(version: Remembered | None, recorded: int) -> int:
    """When a version was told; for an erased one, when it was recorded."""
    if version is None:
        return recorded
    said = None if version.turn is None else version.turn.at
    told = version.told_at or said
    return recorded if told is None else micros(told)


class RowAttributes(SavedPart):
    """Kind, tags, importance, strength (without what uses added) and trust by row."""

    _saved: ClassVar = {"_tags": COLUMNS, **dict.fromkeys(("importance", "kinds", "strength", "trust"), GROWING)}

    def __init__(self) -> None:
        self.kinds = Column(np.int8)  # as places in MEMORY_KINDS
        self.importance, self.strength, self.trust = Column(np.float32), Column(np.float32), Column(np.float32)
        self._tags: dict[str, Column] = {}  # by tag: its rows

    def apply(self, batch: Batch) -> None:
        """Add a row for each version."""
        versions = batch.versions
        self.importance.extend([0.0 if remembered is None else remembered.importance for remembered in versions])
        self.strength.extend([1.0 if remembered is None else remembered.strength for remembered in versions])
        self.trust.extend([1.0 if remembered is None else remembered.trust for remembered in versions])
        self.kinds.extend([0 if remembered is None else MEMORY_KINDS.index(remembered.kind) for remembered in versions])
        for row, version in batch.numbered():
            for tag in () if version is None else version.tags:
                if tag not in self._tags:
                    self._tags[tag] = Column(np.int64)
                self._tags[tag].append(row)

    def count_kinds(self, rows: NDArray[np.int64]) -> dict[str, int]:
        counts = np.bincount(self.kinds.values[rows], minlength=len(MEMORY_KINDS)).tolist()
        return {kind: count for kind, count in zip(MEMORY_KINDS, counts, strict=True) if count}

    def count_tags(self, rows: NDArray[np.int64]) -> dict[str, int]:
        """How many of these rows have each tag, the most frequent first."""
        among = np.zeros(len(self.kinds), np.bool_)
        among[rows] = True
        counts = {tag: int(among[tagged.values].sum()) for tag, tagged in self._tags.items()}
        return {tag: count for tag, count in sorted(counts.items(), key=lambda each: (-each[1], each[0])) if count}

    def mask_with_min_trust(self, min_trust: float) -> NDArray[np.bool_]:
        """The rows that are trusted this far, at least."""
        mask: NDArray[np.bool_] = self.trust.values >= np.float32(min_trust)
        return mask

    def mask_with_kinds_and_tags(self, kinds: Sequence[str] | None, tags: Sequence[str] | None) -> NDArray[np.bool_]:
        """The rows of one of these kinds that have all of these tags."""
        mask = np.full(len(self.kinds), kinds is None)
        for kind in kinds or ():
            mask |= self.kinds.values == MEMORY_KINDS.index(kind)
        for tag in tags or ():
            tagged = np.zeros(len(mask), np.bool_)
            if tag in self._tags:
                tagged[self._tags[tag].values] = True
            mask &= tagged
        return mask


class VersionDigests(SavedPart):
    """The digest of the identity and of the content of each row: which memory a new text is a version of, and whether
    it says anything new."""

    _saved: ClassVar = dict.fromkeys(("_identities", "_contents"), GROWING)

    def __init__(self) -> None:
        self._identities, self._contents = Column(np.uint8, width=_DIGEST_SIZE), Column(np.uint8, width=_DIGEST_SIZE)
        self._memory_of: dict[bytes, MemoryNumber] = {}  # by digest of the identity
        self._unread_memories: NDArray[np.int64] | None = None  # of the loaded rows, until one is looked up

    def load_memories(self, memories: NDArray[np.int64]) -> None:
        """Find memories by the loaded digests. `memories` has the memory of each row."""
        self._unread_memories = memories  # only writers need them

    def apply(self, batch: Batch, memories: Sequence[MemoryNumber]) -> None:
        """Add a row for each version, with the number of its memory."""
        versions = batch.versions
        identities = [
            _NO_DIGEST if remembered is None else _digest_bytes(remembered.identity) for remembered in versions
        ]
        by_identity = self._by_identity()
        contents = [_NO_DIGEST if remembered is None else _digest_bytes(remembered.content) for remembered in versions]
        self._identities.extend(_as_rows(identities))
        self._contents.extend(_as_rows(contents))
        by_identity.update(zip(identities, memories, strict=True))
        by_identity.pop(_NO_DIGEST, None)

    def memory_with_identity(self, identity: str) -> MemoryNumber | None:
        """The number of the memory whose latest version has this identity, also of an erased one."""
        return self._by_identity().get(_digest_bytes(identity))

    def has_content(self, row: Row, content: str) -> bool:
        return bool(self._contents.values[row].tobytes() == _digest_bytes(content))

    def _by_identity(self) -> dict[bytes, MemoryNumber]:
        memories, self._unread_memories = self._unread_memories, None
        if memories is not None:
            digests = split_bytes(self._identities.values[: len(memories)], _DIGEST_SIZE)
            self._memory_of = dict(zip(digests, memories.tolist(), strict=True))
            self._memory_of.pop(_NO_DIGEST, None)
        return self._memory_of


def _digest_bytes(digest: str) -> bytes:
    """The bytes that a digest spells; for one that this library did not make, a digest of it."""
    if len(digest) == 2 * _DIGEST_SIZE and _HEXADECIMAL.issuperset(digest):
        return bytes.fromhex(digest)
    return blake2b(digest.encode("utf-8", "surrogatepass"), digest_size=_DIGEST_SIZE).digest()


def _as_rows(digests: Sequence[bytes]) -> NDArray[np.uint8]:
    return np.frombuffer(b"".join(digests), np.uint8).reshape(-1, _DIGEST_SIZE)


class HiddenMemories(SavedPart):
    """The spans of ledger positions over which memories, by number, are hidden."""

    _saved: ClassVar = {
        "_spans": COLUMN,
        **dict.fromkeys(("_open_spans", "_reasons", "_erased"), DICT_CODEC),
        "_archived": Codec(lambda spans: pack(sorted(spans)), lambda array: set(unpack(array))),
    }

    def __init__(self) -> None:
        self._spans = Column(np.int64, width=3)  # (memory, from position, until position)
        self._open_spans: dict[MemoryNumber, int] = {}  # by memory: the span that hides it now
        self._archived: set[int] = set()  # the spans that archive a memory
        self._reasons: dict[MemoryNumber, list[Position]] = {}  # by memory: the entries that say why it was forgotten
        self._erased: dict[MemoryNumber, Position] = {}  # by memory: the entry that erased it

    def __len__(self) -> int:
        return len(self._spans)

    # Changes

    def hide(self, memory: MemoryNumber, position: Position, *, archived: bool = False) -> None:
        if not archived and self._open_spans.get(memory) in self._archived:
            self.show(memory, position)  # forgetting an archived memory removes it from the archive
        if memory not in self._open_spans:
            span = len(self._spans)
            self._spans.append((memory, position, OPEN_END))
            self._open_spans[memory] = span
            if archived:
                self._archived.add(span)

    def show(self, memory: MemoryNumber, position: Position) -> None:
        span = self._open_spans.pop(memory, None)
        if span is not None:
            self._spans.values[span, 2] = position

    def erase(self, memory: MemoryNumber, position: Position) -> None:
        self._spans.append((memory, 0, OPEN_END))
        self._erased[memory] = position
        self._reasons.pop(memory, None)
        # The same text added again after this is another memory: the old id stays erased.
        self._open_spans.pop(memory, None)

    def add_reason(self, memory: MemoryNumber, position: Position) -> None:
        """Note that the entry at this position says why a memory was forgotten."""
        self._reasons.setdefault(memory, []).append(position)

    # Lookups

    @property
    def erased(self) -> list[MemoryNumber]:
        return list(self._erased)

    def is_erased(self, memory: MemoryNumber) -> bool:
        return memory in self._erased

    def is_visible(self, memory: MemoryNumber, position: Position) -> bool:
        return memory not in self.memories_at(position)

    def memories_at(self, position: Position) -> NDArray[np.int64]:
        """The memories that are hidden at a position."""
        return _memories_at(self._spans.values, position)

    def hidden_since(self, memory: MemoryNumber) -> int | None:
        """The position of the entry that hides a memory now; None for an erased one."""
        span = self._open_spans.get(memory)
        return None if span is None else int(self._spans.values[span, 1])

    def changes_of(self, memory: MemoryNumber) -> list[Position]:
        """The positions at which a memory was hidden, shown again, or erased."""
        spans = self._spans.values
        positions: list[Position] = spans[spans[:, 0] == memory, 1:].ravel().tolist()
        return sorted(
            {position for position in (*positions, self._erased.get(memory, Position(0))) if 0 < position < OPEN_END}
        )

    def reasons_of(self, memory: MemoryNumber) -> list[Position]:
        """The positions of the entries that say why a memory was forgotten."""
        return self._reasons.get(memory, [])

    def archived_at(self, position: Position) -> list[MemoryNumber]:
        """The memories that are in the archive at a position."""
        memories = _memories_at(self._spans.values[sorted(self._archived)], position).tolist()
        return [memory for memory in memories if memory not in self._erased]

    def without_archived(self) -> HiddenMemories:
        """A read-only copy in which archived memories are not hidden."""
        hidden, archived = copy(self), sorted(self._archived)
        spans = self._spans.values.copy()
        spans[archived, 2] = spans[archived, 1]  # empty; the indexes of the others do not change
        hidden._spans = Column(np.int64, spans)
        hidden._open_spans = {memory: span for memory, span in self._open_spans.items() if span not in self._archived}
        return hidden


def _memories_at(spans: NDArray[np.int64], position: Position) -> NDArray[np.int64]:
    """The memories that these spans hide at a position."""
    memories: NDArray[np.int64] = spans[(spans[:, 1] <= position) & (position < spans[:, 2]), 0]
    return memories
