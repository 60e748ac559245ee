"""Reads back a vault that a person has worked in, and merges its notes into recalls.

An edited note of a memory becomes a new version of it. A note that a person wrote becomes a memory of a space of its
own, with its path as the key. A deleted note is reported, and its memory stays.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from remanence.errors import InvalidInput
from remanence.index.engine.engine import Engine
from remanence.index.engine.identity import key_identity
from remanence.index.index import Index
from remanence.ports import Progress
from remanence.recall.answer import Recall
from remanence.remember.add_options import parse_draft
from remanence.remember.prepare import PreparedVersion, prepare
from remanence.schema import Evidence, Hit
from remanence.text.front_matter import strip_links
from remanence.text.text import normalize_text, pluralize, split_passages
from remanence.upkeep.plans import Change, Plan, UpkeepPlan, batches
from remanence.upkeep.runs import vault_space
from remanence.upkeep.vault_notes import notes
from remanence.upkeep.vault_notes.notes import Note


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteChange(Change):
    """A note that was edited or written by a person, and the text of its memory before (empty for a new memory) and
    now."""

    note: str
    before: str
    text: str

    @property
    def row(self) -> tuple[object, ...]:
        return self.note, self.before, self.text


class _Skipped(Exception):
    """A note cannot be read in; the message says why."""


def plan_vault_import(engine: Engine, space: str, vault: Path, now: datetime, progress: Progress | None) -> UpkeepPlan:
    """Read every note of a vault, and compare it with what is stored: edited notes, and a person's own."""
    if not vault.is_dir():
        raise InvalidInput(f"there is no vault at {vault}. Promote something to it first, or name another folder.")
    edited, new, remarks = list[NoteChange](), list[NoteChange](), list[str]()
    noted: set[str] = set()  # the memories that have a note, wherever a person has moved it
    with engine.open_index(space) as index, engine.open_index(vault_space(space)) as notes_index:
        for [(path, is_link)] in batches([*notes.markdown_files(vault)], 1, progress):
            note = notes.read(vault, path)
            try:
                if note is None:
                    raise _Skipped("it is a symbolic link" if is_link else "it is not UTF-8 text")
                noted.add(str(note.fields.get("id")))
                text = strip_links(note.body)
                if "entity" in note.fields or note.fields.get("space", space) != space or not text.strip():
                    continue
                if "id" in note.fields:
                    edited += _edit(engine, index, note, notes.from_inert(text), now)
                else:
                    new += _own_note(engine, notes_index, note, text, now)
            except _Skipped as reason:
                remarks.append(f"{path} is left out: {reason}")
        position = index.catalog.position
        remarks += [
            f"{path} was deleted; its memory stays"
            for memory, path in sorted(index.usage.promoted_notes.items(), key=str)
            if path is not None and memory not in noted and index.current_row(memory, position) is not None
        ]
    plans = [
        Plan(
            step="index_vault",
            space=name,
            position=position,
            items=tuple(changes),
            verbs=("read", "read"),
            title=f"{pluralize(len(changes), what)} of {vault}",
            columns=("note", "was", "is"),
            parameters={"vault": str(vault)},
            requires="unchanged",
        )
        for name, changes, what in ((space, edited, "edited note"), (vault_space(space), new, "new note"))
    ]
    return UpkeepPlan(plans=(replace(plans[0], notes=tuple(remarks)), plans[1]), position=position)


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


def _own_note(engine: Engine, index: Index, note: Note, text: str, now: datetime) -> list[NoteChange]:
    """A person's own note, if it is new or was edited."""
    prepared = _prepare(engine, note, text, now, key=note.path, source=f"vault:{note.path}")
    catalog, version = index.catalog, prepared.version
    number = catalog.find_by_identity(key_identity(note.path))
    sources: dict[str, int] = {}
    if number is not None:
        if catalog.has_content(number, version.content):
            return []
        version = replace(version, memory=catalog.ids[number])
        row = index.current_row(version.memory, catalog.position)
        sources = {} if row is None else {version.memory: catalog.positions_of_rows([row])[0]}
    prepared = prepared._replace(version=version)
    return [NoteChange(note=note.path, before="", text=text, sources=sources, version=prepared)]


def _edit(engine: Engine, index: Index, note: Note, text: str, now: datetime) -> list[NoteChange]:
    """The new version of a memory, if the text or the tags of its note were edited."""
    memory = str(note.fields["id"])
    version = index.latest_version(memory)
    if version is None:
        raise _Skipped("its memory was erased, or belongs to another space")
    before, tags = version.text, version.tags
    if note.tags_changed:
        spelling = {notes.bare_tag(tag): tag for tag in reversed(tags)}
        tags = tuple(spelling.get(tag, tag) for tag in note.tags)
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
    revision = PreparedVersion(replace(version, tags=tags), now, is_revision=True)
    sources = {memory: index.catalog.positions_of_rows([row])[0]}
    return [NoteChange(note=note.path, before=before, text=version.text, sources=sources, version=revision)]


def _prepare(
    engine: Engine, note: Note, text: str, now: datetime, *, key: str | None = None, source: str | None = None
) -> PreparedVersion:
    try:
        draft = parse_draft({"text": text, "tags": list(note.tags), "key": key, "source": source})
    except InvalidInput as error:
        raise _Skipped(str(error)) from None
    return prepare(engine, draft, now)
