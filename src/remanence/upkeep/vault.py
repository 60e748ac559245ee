"""Which notes a vault should hold, and how it differs from that."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from remanence.core.index import Index
from remanence.language.text import truncate
from remanence.schema import Entity, Memory, Snapshot
from remanence.upkeep import notes
from remanence.upkeep.notes import ENTITY_FOLDER, MEMORY_FOLDER, Note, digest, normalize_newlines, safe_name, wiki_link

_TITLE = 60
_MOST_RELATIONS = 50


@dataclass(frozen=True, slots=True)
class VaultChanges:
    """What has to be written to and removed from a vault, and what a person did to it."""

    writes: tuple[Note, ...]
    removes: tuple[str, ...]
    edited_notes: tuple[str, ...]
    deleted_notes: tuple[str, ...]
    new_note_paths: Mapping[str, str]
    """The memories that have no note on record yet, and what it is to be called."""
    backfilled_notes: tuple[str, ...]
    """Of the notes on record, those that this vault, a new one, does not hold yet and is to get."""


def note_path(memory: Memory) -> str:
    """Where the note of a memory lies. No word of it is in the name: the ledger keeps the name, also once
    the words are erased."""
    return f"{MEMORY_FOLDER}/{memory.recorded_at:%Y-%m-%d} {memory.id[-8:]}.md"


def compare_vault(index: Index, snapshot: Snapshot, vault: Path, promoted: Mapping[str, str | None]) -> VaultChanges:
    """How a vault differs from what it should hold, given what is promoted and under which notes."""
    shown = [memory for memory_id in promoted if (memory := _shown(index, memory_id)) is not None]
    every = {path: notes.read(vault, path) for path in notes.note_paths(vault)}
    found = {path: note for path, note in every.items() if note is not None}
    places = _Places(index, found)
    kept = {memory.id: path for memory in shown if (path := promoted[memory.id]) is not None}
    # A vault that holds none of the notes on record is a new one, and gets them all.
    known = any(places.holds(memory) for memory in kept)
    missing = {memory: path for memory, path in kept.items() if known and not places.holds(memory)}
    wanted = _wanted(index, snapshot, shown, kept, places)
    writes, edited = [], []
    for note in wanted:
        there_is = found.get(note.path)
        if note.fields.get("id") in missing or (there_is is not None and str(there_is) == str(note)):
            continue
        if note.path not in every or (
            there_is is not None and _subject(there_is) is not None and not there_is.is_edited
        ):
            writes.append(note)
        elif there_is is None or not _say_the_same(there_is, note):  # None: an editor's, and no UTF-8
            edited.append(note.path)
    surplus = places.surplus(wanted)
    return VaultChanges(
        writes=tuple(writes),
        removes=tuple(path for path in surplus if not found[path].is_edited),
        edited_notes=tuple(sorted({*edited, *(path for path in surplus if found[path].is_edited)})),
        deleted_notes=tuple(sorted(missing.values())),
        new_note_paths={memory.id: note_path(memory) for memory in shown if memory.id not in kept},
        backfilled_notes=tuple(
            kept[id_] for n in writes if (id_ := n.fields.get("id")) in kept and n.path not in every
        ),
    )


def _wanted(index: Index, sight: Snapshot, shown: list[Memory], kept: Mapping[str, str], places: _Places) -> list[Note]:
    """The notes of promoted memories, and of the entities that they name."""
    known = _Entities(index, sight, places)
    out: list[Note] = []
    naming: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for memory in shown:
        path = places.of("id", memory.id, kept.get(memory.id) or note_path(memory))
        entities = known.of(memory)
        out.append(Note(path, _memory_fields(index, memory, known.links(entities)), normalize_newlines(memory.text)))
        for entity in entities:
            naming[entity].append((Path(path).stem, _title(memory)))
    for entity, named in naming.items():
        out.append(known.note(entity, named, naming.keys()))
    return out


def _memory_fields(index: Index, memory: Memory, entities: list[str]) -> dict[str, Any]:
    fields = {
        "id": memory.id,
        "space": index.space,
        "aliases": [_title(memory)],
        "kind": memory.kind,
        "recorded": memory.recorded_at.isoformat(),
        "valid": str(memory.valid) if memory.valid.has_bound else None,
        "importance": memory.importance,
        "tags": list(memory.tags),
        "entities": entities,
        "source": memory.source,
        "observed_by": memory.observed_by,
    }
    return {name: value for name, value in fields.items() if value not in (None, [])}


class _Places:
    """Where the notes of a space lie in a vault. They are told by what they are about and not by their
    names: a person may have moved one, and then that is its place; or made a copy, which is theirs.

    One vault may hold the notes of several spaces. A name that another space's note has is not taken from
    it, wherever that note lies: links go by the name alone."""

    def __init__(self, index: Index, found: Mapping[str, Note]) -> None:
        self._index = index
        subjects = {path: it for path, note in found.items() if (it := _subject(note)) is not None}
        self._subjects = {path: it for path, it in subjects.items() if _is_ours(index, found[path])}
        self._taken = {Path(path).name.casefold() for path in subjects.keys() - self._subjects.keys()}
        self._paths: dict[tuple[str, str], list[str]] = defaultdict(list)
        for path, subject in self._subjects.items():
            self._paths[subject].append(path)

    def holds(self, memory: str) -> bool:
        """Whether there is a note of a memory."""
        return ("id", memory) in self._paths

    def of(self, sort: str, id_: str, usual: str) -> str:
        """Where the note of a memory or an entity lies, or is to lie."""
        paths = self._paths.get((sort, id_), [])
        if usual in paths:
            return usual
        own = self._own_name(usual)
        moved = [path for path in paths if path == own or not _is_old_name(sort, path)]
        if moved:
            return moved[0]
        return own if Path(usual).name.casefold() in self._taken else usual

    def surplus(self, wanted: Iterable[Note]) -> list[str]:
        """The notes of what has none by now, and of entities under names that they had before."""
        places = {_subject(note): note.path for note in wanted}
        return [
            path
            for path, subject in self._subjects.items()
            if subject not in places or (_is_old_name(subject[0], path) and path != places[subject])
        ]

    def _own_name(self, usual: str) -> str:
        """A name that no other space gives to a note."""
        index, place = self._index, Path(usual)
        mark = digest(f"{index.space}\n{_first_memory(index)}")[:8]
        last = index.space.rpartition("/")[2]
        return place.with_name(f"{safe_name(f'{place.stem} ({last} {mark})')}.md").as_posix()


class _Entities:
    """The entities of promoted memories, each with a file of its own."""

    def __init__(self, index: Index, sight: Snapshot, places: _Places) -> None:
        self._index, self._sight, self._places = index, sight, places
        self._paths: dict[str, str] = {}
        self._files: dict[str, str] = {}
        self._known: dict[str, Entity] = {}

    def of(self, memory: Memory) -> list[str]:
        """The ids of the entities that a memory names."""
        out: dict[str, None] = {}
        for mention in memory.mentions:
            number = self._index.names.number(mention.name)
            if number is not None:
                id_ = self._index.registry.entity_of(number, self._sight.position)
                self._learn(id_, mention.name)
                out[id_] = None
        return list(out)

    def links(self, ids: list[str]) -> list[str]:
        """Wiki links to the notes of these entities."""
        return [wiki_link(self._files[id_], self._known[id_].name) for id_ in ids]

    def note(self, id_: str, named: list[tuple[str, str]], others: Any) -> Note:
        """The note of an entity: what it is tied to, and the memories that name it."""
        entity = self._known[id_]
        fields: dict[str, Any] = {
            "entity": id_,
            "space": self._index.space,
            "began": _first_memory(self._index),
            "kind": entity.kind,
        }
        aliases = [name for name in entity.names if name != self._files[id_]]
        if aliases:
            fields["aliases"] = aliases
        lines = [f"# {' '.join(entity.name.split())}"]
        relations = list(self._relations(id_, others))
        if relations:
            lines += ["", *relations]
        lines += ["", *(f"- {wiki_link(file, title)}" for file, title in named)]
        return Note(self._paths[id_], fields, "\n".join(lines))

    def _relations(self, id_: str, others: Any) -> Iterator[str]:
        index, sight = self._index, self._sight
        number = index.names.number(self._known[id_].name)
        if number is None:
            return
        seen: set[str] = set()
        with index.lock:
            found = index.relations.relations_of(number, sight, at=sight.now, limit=_MOST_RELATIONS)
            for relation in found:
                ends = [self._id(relation.subject), self._id(relation.object)]
                if id_ in ends and all(end in others for end in ends):
                    shown = [wiki_link(self._files[end], self._known[end].name) for end in ends]
                    line = f"- {shown[0]} {relation.predicate.replace('_', ' ')} {shown[1]}"
                    if line not in seen:
                        seen.add(line)
                        yield line

    def _id(self, name: str) -> str:
        number = self._index.names.number(name)
        return name if number is None else self._index.registry.entity_of(number, self._sight.position)

    def _learn(self, id_: str, name: str) -> None:
        if id_ in self._known:
            return
        entity = self._index.registry.get(id_, self._sight.position) or Entity(id_, name)
        self._known[id_] = entity
        # Names that differ in case only are one entity, so two of them are never one file anywhere.
        self._paths[id_] = self._places.of("entity", id_, f"{ENTITY_FOLDER}/{safe_name(entity.name)}.md")
        self._files[id_] = Path(self._paths[id_]).stem


def _title(memory: Memory) -> str:
    return truncate(" ".join(memory.text.split()), _TITLE)


def _shown(index: Index, memory_id: str) -> Memory | None:
    with index.lock:
        row = index.current_row(memory_id, index.catalog.position)
        return next(iter(index.readable_memories([] if row is None else [row])), None)


def _subject(note: Note) -> tuple[str, str] | None:
    """The memory or entity that a note was written for; None if a person wrote it."""
    return next(((sort, str(note.fields[sort])) for sort in ("id", "entity") if sort in note.fields), None)


def _is_ours(index: Index, note: Note) -> bool:
    """Whether a note was written for this space, and not for one of the same name in another ledger."""
    if note.fields.get("space") != index.space:
        return False
    if "id" in note.fields:
        return index.catalog.number(str(note.fields["id"])) is not None
    # What an entity is called makes its id, so that says nothing. Older notes do not say where they began.
    began = _first_memory(index)
    return str(note.fields.get("began", began)) == began


def _first_memory(index: Index) -> str:
    """What a space is told by from others of its name: it keeps the id also once the memory is erased, and
    wherever the space is brought."""
    return index.catalog.ids[0] if index.catalog.ids else ""


def _is_old_name(sort: str, path: str) -> bool:
    """Whether a note that is not in its place is there because its entity was called so before."""
    return sort == "entity" and path.startswith(f"{ENTITY_FOLDER}/")


def _say_the_same(one: Note, other: Note) -> bool:
    return notes.strip_links(one.body) == other.body and set(one.tags) == set(other.tags)
