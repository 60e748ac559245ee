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

if TYPE_CHECKING:
    from remanence.answers import Recall
    from remanence.model import Change, Evidence, Extraction, Hit, Memory, Mention, Triple, Turn, Window
    from remanence.space import Space, Verified, View, open, reembed

__version__ = "0.1.0"

_HOMES = {
    "Recall": "answers",
    **dict.fromkeys(
        ("Change", "Evidence", "Extraction", "Hit", "Memory", "Mention", "Triple", "Turn", "Window"), "model"
    ),
    **dict.fromkeys(("Space", "Verified", "View", "open", "reembed"), "space"),
}

__all__ = [
    "Change",
    "Closed",
    "EmbedderBroken",
    "EmbedderDown",
    "EmbedderError",
    "Evidence",
    "Extraction",
    "Hit",
    "InvalidInput",
    "LedgerCorrupt",
    "LedgerError",
    "LedgerTampered",
    "LedgerTooNew",
    "LedgerUnavailable",
    "Memory",
    "Mention",
    "MissingExtra",
    "NotFound",
    "ProjectionError",
    "ProjectionStale",
    "Recall",
    "RemanenceError",
    "Space",
    "Triple",
    "Turn",
    "Verified",
    "View",
    "Window",
    "open",
    "reembed",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"remanence.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'remanence' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
