"""Which memories there are, in which versions, and which of them a view may see.

The catalog numbers versions (rows) in ledger order and keeps for each what filters need: the span of
positions it stands over, its window, kind, tags and expiry. It holds no words: those stay in the ledger.
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
"""The lines that change what is seen."""
_MOST_SEEN = 8


class Catalog:
    """The versions of one space, by row."""

    def __init__(self) -> None:
        self.position = 0
        self.ids: list[str] = []
        self._number: dict[str, int] = {}
        self._by_identity: dict[str, int] = {}
        self.content_digests: list[str] = []
        self._tags: dict[str, list[int]] = {}
        self._turns: dict[str, int] = {}
        self._last_row = Column(np.int64)  # of each memory
        self._memory = Column(np.int64)  # of each row, as are the columns below
        self._earlier = Column(np.int64)
        self._opened = Column(np.int64)
        self._revised = Column(np.int64)
        self._valid_from = Column(np.int64)
        self._valid_until = Column(np.int64)
        self._expires = Column(np.int64)
        self._recorded = Column(np.int64)
        self._importance = Column(np.float32)
        self._kind = Column(np.int8)
        self._said = Column(np.int64)
        # Spans over which a memory is hidden: (memory, from position, until position).
        self._hidden = Column(np.int64, width=3)
        self._open_hiding: dict[int, int] = {}
        self._archived: set[int] = set()  # those of the spans that put a memory into the archive
        self._reasons: dict[int, list[int]] = {}  # lines that say why a memory was forgotten
        self._erased: dict[int, int] = {}  # memories whose words are gone, each with the line that says so
        # The last line that changed what is seen; and what views see, by position, from there on the same.
        self._changed = 0
        self._seen: dict[int, NDArray[np.bool_]] = {}

    def __len__(self) -> int:
        return len(self._opened)

    def apply_versions(self, entries: Sequence[Entry]) -> None:
        """Take in lines that say memories, in order, all after `position`: each opens a new row."""
        if not entries:
            return
        self.position = self._changed = entries[-1].position
        self._seen = {}
        memories, new, again = self._numbered(entries)
        versions = [entry.event if isinstance(entry.event, Remembered) else None for entry in entries]
        for row, (memory, version) in enumerate(zip(memories, versions, strict=True), len(self)):
            if version is not None:
                self._note(row, memory, version)
        # Column by column: one by one, the numbers of a row cost as much as all the rest of it.
        self._last_row.extend(new)
        self._memory.extend(memories)
        self._earlier.fill(len(entries), -1)
        self._opened.extend([entry.position for entry in entries])
        self._revised.fill(len(entries), OPEN_END)
        self._recorded.extend([micros(entry.at) for entry in entries])
        # Only `erase` blanks a line, and it hides the whole memory in every view.
        spans = [(OPEN_START, OPEN_END) if version is None else window_to_micros(version.valid) for version in versions]
        self._valid_from.extend([start for start, _ in spans])
        self._valid_until.extend([end for _, end in spans])
        self._expires.extend(
            [OPEN_END if v is None or v.expires_at is None else micros(v.expires_at) for v in versions]
        )
        self._importance.extend([0.0 if version is None else version.importance for version in versions])
        self._kind.extend([0 if version is None else MEMORY_KINDS.index(version.kind) for version in versions])
        self._said.extend([_said(version) for version in versions])
        for row in again:
            self._revise(row)

    def apply_entry(self, entry: Entry) -> None:
        """Take in one line that says no memory. A line at or below `position` is passed over."""
        if entry.position <= self.position:
            return
        self.position = entry.position
        if entry.kind in MEMORY_ENTRY_KINDS:
            self._changed, self._seen = entry.position, {}
        memory = self._number.get(entry.subject)
        if memory is None:
            return
        if entry.kind == "forgotten":
            archived = isinstance(entry.event, Forgotten) and entry.event.archived
            self._hide(memory, entry.position, archived=archived)
            if isinstance(entry.event, Forgotten) and entry.event.why is not None:
                self._reasons.setdefault(memory, []).append(entry.position)
        elif entry.kind == "restored":
            self._show(memory, entry.position)
        elif entry.kind == "erased":
            self._erase(memory, entry.position)

    # What is where

    def number(self, memory_id: str) -> int | None:
        """The number of a memory, or None if this space has none of that id."""
        return self._number.get(memory_id)

    def is_erased(self, memory: int) -> bool:
        """Whether the words of a memory are gone for ever."""
        return memory in self._erased

    def positions_of_memory(self, memory: int) -> list[int]:
        """Every ledger line that holds words about a memory: its versions, and why it was forgotten."""
        return self.positions_of_rows(self.rows_of(memory)) + self._reasons.get(memory, [])

    def visibility_changes(self, memory: int) -> list[int]:
        """The ledger lines since which a memory is hidden, shown again, or erased."""
        spans = self._hidden.values
        lines: list[int] = spans[spans[:, 0] == memory, 1:].ravel().tolist()
        return sorted({line for line in (*lines, self._erased.get(memory, 0)) if 0 < line < OPEN_END})

    def with_identity(self, identity: str) -> int | None:
        """The number of the memory whose latest version is this very one."""
        return self._by_identity.get(identity)

    def rows_of(self, memory: int) -> list[int]:
        """Every version of a memory, oldest first."""
        rows = [int(self._last_row.values[memory])]
        while (earlier := int(self._earlier.values[rows[-1]])) >= 0:
            rows.append(earlier)
        return rows[::-1]

    def memory_of(self, row: int) -> int:
        """Which memory a row is a version of."""
        return int(self._memory.values[row])

    def memories_among(self, rows: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """The memories, by number, that have a version among these rows."""
        out = np.zeros(len(self.ids), np.bool_)
        out[self._memory.values[rows]] = True
        return out

    def rows_among(self, memories: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """The rows that are versions of these memories."""
        found: NDArray[np.bool_] = memories[self._memory.values]
        return found

    def positions_of_rows(self, rows: Sequence[int]) -> list[int]:
        """The ledger lines that hold these rows."""
        return self._opened.values[list(rows)].tolist()  # type: ignore[no-any-return]

    def recorded_at(self, row: int) -> datetime:
        """When a row was recorded."""
        return from_micros(int(self._recorded.values[row]))

    def first_recorded(self, memory: int) -> datetime:
        """When the first version of a memory was recorded."""
        row = self._last_row.values[memory]
        while (earlier := self._earlier.values[row]) >= 0:
            row = earlier
        return self.recorded_at(row)

    def next_turn(self, conversation: str) -> int:
        """The number that the next turn of this conversation gets."""
        return self._turns.get(conversation, 0)

    def is_visible(self, memory: int, position: int) -> bool:
        """Whether a memory is not hidden at this position."""
        spans = self._hidden.values
        return not np.any((spans[:, 0] == memory) & (spans[:, 1] <= position) & (position < spans[:, 2]))

    def hidden_since(self, memory: int) -> int | None:
        """The line that hid a memory, if it is hidden now; None too for one that is erased."""
        span = self._open_hiding.get(memory)
        return None if span is None else int(self._hidden.values[span, 1])

    def archived_mask(self, position: int) -> NDArray[np.bool_]:
        """The memories, by number, that lie in the archive at this position."""
        out = np.zeros(len(self.ids), np.bool_)
        spans = self._hidden.values[sorted(self._archived)]
        out[spans[(spans[:, 1] <= position) & (position < spans[:, 2]), 0]] = True
        out[list(self._erased)] = False
        return out

    def with_archive(self) -> Catalog:
        """The same, but that nothing was ever put into the archive. To be asked, not to be written to."""
        out = copy(self)
        hidden, archived = self._hidden.values.copy(), sorted(self._archived)
        hidden[archived, 2] = hidden[archived, 1]  # over where they begin; the others keep their places
        out._hidden, out._seen = Column(np.int64, hidden), {}
        out._open_hiding = {m: span for m, span in self._open_hiding.items() if span not in self._archived}
        return out

    def row_at(self, memory: int, position: int) -> int | None:
        """The version of a memory that stands at this position, hidden or not."""
        last = int(self._last_row.values[memory])
        if self._opened.values[last] <= position:
            return last
        earlier = [row for row in self.rows_of(memory) if self._opened.values[row] <= position]
        return earlier[-1] if earlier else None

    def row_count(self, position: int) -> int:
        """How many rows there are at this position."""
        return int(np.searchsorted(self._opened.values, position, side="right"))

    def last_rows(self, position: int) -> NDArray[np.int64]:
        """The last version of each memory known at this position, hidden or not, in the order they were
        learned."""
        rows = np.flatnonzero((self._opened.values <= position) & (self._revised.values > position))
        found: NDArray[np.int64] = rows[np.argsort(self._memory.values[rows])]
        return found

    def count_kinds(self, rows: NDArray[np.int64]) -> dict[str, int]:
        """How many of these rows are of which kind."""
        counts = np.bincount(self._kind.values[rows], minlength=len(MEMORY_KINDS)).tolist()
        return {kind: count for kind, count in zip(MEMORY_KINDS, counts, strict=True) if count}

    def erased_mask(self, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which of these rows are of memories whose words are gone for ever."""
        return np.isin(self._memory.values[rows], list(self._erased))

    def active(self, rows: NDArray[np.int64], position: int) -> NDArray[np.bool_]:
        """Which of these rows no later version has replaced."""
        return self._revised.values[rows] > position

    def active_among(self, rows: NDArray[np.bool_], position: int) -> NDArray[np.bool_]:
        """Which of the rows in this mask no later version has replaced."""
        found: NDArray[np.bool_] = rows & (self._revised.values > position)
        return found

    def current(self, rows: NDArray[np.int64], position: int, now: datetime) -> NDArray[np.bool_]:
        """Which of these rows no later version has replaced and no expiry has ended."""
        return self.active(rows, position) & (self._expires.values[rows] > micros(now))

    def successor(self, row: int, position: int) -> int | None:
        """The version that stands at `position` in place of this one."""
        if self._revised.values[row] > position:
            return None
        return self.row_at(self.memory_of(row), position)

    def importance(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """How important each row is."""
        return self._importance.values[rows]

    def event_times(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """The moment each row speaks of, in microseconds: when it began to be true, else was recorded."""
        starts = self._valid_from.values[rows]
        return np.where(starts == OPEN_START, self._recorded.values[rows], starts)

    def turn_times(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """The moment each row was said, in microseconds, if it is a chat turn; else the beginning of time."""
        return self._said.values[rows]

    # What may be seen

    def visible(self, position: int) -> NDArray[np.bool_]:
        """The rows known at `position` and not hidden then. Not to be written to: it may be given again."""
        position = min(position, self._changed)
        if position in self._seen:
            return self._seen[position]
        mask = self._opened.values <= position
        spans = self._hidden.values
        if len(spans):
            hidden = np.zeros(len(self._last_row), np.bool_)
            hidden[spans[(spans[:, 1] <= position) & (position < spans[:, 2]), 0]] = True
            mask &= ~hidden[self._memory.values]
        mask.flags.writeable = False
        if len(self._seen) >= _MOST_SEEN:
            self._seen.clear()
        self._seen[position] = mask
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
        """The visible rows that pass every filter. `tags` asks for all of them."""
        mask: NDArray[np.bool_] = visible.copy()
        if not history:
            mask &= self._revised.values > position
            mask &= self._expires.values > micros(now)
        if kinds is not None:
            mask &= np.isin(self._kind.values, [MEMORY_KINDS.index(kind) for kind in kinds])
        for tag in tags or ():
            tagged = np.zeros(len(mask), np.bool_)
            tagged[self._tags.get(tag, [])] = True
            mask &= tagged
        if during is not None:
            if during.end is not None:
                mask &= self._valid_from.values < micros(during.end)
            if during.start is not None:
                mask &= self._valid_until.values > micros(during.start)
        return mask

    # Snapshots

    def save(self) -> Mapping[str, NDArray[Any]]:
        """The catalog as plain arrays."""
        words = {
            "tags": self._tags,
            "turns": self._turns,
            "hiding": list(self._open_hiding.items()),
            "archived": sorted(self._archived),
            "reasons": list(self._reasons.items()),
            "erased": sorted(self._erased.items()),
        }
        return {
            "ids": pack_texts(self.ids),
            "contents": pack_texts(self.content_digests),
            "identities": pack_texts(self._by_identity),
            "identified": np.fromiter(self._by_identity.values(), np.int64, len(self._by_identity)),
            "words": pack(words),
            "position": np.array([self.position]),
            **{name: getattr(self, f"_{name}").values for name in _COLUMNS},
        }

    def load(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Become the catalog that `save` wrote."""
        words = unpack(arrays["words"])
        self.position = self._changed = int(arrays["position"][0])
        self._seen = {}
        self.ids, self.content_digests = unpack_texts(arrays["ids"]), unpack_texts(arrays["contents"])
        self._number = {memory_id: number for number, memory_id in enumerate(self.ids)}
        identities = unpack_texts(arrays["identities"])
        self._by_identity = dict(zip(identities, arrays["identified"].tolist(), strict=True))
        self._tags, self._turns = words["tags"], words["turns"]
        self._open_hiding, self._reasons = dict(words["hiding"]), dict(words["reasons"])
        self._archived = set(words["archived"])
        self._erased = dict(words["erased"])
        for name in _COLUMNS:
            setattr(self, f"_{name}", Column(arrays[name].dtype, arrays[name]))

    # Applying

    def _numbered(self, entries: Sequence[Entry]) -> tuple[list[int], list[int], list[int]]:
        """The memory that each of these lines is about; and which of the rows that they open are the first of
        theirs, and which are not."""
        memories: list[int] = []
        new: list[int] = []
        again: list[int] = []
        for row, entry in enumerate(entries, len(self)):
            memory = self._number.get(entry.subject)
            if memory is None:
                memory = self._number[entry.subject] = len(self.ids)
                self.ids.append(entry.subject)
                self.content_digests.append("")
                new.append(row)
            else:
                again.append(row)
            memories.append(memory)
        return memories, new, again

    def _note(self, row: int, memory: int, version: Remembered) -> None:
        """Keep what a version is known by."""
        self.content_digests[memory] = version.content
        self._by_identity[version.identity] = memory
        for tag in version.tags:
            self._tags.setdefault(tag, []).append(row)
        if version.turn is not None:
            following = version.turn.number + 1
            self._turns[version.turn.conversation] = max(following, self.next_turn(version.turn.conversation))

    def _revise(self, row: int) -> None:
        """Put a row in the place of the one that its memory had before."""
        memory, position = self._memory.values[row], int(self._opened.values[row])
        last = self._last_row.values[memory]
        self._earlier.values[row] = last
        self._revised.values[last] = position
        self._last_row.values[memory] = row
        # To say a thing again after it was forgotten is to remember it.
        self._show(int(memory), position)

    def _hide(self, memory: int, position: int, *, archived: bool) -> None:
        if not archived and self._open_hiding.get(memory) in self._archived:
            self._show(memory, position)  # to forget what lies in the archive takes it out of there
        if memory not in self._open_hiding:
            span = len(self._hidden)
            self._hidden.append((memory, position, OPEN_END))
            self._open_hiding[memory] = span
            if archived:
                self._archived.add(span)

    def _show(self, memory: int, position: int) -> None:
        span = self._open_hiding.pop(memory, None)
        if span is not None:
            self._hidden.values[span, 2] = position

    def _erase(self, memory: int, position: int) -> None:
        self._hidden.append((memory, 0, OPEN_END))
        self._erased[memory] = position
        self._reasons.pop(memory, None)
        rows = set(self.rows_of(memory))
        self.content_digests[memory] = ""
        self._by_identity = _without(self._by_identity, memory)
        self._tags = {
            tag: kept for tag, held in self._tags.items() if (kept := [row for row in held if row not in rows])
        }
        # Said again after it was erased, it is another memory: the old id stays blank for ever.
        self._open_hiding.pop(memory, None)


_COLUMNS = (
    "last_row",
    "memory",
    "earlier",
    "opened",
    "revised",
    "valid_from",
    "valid_until",
    "expires",
    "recorded",
    "importance",
    "kind",
    "said",
    "hidden",
)


def _said(version: Remembered | None) -> int:
    turn = None if version is None else version.turn
    return OPEN_START if turn is None or turn.at is None else micros(turn.at)


def _without(index: Mapping[str, int], memory: int) -> dict[str, int]:
    return {name: number for name, number in index.items() if number != memory}
