"""The tool spec: what a model is told of the tools, and what they do."""

from __future__ import annotations

import threading

import pytest
from llama_index.core.tools import FunctionTool

import remanence
from framed import noted_id, quoted_texts, recalled
from llama_index_remanence import RemanenceToolSpec
from llamaindex.scripted import Counting, broken
from remanence.adapters import MAX_TOKENS


@pytest.fixture
def tools(space: remanence.Space) -> dict[str, FunctionTool]:
    """The four, by name."""
    return {str(tool.metadata.name): tool for tool in RemanenceToolSpec(space).to_tool_list()}


def test_a_model_can_read_what_they_take(tools: dict[str, FunctionTool]) -> None:
    """Names, types, which may be left out, and what they are for."""
    assert list(tools) == ["remember", "recall", "forget", "update"]
    schema = {name: tool.metadata.get_parameters_dict() for name, tool in tools.items()}
    assert {name: shown["required"] for name, shown in schema.items()} == {
        "remember": ["text"],
        "recall": ["query"],
        "forget": ["memory_id"],
        "update": ["memory_id", "text"],
    }
    assert {name: set(shown["properties"]) for name, shown in schema.items()} == {
        "remember": {"text"},
        "recall": {"query", "during"},
        "forget": {"memory_id", "why"},
        "update": {"memory_id", "text"},
    }
    assert all("long-term memory" in tools[name].metadata.description for name in ("remember", "recall"))


@pytest.mark.parametrize("asynchronous", [False, True])
async def test_they_remember_recall_and_forget(
    tools: dict[str, FunctionTool], space: remanence.Space, asynchronous: bool
) -> None:
    """Sync and async alike."""

    async def call(name: str, **given: object) -> str:
        tool = tools[name]
        return str((await tool.acall(**given)) if asynchronous else tool.call(**given))

    assert "Nothing is remembered" in await call("recall", query="What does Ana play?")
    (kept,) = (await call("remember", text="Ana plays the cello.")).removesuffix(".").split()[-1:]
    assert (space.get(kept).text, space.get(kept).source) == ("Ana plays the cello.", "agent")

    [found] = recalled(await call("recall", query="What does Ana play?", during=None))
    assert (found["text"], noted_id(found)) == ("Ana plays the cello.", kept)

    await call("forget", memory_id=kept, why="she asked")
    assert space.get(kept) is None
    assert [change.why for change in space.audit.changes()][-1] == "she asked"


@pytest.mark.parametrize("asynchronous", [False, True])
async def test_recall_keeps_to_a_budget_and_a_time(
    tools: dict[str, FunctionTool], space: remanence.Space, asynchronous: bool
) -> None:
    """The time is the model's to say, the budget is that of every block."""
    space.add_many(
        f"The bridge was closed on {day} May 2026 for train {number}." for day in (3, 4) for number in range(50)
    )
    space.add("The bridge was closed on 5 May 2026.")

    async def found(**given: object) -> str:
        recall = tools["recall"]
        return str(await recall.acall(**given) if asynchronous else recall.call(**given))

    many = await found(query="When was the bridge closed?")
    assert 20 < len(quoted_texts(many)) < 101
    assert len(many) <= 4 * MAX_TOKENS
    then = await found(query="When was the bridge closed?", during="5 May 2026")
    assert quoted_texts(then) == ["The bridge was closed on 5 May 2026."]


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
    (_, recall, forget, _) = RemanenceToolSpec(space.child("ana")).to_tool_list()
    (secret,) = space.child("bob").memories()

    assert "1234" not in str(recall.call(query="What is Bob's code?"))
    with pytest.raises(remanence.NotFound):
        forget.call(memory_id=secret.id)


def test_what_cannot_be_done_is_said(tools: dict[str, FunctionTool]) -> None:
    """The framework hands the message to the model."""
    with pytest.raises(remanence.InvalidInput, match="florbl"):
        tools["recall"].call(query="x", during="florbl")
    with pytest.raises(remanence.InvalidInput, match="blank"):
        tools["remember"].call(text=" ")


async def test_remember_does_what_remember_does(tools: dict[str, FunctionTool], space: remanence.Space) -> None:
    """The text is kept, and the facts in it are memories of their own, which supersede older ones."""
    tools["remember"].call(text="Well, I live in Porto, you know.")
    await tools["remember"].acall(text="I moved from Porto to Lisbon.")
    alike = space.child("alike")
    for text in ("Well, I live in Porto, you know.", "I moved from Porto to Lisbon."):
        alike.remember(text, source="agent")

    assert [memory.text for memory in space.memories()] == [memory.text for memory in alike.memories()]
    assert "Lisbon" in space.recall("Where do I live?")[0].memory.text


@pytest.mark.parametrize("asynchronous", [False, True])
async def test_update_replaces_a_memory(
    tools: dict[str, FunctionTool], space: remanence.Space, asynchronous: bool
) -> None:
    """One with a key has a new version; another is superseded. Unknown ids are refused."""
    plain, keyed = space.add("The code is 1234.", tags=["door"]), space.add("Ana has a cat.", key="pet", meta={"n": 1})

    async def update(memory_id: str, text: str) -> str:
        given = {"memory_id": memory_id, "text": text}
        said = (await tools["update"].acall(**given)) if asynchronous else tools["update"].call(**given)
        return str(said).removesuffix(".").split()[-1]

    new = await update(plain.id, "The code is 5678.")
    assert (space.recall("the code")[0].memory.id, space.get(new).tags) == (new, ("door",))
    assert "The code is 1234." not in [hit.memory.text for hit in space.recall("the code")]
    assert await update(keyed.id, "Ana has two cats.") == keyed.id
    assert (space.find("pet").text, space.find("pet").meta) == ("Ana has two cats.", {"n": 1})
    assert await update(new, "The code is 5678.") == new
    [turn] = space.add_turns([{"speaker": "Ana", "content": "I live in Faro.", "key": "m1"}])
    assert await update(turn.id, "Ana lives in Braga.") != turn.id
    assert space.get(turn.id) == turn
    with pytest.raises(remanence.NotFound, match="Give an id as it was recalled"):
        tools["update"].call(memory_id="nonsense", text="x")


def test_a_fact_and_its_text_are_recalled_and_forgotten_as_one(
    tools: dict[str, FunctionTool], space: remanence.Space
) -> None:
    """The model sees one of them, and what it forgets does not answer in other words."""
    tools["remember"].call(text="I am allergic to peanuts.")
    [line] = recalled(str(tools["recall"].call(query="allergic?")))
    tools["forget"].call(memory_id=noted_id(line))

    assert space.count() == 0


def test_two_sets_of_tools_have_two_prefixes(space: remanence.Space) -> None:
    """Their names differ, and so do the signatures that the model reads."""
    sets = [RemanenceToolSpec(space.child(name), prefix=f"{name}_").to_tool_list() for name in ("work", "home")]

    names = [tool.metadata.name for tools in sets for tool in tools]
    assert len(set(names)) == 8
    assert sets[0][0].metadata.name == "work_remember"
    assert sets[0][0].metadata.description.startswith("work_remember(")
    sets[0][0].call(text="The meeting is at nine.")
    assert (space.child("work").count(), space.child("home").count()) == (1, 0)
    with pytest.raises(remanence.InvalidInput, match="prefix='my tools' is not"):
        RemanenceToolSpec(space, prefix="my tools")
