"""A faster `__init__` for frozen dataclasses of which many objects are made.

A frozen dataclass sets each of its fields by a call of `object.__setattr__`, which took a tenth of a recall. Here a new
object has another class while its fields are set: one with the same slots, whose fields can be assigned.
"""

from __future__ import annotations

from dataclasses import MISSING, fields
from functools import wraps
from typing import Any, TypeVar

_Class = TypeVar("_Class", bound=type[Any])


def fast_init(cls: _Class) -> _Class:
    """A class decorator, above `@dataclass(frozen=True, slots=True)`. It pays from about six fields on.

    >>> from dataclasses import dataclass
    >>> @fast_init
    ... @dataclass(frozen=True, slots=True)
    ... class Point:
    ...     x: int
    ...     y: int = 0
    >>> Point(1)
    Point(x=1, y=0)
    """
    slow = cls.__init__
    names: dict[str, Any] = {"_cls": cls, "_slow": slow, "_set": object.__setattr__, "_missing": MISSING}
    # Assigning `__class__` needs the same slots in the same order.
    names["_assignable"] = type(cls.__name__, (), {"__slots__": cls.__slots__})
    object.__setattr__(object.__new__(cls), "__class__", names["_assignable"])  # TypeError now rather than later
    parameters, assignments, arguments = ["self"], list[str](), list[str]()
    for field in fields(cls):
        name = field.name
        if field.kw_only and "*" not in parameters:
            parameters.append("*")
        arguments.append(f"{name}={name}" if field.kw_only else name)
        value = name
        if field.default is not MISSING:
            names[f"_default_{name}"] = field.default
            parameters.append(f"{name}=_default_{name}")
        elif field.default_factory is not MISSING:
            names[f"_make_{name}"] = field.default_factory
            parameters.append(f"{name}=_missing")
            value = f"_make_{name}() if {name} is _missing else {name}"
        else:
            parameters.append(name)
        assignments.append(f"    self.{name} = {value}")
    source = [
        f"def __init__({', '.join(parameters)}):",
        "    if self.__class__ is not _cls:",  # a subclass may have more slots
        f"        return _slow(self, {', '.join(arguments)})",
        "    _set(self, '__class__', _assignable)",
        *assignments,
        "    self.__class__ = _cls",
        *(["    self.__post_init__()"] if hasattr(cls, "__post_init__") else []),
    ]
    exec("\n".join(source), names)
    cls.__init__ = wraps(slow)(names["__init__"])
    return cls
