"""Real chat engines of LlamaIndex, sync and async, also inside a running loop as in a notebook."""

from __future__ import annotations

from typing import Any

import pytest
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.chat_engine import CondensePlusContextChatEngine, SimpleChatEngine

import remanence
from llama_index_remanence import RemanenceMemory
from llamaindex.engines import ENGINES, Make
from llamaindex.scripted import Counting, Scripted, texts, user


@pytest.mark.parametrize("engine", ENGINES)
def test_a_chat_recalls_remembers_and_goes_on(
    engine: Make, space: remanence.Space, embedder: Counting, library: BaseRetriever
) -> None:
    """Two turns: what is known reaches the model, once a turn, and the second knows the first."""
    space.add("Alice lives in Porto.")
    llm = Scripted("In Porto.", "Alice.")
    memory = RemanenceMemory(space)
    chat = engine(llm, memory, library)

    assert str(chat.chat("Where does Alice live?")) == "In Porto."
    assert "Alice lives in Porto." in llm.prompt()
    assert embedder.asked == ["Where does Alice live?"]
    chat.chat("Of whom did I speak?")

    assert "Where does Alice live?" in texts(llm.prompts[-1])
    assert len(embedder.asked) == 2
    assert texts(chat.chat_history) == ["Where does Alice live?", "In Porto.", "Of whom did I speak?", "Alice."]
    assert space.count() == 5


@pytest.mark.parametrize("engine", ENGINES)
async def test_a_chat_may_be_async(engine: Make, space: remanence.Space, library: BaseRetriever) -> None:
    """The same, without blocking the loop."""
    space.add("Alice lives in Porto.")
    llm = Scripted("In Porto.")
    memory = RemanenceMemory(space)

    await engine(llm, memory, library).achat("Where does Alice live?")

    assert "Alice lives in Porto." in llm.prompt()
    assert texts(await memory.aget_all()) == ["Where does Alice live?", "In Porto."]


@pytest.mark.parametrize("engine", ENGINES)
async def test_the_sync_calls_work_inside_a_running_loop(
    engine: Make, space: remanence.Space, library: BaseRetriever
) -> None:
    """A notebook has one."""
    space.add("Alice lives in Porto.")
    llm = Scripted("In Porto.")
    memory = RemanenceMemory(space)

    engine(llm, memory, library).chat("Where does Alice live?")

    assert "Alice lives in Porto." in llm.prompt()
    assert texts(memory.get_all()) == ["Where does Alice live?", "In Porto."]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_streamed_answer_is_remembered_when_it_is_whole(
    engine: Make, space: remanence.Space, library: BaseRetriever
) -> None:
    """It is written from another thread."""
    memory = RemanenceMemory(space)
    response = engine(Scripted("In Porto."), memory, library).stream_chat("Where does Alice live?")

    assert "".join(response.response_gen) == "In Porto."
    assert texts(memory.get_all()) == ["Where does Alice live?", "In Porto."]


@pytest.mark.parametrize("engine", ENGINES)
async def test_a_streamed_answer_may_be_async(engine: Make, space: remanence.Space, library: BaseRetriever) -> None:
    """The same, as a task."""
    memory = RemanenceMemory(space)
    response = await engine(Scripted("In Porto."), memory, library).astream_chat("Where does Alice live?")

    assert "".join([token async for token in response.async_response_gen()]) == "In Porto."
    assert texts(memory.get_all()) == ["Where does Alice live?", "In Porto."]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_history_may_be_given_and_the_chat_be_reset(
    engine: Make, space: remanence.Space, library: BaseRetriever
) -> None:
    """A given history is the window; resetting clears it and keeps what is remembered."""
    memory = RemanenceMemory(space)
    chat = engine(Scripted("Good."), memory, library)
    chat.chat("How is it?", chat_history=[user("I painted my boat green.")])
    assert texts(chat.chat_history) == ["I painted my boat green.", "How is it?", "Good."]

    chat.reset()

    assert chat.chat_history == []
    assert "green" in (memory.get(input="Which colour is my boat?")[0].content or "")


def test_a_question_is_condensed_with_what_is_recalled(space: remanence.Space, library: BaseRetriever) -> None:
    """CondensePlusContext rewrites the question before it retrieves."""
    space.add("Alice lives in Porto.")
    llm = Scripted("How many bridges has Porto?", "Six.")
    memory = RemanenceMemory(space)
    chat = CondensePlusContextChatEngine.from_defaults(retriever=library, llm=llm, memory=memory)

    answer = chat.chat("How many bridges has the city where Alice lives?")

    assert "Alice lives in Porto." in (llm.prompts[0][-1].content or "")
    assert answer.source_nodes[0].text == "Porto has six bridges."
    assert str(answer) == "Six."


def test_a_chat_engine_may_make_the_memory_itself(space: remanence.Space) -> None:
    """By its class, with what is left to give."""

    class Mine(RemanenceMemory):
        @classmethod
        def from_defaults(cls, **given: Any) -> RemanenceMemory:  # type: ignore[override]
            return super().from_defaults(space=space, **given)

    chat = SimpleChatEngine.from_defaults(llm=Scripted("Hello."), memory_cls=Mine, chat_history=[user("Hi.")])
    chat.chat("Hi again.")

    assert texts(chat.chat_history) == ["Hi.", "Hi again.", "Hello."]
