"""Which notes a vault should have: one for each promoted memory, with links to the names of what it mentions.

Notes are identified by their front matter and not by their paths, since a person may move them. A note that a person
has edited is theirs, and is neither overwritten nor removed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from remanence.errors import LedgerUnavailable
from remanence.index.engine.engine import Engine
from remanence.index.index import Index
from remanence.ports import Progress
from remanence.schema import Memory
from remanence.text.front_matter import strip_links
from remanence.text.text import truncate
from remanence.upkeep.plans import StalePlan, batches, entity_id
from remanence.upkeep.vault_notes import notes
from remanence.upkeep.vault_notes.notes import Note, to_inert, wiki_link


@dataclass(frozen=True, slots=True, kw_only=True)
class VaultChanges:
    """What changes in a vault.

    Attributes:
        space: The space whose notes these are.
        new: The memories that are about to be promoted.
        writes: Notes that are written.
        removes: Notes of memories that were forgotten or erased since.
        kept: Notes that would be written or removed if a person had not edited them, or another space had none there.
        deleted: Notes that somebody has deleted; their memories stay.
        filled: Of the writes, notes that another vault has, and this one, which is new, does not.
    """

    vault: Path
    space: str
    new: tuple[str, ...]
    writes: tuple[Note, ...]
    removes: tuple[str, ...]
    kept: tuple[str, ...]
    deleted: tuple[str, ...]
    filled: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.writes) + len(self.removes)

    def check(self, engine: Engine) -> None:
        """Raise StalePlan if other changes are needed by now."""
        notes.check_writable(self.vault)
        with engine.open_index(self.space) as index:
            needed = compare_vault(index, self.vault, index.usage.promoted_notes, self.new)
        if (needed.writes, needed.removes) != (self.writes, self.removes):
            raise StalePlan(f"the vault {self.vault}, or what is to be written there, has changed")

    def write(self, progress: Progress | None) -> None:
        for [note] in batches(self.writes, 1, progress):
            notes.write(self.vault, note)
        for path in self.removes:
            (self.vault / path).unlink(missing_ok=True)


def note_path(memory: Memory) -> str:
    """The usual path of a memory's note. It has no word of the text: the ledger keeps the path, also after
    the text is erased."""
    return f"memories/{memory.recorded_at:%Y-%m-%d} {memory.id[-8:]}.md"


def compare_vault(
    index: Index, vault: Path, promoted: Mapping[str, str | None], new: Sequence[str] = ()
) -> VaultChanges:
    """What changes in a vault, given the promoted memories with their recorded notes, and those promoted now."""
    memories = index.visible_memories(dict.fromkeys((*promoted, *new)), index.catalog.position)
    recorded = {memory.id: path for memory in memories if (path := promoted.get(memory.id)) is not None}
    files = {path: notes.read(vault, path) for path, is_link in notes.markdown_files(vault) if not is_link}
    own: dict[str, list[str]] = defaultdict(list)
    for path, found in files.items():
        if found is not None and _is_own(index, found):
            own[str(found.fields.get("id"))].append(path)
    # A vault without any of the recorded notes is a new one, and gets them all.
    is_new = own.keys().isdisjoint(recorded)
    writes, filled, kept, deleted = list[Note](), list[str](), list[str](), list[str]()
    for memory in memories:
        usual = recorded.get(memory.id) or note_path(memory)
        paths = own.pop(memory.id, [])  # what is left in the end is obsolete
        path = usual if usual in paths or not paths else paths[0]
        note, old = _note_of(index, memory, path), files.get(path)
        if path in files and paths and old is not None and not old.is_edited:
            writes += [] if str(old) == str(note) else [note]
        elif path in files:
            # None: the note is not UTF-8, so a person has edited it.
            is_same = old is not None and strip_links(old.body) == note.body and set(old.tags) == set(note.tags)
            kept += [] if is_same else [path]
        elif memory.id in recorded and not is_new:
            deleted.append(path)
        else:
            writes.append(note)
            filled += [path] if memory.id in recorded else []
    obsolete = [left for paths in own.values() for path in paths if (left := files[path]) is not None]
    return VaultChanges(
        vault=vault,
        space=index.space,
        new=tuple(new),
        writes=tuple(writes),
        removes=tuple(note.path for note in obsolete if not note.is_edited),
        kept=tuple(sorted([*kept, *(note.path for note in obsolete if note.is_edited)])),
        deleted=tuple(sorted(deleted)),
        filled=tuple(filled),
    )


def remove_undone_notes(index: Index, parameters: Mapping[str, Any]) -> None:
    """Remove the notes of an undone promotion, which recorded these parameters."""
    if "vault" in parameters:
        filled = set(parameters.get("filled", ()))
        recorded = index.usage.promoted_notes.items()
        remaining = {memory: note for memory, note in recorded if note is not None and note not in filled}
        _remove_obsolete(index, Path(parameters["vault"]), remaining)


def vaults_of(engine: Engine, space: str) -> list[Path]:
    """The vaults in which memories of a space have notes."""
    with engine.open_index(space) as index, index.lock:
        if not any(index.usage.promoted_notes.values()):
            return []
        runs = list(index.usage.runs.values())
    folders = (run.settings_by_step.get("promote", {}).get("vault") for run in runs if not run.undone)
    return [Path(folder) for folder in dict.fromkeys(folders) if folder]


def remove_erased_notes(engine: Engine, space: str, vaults: Sequence[Path]) -> tuple[list[str], list[str]]:
    """Remove the notes of memories that were erased. Returns the paths of these notes, and what was left, in words."""
    removed: list[str] = []
    left: list[str] = []
    with engine.open_index(space) as index:
        for vault in vaults:
            try:
                changes = _remove_obsolete(index, vault, index.usage.promoted_notes)
            except (OSError, LedgerUnavailable) as error:
                left.append(f"the notes in {vault}, which could not be changed: {error}")
                continue
            removed += [str(vault / path) for path in changes.removes]
            left += [f"{vault / path}, which a person has edited" for path in changes.kept]
    return removed, left


def _remove_obsolete(index: Index, vault: Path, promoted: Mapping[str, str | None]) -> VaultChanges:
    """Remove the notes of what is not promoted any more."""
    changes = compare_vault(index, vault, promoted)
    for path in changes.removes:
        (vault / path).unlink(missing_ok=True)
    return changes


def _is_own(index: Index, note: Note) -> bool:
    """Whether a note was written for this space, and not for one of the same name in another ledger. Earlier releases
    also wrote notes of entities."""
    if note.fields.get("space") != index.space:
        return False
    return "entity" in note.fields or index.catalog.number(str(note.fields.get("id"))) is not None


def _note_of(index: Index, memory: Memory, path: str) -> Note:
    title = truncate(" ".join(memory.text.split()), 60)
    fields = {
        "id": memory.id,
        "space": index.space,
        "aliases": [title],
        "kind": memory.kind,
        "recorded": memory.recorded_at.isoformat(),
        "valid": str(memory.valid) if memory.valid.has_bound else None,
        "importance": memory.importance,
        "tags": list(memory.tags),
        "entities": [wiki_link(name) for name in _entities(index, memory)],
        "source": memory.source,
        "observed_by": memory.observed_by,
    }
    present = {name: value for name, value in fields.items() if value not in (None, [])}
    return Note(path, present, to_inert(notes.normalize_newlines(memory.text)))


def _entities(index: Index, memory: Memory) -> list[str]:
    """The names of the entities that a memory mentions, each by the name that it has now."""
    position = index.catalog.position
    names: dict[str, None] = {}
    for mention in memory.mentions:
        id_ = entity_id(index, mention.name, position)
        entity = None if id_ is None else index.registry.get(id_, position)
        names[mention.name if entity is None else entity.name] = None
    return list(names)
