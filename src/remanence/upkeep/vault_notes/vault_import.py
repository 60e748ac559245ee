"""Reads back a vault that a person has worked in, and merges its notes into recalls.

An edited note of a memory becomes a new version of it. A note that a person wrote becomes a memory of the
child space `vault`, with its path as the key. A deleted note is reported, and its memory stays.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path

from remanence.errors import InvalidInput
from remanence.events import Event, Ran
from remanence.index.engine.engine import Engine
from remanence.index.engine.identity import key_identity
from remanence.index.index import Index
from remanence.ports import Progress
from remanence.recall.answer import Recall
from remanence.remember.add_options import parse_draft
from remanence.remember.append import CHUNK, append
from remanence.remember.prepare import PreparedVersion, prepare
from remanence.schema import Evidence, Hit
from remanence.text.front_matter import strip_links
from remanence.text.text import normalize_text, pluralize, split_passages
from remanence.upkeep.plans import Plan, ResultTable, StalePlan, batches, check_unchanged
from remanence.upkeep.runs import vault_space
from remanence.upkeep.vault_notes import notes
from remanence.upkeep.vault_notes.notes import Note


@dataclass(frozen=True, slots=True)
class NoteChange:
    """A note that was edited or written by a person, and the new version of its memory."""

    note: str
    before: str
    """The text of the memory before; empty for a new memory."""
    position: int
    """The ledger position of the version before; 0 for a new memory."""
    prepared: PreparedVersion

    @property
    def memory(self) -> str:
        return self.prepared.version.memory

    @property
    def text(self) -> str:
        return self.prepared.version.text


@dataclass(frozen=True, slots=True)
class VaultImportPlan(Plan):
    """What a person did to a vault."""

    edits: tuple[NoteChange, ...]
    """Edited notes of memories."""
    new_notes: tuple[NoteChange, ...]
    """A person's own notes."""
    deleted_notes: tuple[str, ...]
    """Notes of memories that were deleted."""
    skipped_notes: tuple[tuple[str, str], ...]
    """Notes that cannot be read in, and why."""
    vault: str

    def __len__(self) -> int:
        return len(self.edits) + len(self.new_notes)

    def __iter__(self) -> Iterator[NoteChange]:
        return iter((*self.edits, *self.new_notes))

    @property
    def table(self) -> ResultTable:
        verb = self.verb("read", "read")
        edited, new = pluralize(len(self.edits), "edited note"), pluralize(len(self.new_notes), "new note")
        rows = [(change.note, change.before, change.text) for change in self]
        notes = [f"{note} was deleted; its memory stays" for note in self.deleted_notes]
        notes += [f"{note} is left out: {why}" for note, why in self.skipped_notes]
        return ResultTable(
            f"index_vault: {verb} {edited} and {new} of {self.vault}", ("note", "was", "is"), rows, notes
        )

    def check(self, engine: Engine, space: str) -> None:
        for name, changes in self._changes_by_space(space):
            with engine.open_index(name) as index:
                _check_not_imported(index, changes)

    def write(self, engine: Engine, space: str, run: str, progress: Progress | None) -> None:
        for name, changes in self._changes_by_space(space):
            for batch in batches(changes, CHUNK, progress):  # each in one transaction
                prepared = [change.prepared for change in batch]
                append(engine, name, prepared, extra_events=partial(self._events, run, batch))

    def _changes_by_space(self, space: str) -> list[tuple[str, Sequence[NoteChange]]]:
        by_space = [(space, self.edits), (vault_space(space), self.new_notes)]
        return [(name, changes) for name, changes in by_space if changes]

    def _events(self, run: str, batch: Sequence[NoteChange], index: Index, ids: Sequence[str]) -> list[Event]:
        _check_not_imported(index, batch)
        stored = list(zip(ids, (change.position for change in batch), strict=True))
        made = tuple(memory for memory, position in stored if not position)
        revised = tuple((memory, position) for memory, position in stored if position)
        return [Ran(run, "index_vault", index.catalog.position, {"vault": self.vault}, made=made, revised=revised)]


class _Skipped(Exception):
    """A note cannot be read in; the message says why."""


