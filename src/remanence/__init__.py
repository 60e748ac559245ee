"""Long-term memory for agents: an append-only ledger, four signals, one explained list of memories.

>>> import remanence
>>> space = remanence.open(None)
>>> memory = space.add("Alice lives in Porto.")
>>> space.recall("Where does Alice live?")[0].memory.text
'Alice lives in Porto.'
>>> space.close()

Importing this package loads no engine and no framework; each name below is loaded when it is first used. All exceptions
are in `remanence.errors`. The Protocols of replaceable parts, and the values that they take and return, are in
`remanence.ports`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from remanence.errors import Closed as Closed
from remanence.errors import InvalidInput as InvalidInput
from remanence.errors import NotFound as NotFound
from remanence.errors import RemanenceError as RemanenceError

if TYPE_CHECKING:
    from remanence.graph.diff import Diff as Diff
    from remanence.graph.history import HistoryEvent as HistoryEvent
    from remanence.graph.traversal import Subgraph as Subgraph
    from remanence.index.engine.policy import Policy as Policy
    from remanence.index.engine.policy import TrustRules as TrustRules
    from remanence.index.vectors.stores.qdrant import Qdrant as Qdrant
    from remanence.ledger.encryption import Encryption as Encryption
    from remanence.models.llm_extractor import LLMExtractor as LLMExtractor
    from remanence.recall.answer import Recall as Recall
    from remanence.recall.memories_used import memories_used as memories_used
    from remanence.recall.procedures import Procedure as Procedure
    from remanence.recall.profile import Profile as Profile
    from remanence.recall.receipts import Receipt as Receipt
    from remanence.remember.jobs import Job as Job
    from remanence.remember.message_analysis import analyze_for_recall as analyze_for_recall
    from remanence.remember.message_analysis import analyze_message as analyze_message
    from remanence.schema import Change as Change
    from remanence.schema import Entity as Entity
    from remanence.schema import Evidence as Evidence
    from remanence.schema import Hit as Hit
    from remanence.schema import Link as Link
    from remanence.schema import Memory as Memory
    from remanence.schema import Mention as Mention
    from remanence.schema import Relation as Relation
    from remanence.schema import Triple as Triple
    from remanence.schema import Turn as Turn
    from remanence.schema import Window as Window
    from remanence.schema.version import __version__ as __version__
    from remanence.service.client.remote_space import connect as connect
    from remanence.space.memory_files import MemoryFiles as MemoryFiles
    from remanence.space.memory_files import StoredFile as StoredFile
    from remanence.space.opening import aopen as aopen
    from remanence.space.opening import migrate as migrate
    from remanence.space.opening import open as open
    from remanence.space.opening import reembed as reembed
    from remanence.space.opening import restore as restore
    from remanence.space.space import Space as Space
    from remanence.space.union import Union as Union
    from remanence.space.union import union as union
    from remanence.space.view import View as View
    from remanence.text.framing import frame as frame
    from remanence.transfer.migration import encrypt as encrypt
    from remanence.transfer.migration import rotate_key as rotate_key
    from remanence.transfer.overview import Stats as Stats
    from remanence.upkeep.settings import UpkeepSettings as UpkeepSettings

_NAMES = {
    "transfer.overview": "Stats",
    "space.memory_files": "MemoryFiles StoredFile",
    "space.opening": "aopen migrate open reembed restore",
    "space.space": "Space",
    "space.union": "Union union",
    "space.view": "View",
    "index.engine.policy": "Policy TrustRules",
    "ledger.encryption": "Encryption",
    "transfer.migration": "encrypt rotate_key",
    "errors": "Closed InvalidInput NotFound RemanenceError",
    "graph.diff": "Diff",
    "graph.history": "HistoryEvent",
    "graph.traversal": "Subgraph",
    "text.framing": "frame",
    "models.llm_extractor": "LLMExtractor",
    "recall.answer": "Recall",
    "recall.memories_used": "memories_used",
    "recall.procedures": "Procedure",
    "recall.profile": "Profile",
    "recall.receipts": "Receipt",
    "schema": "Change Entity Evidence Hit Link Memory Mention Relation Triple Turn Window",
    "schema.version": "__version__",
    "service.client.remote_space": "connect",
    "index.vectors.stores.qdrant": "Qdrant",
    "upkeep.settings": "UpkeepSettings",
    "remember.jobs": "Job",
    "remember.message_analysis": "analyze_for_recall analyze_message",
}
_MODULE_OF = {name: module for module, names in _NAMES.items() for name in names.split()}

__all__ = sorted(name for name in _MODULE_OF if name != "__version__")


def __getattr__(name: str) -> Any:
    if name in _MODULE_OF:
        return getattr(import_module(f"remanence.{_MODULE_OF[name]}"), name)
    raise AttributeError(f"module 'remanence' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
