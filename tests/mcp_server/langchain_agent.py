"""A program: an agent of LangChain whose tools are those of MCP servers, through langchain-mcp-adapters.

Its argument is a JSON object of the servers `stdio` and `http`, as `MultiServerMCPClient` takes them. It prints, for
each, the names of the tools and what they answered.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import BaseTool
from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_mcp_adapters.tools import load_mcp_tools


class Script(BaseChatModel):
    """Says its lines one after the other."""

    lines: list[Any]

    @property
    def _llm_type(self) -> str:
        return "script"

    def bind_tools(self, tools: Any, **options: Any) -> Any:
        return self

    def _generate(self, messages: Any, *args: Any, **options: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self.lines.pop(0))])


def call(tool: str, **arguments: Any) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": tool, "args": arguments, "id": tool}])


async def ask(tools: list[BaseTool]) -> dict[str, Any]:
    lines = [
        call("remember", text="Ana lives in Porto."),
        call("recall", query="Where does Ana live?"),
        AIMessage("Done."),
    ]
    answer = await create_agent(Script(lines=lines), tools=tools).ainvoke({"messages": [("user", "Hi")]})
    results = [str(message.content) for message in answer["messages"] if message.type == "tool"]
    return {"tools": [tool.name for tool in tools], "results": results}


async def main() -> None:
    client = MultiServerMCPClient(json.loads(sys.argv[1]))
    # One session for all calls, and as the documentation of the package has it first, one for each.
    async with client.session("stdio") as session:
        answers = {"stdio": await ask(await load_mcp_tools(session))}
    answers["http"] = await ask(await client.get_tools(server_name="http"))
    print(json.dumps(answers))


asyncio.run(main())