def plan_vault_import(
    engine: Engine, space: str, vault: Path, now: datetime, progress: Progress | None
) -> VaultImportPlan:
    """Read every note of a vault, and compare it with what is stored."""
    if not vault.is_dir():
        raise InvalidInput(f"there is no vault at {vault}. Promote something to it first, or name another folder.")
    edits, new_notes = list[NoteChange](), list[NoteChange]()
    skipped = [(path, "it is a symbolic link") for path in notes.linked_paths(vault)]
    noted: set[str] = set()  # the memories that have a note, wherever a person has moved it
    with engine.open_index(space) as index, engine.open_index(vault_space(space)) as notes_index:
        for [path] in batches(list(notes.note_paths(vault)), 1, progress):
            note = notes.read(vault, path)
            try:
                if note is None:
                    raise _Skipped("it is not UTF-8 text")
                noted.add(str(note.fields.get("id")))
                text = strip_links(note.body)
                other_space = note.fields.get("space", space) != space
                if "entity" in note.fields or other_space or not text.strip():
                    continue
                if "id" in note.fields:
                    edits += _edit(engine, index, note, notes.from_inert(text), now)
                else:
                    new_notes += _plan_new_note(engine, notes_index, note, text, now)
            except _Skipped as reason:
                skipped.append((path, str(reason)))
        position = index.catalog.position
        deleted = [
            path
            for memory, path in index.usage.promoted_notes.items()
            if path is not None and memory not in noted and index.current_row(memory, position) is not None
        ]
    changes = tuple(edits), tuple(new_notes), tuple(sorted(deleted)), tuple(skipped)
    return VaultImportPlan(*changes, str(vault), position=position)


def merge_recalls(memories: Recall, notes: Recall, limit: int, weight: float) -> Recall:
    """Hits from a space and from the notes of its vault in one list. Scores of notes are multiplied by
    `weight`, and a text that is in both is listed once."""
    ranked = sorted((*memories, *(_weighted(hit, weight) for hit in notes)), key=lambda h: (-h.score, h.memory.id))
    hits: dict[str, Hit] = {}
    for hit in ranked:
        hits.setdefault(normalize_text(hit.memory.text), hit)
    missing = {**{f"{name} (vault)": why for name, why in notes.missing.items()}, **memories.missing}
    return replace(memories, hits=tuple(hits.values())[:limit], missing=missing)


def _weighted(hit: Hit, weight: float) -> Hit:
    evidence = Evidence("vault", 1, 0.0, 0.0, f"a note of yours: {hit.memory.key}")
    return replace(hit, score=hit.score * weight, evidence=(*hit.evidence, evidence))


def _plan_new_note(engine: Engine, notes_index: Index, note: Note, text: str, now: datetime) -> list[NoteChange]:
    """A person's own note, if it is new or was edited."""
    prepared = _prepare(engine, note, text, now, key=note.path, source=f"vault:{note.path}")
    catalog = notes_index.catalog
    number = catalog.find_by_identity(key_identity(note.path))
    if number is not None and catalog.has_content(number, prepared.version.content):
        return []
    return [NoteChange(note.path, "", _stored_position(notes_index, note.path), prepared)]


def _edit(engine: Engine, index: Index, note: Note, text: str, now: datetime) -> list[NoteChange]:
    """The new version of a memory, if the text or the tags of its note were edited."""
    memory = str(note.fields["id"])
    version = index.latest_version(memory)
    if version is None:
        raise _Skipped("its memory was erased, or belongs to another space")
    before = version.text
    tags = note.tags_spelled_as(version.tags) if note.tags_changed else version.tags
    same_text = not note.text_changed or notes.normalize_newlines(before) in (notes.from_inert(note.body), text)
    if same_text and set(tags) == set(version.tags):
        return []
    row = index.current_row(memory, index.catalog.position)
    if row is None:
        raise _Skipped("its memory is forgotten; space.unforget restores it")
    if not same_text:
        new = _prepare(engine, note, text, now).version
        version = replace(
            version,
            text=text,
            content=new.content,
            mentions=new.mentions,
            triples=new.triples,
            times=new.times,
            passages=split_passages(text),
        )
    [position] = index.catalog.positions_of_rows([row])
    revision = PreparedVersion(replace(version, tags=tags), now, is_revision=True)
    return [NoteChange(note.path, before, position, revision)]


def _prepare(
    engine: Engine, note: Note, text: str, now: datetime, *, key: str | None = None, source: str | None = None
) -> PreparedVersion:
    try:
        draft = parse_draft({"text": text, "tags": list(note.tags), "key": key, "source": source})
    except InvalidInput as error:
        raise _Skipped(str(error)) from None
    return prepare(engine, draft, now)


def _check_not_imported(index: Index, changes: Sequence[NoteChange]) -> None:
    """Raise StalePlan if a memory whose note was edited, or a person's own note, was stored again since."""
    check_unchanged(index, {change.memory: change.position for change in changes if change.prepared.is_revision})
    for note_change in changes:
        if not note_change.prepared.is_revision and _stored_position(index, note_change.note) != note_change.position:
            raise StalePlan(f"the note {note_change.note!r} was imported")


def _stored_position(notes_index: Index, path: str) -> int:
    """The ledger position of the last version of a person's own note; 0 if there is none."""
    catalog = notes_index.catalog
    number = catalog.find_by_identity(key_identity(path))
    return 0 if number is None else catalog.positions_of_rows([catalog.rows_of(number)[-1]])[0]
