"""What was said before a chat turn that is not understood alone: "the second one" with the question that it answers.

Nothing of it is copied when a turn is written: it is looked up when the turn is read or shown. Only where the turn
before is not stored at all, the turn has it itself (`Turn.before`).
"""

from __future__ import annotations

from collections.abc import Sequence

from remanence.index.index import Index
from remanence.models.reader_input import needs_turn_before
from remanence.schema import SELF, Memory
from remanence.text.text import last_words

_MAX_WORDS = 30
"""How many words of the turn before are given, the last ones."""


def turns_before(index: Index, rows: Sequence[int], position: int) -> list[str]:
    """For each row the turn before it, with its speaker, if the row may not be understood without it and the turn is
    visible at `position`; otherwise "". Needs the lock of the index."""
    visible = index.catalog.visible_mask(position)
    previous = index.graph.previous_turns(rows)
    visible_rows = [row for row in previous if row >= 0 and visible[row]]
    spoken = [f"{speaker_label(memory)}: {memory.text}" for memory in index.memories(visible_rows)]
    text_of = dict(zip(visible_rows, spoken, strict=True))
    memories = index.memories(rows)
    found = [_own_context(memory) or text_of.get(row, "") for row, memory in zip(previous, memories, strict=True)]
    return [
        last_words(turn, _MAX_WORDS) if needs_turn_before(memory.text, turn) else ""
        for memory, turn in zip(memories, found, strict=True)
    ]


def speaker_label(memory: Memory) -> str | None:
    """The speaker of a turn as it is read and shown."""
    if memory.turn is None:
        return None
    return "user" if memory.turn.speaker == SELF else memory.turn.speaker


def _own_context(memory: Memory) -> str:
    return (memory.turn.before or "") if memory.turn is not None else ""
