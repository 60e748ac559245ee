"""Remanence for LlamaIndex: long-term memory for its agents, chat engines and query engines.

memory.py       RemanenceMemory: the `memory=` of an agent or a chat engine
block.py        RemanenceMemoryBlock: one block of LlamaIndex's own `Memory`
retriever.py    RemanenceRetriever: recall for query engines
chat_store.py   RemanenceChatStore and RemanenceAsyncChatStore: transcripts
tools.py        RemanenceToolSpec: remember, recall and forget for an agent to call
models.py       extractor(llm) and embedder(embed_model)

Importing this loads neither the engine nor LlamaIndex; each name is loaded when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from remanence.adapters import lazy_getattr

if TYPE_CHECKING:
    from llama_index_remanence.block import RemanenceMemoryBlock
    from llama_index_remanence.chat_store import RemanenceAsyncChatStore, RemanenceChatStore
    from llama_index_remanence.memory import RemanenceMemory
    from llama_index_remanence.models import embedder, extractor
    from llama_index_remanence.retriever import RemanenceRetriever
    from llama_index_remanence.tools import RemanenceToolSpec

_MODULES = {
    "RemanenceAsyncChatStore": "chat_store",
    "RemanenceChatStore": "chat_store",
    "RemanenceMemory": "memory",
    "RemanenceMemoryBlock": "block",
    "RemanenceRetriever": "retriever",
    "RemanenceToolSpec": "tools",
    "embedder": "models",
    "extractor": "models",
}

__all__ = [
    "RemanenceAsyncChatStore",
    "RemanenceChatStore",
    "RemanenceMemory",
    "RemanenceMemoryBlock",
    "RemanenceRetriever",
    "RemanenceToolSpec",
    "embedder",
    "extractor",
]

__getattr__ = lazy_getattr(
    __name__, {name: (module, "llamaindex") for name, module in _MODULES.items()}, frameworks=("llama_index",)
)


def __dir__() -> list[str]:
    return sorted(__all__)
