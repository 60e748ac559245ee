"""The operations that give memories a new version, and what adding, changing or removing would do."""

from __future__ import annotations

from typing import Any

from remanence.index.engine.inputs import Moment
from remanence.remember.add_options import AddOptions, Changes
from remanence.service.endpoints.decision_previews import DecisionPreview
from remanence.service.endpoints.edit_previews import preview_addition, preview_end, preview_removal, preview_revision
from remanence.service.operation import method_operation, operation
from remanence.service.requests import ListOf, Name
from remanence.space.space import Space

revise = method_operation("POST", "/memories/revise", Space.revise, "write")
end = method_operation("POST", "/memories/end", Space.end, "write")
revert = method_operation("POST", "/memories/revert", Space.revert, "write")


@operation("POST", "/memories/preview", options=AddOptions)
def preview_add(space: Space, **options: Any) -> DecisionPreview:
    """Say what storing a text would do, and change nothing."""
    return preview_addition(space, options)


@operation("POST", "/memories/revise/preview", options=Changes)
def preview_revise(space: Space, ids: ListOf[Name], **options: Any) -> DecisionPreview:
    """Say what a new version of these memories would change, and change nothing."""
    return preview_revision(space, ids, options)


@operation("POST", "/memories/end/preview")
def preview_end_of(space: Space, ids: ListOf[Name], since: Moment | None = None) -> DecisionPreview:
    """Say what ending these memories would change, and change nothing."""
    return preview_end(space, ids, since)


@operation("POST", "/memories/removal/preview")
def preview_remove(space: Space, ids: ListOf[Name], erase: bool = False) -> DecisionPreview:
    """Say what forgetting these memories would change, or with `erase` erasing them, and change nothing."""
    return preview_removal(space, ids, erase=erase)
