"""Before the write path: what callers hand in to be stored, checked field by field."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from remanence.core.inputs import (
    MAX_META_LENGTH,
    MAX_NAME_LENGTH,
    MAX_TAGS,
    MAX_TEXT_LENGTH,
    readable,
    shown,
    storable,
    type_name,
)
from remanence.errors import InvalidInput
from remanence.schema import MemoryKind, Mention, Triple


def _one_or_many(value: object) -> object:
    return (value,) if isinstance(value, str) else value


def _mentions(value: object) -> object:
    if value is None:
        return None
    given = [value] if isinstance(value, str | Mention) else list(_iterable(value))
    return tuple(_mention(item) for item in given)


def _mention(item: object) -> Mention:
    if isinstance(item, Mention):
        item = (item.name, item.kind)
    if isinstance(item, Mapping):
        item = (item.get("name"), item.get("kind", "thing"))
    parts = (item, "thing") if isinstance(item, str) else item
    if isinstance(parts, Sequence) and len(parts) == 2 and all(isinstance(p, str) and p.strip() for p in parts):
        return Mention(str(storable(parts[0])), str(storable(parts[1])))
    raise ValueError(f"holds {item!r}. Give names as 'Alice' or ('Alice', 'person')")


def _triples(value: object) -> object:
    return None if value is None else tuple(_triple(item) for item in _iterable(value))


def _triple(item: object) -> Triple:
    if isinstance(item, Triple):
        item = (item.subject, item.predicate, item.object)
    if isinstance(item, Mapping):
        item = (item.get("subject"), item.get("predicate"), item.get("object"))
    parts = () if isinstance(item, str) or not isinstance(item, Sequence) else item
    if len(parts) == 3 and all(isinstance(part, str) and part.strip() for part in parts):
        return Triple(*(str(storable(part)) for part in parts))
    raise ValueError(f"holds {item!r}. Give claims as ('Alice', 'lives_in', 'Porto')")


def _iterable(value: object) -> Iterable[object]:
    if isinstance(value, Iterable) and not isinstance(value, str | bytes):
        return value
    raise ValueError("is not a list")


def _meta(value: object) -> object:
    if value is None:
        return {}
    try:
        written = json.dumps(value, allow_nan=False, ensure_ascii=False)
        written.encode()  # a lone surrogate passes for JSON, and could not be written down
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"cannot be written as JSON ({error}). Keep to text, numbers, lists and dicts") from None
    if len(written) > MAX_META_LENGTH:
        raise ValueError(f"takes {len(written):,} characters as JSON. At most {MAX_META_LENGTH:,} are kept")
    return json.loads(written)


def _number(value: object) -> object:
    if isinstance(value, bool | str | bytes):
        raise ValueError("is not a number from 0 to 1")
    return value


# Strict: bytes would otherwise be taken for text after the checks for text have passed them over.
# The longest length stands with it: behind the checks it would be one more of them, in Python.
Text = Annotated[str, Field(strict=True, max_length=MAX_TEXT_LENGTH), BeforeValidator(readable)]
Name = Annotated[str, Field(strict=True, max_length=MAX_NAME_LENGTH), BeforeValidator(readable)]
Share = Annotated[float, Field(ge=0.0, le=1.0, allow_inf_nan=False), BeforeValidator(_number)]


class Draft(BaseModel):
    """A memory as somebody hands it in. Every field but the text may be left out."""

    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)

    text: Text
    key: Name | None = None
    kind: MemoryKind | None = None
    valid_from: Any = None
    valid_until: Any = None
    importance: Share | None = None
    confidence: Share | None = None
    tags: Annotated[tuple[Name, ...], BeforeValidator(_one_or_many), Field(max_length=MAX_TAGS)] = ()
    source: Name | None = None
    observed_by: Name | None = None
    expires_at: Any = None
    entities: Annotated[tuple[Mention, ...] | None, BeforeValidator(_mentions)] = None
    triples: Annotated[tuple[Triple, ...] | None, BeforeValidator(_triples)] = None
    meta: Annotated[dict[str, Any], BeforeValidator(_meta)] = Field(default_factory=dict)
    now: Any = None


class TurnDraft(BaseModel):
    """A chat turn as somebody hands it in."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    content: Text
    speaker: Name | None = None
    role: Name | None = None
    time: Any = None
    conversation: Name = "default"
    key: Name | None = None
    tags: Annotated[tuple[Name, ...], BeforeValidator(_one_or_many), Field(max_length=MAX_TAGS)] = ()
    meta: Annotated[dict[str, Any], BeforeValidator(_meta)] = Field(default_factory=dict)


