"""Plans and reports as text that lines up."""

from __future__ import annotations

from collections.abc import Sequence

from remanence.language.text import truncate

_WIDEST = 60
MOST_ROWS = 40


def format_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A title and aligned columns; numbers with two decimals, long texts cut.

    >>> print(format_table("1 memory", ["score", "memory"], [[0.5, "Alice lives in Porto."]]))
    1 memory
      score  memory
      0.50   Alice lives in Porto.
    """
    shown = [[_cell(value) for value in row] for row in rows[:MOST_ROWS]]
    widths = [max(map(len, column)) for column in zip(columns, *shown, strict=True)] if shown else []
    lines = [title]
    for row in [columns, *shown] if shown else []:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        lines.append(f"  {'  '.join(cells)}".rstrip())
    if len(rows) > MOST_ROWS:
        lines.append(f"  ... and {len(rows) - MOST_ROWS} more")
    return "\n".join(lines)


def _cell(value: object) -> str:
    text = f"{value:.2f}" if isinstance(value, float) else " ".join(str(value).split())
    return truncate(text, _WIDEST)
