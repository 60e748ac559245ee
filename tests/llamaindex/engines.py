"""The chat engines of LlamaIndex, each made with a model, a memory and a retriever of documents."""

from __future__ import annotations

from collections.abc import Callable

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.chat_engine import CondensePlusContextChatEngine, ContextChatEngine, SimpleChatEngine
from llama_index.core.chat_engine.types import BaseChatEngine

from llama_index_remanence import RemanenceMemory
from llamaindex.scripted import Scripted

Make = Callable[[Scripted, RemanenceMemory, BaseRetriever], BaseChatEngine]


def simple(llm: Scripted, memory: RemanenceMemory, retriever: BaseRetriever) -> BaseChatEngine:
    return SimpleChatEngine.from_defaults(llm=llm, memory=memory)


def context(llm: Scripted, memory: RemanenceMemory, retriever: BaseRetriever) -> BaseChatEngine:
    return ContextChatEngine.from_defaults(retriever=retriever, llm=llm, memory=memory)


def condense(llm: Scripted, memory: RemanenceMemory, retriever: BaseRetriever) -> BaseChatEngine:
    return CondensePlusContextChatEngine.from_defaults(retriever=retriever, llm=llm, memory=memory, skip_condense=True)


ENGINES: list[Make] = [simple, context, condense]
