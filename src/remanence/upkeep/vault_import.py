"""A vault that a person has worked in, read back.

An edited note of a memory is a new version of it. A note that a person wrote is theirs: it becomes a
memory of the space below this one that is called `vault`, under its path. A deleted note is reported, and
its memory stays: to delete a file is not to forget.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from remanence.core.identity import key_identity
from remanence.core.index import Index
from remanence.errors import InvalidInput
from remanence.events import Event, Ran
from remanence.language.passages import split_passages
from remanence.language.text import pluralize
from remanence.upkeep import notes
from remanence.upkeep.notes import Note
from remanence.upkeep.scored_memories import StalePlan, check_unchanged
from remanence.upkeep.text_tables import format_table
from remanence.write import validate
from remanence.write.append import append
from remanence.write.extract import PreparedVersion, prepare

if TYPE_CHECKING:
    from remanence.core.engine import Engine
    from remanence.ports import Progress

STEP = "index_vault"
_BATCH = 500

_Some = TypeVar("_Some")


@dataclass(frozen=True, slots=True)
class NoteEdit:
    """A memory whose note was edited: what it says now, and the version that says so."""

    memory: str
    note: str
    before: str
    line: int
    prepared: PreparedVersion

    @property
    def text(self) -> str:
        """What the note says."""
        return self.prepared.version.text


@dataclass(frozen=True, slots=True)
class NewNote:
    """A note that a person wrote, ready to be kept; and the line of what it said before, if it did."""

    note: str
    prepared: PreparedVersion
    line: int | None


@dataclass(frozen=True, slots=True)
class VaultImportPlan:
    """What a person did to a vault. It prints as a table; `space.upkeep.apply(plan)` takes it in."""

    edits: tuple[NoteEdit, ...]
    new_notes: tuple[NewNote, ...]
    deleted_notes: tuple[str, ...]
    """Notes of memories that were deleted."""
    skipped_notes: tuple[tuple[str, str], ...]
    """Notes that cannot be taken in, and why."""
    vault: str
    position: int
    run: str | None = None
    """The run that did this, once it was done."""

    def __len__(self) -> int:
        return len(self.edits) + len(self.new_notes)

    def __iter__(self) -> Iterator[NoteEdit | NewNote]:
        return iter((*self.edits, *self.new_notes))

    def __str__(self) -> str:
        done = f"run {self.run} took in" if self.run else "would take in"
        title = (
            f"index_vault: {done} {pluralize(len(self.edits), 'edited note')} and "
            f"{pluralize(len(self.new_notes), 'new note')} of {self.vault}"
        )
        rows = [(each.note, each.before, each.text) for each in self.edits]
        rows += [(each.note, "", each.prepared.version.text) for each in self.new_notes]
        out = [format_table(title, ("note", "was", "is"), rows)]
        out += [f"  {note} was deleted; its memory stays" for note in self.deleted_notes]
        out += [f"  {note} is left out: {why}" for note, why in self.skipped_notes]
        return "\n".join(out)


def vault_space(space: str) -> str:
    """The space that holds a person's own notes."""
    return f"{space}/vault"


def plan(engine: Engine, space: str, vault: Path, now: datetime, progress: Progress | None) -> VaultImportPlan:
    """Read every note of a vault, and hold it against what is known."""
    if not vault.is_dir():
        raise InvalidInput(f"there is no vault at {vault}. Promote something to it first, or name another.")
    every = list(notes.note_paths(vault))
    found: list[NoteEdit | NewNote] = []
    skipped: list[tuple[str, str]] = []
    there: set[str] = set()  # the memories that have a note, wherever a person has put it
    with engine.open_index(space) as index, engine.open_index(vault_space(space)) as theirs:
        for done, path in enumerate(every, 1):
            try:
                note = _read(vault, path)
                there.add(str(note.fields.get("id")))
                if (news := _news(engine, index, theirs, note, now)) is not None:
                    found.append(news)
            except _Skipped as why:
                skipped.append((path, str(why)))
            if progress is not None:
                progress(done, len(every))
        position = index.catalog.position
        missing = [
            note
            for memory, note in index.usage.promoted_notes.items()
            if note is not None and memory not in there and index.current_row(memory, position) is not None
        ]
    return VaultImportPlan(
        edits=tuple(each for each in found if isinstance(each, NoteEdit)),
        new_notes=tuple(each for each in found if isinstance(each, NewNote)),
        deleted_notes=tuple(sorted(missing)),
        skipped_notes=tuple(skipped),
        vault=str(vault),
        position=position,
    )


def has_notes(engine: Engine, space: str) -> bool:
    """Whether a person's own notes were ever taken in. To open their space would make its files."""
    return vault_space(space) in engine.ledger.spaces()


def check(engine: Engine, space: str, plan: VaultImportPlan) -> None:
    """Refuse if a memory whose note was edited, or what is known of a person's own note, changed since."""
    with engine.open_index(space) as index:
        check_unchanged(index, {edit.memory: edit.line for edit in plan.edits})
    if plan.new_notes:
        with engine.open_index(vault_space(space)) as theirs:
            _not_taken_in(theirs, plan.new_notes)


