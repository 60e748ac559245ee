"""The operations that give memories a new version, and what adding, changing or removing would do, in sentences."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

from pydantic import Field

from remanence.errors import InvalidInput
from remanence.events import Erased, Forgotten
from remanence.index.engine.inputs import Moment
from remanence.remember.add_options import AddOptions, Changes, parse_changes, parse_draft
from remanence.remember.prepare import prepare
from remanence.remember.revise import changed_versions, ended_versions
from remanence.schema import format_moment
from remanence.service.endpoints.sentences import DecisionPreview, Sentences, preview_of, statement
from remanence.service.operation import method_operation, operation
from remanence.service.requests import ListOf, Name
from remanence.space.space import Space
from remanence.text.temporal import parse_moment

_Ids = Annotated[ListOf[Name], Field(min_length=1)]

revise = method_operation("POST", "/memories/revise", Space.revise, "write")
end = method_operation("POST", "/memories/end", Space.end, "write")
revert = method_operation("POST", "/memories/revert", Space.revert, "write")


@operation("POST", "/memories/preview", options=AddOptions)
def preview_add(space: Space, **options: Any) -> DecisionPreview:
    """Say what storing a text would do, and change nothing."""
    version = prepare(space._engine, parse_draft(options), space._engine.now()).version
    with space._engine.open_index(space.name) as index, index.lock:
        number = index.catalog.find_by_identity(version.identity)
        if number is not None and index.catalog.hidden.is_visible(number, index.catalog.position):
            version = replace(version, memory=index.catalog.ids[number])
        return preview_of(index, space._now(), [version])


@operation("POST", "/memories/revise/preview", options=Changes)
def preview_revise(space: Space, ids: _Ids, **options: Any) -> DecisionPreview:
    """Say what a new version of these memories would change, and change nothing."""
    versions = changed_versions(space._engine, space.name, ids, parse_changes(options))
    if not versions:
        return DecisionPreview("Correct", ("Nothing is different, so nothing changes.",))
    with space._engine.open_index(space.name) as index, index.lock:
        found = preview_of(index, space._now(), versions)
    return replace(
        found, effects=(*found.effects, "The version before stays in its history, and in views of earlier days.")
    )


@operation("POST", "/memories/end/preview")
def preview_end_of(space: Space, ids: _Ids, since: Moment | None = None) -> DecisionPreview:
    """Say what ending these memories would change, and change nothing."""
    now = space._engine.now()
    moment = now if since is None else parse_moment(since, now, argument="since")
    versions = ended_versions(space._engine, space.name, ids, moment)
    claims = [statement(relation) for details in space.get_many(ids) for relation in details.relations]
    effects = (
        "Questions about now no longer take it for true.",
        f"Questions about the time before {format_moment(moment)} still find it.",
        *(f"Ended: {claim}." for claim in claims[:5]),
    )
    with space._engine.open_index(space.name) as index, index.lock:
        title = Sentences(index, now).title(versions)
    return DecisionPreview(f"{title}: no longer true since {format_moment(moment)}", effects)


@operation("POST", "/memories/removal/preview")
def preview_remove(space: Space, ids: _Ids, erase: bool = False) -> DecisionPreview:
    """Say what forgetting these memories would change, or with `erase` erasing them, and change nothing."""
    with space._engine.open_index(space.name) as index, index.lock:
        known = {id_: index.require_unerased(id_) for id_ in ids}
        if erase:
            return preview_of(index, space._now(), [Erased(id_, ()) for id_ in known])
        position = index.catalog.position
        visible = [id_ for id_, number in known.items() if index.catalog.hidden.is_visible(number, position)]
        if not visible:
            raise InvalidInput("none of these memories is visible, so they cannot be forgotten.")
        return preview_of(index, space._now(), [Forgotten(id_) for id_ in visible])
