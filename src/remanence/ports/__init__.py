"""The parts that can be replaced: ledger, signals, vector stores, embedder, extractor, reader, clock.

Each is a Protocol: any object with these members works, no base class is needed. Pass it to `remanence.open`. The
values that they take and return can be imported from here, too.
`remanence.testing` has a contract class for each: subclass it in your tests to check your own implementation.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from remanence.events import Event, Remembered
from remanence.ports.ledger_ports import Ledger, LockingLedger, Locks, RewritableLedger, Transaction
from remanence.ports.model_ports import (
    EVERY_TURNS,
    QUIET_SECONDS,
    Embedder,
    Extractor,
    FactExtractor,
    FastEmbedder,
    ListReading,
    MergingExtractor,
    ModelExtractor,
    Reader,
    ReaderLine,
    SummarizingExtractor,
)
from remanence.ports.signal_ports import Signal, Stage
from remanence.ports.vector_ports import (
    ReportingVectorStore,
    SharedVectorStore,
    StoredPoints,
    Vector,
    VectorStore,
    VectorStores,
)
from remanence.schema import (
    Entry,
    Extraction,
    ExtractionResult,
    Fact,
    FactEffect,
    Memory,
    Mention,
    Query,
    Ranking,
    TokenUsage,
    Triple,
    Utterance,
)

__all__ = [
    "EVERY_TURNS",
    "QUIET_SECONDS",
    "Clock",
    "Embedder",
    "Entry",
    "Event",
    "Extraction",
    "ExtractionResult",
    "Extractor",
    "Fact",
    "FactEffect",
    "FactExtractor",
    "FastEmbedder",
    "Ledger",
    "ListReading",
    "LockingLedger",
    "Locks",
    "Memory",
    "Mention",
    "MergingExtractor",
    "ModelExtractor",
    "Progress",
    "Query",
    "Ranking",
    "Reader",
    "ReaderLine",
    "Remembered",
    "ReportingVectorStore",
    "RewritableLedger",
    "SharedVectorStore",
    "Signal",
    "Stage",
    "StoredPoints",
    "SummarizingExtractor",
    "TokenUsage",
    "Transaction",
    "Triple",
    "Utterance",
    "Vector",
    "VectorStore",
    "VectorStores",
]

Clock = Callable[[], datetime]

Progress = Callable[[int, int], None]