def write(engine: Engine, space: str, plan: VaultImportPlan, run: str, progress: Progress | None = None) -> None:
    """Keep the new versions, and in the space below the person's own notes; some in each transaction."""
    given = {"vault": plan.vault}
    done = 0
    for edits in _batches(plan.edits):

        def revised(index: Index, ids: Sequence[str], edits: Sequence[NoteEdit] = edits) -> list[Event]:
            before = tuple((edit.memory, edit.line) for edit in edits)
            check_unchanged(index, dict(before))
            return [Ran(run, STEP, plan.position, given, revised=before)]

        append(engine, space, [edit.prepared for edit in edits], extra_events=revised)
        done += len(edits)
        if progress is not None:
            progress(done, len(plan))

    def kept(index: Index, ids: Sequence[str], written: Sequence[NewNote]) -> list[Event]:
        _not_taken_in(index, written)
        new = tuple(memory for memory in ids if index.catalog.number(memory) is None)
        old = [memory for memory in ids if memory not in new]
        return [Ran(run, STEP, index.catalog.position, given, made=new, revised=_lines(index, old))]

    for written in _batches(plan.new_notes):
        also = partial(kept, written=written)
        append(engine, vault_space(space), [each.prepared for each in written], extra_events=also)
        done += len(written)
        if progress is not None:
            progress(done, len(plan))


class _Skipped(Exception):
    """A note that cannot be taken in; it says why."""


def _read(vault: Path, path: str) -> Note:
    note = notes.read(vault, path)
    if note is None:
        raise _Skipped("it is not UTF-8 text")
    return note


def _news(engine: Engine, index: Index, theirs: Index, note: Note, now: datetime) -> NoteEdit | NewNote | None:
    """What a note says that is not known; None if it says nothing new."""
    if "entity" in note.fields or note.fields.get("space", index.space) != index.space:
        return None
    text = notes.strip_links(note.body)
    if not text.strip():
        return None
    if "id" in note.fields:
        return _edit(engine, index, note, text, now)
    prepared = _prepared(engine, note, text, now, key=note.path, source=f"vault:{note.path}")
    number = theirs.catalog.with_identity(key_identity(note.path))
    if number is not None and theirs.catalog.content_digests[number] == prepared.version.content:
        return None
    return NewNote(note.path, prepared, _line(theirs, note.path))


def _edit(engine: Engine, index: Index, note: Note, text: str, now: datetime) -> NoteEdit | None:
    memory = str(note.fields["id"])
    version = index.latest_version(memory)
    if version is None:
        raise _Skipped("its memory was erased, or is of another space")
    tags = note.tags_spelled_as(version.tags) if note.tags_changed else version.tags
    said = not note.text_changed or notes.normalize_newlines(version.text) in (note.body, text)
    if said and set(tags) == set(version.tags):
        return None
    row = index.current_row(memory, index.catalog.position)
    if row is None:
        raise _Skipped("its memory is forgotten; space.unforget brings it back")
    [line] = index.catalog.positions_of_rows([row])
    if said:
        retagged = PreparedVersion(replace(version, tags=tags), now, is_revision=True)
        return NoteEdit(memory, note.path, version.text, line, retagged)
    read = _prepared(engine, note, text, now).version
    fresh = replace(
        version,
        text=text,
        content=read.content,
        tags=tags,
        mentions=read.mentions,
        triples=read.triples,
        times=read.times,
        passages=split_passages(text),
    )
    return NoteEdit(memory, note.path, version.text, line, PreparedVersion(fresh, now, is_revision=True))


def _prepared(
    engine: Engine, note: Note, text: str, now: datetime, *, key: str | None = None, source: str | None = None
) -> PreparedVersion:
    try:
        draft = validate.draft({"text": text, "tags": list(note.tags), "key": key, "source": source})
    except InvalidInput as error:
        raise _Skipped(str(error)) from None
    return prepare(draft, engine.extractor, now)


def _batches(every: Sequence[_Some]) -> Iterator[Sequence[_Some]]:
    for begin in range(0, len(every), _BATCH):
        yield every[begin : begin + _BATCH]


def _not_taken_in(theirs: Index, written: Sequence[NewNote]) -> None:
    """Refuse if one of a person's own notes was taken in since."""
    for each in written:
        if _line(theirs, each.note) != each.line:
            raise StalePlan(f"the note {each.note!r} was taken in")


def _line(theirs: Index, path: str) -> int | None:
    """The line of what is known of a person's own note; None if nothing is."""
    number = theirs.catalog.with_identity(key_identity(path))
    return None if number is None else _lines(theirs, [theirs.catalog.ids[number]])[0][1]


def _lines(index: Index, memories: Sequence[str]) -> tuple[tuple[str, int], ...]:
    """The lines that the versions of these memories stand on."""
    numbers = [index.catalog.number(memory) for memory in memories]
    rows = [index.catalog.rows_of(number)[-1] for number in numbers if number is not None]
    return tuple(zip(memories, index.catalog.positions_of_rows(rows), strict=True))
