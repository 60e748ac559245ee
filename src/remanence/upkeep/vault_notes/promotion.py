"""Promotes memories that have proved useful: `gc` never hides those that were used, and a vault gets Markdown notes."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from remanence.errors import NotFound
from remanence.events import Promoted, Used
from remanence.index.index import Index
from remanence.schema import micros
from remanence.text.text import pluralize
from remanence.upkeep.plans import Change, Plan
from remanence.upkeep.settings import UpkeepSettings
from remanence.upkeep.steps.decay import DEFINING, ScoredMemories, ScoredMemory, age_in_days
from remanence.upkeep.vault_notes.vault import compare_vault, note_path


@dataclass(frozen=True, slots=True, kw_only=True)
class Promotion(Change):
    """A memory to be promoted, or one promoted before that gets a note, and why."""

    memory: str
    text: str
    score: float
    why: str
    uses: int
    age_days: float
    note: str | None

    @property
    def row(self) -> tuple[object, ...]:
        return self.score, self.uses, self.age_days, self.why, self.memory, self.text


def propose_promotion(
    index: Index,
    memories: ScoredMemories,
    settings: UpkeepSettings,
    folder: Path | None,
    named: Collection[str] | None = None,
) -> Plan[Promotion]:
    """The memories to promote, and the notes that the vault lacks. If memories are `named`, these and no others."""
    promoted = dict(index.usage.promoted_notes)
    for memory in set(named or ()) - {item.memory.id for item in memories.items}:
        index.require_unerased(memory)
        raise NotFound(f"memory {memory!r} is hidden, expired or superseded, so it cannot be promoted.")
    items: list[Promotion] = []
    for item in memories.items:
        memory, is_named = item.memory.id, False
        if memory in promoted:
            why = "it has no note yet" if folder is not None and promoted[memory] is None else None
        elif named is not None:
            is_named = memory in named
            why = "named by the caller" if is_named else None
        else:
            why = _reason(item, memories, settings)
        if why is not None:
            items.append(_promotion(item, why, memories, folder, is_named=is_named))
    items.sort(key=lambda change: (-change.score, change.memory))
    title, files = pluralize(len(items), "memory", "memories"), None
    parameters, remarks = dict[str, Any](), list[str]()
    if folder is not None:
        noted = [change.memory for change in items if change.memory in promoted]
        new = [change.memory for change in items if change.memory not in promoted]
        files = compare_vault(index, folder, promoted, new)
        title += f"; in {folder}: {pluralize(len(files.writes), 'note')} written, {len(files.removes)} removed"
        remarks = [f"{note} was edited by hand or is not of this space, and stays as it is" for note in files.kept]
        remarks += [f"{note} was deleted; its memory stays" for note in files.deleted]
        parameters = {"vault": str(folder), "noted": noted, "filled": list(files.filled)}
    return Plan(
        step="promote",
        space=index.space,
        position=memories.position,
        items=tuple(items),
        verbs=("promoted", "promote"),
        title=title,
        columns=("score", "uses", "days old", "reason", "id", "memory"),
        notes=tuple(remarks),
        parameters={name: value for name, value in parameters.items() if value},
        files=files,
    )


def _promotion(
    item: ScoredMemory, why: str, memories: ScoredMemories, folder: Path | None, *, is_named: bool
) -> Promotion:
    memory, note = item.memory.id, None if folder is None else note_path(item.memory)
    return Promotion(
        memory=memory,
        text=item.memory.text,
        score=item.score,
        why=why,
        uses=item.usage.use_count,
        age_days=age_in_days(item.memory, memories.snapshot.now),
        note=note,
        sources={memory: item.position},
        # To be named counts as a use: `gc` never hides promoted memories that were used.
        events=(Promoted(memory, note), *((Used(memory),) if is_named else ())),
    )


def _reason(item: ScoredMemory, memories: ScoredMemories, settings: UpkeepSettings) -> str | None:
    """Why a memory should be promoted; None if it should not.

    Not by the score of the first three days, as all new memories have a high one, nor by that of a memory that was
    never used, unless its importance is very high.
    """
    now = memories.snapshot.now
    recent = item.usage.count_since(micros(now - timedelta(days=14)))
    if recent >= settings.promote_uses:
        return f"{recent} uses in 14 days"
    proven = item.usage.use_count > 0 or item.memory.importance >= DEFINING
    old_enough = now - item.memory.recorded_at >= timedelta(days=3)
    return f"score {item.score:.2f}" if proven and old_enough and item.score >= settings.promote_above else None
