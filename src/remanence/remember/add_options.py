"""The options of `add`, and the fields of a chat turn: their names, types, defaults and checks.

This is the only list of them. The rows of `add_many`, REST, the client and the command line take them from here;
`Space.add` spells them out for editors. A new option is declared here and is a parameter of `Space.add`, and
`prepare.py` does what it says.

The types are those of the checked values. What a caller may give in place of one is the second argument of
`BeforeValidator`; a request has that one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SkipValidation, ValidationError, ValidationInfo

from remanence.errors import InvalidInput
from remanence.index.engine import inputs
from remanence.index.engine.inputs import Moment
from remanence.schema import DEFAULT_CONVERSATION, MemoryKind, Mention, Triple
from remanence.text.text import MAX_PASSAGES

_MENTION = {"name": None, "kind": "thing"}
_TRIPLE = dict.fromkeys(("subject", "predicate", "object"))


def _as_tuple(value: object) -> object:
    return (value,) if isinstance(value, str) else value


def _mentions(value: object) -> object:
    if value is None:
        return None
    items = [value] if isinstance(value, str | Mention) else _items(value)
    return tuple(Mention(*_parts(item, _MENTION, "names as 'Alice' or ('Alice', 'person')")) for item in items)


def _triples(value: object) -> object:
    if value is None:
        return None
    return tuple(Triple(*_parts(item, _TRIPLE, "claims as ('Alice', 'lives_in', 'Porto')")) for item in _items(value))


def _parts(item: object, fields: Mapping[str, str | None], example: str) -> list[str]:
    """The values of these fields, which have a default or None, in an object, a dict, a sequence or one text."""
    values = astuple(item) if isinstance(item, Mention | Triple) else item
    if isinstance(values, Mapping):
        values = [values.get(name, default) for name, default in fields.items()]
    elif isinstance(values, str):
        values = [values, *list(fields.values())[1:]]
    texts = values if isinstance(values, Sequence) and len(values) == len(fields) else [None]
    if all(isinstance(part, str) and part.strip() for part in texts):
        return [str(inputs.check_storable(part)) for part in texts]
    raise ValueError(f"holds {item!r}. Give {example}")


def _items(value: object) -> Iterable[object]:
    if isinstance(value, Iterable) and not isinstance(value, str | bytes):
        return value
    raise ValueError("is not a list")


def _passages(value: object, info: ValidationInfo) -> object:
    if value is None:
        return None
    ranges, length = [*_items(value)], len(info.data.get("text", ""))
    if len(ranges) > MAX_PASSAGES:
        raise ValueError(f"has {len(ranges):,} entries. At most {MAX_PASSAGES:,} are allowed")
    if all(_is_range(item, length) for item in ranges):
        return tuple(ranges)
    raise ValueError(f"is not a list of ranges (start, end) of the text, which has {length:,} characters")


def _is_range(item: object, length: int) -> bool:
    is_pair = isinstance(item, Sequence) and [type(bound) for bound in item] == [int, int]
    return is_pair and 0 <= item[0] < item[1] <= length  # type: ignore[index]


def _meta(value: object) -> object:
    if value is None:
        return {}
    try:
        text = json.dumps(value, allow_nan=False, ensure_ascii=False)
        text.encode()  # a lone surrogate passes as JSON, but cannot be stored
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"cannot be written as JSON ({error}). Use only text, numbers, lists and dicts") from None
    if len(text) > inputs.MAX_META_LENGTH:
        raise ValueError(f"takes {len(text):,} characters as JSON. At most {inputs.MAX_META_LENGTH:,} are allowed")
    return json.loads(text)


def _number_in(limits: str) -> BeforeValidator:
    def check(value: object) -> object:
        if isinstance(value, bool | str | bytes):
            raise ValueError(f"is not a number from {limits}")
        return value

    return BeforeValidator(check)


Names = str | Sequence[str]
Items = Sequence[Any] | None

# Strict, because pydantic would otherwise accept bytes as text after `check_not_blank` has passed them.
Text = Annotated[str, Field(strict=True, max_length=inputs.MAX_TEXT_LENGTH), BeforeValidator(inputs.check_not_blank)]
Name = Annotated[str, Field(strict=True, max_length=inputs.MAX_NAME_LENGTH), BeforeValidator(inputs.check_not_blank)]
Fraction = Annotated[float, Field(ge=0.0, le=1.0, allow_inf_nan=False), _number_in("0 to 1")]
Strength = Annotated[float, Field(ge=1.0, le=2.0, allow_inf_nan=False), _number_in("1 to 2")]
Tags = Annotated[tuple[Name, ...], BeforeValidator(_as_tuple, Names), Field(max_length=inputs.MAX_TAGS)]
Meta = Annotated[dict[str, Any], BeforeValidator(_meta, Mapping[str, Any] | None)]
When = Annotated[Moment | None, SkipValidation]
"""Read when the present moment is known; the message of an error names it then."""
Trust = Annotated[str | float | None, SkipValidation]
"""Read with the rules of the space, which may have levels of their own."""


class AddOptions(BaseModel):
    """A memory as the caller gives it: a text and the options of `Space.add`."""

    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)

    text: Text
    key: Name | None = None
    """A name of your own; the same key with another text is a new version."""
    kind: MemoryKind | None = None
    """The kind of memory; found by rule if left out."""
    valid_from: When = None
    """When it became true or happened; read from the text if left out."""
    valid_until: When = None
    """When it stopped being true."""
    importance: Fraction | None = None
    """0.3 minor, 0.6 moderate, 0.9 identity-defining."""
    confidence: Fraction | None = None
    """How certain it is."""
    tags: Tags = ()
    """One tag or several."""
    source: Name | None = None
    """Where it comes from."""
    observed_by: Name | None = None
    """Who said or saw it; "I" in the text is this person."""
    expires_at: When = None
    """From when on it is no longer recalled."""
    entities: Annotated[tuple[Mention, ...] | None, BeforeValidator(_mentions, Items)] = None
    """Names in the text, as texts or (name, kind); found by rule if left out."""
    triples: Annotated[tuple[Triple, ...] | None, BeforeValidator(_triples, Items)] = None
    """Claims, as (subject, predicate, object); found by rule if left out."""
    meta: Meta = Field(default=None, validate_default=True)
    """Anything that can be written as JSON."""
    now: When = None
    """When it was told."""
    passages: Annotated[
        tuple[tuple[int, int], ...] | None, BeforeValidator(_passages, Sequence[tuple[int, int]] | None)
    ] = None
    """Ranges (start, end) of the text that are searched separately; by length if left out."""
    strength: Strength | None = None
    """A factor of its decay score: 1.5 for important memories, 2 for those that must not fade."""
    trust: Trust = None
    """How far its source is trusted: a level, or a number from 0 to 1."""


class TurnOptions(BaseModel):
    """A chat turn as the caller gives it to `Space.add_turns`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    content: Text
    speaker: Name | None = None
    """Who said it; "I" in the turn is this person."""
    role: Name | None = None
    """The role of who said it, if there is no name."""
    time: When = None
    """When it was said."""
    conversation: Name = DEFAULT_CONVERSATION
    """The chat it belongs to."""
    before: Text | None = None
    """The turn before it, where that one is not stored."""
    key: Name | None = None
    """A name of your own; the same key with another text is a new version."""
    tags: Tags = ()
    """One tag or several."""
    expires_at: When = None
    """From when on it is no longer recalled."""
    trust: Trust = None
    """How far its source is trusted: a level, or a number from 0 to 1."""
    meta: Meta = Field(default=None, validate_default=True)
    """Anything that can be written as JSON."""


class Changes(BaseModel):
    """What is to change in stored memories, by `Space.revise`. None is no change."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    text: Text | None = None
    """The corrected text."""
    kind: MemoryKind | None = None
    """The kind of memory."""
    valid_from: When = None
    """When it became true or happened."""
    valid_until: When = None
    """When it stopped being true."""
    importance: Fraction | None = None
    """0.3 minor, 0.6 moderate, 0.9 identity-defining."""
    strength: Strength | None = None
    """A factor of its decay score; 2 for what must not fade."""
    expires_at: When = None
    """From when on it is no longer recalled."""
    tags: Tags | None = None
    """The tags in place of those it has."""
    add_tags: Tags = ()
    """More tags."""
    remove_tags: Tags = ()
    """Tags that it is to lose."""


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
