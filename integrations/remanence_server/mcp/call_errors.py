"""What a model reads after a call that went wrong: what was wrong, which tool or argument was meant, and what to do."""

from __future__ import annotations

import inspect
import json
import logging
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import CallToolResult, TextContent
from pydantic import ValidationError

from remanence import InvalidInput, NotFound, RemanenceError
from remanence_server.mcp.tool_sets import ToolSpec

log = logging.getLogger(__name__)

_MAX_SHOWN = 200


def no_tool(name: str, specs: Sequence[ToolSpec]) -> str:
    """That there is no such tool, and which one was probably meant."""
    words = {spec.name: spec.name for spec in specs}
    for spec in specs:
        words |= {word: spec.name for word in spec.also_called.split() if word not in words}
    parts = [name.lower(), *name.lower().replace("-", "_").split("_")]
    names = [spec.name for spec in specs]
    exact = [*(part for part in parts if part in names), *(words[part] for part in parts if part in words)]
    near = [words[word] for part in parts[:1] for word in get_close_matches(part, list(words), n=1, cutoff=0.75)]
    meant = next(iter([*exact, *near]), None)
    hint = f" Call `{meant}` instead." if meant else ""
    return f"there is no tool {name!r}.{hint} The tools are {', '.join(spec.name for spec in specs)}."


def no_argument(name: str, unknown: str, parameters: Mapping[str, Any], given: Mapping[str, Any]) -> str:
    """That a tool has no such argument, and which one was probably meant: a required one that is missing, or one with
    nearly the same name."""
    empty = inspect.Parameter.empty
    missing = [each for each, parameter in parameters.items() if parameter.default is empty and each not in given]
    near = missing[:1] if len(missing) == 1 else get_close_matches(unknown, list(parameters), n=1, cutoff=0.6)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    return f"{name} has no argument {unknown!r}.{hint} It takes {', '.join(parameters) or 'none'}. Call it again."


def error_result(message: str, shape: Mapping[str, Any]) -> CallToolResult:
    """An error as text; in JSON, if it has fields. Not as structured content: some clients compare that with the output
    schema of the tool, and then show nothing of the error."""
    text = json.dumps(shape, ensure_ascii=False) if shape else message
    return CallToolResult(content=[TextContent(type="text", text=text)], is_error=True)


def message_of(spec: ToolSpec, error: ToolError, schema: Mapping[str, Any], given: Mapping[str, Any]) -> str:
    """What went wrong with a call of these arguments, which have this schema, and what to do next."""
    from remanence.service.error_wording import without_calls

    cause: BaseException | None = error.__cause__
    next_step = f" {spec.next_step}" if spec.next_step else ""
    if isinstance(cause, ValidationError):
        found = cause.errors(include_url=False)
        example = _example_call(schema, given, {str(problem["loc"][0]) for problem in found if problem["loc"]})
        problems = "; ".join(map(_problem, found))
        return f"{spec.name}: {problems}. Call it again with arguments such as {example}."
    if isinstance(cause, InvalidInput | NotFound):
        return f"{without_calls(str(cause))}{next_step}"
    if isinstance(cause, RemanenceError):
        log.warning("the tool %s failed: %s", spec.name, cause)
        return f"the memory cannot do this now: {without_calls(str(cause))} Continue without it, and tell the user."
    log.error("the tool %s failed", spec.name, exc_info=cause)
    return f"{spec.name} failed for a reason that the log of the server has. Continue without it, and tell the user."


def _problem(error: Any) -> str:
    """One problem with the arguments of a call: which, what was given, and what it should be."""
    place = ".".join(str(part) for part in error["loc"])
    if error["type"] == "missing":
        return f"the argument {place!r} is missing"
    shown = repr(error["input"])
    shown = shown if len(shown) <= _MAX_SHOWN else f"{shown[:_MAX_SHOWN]}..."
    return f"{place}={shown}: {error['msg'].removeprefix('Value error, ')}"


def _example_call(schema: Mapping[str, Any], given: Mapping[str, Any], wrong: set[str]) -> str:
    """The call with an example, made of its declaration, in place of each argument that is wrong or missing."""
    fields = schema.get("properties", {})
    right = {name: value for name, value in given.items() if name not in wrong and len(repr(value)) <= _MAX_SHOWN}
    made = {
        name: right[name] if name in right else _nearest(given.get(name), field) or _example(field, schema, name)
        for name, field in fields.items()
        if name in right or name in wrong or name in schema.get("required", ())
    }
    return json.dumps(made, ensure_ascii=False)


def _nearest(given: object, field: Mapping[str, Any]) -> float | None:
    """The limit of a number that a number beyond it was meant to be near to."""
    field = next((each for each in field.get("anyOf", ()) if "maximum" in each), field)
    above = isinstance(given, int | float) and "maximum" in field and given > field["maximum"]
    return field["maximum"] if above else None


def _example(field: Mapping[str, Any], schema: Mapping[str, Any], name: str) -> Any:
    """A value that a schema allows: a declared example, the default or the least one; of a text, what it should say."""
    if "$ref" in field:
        field = schema["$defs"][field["$ref"].rpartition("/")[2]]
    if examples := field.get("examples") or field.get("enum"):
        return examples[0]
    if field.get("default") is not None:
        return field["default"]
    about = {"description": field.get("description")}
    if "anyOf" in field:
        return _example({**field["anyOf"][0], **about}, schema, name)
    match field.get("type"):
        case "object":
            fields = field.get("properties", {})
            return {each: _example(fields[each], schema, each) for each in field.get("required", ())}
        case "array":
            return [_example({**about, **field.get("items", {})}, schema, name)]
        case "integer" | "number":
            return field.get("minimum", 1)
        case "boolean":
            return True
    return f"<{field.get('description') or name}>"
