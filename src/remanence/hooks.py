"""Where a program may follow what a space does. A step is a function with a name; while a hook is installed, the hook
calls it. `telemetry.py` makes spans of them. The names of operations are those of OpenTelemetry's conventions."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
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


def step(name: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """A function that a hook can follow."""

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        @wraps(function)
        def call(*args: P.args, **options: P.kwargs) -> T:
            if _hook is None:
                return function(*args, **options)
            result: T = _hook(name, function, args, options)
            return result

        return call

    return decorate
