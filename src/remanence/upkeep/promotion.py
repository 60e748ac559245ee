"""What is worth keeping for long: marked in the ledger, and written to a vault of Markdown notes.

The vault is a projection that people can read: a note for each promoted memory, and one for each entity
they name. A note that a person has edited is theirs, and is never written over.
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
from remanence.upkeep.text_tables import format_table
from remanence.upkeep.vault import VaultChanges, compare_vault, note_path

if TYPE_CHECKING:
    from remanence.core.engine import Engine
    from remanence.ports import Progress

STEP = "promote"


@dataclass(frozen=True, slots=True)
class Promotion:
    """A memory to be kept for long, why, and its note if there is a vault."""

    memory: str
    text: str
    score: float
    why: str
    line: int
    note: str | None


@dataclass(frozen=True, slots=True)
class PromotionPlan:
    """What is promoted, and what that changes in the vault. It prints as a table;
    `space.upkeep.apply(plan)` does it."""

    promotions: tuple[Promotion, ...]
    notes_added: tuple[tuple[str, str], ...]
    """Memories promoted before there was a vault, and the notes they get now."""
    writes: tuple[Note, ...]
    removes: tuple[str, ...]
    """Notes of memories that were forgotten or erased since."""
    edited_notes: tuple[str, ...]
    """Notes that would be written or removed, had a person not edited them."""
    deleted_notes: tuple[str, ...]
    """Notes that somebody has deleted; their memories stay."""
    vault: str | None
    position: int
    backfilled_notes: tuple[str, ...] = ()
    """Of the writes, notes that another vault holds, and this one, which is new, does not yet."""
    run: str | None = None
    """The run that did this, once it was done."""

    def __len__(self) -> int:
        return len(self.promotions) + len(self.notes_added) + len(self.writes) + len(self.removes)

    def __iter__(self) -> Iterator[Promotion]:
        return iter(self.promotions)

    def __str__(self) -> str:
        done = f"run {self.run} promoted" if self.run else "would promote"
        title = f"promote: {done} {pluralize(len(self.promotions), 'memory', 'memories')}"
        if self.vault is not None:
            title += f"; in {self.vault}: {pluralize(len(self.writes), 'note')} written, {len(self.removes)} removed"
        rows = [(each.score, each.why, each.memory, each.text) for each in self.promotions]
        out = [format_table(title, ("score", "because", "id", "memory"), rows)]
        out += [f"  {note} was edited by hand and is left alone" for note in self.edited_notes]
        out += [f"  {note} was deleted; its memory stays" for note in self.deleted_notes]
        return "\n".join(out)


def plan(index: Index, memories: ScoredMemories, settings: UpkeepSettings, vault: Path | None) -> PromotionPlan:
    """What has proved its worth and is not promoted yet, and what the vault lacks."""
    promoted = index.usage.promoted_notes
    new = [
        Promotion(i.memory.id, i.memory.text, i.score, why, i.position, None if vault is None else note_path(i.memory))
        for i in memories.items
        if i.memory.id not in promoted and (why := _worth(i, memories, settings)) is not None
    ]
    new.sort(key=lambda each: (-each.score, each.memory))
    if vault is None:
        return PromotionPlan(tuple(new), (), (), (), (), (), None, memories.position)
    found = compare_vault(index, memories.snapshot, vault, {**promoted, **{each.memory: None for each in new}})
    fresh = {each.memory for each in new}
    noted = tuple((memory, path) for memory, path in found.new_note_paths.items() if memory not in fresh)
    return _planned(new, noted, found, vault, memories.position)


def check(engine: Engine, space: str, plan: PromotionPlan) -> None:
    """Refuse if a memory of the plan stands no more or was promoted since, or if other notes would have to
    be written or removed by now: because a person was at work in the vault, or a memory has changed."""
    with engine.open_index(space) as index:
        now = engine.now()
        check_current(index, {each.memory: each.line for each in plan.promotions}, now)
        promoted = dict(index.usage.promoted_notes)
        for memory in (each.memory for each in plan.promotions):
            if memory in promoted:
                raise StalePlan(f"memory {memory!r} was promoted")
        if plan.vault is not None:
            notes.check_writable(Path(plan.vault))
            told = {**promoted, **{each.memory: None for each in plan.promotions}}
            sight = index.snapshot(index.catalog.position, now)
            found = compare_vault(index, sight, Path(plan.vault), told)
            if (found.writes, found.removes) != (plan.writes, plan.removes):
                raise StalePlan(f"the vault {plan.vault}, or what is to be written there, has changed")


def write(engine: Engine, space: str, plan: PromotionPlan, run: str, progress: Progress | None = None) -> None:
    """Write the notes, then mark the memories: a crash between the two leaves notes that fit anyway."""
    if plan.vault is not None:
        _write_notes(Path(plan.vault), plan.writes, plan.removes, progress)
    told = {
        "vault": plan.vault,
        "noted": [memory for memory, _ in plan.notes_added],
        "filled": list(plan.backfilled_notes),
    }
    given: dict[str, Any] = {name: value for name, value in told.items() if value}
    marks: list[Event] = [Promoted(each.memory, each.note) for each in plan.promotions]
    marks += [Promoted(memory, note) for memory, note in plan.notes_added]
    promoted = tuple(each.memory for each in plan.promotions)
    ran = Ran(run, STEP, plan.position, given, promoted=promoted)
    engine.write(space, lambda _: [*marks, ran])


def remove_undone_notes(index: Index, snapshot: Snapshot, given: Mapping[str, Any]) -> None:
    """Take out of its vault the notes that a promotion, undone by now, had put there, and what other notes
    say of them; leave alone what a person has edited."""
    if "vault" not in given:
        return
    vault, filled = Path(given["vault"]), set(given.get("filled", ()))
    kept = {m: note for m, note in index.usage.promoted_notes.items() if note is not None and note not in filled}
    found = compare_vault(index, snapshot, vault, kept)
    _write_notes(vault, [note for note in found.writes if (vault / note.path).exists()], found.removes, None)


def _planned(
    new: Sequence[Promotion], noted: tuple[tuple[str, str], ...], found: VaultChanges, vault: Path, position: int
) -> PromotionPlan:
    return PromotionPlan(
        promotions=tuple(new),
        notes_added=noted,
        writes=found.writes,
        removes=found.removes,
        edited_notes=found.edited_notes,
        deleted_notes=found.deleted_notes,
        vault=str(vault),
        position=position,
        backfilled_notes=found.backfilled_notes,
    )


def _write_notes(vault: Path, writes: Sequence[Note], removes: Sequence[str], progress: Progress | None) -> None:
    for done, note in enumerate(writes, 1):
        notes.write(vault, note)
        if progress is not None:
            progress(done, len(writes))
    for path in removes:
        (vault / path).unlink(missing_ok=True)


def _worth(item: ScoredMemory, there: ScoredMemories, settings: UpkeepSettings) -> str | None:
    """Why a memory is worth promoting; None if it is not."""
    now = there.snapshot.now
    recent = item.use.count_since(micros(now - timedelta(days=settings.promote_days)))
    if recent >= settings.promote_uses:
        return f"{recent} uses in {settings.promote_days:g} days"
    old_enough = now - item.memory.recorded_at >= timedelta(days=settings.promote_after_days)
    return f"score {item.score:.2f}" if old_enough and item.score >= settings.promote_above else None
