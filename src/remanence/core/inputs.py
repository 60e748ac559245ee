"""What callers hand in, checked at the door: after this, nothing else has to be."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from numbers import Integral, Real  # numpy's numbers too
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from remanence.errors import InvalidInput
from remanence.language.temporal import read_moment
from remanence.language.text import cut
from remanence.schema import (
    KINDS,
    UTC,
    Kind,
    Mention,
    Triple,
    Window,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Moment: TypeAlias = datetime | date | str
"""A datetime (a naive one is taken as UTC), a date, ISO text, or words such as "last May"."""

MOST_TEXT = 2_000_000
MOST_TAGS = 256
MOST_NAME = 512
MOST_META = 1_000_000
MOST_LIMIT = 10_000
_NOT_TEXT = re.compile("[\x00\ud800-\udfff]")


def _clean(value: object) -> object:
    """Refuse what cannot be written down or read back."""
    if not isinstance(value, str) or (value.isascii() and "\0" not in value):
        return value
    if found := _NOT_TEXT.search(value):
        what = "a NUL byte" if found.group() == "\x00" else f"the lone surrogate {found.group()!a}"
        raise ValueError(
            f"holds {what} at character {found.start()}. "
            "Remove it, for example with text.encode('utf-8', 'ignore').decode().replace('\\0', '')"
        )
    return value


def _readable(value: object) -> object:
    if isinstance(value, str) and (not value or value.isspace()):
        raise ValueError("is blank. Give it at least one visible character")
    return _clean(value)


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
    if (
        isinstance(parts, Sequence)
        and len(parts) == 2
        and all(isinstance(p, str) and p.strip() for p in parts)
    ):
        return Mention(str(_clean(parts[0])), str(_clean(parts[1])))
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
        return Triple(*(str(_clean(part)) for part in parts))
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
        raise ValueError(
            f"cannot be written as JSON ({error}). Keep to text, numbers, lists and dicts"
        ) from None
    if len(written) > MOST_META:
        raise ValueError(f"takes {len(written):,} characters as JSON. At most {MOST_META:,} are kept")
    return json.loads(written)


def _number(value: object) -> object:
    if isinstance(value, bool | str | bytes):
        raise ValueError("is not a number from 0 to 1")
    return value


# Strict: bytes would otherwise be taken for text after the checks for text have passed them over.
# The longest length stands with it: behind the checks it would be one more of them, in Python.
Text = Annotated[str, Field(strict=True, max_length=MOST_TEXT), BeforeValidator(_readable)]
Name = Annotated[str, Field(strict=True, max_length=MOST_NAME), BeforeValidator(_readable)]
Share = Annotated[float, Field(ge=0.0, le=1.0, allow_inf_nan=False), BeforeValidator(_number)]


class Draft(BaseModel):
    """A memory as somebody hands it in. Every field but the text may be left out."""

    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)

    text: Text
    key: Name | None = None
    kind: Kind | None = None
    valid_from: Any = None
    valid_until: Any = None
    importance: Share | None = None
    confidence: Share | None = None
    tags: Annotated[tuple[Name, ...], BeforeValidator(_one_or_many), Field(max_length=MOST_TAGS)] = ()
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
    tags: Annotated[tuple[Name, ...], BeforeValidator(_one_or_many), Field(max_length=MOST_TAGS)] = ()
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
            f"{_shown(given)} is {_type(given)}: neither a text nor a list of messages. Give for example "
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
            f"row {number}: {_shown(message)} is {_type(message)}, not a message. "
            "Give dicts with role and content."
        )
    if isinstance(content, list):
        # Blocks: LangChain gathers their words in `text`, in some releases a method.
        text = getattr(message, "text", "")
        content = text() if callable(text) and not isinstance(text, str) else text
    key = getattr(message, "id", None)
    return {"role": role, "content": content or ""} | ({"key": key} if isinstance(key, str) else {})


def window(start: Moment | None, end: Moment | None, now: datetime) -> Window:
    """A window from two ends as people give them."""
    if start is None and end is None:
        return _ALWAYS
    made = Window(
        None if start is None else read_moment(start, now, what="valid_from"),
        None if end is None else read_moment(end, now, what="valid_until"),
    )
    if made.start is not None and made.end is not None and made.end <= made.start:
        raise InvalidInput(
            f"valid_until={end!r} does not come after valid_from={start!r}. Swap them, or leave one out."
        )
    return made


_ALWAYS = Window()


def question(text: object) -> str:
    """A question that can be asked; blank ones and ones of odd characters can, and find little."""
    if not isinstance(text, str):
        raise InvalidInput(f"query={text!r} is {_type(text)}, not text. Ask with a string.")
    if len(text) > MOST_TEXT:
        raise InvalidInput(f"the query has {len(text):,} characters. At most {MOST_TEXT:,} are read.")
    return _NOT_TEXT.sub(" ", text)


def limit(value: object) -> int:
    """How many hits to give: a whole number from 1 on, of which at most `MOST_LIMIT` are given."""
    number = _integer(value)
    if number is None or number < 1:
        raise InvalidInput(f"limit={value!r} is not a whole number above zero. Ask for at least one hit.")
    return min(number, MOST_LIMIT)


def kinds(value: object) -> tuple[str, ...] | None:
    """The kinds asked for."""
    given = _names(value, "kinds")
    for kind in given or ():
        if kind not in KINDS:
            raise InvalidInput(f"kinds={value!r} holds {kind!r}. The kinds are {', '.join(KINDS)}.")
    return given


def tags(value: object) -> tuple[str, ...] | None:
    """The tags asked for."""
    return _names(value, "tags")


def share(value: object, what: str) -> float | None:
    """A number from 0 to 1, or nothing."""
    if value is None:
        return None
    number = _real(value)
    if number is None or not 0 <= number <= 1:
        raise InvalidInput(f"{what}={value!r} is not a number from 0 to 1.")
    return number


def weights(value: object, signals: Sequence[str]) -> dict[str, float] | None:
    """How much each signal counts: numbers from 0 on, one above it."""
    if value is None:
        return None
    if not isinstance(value, Mapping) or not set(value) <= set(signals):
        raise InvalidInput(f"weights={_shown(value)} does not map signals to numbers: {', '.join(signals)}.")
    given = {name: _real(number) for name, number in value.items()}
    sound = {name: number for name, number in given.items() if number is not None and 0 <= number < 1e9}
    if sound.keys() != given.keys() or not any(sound.values()):
        raise InvalidInput(f"weights={_shown(value)} are not numbers from 0 on with one above 0.")
    return sound


def vector(value: object) -> NDArray[np.float32] | None:
    """A question's embedding, made of unit length."""
    if value is None:
        return None
    import numpy as np

    try:
        made = np.asarray(value, np.float32)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"vector={_shown(value)} is not a list of numbers: {error}.") from None
    length = float(np.linalg.norm(made)) if made.ndim == 1 else float("nan")
    if not np.isfinite(length):
        raise InvalidInput(
            f"vector has the shape {made.shape} or holds no finite numbers. Give one flat list."
        )
    return made / length if length else made


