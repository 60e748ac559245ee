"""Markdown notes of a vault: file names, front matter, whether a person has edited a note, and which there should be.

A note is front matter between two lines of `---`, followed by the text. Values are written as JSON, which is
valid YAML. The fields are read back in the forms in which an editor may rewrite them.

A vault has a note for each promoted memory, and one for each entity that they mention. Notes are identified by
their front matter and not by their paths, since a person may move them. One vault may have the notes of several
spaces; their file names differ everywhere in the vault, because wiki links refer to the name alone.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from remanence.errors import LedgerUnavailable
from remanence.index.index import Index
from remanence.schema import Entity, Memory, Snapshot
from remanence.text.front_matter import split_front_matter
from remanence.text.text import truncate
from remanence.upkeep.plans import entity_id

MEMORY_FOLDER, ENTITY_FOLDER = "memories", "entities"
_MAX_NAME_BYTES = 120
"""Bytes of the name of a file: most file systems allow 255, and the rest is for additions to the name."""
_UNSAFE = re.compile(r"[^\w \-.,'()&+@]", re.UNICODE)
_SPACES = re.compile(r"\s+")
_FENCE = "`{3,}|~{3,}"
_RESERVED = re.compile(r"^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Note:
    """A note: its path in the vault, its fields, its text."""

    path: str
    fields: Mapping[str, Any] = field(default_factory=dict)
    body: str = ""

    @property
    def is_edited(self) -> bool:
        """Whether its text or tags differ from what was written."""
        return self.text_changed or self.tags_changed

    @property
    def text_changed(self) -> bool:
        return str(self.fields.get("digest", "")).partition("-")[0] != digest(self.body)

    @property
    def tags_changed(self) -> bool:
        return str(self.fields.get("digest", "")).partition("-")[2] != self._tags_digest

    @property
    def tags(self) -> tuple[str, ...]:
        """Its tags, without the # that some editors put before them."""
        return self.tags_spelled_as(())

    def tags_spelled_as(self, known: Sequence[str]) -> tuple[str, ...]:
        """Its tags; those that are known, in their known spelling."""
        spelling = {_bare(tag): tag for tag in reversed(known)}
        tags = (tag if tag in known else spelling.get(_bare(tag), _bare(tag)) for tag in self._raw_tags)
        return tuple(dict.fromkeys(tag for tag in tags if tag))

    @property
    def _raw_tags(self) -> list[str]:
        tags = self.fields.get("tags") or []
        return [str(tag) for tag in (tags if isinstance(tags, list) else [tags])]

    @property
    def _tags_digest(self) -> str:
        """A digest of the tags that depends neither on their order nor on a # that an editor puts before them."""
        return digest("\n".join(sorted({_bare(tag) for tag in self._raw_tags})))

    def __str__(self) -> str:
        fields = {**self.fields, "digest": f"{digest(self.body)}-{self._tags_digest}"}
        # Templater runs what is in front matter, too.
        values = (
            (name, json.dumps(value, ensure_ascii=False).replace("<", r"\u003c")) for name, value in fields.items()
        )
        lines = (f"{name}: {value}" for name, value in values)
        return "\n".join(("---", *lines, "---", "", self.body, ""))


def to_inert(text: str) -> str:
    """A text of a memory, in which no editor runs anything: fenced blocks have the language `text` before their own
    (dataviewjs), and the marks of HTML, Templater (`<%`) and inline queries (`$=`) are written as entities.

    >>> print(to_inert("```dataviewjs\\napp.vault\\n```\\n<% tp.file %> `$= dv.pages()` a < b"))
    ```text dataviewjs
    app.vault
    ```
    &lt;% tp.file %> &#96;$= dv.pages()` a < b
    """
    text = re.sub(r"&(?=(?:amp|lt|#96);)", "&amp;", text)
    text = re.sub(r"<(?=[A-Za-z/!?%])", "&lt;", text)
    text = re.sub(r"(?<!`)`{1,2}(?=\s*\$?=)", lambda ticks: "&#96;" * len(ticks[0]), text)
    return re.sub(rf"({_FENCE})(?=[ \t]*[^\s`~])", r"\1text ", text)


def from_inert(body: str) -> str:
    """The text that `to_inert` was given."""
    body = re.sub(rf"({_FENCE})text (?=[ \t]*[^\s`~])", r"\1", body)
    return re.sub(r"&(amp|lt|#96);", lambda entity: {"amp": "&", "lt": "<", "#96": "`"}[entity[1]], body)


