"""Tools made of the operations that the REST server and the client have, too: nothing is written for one of them."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, Signature
from typing import Annotated, Any

from remanence.service.endpoints.admin_operations import as_allowed
from remanence.service.operations import OPERATIONS, Operation
from remanence_server.mcp.access import current_space, may, require_right, space_of_project
from remanence_server.mcp.budget import MaxTokens, cut, fitting

_MAX_TOKENS = 4_000


def operations_in(tool_set: str) -> list[Operation]:
    """The operations that their declarations put into a set of tools; or else the one with this name."""
    return [each for each in OPERATIONS.values() if each.tools == tool_set] or [
        each for each in OPERATIONS.values() if each.name == tool_set
    ]


def operation_tool(operation: Operation) -> Callable[..., dict[str, Any]]:
    """The tool of an operation: with its arguments and `max_tokens`, and its answer as far as that fits."""

    limits_itself = "max_tokens" in operation.request.model_fields

    def tool(**arguments: Any) -> dict[str, Any]:
        require_right(operation.access, operation.name)
        max_tokens = _MAX_TOKENS if limits_itself else arguments.pop("max_tokens", _MAX_TOKENS)
        request = operation.request.model_validate(arguments)
        found = as_allowed(operation.run(current_space(), request, space_of_project), admin=may("admin"))
        return fit_answer(operation.adapter.dump_python(found, mode="json"), max_tokens)

    kind = Parameter.KEYWORD_ONLY
    parameters = [
        Parameter(
            name,
            kind,
            default=Parameter.empty if field.is_required() else field.default,
            annotation=Annotated[field.annotation, field],
        )
        for name, field in operation.request.model_fields.items()
    ]
    if not limits_itself:
        parameters.append(Parameter("max_tokens", kind, default=_MAX_TOKENS, annotation=MaxTokens))
    tool.__name__, tool.__doc__ = operation.name, operation.description
    tool.__signature__ = Signature(parameters, return_annotation=dict[str, Any])  # type: ignore[attr-defined]
    return tool


def fit_answer(answer: dict[str, Any], max_tokens: int) -> dict[str, Any]:
    """An answer whose lists have as many items as fit; `left_out` says how many more there are.

    >>> fit_answer({"items": ["tea " * 100, "milk " * 100], "total": 2}, 60)["left_out"]
    1
    """
    budget = max_tokens // max(1, sum(isinstance(value, list) for value in answer.values()))
    made: dict[str, Any] = _cut_texts(answer, budget)
    left_out = 0
    for name, value in made.items():
        if isinstance(value, list):
            made[name] = fitting(value, budget)
            left_out += len(value) - len(made[name])
    return made | ({"left_out": left_out + answer.get("left_out", 0)} if left_out else {})


def _cut_texts(value: Any, max_tokens: int) -> Any:
    """A value whose texts are cut where one alone would not fit."""
    if isinstance(value, str):
        return cut(value, max_tokens)
    if isinstance(value, dict):
        return {name: _cut_texts(item, max_tokens) for name, item in value.items()}
    return [_cut_texts(item, max_tokens) for item in value] if isinstance(value, list) else value
