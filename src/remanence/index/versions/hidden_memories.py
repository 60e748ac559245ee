"""Which memories are hidden at which ledger positions: forgotten, archived, quarantined or erased ones."""

from __future__ import annotations

from copy import copy
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from remanence.index.arrays.columns import COLUMN, DICT_CODEC, Codec, Column, SavedPart, pack, unpack
from remanence.schema import OPEN_END


class HiddenMemories(SavedPart):
    """The spans of ledger positions over which memories, by number, are hidden."""

    _saved: ClassVar = {
        "_spans": COLUMN,
        **dict.fromkeys(("_open_spans", "_reasons", "_erased"), DICT_CODEC),
        "_archived": Codec(lambda spans: pack(sorted(spans)), lambda array: set(unpack(array))),
    }

    def __init__(self) -> None:
        self._spans = Column(np.int64, width=3)  # (memory, from position, until position)
        self._open_spans: dict[int, int] = {}  # by memory: the span that hides it now
        self._archived: set[int] = set()  # the spans that archive a memory
        self._reasons: dict[int, list[int]] = {}  # by memory: the entries that say why it was forgotten
        self._erased: dict[int, int] = {}  # by memory: the entry that erased it

    def __len__(self) -> int:
        return len(self._spans)

    # Changes

    def hide(self, memory: int, position: int, *, archived: bool = False) -> None:
        if not archived and self._open_spans.get(memory) in self._archived:
            self.show(memory, position)  # forgetting an archived memory removes it from the archive
        if memory not in self._open_spans:
            span = len(self._spans)
            self._spans.append((memory, position, OPEN_END))
            self._open_spans[memory] = span
            if archived:
                self._archived.add(span)

    def show(self, memory: int, position: int) -> None:
        span = self._open_spans.pop(memory, None)
        if span is not None:
            self._spans.values[span, 2] = position

    def erase(self, memory: int, position: int) -> None:
        self._spans.append((memory, 0, OPEN_END))
        self._erased[memory] = position
        self._reasons.pop(memory, None)
        # The same text added again after this is another memory: the old id stays erased.
        self._open_spans.pop(memory, None)

    def add_reason(self, memory: int, position: int) -> None:
        """Note that the entry at this position says why a memory was forgotten."""
        self._reasons.setdefault(memory, []).append(position)

    # Lookups

    @property
    def erased(self) -> list[int]:
        return list(self._erased)

    def is_erased(self, memory: int) -> bool:
        return memory in self._erased

    def is_visible(self, memory: int, position: int) -> bool:
        return memory not in self.memories_at(position)

    def memories_at(self, position: int) -> NDArray[np.int64]:
        """The memories that are hidden at a position."""
        return _memories_at(self._spans.values, position)

    def hidden_since(self, memory: int) -> int | None:
        """The position of the entry that hides a memory now; None for an erased one."""
        span = self._open_spans.get(memory)
        return None if span is None else int(self._spans.values[span, 1])

    def changes_of(self, memory: int) -> list[int]:
        """The positions at which a memory was hidden, shown again, or erased."""
        spans = self._spans.values
        positions: list[int] = spans[spans[:, 0] == memory, 1:].ravel().tolist()
        return sorted({position for position in (*positions, self._erased.get(memory, 0)) if 0 < position < OPEN_END})

    def reasons_of(self, memory: int) -> list[int]:
        """The positions of the entries that say why a memory was forgotten."""
        return self._reasons.get(memory, [])

    def archived_at(self, position: int) -> list[int]:
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


def _memories_at(spans: NDArray[np.int64], position: int) -> NDArray[np.int64]:
    """The memories that these spans hide at a position."""
    memories: NDArray[np.int64] = spans[(spans[:, 1] <= position) & (position < spans[:, 2]), 0]
    return memories