def digest(body: str) -> str:
    """A digest of a text that ignores the kind of line ends and blank lines around it."""
    return hashlib.blake2b(normalize_newlines(body).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def _bare(tag: str) -> str:
    return tag.strip().lstrip("#")


def normalize_newlines(body: str) -> str:
    """A text with uniform line ends, and none around it."""
    return body.replace("\r\n", "\n").strip("\n").rstrip()


def parse(path: str, text: str) -> Note:
    """The note in a file; without front matter it has no fields."""
    fields, body = split_front_matter(text)
    return Note(path, fields, normalize_newlines(body))


def read(vault: Path, path: str) -> Note | None:
    """A note of a vault; None if there is no such file in its folder, or it is not UTF-8 text."""
    if not is_inside(vault, path):
        return None
    try:
        # Not read_text: it would turn carriage returns within a text into line ends.
        return parse(path, (vault / path).read_bytes().decode("utf-8"))
    except (FileNotFoundError, NotADirectoryError, UnicodeDecodeError):
        return None


def is_inside(vault: Path, path: str) -> bool:
    """Whether a path leads to a place in the folder of the vault, and through no symbolic link on the way."""
    try:
        if not (vault / path).resolve().is_relative_to(vault.resolve()):
            return False
    except (OSError, RuntimeError):  # links in a circle
        return False
    names = Path(path).parts
    return not any(vault.joinpath(*names[: count + 1]).is_symlink() for count in range(len(names)))


def check_writable(vault: Path) -> None:
    nearest = next(folder for folder in (vault, *vault.parents) if folder.exists())
    if not nearest.is_dir() or not os.access(nearest, os.W_OK | os.X_OK):
        raise LedgerUnavailable(
            f"the vault {vault} cannot be written to: {nearest} is not a folder with write permission. "
            "Nothing was done. Name a folder that can be written to."
        )


def write(vault: Path, note: Note) -> None:
    target = vault / note.path
    part = target.with_name(f".{target.name}.part")
    if not is_inside(vault, str(Path(note.path).parent)):
        raise LedgerUnavailable(
            f"the note {note.path!r} was not written to the vault {vault}: a symbolic link is on the way, or it leads "
            "out of the vault. Remove the link, or name another folder."
        )
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        part.unlink(missing_ok=True)  # a file that a killed process left, or a link that leads elsewhere
        with part.open("xb") as file:
            file.write(str(note).encode())
        part.replace(target)
    except OSError as error:
        raise LedgerUnavailable(
            f"the note {note.path!r} cannot be written to the vault {vault}: {error.strerror}. "
            "Name a folder that can be written to."
        ) from error


def note_paths(vault: Path) -> Iterator[str]:
    """The paths of all notes in a vault, in order; hidden folders (`.obsidian`, `.trash`) are left out, and so are
    symbolic links: what they lead to is listed where it is, or is not in the vault."""
    return (path for path, is_link in _markdown_files(vault) if not is_link)


def linked_paths(vault: Path) -> Iterator[str]:
    """The paths of notes that are symbolic links."""
    return (path for path, is_link in _markdown_files(vault) if is_link)


def _markdown_files(vault: Path) -> Iterator[tuple[str, bool]]:
    """The paths of all notes, each with whether it is a symbolic link."""
    for file in sorted(vault.rglob("*.md")):
        path = file.relative_to(vault)
        if (file.is_symlink() or file.is_file()) and not any(part.startswith(".") for part in path.parts):
            yield path.as_posix(), file.is_symlink()


def safe_name(name: str) -> str:
    """A safe file name for any name; different names get different file names."""
    safe = _SPACES.sub(" ", _UNSAFE.sub(" ", unicodedata.normalize("NFC", name))).strip(" .")
    safe = safe.encode()[:_MAX_NAME_BYTES].decode(errors="ignore").strip(" .")
    if safe and safe == name and not _RESERVED.match(safe):
        return safe
    suffix = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
    return f"{safe} {suffix}".strip()


def wiki_link(file: str, label: str | None) -> str:
    """A link to a note. No character of the label can end the link."""
    text = file if label is None else _SPACES.sub(" ", re.sub(r"[\[\]|#^\n]", " ", label)).strip()
    return f"[[{file}]]" if text == file or not text else f"[[{file}|{text}]]"


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
        self.files = {path: read(vault, path) for path in note_paths(vault)}
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
