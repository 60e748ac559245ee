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

from importlib import import_module
from typing import TYPE_CHECKING, Any

from remanence import MissingExtra

if TYPE_CHECKING:
    from remanence_langchain.checkpoints import CheckpointUnknown, CheckpointView
    from remanence_langchain.history import RemanenceChatMessageHistory
    from remanence_langchain.memory import RemanenceMemory
    from remanence_langchain.middleware import MemoryMiddleware
    from remanence_langchain.models import embedder, extractor
    from remanence_langchain.retriever import RemanenceRetriever
    from remanence_langchain.store import RemanenceStore
    from remanence_langchain.tools import memory_tools

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


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'remanence_langchain' has no attribute {name!r}")
    home, extra = _HOMES[name]
    try:
        return getattr(import_module(f"remanence_langchain.{home}"), name)
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith("lang"):
            raise
        raise MissingExtra(
            f'{name} needs the package {error.name!r}. Run: pip install "remanence[{extra}]"'
        ) from error


def __dir__() -> list[str]:
    return sorted(__all__)
