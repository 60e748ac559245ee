"""LangChain and LlamaIndex on one space at once: what one agent remembered, the other recalls."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.language_models import FakeListChatModel
from llama_index.core.agent.workflow import FunctionAgent
from pydantic import Field

import remanence
from langchain_remanence import RemanenceMemory as LangChainMemory
from langchain_remanence import RemanenceMiddleware
from langchain_remanence import RemanenceRetriever as LangChainRetriever
from llama_index_remanence import RemanenceMemory, RemanenceMemoryBlock, RemanenceRetriever
from llamaindex.scripted import Scripted, user


class Lines(FakeListChatModel):
    """A chat model of LangChain that says its lines and keeps what it was given."""

    heard: list[str] = Field(default_factory=list)

    def _call(self, messages, *args, **options):  # type: ignore[no-untyped-def]
        self.heard.append("\n".join(message.text for message in messages))
        return super()._call(messages, *args, **options)


def langchain_agent(space: remanence.Space, model: Lines, **options: bool):  # type: ignore[no-untyped-def]
    return create_agent(model, middleware=[RemanenceMiddleware(space, **options)])


async def test_what_one_framework_remembered_the_other_recalls(space: remanence.Space) -> None:
    """Both ways, in one space, with nothing handed over between them."""
    model = Lines(responses=["Noted.", "You play the cello."])
    agent = langchain_agent(space, model)
    await agent.ainvoke({"messages": [("user", "I am allergic to hazelnuts.")]})

    llm = Scripted("Hazelnuts.", "I will not forget.")
    memory = RemanenceMemory(space, session_id="llamaindex")
    await FunctionAgent(llm=llm).run("What am I allergic to?", memory=memory)
    assert "I am allergic to hazelnuts." in llm.prompt()

    await FunctionAgent(llm=llm).run("My instrument is the cello.", memory=memory)
    await agent.ainvoke({"messages": [("user", "What is my instrument?")]})
    assert "My instrument is the cello." in model.heard[-1]


async def test_both_at_once_lose_nothing(space: remanence.Space, at_once: int) -> None:
    """Some conversations of each, all at the same time."""

    async def by_langchain(number: int) -> None:
        agent = langchain_agent(space, Lines(responses=[f"Aye {number}."]))
        await agent.ainvoke({"messages": [("user", f"LangChain statement {number}.")]})

    async def by_llamaindex(number: int) -> None:
        memory = RemanenceMemory(space, session_id=f"s{number}")
        await FunctionAgent(llm=Scripted(f"Yes {number}.")).run(f"LlamaIndex statement {number}.", memory=memory)

    await asyncio.gather(*(say(number) for number in range(at_once) for say in (by_langchain, by_llamaindex)))

    texts = [memory.text for memory in space.memories()]
    expected = [
        f"{words} {number}."
        for words in ("LangChain statement", "Aye", "LlamaIndex statement", "Yes")
        for number in range(at_once)
    ]
    assert sorted(texts) == sorted(expected)


@pytest.mark.parametrize("answer", ["In Porto.", "She may not eat hazelnuts.", "Ana lives.", "Yes."])
async def test_what_counts_as_used_is_the_same_in_both(space: remanence.Space, answer: str) -> None:
    """One rule, whoever shows the memories."""
    texts, question = ["Ana lives in Porto.", "Ana is allergic to hazelnuts."], "Where does Ana live?"
    ours, theirs = space.child("ours"), space.child("theirs")
    kept = [child.add_many(texts) for child in (ours, theirs)]

    llm = Scripted(answer)
    await FunctionAgent(llm=llm).run(question, memory=RemanenceMemory(ours, reinforce=True))
    model = Lines(responses=[answer])
    agent = langchain_agent(theirs, model, reinforce=True)
    await agent.ainvoke({"messages": [("user", question)]})

    assert all(text in prompt for text in texts for prompt in (llm.prompt(), model.heard[-1]))
    counted = [
        [child.touch(memory.id)[0].uses - 1 for memory in memories]
        for child, memories in zip((ours, theirs), kept, strict=True)
    ]
    assert counted == [[answer.endswith("Porto."), answer.endswith("hazelnuts.")]] * 2


def test_the_same_question_has_the_same_answer_in_both(space: remanence.Space) -> None:
    """Adapters translate; the ranking is the core's."""
    RemanenceMemory(space).put(user("I play the cello."))
    for number in range(10):
        space.add(f"Instrument number {number} is a cello of wood.")

    ours = [node.node_id for node in RemanenceRetriever(space, limit=5).retrieve("Who plays the cello?")]
    theirs = [document.id for document in LangChainRetriever(space=space, k=5).invoke("Who plays the cello?")]

    assert ours == theirs


@pytest.mark.parametrize("adapter", [RemanenceMiddleware, LangChainMemory, RemanenceMemory, RemanenceMemoryBlock])
@pytest.mark.parametrize(("option", "value"), [("kinds", "nonsense"), ("kinds", ["semantic", "x"]), ("tags", 5)])
def test_a_filter_that_recall_would_refuse_is_refused_at_once(
    space: remanence.Space, adapter: Any, option: str, value: object
) -> None:
    """A recall that fails is only logged, and the agent would never have a memory."""
    with pytest.raises(ValueError, match=option):
        adapter(space=space, **{option: value})
    assert adapter(space=space, kinds=("semantic", "viewpoint"), tags="food")
