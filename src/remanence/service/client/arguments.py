"""Arguments of methods as JSON types: moments as text, memories and entities by their ids."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from datetime import date
from functools import update_wrapper
from typing import Any, NoReturn, TypeVar, cast

from pydantic import ValidationError

from remanence.errors import InvalidInput, NotFound
from remanence.recall.procedures import Step
from remanence.schema import Alias, Memory, Mention, Triple, Window
from remanence.service.operations import OPERATION_OF, Operation
from remanence.service.requests import Request, has_id
from remanence.text.text import truncate

AnyRequest = TypeVar("AnyRequest", bound=Request)
_Method = TypeVar("_Method", bound=Callable[..., Any])
_Class = TypeVar("_Class", bound=type)


def to_json(value: Any) -> Any:
    """A value in JSON types.

    >>> from datetime import datetime
    >>> to_json({"at": datetime(2026, 5, 1), "tags": ("a", "b")})
    {'at': '2026-05-01T00:00:00', 'tags': ['a', 'b']}
    """
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, date):
        return value.isoformat()
    if has_id(type(value)):  # a memory, an entity, a run
        return value.id
    if isinstance(value, Window):
        return [to_json(value.start), to_json(value.end)]
    if isinstance(value, Mention):
        return [value.name, value.kind]
    if isinstance(value, Triple):
        return [value.subject, value.predicate, value.object]
    if isinstance(value, Step):
        return {"tool": value.tool, "args": to_json(value.args)}
    if isinstance(value, Alias):
        return {"name": value.name, "valid_from": to_json(value.valid.start), "valid_until": to_json(value.valid.end)}
    if isinstance(value, Mapping):
        return {str(name): to_json(item) for name, item in value.items()}
    if callable(getattr(value, "tolist", None)):  # an array of numpy
        return value.tolist()
    if isinstance(value, Iterable) and not isinstance(value, bytes):
        return [to_json(item) for item in value]
    raise InvalidInput(
        f"{value!r} is of type {type(value).__name__}, which cannot be sent. Use text, numbers or lists."
    )


def make_request(request: type[AnyRequest], /, **arguments: Any) -> AnyRequest:
    """A request with these arguments; None is left out.

    Raises:
        InvalidInput: An argument is not valid; the message names it.
    """
    given = {name: to_json(value) for name, value in arguments.items() if value is not None}
    try:
        return request.model_validate(given)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(map(str, first["loc"][:2]))
        raise InvalidInput(f"{name}={truncate(repr(first['input']), 200)}: {first['msg']}.") from None


def done_by(operation: Operation, method: _Method) -> _Method:
    """A method that a server does, with the signature and the docstring of the local one."""
    signature = inspect.signature(method)
    may_be_none = signature.return_annotation.endswith("| None")

    def call(self: Any, *args: Any, **options: Any) -> Any:
        given = signature.bind(self, *args, **options).arguments
        fields = {name: value for name, value in given.items() if name not in ("self", "progress")}
        if fields.get("ids") is not None:
            fields["ids"] = ids_to_json(fields["ids"])  # one memory or several, as the local method takes them
        try:
            return self._ask(operation, **fields)
        except NotFound:
            if may_be_none:
                return None
            raise

    return cast(_Method, update_wrapper(call, method))


def like(local: type, *here: str, **facets: Callable[[Any], Any]) -> Callable[[_Class], _Class]:
    """Give a class of the client the methods of a local one that it has not.

    The server does those for which an operation is declared. Those that `here` names are the local ones, since they
    only call others, as are the variants for asyncio. `facets` are made of the space. Any other method cannot be done
    over a connection.
    """

    def complete(own: _Class) -> _Class:
        for name, facet in facets.items():
            setattr(own, name, property(facet, doc=getattr(local, name).__doc__))
        for name in (*dir(local), *here):
            value = inspect.getattr_static(local, name)
            if any(name in vars(each) for each in own.__mro__[:-1]):
                mine = inspect.getattr_static(own, name)
                if inspect.isfunction(mine) and mine.__doc__ is None:
                    mine.__doc__ = value.__doc__
                    if inspect.getfullargspec(mine).varkw is not None:
                        update_wrapper(mine, value)  # its options are those of the local method
            elif name in here or (name.startswith("a") and hasattr(local, name[1:])):
                setattr(own, name, value)
            elif inspect.isfunction(value) and value in OPERATION_OF:
                setattr(own, name, done_by(OPERATION_OF[value], value))
            elif not name.startswith("_"):
                setattr(own, name, _refused(value))
        return own

    return complete


def _refused(method: Callable[..., Any]) -> Callable[..., NoReturn]:
    def refuse(*args: Any, **options: Any) -> NoReturn:
        raise InvalidInput(
            "this cannot be done over a connection. Open the folder itself for it: remanence.open('./memory')."
        )

    return cast("Callable[..., NoReturn]", update_wrapper(refuse, method))


def to_list(value: Any) -> Any:
    """One name or several as a list."""
    return [value] if isinstance(value, str) else value


def ids_to_json(value: Any) -> list[str]:
    """The ids of one memory or several."""
    values = [value] if isinstance(value, str | Memory) else value
    if isinstance(values, bytes | Mapping) or not isinstance(values, Iterable):
        raise InvalidInput(f"{value!r} is neither a memory, an id nor a list of these.")
    return [to_json(id_) for id_ in values]


def id_to_json(value: Any) -> str:
    """The id of a memory."""
    if isinstance(value, Memory):
        return value.id
    if not isinstance(value, str) or not value:
        raise InvalidInput(f"{value!r} is not the id of a memory. Give a memory, or what memory.id contains.")
    return value


def alias_to_json(alias: Any) -> Any:
    """An alias as text, or as a dict with its time."""
    if isinstance(alias, list | tuple):
        return dict(zip(("name", "valid_from", "valid_until"), map(to_json, alias), strict=False))
    return to_json(alias)