Handed = TypeVar("Handed", bound=BaseModel)


def draft(fields: Mapping[str, Any]) -> Draft:
    """Check one memory; InvalidInput names the field, the value and the next step.

    >>> draft({"text": "  "})
    Traceback (most recent call last):
    remanence.errors.InvalidInput: text='  ' is blank. Give it at least one visible character.
    """
    return _checked(Draft, fields)


def turn_draft(fields: Mapping[str, Any], *, row: int | None = None) -> TurnDraft:
    """Check one chat turn."""
    return _checked(TurnDraft, fields, row)


def conversation(
    given: object, *, source: str | None = None, observed_by: str | None = None
) -> Draft | list[TurnDraft]:
    """A text, or the messages of a conversation, as dicts or as the objects that frameworks use.

    What a system or a tool said is passed over, and so are messages without words.

    >>> [turn.content for turn in conversation([{"role": "user", "content": "Hello."}])]
    ['Hello.']
    """
    if isinstance(given, str):
        return draft({"text": given, "source": source, "observed_by": observed_by})
    if isinstance(given, Mapping) or hasattr(given, "content"):
        given = [given]
    if not isinstance(given, Iterable) or isinstance(given, bytes):
        raise InvalidInput(
            f"{shown(given)} is {type_name(given)}: neither a text nor a list of messages. Give for example "
            "[{'role': 'user', 'content': 'I moved to Lisbon.'}]."
        )
    turns: list[TurnDraft] = []
    for number, message in enumerate(given):
        fields = dict(message) if isinstance(message, Mapping) else _message(message, number)
        if fields.get("role") in _SILENT or not str(fields.get("content") or "").strip():
            continue
        if observed_by is not None and not fields.get("speaker") and fields.get("role") in _PERSON:
            fields["speaker"] = observed_by
        turns.append(turn_draft(({"conversation": source} if source else {}) | fields, row=number))
    return turns


_PERSON = (None, "user", "human")
_SILENT = ("system", "tool", "function", "developer")


def _message(message: object, number: int) -> dict[str, Any]:
    """A message object of LangChain (`type`, `text`) or LlamaIndex (`role`, `content`) as a turn."""
    role = getattr(message, "role", None) or getattr(message, "type", None)
    role = getattr(role, "value", role)
    content = getattr(message, "content", None)
    if not isinstance(role, str) or not (content is None or isinstance(content, str | list)):
        raise InvalidInput(
            f"row {number}: {shown(message)} is {type_name(message)}, not a message. Give dicts with role and content."
        )
    if isinstance(content, list):
        # Blocks: LangChain gathers their words in `text`, in some releases a method.
        text = getattr(message, "text", "")
        content = text() if callable(text) and not isinstance(text, str) else text
    key = getattr(message, "id", None)
    return {"role": role, "content": content or ""} | ({"key": key} if isinstance(key, str) else {})


def _checked(model: type[Handed], fields: Mapping[str, Any], row: int | None = None) -> Handed:
    where = "" if row is None else f"row {row}: "
    if not isinstance(fields, dict | Mapping):  # a dict is known at once, another mapping by its methods
        raise InvalidInput(
            f"{where}{shown(fields)} is {type_name(fields)}, neither a text nor a dict with the fields of a memory."
        )
    try:
        return model(**fields)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field, value, message = str(first["loc"][0]), first["input"], first["msg"]
        if first["type"] == "extra_forbidden":
            known = ", ".join(model.model_fields)
            raise InvalidInput(f"{where}there is no field {field!r}. The fields are {known}.") from None
        if first["type"] == "missing":
            raise InvalidInput(f"{where}{field} is missing from {shown(fields)}.") from None
        if first["type"] in ("too_long", "string_too_long"):
            most = first["ctx"]["max_length"]
            what = "characters" if isinstance(value, str) else "entries"
            raise InvalidInput(
                f"{where}{field} has {len(value):,} {what}. At most {most:,} are kept: split it."
            ) from None
        message = message.removeprefix("Value error, ")
        joint = " " if first["type"] == "value_error" else ": "
        raise InvalidInput(f"{where}{field}={shown(value)}{joint}{message}.") from None
    except TypeError as error:
        raise InvalidInput(f"{where}field names must be text: {error}.") from None
