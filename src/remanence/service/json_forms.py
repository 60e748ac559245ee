"""The JSON forms of the nouns, made of their types by pydantic: what operations return is written and read by them.

A dataclass is an object with its fields, a moment ISO text in UTC, a window as a field its two ends (`valid_from` and
`valid_until`). How a noun differs from that is said once, in `noun_forms`.
"""

from __future__ import annotations

from collections import abc
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from datetime import datetime
from functools import cache
from operator import attrgetter
from types import UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin, get_type_hints

from pydantic import AfterValidator, Field, GetCoreSchemaHandler, PlainSerializer, WithJsonSchema
from pydantic_core import CoreSchema, core_schema
from typing_extensions import TypedDict

from remanence.index.engine.docstrings import first_paragraph, item_descriptions
from remanence.schema import UTC, Window

Time = Annotated[
    datetime,
    AfterValidator(lambda moment: moment.astimezone(UTC)),
    PlainSerializer(datetime.isoformat, return_type=str),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]
_WINDOWS = {"valid": ("valid_from", "valid_until"), "claimed_window": ("claimed_from", "claimed_until")}
"""Fields that are written as the two ends of their window."""


@dataclass(frozen=True, kw_only=True)
class Form:
    """How the JSON form of a noun differs from its fields.

    Attributes:
        without: Fields that are not written.
        types: Fields that are written as another type.
        more: What is written beside the fields, by its type: the attribute or property of that name, or what a function
            makes of the noun. It is not read.
        read: Makes the noun of what was read, with the fields and `more`; by default of the fields alone.
    """

    without: Sequence[str] = ()
    types: dict[str, Any] = field(default_factory=dict)
    more: dict[str, Any] = field(default_factory=dict)
    read: Callable[[dict[str, Any]], Any] | None = None


@dataclass(frozen=True)
class WrittenAs:
    """Marks a type whose values are written as another type."""

    written_type: Any
    write: Callable[[Any], Any] = field(repr=False)
    read: Callable[[Any], Any] = field(repr=False)

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        written = handler.generate_schema(self.written_type)
        serialization = core_schema.plain_serializer_function_ser_schema(self.write, return_schema=written)
        return core_schema.no_info_after_validator_function(self.read, written, serialization=serialization)


FORMS: dict[Any, Form | WrittenAs] = {}
"""The nouns whose form differs. Importing `remanence.service.noun_forms` fills it."""


@cache
def json_form(kind: Any) -> Any:
    """The type with the JSON form of this one."""
    origin, parts = get_origin(kind), get_args(kind)
    if kind is datetime:
        return Time
    if origin is Annotated:
        annotated = (json_form(parts[0]), *kind.__metadata__)
        return Annotated[annotated]
    if origin in (Union, UnionType):
        return Union[tuple(map(json_form, parts))]  # noqa: UP007  -- of any number of types
    if origin in (tuple, list):
        same = tuple(part if part is ... else json_form(part) for part in parts)
        return tuple[same] if origin is tuple else list[same]  # type: ignore[valid-type]
    if origin is abc.Sequence:  # a list or a tuple
        return Annotated[Any, WrittenAs(list[json_form(parts[0])], list, tuple)]  # type: ignore[misc]
    if isinstance(kind, type) and issubclass(kind, list):  # such as Timeline
        return Annotated[Any, WrittenAs(json_form(kind.__orig_bases__[0]), list, kind)]  # type: ignore[attr-defined]
    if origin in (abc.Mapping, dict):
        return dict[parts[0], json_form(parts[1])]  # type: ignore[misc,valid-type]
    form = next((FORMS[each] for each in getattr(origin or kind, "__mro__", ()) if each in FORMS), Form())
    if isinstance(form, WrittenAs):
        return Annotated[Any, form]
    if is_dataclass(origin or kind) or hasattr(kind, "_fields"):  # a NamedTuple has these
        return Annotated[Any, _as_object(kind, form)]
    return kind


def wrapped(kind: Any, field: str, title: str) -> Any:
    """The form of a value that is the only field of an answer."""
    written = TypedDict(title, {field: json_form(kind)})  # type: ignore[misc]
    return Annotated[Any, WrittenAs(written, lambda value: {field: value}, lambda fields: fields[field])]


DONE = Annotated[Any, WrittenAs(TypedDict("Done", {"done": bool}), lambda value: {"done": True}, lambda fields: None)]


def _as_object(kind: Any, form: Form) -> WrittenAs:
    """A noun as an object, with the fields that its form says."""
    noun, types = get_origin(kind) or kind, get_type_hints(get_origin(kind) or kind, include_extras=True)
    variables: dict[Any, Any] = dict(zip(getattr(noun, "__parameters__", ()), get_args(kind), strict=False))
    names = [each.name for each in fields(noun) if each.init] if is_dataclass(noun) else list(noun._fields)
    descriptions = item_descriptions(noun)
    written: dict[str, Any] = {}
    paths: dict[str, str] = {}
    for name in names:
        if name in form.without or name.startswith("_"):
            continue
        if name in _WINDOWS:
            for end, part in zip(_WINDOWS[name], ("start", "end"), strict=True):
                written[end], paths[end] = Time | None, f"{name}.{part}"
        else:
            kind_of_field = json_form(form.types.get(name) or _substituted(types[name], variables))
            written[name] = Annotated[kind_of_field, Field(description=descriptions.get(name))]
            paths[name] = name
    computed: dict[str, Callable[[Any], Any]] = {}
    for name, more in form.more.items():
        more_type, compute = more if isinstance(more, tuple) else (more, attrgetter(name))
        written[name], computed[name] = json_form(more_type), compute
    get_values = attrgetter(*paths.values())
    windows = {name: _WINDOWS[name] for name in names if name in _WINDOWS and name not in form.without}

    def write(value: Any) -> dict[str, Any]:
        values = get_values(value)
        made = dict(zip(paths, values if len(paths) > 1 else (values,), strict=True))
        for name, compute in computed.items():
            made[name] = compute(value)
        return made

    def read(given: dict[str, Any]) -> Any:
        for name, (start, end) in windows.items():
            given[name] = Window(given.pop(start), given.pop(end))
        if form.read is not None:
            return form.read(given)
        for name in computed:
            del given[name]
        return noun(**given)

    title = noun.__name__ + "".join(part.__name__ for part in variables.values())
    made = TypedDict(title, written)  # type: ignore[misc]
    made.__doc__ = first_paragraph(noun)
    return WrittenAs(made, write, read)


def _substituted(kind: Any, variables: Mapping[Any, Any]) -> Any:
    """A type with its variables replaced."""
    if isinstance(kind, TypeVar):
        return variables[kind]
    known = [variables[each] for each in getattr(kind, "__parameters__", ())]
    return kind[tuple(known)] if known else kind
