"""Models that say what they are told to say, and keep what they were asked."""

from __future__ import annotations

import threading
from collections.abc import AsyncGenerator, Generator, Sequence
from typing import Any

import numpy as np
from llama_index.core.base.llms.types import ChatMessage, CompletionResponse, ToolCallBlock
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.llms.mock import MockFunctionCallingLLM

from remanence.testing import HashingEmbedder


class Scripted(MockFunctionCallingLLM):
    """Answers with the lines of a script, one a call; `prompts` holds the messages of each call."""

    _script: list[str | ChatMessage] = PrivateAttr()
    _prompts: list[list[ChatMessage]] = PrivateAttr(default_factory=list)

    def __init__(self, *script: str | ChatMessage) -> None:
        super().__init__(is_chat_model=True, response_generator=self._next)
        self._script = list(script)

    @property
    def prompts(self) -> list[list[ChatMessage]]:
        """What it was asked, call by call."""
        return self._prompts

    def prompt(self, call: int = -1) -> str:
        """All the words of one call."""
        return "\n".join(message.content or "" for message in self._prompts[call])

    def _next(self, messages: Sequence[ChatMessage], **_: Any) -> ChatMessage:
        self._prompts.append([message.model_copy(deep=True) for message in messages])
        line = self._script.pop(0)
        return ChatMessage(role="assistant", content=line) if isinstance(line, str) else line

    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        return CompletionResponse(text=self._next([user(prompt)]).content or "")

    def stream_chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> Generator[Any, None, None]:
        return (part for part in [self.chat(messages, **kwargs)])

    async def astream_chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> AsyncGenerator[Any, None]:
        async def parts() -> AsyncGenerator[Any, None]:
            yield self.chat(messages, **kwargs)

        return parts()


class Counting(HashingEmbedder):
    """Counts the questions it embeds, one for each recall, and the threads it is asked from."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []
        self.threads: set[threading.Thread] = set()

    def embed_query(self, text: str) -> np.ndarray:
        self.asked.append(text)
        self.threads.add(threading.current_thread())
        return super().embed_query(text)


def broken(texts: Sequence[str]) -> list[list[float]]:
    """An embedder that cannot be reached."""
    raise ConnectionError("no route")


def calling(tool: str, **arguments: Any) -> ChatMessage:
    """An answer that calls a tool."""
    block = ToolCallBlock(tool_call_id=f"call-{tool}", tool_name=tool, tool_kwargs=arguments)
    return ChatMessage(role="assistant", blocks=[block])


def user(words: str | None) -> ChatMessage:
    """What the user says."""
    return ChatMessage(role="user", content=words)


def assistant(words: str | None) -> ChatMessage:
    """What the model says."""
    return ChatMessage(role="assistant", content=words)


def texts(messages: Sequence[ChatMessage]) -> list[str | None]:
    """The words of messages."""
    return [message.content for message in messages]
