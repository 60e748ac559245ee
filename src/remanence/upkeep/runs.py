"""One upkeep run: that it is the only one, what it did, and how it is undone.

Every step writes its changes and the line that says what they were in one transaction, so that a run that
dies half way can be undone as far as it went.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from remanence.core.index import Index
from remanence.core.index_file import index_file_name
from remanence.core.locks import try_lock as held_lock
from remanence.errors import InvalidInput, LedgerUnavailable, NotFound
from remanence.events import Demoted, Event, Forgotten, Invalidated, Promoted, Remembered, Restored, Reversed
from remanence.language.text import pluralize
from remanence.schema import format_moment, from_micros
from remanence.state.catalog import MEMORY_ENTRY_KINDS
from remanence.state.usage import RunState
from remanence.upkeep import vault_import

if TYPE_CHECKING:
    from remanence.core.engine import Engine


@dataclass(frozen=True, slots=True)
class Run:
    """What upkeep did, in one go. Give it to `space.upkeep.undo` to take it back."""

    id: str
    recorded_at: datetime
    steps: tuple[str, ...]
    made: tuple[str, ...] = ()
    revised: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    promoted: tuple[str, ...] = ()
    notes_added: tuple[str, ...] = ()
    """Memories promoted earlier, that got their notes."""
    links: int = 0
    undone: bool = False
    archived: bool = False
    """Whether what it hid went into the archive."""

    @classmethod
    def from_state(cls, state: RunState) -> Run:
        """A run as the ledger tells it."""
        return cls(
            id=state.id,
            recorded_at=from_micros(state.at),
            steps=state.steps,
            made=state.made,
            revised=tuple(memory for memory, _ in state.revised),
            hidden=state.hidden,
            promoted=state.promoted,
            notes_added=_noted(state),
            links=len(state.edges),
            undone=state.undone,
            archived=state.given.get("gc", {}).get("how") == "archive",
        )

    def and_of(self, other: Run) -> Run:
        """This run with what it did in another space."""
        return replace(self, made=(*self.made, *other.made), revised=(*self.revised, *other.revised))

    def __str__(self) -> str:
        counts = (
            (len(self.made), "made"),
            (len(self.revised), "revised"),
            (len(self.hidden), "archived" if self.archived else "forgotten"),
            (len(self.promoted), "promoted"),
            (len(self.notes_added), "noted"),
        )
        done = [f"{count} {what}" for count, what in counts if count]
        done += [pluralize(self.links, "link") + " drawn"] if self.links else []
        undone = ", undone since" if self.undone else ""
        what = ", ".join(done) or "nothing to do"
        return f"run {self.id}, {format_moment(self.recorded_at)}: {', '.join(self.steps)}; {what}{undone}"


@dataclass(frozen=True, slots=True)
class UndoReport:
    """That a run was undone. `left` are the memories that had changed since, and were let be."""

    run: str
    skipped: tuple[str, ...] = ()

    def __str__(self) -> str:
        left = (
            f"; {pluralize(len(self.skipped), 'memory', 'memories')} had changed since, and stay"
            if self.skipped
            else ""
        )
        return f"run {self.run} was undone{left}"


@contextmanager
def upkeep_lock(engine: Engine, space: str) -> Iterator[None]:
    """Be the only upkeep run of this space, in this process and in all that opened the same folder."""
    with held_lock(engine, f"upkeep-{index_file_name(space).removesuffix('.npz')}") as mine:
        if not mine:
            raise LedgerUnavailable(
                f"another upkeep run is at work in space {space!r}. Nothing was done; try again when it is over."
            )
        yield


def list_runs(engine: Engine, space: str) -> list[Run]:
    """What upkeep has done in a space and among a person's own notes, oldest first."""
    with engine.open_index(space) as index:
        mine = {run.id: Run.from_state(run) for run in list(index.usage.runs.values())}
    if vault_import.has_notes(engine, space):
        with engine.open_index(vault_import.vault_space(space)) as theirs:
            others = [Run.from_state(run) for run in list(theirs.usage.runs.values())]
        mine |= {run.id: run if run.id not in mine else mine[run.id].and_of(run) for run in others}
    return sorted(mine.values(), key=lambda run: (run.recorded_at, run.id))


