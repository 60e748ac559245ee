"""Chat models without a model: one says its lines, one says back what it was given. And how to run them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import Field


class Actor(BaseChatModel):
    """Says its lines one after the other, the last one for ever, and keeps every prompt it was given.

    A line that is an exception is raised.
    """

    lines: list[Any]
    prompts: list[list[BaseMessage]] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "actor"

    def bind_tools(self, tools: Sequence[Any], **options: Any) -> Any:
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **options: Any) -> ChatResult:
        line = self.lines[min(len(self.prompts), len(self.lines) - 1)]
        self.prompts.append(messages)
        if isinstance(line, Exception):
            raise line
        # A copy: LangChain writes an id into what it is given.
        said = line.model_copy() if isinstance(line, AIMessage) else AIMessage(line)
        return ChatResult(generations=[ChatGeneration(message=said)])


class Parrot(Actor):
    """Says back its whole prompt."""

    lines: list[Any] = Field(default_factory=list)

    def _generate(self, messages: list[BaseMessage], *args: Any, **options: Any) -> ChatResult:
        said = "\n".join(f"{message.type}: {message.text}" for message in messages)
        return ChatResult(generations=[ChatGeneration(message=AIMessage(said))])


def system(prompt: Sequence[BaseMessage]) -> str:
    """The system message of a prompt."""
    return str(prompt[0].text) if prompt and prompt[0].type == "system" else ""


def asked(prompt: Sequence[BaseMessage]) -> str:
    """The last message of the user in a prompt, with the memories that stand with it."""
    return next(str(message.text) for message in reversed(prompt) if message.type == "human")


WAYS = ("sync", "async")


def run(way: str, agent: Any, given: Any, config: Any = None, **options: Any) -> Any:
    """Invoke an agent on this thread, or on an event loop. Text is what the user says."""
    asked = {"messages": [("user", given)]} if isinstance(given, str) else given
    if way == "sync":
        return agent.invoke(asked, config, **options)
    return asyncio.run(agent.ainvoke(asked, config, **options))
