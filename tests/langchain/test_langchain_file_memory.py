"""Claude's memory tool in an agent: the files are in a space, and each user has their own."""

from __future__ import annotations

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from langchain_models import WAYS, Actor, run, system
from pydantic import Field

import remanence
from langchain_remanence import ClaudeMemoryMiddleware
from remanence import InvalidInput, MemoryFiles

NOTES = "/memories/notes.md"


def call(number: int = 1, **arguments: Any) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": "memory", "args": arguments, "id": f"call_{number}"}])


def agent_of(space: Any, *lines: Any, **options: Any) -> tuple[Any, Actor]:
    model = Actor(lines=[*lines, "Done."])
    return create_agent(model, middleware=[ClaudeMemoryMiddleware(space, **options)]), model


@pytest.mark.parametrize("way", WAYS)
def test_an_agent_writes_and_reads_its_notes(space: remanence.Space, way: str) -> None:
    """With the names that Claude uses for the arguments, and those that LangChain uses."""
    agent, model = agent_of(
        space,
        call(1, command="create", path=NOTES, file_text="one\n"),
        call(2, command="insert", path=NOTES, insert_line=1, insert_text="two"),
        call(3, command="insert", path=NOTES, insert_line=2, new_str="three"),
        call(4, command="rename", path=NOTES, new_path="/memories/n.md"),
        call(5, command="rename", old_path="/memories/n.md", new_path="/memories/m.md"),
        call(6, command="view", path="/memories"),
    )
    answer = run(way, agent, "Keep notes.")

    results = [message for message in answer["messages"] if message.type == "tool"]
    assert [result.status for result in results] == ["success"] * 6
    assert results[-1].content.endswith("14B\t/memories/m.md")
    assert MemoryFiles(space).read("/memories/m.md").content == "one\ntwo\nthree\n"
    assert "view /memories" in system(model.prompts[0])


@pytest.mark.parametrize("way", WAYS)
def test_an_error_is_returned_to_the_model(space: remanence.Space, way: str) -> None:
    """Which can then try something else."""
    agent, _ = agent_of(
        space, call(1, command="view", path="/memories/no"), call(2, command="view", path="/etc/passwd")
    )
    answer = run(way, agent, "Look.")

    results = [message for message in answer["messages"] if message.type == "tool"]
    assert [result.status for result in results] == ["error", "error"]
    assert results[0].content == "The path /memories/no does not exist. Please provide a valid path."
    assert results[1].content == "Path must start with /memories, got: /etc/passwd"


@pytest.mark.run_config
@pytest.mark.parametrize("way", WAYS)
def test_each_user_has_their_own_files(space: remanence.Space, way: str) -> None:
    agent, _ = agent_of(space, call(1, command="create", path=NOTES, file_text="of Ana"), "Done.", user_key="user_id")
    run(way, agent, "Hi", {"configurable": {"user_id": "ana"}})
    other, _ = agent_of(space, call(1, command="view", path="/memories"), "Done.", user_key="user_id")
    seen = run(way, other, "Hi", {"configurable": {"user_id": "bob"}})

    assert MemoryFiles(space.child("users", "ana")).read(NOTES).content == "of Ana"
    assert NOTES not in str(seen["messages"])
    with pytest.raises(InvalidInput, match="the user of this run is unknown"):
        run(way, agent_of(space, call(1, command="view", path="/memories"), user_key="user_id")[0], "Hi")


def test_a_model_of_anthropic_gets_its_own_tool(space: remanence.Space) -> None:
    """The tool that it was trained on, beside the other tools; every other model gets a schema."""

    class Claude(Actor):
        bound: list[Any] = Field(default_factory=list)

        @property
        def _llm_type(self) -> str:
            return "anthropic-chat"

        def bind_tools(self, tools: Any, **options: Any) -> Any:
            self.bound[:] = tools
            return self

    def weather(city: str) -> str:
        """The weather."""
        return city

    claude = Claude(lines=["Done."])
    create_agent(claude, tools=[weather], middleware=[ClaudeMemoryMiddleware(space)]).invoke(
        {"messages": [("user", "Hi")]}
    )
    assert [getattr(tool, "name", tool) for tool in claude.bound] == [
        "weather",
        {"type": "memory_20250818", "name": "memory"},
    ]


@pytest.mark.slow
def test_a_chat_model_of_langchain_anthropic_takes_the_tool(space: remanence.Space) -> None:
    """The request that it would send names the tool and the beta that it belongs to."""
    anthropic = pytest.importorskip("langchain_anthropic", reason="needs langchain-anthropic")
    model = anthropic.ChatAnthropic(model="claude-sonnet-4-5", api_key="none")
    sent: list[Any] = []

    class Stop(Exception):
        pass

    def create(payload: Any, **options: Any) -> Any:
        sent.append(payload)
        raise Stop

    object.__setattr__(model, "_create", create)
    with pytest.raises(Stop):
        create_agent(model, middleware=[ClaudeMemoryMiddleware(space)]).invoke({"messages": [("user", "Hi")]})
    [payload] = sent
    assert payload["tools"] == [{"type": "memory_20250818", "name": "memory"}]
    assert "context-management-2025-06-27" in payload["betas"]
    assert "/memories" in str(payload["system"])


def test_nothing_but_a_space_is_taken(space: remanence.Space) -> None:
    with pytest.raises(InvalidInput, match="neither a Space nor a function"):
        ClaudeMemoryMiddleware("./memory")  # type: ignore[arg-type]
    no_prompt, model = agent_of(space, system_prompt=None)
    no_prompt.invoke({"messages": [("user", "Hi")]})
    assert system(model.prompts[0]) == ""
