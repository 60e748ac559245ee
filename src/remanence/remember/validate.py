"""First step of the write path: what callers give to be stored is checked field by field."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from remanence.errors import InvalidInput
from remanence.index.engine import inputs
from remanence.remember.add_options import AddOptions, Changes, TurnOptions

_PERSON_ROLES = (None, "user", "human")
_IGNORED_ROLES = ("system", "tool", "function", "developer")
_CALLS = frozenset(("tool_calls", "function_call"))

Model = TypeVar("Model", bound=BaseModel)


def parse_draft(fields: Mapping[str, Any]) -> AddOptions:
    """Check one memory; InvalidInput names the field, the value and the next step."""
    return _parse_model(AddOptions, fields)


def parse_changes(fields: Mapping[str, Any]) -> Changes:
    """Check what is to change in memories; None is left out."""
    return _parse_model(Changes, {name: value for name, value in fields.items() if value is not None})


def parse_turn(fields: Mapping[str, Any], *, row: int | None = None) -> TurnOptions:
    """Check one chat turn."""
    return _parse_model(TurnOptions, fields, row)


def parse_conversation(
    text_or_turns: object, *, source: str | None, observed_by: str | None
) -> AddOptions | list[TurnOptions]:
    """A text, or the messages of a conversation, as dicts or as the message objects of frameworks.

    Messages of a system or a tool and messages with an empty text or only with calls of tools are omitted. A dict
    without `content` is refused.
    """
    if isinstance(text_or_turns, str):
        return parse_draft({"text": text_or_turns, "source": source, "observed_by": observed_by})
    if isinstance(text_or_turns, Mapping) or hasattr(text_or_turns, "content"):
        text_or_turns = [text_or_turns]
    if not isinstance(text_or_turns, Iterable) or isinstance(text_or_turns, bytes):
        raise InvalidInput(
            f"{inputs.shorten_repr(text_or_turns)} is {inputs.type_name(text_or_turns)}: neither a text nor a list of "
            "messages. "
            "Give for example [{'role': 'user', 'content': 'I moved to Lisbon.'}]."
        )
    turns: list[TurnOptions] = []
    for row, message in enumerate(text_or_turns, 1):
        fields = dict(message) if isinstance(message, Mapping) else _message_fields(message, row)
        if fields.get("role") in _IGNORED_ROLES:
            continue
        # Without the key, another one is probably meant, and what was said would be lost.
        if not str(fields.get("content") or "").strip() and ("content" in fields or not _CALLS.isdisjoint(fields)):
            continue
        if observed_by is not None and not fields.get("speaker") and fields.get("role") in _PERSON_ROLES:
            fields["speaker"] = observed_by
        turns.append(parse_turn(({"conversation": source} if source else {}) | fields, row=row))
    return turns


def _message_fields(message: object, row: int) -> dict[str, Any]:
    """A message object of LangChain (`type`, `text`) or LlamaIndex (`role`, `content`) as the fields of a turn."""
    role = getattr(message, "role", None) or getattr(message, "type", None)
    role = getattr(role, "value", role)
    content = getattr(message, "content", None)
    if not isinstance(role, str) or not (content is None or isinstance(content, str | list)):
        raise InvalidInput(
            f"row {row}: {inputs.shorten_repr(message)} is {inputs.type_name(message)}, not a message. "
            "Give dicts with role and content."
        )
    if isinstance(content, list):
        # Blocks: LangChain joins their text in `text`, which is a method in some releases.
        text = getattr(message, "text", "")
        content = text() if callable(text) and not isinstance(text, str) else text
    key = getattr(message, "id", None)
    return {"role": role, "content": content or ""} | ({"key": key} if isinstance(key, str) else {})


def _parse_model(model: type[Model], fields: Mapping[str, Any], row: int | None = None) -> Model:
    where = "" if row is None else f"row {row}: "
    if not isinstance(fields, Mapping):
        raise InvalidInput(
            f"{where}{inputs.shorten_repr(fields)} is {inputs.type_name(fields)}, "
            "neither a text nor a dict with the fields of a memory."
        )
    try:
        return model(**fields)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise InvalidInput(where + _problem(model, fields, first)) from None
    except TypeError as error:
        raise InvalidInput(f"{where}field names must be text: {error}.") from None


def _problem(model: type[BaseModel], fields: Mapping[str, Any], error: Mapping[str, Any]) -> str:
    field, value, kind = str(error["loc"][0]), error["input"], error["type"]
    if kind == "extra_forbidden":
        return f"there is no field {field!r}. The fields are {', '.join(model.model_fields)}."
    if kind == "missing":
        return f"{field} is missing from {inputs.shorten_repr(fields)}. The fields are {', '.join(model.model_fields)}."
    if kind in ("too_long", "string_too_long"):
        unit = "characters" if isinstance(value, str) else "entries"
        return f"{field} has {len(value):,} {unit}. At most {error['ctx']['max_length']:,} are allowed: split it."
    separator = " " if kind == "value_error" else ": "
    return f"{field}={inputs.shorten_repr(value)}{separator}{error['msg'].removeprefix('Value error, ')}."
