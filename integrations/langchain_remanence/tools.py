"""The tools `remember`, `recall`, `forget` and `update`, for a model to call."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from langchain_core.tools import BaseTool, StructuredTool, ToolException
from pydantic import BaseModel, Field

from langchain_remanence.user_space import check_space_and_user, current_runtime, space_for
from remanence import RemanenceError
from remanence.adapters import (
    MAX_TOKENS,
    check_max_tokens,
    fill_block,
    is_space,
    remember_text,
    tool_name,
    update_memory,
)

if TYPE_CHECKING:
    from langchain_remanence.user_space import SpaceLike, SpaceOrFactory

_SOURCE = "agent"

# The docstrings and descriptions of these four classes are what the model reads.


class Remember(BaseModel, extra="forbid"):
    """Store something for later conversations: a fact, a preference, a decision. One thing at a time, in a
    sentence that can be understood on its own, with names in place of "he" or "there"."""

    text: str = Field(description="The sentence to store, for example 'Alice moved to Lisbon in May 2026.'")

    def run(self, space: SpaceLike) -> str:
        """Store the sentence, and the facts in it."""
        if is_space(space):
            return f"Remembered as {remember_text(space, self.text, source=_SOURCE).id}."
        return f"Remembered as {space.add(self.text, source=_SOURCE).id}."


class Recall(BaseModel, extra="forbid"):
    """Look up what is known from earlier conversations. Returns quoted memories, oldest first, with their ids,
    dates and sources."""

    question: str = Field(description="What to look up, as a question or in a few words")
    during: str | None = Field(None, description="Only what was true in this time, for example 'May 2026'")

    def run(self, space: SpaceLike, max_tokens: int | None = None) -> tuple[str, list[dict[str, Any]]]:
        """Return the memories as quoted text for the model, and as dicts for an application."""
        found = fill_block(space, self.question, max_tokens=max_tokens, ids=True, during=self.during)
        return found.text_or_reason, found.quoted.to_dicts()


class Forget(BaseModel, extra="forbid"):
    """Forget one memory from now on, with what was said that it was found in. Look it up first: its id is needed."""

    memory_id: str = Field(description="The id of the memory, as it was recalled")
    why: str | None = Field(None, description="Why it is to be forgotten")

    def run(self, space: SpaceLike) -> str:
        """Hide the memory."""
        if is_space(space):
            space.forget(self.memory_id, why=self.why, with_related=True)
        else:  # no facts are found in the turns of a fork
            space.forget(self.memory_id, why=self.why)
        return f"Forgotten: {self.memory_id}."


class Update(BaseModel, extra="forbid"):
    """Correct one memory, or bring it up to date, if what it says is wrong or has changed. Look it up first: its id is
    needed."""

    memory_id: str = Field(description="The id of the memory, as it was recalled")
    text: str = Field(
        description="The sentence that replaces it, understandable on its own, with what still holds of it"
    )

    def run(self, space: SpaceLike) -> str:
        """Replace the memory."""
        if is_space(space):
            return f"Updated: {update_memory(space, self.memory_id, self.text, source=_SOURCE).id}."
        space.forget(self.memory_id, why="it was updated")  # a fork of a thread has no links of its own
        return f"Updated: {space.add(self.text, source=_SOURCE).id}."


def memory_tools(
    space: SpaceOrFactory, *, user_key: str | None = None, max_tokens: int | None = MAX_TOKENS, prefix: str = ""
) -> list[BaseTool]:
    """Make the tools `remember`, `recall`, `forget` and `update`.

    An error of the memory (an unknown id, a blank text) is returned to the model, which may try again.

    Args:
        space: The space, or a function from the runtime of a run to it; as for `RemanenceMiddleware`.
        user_key: The field that holds the user id; as for `RemanenceMiddleware`.
        max_tokens: The token budget of what `recall` returns; None for no limit.
        prefix: What the names of the tools begin with, for an agent with the tools of two spaces: `prefix="work_"`
            gives `work_remember`.

    Raises:
        InvalidInput: An argument is not valid; or, in a run, the user is unknown.
    """
    check_space_and_user(space, user_key)
    budget = check_max_tokens(max_tokens)

    def tool(schema: type[Remember | Recall | Forget | Update], **options: Any) -> BaseTool:
        def act(run_space: SpaceLike, given: dict[str, Any]) -> Any:
            return schema(**given).run(run_space, **options)

        shape = "content_and_artifact" if schema is Recall else "content"
        name = tool_name(prefix, schema.__name__.lower())
        return tool_for_runs(space, user_key, name, schema, act, response_format=shape)

    return [tool(Remember), tool(Recall, max_tokens=budget), tool(Forget), tool(Update)]


def tool_for_runs(
    space: SpaceOrFactory,
    user_key: str | None,
    name: str,
    schema: type[BaseModel],
    act: Callable[[SpaceLike, dict[str, Any]], Any],
    **options: Any,
) -> BaseTool:
    """A tool that acts on the space of the run that calls it. The model reads what the memory refuses."""

    def call(**arguments: Any) -> Any:
        # Outside of `try`: an error about the user is not for the model.
        run_space = space_for(space, user_key, current_runtime())
        try:
            return act(run_space, arguments)
        except RemanenceError as error:
            raise ToolException(str(error)) from error

    description = " ".join((schema.__doc__ or "").split())
    return StructuredTool.from_function(
        call, name=name, description=description, args_schema=schema, handle_tool_error=True, **options
    )
