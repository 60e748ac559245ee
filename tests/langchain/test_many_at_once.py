"""Many runs of one agent at once, for one user."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from typing import Any

import pytest

import remanence
from remanence.testing import HashingEmbedder

pytest.importorskip("langchain", reason="langchain is not installed")

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from langchain_remanence import RemanenceMiddleware

TOLD = "my dog is called Rex"


class Scripted(BaseChatModel):
    """Answers with the name of the dog where its prompt has it."""

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _generate(
        self, messages: list[BaseMessage], stop: list[str] | None = None, run_manager: Any = None, **options: Any
    ) -> ChatResult:
        prompt = str(messages[-1].content)
        answer = "Your dog is called Rex." if TOLD in prompt else "I do not know." if "?" in prompt else "Noted."
        return ChatResult(generations=[ChatGeneration(message=AIMessage(answer))])


class Watched(HashingEmbedder):
    """Notes the threads in which it is called."""

    def __init__(self) -> None:
        super().__init__()
        self.threads: set[int] = set()

    def embed(self, texts: Sequence[str]) -> Any:
        self.threads.add(threading.get_ident())
        return super().embed(texts)

    def embed_query(self, text: str) -> Any:
        self.threads.add(threading.get_ident())
        return super().embed_query(text)


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["", " ({number})"])
def test_fifty_runs_at_once_all_find_what_was_told(ending: str) -> None:
    """The same question, and questions that differ; each is stored, and none takes the place of the fact."""

    async def ask(agent: Any) -> list[str]:
        await agent.ainvoke({"messages": [("user", TOLD)]})
        asked = [f"What is my dog called?{ending.format(number=number)}" for number in range(50)]
        runs = await asyncio.gather(*(agent.ainvoke({"messages": [("user", text)]}) for text in asked))
        return [run["messages"][-1].content for run in runs]

    with remanence.open(None) as space:
        answers = asyncio.run(ask(create_agent(Scripted(), middleware=[RemanenceMiddleware(space)])))
    assert answers == ["Your dog is called Rex."] * 50


def test_memory_is_not_used_in_the_event_loop() -> None:
    """Neither to find the space of a user, nor to recall and to store."""
    embedder = Watched()
    threads: set[int] = set()

    with remanence.open(None, reader=None, embedder=embedder) as parent:

        def space_of(runtime: Any) -> remanence.Space:
            threads.add(threading.get_ident())
            return parent.child("users", "ana")

        agent = create_agent(Scripted(), middleware=[RemanenceMiddleware(space_of)])
        asyncio.run(agent.ainvoke({"messages": [("user", TOLD)]}))
        answer = asyncio.run(agent.ainvoke({"messages": [("user", "What is my dog called?")]}))
    assert answer["messages"][-1].content == "Your dog is called Rex."
    assert threads
    assert threading.get_ident() not in threads | embedder.threads
