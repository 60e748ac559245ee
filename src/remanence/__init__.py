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
from remanence.version import __version__ as __version__

if TYPE_CHECKING:
    from remanence.answers import Recall
    from remanence.extractors.llm import LLMExtractor
    from remanence.framing import frame
    from remanence.graph.differences import Diff
    from remanence.graph.entities import Candidate, Registration
    from remanence.graph.happenings import Happening
    from remanence.graph.walks import Edge, Node, Walked
    from remanence.model import (
        Alias,
        Change,
        Disagreement,
        Entity,
        Evidence,
        Extraction,
        Fact,
        Found,
        Hit,
        Link,
        Memory,
        Mention,
        Relation,
        Said,
        Triple,
        Turn,
        Verdict,
        Window,
    )
    from remanence.opening import import_, open, reembed
    from remanence.profile import Profile
    from remanence.receipts import Exposure, Receipt
    from remanence.remembering.jobs import Job
    from remanence.space import Space, Verified
    from remanence.taking import taken_up
    from remanence.upkeep.settings import UpkeepSettings
    from remanence.view import View
    from remanence.whole.compacting import Compacted
    from remanence.whole.overview import Gathered, GraphPage, Stats, Tied
    from remanence.whole.transfer import Transfer

_HOMES = {
    "Job": "remembering.jobs",
    "LLMExtractor": "extractors.llm",
    "Recall": "answers",
    "Compacted": "whole.compacting",
    "Transfer": "whole.transfer",
    "Receipt": "receipts",
    "View": "view",
    "UpkeepSettings": "upkeep.settings",
    "Happening": "graph.happenings",
    "Walked": "graph.walks",
    "Node": "graph.walks",
    "Edge": "graph.walks",
    "Diff": "graph.differences",
    "Exposure": "receipts",
    "Registration": "graph.entities",
    "Candidate": "graph.entities",
    "Profile": "profile",
    "Disagreement": "model",
    "frame": "framing",
    "taken_up": "taking",
    **dict.fromkeys(
        (
            *("Alias", "Change", "Entity", "Evidence", "Extraction", "Fact", "Found", "Hit", "Link"),
            *("Memory", "Mention", "Relation", "Said", "Triple", "Turn", "Verdict", "Window"),
        ),
        "model",
    ),
    **dict.fromkeys(("import_", "open", "reembed"), "opening"),
    **dict.fromkeys(("Gathered", "GraphPage", "Stats", "Tied"), "whole.overview"),
    **dict.fromkeys(("Space", "Verified"), "space"),
}

__all__ = [
    "Alias",
    "Candidate",
    "Change",
    "Closed",
    "Compacted",
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
    "Fact",
    "Found",
    "Gathered",
    "GraphPage",
    "Happening",
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
    "Said",
    "Space",
    "Stats",
    "Tied",
    "Transfer",
    "Triple",
    "Turn",
    "UpkeepSettings",
    "Verdict",
    "Verified",
    "View",
    "Walked",
    "Window",
    "frame",
    "import_",
    "open",
    "reembed",
    "taken_up",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"remanence.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'remanence' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