def reverse_run(engine: Engine, space: str, run_id: str) -> UndoReport:
    """Append what takes a run back."""
    told: list[UndoReport] = []

    def decide(index: Index) -> list[Event]:
        run = _to_undo(index, run_id)
        since = _changed(engine, index, run)
        left = tuple(memory for memory in (*run.made, *(m for m, _ in run.revised), *run.hidden) if memory in since)
        told[:] = [UndoReport(run_id, left)]
        return [*_reversal(engine, index, run, set(left)), Reversed(run_id, left)]

    engine.write(space, decide)
    return told[0]


def restore(engine: Engine, space: str, ids: Iterable[str]) -> int:
    """Show those of these memories again that are hidden because a run hid them; how many that are."""

    def decide(index: Index) -> list[Event]:
        hidden = {memory for run in index.usage.runs.values() for memory in still_hidden(index, run)}
        return [Restored(memory) for memory in dict.fromkeys(ids) if memory in hidden]

    return len(engine.write(space, decide))


def still_hidden(index: Index, run: RunState) -> Iterator[str]:
    """The memories that a run hid and about which nobody has said anything since."""
    for memory in run.hidden:
        number = index.catalog.number(memory)
        since = None if number is None else index.catalog.hidden_since(number)
        if since is not None and since <= run.line:
            yield memory


def _to_undo(index: Index, run_id: str) -> RunState:
    run = index.usage.runs.get(run_id)
    if run is None:
        raise NotFound(f"space {index.space!r} knows no upkeep run {run_id!r}. `space.upkeep.runs()` lists them.")
    if run.undone:
        raise InvalidInput(f"upkeep run {run_id!r} was undone already.")
    mine = set(run.made)
    for later in list(index.usage.runs.values()):
        if later.line > run.line and not later.undone and mine.intersection(later.used):
            raise InvalidInput(
                f"upkeep run {run_id!r} cannot be undone: run {later.id!r} has built on what it made. "
                f"First undo that one: space.upkeep.undo({later.id!r})."
            )
    return run


def _changed(engine: Engine, index: Index, run: RunState) -> set[str]:
    """The memories of a run about which somebody has said something else since.

    One that it hid: anything. One that it made or revised: if it is hidden, or in another version; what a
    later run did to it and took back is no change.
    """
    later = engine.ledger.read(space=index.space, after=run.line)
    said = {entry.subject for entry in later if entry.kind in MEMORY_ENTRY_KINDS}
    written = {*run.made, *(memory for memory, _ in run.revised)}
    return {memory for memory in said if memory not in written or not _is_as_it_was(engine, index, memory, run)}


def _is_as_it_was(engine: Engine, index: Index, memory: str, run: RunState) -> bool:
    catalog = index.catalog
    row = index.current_row(memory, catalog.position)
    if row is None:
        return False
    before = catalog.row_at(catalog.memory_of(row), run.line)
    assert before is not None, "what a run made or revised has a version at the line of the run"
    then, now = catalog.positions_of_rows([before, row])
    lines = engine.ledger.entries_at([then, now])
    return lines[then].event == lines[now].event


def _noted(run: RunState) -> tuple[str, ...]:
    """The memories that a run gave notes to, and that were promoted before."""
    return tuple(run.given.get("promote", {}).get("noted", ()))


def _reversal(engine: Engine, index: Index, run: RunState, left: set[str]) -> Iterator[Event]:
    now, why = engine.now(), f"upkeep run {run.id} was undone"
    for edge in run.edges:
        yield Invalidated(edge, now, why=why)
    for memory in run.made:
        if memory not in left:
            yield Forgotten(memory, why)
    lines = engine.ledger.entries_at([line for _, line in run.revised])
    for memory, line in run.revised:
        before = lines[line].event if line in lines else None
        if memory not in left and isinstance(before, Remembered):
            yield before
    for memory in run.hidden:
        if memory not in left:
            yield Restored(memory)
    for memory in run.promoted:
        yield Demoted(memory)
    for memory in _noted(run):
        if memory in index.usage.promoted_notes:
            yield Promoted(memory)
