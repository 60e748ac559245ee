"""A faster `__init__` for small values that are made by the hundred.

The `__init__` of a frozen dataclass sets each field by `object.__setattr__`, which looks it up by its name. Here each
field is set by its slot, in half the time. An answer of ten memories has about two hundred such values.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, fields
from inspect import Parameter, signature
from typing import Any, TypeVar

T = TypeVar("T")


def quick_init(cls: type[T]) -> type[T]:
    """Give a frozen dataclass with slots an `__init__` that does the same in half the time.

    Example:
        >>> from dataclasses import dataclass
        >>> @quick_init
        ... @dataclass(frozen=True, slots=True)
        ... class Point:
        ...     x: int
        ...     y: int = 0
        >>> Point(1), Point(1, y=2) == Point(1, 2)
        (Point(x=1, y=0), True)
    """
    if hasattr(cls, "__post_init__"):
        raise TypeError(f"{cls.__name__} has a __post_init__, which would not be called.")
    before: Any = cls.__init__
    parameters = list(signature(before).parameters.values())
    names: dict[str, Any] = {}
    lines = []
    for field in fields(cls):  # type: ignore[arg-type]
        names[f"set_{field.name}"] = cls.__dict__[field.name].__set__
        value = field.name
        if field.default_factory is not MISSING:
            names[f"make_{field.name}"] = field.default_factory
            names[f"no_{field.name}"] = next(each.default for each in parameters if each.name == field.name)
            value = f"make_{value}() if {value} is no_{value} else {value}"
        lines.append(f"    set_{field.name}(self, {value})")
    # As `dataclass` itself does: the text is made of the names of the fields only.
    exec(f"def __init__({_declared(parameters)}):\n" + "\n".join(lines), names)
    made: Callable[..., None] = names["__init__"]
    for name in ("__defaults__", "__kwdefaults__", "__annotations__", "__module__", "__qualname__"):
        setattr(made, name, getattr(before, name))
    cls.__init__ = made  # type: ignore[method-assign]
    return cls


def _declared(parameters: list[Parameter]) -> str:
    """Parameters as they are written in a function; the defaults are set afterwards."""
    parts = []
    for parameter in parameters:
        if parameter.kind is Parameter.KEYWORD_ONLY and "*" not in parts:
            parts.append("*")
        parts.append(parameter.name if parameter.default is Parameter.empty else f"{parameter.name}=None")
    return ", ".join(parts)
