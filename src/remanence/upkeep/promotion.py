"""Promotes memories that have proved useful: `gc` never hides them, and a vault gets Markdown notes of them.

A note that a person has edited is theirs, and is never overwritten.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from remanence.core.index import Index
from remanence.events import Event, Promoted, Ran
from remanence.language.text import pluralize
from remanence.schema import Snapshot, micros
from remanence.upkeep import notes
from remanence.upkeep.notes import Note
from remanence.upkeep.scored_memories import ScoredMemories, ScoredMemory, StalePlan, check_current
from remanence.upkeep.settings import UpkeepSettings
from remanence.upkeep.step_tools import batches, format_table
from remanence.upkeep.vault import VaultChanges, compare_vault, note_path

if TYPE_CHECKING:
    from remanence.core.engine import Engine
    from remanence.ports import Progress

STEP = "promote"
_USE_PERIOD = timedelta(days=14)
"""`promote_uses` uses within this period promote a memory."""
_MIN_AGE = timedelta(days=3)
"""Younger memories are not promoted for their score: everything new has a high one."""


@dataclass(frozen=True, slots=True)
class Promotion:
    """A memory to be promoted, why, the ledger position of its version, and its note if there is a vault."""

    memory: str
    text: str
    score: float
    why: str
    position: int
    note: str | None


@dataclass(frozen=True, slots=True)
class PromotionPlan:
    """Which memories are promoted, and what changes in the vault. It prints as a table;
    `space.upkeep.apply(plan)` does it."""

    promotions: tuple[Promotion, ...]
    notes_added: tuple[tuple[str, str], ...]
    """Memories promoted before there was a vault, and the notes they get now."""
    writes: tuple[Note, ...]
    removes: tuple[str, ...]
    """Notes of memories that were forgotten or erased since."""
    edited_notes: tuple[str, ...]
    """Notes that would be written or removed if a person had not edited them."""
    deleted_notes: tuple[str, ...]
    """Notes that somebody has deleted; their memories stay."""
    backfilled_notes: tuple[str, ...]
    """Of the writes, notes that another vault has, and this one, which is new, does not."""
    vault: str | None
    position: int
    run: str | None = None
    """The run that applied this plan; None before."""

    def __len__(self) -> int:
        return len(self.promotions) + len(self.notes_added) + len(self.writes) + len(self.removes)

    def __iter__(self) -> Iterator[Promotion]:
        return iter(self.promotions)

    def __str__(self) -> str:
        verb = f"run {self.run} promoted" if self.run else "would promote"
        title = f"promote: {verb} {pluralize(len(self.promotions), 'memory', 'memories')}"
        if self.vault is not None:
            title += f"; in {self.vault}: {pluralize(len(self.writes), 'note')} written, {len(self.removes)} removed"
        rows = [(each.score, each.why, each.memory, each.text) for each in self.promotions]
        lines = [format_table(title, ("score", "because", "id", "memory"), rows)]
        lines += [f"  {note} was edited by hand and stays as it is" for note in self.edited_notes]
        lines += [f"  {note} was deleted; its memory stays" for note in self.deleted_notes]
        return "\n".join(lines)


def plan(index: Index, memories: ScoredMemories, settings: UpkeepSettings, vault: Path | None) -> PromotionPlan:
    """The memories to promote, and the notes that the vault lacks."""
    promoted = index.usage.promoted_notes
    new = [
        Promotion(i.memory.id, i.memory.text, i.score, why, i.position, None if vault is None else note_path(i.memory))
        for i in memories.items
        if i.memory.id not in promoted and (why := _reason(i, memories, settings)) is not None
    ]
    new.sort(key=lambda promotion: (-promotion.score, promotion.memory))
    changes = VaultChanges()
    if vault is not None:
        changes = compare_vault(index, memories.snapshot, vault, {**promoted, **_without_notes(new)})
    new_ids = {promotion.memory for promotion in new}
    return PromotionPlan(
        promotions=tuple(new),
        notes_added=tuple(item for item in changes.new_note_paths.items() if item[0] not in new_ids),
        writes=changes.writes,
        removes=changes.removes,
        edited_notes=changes.edited_notes,
        deleted_notes=changes.deleted_notes,
        backfilled_notes=changes.backfilled_notes,
        vault=None if vault is None else str(vault),
        position=memories.position,
    )


def check(engine: Engine, space: str, plan: PromotionPlan) -> None:
    """Raise StalePlan if a memory of the plan is no longer current or was promoted since, or if other notes
    would be written by now, because a person has edited the vault or a memory has changed."""
    with engine.open_index(space) as index:
        now = engine.now()
        check_current(index, {promotion.memory: promotion.position for promotion in plan.promotions}, now)
        promoted = dict(index.usage.promoted_notes)
        for promotion in plan.promotions:
            if promotion.memory in promoted:
                raise StalePlan(f"memory {promotion.memory!r} was promoted")
        if plan.vault is not None:
            notes.check_writable(Path(plan.vault))
            snapshot = index.snapshot(index.catalog.position, now)
            promoted |= _without_notes(plan.promotions)
            changes = compare_vault(index, snapshot, Path(plan.vault), promoted)
            if (changes.writes, changes.removes) != (plan.writes, plan.removes):
                raise StalePlan(f"the vault {plan.vault}, or what is to be written there, has changed")


def write(engine: Engine, space: str, plan: PromotionPlan, run: str, progress: Progress | None = None) -> None:
    """Write the notes, then the promotions: after a crash in between, the notes are correct anyway."""
    if plan.vault is not None:
        _write_notes(Path(plan.vault), plan.writes, plan.removes, progress)
    noted = [memory for memory, _ in plan.notes_added]
    parameters = {"vault": plan.vault, "noted": noted, "filled": list(plan.backfilled_notes)}
    parameters = {name: value for name, value in parameters.items() if value}
    events: list[Event] = [Promoted(promotion.memory, promotion.note) for promotion in plan.promotions]
    events += [Promoted(memory, note) for memory, note in plan.notes_added]
    promoted = tuple(promotion.memory for promotion in plan.promotions)
    events.append(Ran(run, STEP, plan.position, parameters, promoted=promoted))
    engine.write(space, lambda _: events)


def remove_undone_notes(index: Index, snapshot: Snapshot, parameters: Mapping[str, Any]) -> None:
    """Remove the notes of an undone promotion from its vault, and what other notes say about them, except
    what a person has edited."""
    if "vault" not in parameters:
        return
    vault, filled = Path(parameters["vault"]), set(parameters.get("filled", ()))
    recorded = index.usage.promoted_notes.items()
    remaining = {memory: note for memory, note in recorded if note is not None and note not in filled}
    changes = compare_vault(index, snapshot, vault, remaining)
    _write_notes(vault, [note for note in changes.writes if (vault / note.path).exists()], changes.removes, None)


def _without_notes(promotions: Sequence[Promotion]) -> dict[str, str | None]:
    """The memories of these promotions, which have no recorded note yet."""
    return dict.fromkeys(promotion.memory for promotion in promotions)


def _write_notes(vault: Path, writes: Sequence[Note], removes: Sequence[str], progress: Progress | None) -> None:
    for [note] in batches(writes, 1, progress):
        notes.write(vault, note)
    for path in removes:
        (vault / path).unlink(missing_ok=True)


def _reason(item: ScoredMemory, memories: ScoredMemories, settings: UpkeepSettings) -> str | None:
    """Why a memory should be promoted; None if it should not."""
    now = memories.snapshot.now
    recent = item.usage.count_since(micros(now - _USE_PERIOD))
    if recent >= settings.promote_uses:
        return f"{recent} uses in {_USE_PERIOD.days} days"
    old_enough = now - item.memory.recorded_at >= _MIN_AGE
    return f"score {item.score:.2f}" if old_enough and item.score >= settings.promote_above else None
