"""Requests: the arguments of an operation, made of the parameters of its function or of the method that it stands for.

A request is written with JSON types only: moments and ids are text.
"""

from __future__ import annotations

import inspect
from collections import abc
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from datetime import date, datetime
from types import SimpleNamespace, UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SkipValidation, create_model, model_validator
from pydantic_core import PydanticUndefined

from remanence import schema
from remanence.index.engine.docstrings import first_paragraph, item_descriptions
from remanence.index.engine.inputs import Moment
from remanence.index.engine.parameters import descriptions_of
from remanence.ports import Vector
from remanence.schema import Window

Name = Annotated[str, Field(min_length=1, max_length=512)]
PageSize = Annotated[int, Field(ge=1, le=1_000)]
MaxTokens = Annotated[int, Field(ge=1, le=100_000)]
MAX_ITEMS = 100_000
"""Items of a list in a request, at most. One for each few bytes of a body would need memory for millions of them."""
ItemT = TypeVar("ItemT")
ListOf = Annotated[list[ItemT], Field(fail_fast=True, max_length=MAX_ITEMS)]
Names = ListOf[str]


class Request(BaseModel):
    """The arguments of an operation. A field that does not exist is refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _not_too_many(cls, fields: Any) -> Any:
        if isinstance(fields, dict) and len(fields) > 1_000:  # to list a million that do not exist takes seconds
            raise ValueError(f"{len(fields):,} fields are more than there are")
        return fields

    def provided_fields(self, *without: str) -> dict[str, Any]:
        """The fields that were given, by name, for the method of a space."""
        return {name: getattr(self, name) for name in self.model_fields_set if name not in without}


class ReadRequest(Request):
    """The arguments of an operation that reads."""

    as_of: str | None = Field(default=None, description="Answer as the space was known at this moment.")


_SEQUENCES = (abc.Sequence, abc.Collection, abc.Iterable, list)
_SKIPPED = ("self", "space", "view", "progress")


def request_of(
    source: Callable[..., Any], *bases: type[Request], described_by: Callable[..., Any] | None = None, **limits: Any
) -> type[Request]:
    """A request that has a field for each parameter, with its default and the JSON form of its type.

    Args:
        source: A function, a method, or a dataclass of options.
        bases: Requests whose fields it has, too.
        described_by: The method whose docstring says what the parameters are; by default the source.
        limits: Types of parameters that allow less than the source.

    >>> def forget(self, id: str | Memory, why: str | None = None, *, at: datetime | None = None) -> None: ...
    >>> [(name, field.annotation) for name, field in request_of(forget).model_fields.items()]
    [('id', <class 'str'>), ('why', typing.Optional[str]), ('at', typing.Optional[str])]
    """
    parameters = inspect.signature(source).parameters
    names = [name for name, each in parameters.items() if name not in _SKIPPED and each.kind is not each.VAR_KEYWORD]
    types = types_of(source, [name for name in names if name not in limits])
    own = descriptions_of(source) if isinstance(source, type) else {}
    descriptions = own or item_descriptions(described_by or source)
    made: dict[str, Any] = {}
    for name in names:
        default = parameters[name].default
        default = (
            ... if default is inspect.Parameter.empty else list(default) if isinstance(default, tuple) else default
        )
        kind = limits[name] if name in limits else json_type(types[name])
        made[name] = (kind, Field(default, description=descriptions[name]) if name in descriptions else default)
    title = f"{camel_case(source.__name__)}Request"
    return create_model(title, __base__=bases or Request, __doc__=first_paragraph(source), **made)


def camel_case(name: str) -> str:
    """The name of a function as that of a class.

    >>> camel_case("add_many"), camel_case("AddOptions")
    ('AddMany', 'AddOptions')
    """
    return "".join(part[0].upper() + part[1:] for part in name.split("_") if part)


def types_of(source: Any, names: list[str]) -> dict[str, Any]:
    """The types of these parameters. Others may have types that are not imported when the program runs."""
    if isinstance(source, type):
        hints = get_type_hints(source, localns={"Vector": Vector}, include_extras=True)
        return {name: kind for name, kind in hints.items() if name in names}
    written = {name: source.__annotations__[name] for name in names}
    scope = {"Moment": Moment, **vars(schema), **inspect.unwrap(source).__globals__}
    return get_type_hints(SimpleNamespace(__annotations__=written), scope, include_extras=True)


def has_id(kind: Any) -> bool:
    """Whether values of a type are named by their id in a request: memories, entities, runs."""
    return is_dataclass(kind) and any(field.name == "id" for field in fields(kind))


def json_type(kind: Any) -> Any:
    """The type of the JSON form of an argument: moments and ids are text, sequences lists.

    >>> json_type(Window | datetime | str | None), json_type(tuple[datetime | None, str])
    (typing.Optional[str], tuple[typing.Optional[str], str])
    """
    origin, parts = get_origin(kind), get_args(kind)
    origin = get_origin(getattr(origin, "__value__", None)) or origin  # from numpy 2.5 on `NDArray` is an alias
    if origin is Annotated:
        checks = [note for note in kind.__metadata__ if isinstance(note, BeforeValidator)]
        given = [
            check.json_schema_input_type for check in checks if check.json_schema_input_type is not PydanticUndefined
        ]
        if given:
            return json_type(given[0])
        limits = tuple(note for note in kind.__metadata__ if note not in checks and note is not SkipValidation)
        annotated = (json_type(parts[0]), *limits)
        return Annotated[annotated] if limits else annotated[0]
    if origin in (Union, UnionType):
        kinds = dict.fromkeys(json_type(part) for part in parts if part is not Window)
        if {float, str} <= kinds.keys():  # in an address a number is text
            number_first = dict.fromkeys([float, *kinds])
            annotated = (Union[tuple(number_first)], Field(union_mode="left_to_right"))  # noqa: UP007
            return Annotated[annotated]
        return Union[tuple(kinds)]  # noqa: UP007  -- of any number of types
    if origin is np.ndarray:
        return ListOf[float]
    if origin is tuple:
        return tuple[tuple(json_type(part) for part in parts)]  # type: ignore[misc]
    if origin in _SEQUENCES:
        return ListOf[json_type(parts[0])]  # type: ignore[misc]
    if origin is abc.Mapping:
        return dict[str, json_type(parts[1])]  # type: ignore[misc]
    return str if kind in (datetime, date) or has_id(kind) else kind
