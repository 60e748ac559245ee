"""Claude's memory tool for `create_agent`, with its files in a space."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Literal

from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
from langchain_core.tools import BaseTool
from pydantic import BaseModel, Field

from langchain_remanence.messages import append_text
from langchain_remanence.tools import tool_for_runs
from langchain_remanence.tracing import NO_PAYLOADS
from langchain_remanence.user_space import check_space_and_user
from remanence import MemoryFiles
from remanence.adapters import require_space

if TYPE_CHECKING:
    from langchain_remanence.user_space import SpaceLike, SpaceOrFactory

TOOL_NAME = "memory"
NATIVE_TOOL = {"type": "memory_20250818", "name": TOOL_NAME}
_ANTHROPIC = "anthropic"

SYSTEM_PROMPT = """Your notes from earlier conversations are files below /memories, which you read and write with the \
tool `memory`.
1. Before anything else, view /memories, and the files there that may help with this task.
2. While you work, write down what a later conversation needs: progress, decisions, what the user told you.
3. Keep the files short and up to date: correct what has changed, delete what is no longer needed.
Your context may end at any moment. What is not in a file below /memories is lost then."""


class MemoryCommand(BaseModel):
    """Read and write the files below /memories, in which notes for later conversations are kept."""

    command: Literal["view", "create", "str_replace", "insert", "delete", "rename"] = Field(
        description="view a file or folder; create a file; str_replace a text that occurs once in a file; insert a "
        "text after a line; delete a file or folder; rename a file or folder"
    )
    path: str | None = Field(None, description="The file or folder, for example /memories/project.md")
    view_range: list[int] | None = Field(None, description="For view: the first and the last line to show")
    file_text: str | None = Field(None, description="For create: the text of the file")
    old_str: str | None = Field(None, description="For str_replace: the text to replace, exactly as it is")
    new_str: str | None = Field(None, description="For str_replace: the text in its place")
    insert_line: int | None = Field(None, description="For insert: the line to insert after; 0 is the beginning")
    insert_text: str | None = Field(None, description="For insert: the text")
    old_path: str | None = Field(None, description="For rename: the file or folder")
    new_path: str | None = Field(None, description="For rename: its new path")


class ClaudeMemoryMiddleware(AgentMiddleware[Any, Any, Any]):
    """The tool `memory` with its files in a space: `create_agent(model, middleware=[ClaudeMemoryMiddleware(space)])`.

    It takes the place of `StateClaudeMemoryMiddleware` and `FilesystemClaudeMemoryMiddleware` of langchain-anthropic.
    A model of Anthropic gets its own tool `memory_20250818`; any other model gets a tool of the same name with a
    schema. Every edit is a version, so `MemoryFiles(space).history(path)` has all that was ever written.

    Args:
        space: One space for a single user; or, with `user_key`, the parent space of all users; or a function from the
            runtime of a run to its space.
        user_key: The field of the run's context or config that holds the user id, for example "user_id".
        recallable: True keeps the files among the memories of the space; see `remanence.MemoryFiles`.
        system_prompt: What is added to the system message, so that the model uses the tool; None adds nothing.

    Raises:
        InvalidInput: An argument is not valid; or, in a run, the user is unknown.

    Example:
        >>> import remanence
        >>> with remanence.open(None) as space:
        ...     [memory] = ClaudeMemoryMiddleware(space).tools
        ...     memory.invoke({"command": "create", "path": "/memories/tea.md", "file_text": "Green."})
        'File created successfully at: /memories/tea.md'
    """

    trace_policy = NO_PAYLOADS  # set another one, or None, to have instructions and files in traces

    def __init__(
        self,
        space: SpaceOrFactory,
        *,
        user_key: str | None = None,
        recallable: bool = False,
        system_prompt: str | None = SYSTEM_PROMPT,
    ) -> None:
        check_space_and_user(space, user_key)
        self.space, self.user_key, self.recallable, self.system_prompt = space, user_key, recallable, system_prompt
        self.tools: list[BaseTool] = [tool_for_runs(space, user_key, TOOL_NAME, MemoryCommand, self._run)]

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Call the model with the instructions and, if it has one, its own memory tool."""
        return handler(self._prepared(request))

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        """`wrap_model_call` on an event loop."""
        return await handler(self._prepared(request))

    def _prepared(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        if self.system_prompt is not None:
            request = request.override(system_message=append_text(request.system_message, self.system_prompt))
        if not getattr(request.model, "_llm_type", "").startswith(_ANTHROPIC):
            return request
        others = [tool for tool in request.tools if getattr(tool, "name", None) != TOOL_NAME]
        return request.override(tools=[*others, dict(NATIVE_TOOL)])

    def _run(self, space: SpaceLike, arguments: dict[str, Any]) -> str:
        return MemoryFiles(require_space(space), recallable=self.recallable).run(arguments)
