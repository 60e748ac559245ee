"""Long-term memory that only grows: an append-only ledger, four signals, one explained list.

>>> import remanence
>>> space = remanence.open(None)
>>> memory = space.add("Alice lives in Porto.")
>>> space.recall("Where does Alice live?")[0].memory.text
'Alice lives in Porto.'
>>> space.close()

Importing this loads no engine and no framework; each name below is loaded when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from remanence.errors import (
    Closed,
    EmbedderBroken,
    EmbedderDown,
    EmbedderError,
    InvalidInput,
    JobFailed,
    LedgerCorrupt,
    LedgerError,
    LedgerTampered,
    LedgerTooNew,
    LedgerUnavailable,
    MissingExtra,
    NotFound,
    ProjectionError,
    ProjectionStale,
    RemanenceError,
)

__version__ = "0.1.0"

if TYPE_CHECKING:
    from remanence.admin.compaction import CompactionReport
    from remanence.admin.export_file import TransferReport
    from remanence.admin.overview import GraphPage, MemoryBatch, MemoryDetails, Stats
    from remanence.api.entity_facet import Candidate, Registration
    from remanence.api.opening import import_, open, reembed
    from remanence.api.space import Space, VerificationReport
    from remanence.api.view import View
    from remanence.graph.diff import Diff
    from remanence.graph.history_events import HistoryEvent
    from remanence.graph.traversal import Edge, Node, Subgraph
    from remanence.language.framing import frame
    from remanence.models.llm_extractor import LLMExtractor
    from remanence.read.answer import Recall
    from remanence.read.memories_used import memories_used
    from remanence.read.profile import Profile
    from remanence.read.receipts import Exposure, Receipt
    from remanence.schema import (
        Alias,
        Change,
        Disagreement,
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
    from remanence.upkeep.settings import UpkeepSettings
    from remanence.write.jobs import Job
    from remanence.write.message_analysis import analyze_for_recall, analyze_message

_HOMES = {
    **dict.fromkeys(("analyze_message", "analyze_for_recall"), "write.message_analysis"),
    "Job": "write.jobs",
    "LLMExtractor": "models.llm_extractor",
    "Recall": "read.answer",
    "CompactionReport": "admin.compaction",
    "TransferReport": "admin.export_file",
    "Receipt": "read.receipts",
    "View": "api.view",
    "UpkeepSettings": "upkeep.settings",
    "HistoryEvent": "graph.history_events",
    "Subgraph": "graph.traversal",
    "Node": "graph.traversal",
    "Edge": "graph.traversal",
    "Diff": "graph.diff",
    "Exposure": "read.receipts",
    "Registration": "api.entity_facet",
    "Candidate": "api.entity_facet",
    "Profile": "read.profile",
    "Disagreement": "schema",
    "frame": "language.framing",
    "memories_used": "read.memories_used",
    **dict.fromkeys(
        (
            *("Alias", "Change", "Entity", "Evidence", "Extraction", "Fact", "ExtractionResult", "Hit", "Link"),
            *("Memory", "Mention", "Relation", "Utterance", "Triple", "Turn", "Verdict", "Window"),
        ),
        "schema",
    ),
    **dict.fromkeys(("import_", "open", "reembed"), "api.opening"),
    **dict.fromkeys(("MemoryBatch", "GraphPage", "Stats", "MemoryDetails"), "admin.overview"),
    **dict.fromkeys(("Space", "VerificationReport"), "api.space"),
}

__all__ = [
    "Alias",
    "Candidate",
    "Change",
    "Closed",
    "CompactionReport",
    "Diff",
    "Disagreement",
    "Edge",
    "EmbedderBroken",
    "EmbedderDown",
    "EmbedderError",
    "Entity",
    "Evidence",
    "Exposure",
    "Extraction",
    "ExtractionResult",
    "Fact",
    "GraphPage",
    "HistoryEvent",
    "Hit",
    "InvalidInput",
    "Job",
    "JobFailed",
    "LLMExtractor",
    "LedgerCorrupt",
    "LedgerError",
    "LedgerTampered",
    "LedgerTooNew",
    "LedgerUnavailable",
    "Link",
    "Memory",
    "MemoryBatch",
    "MemoryDetails",
    "Mention",
    "MissingExtra",
    "Node",
    "NotFound",
    "Profile",
    "ProjectionError",
    "ProjectionStale",
    "Recall",
    "Receipt",
    "Registration",
    "Relation",
    "RemanenceError",
    "Space",
    "Stats",
    "Subgraph",
    "TransferReport",
    "Triple",
    "Turn",
    "UpkeepSettings",
    "Utterance",
    "Verdict",
    "VerificationReport",
    "View",
    "Window",
    "analyze_for_recall",
    "analyze_message",
    "frame",
    "import_",
    "memories_used",
    "open",
    "reembed",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"remanence.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'remanence' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
