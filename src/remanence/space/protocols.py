"""What a space is to whoever calls it: one of this machine (`Space`), or one of a server (`RemoteSpace`).

A type checker sees the methods of `Space` and `View` with their signatures; these protocols tell, when the program
runs, what is a space, what is a view of one, and what is neither.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from typing_extensions import TypeIs

    from remanence.recall.answer import Recall
    from remanence.space.space import Space
    from remanence.space.view import View


@runtime_checkable
class AnyView(Protocol):
    """A space as it was known at one moment, or as it is now."""

    @property
    def recall(self) -> Callable[..., Recall]: ...

    @property
    def memories(self) -> Callable[..., Any]: ...

    @property
    def as_of(self) -> Callable[..., Any]: ...


@runtime_checkable
class AnySpace(AnyView, Protocol):
    """A space that can be written to."""

    @property
    def remember(self) -> Callable[..., Any]: ...

    @property
    def erase_space(self) -> Callable[..., Any]: ...

    @property
    def child(self) -> Callable[..., Any]: ...


def is_space(value: object) -> TypeIs[Space]:
    """Return whether this is a space that can be written to, of this machine or of a server.

    Example:
        >>> import remanence
        >>> with remanence.open(None) as space:
        ...     is_space(space), is_space(space.as_of("2026-05-01"))
        (True, False)
    """
    return isinstance(value, AnySpace) and not isinstance(value, type)


def is_view(value: object) -> TypeIs[View]:
    """Return whether this is a space, or a view of one."""
    return isinstance(value, AnyView) and not isinstance(value, type)
