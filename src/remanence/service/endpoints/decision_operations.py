"""Operations on decisions (forget, restore, supersede, merge, split): preview, apply, list, undo."""

from __future__ import annotations

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
from remanence.service.endpoints.decisions import decision_about, list_decisions
from remanence.service.operation import operation
from remanence.service.payloads.base_answers import AnswerModel, Items, Time
from remanence.service.payloads.base_requests import Name, Names, Request
from remanence.space.space import Space

_FIELDS = {
    "forget": ("memory",),
    "restore": ("memory",),
    "supersede": ("memory", "other"),
    "merge": ("entity", "into"),
    "split": ("entity", "names"),
}
"""What each action takes."""


class DecisionRequest(Request):
    """A decision: "forget" or "restore" a `memory`; `memory` is to "supersede" the `other` one; "merge" an `entity`
    `into` another, or "split" some `names` off it."""

    action: Literal["forget", "restore", "supersede", "merge", "split"]
    memory: Name | None = None
    other: Name | None = None
    entity: Name | None = None
    into: Name | None = None
    names: Names | None = None
    why: str | None = None


class DecisionsRequest(Request):
    """How many decisions to list."""

    limit: Annotated[int, Field(ge=1, le=500)] = 50


class UndoDecisionRequest(Request):
    """The ledger position of a decision."""

    position: Annotated[int, Field(ge=1, le=2**63 - 1)]


class DecisionAnswer(AnswerModel):
    """A decision: what, when, why, by whom, and whether it can be undone. `position` is for undoing it."""

    position: int
    at: Time
    kind: str
    text: str
    why: str | None
    by: str | None
    memories: list[str]
    entities: list[str]
    can_undo: bool


@operation("GET", "/decisions")
def decisions(space: Space, request: DecisionsRequest) -> Items[DecisionAnswer]:
    """List the last decisions about memories and entities, newest first."""
    return Items[DecisionAnswer].of(list_decisions(space, request.limit))


@operation("POST", "/decisions/preview")
def preview_decision(space: Space, request: DecisionRequest) -> DecisionPreview:
    """Say what a decision would change, and change nothing."""
    _check(request)
    memory, entity = request.memory or "", request.entity or ""
    if request.action == "forget":
        return preview_forget(space, memory)
    if request.action == "restore":
        return preview_restore(space, memory)
    if request.action == "supersede":
        return preview_supersede(space, memory, request.other or "")
    if request.action == "merge":
        return preview_merge(space, entity, request.into or "")
    return preview_split(space, entity, request.names or [])


@operation("POST", "/decisions", "write", status=201)
def decide(space: Space, request: DecisionRequest) -> DecisionAnswer:
    """Make a decision, and return it with the position for undoing it."""
    preview_decision(space, request)  # what cannot be previewed, such as forgetting twice, is refused
    memory, entity, why = request.memory or "", request.entity or "", request.why
    if request.action == "forget":
        space.forget(memory, why=why)
        subject = memory
    elif request.action == "restore":
        space.unforget(memory)
        subject = memory
    elif request.action == "supersede":
        subject = space.graph.link(memory, "supersedes", request.other or "", why=why).id
    else:
        source = space.entities.resolve(entity)
        subject = entity if source is None else source.id
        if request.action == "merge":
            space.entities.merge(entity, request.into or "", why=why)
        else:
            space.entities.split(entity, request.names or [], why=why)
    return DecisionAnswer.of(decision_about(space, subject))


@operation("POST", "/decisions/undo", "write")
def undo_decision(space: Space, request: UndoDecisionRequest) -> DecisionAnswer:
    """Undo a decision by a new ledger entry."""
    return DecisionAnswer.of(ledger_decisions.undo_decision(space, request.position))


def _check(request: DecisionRequest) -> None:
    needed = _FIELDS[request.action]
    for name in ("memory", "other", "entity", "into", "names"):
        value = getattr(request, name)
        if name in needed and not value:
            raise InvalidInput(f"action={request.action!r} needs {name!r}. It takes {' and '.join(needed)}.")
        if name not in needed and value is not None:
            raise InvalidInput(f"{name}={value!r} does not fit action={request.action!r}. Leave it out.")
