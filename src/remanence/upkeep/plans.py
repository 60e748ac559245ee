"""What all steps share: changes that they propose, the plan of these changes, tables and batches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol

import numpy as np
from typing_extensions import TypeVar

from remanence.events import Event, Forgotten, Linked, Promoted, Ran
from remanence.index.engine.engine import Engine
from remanence.index.index import Index
from remanence.index.numbers import Position
from remanence.ports import Progress
from remanence.recall.validity.current import unexpired_current_mask
from remanence.remember.append import CHUNK, append
from remanence.remember.prepare import PreparedVersion
from remanence.schema import Snapshot
from remanence.schema.display import data_frame, html_table
from remanence.text.text import truncate

if TYPE_CHECKING:
    import pandas

T = TypeVar("T")
AnyChange = TypeVar("AnyChange", bound="Change", default="Change")
_MAX_ROWS = 40


class StalePlan(Exception):
    """Something has changed since a plan was made; the message says what."""


@dataclass(frozen=True, slots=True)
class ResultTable:
    """A table with a title above and notes below it, as text (numbers with two decimals, long texts cut) and as HTML.

    >>> print(ResultTable("1 memory", ["score", "memory"], [[0.5, "Alice lives in Porto."]]))
    1 memory
      score  memory
      0.50   Alice lives in Porto.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[object]]
    notes: Sequence[str] = ()

    def __str__(self) -> str:
        rows = [[_cell(value) for value in row] for row in (self.columns, *self.rows[:_MAX_ROWS])] if self.rows else []
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
        lines += [f"... and {len(self.rows) - _MAX_ROWS} more"] if len(self.rows) > _MAX_ROWS else []
        return "\n  ".join([self.title, *lines, *self.notes])

    def _repr_html_(self) -> str:
        return html_table(self.title, self.columns, self.rows, self.notes)


def _cell(value: object) -> str:
    return truncate(f"{value:.2f}" if isinstance(value, float) else " ".join(str(value).split()), 60)


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


class Applicable(TableResult):
    """A plan, or what a server says of one."""

    __slots__ = ()
    run: str | None
    """The run that applied it; None before."""

    @property
    def has_changes(self) -> bool:
        """Whether applying it writes anything."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One thing that a step proposes. Each step has a class for it, with what people want to know.

    Attributes:
        sources: The memories that it depends on, with the ledger positions of their versions.
        events: What it writes.
        version: The memory that it stores, or the new version of one.
    """

    sources: Mapping[str, int] = field(default_factory=dict)
    events: tuple[Event, ...] = ()
    version: PreparedVersion | None = None

    @property
    def row(self) -> tuple[object, ...]:
        """The cells of its row in the table of the plan."""
        raise NotImplementedError

    def events_at(self, index: Index) -> Sequence[Event]:
        """What it writes that depends on the index at that moment."""
        return self.events


