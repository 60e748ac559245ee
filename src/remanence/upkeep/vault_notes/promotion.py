"""Promotes memories that have proved useful: `gc` never hides those that were used, and a vault gets Markdown notes.

A note that a person has edited is theirs, and is never overwritten.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from remanence.errors import LedgerUnavailable, NotFound
from remanence.events import Event, Promoted, Ran, Used
from remanence.index.engine.engine import Engine
from remanence.index.index import Index
from remanence.ports import Progress
from remanence.schema import Snapshot, micros
from remanence.text.front_matter import strip_links
from remanence.text.text import pluralize
from remanence.upkeep.plans import Plan, ResultTable, StalePlan, batches, check_current
from remanence.upkeep.settings import UpkeepSettings
from remanence.upkeep.steps.decay import DEFINING, ScoredMemories, ScoredMemory, age_in_days
from remanence.upkeep.vault_notes import notes
from remanence.upkeep.vault_notes.notes import Note, VaultNotes, note_path, subject_of

STEP = "promote"
_NAMED = "named by the caller"
_USE_PERIOD = timedelta(days=14)
"""The period within which `promote_uses` uses promote a memory."""
_MIN_AGE = timedelta(days=3)
"""The age below which memories are not promoted by score, because all new memories have a high one. Memories that were
never used are not promoted by score either, except those of very high importance. Chosen by hand."""


@dataclass(frozen=True, slots=True)
class Promotion:
    """A memory to be promoted, why, the ledger position of its version, and its note if there is a vault.

    `named` says that the caller named it; otherwise its score or its uses decided.
    """

    memory: str
    text: str
    score: float
    why: str
    position: int
    note: str | None
    uses: int = 0
    age_days: float = 0.0
    named: bool = False


@dataclass(frozen=True, slots=True)
class PromotionPlan(Plan):
    """Which memories are promoted, and what changes in the vault."""

    promotions: tuple[Promotion, ...]
    vault: str | None = None
    notes_added: tuple[tuple[str, str], ...] = ()
    """Memories promoted before there was a vault, and the notes they get now."""
    writes: tuple[Note, ...] = ()
    removes: tuple[str, ...] = ()
    """Notes of memories that were forgotten or erased since."""
    edited_notes: tuple[str, ...] = ()
    """Notes that would be written or removed if a person had not edited them."""
    deleted_notes: tuple[str, ...] = ()
    """Notes that somebody has deleted; their memories stay."""
    backfilled_notes: tuple[str, ...] = ()
    """Of the writes, notes that another vault has, and this one, which is new, does not."""

    def __len__(self) -> int:
        return len(self.promotions) + len(self.notes_added) + len(self.writes) + len(self.removes)

    def __iter__(self) -> Iterator[Promotion]:
        return iter(self.promotions)

    @property
    def table(self) -> ResultTable:
        promotions = pluralize(len(self.promotions), "memory", "memories")
        title = f"promote: {self.verb('promoted', 'promote')} {promotions}"
        if self.vault is not None:
            title += f"; in {self.vault}: {pluralize(len(self.writes), 'note')} written, {len(self.removes)} removed"
        rows = [(p.score, p.uses, p.age_days, p.why, p.memory, p.text) for p in self.promotions]
        notes = [f"{note} was edited by hand and stays as it is" for note in self.edited_notes]
        notes += [f"{note} was deleted; its memory stays" for note in self.deleted_notes]
        return ResultTable(title, ("score", "uses", "days old", "reason", "id", "memory"), rows, notes)

    def check(self, engine: Engine, space: str) -> None:
        with engine.open_index(space) as index:
            now = engine.now()
            check_current(index, {promotion.memory: promotion.position for promotion in self.promotions}, now)
            promoted = dict(index.usage.promoted_notes)
            for promotion in self.promotions:
                if promotion.memory in promoted:
                    raise StalePlan(f"memory {promotion.memory!r} was promoted")
            if self.vault is not None:
                notes.check_writable(Path(self.vault))
                snapshot = index.snapshot(index.catalog.position, now)
                needed = _compare_vault(index, snapshot, Path(self.vault), promoted, self.promotions)
                if (needed.writes, needed.removes) != (self.writes, self.removes):
                    raise StalePlan(f"the vault {self.vault}, or what is to be written there, has changed")

    def write(self, engine: Engine, space: str, run: str, progress: Progress | None) -> None:
        # The notes first: after a crash in between, they are correct anyway.
        if self.vault is not None:
            _write_notes(Path(self.vault), self.writes, self.removes, progress)
        noted = [memory for memory, _ in self.notes_added]
        parameters = {"vault": self.vault, "noted": noted, "filled": list(self.backfilled_notes)}
        parameters = {name: value for name, value in parameters.items() if value}
        events: list[Event] = [Promoted(promotion.memory, promotion.note) for promotion in self.promotions]
        events += [Promoted(memory, note) for memory, note in self.notes_added]
        # To be named counts as a use: `gc` never hides promoted memories that were used.
        events += [Used(promotion.memory) for promotion in self.promotions if promotion.named]
        promoted = tuple(promotion.memory for promotion in self.promotions)
        events.append(Ran(run, STEP, self.position, parameters, promoted=promoted))
        engine.write(space, lambda _: events)


def plan_promotion(
    index: Index,
    memories: ScoredMemories,
    settings: UpkeepSettings,
    vault: Path | None,
    named: Collection[str] | None = None,
) -> PromotionPlan:
    """The memories to promote, and the notes that the vault lacks. If memories are `named`, these and no others."""
    promoted = index.usage.promoted_notes
    for memory in set(named or ()) - {item.memory.id for item in memories.items}:
        index.require_unerased(memory)
        raise NotFound(f"memory {memory!r} is hidden, expired or superseded, so it cannot be promoted.")
    new: list[Promotion] = []
    for item in memories.items:
        memory, text, age = item.memory.id, item.memory.text, age_in_days(item.memory, memories.snapshot.now)
        why = _reason(item, memories, settings) if named is None else _NAMED if memory in named else None
        if why is not None and memory not in promoted:
            note = None if vault is None else note_path(item.memory)
            details = (item.usage.use_count, age, named is not None)
            new.append(Promotion(memory, text, item.score, why, item.position, note, *details))
    new.sort(key=lambda promotion: (-promotion.score, promotion.memory))
    if vault is None:
        return PromotionPlan(tuple(new), position=memories.position)
    return _compare_vault(index, memories.snapshot, vault, promoted, new)


def remove_undone_notes(index: Index, snapshot: Snapshot, parameters: Mapping[str, Any]) -> None:
    """Remove the notes of an undone promotion from its vault, and what other notes say about them, except
    what a person has edited."""
    if "vault" not in parameters:
        return
    vault, filled = Path(parameters["vault"]), set(parameters.get("filled", ()))
    recorded = index.usage.promoted_notes.items()
    remaining = {memory: note for memory, note in recorded if note is not None and note not in filled}
    changes = _compare_vault(index, snapshot, vault, remaining)
    _write_notes(vault, [note for note in changes.writes if (vault / note.path).exists()], changes.removes, None)


def vaults_of(engine: Engine, space: str) -> list[Path]:
    """The vaults in which memories of a space have notes."""
    with engine.open_index(space) as index, index.lock:
        if not any(index.usage.promoted_notes.values()):
            return []
        runs = list(index.usage.runs.values())
    folders = (run.settings_by_step.get(STEP, {}).get("vault") for run in runs if not run.undone)
    return [Path(folder) for folder in dict.fromkeys(folders) if folder]


def remove_erased_notes(engine: Engine, space: str, vaults: Sequence[Path]) -> tuple[list[str], list[str]]:
    """Remove the notes of memories that were erased, and what other notes say about them, except what a person has
    edited. Returns the paths of the notes that were changed, and what was left, in words."""
    changed: list[str] = []
    left: list[str] = []
    with engine.open_index(space) as index:
        snapshot = index.snapshot(index.catalog.position, engine.now())
        promoted = index.usage.promoted_notes
        remaining = {memory.id: promoted[memory.id] for memory in index.visible_memories(promoted, snapshot.position)}
        for vault in vaults:
            try:
                changes = _compare_vault(index, snapshot, vault, remaining)
                writes = [note for note in changes.writes if (vault / note.path).exists()]
                _write_notes(vault, writes, changes.removes, None)
            except (OSError, LedgerUnavailable) as error:
                left.append(f"the notes in {vault}, which could not be changed: {error}")
                continue
            changed += [str(vault / path) for path in (*changes.removes, *(note.path for note in writes))]
            left += [f"{vault / path}, which a person has edited" for path in changes.edited_notes]
    return changed, left


def _compare_vault(
    index: Index,
    snapshot: Snapshot,
    vault: Path,
    promoted: Mapping[str, str | None],
    promotions: Sequence[Promotion] = (),
) -> PromotionPlan:
    """What these promotions change in a vault, given the memories promoted before and their recorded notes."""
    new = dict.fromkeys(promotion.memory for promotion in promotions)
    memories = index.visible_memories({**promoted, **new}, index.catalog.position)
    recorded = {memory.id: path for memory in memories if (path := promoted.get(memory.id)) is not None}
    found = VaultNotes(index, snapshot, vault)
    # A vault without any of the recorded notes is a new one, and gets them all.
    is_new = not any(found.has_note(memory) for memory in recorded)
    deleted = {memory: path for memory, path in recorded.items() if not is_new and not found.has_note(memory)}
    wanted = found.expected_notes(memories, recorded)
    writes, edited = list[Note](), list[str]()
    for note in wanted:
        old = found.files.get(note.path)
        if note.fields.get("id") in deleted or (old is not None and str(old) == str(note)):
            continue
        if note.path not in found.files or (old is not None and subject_of(old) is not None and not old.is_edited):
            writes.append(note)
        # None: the note is not UTF-8, so a person has edited it.
        elif old is None or strip_links(old.body) != note.body or set(old.tags) != set(note.tags):
            edited.append(note.path)
    surplus = found.obsolete_notes(wanted)
    edited += [note.path for note in surplus if note.is_edited]
    missing = [note for note in writes if note.path not in found.files]
    return PromotionPlan(
        promotions=tuple(promotions),
        vault=str(vault),
        notes_added=tuple((m.id, note_path(m)) for m in memories if m.id not in recorded and m.id not in new),
        writes=tuple(writes),
        removes=tuple(note.path for note in surplus if not note.is_edited),
        edited_notes=tuple(sorted(set(edited))),
        deleted_notes=tuple(sorted(deleted.values())),
        backfilled_notes=tuple(recorded[id_] for note in missing if (id_ := note.fields.get("id")) in recorded),
        position=snapshot.position,
    )


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
    proven = item.usage.use_count > 0 or item.memory.importance >= DEFINING
    old_enough = now - item.memory.recorded_at >= _MIN_AGE
    return f"score {item.score:.2f}" if proven and old_enough and item.score >= settings.promote_above else None
