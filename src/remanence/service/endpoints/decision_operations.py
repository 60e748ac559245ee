"""Operations on decisions of people about memories and entities: preview, make, list and undo them.

A decision is a ledger entry that hid or restored a memory, said that one memory replaces or contradicts another, ended
such a link, or renamed, merged or split an entity. What an upkeep run did is part of that run, and not listed here.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from remanence.errors import InvalidInput, NotFound
from remanence.events import (
    Event,
    Forgotten,
    Invalidated,
    Linked,
    Merged,
    Ran,
    Renamed,
    Restored,
    Reversed,
    Split,
    Undone,
)
from remanence.graph.assertions import plan_merge, plan_split
from remanence.graph.graph_at_time import KnownEntities
from remanence.index.index import Index
from remanence.ledger.codec import kinds_of
from remanence.schema import Entry
from remanence.service.endpoints.sentences import DecisionPreview, Sentences, preview_of
from remanence.service.operation import operation
from remanence.service.requests import Name, Names
from remanence.space.space import Space

Action = Literal["forget", "restore", "supersede", "merge", "split"]
_NEEDED: dict[Action, tuple[str, ...]] = {
    "forget": ("memory",),
    "restore": ("memory",),
    "supersede": ("memory", "other"),
    "merge": ("entity", "into"),
    "split": ("entity", "names"),
}
_REVISIONS = (Merged, Renamed, Split)
_DECISIONS = (Forgotten, Restored, Linked, Invalidated, *_REVISIONS, Undone)
_KINDS = kinds_of(*_DECISIONS, Ran, Reversed)
"""What is read of the ledger: decisions, and what upkeep runs wrote, which are none."""
_UNDO_REASON = "undone by hand"


@dataclass(frozen=True, slots=True)
class Decision:
    """One decision. `text` says it in a sentence; `memories` and `entities` are the ids of what it is about."""

    position: int
    at: datetime
    kind: str
    text: str
    why: str | None
    by: str | None
    memories: tuple[str, ...]
    entities: tuple[str, ...]
    can_undo: bool


@operation("GET", "/decisions", tools="audit")
def decisions(space: Space, limit: Annotated[int, Field(ge=1, le=500)] = 50) -> list[Decision]:
    """List the last decisions about memories and entities, newest first."""
    entries = _last_decisions(space, limit)
    with space._engine.open_index(space.name) as index, index.lock:
        sentences = Sentences(index, space._now())
        return [_decision(index, sentences, entry) for entry in entries]


@operation("POST", "/decisions/preview", tools="audit")
def preview_decision(
    space: Space,
    action: Action,
    memory: Name | None = None,
    other: Name | None = None,
    entity: Name | None = None,
    into: Name | None = None,
    names: Names | None = None,
    why: str | None = None,
) -> DecisionPreview:
    """Say what a decision would change, and change nothing: to "forget" or "restore" a `memory`; that `memory` is to
    "supersede" the `other` one; to "merge" an `entity` `into` another, or to "split" some `names` off it."""
    given = {"memory": memory, "other": other, "entity": entity, "into": into, "names": names}
    needed = _NEEDED[action]
    for name, value in given.items():
        if name in needed and not value:
            raise InvalidInput(f"action={action!r} needs {name!r}. It takes {' and '.join(needed)}.")
        if name not in needed and value is not None:
            raise InvalidInput(f"{name}={value!r} does not fit action={action!r}. Leave it out.")
    with space._engine.open_index(space.name) as index, index.lock:
        now, known = space._now(), KnownEntities(index, index.catalog.position)
        if action == "merge":
            event = plan_merge(known, entity or "", into or "", None, None, now).event
        elif action == "split":
            event = plan_split(known, entity or "", names or [], None, None, now).event
        else:
            event = _event_about(index, action, memory or "", other or "")
        assert event is not None, "merging and splitting write an entry"
        return preview_of(index, now, [event])


@operation("POST", "/decisions", "write", http_status=201, tools="audit")
def decide(
    space: Space,
    action: Action,
    memory: Name | None = None,
    other: Name | None = None,
    entity: Name | None = None,
    into: Name | None = None,
    names: Names | None = None,
    why: str | None = None,
) -> Decision:
    """Make a decision, and return it with the position for undoing it."""
    # What cannot be previewed, such as forgetting twice, is refused.
    preview_decision(space, action, memory, other, entity, into, names)
    subject = memory or ""
    if action == "forget":
        space.forget(subject, why=why)
    elif action == "restore":
        space.unforget(subject)
    elif action == "supersede":
        subject = space.graph.link(subject, "supersedes", other or "", why=why).id
    else:
        source = space.entities.resolve(entity or "")
        subject = (entity or "") if source is None else source.id
        if action == "merge":
            space.entities.merge(entity or "", into or "", why=why)
        else:
            space.entities.split(entity or "", names or [], why=why)
    return _decision_about(space, subject)


@operation("POST", "/decisions/undo", "write", tools="audit")
def undo_decision(space: Space, position: Annotated[int, Field(ge=1, le=2**63 - 1)]) -> Decision:
    """Undo a decision by a new ledger entry."""
    entry = space._engine.ledger.entries_at([position]).get(position)
    if entry is None or entry.space != space.name or not _is_decision(entry.event):
        raise NotFound(f"entry {position} is not a decision in space {space.name!r}. GET decisions lists them.")
    with space._engine.open_index(space.name) as index, index.lock:
        decision = _decision(index, Sentences(index, space._now()), entry)
    if not decision.can_undo:
        raise InvalidInput(f"entry {position} cannot be undone ({decision.text}): it was undone, or changed since.")
    event = entry.event
    if isinstance(event, Forgotten):
        space.unforget(event.memory)
    elif isinstance(event, Restored):
        space.forget(event.memory, why=_UNDO_REASON)
    elif isinstance(event, Linked):
        space.graph.invalidate_edge(event.link, why=_UNDO_REASON)
    else:
        space.entities.undo(position, why=_UNDO_REASON)
    return _decision_about(space, event.link if isinstance(event, Linked) else entry.subject)


def _event_about(index: Index, action: Action, memory: str, other: str) -> Event:
    """The entry that a decision about a memory would write.

    Raises:
        InvalidInput: It cannot be made, or changes nothing.
        NotFound: There is no such memory.
    """

    def is_visible(memory_id: str) -> bool:
        return index.catalog.hidden.is_visible(index.require_unerased(memory_id), index.catalog.position)

    if action == "restore":
        if is_visible(memory):
            raise InvalidInput(f"memory {memory!r} is neither forgotten nor archived, so there is nothing to restore.")
        return Restored(memory)
    if not is_visible(memory):
        raise InvalidInput(f"memory {memory!r} is not visible. It may be forgotten: restore it first.")
    if action == "forget":
        return Forgotten(memory)
    if memory == other or not is_visible(other):
        raise InvalidInput(f"memories {memory!r} and {other!r} are not two visible memories. Restore them first.")
    return Linked("", memory, "supersedes", other)


def _decision_about(space: Space, subject: str) -> Decision:
    """The last decision about a memory, an entity or a link."""
    last = next((entry for entry in _last_decisions(space, 500) if entry.subject == subject), None)
    if last is None:
        raise NotFound(f"space {space.name!r} has no decision about {subject!r}.")
    with space._engine.open_index(space.name) as index, index.lock:
        return _decision(index, Sentences(index, space._now()), last)


def _decision(index: Index, sentences: Sentences, entry: Entry) -> Decision:
    event, can_undo = entry.event, False
    memories: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    assert event is not None, "an erased entry is no decision"
    if isinstance(event, Forgotten | Restored):
        memories, can_undo = (event.memory,), sentences.is_last_change(event, entry.position)
    elif isinstance(event, Linked):
        memories, can_undo = (event.source, event.target), sentences.is_active(event.link)
    elif isinstance(event, Invalidated):
        link = sentences.link(event.edge)
        memories = () if link is None else (link.source, link.target)
    elif isinstance(event, _REVISIONS):
        registry = index.registry
        can_undo = entry.position not in registry.undone and registry.spans.changed_since(entry.position) is None
        entities = (event.entity,) if isinstance(event, Renamed) else (event.entity, event.into)
    elif isinstance(event, Undone):
        entities = (event.entity,)
    why, by = (getattr(event, name, None) for name in ("why", "by"))
    by = event.observed_by if isinstance(event, Linked) else by
    text = sentences.says(event, entry.position)
    return Decision(entry.position, entry.at, entry.kind, text, why, by, memories, entities, can_undo)


def _last_decisions(space: Space, limit: int) -> list[Entry]:
    """The last decisions, newest first."""
    engine = space._engine
    with engine.open_index(space.name) as index:
        head = index.catalog.position
        for back in (2_000, 200_000):  # ledger positions
            entries = engine.ledger.read(space.name, after=max(0, head - back), kinds=_KINDS)
            found = _without_upkeep(index, [entry for entry in entries if entry.position <= head])
            if len(found) >= limit or back >= head:
                break
    return found[: -limit - 1 : -1]


def _is_decision(event: Event | None) -> bool:
    if isinstance(event, Linked):
        return event.kind in ("supersedes", "contradicts")
    return isinstance(event, _DECISIONS)


def _without_upkeep(index: Index, entries: list[Entry]) -> list[Entry]:
    """The decisions among some entries, oldest first, without those that an upkeep run wrote."""
    found: dict[int, Entry] = {}
    last: dict[tuple[str, str], int] = {}  # by kind and subject, the position of the last entry
    for entry in entries:
        written: list[tuple[str, str]] = []
        if isinstance(entry.event, Ran):
            written = [("forgotten", memory_id) for memory_id in entry.event.hidden]
            written += [("linked", edge) for edge in entry.event.edges]
        elif isinstance(entry.event, Reversed) and (run := index.usage.runs.get(entry.event.run)) is not None:
            written = [("restored", memory_id) for memory_id in run.hidden_ids]
            written += [("forgotten", memory_id) for memory_id in run.created_ids]
            written += [("invalidated", edge) for edge in run.edges]
        for key in written:
            found.pop(last.get(key, -1), None)
        if _is_decision(entry.event):
            found[entry.position] = entry
            last[entry.kind, entry.subject] = entry.position
    return list(found.values())
