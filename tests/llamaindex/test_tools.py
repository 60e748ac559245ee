"""The tool spec: what a model is told of the tools, and what they do."""

from __future__ import annotations

import threading

import pytest
from llama_index.core.tools import FunctionTool

import remanence
from llama_index_remanence import RemanenceToolSpec
from llamaindex.scripted import Counting, broken


@pytest.fixture
def tools(space: remanence.Space) -> dict[str, FunctionTool]:
    """The three, by name."""
    return {str(tool.metadata.name): tool for tool in RemanenceToolSpec(space).to_tool_list()}


def test_a_model_can_read_what_they_take(tools: dict[str, FunctionTool]) -> None:
    """Names, types, which may be left out, and what they are for."""
    assert list(tools) == ["remember", "recall", "forget"]
    schema = {name: tool.metadata.get_parameters_dict() for name, tool in tools.items()}
    assert {name: shown["required"] for name, shown in schema.items()} == {
        "remember": ["text"],
        "recall": ["query"],
        "forget": ["memory_id"],
    }
    assert schema["recall"]["properties"]["limit"]["type"] == "integer"
    assert all("long-term memory" in tools[name].metadata.description for name in ("remember", "recall"))


@pytest.mark.parametrize("asynchronous", [False, True])
async def test_they_remember_recall_and_forget(
    tools: dict[str, FunctionTool], space: remanence.Space, asynchronous: bool
) -> None:
    """Sync and async alike."""

    async def call(name: str, **given: object) -> str:
        tool = tools[name]
        return str((await tool.acall(**given)) if asynchronous else tool.call(**given))

    assert "bears on this" in await call("recall", query="What does Ana play?")
    (kept,) = (await call("remember", text="Ana plays the cello.")).removesuffix(".").split()[-1:]
    assert (space.get(kept).text, space.get(kept).source) == ("Ana plays the cello.", "agent")

    found = await call("recall", query="What does Ana play?", limit=1, during=None)
    assert f'"id": "{kept}"' in found
    assert '"text": "Ana plays the cello."' in found

    await call("forget", memory_id=kept, why="she asked")
    assert space.get(kept) is None
    assert [change.why for change in space.audit.changes()] == [None, "she asked"]


@pytest.mark.parametrize("asynchronous", [False, True])
async def test_recall_keeps_to_a_number_and_a_time(
    tools: dict[str, FunctionTool], space: remanence.Space, asynchronous: bool
) -> None:
    """As the model asks for it."""
    for day in (3, 4, 5):
        space.add(f"The bridge was closed on {day} May 2026.")

    async def found(**given: object) -> int:
        recall = tools["recall"]
        said = await recall.acall(**given) if asynchronous else recall.call(**given)
        return str(said).count("The bridge was closed")

    assert await found(query="When was the bridge closed?") == 3
    assert await found(query="When was the bridge closed?", limit=2) == 2
    assert await found(query="When was the bridge closed?", during="4 May 2026") == 1


async def test_the_async_ones_are_off_the_loop(tools: dict[str, FunctionTool], embedder: Counting) -> None:
    """While they work, the loop goes on with other things."""
    await tools["recall"].acall(query="Where?")

    assert embedder.threads
    assert threading.main_thread() not in embedder.threads


def test_a_signal_that_is_down_is_told_to_the_model() -> None:
    """It may ask again later."""
    with remanence.open(None, embedder=broken) as space:
        space.add("Ana plays the cello.")

        assert "Unavailable signals: vectors." in RemanenceToolSpec(space).recall("What does Ana play?")


def test_they_keep_to_their_space(space: remanence.Space) -> None:
    """One user's agent cannot look into another's."""
    space.child("bob").add("Bob's code is 1234.")
    (_, recall, forget) = RemanenceToolSpec(space.child("ana")).to_tool_list()
    (secret,) = space.child("bob").memories()

    assert "1234" not in str(recall.call(query="What is Bob's code?"))
    with pytest.raises(remanence.NotFound):
        forget.call(memory_id=secret.id)


def test_what_cannot_be_done_is_said(tools: dict[str, FunctionTool]) -> None:
    """The framework hands the message to the model."""
    with pytest.raises(remanence.InvalidInput, match="limit=0"):
        tools["recall"].call(query="x", limit=0)
    with pytest.raises(remanence.InvalidInput, match="blank"):
        tools["remember"].call(text=" ")
