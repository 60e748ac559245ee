"""One user's memory never reaches another's prompt."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any, TypedDict
from uuid import UUID

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from langchain_models import Actor, Parrot, asked
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import BaseModel

from framed import recalled
from langchain_remanence import RemanenceMiddleware, memory_tools
from remanence import InvalidInput, Space


@dataclass
class AsDataclass:
    user_id: Any = None


class AsDict(TypedDict, total=False):
    user_id: str


class AsModel(BaseModel):
    user_id: str | None = None


def hello(agent: Any, context: Any = None, **configurable: Any) -> Any:
    return agent.invoke({"messages": [("user", "Who am I?")]}, {"configurable": configurable}, context=context)


@pytest.mark.run_config
@pytest.mark.slow
async def test_many_users_at_once_each_see_their_own(space: Space, at_once: int) -> None:
    """A model that repeats all it was given, three turns each, all at the same time, by both ways of saying
    who it is: no answer and no space holds anything of anybody else."""
    names = [f"user{number:02}" for number in range(at_once)]
    for name in names:
        space.child("users", name).add(f"My secret word is zebra-{name}.")
    memory = RemanenceMiddleware(space, user_key="user_id")
    agent = create_agent(Parrot(), middleware=[memory], context_schema=AsDataclass, checkpointer=InMemorySaver())

    async def talk(number: int, name: str) -> list[str]:
        said = []
        for turn in range(3):
            config: dict[str, Any] = {"configurable": {"thread_id": f"thread-{name}-{turn}"}}
            context = AsDataclass(name) if number % 2 else None
            if context is None:
                config["configurable"]["user_id"] = name
            question = f"What is my secret word? ({turn}, {name})"
            answer = await agent.ainvoke({"messages": [("user", question)]}, config, context=context)
            said.append(str(answer["messages"][-1].text))
        return said

    told = await asyncio.gather(*(talk(number, name) for number, name in enumerate(names)))
    for name, answers in zip(names, told, strict=True):
        held = [memory.text for memory in space.child("users", name).memories()]
        assert all(f"zebra-{name}" in answer for answer in answers)
        assert len(held) == 7
        for text in (*answers, *held):
            assert not any(other in text for other in names if other != name)
    assert space.count() == 0


@pytest.mark.parametrize(
    ("schema", "context"),
    [(AsDataclass, AsDataclass("ana")), (AsDict, {"user_id": "ana"}), (AsModel, AsModel(user_id="ana"))],
)
def test_the_context_may_be_of_any_make(space: Space, schema: Any, context: Any) -> None:
    """A dataclass, a dict or a model."""
    space.child("users", "ana").add("I am Ana.")
    model = Actor(lines=["Ana."])
    agent = create_agent(model, middleware=[RemanenceMiddleware(space, user_key="user_id")], context_schema=schema)
    hello(agent, context)

    assert recalled(asked(model.prompts[0]))[0]["text"] == "I am Ana."


@pytest.mark.parametrize(
    "user", ["ana@example.com", " ana ", "ana/../bob", "日本", 7, UUID("12345678123456781234567812345678")]
)
@pytest.mark.not_remote  # the test client of Starlette decodes a path twice
def test_an_id_may_hold_anything_that_can_be_read(space: Space, user: Any) -> None:
    """Slashes and dots lead nowhere else."""
    agent = create_agent(Actor(lines=["Hm."]), middleware=[RemanenceMiddleware(space, user_key="user_id")])
    hello(agent, user_id=user)

    assert space.child("users", str(user)).count() == 2
    assert len(space.spaces()) == 1


@pytest.mark.run_config
@pytest.mark.parametrize(
    ("context", "configurable", "problem"),
    [
        (None, {}, "has none"),
        (AsDataclass(None), {}, "has none"),
        (AsDataclass("  "), {"user_id": ""}, "has none"),
        (AsDataclass("ana"), {"user_id": "bob"}, "two different ones, 'ana' in its context and 'bob' in its config"),
        (AsDataclass(["ana"]), {}, r"user_id=\['ana'\] cannot be the id"),
        (AsDataclass(True), {}, "user_id=True cannot be the id"),
    ],
)
async def test_a_run_that_does_not_say_whose_memory_it_wants_is_refused(
    space: Space, context: Any, configurable: dict[str, Any], problem: str
) -> None:
    """It gets an error, not a shared space; nothing is asked and nothing kept."""
    model = Actor(lines=["Hm."])
    agent = create_agent(model, middleware=[RemanenceMiddleware(space, user_key="user_id")], context_schema=AsDataclass)
    with pytest.raises(InvalidInput, match=problem):
        hello(agent, context, **configurable)
    with pytest.raises(InvalidInput, match=problem):
        await agent.ainvoke({"messages": [("user", "Who am I?")]}, {"configurable": configurable}, context=context)

    assert model.prompts == []
    assert space.spaces() == []


def test_one_space_for_all_is_not_given_to_a_run_that_names_a_user(space: Space) -> None:
    """Whoever forgot `user=` hears of it at once, with both ways out."""
    agent = create_agent(Actor(lines=["Hm."]), middleware=[RemanenceMiddleware(space)], context_schema=AsDataclass)
    hello(agent)
    with pytest.raises(InvalidInput, match=r"user_key='user_id' for one space for each user; or, .* a function"):
        hello(agent, AsDataclass("ana"))
    with pytest.raises(InvalidInput, match="names a user"):
        hello(agent, langgraph_user_id="ana")

    assert space.count() == 2


def test_a_function_says_whose_space_it_is(space: Space) -> None:
    """For every other way of knowing who is there."""
    by_team = RemanenceMiddleware(lambda runtime: space.child("teams", runtime.context.user_id.split("-")[0]))
    agent = create_agent(Actor(lines=["Hm."]), middleware=[by_team], context_schema=AsDataclass)
    hello(agent, AsDataclass("red-ana"))
    hello(agent, AsDataclass("red-bob"))

    assert space.child("teams", "red").count() == 4
    assert space.spaces() == ["default/teams/red"]


def test_a_function_that_gives_no_space_is_refused(space: Space) -> None:
    """Rather than taken for no memory."""
    agent = create_agent(Actor(lines=["Hm."]), middleware=[RemanenceMiddleware(lambda runtime: None)])
    with pytest.raises(InvalidInput, match="returned None for this run"):
        hello(agent)


async def test_tools_act_on_the_memory_of_the_user_who_is_there(space: Space) -> None:
    """Twenty users remember by tool at the same time."""

    def call(name: str) -> AIMessage:
        return AIMessage("", tool_calls=[{"name": "remember", "args": {"text": f"This is {name}."}, "id": "1"}])

    async def talk(name: str) -> None:
        agent = create_agent(Actor(lines=[call(name), "Done."]), memory_tools(space, user_key="user_id"))
        await agent.ainvoke({"messages": [("user", "Hi.")]}, {"configurable": {"user_id": name}})

    names = [f"user{number:02}" for number in range(20)]
    await asyncio.gather(*(talk(name) for name in names))
    for name in names:
        assert [memory.text for memory in space.child("users", name).memories()] == [f"This is {name}."]


def test_a_tool_without_a_user_is_refused(space: Space) -> None:
    """The error rises to whoever runs the agent; the model is not told to make up an id."""
    remember = memory_tools(space, user_key="user_id")[0]
    with pytest.raises(InvalidInput, match="the user of this run is unknown"):
        remember.invoke({"text": "This is Ana."})
    remember.invoke({"text": "This is Ana."}, {"configurable": {"user_id": "ana"}})

    assert space.spaces() == ["default/users/ana"]
