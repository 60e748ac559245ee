"""Operations on decisions (forget, restore, supersede, merge, split): preview, apply, list, undo."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal

from pydantic import Field

from remanence.errors import InvalidInput
from remanence.service.endpoints import decisions as ledger_decisions
from remanence.service.endpoints.decision_previews import (
    DecisionPreview,
    preview_forget,
    preview_merge,
    preview_restore,
    preview_split,
    preview_supersede,
)
from remanence.service.endpoints.decisions import Decision, decision_about, list_decisions
from remanence.service.operation import operation
from remanence.service.requests import Name, Names
from remanence.space.space import Space

Action = Literal["forget", "restore", "supersede", "merge", "split"]
_PREVIEWS: dict[Action, tuple[Callable[..., DecisionPreview], tuple[str, ...]]] = {
    "forget": (preview_forget, ("memory",)),
    "restore": (preview_restore, ("memory",)),
    "supersede": (preview_supersede, ("memory", "other")),
    "merge": (preview_merge, ("entity", "into")),
    "split": (preview_split, ("entity", "names")),
}
"""What previews each action, and which fields it takes."""


@operation("GET", "/decisions", tools="audit")
def decisions(space: Space, limit: Annotated[int, Field(ge=1, le=500)] = 50) -> list[Decision]:
    """List the last decisions about memories and entities, newest first."""
    return list_decisions(space, limit)


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
    preview, needed = _PREVIEWS[action]
    for name, value in given.items():
        if name in needed and not value:
            raise InvalidInput(f"action={action!r} needs {name!r}. It takes {' and '.join(needed)}.")
        if name not in needed and value is not None:
            raise InvalidInput(f"{name}={value!r} does not fit action={action!r}. Leave it out.")
    return preview(space, *(given[name] for name in needed))


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
    return decision_about(space, subject)


@operation("POST", "/decisions/undo", "write", tools="audit")
def undo_decision(space: Space, position: Annotated[int, Field(ge=1, le=2**63 - 1)]) -> Decision:
    """Undo a decision by a new ledger entry."""
    return ledger_decisions.undo_decision(space, position)
