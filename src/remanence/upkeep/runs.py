"""Upkeep runs: the lock that allows one at a time, the list of runs, and undoing one.

Each step writes its changes and the ledger entry that lists them in one transaction, so that an interrupted
run can be undone as far as it went.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime

from remanence.errors import InvalidInput, LedgerUnavailable, NotFound
from remanence.events import Demoted, Event, Forgotten, Invalidated, Promoted, Remembered, Restored, Reversed
from remanence.index.engine.engine import Engine
from remanence.index.index import Index
from remanence.index.index_file import space_hash
from remanence.index.journal import RunState
from remanence.index.numbers import Position
from remanence.index.versions.catalog import MEMORY_ENTRY_KINDS
from remanence.schema import format_moment, from_micros
from remanence.text.text import pluralize


@dataclass(frozen=True, slots=True)
class Run:
    """What one upkeep run did. `space.upkeep.undo(run)` reverses it."""

    id: str
    recorded_at: datetime
    steps: tuple[str, ...]
    made: tuple[str, ...] = ()
    revised: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    promoted: tuple[str, ...] = ()
    notes_added: tuple[str, ...] = ()
    """Memories promoted earlier that got notes."""
    links: int = 0
    undone: bool = False
    archived: bool = False
    """Whether the hidden memories are in the archive."""

    @classmethod
    def from_state(cls, state: RunState) -> Run:
        return cls(
            id=state.id,
            recorded_at=from_micros(state.at),
            steps=state.steps,
            made=state.created_ids,
            revised=tuple(memory for memory, _ in state.revised),
            hidden=state.hidden_ids,
            promoted=state.promoted,
            notes_added=_notes_added(state),
            links=len(state.edges),
            undone=state.undone,
            archived=state.settings_by_step.get("gc", {}).get("how") == "archive",
        )

    def __str__(self) -> str:
        counts = {
            "made": len(self.made),
            "revised": len(self.revised),
            "archived" if self.archived else "forgotten": len(self.hidden),
            "promoted": len(self.promoted),
            "given notes": len(self.notes_added),
        }
        parts = [f"{count} {verb}" for verb, count in counts.items() if count]
        parts += [f"{pluralize(self.links, 'link')} added"] if self.links else []
        undone = ", undone since" if self.undone else ""
        effect = ", ".join(parts) or "nothing to do"
        return f"run {self.id}, {format_moment(self.recorded_at)}: {', '.join(self.steps)}; {effect}{undone}"


@dataclass(frozen=True, slots=True)
class UndoReport:
    """That a run was undone. `skipped` are the memories that were changed since, and were left as they are."""

    run: str
    skipped: tuple[str, ...] = ()

    def __str__(self) -> str:
        count = pluralize(len(self.skipped), "memory", "memories")
        return f"run {self.run} was undone" + (f"; {count} changed since were left as is" if self.skipped else "")


@contextmanager
def upkeep_lock(engine: Engine, space: str) -> Iterator[None]:
    """Hold the upkeep lock of a space, in this process and against all that have opened the same ledger."""
    with engine.locks.acquire(f"upkeep-{space_hash(space)}") as acquired:
        if not acquired:
            raise LedgerUnavailable(
                f"another upkeep run is active in space {space!r}. Nothing was done; try again when it has ended."
            )
        yield


def vault_space(space: str) -> str:
    """The name of the space with a person's own notes. `child()` cannot make it: it writes "%" as "%25"."""
    return f"{space}/%vault"


def has_vault_notes(engine: Engine, space: str) -> bool:
    """Whether a person's own notes were ever read in. (Opening their space would create its files.)"""
    return engine.ledger.count(vault_space(space)) > 0


def spaces_with_runs(engine: Engine, space: str) -> list[str]:
    """The space, and the one with a person's own notes if there is one."""
    return [space, vault_space(space)] if has_vault_notes(engine, space) else [space]


def list_runs(engine: Engine, space: str) -> list[Run]:
    """What upkeep has done in a space and among a person's own notes, oldest first."""
    runs: dict[str, Run] = {}
    for name in spaces_with_runs(engine, space):
        with engine.open_index(name) as index:
            space_runs = [Run.from_state(state) for state in list(index.usage.runs.values())]
        for run in space_runs:
            first = runs.setdefault(run.id, run)
            if first is not run:
                made, revised = (*first.made, *run.made), (*first.revised, *run.revised)
                runs[run.id] = replace(first, made=made, revised=revised)
    return sorted(runs.values(), key=lambda run: (run.recorded_at, run.id))


