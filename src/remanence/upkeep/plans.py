"""What all steps share: the base of their plans, checks that a plan still fits, tables and batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from remanence.index.engine.engine import Engine
from remanence.index.index import Index
from remanence.index.numbers import Position
from remanence.ports import Progress
from remanence.recall.validity.current import unexpired_current_mask
from remanence.schema import Snapshot
from remanence.schema.display import data_frame, html_table
from remanence.text.text import truncate

if TYPE_CHECKING:
    import pandas

T = TypeVar("T")
AnyPlan = TypeVar("AnyPlan", bound="Plan")
_MAX_CELL_WIDTH = 60
"""Characters of a cell of a plan's table."""
_MAX_ROWS = 40
"""Rows of a plan's table."""


class StalePlan(Exception):
    """Something has changed since a plan was made; the message says what."""


@dataclass(frozen=True, slots=True)
class ResultTable:
    """A table with a title above and notes below it, as text and as HTML."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[object]]
    notes: Sequence[str] = ()

    def __str__(self) -> str:
        return "\n".join([format_table(self.title, self.columns, self.rows), *(f"  {note}" for note in self.notes)])

    def _repr_html_(self) -> str:
        return html_table(self.title, self.columns, self.rows, self.notes)


class TableResult:
    """A result that prints as a table, and is one in a notebook."""

    __slots__ = ()

    @property
    def table(self) -> ResultTable:
        """The title, the columns and the rows."""
        raise NotImplementedError

    def __str__(self) -> str:
        return str(self.table)

    def _repr_html_(self) -> str:
        return self.table._repr_html_()

    def to_df(self) -> pandas.DataFrame:
        """The rows of the table as a data frame. Needs pandas.

        Raises:
            MissingExtra: pandas is not installed.
        """
        table = self.table
        return data_frame([dict(zip(table.columns, row, strict=True)) for row in table.rows], table.columns)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan(TableResult):
    """What a step is going to do. It prints as a table; `space.upkeep.apply(plan)` does it."""

    position: int
    """The last ledger position that was read."""
    run: str | None = None
    """The run that applied this plan; None before."""

    def __len__(self) -> int:
        raise NotImplementedError

    @property
    def has_changes(self) -> bool:
        """Whether applying the plan writes anything."""
        return len(self) > 0

    def verb(self, past: str, infinitive: str) -> str:
        """The verb of the title, with the run that applied this plan."""
        return f"run {self.run} {past}" if self.run else f"would {infinitive}"

    def check(self, engine: Engine, space: str) -> None:
        """Raise StalePlan if something that the plan depends on has changed since it was made."""
        raise NotImplementedError

    def write(self, engine: Engine, space: str, run: str, progress: Progress | None) -> None:
        """Do what the plan says. What others may change in the meantime is checked in each transaction."""
        raise NotImplementedError

    def with_run(self: AnyPlan, run: str) -> AnyPlan:
        """The same plan with the run that applied it."""
        return replace(self, run=run)


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


def batches(items: Sequence[T], size: int, progress: Progress | None) -> Iterator[Sequence[T]]:
    """Consecutive batches of the items. Progress is reported after each batch was processed."""
    for begin in range(0, len(items), size):
        batch = items[begin : begin + size]
        yield batch
        if progress is not None:
            progress(begin + len(batch), len(items))


def entity_id(index: Index, name: str, position: Position) -> str | None:
    """The id of the entity that has this name at a ledger position; None if no entity has it."""
    with index.lock:
        number = index.names.number(name)
        return None if number is None else index.registry.entity_of(number, position)


def check_unchanged(index: Index, positions: Mapping[str, int], *, used_after: int | None = None) -> None:
    """Raise StalePlan if one of these memories, given with the positions of their versions, is hidden or
    has another version by now; or was used after a position, if one is given."""
    catalog = index.catalog
    for memory, position in positions.items():
        row = index.current_row(memory, catalog.position)
        if row is None or catalog.positions_of_rows([row]) != [position]:
            raise StalePlan(f"memory {memory!r} was hidden or has changed")
        if used_after is not None and index.usage.get(memory).position > used_after:
            raise StalePlan(f"memory {memory!r} was used")


def check_current(
    index: Index,
    positions: Mapping[str, int],
    now: datetime,
    *,
    used_after: int | None = None,
    unlinked: Iterable[tuple[str, str]] = (),
) -> None:
    """Raise StalePlan as `check_unchanged` does, and also if one of the memories has expired or was superseded,
    or if two of those that should be unlinked are linked."""
    with index.lock:
        check_unchanged(index, positions, used_after=used_after)
        snapshot = index.snapshot(index.catalog.position, now)
        rows = [index.current_row(memory, snapshot.position) for memory in positions]
        current = unexpired_current_mask(index, np.array(rows, np.int64), snapshot)
    for memory, is_current in zip(positions, current.tolist(), strict=True):
        if not is_current:
            raise StalePlan(f"memory {memory!r} was replaced or has expired")
    for memory, other in unlinked:
        if are_linked(index, memory, other, snapshot):
            raise StalePlan(f"memories {memory!r} and {other!r} were linked")


def are_linked(index: Index, memory: str, other: str, snapshot: Snapshot) -> bool:
    """Whether there is a valid link of any kind between two memories."""
    with index.lock:
        first, second = index.catalog.number(memory), index.catalog.number(other)
        return first is not None and second is not None and index.links.are_linked(first, second, snapshot)


def _cell(value: object) -> str:
    text = f"{value:.2f}" if isinstance(value, float) else " ".join(str(value).split())
    return truncate(text, _MAX_CELL_WIDTH)
