"""Memories of one space that were read or recalled lately, and reads that find one which another process erases."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from typing import ParamSpec, TypeVar

from remanence.schema import Memory
from remanence.text.text import MAX_PASSAGE, normalize_text

P = ParamSpec("P")
T = TypeVar("T")


class RowErased(LookupError):
    """The text of a row was erased between ranking it and reading it."""


def retry_if_erased(read: Callable[P, T]) -> Callable[P, T]:
    """Run a read again if another process erased a memory between finding it and reading it."""

    @wraps(read)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        for _ in range(20):
            try:
                return read(*args, **kwargs)
            except RowErased:
                continue  # opening the index applies the erasure; there may be another one by then
        return read(*args, **kwargs)

    return run


class MemoryCache:
    """Memories by ledger position, and the ids of recalled memories by text."""

    def __init__(self) -> None:
        self._memories: OrderedDict[int, Memory] = OrderedDict()
        self._recalled: OrderedDict[str, str] = OrderedDict()

    def __len__(self) -> int:
        return len(self._memories)

    def get_many(self, positions: Sequence[int], load: Callable[[Sequence[int]], Mapping[int, Memory]]) -> list[Memory]:
        """The memories at these positions. `load` returns those that are not here."""
        cached = self._memories
        if unread := [position for position in positions if position not in cached]:
            cached.update(load(unread))
        memories = [cached[position] for position in positions]
        while len(cached) > 4_096:
            cached.popitem(last=False)
        return memories

    def positions(self) -> list[int]:
        """The ledger positions of the memories that are kept."""
        return list(self._memories)

    def record_recalled(self, memories: Iterable[Memory]) -> None:
        """Note that these were just recalled. Their texts, added again, are not new memories. Nobody repeats a text of
        several passages."""
        for memory in memories:
            if len(memory.text) > MAX_PASSAGE:
                continue
            text = normalize_text(memory.text)
            self._recalled[text] = memory.id
            self._recalled.move_to_end(text)
        while len(self._recalled) > 512:
            self._recalled.popitem(last=False)

    def recalled_id(self, text: str) -> str | None:
        """The id of a memory with this normalized text that was recalled lately."""
        return self._recalled.get(text)

    def remove_erased(self, is_erased: Callable[[str], bool]) -> None:
        """Drop memories whose ids `is_erased` names."""
        for position in [position for position, memory in self._memories.items() if is_erased(memory.id)]:
            del self._memories[position]
        for text in [text for text, memory_id in self._recalled.items() if is_erased(memory_id)]:
            del self._recalled[text]
