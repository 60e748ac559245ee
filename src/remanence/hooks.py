"""Around the methods of a space: errors that name what is meant, and where a program may follow what a space does.

A step is a function with a name; while a hook is installed, the hook
calls it. `telemetry.py` makes spans of them. The names of operations are those of OpenTelemetry's conventions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from difflib import get_close_matches
from functools import wraps
from inspect import signature
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

Hook = Callable[[str, Callable[..., Any], tuple[Any, ...], dict[str, Any]], Any]
"""Is given the name of a step, its function and the arguments, and returns what the function returns."""
_hook: Hook | None = None


def install_hook(hook: Hook | None) -> None:
    """Have all steps called by this hook from now on; by none, with None."""
    global _hook
    _hook = hook


def installed_hook() -> Hook | None:
    """The hook that calls all steps, if there is one."""
    return _hook


OTHER_NAMES = {
    **dict.fromkeys(("k", "top_k", "n_results", "similarity_top_k"), "limit"),
    **dict.fromkeys(("filter", "filters", "metadata"), "meta"),
    **dict.fromkeys(("search", "query"), "recall"),
    **dict.fromkeys(("get_all", "list"), "memories"),
    "delete": "forget",
    "update": "revise",
}
"""What other memories and vector stores call the methods and arguments of a space."""


def naming_arguments(function: Callable[P, T]) -> Callable[P, T]:
    """A function whose error about an unknown argument names the function, and the argument that is meant."""

    @wraps(function)
    def call(*args: P.args, **options: P.kwargs) -> T:
        try:
            return function(*args, **options)
        except TypeError:
            known = list(signature(function).parameters)
            if not (unknown := [name for name in options if name not in known]):
                raise
            message = f"{function.__name__}() got an unexpected keyword argument {unknown[0]!r}."
            raise TypeError(message + _did_you_mean(unknown[0], known)) from None

    return call


def missing_attribute(self: object, name: str) -> Any:
    """The `__getattr__` of a space: an error that names the method that is meant."""
    hint = "" if name.startswith("_") else _did_you_mean(name, dir(type(self)))
    raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}.{hint}")


def _did_you_mean(name: str, known: Sequence[str]) -> str:
    near = [OTHER_NAMES[name]] if OTHER_NAMES.get(name) in known else get_close_matches(name, known, n=1)
    return f" Did you mean {near[0]}?" if near else ""


def step(name: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """A function that a hook can follow."""

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        function = naming_arguments(function)

        @wraps(function)
        def call(*args: P.args, **options: P.kwargs) -> T:
            if _hook is None:
                return function(*args, **options)
            result: T = _hook(name, function, args, options)
            return result

        return call

    return decorate
