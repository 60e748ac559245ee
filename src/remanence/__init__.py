"""Long-term memory for agents: an append-only ledger, four signals, one explained list of memories.

>>> import remanence
>>> space = remanence.open(None)
>>> memory = space.add("Alice lives in Porto.")
>>> space.recall("Where does Alice live?")[0].memory.text
'Alice lives in Porto.'
>>> space.close()

Importing this package loads no engine and no framework; each name below is loaded when it is first used. All exceptions
are in `remanence.errors`, and the Protocols of replaceable parts in `remanence.ports`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from remanence.errors import (
    Closed,
    EmbedderError,
    InvalidInput,
    JobFailed,
    LedgerError,
    MissingExtra,
    NotFound,
    ProjectionError,
    RemanenceError,
)

if TYPE_CHECKING:
    from remanence.admin.overview import Stats
    from remanence.api.file_memory.file_store import FileStore, StoredFile
    from remanence.api.file_memory.memory_files import MemoryFiles
    from remanence.api.opening import aopen, import_, migrate, open, reembed
    from remanence.api.space import Space
    from remanence.api.view import View
    from remanence.core.trust import TrustRules
    from remanence.graph.diff import Diff
    from remanence.graph.history import HistoryEvent
    from remanence.graph.traversal import Subgraph
    from remanence.language.framing import frame
    from remanence.models.llm_extractor import LLMExtractor
    from remanence.read.answer import Recall
    from remanence.read.memories_used import memories_used
    from remanence.read.profile import Profile
    from remanence.read.receipts import Receipt
    from remanence.schema import (
        Change,
        Entity,
        Evidence,
        Extraction,
        ExtractionResult,
        Fact,
        Hit,
        Link,
        Memory,
        Mention,
        Relation,
        Triple,
        Turn,
        Utterance,
        Verdict,
        Window,
    )
    from remanence.schema.version import __version__ as __version__
    from remanence.service.client.remote_space import connect
    from remanence.signals.stores.qdrant_settings import QdrantSettings
    from remanence.upkeep.settings import UpkeepSettings
    from remanence.write.jobs import Job
    from remanence.write.message_analysis import analyze_for_recall, analyze_message

_NAMES = {
    "admin.overview": ("Stats",),
    "api.opening": ("aopen", "import_", "migrate", "open", "reembed"),
    "api.space": ("Space",),
    "api.view": ("View",),
    "service.client.remote_space": ("connect",),
    "core.trust": ("TrustRules",),
    "api.file_memory.file_store": ("FileStore", "StoredFile"),
    "api.file_memory.memory_files": ("MemoryFiles",),
    "graph.diff": ("Diff",),
    "graph.history": ("HistoryEvent",),
    "graph.traversal": ("Subgraph",),
    "language.framing": ("frame",),
    "models.llm_extractor": ("LLMExtractor",),
    "read.answer": ("Recall",),
    "read.memories_used": ("memories_used",),
    "read.profile": ("Profile",),
    "read.receipts": ("Receipt",),
    "schema": (
        "Change",
        "Entity",
        "Evidence",
        "Extraction",
        "ExtractionResult",
        "Fact",
        "Hit",
        "Link",
        "Memory",
        "Mention",
        "Relation",
        "Triple",
        "Turn",
        "Utterance",
        "Verdict",
        "Window",
    ),
    "schema.version": ("__version__",),
    "signals.stores.qdrant_settings": ("QdrantSettings",),
    "upkeep.settings": ("UpkeepSettings",),
    "write.jobs": ("Job",),
    "write.message_analysis": ("analyze_for_recall", "analyze_message"),
}
_MODULE_OF = {name: module for module, names in _NAMES.items() for name in names}

__all__ = [
    "Change",
    "Closed",
    "Diff",
    "EmbedderError",
    "Entity",
    "Evidence",
    "Extraction",
    "ExtractionResult",
    "Fact",
    "FileStore",
    "HistoryEvent",
    "Hit",
    "InvalidInput",
    "Job",
    "JobFailed",
    "LLMExtractor",
    "LedgerError",
    "Link",
    "Memory",
    "MemoryFiles",
    "Mention",
    "MissingExtra",
    "NotFound",
    "Profile",
    "ProjectionError",
    "QdrantSettings",
    "Recall",
    "Receipt",
    "Relation",
    "RemanenceError",
    "Space",
    "Stats",
    "StoredFile",
    "Subgraph",
    "Triple",
    "TrustRules",
    "Turn",
    "UpkeepSettings",
    "Utterance",
    "Verdict",
    "View",
    "Window",
    "analyze_for_recall",
    "analyze_message",
    "aopen",
    "connect",
    "frame",
    "import_",
    "memories_used",
    "migrate",
    "open",
    "reembed",
]


def __getattr__(name: str) -> Any:
    if name in _MODULE_OF:
        return getattr(import_module(f"remanence.{_MODULE_OF[name]}"), name)
    raise AttributeError(f"module 'remanence' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
