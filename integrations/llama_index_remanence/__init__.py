"""Remanence for LlamaIndex: long-term memory for its agents, chat engines and query engines.

RemanenceMemory                              the `memory=` of an agent or a chat engine
RemanenceMemoryBlock                         a block of LlamaIndex's own `Memory`
RemanenceRetriever                           recall for query engines
RemanenceIndex                               documents: insert, replace, delete, query
RemanenceVectorStore                         the vector store of a `StorageContext` or an `IngestionPipeline`
RemanenceChatStore, RemanenceAsyncChatStore  transcripts
RemanenceToolSpec                            the tools `remember`, `recall`, `forget` and `update`
extractor, embedder                          LlamaIndex models as the extractor and the embedder of a space

Importing this package loads neither the engine nor LlamaIndex; each name is loaded when it is first used. The
same names are in `llama_index.memory.remanence`, where LlamaIndex's own integrations are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from remanence.adapters import lazy_getattr

if TYPE_CHECKING:
    from llama_index_remanence.block import RemanenceMemoryBlock as RemanenceMemoryBlock
    from llama_index_remanence.chat_store import RemanenceAsyncChatStore as RemanenceAsyncChatStore
    from llama_index_remanence.chat_store import RemanenceChatStore as RemanenceChatStore
    from llama_index_remanence.index import RemanenceIndex as RemanenceIndex
    from llama_index_remanence.memory import RemanenceMemory as RemanenceMemory
    from llama_index_remanence.models import embedder as embedder
    from llama_index_remanence.models import extractor as extractor
    from llama_index_remanence.retriever import RemanenceRetriever as RemanenceRetriever
    from llama_index_remanence.tools import RemanenceToolSpec as RemanenceToolSpec
    from llama_index_remanence.vector_store import RemanenceVectorStore as RemanenceVectorStore

_MODULES = {
    "RemanenceAsyncChatStore": "chat_store",
    "RemanenceChatStore": "chat_store",
    "RemanenceIndex": "index",
    "RemanenceMemory": "memory",
    "RemanenceMemoryBlock": "block",
    "RemanenceRetriever": "retriever",
    "RemanenceToolSpec": "tools",
    "RemanenceVectorStore": "vector_store",
    "embedder": "models",
    "extractor": "models",
}

__all__ = sorted(_MODULES)
__getattr__ = lazy_getattr(
    __name__, {name: (module, "llamaindex") for name, module in _MODULES.items()}, frameworks=("llama_index",)
)


def __dir__() -> list[str]:
    return sorted(__all__)
