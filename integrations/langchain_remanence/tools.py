"""`remember`, `recall` and `forget` as tools that a model may call."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from langchain_core.tools import BaseTool, StructuredTool, ToolException
from pydantic import BaseModel, Field

from langchain_remanence.whose import check_space_and_user, current_runtime, space_for
from remanence import RemanenceError
from remanence.language.framing import check_token_limit, frame

if TYPE_CHECKING:
    from langchain_remanence.whose import SpaceLike, SpaceOrFactory


class Remember(BaseModel):
    """Keep something for later conversations: a fact, a preference, a decision. One thing at a time, in a
    sentence that can be understood on its own, with names in place of "he" or "there"."""

    text: str = Field(description="The sentence to keep, for example 'Alice moved to Lisbon in May 2026.'")

    def on(self, space: SpaceLike) -> str:
        """Keep it, and say under which id."""
        return f"Remembered as {space.add(self.text, source='agent').id}."


class Recall(BaseModel):
    """Look up what is known from earlier conversations. Gives quoted memories, best first, with their ids,
    dates and sources."""

    question: str = Field(description="What to look up, as a question or in a few words")
    limit: int = Field(5, description="How many memories to give at most", ge=1, le=50)
    during: str | None = Field(None, description="Only what was true in this time, for example 'May 2026'")

    def on(self, space: SpaceLike, tokens: int | None = None) -> tuple[str, list[dict[str, Any]]]:
        """What is found, quoted; and as dicts, for whoever draws it on a screen."""
        found = space.recall(self.question, limit=self.limit, during=self.during)
        said = [frame(found, tokens=tokens, ids=True) or "Nothing is remembered about that."]
        said += [f"Looked up without {signal}: {why}" for signal, why in found.missing.items()]
        return "\n".join(said), found.to_dicts()


class Forget(BaseModel):
    """Forget one memory from now on. Look it up first: its id is needed."""

    memory_id: str = Field(description="The id of the memory, as it was recalled")
    why: str | None = Field(None, description="Why it is to be forgotten")

    def on(self, space: SpaceLike) -> str:
        """Hide it."""
        space.forget(self.memory_id, why=self.why)
        return f"Forgotten: {self.memory_id}."


def memory_tools(space: SpaceOrFactory, *, user: str | None = None, tokens: int | None = 1_000) -> list[BaseTool]:
    """The tools `remember`, `recall` and `forget`; what is recalled takes at most so many tokens.

    `space` and `user` say whose memory they act on, as for `MemoryMiddleware`. What memory refuses (an
    unknown id, a blank text) is told to the model, which may try again.

    >>> import remanence
    >>> with remanence.open(None) as space:
    ...     remember, recall, forget = memory_tools(space)
    ...     remember.invoke({"text": "Alice lives in Porto."})[:14]
    'Remembered as '
    """
    check_space_and_user(space, user)
    most = check_token_limit(tokens)

    def tool(name: str, asked: type[Remember | Recall | Forget], **options: Any) -> BaseTool:
        def call(**given: Any) -> Any:
            held = space_for(space, user, current_runtime())  # whose memory: not for the model to hear
            try:
                return asked(**given).on(held, **options)
            except RemanenceError as error:
                raise ToolException(str(error)) from error

        async def acall(**given: Any) -> Any:
            return await asyncio.to_thread(call, **given)

        return StructuredTool.from_function(
            call,
            acall,
            name=name,
            description=" ".join((asked.__doc__ or "").split()),
            args_schema=asked,
            response_format="content_and_artifact" if asked is Recall else "content",
            handle_tool_error=True,
        )

    return [tool("remember", Remember), tool("recall", Recall, tokens=most), tool("forget", Forget)]
