"""Helpers that several steps share: tables, batches, progress and entity ids."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

from remanence.core.index import Index
from remanence.language.text import truncate

if TYPE_CHECKING:
    from remanence.ports import Progress

T = TypeVar("T")
_MAX_CELL_WIDTH = 60
_MAX_ROWS = 40


def format_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A title and aligned columns; numbers with two decimals, long texts cut.

    >>> print(format_table("1 memory", ["score", "memory"], [[0.5, "Alice lives in Porto."]]))
    1 memory
      score  memory
      0.50   Alice lives in Porto.
    """
    cells = [[_cell(value) for value in row] for row in rows[:_MAX_ROWS]]
    lines = [title]
    if cells:
        widths = [max(map(len, column)) for column in zip(columns, *cells, strict=True)]
        for row in [columns, *cells]:
            padded = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
            lines.append(f"  {'  '.join(padded)}".rstrip())
    if len(rows) > _MAX_ROWS:
        lines.append(f"  ... and {len(rows) - _MAX_ROWS} more")
    return "\n".join(lines)


def batches(items: Sequence[T], size: int, progress: Progress | None = None) -> Iterator[Sequence[T]]:
    """Consecutive batches of the items. Progress is reported after each batch was processed.

    >>> list(batches("abcde", 2))
    ['ab', 'cd', 'e']
    """
    for begin in range(0, len(items), size):
        batch = items[begin : begin + size]
        yield batch
        if progress is not None:
            progress(begin + len(batch), len(items))


def entity_id(index: Index, name: str, position: int) -> str | None:
    """The id of the entity that has this name at a ledger position; None if no entity has it."""
    with index.lock:
        number = index.names.number(name)
        return None if number is None else index.registry.entity_of(number, position)


def _cell(value: object) -> str:
    text = f"{value:.2f}" if isinstance(value, float) else " ".join(str(value).split())
    return truncate(text, _MAX_CELL_WIDTH)
