"""The notes of one space in a vault: where they are, and which there should be.

A vault has a note for each promoted memory, and one for each entity that they mention. Notes are identified by
their front matter and not by their paths, since a person may move them. One vault may have the notes of several
spaces; their file names differ everywhere in the vault, because wiki links refer to the name alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from remanence.index.index import Index
from remanence.schema import Entity, Memory, Snapshot
from remanence.text.text import truncate
from remanence.upkeep.plans import entity_id
from remanence.upkeep.vault_notes import notes
from remanence.upkeep.vault_notes.notes import (
    ENTITY_FOLDER,
    MEMORY_FOLDER,
    Note,
    digest,
    normalize_newlines,
    safe_name,
    to_inert,
    wiki_link,
)

_TITLE_LENGTH = 60
"""Characters of the name of a note."""
_MAX_RELATIONS = 50
"""Relations that a note lists."""

Subject = tuple[str, str]
"""What a note is about: ("id", memory id) or ("entity", entity id), as in its front matter."""


def note_path(memory: Memory) -> str:
    """The usual path of a memory's note. It has no word of the text: the ledger keeps the path, also after
    the text is erased."""
    return f"{MEMORY_FOLDER}/{memory.recorded_at:%Y-%m-%d} {memory.id[-8:]}.md"


def subject_of(note: Note) -> Subject | None:
    """What a note was written for; None if a person wrote it."""
    return next(((kind, str(note.fields[kind])) for kind in ("id", "entity") if kind in note.fields), None)


class VaultNotes:
    """The notes of a space in a vault. A copy of a note that a person made is theirs."""

    def __init__(self, index: Index, snapshot: Snapshot, vault: Path) -> None:
        self.files = {path: notes.read(vault, path) for path in notes.note_paths(vault)}
        """All notes of the vault by their paths; None for what is not UTF-8 text."""
        self._index, self._snapshot = index, snapshot
        # What distinguishes a space from others of its name: the id stays when the memory is erased or exported.
        self._first_memory = index.catalog.ids[0] if index.catalog.ids else ""
        self._paths: dict[Subject, list[str]] = defaultdict(list)
        self._names_of_others: set[str] = set()
        self._entities: dict[str, Entity] = {}
        self._entity_paths: dict[str, str] = {}
        for path, note in self.files.items():
            subject = None if note is None else subject_of(note)
            if note is None or subject is None:
                continue
            if self._is_own(note):
                self._paths[subject].append(path)
            else:
                self._names_of_others.add(Path(path).name.casefold())

    def has_note(self, memory: str) -> bool:
        return ("id", memory) in self._paths

    def expected_notes(self, memories: Sequence[Memory], recorded: Mapping[str, str]) -> list[Note]:
        """The notes of these memories, given their recorded paths, and of the entities that they mention."""
        wanted: list[Note] = []
        mentions: dict[str, list[str]] = defaultdict(list)  # links to the memories that mention an entity
        for memory in memories:
            path = self._path_of(("id", memory.id), recorded.get(memory.id) or note_path(memory))
            entities = self._mentioned(memory)
            for entity in entities:
                mentions[entity].append(wiki_link(Path(path).stem, _title(memory)))
            wanted.append(Note(path, self._memory_fields(memory, entities), to_inert(normalize_newlines(memory.text))))
        return wanted + [self._entity_note(entity, links) for entity, links in mentions.items()]

    def obsolete_notes(self, wanted: Sequence[Note]) -> list[Note]:
        """The notes of what should have none by now, and of entities under former names."""
        wanted_paths = {subject_of(note): note.path for note in wanted}
        surplus = {
            path
            for subject, paths in self._paths.items()
            for path in paths
            if subject not in wanted_paths or (_is_former_name(subject, path) and path != wanted_paths[subject])
        }
        return [note for path, note in self.files.items() if note is not None and path in surplus]

    def _is_own(self, note: Note) -> bool:
        """Whether a note was written for this space, and not for one of the same name in another ledger."""
        if note.fields.get("space") != self._index.space:
            return False
        if "id" in note.fields:
            return self._index.catalog.number(str(note.fields["id"])) is not None
        # The id of an entity follows from its name, so it says nothing. Older notes have no field `began`.
        return str(note.fields.get("began", self._first_memory)) == self._first_memory

    def _path_of(self, subject: Subject, default_path: str) -> str:
        """Where the note of a memory or an entity is, or will be."""
        paths = self._paths.get(subject, [])
        if default_path in paths:
            return default_path
        distinct = self._distinct_path(default_path)
        moved = [path for path in paths if path == distinct or not _is_former_name(subject, path)]
        if moved:
            return moved[0]
        return distinct if Path(default_path).name.casefold() in self._names_of_others else default_path

    def _distinct_path(self, usual: str) -> str:
        """A path with a name that no other space uses."""
        path, space = Path(usual), self._index.space
        mark = digest(f"{space}\n{self._first_memory}")[:8]
        name = safe_name(f"{path.stem} ({space.rpartition('/')[2]} {mark})")
        return path.with_name(f"{name}.md").as_posix()

    def _mentioned(self, memory: Memory) -> list[str]:
        found: dict[str, None] = {}
        for mention in memory.mentions:
            id_ = entity_id(self._index, mention.name, self._snapshot.position)
            if id_ is None:
                continue
            found[id_] = None
            if id_ not in self._entities:
                entity = self._index.registry.get(id_, self._snapshot.position) or Entity(id_, mention.name)
                self._entities[id_] = entity
                # Names that differ only in case are one entity, so that no two entities share a file on any disk.
                usual = f"{ENTITY_FOLDER}/{safe_name(entity.name)}.md"
                self._entity_paths[id_] = self._path_of(("entity", id_), usual)
        return list(found)

    def _memory_fields(self, memory: Memory, entities: Iterable[str]) -> dict[str, Any]:
        fields = {
            "id": memory.id,
            "space": self._index.space,
            "aliases": [_title(memory)],
            "kind": memory.kind,
            "recorded": memory.recorded_at.isoformat(),
            "valid": str(memory.valid) if memory.valid.has_bound else None,
            "importance": memory.importance,
            "tags": list(memory.tags),
            "entities": [self._entity_link(entity) for entity in entities],
            "source": memory.source,
            "observed_by": memory.observed_by,
        }
        return {name: value for name, value in fields.items() if value not in (None, [])}

    def _entity_link(self, id_: str) -> str:
        return wiki_link(Path(self._entity_paths[id_]).stem, self._entities[id_].name)

    def _entity_note(self, id_: str, memory_links: Sequence[str]) -> Note:
        """The note of an entity: its relations, and the memories that mention it."""
        entity, path = self._entities[id_], self._entity_paths[id_]
        fields = {"entity": id_, "space": self._index.space, "began": self._first_memory, "kind": entity.kind}
        aliases = [name for name in entity.names if name != Path(path).stem]
        relations = self._relations(id_)
        lines = [f"# {' '.join(entity.name.split())}", *(["", *relations] if relations else [])]
        lines += ["", *(f"- {link}" for link in memory_links)]
        return Note(path, {**fields, "aliases": aliases} if aliases else fields, to_inert("\n".join(lines)))

    def _relations(self, id_: str) -> list[str]:
        """The relations to entities that have notes, as lines of a list."""
        index, snapshot = self._index, self._snapshot
        number = index.names.number(self._entities[id_].name)
        lines: dict[str, None] = {}
        if number is None:
            return []
        with index.lock:
            for relation in index.relations.relations_of(number, snapshot, at=snapshot.now, limit=_MAX_RELATIONS):
                names = (relation.subject, relation.object)
                ends = [end for name in names if (end := entity_id(index, name, snapshot.position)) in self._entities]
                if id_ in ends and len(ends) == 2:
                    predicate = relation.predicate.replace("_", " ")
                    lines[f"- {self._entity_link(ends[0])} {predicate} {self._entity_link(ends[1])}"] = None
        return list(lines)


def _title(memory: Memory) -> str:
    return truncate(" ".join(memory.text.split()), _TITLE_LENGTH)


def _is_former_name(subject: Subject, path: str) -> bool:
    """Whether a note that is not at its usual path is there because its entity had another name before."""
    return subject[0] == "entity" and path.startswith(f"{ENTITY_FOLDER}/")
