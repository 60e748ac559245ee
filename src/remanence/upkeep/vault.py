"""Which notes a vault should have, and how it differs from that.

A vault has a note for each promoted memory, and one for each entity that they mention. Notes are identified by
their front matter and not by their paths, since a person may move them. One vault may have the notes of several
spaces; their file names differ everywhere in the vault, because wiki links refer to the name alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from remanence.core.index import Index
from remanence.language.text import truncate
from remanence.schema import Entity, Memory, Snapshot
from remanence.upkeep import notes
from remanence.upkeep.notes import ENTITY_FOLDER, MEMORY_FOLDER, Note, digest, normalize_newlines, safe_name, wiki_link
from remanence.upkeep.step_tools import entity_id

_TITLE_LENGTH = 60
_MAX_RELATIONS = 50

Subject = tuple[str, str]
"""What a note is about: ("id", memory id) or ("entity", entity id), as in its front matter."""


@dataclass(frozen=True, slots=True)
class VaultChanges:
    """What has to be written to and removed from a vault, and what a person did to it."""

    writes: tuple[Note, ...] = ()
    removes: tuple[str, ...] = ()
    edited_notes: tuple[str, ...] = ()
    deleted_notes: tuple[str, ...] = ()
    new_note_paths: Mapping[str, str] = field(default_factory=dict)
    """The memories without a recorded note, and the path that it will have."""
    backfilled_notes: tuple[str, ...] = ()
    """Of the recorded notes, those that this vault, a new one, does not have yet."""


def note_path(memory: Memory) -> str:
    """The usual path of a memory's note. It has no word of the text: the ledger keeps the path, also after
    the text is erased."""
    return f"{MEMORY_FOLDER}/{memory.recorded_at:%Y-%m-%d} {memory.id[-8:]}.md"


def compare_vault(index: Index, snapshot: Snapshot, vault: Path, promoted: Mapping[str, str | None]) -> VaultChanges:
    """How a vault differs from what it should have, given the promoted memories and their recorded notes."""
    memories = [memory for memory_id in promoted for memory in _visible(index, memory_id)]
    files = {path: notes.read(vault, path) for path in notes.note_paths(vault)}
    existing = {path: note for path, note in files.items() if note is not None}
    locations = _NoteLocations(index, existing)
    recorded = {memory.id: path for memory in memories if (path := promoted[memory.id]) is not None}
    # A vault without any of the recorded notes is a new one, and gets them all.
    is_new = not any(locations.has_note(memory) for memory in recorded)
    deleted = {memory: path for memory, path in recorded.items() if not is_new and not locations.has_note(memory)}
    wanted = _wanted_notes(index, snapshot, memories, recorded, locations)
    writes, edited = list[Note](), list[str]()
    for note in wanted:
        found = existing.get(note.path)
        if note.fields.get("id") in deleted or (found is not None and str(found) == str(note)):
            continue
        if note.path not in files or (found is not None and _subject(found) is not None and not found.is_edited):
            writes.append(note)
        elif found is None or not _has_same_content(found, note):  # None: not UTF-8, so an editor wrote it
            edited.append(note.path)
    surplus = locations.surplus(wanted)
    edited += [path for path in surplus if existing[path].is_edited]
    return VaultChanges(
        writes=tuple(writes),
        removes=tuple(path for path in surplus if not existing[path].is_edited),
        edited_notes=tuple(sorted(set(edited))),
        deleted_notes=tuple(sorted(deleted.values())),
        new_note_paths={memory.id: note_path(memory) for memory in memories if memory.id not in recorded},
        backfilled_notes=tuple(
            recorded[memory]
            for note in writes
            if (memory := note.fields.get("id")) in recorded and note.path not in files
        ),
    )


def _wanted_notes(
    index: Index, snapshot: Snapshot, memories: Sequence[Memory], recorded: Mapping[str, str], locations: _NoteLocations
) -> list[Note]:
    """The notes of the promoted memories, and of the entities that they mention."""
    entities = _EntityNotes(index, snapshot, locations)
    wanted: list[Note] = []
    for memory in memories:
        path = locations.path_of(("id", memory.id), recorded.get(memory.id) or note_path(memory))
        links = entities.add(memory, wiki_link(Path(path).stem, _title(memory)))
        wanted.append(Note(path, _memory_fields(index, memory, links), normalize_newlines(memory.text)))
    return wanted + entities.notes()


def _memory_fields(index: Index, memory: Memory, entity_links: list[str]) -> dict[str, Any]:
    fields = {
        "id": memory.id,
        "space": index.space,
        "aliases": [_title(memory)],
        "kind": memory.kind,
        "recorded": memory.recorded_at.isoformat(),
        "valid": str(memory.valid) if memory.valid.has_bound else None,
        "importance": memory.importance,
        "tags": list(memory.tags),
        "entities": entity_links,
        "source": memory.source,
        "observed_by": memory.observed_by,
    }
    return {name: value for name, value in fields.items() if value not in (None, [])}


class _NoteLocations:
    """Where the notes of one space are in a vault. A copy of a note that a person made is theirs."""

    def __init__(self, index: Index, existing: Mapping[str, Note]) -> None:
        self._index = index
        self._subjects: dict[str, Subject] = {}
        self._paths: dict[Subject, list[str]] = defaultdict(list)
        self._names_of_others: set[str] = set()
        for path, note in existing.items():
            subject = _subject(note)
            if subject is not None and _is_of_space(index, note):
                self._subjects[path] = subject
                self._paths[subject].append(path)
            elif subject is not None:
                self._names_of_others.add(Path(path).name.casefold())

    def has_note(self, memory: str) -> bool:
        """Whether the vault has a note of a memory."""
        return ("id", memory) in self._paths

    def path_of(self, subject: Subject, usual: str) -> str:
        """Where the note of a memory or an entity is, or will be."""
        paths = self._paths.get(subject, [])
        if usual in paths:
            return usual
        distinct = self._distinct_path(usual)
        moved = [path for path in paths if path == distinct or not _is_former_name(subject, path)]
        if moved:
            return moved[0]
        return distinct if Path(usual).name.casefold() in self._names_of_others else usual

    def surplus(self, wanted: Sequence[Note]) -> list[str]:
        """The notes of what should have none by now, and of entities under former names."""
        paths = {_subject(note): note.path for note in wanted}
        return [
            path
            for path, subject in self._subjects.items()
            if subject not in paths or (_is_former_name(subject, path) and path != paths[subject])
        ]

    def _distinct_path(self, usual: str) -> str:
        """A path with a name that no other space uses."""
        path, space = Path(usual), self._index.space
        mark = digest(f"{space}\n{_first_memory(self._index)}")[:8]
        name = safe_name(f"{path.stem} ({space.rpartition('/')[2]} {mark})")
        return path.with_name(f"{name}.md").as_posix()


class _EntityNotes:
    """The entities that promoted memories mention, and their notes."""

    def __init__(self, index: Index, snapshot: Snapshot, locations: _NoteLocations) -> None:
        self._index, self._snapshot, self._locations = index, snapshot, locations
        self._entities: dict[str, Entity] = {}
        self._paths: dict[str, str] = {}
        self._memory_links: dict[str, list[str]] = defaultdict(list)

    def add(self, memory: Memory, memory_link: str) -> list[str]:
        """Take note of the entities that a memory mentions; returns links to their notes."""
        found: dict[str, None] = {}
        for mention in memory.mentions:
            entity = entity_id(self._index, mention.name, self._snapshot.position)
            if entity is not None:
                found[entity] = None
                self._locate(entity, mention.name)
        for entity in found:
            self._memory_links[entity].append(memory_link)
        return [self._link(entity) for entity in found]

    def notes(self) -> list[Note]:
        """The note of each entity: its relations, and the memories that mention it."""
        return [self._note(entity) for entity in self._memory_links]

    def _locate(self, id_: str, name: str) -> None:
        if id_ not in self._entities:
            entity = self._index.registry.get(id_, self._snapshot.position) or Entity(id_, name)
            self._entities[id_] = entity
            # Names that differ only in case are one entity, so that no two entities share a file on any disk.
            usual = f"{ENTITY_FOLDER}/{safe_name(entity.name)}.md"
            self._paths[id_] = self._locations.path_of(("entity", id_), usual)

    def _link(self, id_: str) -> str:
        return wiki_link(Path(self._paths[id_]).stem, self._entities[id_].name)

    def _note(self, id_: str) -> Note:
        entity = self._entities[id_]
        fields: dict[str, Any] = {
            "entity": id_,
            "space": self._index.space,
            "began": _first_memory(self._index),
            "kind": entity.kind,
        }
        aliases = [name for name in entity.names if name != Path(self._paths[id_]).stem]
        if aliases:
            fields["aliases"] = aliases
        relations = self._relations(id_)
        lines = [f"# {' '.join(entity.name.split())}", *(["", *relations] if relations else [])]
        lines += ["", *(f"- {link}" for link in self._memory_links[id_])]
        return Note(self._paths[id_], fields, "\n".join(lines))

    def _relations(self, id_: str) -> Collection[str]:
        """The relations to entities that have notes, as lines of a list."""
        index, snapshot = self._index, self._snapshot
        number = index.names.number(self._entities[id_].name)
        lines: dict[str, None] = {}
        if number is None:
            return lines
        with index.lock:
            for relation in index.relations.relations_of(number, snapshot, at=snapshot.now, limit=_MAX_RELATIONS):
                names = (relation.subject, relation.object)
                ends = [end for name in names if (end := entity_id(index, name, snapshot.position)) in self._entities]
                if id_ in ends and len(ends) == 2:
                    predicate = relation.predicate.replace("_", " ")
                    lines[f"- {self._link(ends[0])} {predicate} {self._link(ends[1])}"] = None
        return lines


def _title(memory: Memory) -> str:
    return truncate(" ".join(memory.text.split()), _TITLE_LENGTH)


def _visible(index: Index, memory_id: str) -> list[Memory]:
    """The memory, or nothing if it is hidden or erased."""
    with index.lock:
        row = index.current_row(memory_id, index.catalog.position)
        return index.readable_memories([] if row is None else [row])


def _subject(note: Note) -> Subject | None:
    """What a note was written for; None if a person wrote it."""
    return next(((kind, str(note.fields[kind])) for kind in ("id", "entity") if kind in note.fields), None)


def _is_of_space(index: Index, note: Note) -> bool:
    """Whether a note was written for this space, and not for one of the same name in another ledger."""
    if note.fields.get("space") != index.space:
        return False
    if "id" in note.fields:
        return index.catalog.number(str(note.fields["id"])) is not None
    # The id of an entity follows from its name, so it says nothing. Older notes have no field `began`.
    began = _first_memory(index)
    return str(note.fields.get("began", began)) == began


def _first_memory(index: Index) -> str:
    """What distinguishes a space from others of its name: the id stays when the memory is erased or exported."""
    return index.catalog.ids[0] if index.catalog.ids else ""


def _is_former_name(subject: Subject, path: str) -> bool:
    """Whether a note that is not at its usual path is there because its entity had another name before."""
    return subject[0] == "entity" and path.startswith(f"{ENTITY_FOLDER}/")


def _has_same_content(found: Note, wanted: Note) -> bool:
    return notes.strip_links(found.body) == wanted.body and set(found.tags) == set(wanted.tags)
