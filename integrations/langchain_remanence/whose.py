"""Whose space: the one that was given, or that of the user a run names. Never somebody else's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias
from uuid import UUID

from langchain_core.runnables.config import ensure_config
from typing_extensions import TypeIs

from remanence import InvalidInput

if TYPE_CHECKING:
    from langchain_remanence.checkpoints import CheckpointView
    from remanence import Space

SpaceLike: TypeAlias = "Space | CheckpointView"
"""What memory is asked and told through: a space, or one that follows the checkpoints of its thread."""
SpaceOrFactory: TypeAlias = "SpaceLike | Callable[[Any], SpaceLike]"
"""One for all, or a function from the runtime of a run to the one that it may see."""

USER_FIELDS = ("user_id", "langgraph_user_id")


def space_for(space: SpaceOrFactory, user: str | None, runtime: Any) -> SpaceLike:
    """The space that a run may read and write.

    A function is asked. With `user`, it is `space.child("users", id)`, where the id stands under that name in
    the run's context or in its config. A space alone is for everybody whom the agent serves, so a run that
    names a user is refused: their memories would lie with everybody else's without anybody having said so.
    """
    if not _is_space(space):
        made = space(runtime)
        if not _is_space(made):
            raise InvalidInput(f"the function for the space gave {made!r} for this run. Return a Space.")
        return made
    if user is not None:
        return space.child("users", _user_id(user, runtime))
    named = next((name for name in USER_FIELDS if _given(name, runtime)), None)
    if named is not None:
        raise InvalidInput(
            f"this run names a user ({named!r}), but there is one space for all. Give user={named!r} for a "
            "space of each user's own; or, if they are to share one, a function: lambda runtime: space."
        )
    return space


def current_runtime() -> Any:
    """The runtime of the graph that is running, or None outside of one."""
    try:
        from langgraph.runtime import get_runtime
    except ModuleNotFoundError:  # tools and chains work without langgraph
        return None
    try:
        return get_runtime()
    except RuntimeError:
        return None


def thread_id_of(runtime: Any) -> str | None:
    """The thread that a run belongs to, if it says so."""
    info = getattr(runtime, "execution_info", None)
    thread = configurable().get("thread_id") or getattr(info, "thread_id", None)
    return None if thread is None else str(thread)


def configurable() -> Mapping[str, Any]:
    """What the caller put under "configurable" in the config of the run."""
    return ensure_config().get("configurable") or {}


def check_space_and_user(space: object, user: object) -> None:
    """Refuse, before any run, what can never say whose space it is."""
    if not _is_space(space) and (not callable(space) or isinstance(space, type)):
        raise InvalidInput(f"space={space!r} is neither a Space nor a function from a runtime to one.")
    if user is not None and (not isinstance(user, str) or not user.strip()):
        raise InvalidInput(f"user={user!r} is not the name of a field. Give for example user='user_id'.")
    if user is not None and not _is_space(space):
        raise InvalidInput(f"both a function for the space and user={user!r}. Give one of the two.")


def _user_id(field: str, runtime: Any) -> str:
    given = _given(field, runtime)
    if len(given) == 1:
        return given[0]
    found = f"two different ones, {given[0]!r} in its context and {given[1]!r} in its config" if given else "none"
    raise InvalidInput(
        f"whose memory? This run has to name its user under {field!r}, and has {found}. Give it once, for "
        f"example agent.invoke(..., context={{{field!r}: 'bob'}}) with a context_schema that has it, or "
        f"config={{'configurable': {{{field!r}: 'bob'}}}}."
    )


def _given(field: str, runtime: Any) -> list[str]:
    """The ids under this name in the run's context and its config, each once."""
    context = getattr(runtime, "context", None)
    inside = context.get(field) if isinstance(context, Mapping) else getattr(context, field, None)
    found = [_as_id(field, value) for value in (inside, configurable().get(field))]
    return list(dict.fromkeys(value for value in found if value))


def _as_id(field: str, value: object) -> str:
    if value is None or isinstance(value, str):
        return value if value and value.strip() else ""  # as it is: "bob " may be somebody else than "bob"
    if isinstance(value, int | UUID) and not isinstance(value, bool):
        return str(value)
    raise InvalidInput(f"{field}={value!r} cannot be the id of a user. Give text or a number.")


def _is_space(value: object) -> TypeIs[SpaceLike]:
    return callable(getattr(value, "recall", None)) and not isinstance(value, type)
