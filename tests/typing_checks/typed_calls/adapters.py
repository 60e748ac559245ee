"""Adapters are made as the README makes them: no argument that has a default is asked for."""

from __future__ import annotations

import remanence
from langchain_remanence import RemanenceChatMessageHistory, RemanenceRetriever, RemanenceVectorStore
from langchain_remanence import RemanenceMemory as ChainMemory
from llama_index_remanence import (
    RemanenceChatStore,
    RemanenceIndex,
    RemanenceMemory,
    RemanenceMemoryBlock,
    RemanenceToolSpec,
)
from llama_index_remanence import RemanenceRetriever as NodeRetriever
from llama_index_remanence import RemanenceVectorStore as NodeStore


def make() -> None:
    """Each with what it needs, and with what it may have."""
    chats = remanence.open("./chats")
    ChainMemory(space=chats.child("users", "bob"), session_id="monday")
    ChainMemory(space=chats, max_tokens=300, window=2)
    RemanenceRetriever(space=chats.as_of("2026-05-01"), k=1, filter={"page": 3})
    RemanenceVectorStore(chats).add_texts(["Porto."], [{"page": 3}], ids=["a"])
    RemanenceChatMessageHistory(chats, "monday")
    RemanenceMemory(chats, session_id="monday", max_tokens=300)
    RemanenceMemory(space=chats, session_id="monday")
    RemanenceMemoryBlock(space=chats)
    RemanenceChatStore(space=chats)
    RemanenceIndex.from_documents([], space=chats).as_retriever(limit=3)
    NodeRetriever(space=chats, filters={"page": 3})
    NodeStore(chats).get_nodes(["a"])
    NodeStore(location="./chats", path=["library"])
    RemanenceVectorStore(location="./library").delete(["a"])
    RemanenceToolSpec(chats, prefix="work_")
