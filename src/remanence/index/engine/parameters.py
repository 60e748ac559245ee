"""Parameters that are declared as the fields of a dataclass: methods that take them, and their simple types."""

from __future__ import annotations

import inspect
import sys
import textwrap
from collections import abc
from collections.abc import Callable
from dataclasses import fields
from types import UnionType
from typing import Annotated, Any, Concatenate, Literal, ParamSpec, TypeVar, Union, get_args, get_origin, get_type_hints

from remanence.hooks import naming_arguments
from remanence.index.engine.docstrings import item_descriptions

P = ParamSpec("P")
T = TypeVar("T")


def takes(parameters: Callable[P, Any]) -> Callable[[Callable[..., T]], Callable[Concatenate[Any, P], T]]:
    """Declare a method with the parameters of a dataclass. Its own signature is `(self, ..., **options)`.

    Type checkers, editors and help() see the parameters with their types, defaults and descriptions; `**options` in the
    docstring stands for those that the docstring does not describe.

    >>> from remanence.recall.options import Question
    >>> class Shelf:
    ...     @takes(Question)
    ...     def ask(self, query: str = "", **options: Any) -> int:
    ...         return len(options)
    >>> Shelf().ask("Where is it?", limit=3), str(inspect.signature(Shelf.ask).parameters["limit"])
    (1, "limit: 'Limit' = 10")
    """

    def declare(method: Callable[..., T]) -> Callable[Concatenate[Any, P], T]:
        own = inspect.signature(method)
        first = next(iter(own.parameters.values()))
        taken = inspect.signature(parameters).parameters
        method.__doc__ = _completed(method, list(taken), parameters, " " * 12)
        method.__signature__ = own.replace(parameters=[first, *taken.values()])  # type: ignore[attr-defined]
        return naming_arguments(method)

    return declare


def described_by(options: type) -> Callable[[type[T]], type[T]]:
    """Complete the docstring of a dataclass that has fields of another: `**options` stands for those that the docstring
    does not describe."""

    def complete(described: type[T]) -> type[T]:
        described.__doc__ = _completed(described, [each.name for each in fields(described)], options, " " * 8)  # type: ignore[arg-type]
        return described

    return complete


def _completed(described: object, names: list[str], options: object, indent: str) -> str:
    """A docstring with the descriptions of these parameters in place of the line `**options: ...`."""
    if sys.flags.optimize > 1:  # python -OO leaves docstrings out
        return described.__doc__ or ""
    own, descriptions = item_descriptions(described), descriptions_of(options)
    items = "\n".join(
        textwrap.fill(f"{name}: {descriptions[name]}", 116, initial_indent=indent, subsequent_indent=f"{indent}    ")
        for name in names
        if name not in own
    )
    lines = (described.__doc__ or "").split("\n")
    return "\n".join(items if line.startswith(f"{indent}**options: ") else line for line in lines)


def descriptions_of(options: Any) -> dict[str, str]:
    """What each field of a dataclass of options is, those of its bases first."""
    return {name: text for each in reversed(inspect.getmro(options)) for name, text in item_descriptions(each).items()}


def simple_types(options: Any) -> dict[str, Any]:
    """The types of a dataclass of options for callers who write text or JSON, without None.

    A moment or a time is text, one name or several are a list, a mapping is an object. Limits are kept.

    >>> from remanence.recall.options import FilterOptions, RecentOptions
    >>> simple_types(FilterOptions)["source"], simple_types(RecentOptions)["during"]
    (list[str], <class 'str'>)
    """
    hints = get_type_hints(options, localns={"Vector": abc.Sequence[float]}, include_extras=True)
    return {field.name: _simple(hints[field.name]) for field in fields(options)}


def _simple(kind: Any) -> Any:
    parts = [part for part in get_args(kind) if part is not type(None)] if _is_union(kind) else [kind]
    origins = [get_origin(part) for part in parts]
    if bool in parts:
        return bool
    lists = [part for part, origin in zip(parts, origins, strict=True) if origin in (abc.Sequence, abc.Collection)]
    if lists:
        return list[_simple(get_args(lists[0])[0])]  # type: ignore[misc]
    mappings = [part for part, origin in zip(parts, origins, strict=True) if origin is abc.Mapping]
    if str in parts:
        return str | float if float in parts else str
    if mappings:
        return dict[str, get_args(mappings[0])[1]]  # type: ignore[misc]
    return parts[0]


def _is_union(kind: Any) -> bool:
    return get_origin(kind) in (Union, UnionType)


def limits_of(kind: Any) -> tuple[Any, tuple[Any, ...]]:
    """A type without its limits, and the limits."""
    return (get_args(kind)[0], kind.__metadata__) if get_origin(kind) is Annotated else (kind, ())


def choices_of(kind: Any) -> tuple[Any, ...] | None:
    """The values of a `Literal`; None of another type."""
    return get_args(kind) if get_origin(kind) is Literal else None