class FileChanges(Protocol):
    """What a plan does to files, before it writes to the ledger."""

    def __len__(self) -> int: ...

    def check(self, engine: Engine) -> None:
        """Raise StalePlan if the files have changed since the plan was made."""
        ...

    def write(self, progress: Progress | None) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan(Applicable, Generic[AnyChange]):
    """What a step is going to do. It prints as a table; `space.upkeep.apply(plan)` does it.

    Attributes:
        step: The step: "gc", "consolidate", "link", "promote", "discover" or "index_vault".
        space: The name of the space in which it is done.
        verbs: What is done, in the past and as an infinitive, for the title of the table.
        title: The rest of the title.
        columns: The columns of the table.
        notes: What else is to be known.
        parameters: What is recorded with the run, and decides whether a later run is the same.
        files: What is done to files.
        requires: What the memories have to be when the plan is applied: "unchanged" since it was made, also "current",
            or also "unused" since.
        is_recorded: Whether a run is recorded even if it changes nothing.
        run: The run that applied this plan; None before.
    """

    step: str
    space: str
    position: int
    items: tuple[AnyChange, ...]
    verbs: tuple[str, str]
    title: str
    columns: tuple[str, ...]
    notes: tuple[str, ...] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict)
    files: FileChanges | None = None
    requires: Literal["unchanged", "current", "unused"] = "current"
    is_recorded: bool = False
    run: str | None = None

    def __len__(self) -> int:
        return len(self.items) + (0 if self.files is None else len(self.files))

    def __iter__(self) -> Iterator[AnyChange]:
        return iter(self.items)

    @property
    def has_changes(self) -> bool:
        return len(self) > 0 or self.is_recorded

    @property
    def hidden(self) -> tuple[str, ...]:
        """The ids of the memories that it forgets or archives."""
        events = (event for item in self.items for event in item.events)
        return tuple(event.memory for event in events if isinstance(event, Forgotten))

    @property
    def memories(self) -> tuple[str, ...]:
        """The ids of the memories that it hides, merges, links, promotes or revises."""
        return tuple(dict.fromkeys(memory for item in self.items for memory in item.sources))

    @property
    def table(self) -> ResultTable:
        done, do = self.verbs
        verb = f"run {self.run} {done}" if self.run else f"would {do}"
        rows = [item.row for item in self.items]
        return ResultTable(f"{self.step}: {verb} {self.title}", self.columns, rows, self.notes)

    def check(self, engine: Engine) -> None:
        """Raise StalePlan if something that the plan depends on has changed since it was made."""
        with engine.open_index(self.space) as index, index.lock:
            self._check_unchanged(index, self.items)
            snapshot, memories = index.snapshot(index.catalog.position, engine.now()), self.memories
            rows = np.array([index.current_row(memory, snapshot.position) for memory in memories], np.int64)
            current = unexpired_current_mask(index, rows, snapshot).tolist()
            if self.requires != "unchanged" and not all(current):
                raise StalePlan(f"memory {memories[current.index(False)]!r} was replaced or has expired")
            for event in (event for item in self.items for event in item.events):
                if isinstance(event, Linked) and are_linked(index, event.source, event.target, snapshot):
                    raise StalePlan(f"memories {event.source!r} and {event.target!r} were linked")
                if isinstance(event, Promoted) and index.usage.promoted_notes.get(event.memory, "") == event.note:
                    raise StalePlan(f"memory {event.memory!r} was promoted")
            last = index.usage.last_run(self.step, self.parameters) if self.is_recorded and not self.items else None
        if last is not None and last.planned_position >= self.position:
            raise StalePlan(f"run {last.id!r} has compared the same memories")
        if self.files is not None:
            self.files.check(engine)

    def write(self, engine: Engine, run: str, progress: Progress | None) -> None:
        """Do what the plan says. What others may change in the meantime is checked in each transaction."""
        # The files first: after a crash in between, they are correct anyway.
        if self.files is not None:
            self.files.write(progress)
        if not self.items:
            engine.write(self.space, partial(self._events, run, ()))
        for batch in batches(self.items, CHUNK, progress):
            now = engine.now()
            versions = [item.version._replace(recorded_at=now) for item in batch if item.version is not None]
            events = partial(self._events, run, batch)
            if versions:
                append(engine, self.space, versions, extra_events=events)
            else:
                engine.write(self.space, events)

    def _check_unchanged(self, index: Index, items: Sequence[AnyChange]) -> None:
        """Raise StalePlan if a memory of these items is hidden, has another version, or was used, if that matters."""
        for memory, position in (source for item in items for source in item.sources.items()):
            row = index.current_row(memory, index.catalog.position)
            if row is None or index.catalog.positions_of_rows([row]) != [position]:
                raise StalePlan(f"memory {memory!r} was hidden or has changed")
            if self.requires == "unused" and index.usage.get(memory).position > self.position:
                raise StalePlan(f"memory {memory!r} was used")

    def _events(self, run: str, batch: Sequence[AnyChange], index: Index, ids: Sequence[str] = ()) -> list[Event]:
        """The events of some items, and the entry with what an undo has to reverse. `ids` are those of the memories
        that are stored."""
        self._check_unchanged(index, batch)
        stored = [(item.version.version.memory, item) for item in batch if item.version is not None]
        if [memory for memory, _ in stored] != list(ids):
            raise StalePlan("the same memories were stored")
        events = [event for item in batch for event in item.events_at(index)]
        links = [event for event in events if isinstance(event, Linked)]
        for memory in (memory for link in links for memory in (link.source, link.target)):
            if index.catalog.number(memory) is None and memory not in ids:
                raise StalePlan(f"memory {memory!r}, which the same run was to make, has not been made")
        promoted = [event.memory for event in events if isinstance(event, Promoted)]
        ran = Ran(
            run,
            self.step,
            self.position,
            self.parameters,
            made=tuple(memory for memory, item in stored if memory not in item.sources),
            used=tuple(source for memory, item in stored for source in item.sources if source != memory),
            revised=tuple((memory, item.sources[memory]) for memory, item in stored if memory in item.sources),
            hidden=tuple(event.memory for event in events if isinstance(event, Forgotten)),
            promoted=tuple(memory for memory in promoted if memory not in index.usage.promoted_notes),
            edges=tuple(link.link for link in links),
        )
        return [*events, ran]


@dataclass(frozen=True, slots=True, kw_only=True)
class UpkeepPlan(Applicable):
    """Several plans, applied as one run. Each takes the changes of the earlier ones into account."""

    plans: tuple[Plan[Any], ...]
    position: int
    reports: tuple[TableResult, ...] = ()
    run: str | None = None

    def __len__(self) -> int:
        return sum(map(len, self.plans))

    def __iter__(self) -> Iterator[Change]:
        return (change for plan in self.plans for change in plan)

    def __str__(self) -> str:
        done = [f"done as run {self.run}"] if self.run else []
        return "\n\n".join([*map(str, self.parts), *done])

    def _repr_html_(self) -> str:
        return "".join(part._repr_html_() for part in self.parts)

    @property
    def parts(self) -> tuple[TableResult, ...]:
        """The reports and the plans."""
        return (*self.reports, *self.plans)

    @property
    def table(self) -> ResultTable:
        tables = [part.table for part in self.parts]
        rows = [(table.title.partition(":")[0], len(table.rows)) for table in tables]
        return ResultTable(f"run: {f'run {self.run} did' if self.run else 'would do'}", ("step", "found"), rows)

    @property
    def has_changes(self) -> bool:
        return any(plan.has_changes for plan in self.plans)


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


def are_linked(index: Index, memory: str, other: str, snapshot: Snapshot) -> bool:
    """Whether there is a valid link of any kind between two memories."""
    with index.lock:
        first, second = index.catalog.number(memory), index.catalog.number(other)
        return first is not None and second is not None and index.links.are_linked(first, second, snapshot)
