"""The tools of the server in an agent of LangChain, through langchain-mcp-adapters.

That package needs mcp 1 (its release 0.3), the server mcp 2, so the two cannot be in one environment. The wire is the
same: run this file in an environment with langchain-mcp-adapters, and name the Python that has the server in
REMANENCE_MCP_PYTHON.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult

adapters = pytest.importorskip(
    "langchain_mcp_adapters.client", reason="langchain-mcp-adapters needs mcp 1, the server mcp 2"
)


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


async def test_an_agent_remembers_and_recalls(home: Path) -> None:
    python = os.environ.get("REMANENCE_MCP_PYTHON", sys.executable)
    environment = {**os.environ, "REMANENCE_READER": "none"}
    arguments = ["-m", "remanence.cli", "--memory", str(home), "mcp"]
    server = {"command": python, "args": arguments, "transport": "stdio", "env": environment}
    tools = await adapters.MultiServerMCPClient({"memory": server}).get_tools()
    assert {"remember", "recall", "forget"} <= {tool.name for tool in tools}
    lines = [
        call("remember", text="Ana lives in Porto."),
        call("recall", query="Where does Ana live?"),
        AIMessage("Done."),
    ]
    answer = await create_agent(Script(lines=lines), tools=tools).ainvoke({"messages": [("user", "Hi")]})
    results = [message for message in answer["messages"] if message.type == "tool"]
    assert "Ana lives in Porto." in str(results[-1].content)
