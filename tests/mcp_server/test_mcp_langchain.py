"""The tools of the server in an agent of LangChain, through `langchain.mcp`."""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest
from mcp_calls import serving

import remanence
from remanence_server.mcp import make_server

pytest.importorskip("fastmcp", reason="needs langchain[mcp]")

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # langchain.mcp says that it is in beta
    from langchain.mcp import MCPAdapter

from langchain.agents import create_agent
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult


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


async def remember_and_recall(target: Any) -> tuple[set[str], str]:
    """The names of the tools, and what the last one answered to an agent."""
    async with MCPAdapter(target) as adapter:
        tools = await adapter.list_tools()
        lines = [
            call("remember", text="Ana lives in Porto."),
            call("recall", query="Where does Ana live?"),
            AIMessage("Done."),
        ]
        answer = await create_agent(Script(lines=lines), tools=tools).ainvoke({"messages": [("user", "Hi")]})
    return {tool.name for tool in tools}, str([m.content for m in answer["messages"] if m.type == "tool"][-1])


@pytest.mark.slow
@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_an_agent_remembers_and_recalls(home: Path, space: remanence.Space, transport: str) -> None:
    """Over standard input, in a process of its own, and over streamable HTTP."""
    if transport == "http":
        with serving(make_server(space)) as url:
            names, told = await remember_and_recall(url)
        stored = [memory.text for memory in space.memories()]
    else:
        command = {"command": sys.executable, "args": ["-m", "remanence.cli", "--memory", str(home), "mcp"]}
        names, told = await remember_and_recall({"mcpServers": {"memory": command | {"env": dict(os.environ)}}})
        with remanence.open(home) as opened:
            stored = [memory.text for memory in opened.memories()]
    assert {"remember", "recall", "forget"} <= names
    assert "Ana lives in Porto." in told
    assert stored == ["Ana lives in Porto."]
