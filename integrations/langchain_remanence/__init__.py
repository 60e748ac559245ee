"""Remanence for LangChain and LangGraph: thin translations of a space, one file each.

MemoryMiddleware             memory for `create_agent`
RemanenceRetriever           recall for RAG pipelines
RemanenceStore               the long-term store of LangGraph
CheckpointView               a space as it was known at the checkpoint of the thread that is running
RemanenceChatMessageHistory  the exact transcript of a session
RemanenceMemory              memory for the chains of langchain-classic
memory_tools                 `remember`, `recall` and `forget` for a model to call
extractor, embedder          LangChain's models as parts of a space

Importing this loads no framework; each name is loaded when it is first used, and one whose package is not
installed says what to install.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from remanence.adapters import lazy_getattr

if TYPE_CHECKING:
    from langchain_remanence.checkpoints import CheckpointUnknown, CheckpointView
    from langchain_remanence.history import RemanenceChatMessageHistory
    from langchain_remanence.memory import RemanenceMemory
    from langchain_remanence.middleware import MemoryMiddleware
    from langchain_remanence.models import embedder, extractor
    from langchain_remanence.retriever import RemanenceRetriever
    from langchain_remanence.store import RemanenceStore
    from langchain_remanence.tools import memory_tools

_HOMES = {
    "CheckpointUnknown": ("checkpoints", "langchain"),
    "CheckpointView": ("checkpoints", "langchain"),
    "MemoryMiddleware": ("middleware", "agent"),
    "RemanenceChatMessageHistory": ("history", "langchain"),
    "RemanenceMemory": ("memory", "classic"),
    "RemanenceRetriever": ("retriever", "langchain"),
    "RemanenceStore": ("store", "langchain"),
    "embedder": ("models", "langchain"),
    "extractor": ("models", "langchain"),
    "memory_tools": ("tools", "langchain"),
}
"""Where each name lives, and the extra that brings what it needs."""

__all__ = [
    "CheckpointUnknown",
    "CheckpointView",
    "MemoryMiddleware",
    "RemanenceChatMessageHistory",
    "RemanenceMemory",
    "RemanenceRetriever",
    "RemanenceStore",
    "embedder",
    "extractor",
    "memory_tools",
]

__getattr__ = lazy_getattr(
    __name__, _HOMES, frameworks=("langchain", "langchain_classic", "langchain_core", "langgraph")
)


def __dir__() -> list[str]:
    return sorted(__all__)