def reverse_run(engine: Engine, space: str, run_id: str) -> tuple[str, ...]:
    """Append the events that reverse a run; returns the memories that were changed since and left as they are."""
    skipped: list[str] = []

    def decide(index: Index) -> list[Event]:
        run = _require_run(index, run_id)
        changed = _changed_memories(engine, index, run)
        memories = (*run.created_ids, *(memory for memory, _ in run.revised), *run.hidden_ids)
        skipped[:] = [memory for memory in memories if memory in changed]
        return [*_reversal_events(engine, index, run, changed), Reversed(run_id, tuple(skipped))]

    engine.write(space, decide)
    return tuple(skipped)


def restore(engine: Engine, space: str, ids: Iterable[str]) -> int:
    """Restore those of these memories that are hidden because a run hid them; returns their number."""

    def decide(index: Index) -> list[Event]:
        hidden = {memory for run in index.usage.runs.values() for memory in still_hidden(index, run)}
        return [Restored(memory) for memory in dict.fromkeys(ids) if memory in hidden]

    return len(engine.write(space, decide))


def still_hidden(index: Index, run: RunState) -> Iterator[str]:
    """The memories that a run hid and that have no ledger entry since."""
    for memory in run.hidden_ids:
        number = index.catalog.number(memory)
        since = None if number is None else index.catalog.hidden.hidden_since(number)
        if since is not None and since <= run.position:
            yield memory


def _require_run(index: Index, run_id: str) -> RunState:
    run = index.usage.runs.get(run_id)
    if run is None:
        raise NotFound(f"space {index.space!r} has no upkeep run {run_id!r}. `space.upkeep.runs()` lists them.")
    if run.undone:
        raise InvalidInput(f"upkeep run {run_id!r} was undone already.")
    made = set(run.created_ids)
    for later in list(index.usage.runs.values()):
        if later.position > run.position and not later.undone and made.intersection(later.source_ids):
            raise InvalidInput(
                f"upkeep run {run_id!r} cannot be undone: run {later.id!r} used what it made. "
                f"First undo that one: space.upkeep.undo({later.id!r})."
            )
    return run


def _changed_memories(engine: Engine, index: Index, run: RunState) -> set[str]:
    """The memories of a run that were changed since.

    A memory that the run hid: any later entry is a change. One that it made or revised: if it is hidden, or its
    version differs. What a later run did and was undone is no change.
    """
    later = engine.ledger.read(space=index.space, after=run.position)
    mentioned = {entry.subject for entry in later if entry.kind in MEMORY_ENTRY_KINDS}
    written = {*run.created_ids, *(memory for memory, _ in run.revised)}
    return {memory for memory in mentioned if memory not in written or not _is_unchanged(index, memory, run)}


def _is_unchanged(index: Index, memory: str, run: RunState) -> bool:
    catalog = index.catalog
    row = index.current_row(memory, catalog.position)
    if row is None:
        return False
    before = catalog.row_at(catalog.memory_of(row), Position(run.position))
    assert before is not None, "a memory that a run made or revised has a version at the position of the run"
    then, now = catalog.positions_of_rows([before, row])
    entries = index.entries_at([then, now])
    return entries[then].event == entries[now].event


def _notes_added(run: RunState) -> tuple[str, ...]:
    """The memories, promoted earlier, that a run wrote notes for."""
    return tuple(run.settings_by_step.get("promote", {}).get("noted", ()))


def _reversal_events(engine: Engine, index: Index, run: RunState, changed: set[str]) -> Iterator[Event]:
    now, why = engine.now(), f"upkeep run {run.id} was undone"
    yield from (Invalidated(edge, now, why=why) for edge in run.edges)
    yield from (Forgotten(memory, why) for memory in run.created_ids if memory not in changed)
    entries = engine.ledger.entries_at([position for _, position in run.revised])
    for memory, position in run.revised:
        before = entries[position].event if position in entries else None
        if memory not in changed and isinstance(before, Remembered):
            yield before
    yield from (Restored(memory) for memory in run.hidden_ids if memory not in changed)
    yield from (Demoted(memory) for memory in run.promoted)
    yield from (Promoted(memory) for memory in _notes_added(run) if memory in index.usage.promoted_notes)