def whole(value: object, what: str, most: int | None = None) -> int:
    """A whole number above zero."""
    number = _integer(value)
    if number is None or number < 1 or (most and number > most):
        upto = f" to {most:,}" if most else " on"
        raise InvalidInput(f"{what}={value!r} is not a whole number from 1{upto}.")
    return number


def path(value: object, what: str) -> Path:
    """The path of a file, with ~ spelled out."""
    if not isinstance(value, str | os.PathLike) or not str(value).strip() or "\0" in str(value):
        raise InvalidInput(f"{what}={value!r} is no file name. Give one such as 'memory.jsonl.gz'.")
    return Path(value).expanduser()


def memory_id(value: object) -> str:
    """The id of a memory; whether there is such a one is another question."""
    if not isinstance(value, str):
        raise InvalidInput(f"{_shown(value)} is {_type(value)}, not an id. Give what memory.id holds.")
    return value


def memory_ids(values: object) -> list[str]:
    """The ids of several memories, as they were given."""
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise InvalidInput(
            f"{_shown(values)} is {_type(values)}. Give a list of ids, as memory.id holds them."
        )
    return [memory_id(value) for value in values]


def reason(why: object) -> str | None:
    """Why something was done, in the caller's words."""
    return None if why is None else clean(why, "why")


def clean(value: object, what: str) -> str:
    """A text that can be written down and read back."""
    if not isinstance(value, str):
        raise InvalidInput(f"{what}={value!r} is {_type(value)}, not text.")
    try:
        _clean(value)
    except ValueError as error:
        raise InvalidInput(f"{what}={_shown(value)} {error}.") from None
    return value


def utc(moment: object, what: str) -> datetime:
    """A clock's answer in UTC."""
    if not isinstance(moment, datetime):
        raise InvalidInput(f"{what} gave {moment!r}, not a datetime. Give a function that returns one.")
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def _integer(value: object) -> int | None:
    return None if isinstance(value, bool) or not isinstance(value, Integral) else int(value)


def _real(value: object) -> float | None:
    return None if isinstance(value, bool) or not isinstance(value, Real) else float(value)


def _names(value: object, what: str) -> tuple[str, ...] | None:
    if value is None:
        return None
    given = (value,) if isinstance(value, str) else tuple(value) if isinstance(value, Iterable) else (value,)
    if not all(isinstance(name, str) for name in given):
        raise InvalidInput(f"{what}={value!r} is not a list of names. Give for example {what}=['work'].")
    return given


def _checked(model: type[Handed], fields: Mapping[str, Any], row: int | None = None) -> Handed:
    where = "" if row is None else f"row {row}: "
    if not isinstance(fields, dict | Mapping):  # a dict is known at once, another mapping by its methods
        raise InvalidInput(
            f"{where}{_shown(fields)} is {_type(fields)}, "
            "neither a text nor a dict with the fields of a memory."
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
            raise InvalidInput(f"{where}{field} is missing from {_shown(fields)}.") from None
        if first["type"] in ("too_long", "string_too_long"):
            most = first["ctx"]["max_length"]
            what = "characters" if isinstance(value, str) else "entries"
            raise InvalidInput(
                f"{where}{field} has {len(value):,} {what}. At most {most:,} are kept: split it."
            ) from None
        message = message.removeprefix("Value error, ")
        joint = " " if first["type"] == "value_error" else ": "
        raise InvalidInput(f"{where}{field}={_shown(value)}{joint}{message}.") from None
    except TypeError as error:
        raise InvalidInput(f"{where}field names must be text: {error}.") from None


def _shown(value: object) -> str:
    try:
        shown = ascii(value) if isinstance(value, str) and _NOT_TEXT.search(value) else repr(value)
    except RecursionError:
        shown = f"a very deep {type(value).__name__}"
    return cut(shown, 120)


def _type(value: object) -> str:
    return f"of type {type(value).__name__}"
