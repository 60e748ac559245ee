"""Remanence for LangChain and LangGraph.

RemanenceMiddleware             memory for `create_agent`
RemanenceRetriever           recall for RAG pipelines
RemanenceVectorStore         documents: add, replace, delete, search
RemanenceStore               a long-term store for LangGraph
CheckpointView               a space as it was known at the checkpoint of the running thread
RemanenceChatMessageHistory  the exact transcript of a session
RemanenceMemory              memory for the chains of langchain-classic
ClaudeMemoryMiddleware       Claude's memory tool: notes in files, each edit a version
RemanenceBackend             the files of a deep agent, each edit a version
memory_tools                 the tools `remember`, `recall`, `forget` and `update`
forget_user                  erases everything of one user
extractor, embedder          LangChain models as the extractor and the embedder of a space

Importing this package loads no framework. Each name is loaded when it is first used; if its framework is not
installed, the error says what to install.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from remanence.adapters import lazy_getattr

if TYPE_CHECKING:
    from langchain_remanence.checkpoints import CheckpointUnknown as CheckpointUnknown
    from langchain_remanence.checkpoints import CheckpointView as CheckpointView
    from langchain_remanence.deep_agents import RemanenceBackend as RemanenceBackend
    from langchain_remanence.file_memory import ClaudeMemoryMiddleware as ClaudeMemoryMiddleware
    from langchain_remanence.history import RemanenceChatMessageHistory as RemanenceChatMessageHistory
    from langchain_remanence.memory import RemanenceMemory as RemanenceMemory
    from langchain_remanence.middleware import RemanenceMiddleware as RemanenceMiddleware
    from langchain_remanence.models import embedder as embedder
    from langchain_remanence.models import extractor as extractor
    from langchain_remanence.retriever import RemanenceRetriever as RemanenceRetriever
    from langchain_remanence.store import RemanenceStore as RemanenceStore
    from langchain_remanence.tools import memory_tools as memory_tools
    from langchain_remanence.user_space import forget_user as forget_user
    from langchain_remanence.vector_store import RemanenceVectorStore as RemanenceVectorStore

# For each public name: the module that defines it, and the extra that installs what it needs.
_MODULES = {
    "CheckpointUnknown": ("checkpoints", "langchain"),
    "CheckpointView": ("checkpoints", "langchain"),
    "ClaudeMemoryMiddleware": ("file_memory", "agent"),
    "RemanenceMiddleware": ("middleware", "agent"),
    "RemanenceBackend": ("deep_agents", "deepagents"),
    "RemanenceChatMessageHistory": ("history", "langchain"),
    "RemanenceMemory": ("memory", "classic"),
    "RemanenceRetriever": ("retriever", "langchain"),
    "RemanenceStore": ("store", "langchain"),
    "RemanenceVectorStore": ("vector_store", "langchain"),
    "embedder": ("models", "langchain"),
    "extractor": ("models", "langchain"),
    "forget_user": ("user_space", "langchain"),
    "memory_tools": ("tools", "langchain"),
}

_PACKAGES = {"agent": "langchain", "classic": "langchain_classic", "langchain": "langchain_core"}

# What `from langchain_remanence import *` gives: the names whose extra is installed.
__all__ = sorted(name for name, (_, extra) in _MODULES.items() if find_spec(_PACKAGES.get(extra, extra)))
__getattr__ = lazy_getattr(
    __name__, _MODULES, frameworks=("deepagents", "langchain", "langchain_classic", "langchain_core", "langgraph")
)


def __dir__() -> list[str]:
    return sorted(_MODULES)
