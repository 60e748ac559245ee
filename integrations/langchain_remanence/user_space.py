"""Which space a run may read and write: a fixed one, or that of the user that the run names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any, TypeAlias
from uuid import UUID

from langchain_core.runnables.config import ensure_config
from typing_extensions import TypeIs

from remanence import InvalidInput
from remanence.adapters import is_view, require_space

if TYPE_CHECKING:
    from langchain_remanence.checkpoints import CheckpointView
    from remanence import Space
    from remanence.adapters import ErasureCertificate

SpaceLike: TypeAlias = "Space | CheckpointView"
SpaceOrFactory: TypeAlias = "SpaceLike | Callable[[Any], SpaceLike]"
"""One space for all runs, or a function from the runtime of a run to its space."""

USER_FIELDS = ("user_id", "langgraph_user_id")


def space_for(space: SpaceOrFactory, user_key: str | None, runtime: Any) -> SpaceLike:
    """Return the space that a run may read and write.

    With `user_key`, it is `space.child("users", id)`, with the id from that field of the run's context or config. A
    run that does not name its user is refused. So is a run that names one while all users share one space, which
    would mix their memories although nobody asked for it.
    """
    if not _is_space(space):
        returned = space(runtime)
        if not _is_space(returned):
            raise InvalidInput(f"the function for the space returned {returned!r} for this run. Return a Space.")
        return returned
    if user_key is not None:
        return space.child("users", _user_id(user_key, runtime))
    field = next((name for name in USER_FIELDS if _user_ids(name, runtime)), None)
    if field is not None:
        raise InvalidInput(
            f"this run names a user ({field!r}), but there is one space for all. Give user_key={field!r} for one "
            "space for each user; or, if they are to share one, a function: lambda runtime: space."
        )
    return space


def forget_user(space: Space, user_id: str | int | UUID) -> ErasureCertificate:
    """Erase everything of one user: the space that `user_key=` gives the user, and those below it.

    Args:
        space: The space that the middleware, tools or retriever were made with.

    Raises:
        InvalidInput: It cannot be the id of a user.

    Example:
        >>> import remanence
        >>> with remanence.open(None) as space:
        ...     _ = space.child("users", "bob").add("I am allergic to peanuts.")
        ...     len(forget_user(space, "bob")), space.spaces()
        (1, [])
    """
    checked = _as_id("user_id", user_id)
    if not checked:
        raise InvalidInput("user_id is empty. Give the id of a user.")
    return space.child("users", checked).erase_space()


def current_runtime() -> Any:
    """Return the runtime of the running graph, or None outside of one."""
    try:
        from langgraph.runtime import get_runtime
    except ModuleNotFoundError:  # tools and chains work without langgraph
        return None
    try:
        return get_runtime()
    except RuntimeError:
        return None


def thread_id_of(runtime: Any) -> str | None:
    """Return the thread id of a run, if it has one."""
    info = getattr(runtime, "execution_info", None)
    thread = _configurable().get("thread_id") or getattr(info, "thread_id", None)
    return None if thread is None else str(thread)


def check_space_and_user(space: object, user_key: object) -> None:
    """Raise InvalidInput for arguments with which `space_for` would fail in every run."""
    if not _is_space(space) and (not callable(space) or isinstance(space, type)):
        location = repr(str(space)) if isinstance(space, str | PathLike) else "'./memory'"
        raise InvalidInput(
            f"space={space!r} is neither a Space nor a function from a runtime to one. Open it: "
            f"remanence.open({location})."
        )
    if is_view(space):
        require_space(space)
    if user_key is not None and (not isinstance(user_key, str) or not user_key.strip()):
        raise InvalidInput(f"user_key={user_key!r} is not the name of a field. Give for example user_key='user_id'.")
    if user_key is not None and not _is_space(space):
        raise InvalidInput(f"both a function for the space and user_key={user_key!r} were given. Give one of the two.")


def _configurable() -> Mapping[str, Any]:
    return ensure_config().get("configurable") or {}


def _user_id(field: str, runtime: Any) -> str:
    ids = _user_ids(field, runtime)
    if len(ids) == 1:
        return ids[0]
    found = f"two different ones, {ids[0]!r} in its context and {ids[1]!r} in its config" if ids else "none"
    raise InvalidInput(
        f"the user of this run is unknown: it needs one id under {field!r}, and has {found}. Give it once, for "
        f"example agent.invoke(..., context={{{field!r}: 'bob'}}) with a context_schema that has it, or "
        f"config={{'configurable': {{{field!r}: 'bob'}}}}."
    )


def _user_ids(field: str, runtime: Any) -> list[str]:
    """The distinct ids under this field in the run's context and config."""
    context = getattr(runtime, "context", None)
    in_context = context.get(field) if isinstance(context, Mapping) else getattr(context, field, None)
    ids = [_as_id(field, value) for value in (in_context, _configurable().get(field))]
    return list(dict.fromkeys(value for value in ids if value))


def _as_id(field: str, value: object) -> str:
    if value is None or isinstance(value, str):
        return value if value and value.strip() else ""  # not stripped: "bob " may be another user than "bob"
    if isinstance(value, int | UUID) and not isinstance(value, bool):
        return str(value)
    raise InvalidInput(f"{field}={value!r} cannot be the id of a user. Give text or a number.")


def _is_space(value: object) -> TypeIs[SpaceLike]:
    return callable(getattr(value, "recall", None)) and not isinstance(value, type)
