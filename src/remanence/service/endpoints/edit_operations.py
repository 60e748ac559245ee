"""The operations that give memories a new version, and what adding, changing or removing would do, in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import Field

from remanence.errors import InvalidInput
from remanence.events import Remembered
from remanence.index.engine import inputs
from remanence.index.engine.inputs import Moment
from remanence.remember.add_options import AddOptions, Changes, parse_changes, parse_draft
from remanence.remember.prepare import prepare
from remanence.remember.revise import changed_versions, ended_versions
from remanence.schema import Memory, Window, format_moment
from remanence.service.endpoints.decision_previews import DecisionPreview, preview_forget, quote, statement
from remanence.service.operation import method_operation, operation
from remanence.service.requests import ListOf, Name
from remanence.space.space import Space
from remanence.text.temporal import parse_moment
from remanence.text.text import pluralize

_MAX_SHOWN = 5
"""Claims of one kind that a preview lists."""
_Ids = Annotated[ListOf[Name], Field(min_length=1)]
_FIELDS = {"kind": "Kind", "importance": "Importance", "strength": "Strength", "tags": "Tags", "expires_at": "Expires"}


revise = method_operation("POST", "/memories/revise", Space.revise, "write")
end = method_operation("POST", "/memories/end", Space.end, "write")
revert = method_operation("POST", "/memories/revert", Space.revert, "write")


@operation("POST", "/memories/preview", options=AddOptions)
def preview_add(space: Space, **options: Any) -> DecisionPreview:
    """Say what storing a text would do, and change nothing."""
    version = prepare(space._engine, parse_draft(options), space._engine.now()).version
    title = f"Add {quote(version.text)}"
    with space._engine.open_index(space.name) as index, index.lock:
        number = index.catalog.find_by_identity(version.identity)
        known = [] if number is None else index.visible_memories([index.catalog.ids[number]], index.catalog.position)
        is_same = number is not None and index.catalog.has_content(number, version.content)
    effects = [f"It is kept as it is written, as {_kind(version.kind)}."]
    if known and is_same:
        return DecisionPreview(title, ("It is known already, so nothing changes.",))
    if known:
        effects = [f"It becomes a new version of {quote(known[0].text)}."]
    return DecisionPreview(title, (*effects, *_what_it_says(space, version, None)))


@operation("POST", "/memories/revise/preview", options=Changes)
def preview_revise(space: Space, ids: _Ids, **options: Any) -> DecisionPreview:
    """Say what a new version of these memories would change, and change nothing."""
    versions = changed_versions(space._engine, space.name, ids, parse_changes(options))
    memories = space.get_many(ids)
    if len(ids) > 1:
        names = [f"“{tag}”" for tag in (*options.get("add_tags", ()), *options.get("remove_tags", ()))]
        same = len(memories) - len(versions)
        effects = [f"{pluralize(len(versions), 'memory gets', 'memories get')} a new version; the old one stays."]
        effects += [f"Tags: {', '.join(names)}."] if names else []
        effects += [f"{pluralize(same, 'memory has', 'memories have')} these values already."] if same else []
        return DecisionPreview(f"Change {pluralize(len(memories), 'memory', 'memories')}", tuple(effects))
    [details] = memories
    assert details.memory is not None, "a memory that can be changed is visible"
    if not versions:
        return DecisionPreview(f"Correct {quote(details.memory.text)}", ("Nothing is different, so nothing changes.",))
    [version], before = versions, details.memory
    effects = []
    if version.text != before.text:
        effects.append(f"The text becomes {quote(version.text)}")
    for name, label in _FIELDS.items():
        old, new = getattr(before, name), getattr(version, name)
        if old != new:
            effects.append(f"{label}: {_value(old)} becomes {_value(new)}.")
    if version.valid != before.valid:
        effects.append(f"It is true {_window(version.valid)}; until now: {_window(before.valid)}.")
    if version.text != before.text:
        effects += _what_it_says(space, version, before)
    effects.append("The version before stays in its history, and in views of earlier days.")
    return DecisionPreview(f"Correct {quote(before.text)}", tuple(effects))


@operation("POST", "/memories/end/preview")
def preview_end_of(space: Space, ids: _Ids, since: Moment | None = None) -> DecisionPreview:
    """Say what ending these memories would change, and change nothing."""
    now = space._engine.now()
    moment = now if since is None else parse_moment(since, now, argument="since")
    ended_versions(space._engine, space.name, ids, moment)  # raises if it is not possible
    memories = space.get_many(ids)
    claims = [statement(relation) for details in memories for relation in details.relations]
    effects = [
        "Questions about now no longer take it for true.",
        f"Questions about the time before {format_moment(moment)} still find it.",
        *[f"Ended: {claim}." for claim in claims[:_MAX_SHOWN]],
    ]
    return DecisionPreview(f"No longer true since {format_moment(moment)}: {_title(memories)}", tuple(effects))


@operation("POST", "/memories/removal/preview")
def preview_remove(space: Space, ids: _Ids, erase: bool = False) -> DecisionPreview:
    """Say what forgetting these memories would change, or with `erase` erasing them, and change nothing."""
    if len(ids) == 1 and not erase:
        return preview_forget(space, ids[0])
    with space._engine.open_index(space.name) as index, index.lock:
        checked = dict.fromkeys(inputs.check_memory_ids(ids))
        numbers = [index.require_unerased(id_) for id_ in checked]
        [*texts] = index.readable_memories([index.catalog.rows_of(number)[-1] for number in numbers])
        derived = {fact for id_ in checked for fact in index.journal.facts_found_in(id_)} - {*checked}
        recalls = {place for id_ in checked for place in index.journal.recall_positions.get(id_, ())}
    what = quote(texts[0].text) if len(texts) == 1 else pluralize(len(texts), "memory", "memories")
    if not erase:
        effects = ["No question about now finds them any more. Views of earlier days still show them."]
        return DecisionPreview(f"Forget {what}", (*effects, "They can be restored, all at once."))
    effects = ["The text is removed for good, from the past and from every file. This cannot be undone."]
    if derived:
        effects.append(f"{pluralize(len(derived), 'fact')} found in it alone would go with it.")
    if recalls:
        effects.append(f"{pluralize(len(recalls), 'record')} of what agents were told would go with it.")
    return DecisionPreview(f"Erase {what}", tuple(effects))


def _what_it_says(space: Space, version: Remembered, before: Memory | None) -> list[str]:
    """The names, the times and the claims in a text, and what those claims would end or contradict."""
    effects = []
    names = list(dict.fromkeys(mention.name for mention in version.mentions))
    old_names = [] if before is None else [mention.name for mention in before.mentions]
    if names and names != old_names:
        effects.append(f"It is about {', '.join(names[:8])}.")
    if before is None and version.valid.has_bound:
        effects.append(f"It is true {_window(version.valid)}.")
    claims = [] if before is None else list(before.triples)
    for claim in [claim for claim in version.triples if claim not in claims][:_MAX_SHOWN]:
        effects.append(f"It states: {statement(claim)}.")
        effects += _others(space, version, claim.subject, claim.predicate, claim.object, before)
    return effects


def _others(
    space: Space, version: Remembered, subject: str, predicate: str, object: str, before: Memory | None
) -> list[str]:
    """What is stored about the same, where there is one value at a time."""
    with space._engine.open_index(space.name) as index:
        has_one_value = index.relations.has_one_value(predicate, index.catalog.position)
    if not has_one_value or space.entities.resolve(subject) is None:
        return []
    own = {version.memory} | (set() if before is None else {before.id})
    now = space._now()
    holding = [
        relation
        for relation in space.graph.when(subject, predicate)
        if now in relation.valid and relation.object != object and not own.issuperset(relation.evidence)
    ]
    return [f"Known until now: {statement(relation)}. Their dates decide what holds when." for relation in holding]


def _title(memories: Sequence[Any]) -> str:
    texts = [details.memory.text for details in memories if details.memory is not None]
    if not texts:
        raise InvalidInput("none of these memories is visible. Restore them first.")
    return quote(texts[0]) if len(texts) == 1 else pluralize(len(texts), "memory", "memories")


def _value(value: Any) -> str:
    if value is None or value == ():
        return "none"
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    return format_moment(value) if hasattr(value, "isoformat") else f"{value:g}" if isinstance(value, float) else value


def _window(window: Window) -> str:
    return str(window) if window.has_bound else "at no certain time"


def _kind(kind: str) -> str:
    return {
        "episode": "something that happened",
        "viewpoint": "a viewpoint",
        "procedure": "what was done for a task",
    }.get(kind, "a fact")
