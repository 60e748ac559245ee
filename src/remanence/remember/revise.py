"""New versions of stored memories: a correction, another end, other tags; and the version before, again.

A new version has the id of the memory, and what nobody changed stays: where it comes from, when it was told, its trust.
It also keeps the identity of the first text, so that an import which brings that text again does not undo a correction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from remanence.errors import InvalidInput
from remanence.events import Remembered
from remanence.index.engine.engine import Engine
from remanence.index.engine.inputs import check_window
from remanence.remember.add_options import AddOptions, Changes
from remanence.remember.append import ExtraEvents, append
from remanence.remember.prepare import PreparedVersion, redact_draft
from remanence.schema import Memory, Window
from remanence.text.temporal import parse_moment
from remanence.text.text import split_passages


def revise(engine: Engine, space: str, ids: Sequence[str], changes: Changes) -> list[Memory]:
    """Write a new version of each memory that the changes alter, and return all of them as they are then."""
    return append_revisions(engine, space, changed_versions(engine, space, ids, changes), ids)


def changed_versions(engine: Engine, space: str, ids: Sequence[str], changes: Changes) -> list[Remembered]:
    """The new versions of those memories that the changes alter."""
    if changes.text is not None and len(ids) != 1:
        raise InvalidInput(
            f"text={changes.text!r} is for one memory, and {len(ids)} are given. Revise them one by one."
        )
    now = engine.now()
    old = latest_versions(engine, space, ids)
    new = [_changed(engine, version, memory, changes, now) for version, memory in old]
    return [version for version, (before, _) in zip(new, old, strict=True) if version != before]


def end(engine: Engine, space: str, ids: Sequence[str], since: datetime) -> list[Memory]:
    """Write that these memories are no longer true from a moment on. A chat turn was said at its own time: it is not
    recalled as current from then on."""
    return append_revisions(engine, space, ended_versions(engine, space, ids, since), ids)


def ended_versions(engine: Engine, space: str, ids: Sequence[str], since: datetime) -> list[Remembered]:
    """The versions of these memories that are true until a moment."""
    now = engine.now()
    ended = []
    for version, memory in latest_versions(engine, space, ids):
        if version.turn is not None:
            ended.append(replace(version, expires_at=since, signature=None))
            continue
        start = version.valid.start
        if start is not None and since <= start:
            raise InvalidInput(
                f"memory {memory.id!r} is true since {start.isoformat()}, so it cannot have ended "
                f"{since.isoformat()}. Give a later moment, or forget it."
            )
        kind = "semantic" if version.kind == "episode" else version.kind  # an event is never over
        window = Window(start, since)
        told = version.told_at or memory.told_at
        ended.append(replace(version, valid=window, kind=kind, told_at=min(told, now), signature=None))
    return ended


def revert(engine: Engine, space: str, ids: Sequence[str]) -> list[Memory]:
    """Write the version before the last one of each memory again."""
    with engine.open_index(space) as index, index.lock:
        earlier = []
        for id_ in dict.fromkeys(ids):
            rows = index.catalog.rows_of(index.require_unerased(id_))
            index.require_visible(id_, index.catalog.position)
            if len(rows) < 2:
                raise InvalidInput(f"memory {id_!r} has one version only. There is no earlier one to go back to.")
            [position] = index.catalog.positions_of_rows(rows[-2:-1])
            event = index.entries_at([position])[position].event
            assert isinstance(event, Remembered), "a memory that is not erased has all its versions"
            [memory] = index.memories(rows[-2:-1])
            told = event.told_at if event.turn is not None else memory.told_at
            earlier.append(replace(event, memory=id_, told_at=told, signature=None))
    return append_revisions(engine, space, earlier, ids)


def latest_versions(engine: Engine, space: str, ids: Sequence[str]) -> list[tuple[Remembered, Memory]]:
    """The last version of each memory, as it was written and as it is read.

    Raises:
        NotFound: There is no such memory, or it is hidden.
    """
    found = []
    with engine.open_index(space) as index, index.lock:
        for id_ in dict.fromkeys(ids):
            row = index.require_visible(id_, index.catalog.position)
            version = index.latest_version(id_)
            assert version is not None, "a visible memory has a version"
            [memory] = index.memories([row])
            found.append((version, memory))
    return found


def _changed(engine: Engine, version: Remembered, memory: Memory, changes: Changes, now: datetime) -> Remembered:
    """The version with the changes; the same one if they change nothing."""
    fields: dict[str, Any] = {
        name: value for name in ("kind", "importance", "strength") if (value := getattr(changes, name)) is not None
    }
    tags = version.tags if changes.tags is None else changes.tags
    tags = tuple(dict.fromkeys([*tags, *changes.add_tags]))
    fields["tags"] = tuple(tag for tag in tags if tag not in changes.remove_tags)
    if changes.expires_at is not None:
        fields["expires_at"] = parse_moment(changes.expires_at, now, argument="expires_at")
    if changes.text is not None and changes.text != version.text:
        fields |= _read_again(engine, version, memory, changes.text)
    if changes.valid_from is not None or changes.valid_until is not None:
        before = fields.get("valid", version.valid)
        given = check_window(changes.valid_from, changes.valid_until, now)
        fields["valid"] = check_window(given.start or before.start, given.end or before.end, now)
    changed = replace(version, **fields)
    if changed == version:
        return version
    told = version.told_at if version.turn is not None else memory.told_at
    return replace(changed, told_at=told, signature=None)


def _read_again(engine: Engine, version: Remembered, memory: Memory, text: str) -> dict[str, Any]:
    """The fields that follow from the text: names, claims, times and passages. Its window does, if that was read from
    the text."""
    if engine.redactor is not None:
        text = redact_draft(AddOptions(text=text), engine.redactor).text

    def extract(text: str) -> Any:
        return engine.extractor.extract(text, now=memory.told_at, speaker=version.observed_by)

    before, after = extract(version.text), extract(text)
    fields = {"text": text, "mentions": after.mentions, "triples": after.triples, "times": after.times}
    fields["passages"] = split_passages(text)
    if before.valid is not None and before.valid == version.valid:
        fields["valid"] = after.valid or Window()
    elif after.valid is not None and not version.valid.has_bound:
        fields["valid"] = after.valid
    return fields


def append_revisions(
    engine: Engine,
    space: str,
    versions: Sequence[Remembered],
    ids: Sequence[str],
    extra_events: ExtraEvents | None = None,
) -> list[Memory]:
    """Write these versions, and return the memories with these ids. `extra_events` is that of `append`."""
    now = engine.now()
    prepared = [PreparedVersion(version, now, is_revision=True, has_extracted_names=True) for version in versions]
    append(engine, space, prepared, extra_events=extra_events)
    with engine.open_index(space) as index:
        return index.visible_memories(list(dict.fromkeys(ids)), index.catalog.position)
