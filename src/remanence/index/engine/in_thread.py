"""Async variants of methods, with the same types, and work that ends when nobody waits for it."""

from __future__ import annotations

import inspect
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextvars import ContextVar
from typing import Any, Concatenate, ParamSpec, TypeVar

Self = TypeVar("Self")
P = ParamSpec("P")
T = TypeVar("T")


def in_thread(method: Callable[Concatenate[Self, P], T]) -> Callable[Concatenate[Self, P], Coroutine[Any, Any, T]]:
    """An async variant of a method. It has the same parameters and does not block the event loop.

    Example:
        >>> import asyncio
        >>> class Shelf:
        ...     def count(self, start: int = 0) -> int:
        ...         return start + 1
        ...     acount = in_thread(count)
        >>> asyncio.run(Shelf().acount(start=1))
        2
    """
    name = method.__name__

    async def run(self: Self, /, *args: P.args, **kwargs: P.kwargs) -> T:
        import asyncio  # here, as it takes long to load and most programs do not use it

        # By name, so that a subclass that overrides the method gets the variant for free.
        bound: Callable[P, T] = getattr(self, name)
        return await asyncio.to_thread(bound, *args, **kwargs)

    return _named(run, method)


def iterate_in_thread(
    method: Callable[Concatenate[Self, P], Iterator[T]],
) -> Callable[Concatenate[Self, P], AsyncIterator[T]]:
    """An async variant of a method that returns an iterator: items are fetched in a worker thread."""
    name = method.__name__

    async def run(self: Self, /, *args: P.args, **kwargs: P.kwargs) -> AsyncIterator[T]:
        import asyncio

        bound: Callable[P, Iterator[T]] = getattr(self, name)
        items = await asyncio.to_thread(bound, *args, **kwargs)
        end = object()
        while (item := await asyncio.to_thread(next, items, end)) is not end:
            yield item  # type: ignore[misc]  # `end` is the only item that is not a T

    return _named(run, method)


class WorkCancelled(BaseException):
    """Nobody waits for the result of this work any more. It is no Exception: no part of the work handles it."""


_cancelled: ContextVar[threading.Event | None] = ContextVar("remanence_cancelled", default=None)


def cancel_with(event: threading.Event) -> None:
    """Let the work of this context end, at its next step, once the event is set."""
    _cancelled.set(event)


def check_cancelled() -> None:
    """Raise `WorkCancelled` if nobody waits for the work of this context any more."""
    event = _cancelled.get()
    if event is not None and event.is_set():
        raise WorkCancelled


_Made = TypeVar("_Made", bound=Callable[..., Any])


def _named(run: _Made, method: Callable[..., Any]) -> _Made:
    run.__name__ = f"a{method.__name__}"
    run.__qualname__ = f"{method.__qualname__.rpartition('.')[0]}.{run.__name__}"
    run.__module__ = method.__module__
    run.__doc__ = f"`{method.__name__}` in a worker thread, for use with asyncio. It has the same parameters."
    run.__signature__ = inspect.signature(method)  # type: ignore[attr-defined]  # for help() and editors
    return run


class ClosedAtEnd:
    """What a `with` or `async with` block closes at its end."""

    def close(self) -> None:
        """Release everything that it holds."""
        raise NotImplementedError

    aclose = in_thread(close)

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    async def __aenter__(self: Self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.aclose()
