"""Tools for your own tests: a contract class for every port, and fakes that behave like the real parts.

Contracts (subclass one, implement `make` or the fixture that it names, and pytest runs its tests; they need pytest):

    LedgerContract, LocksContract, VectorStoreContract, SharedVectorStoreContract, VectorStoresContract,
    SignalContract, EmbedderContract, ExtractorContract, FactExtractorContract,
    ModelExtractorContract, SummarizingExtractorContract, MergingExtractorContract, ReaderContract, ClockContract

Fakes:

    FakeClock        a clock that only moves when it is told to
    HashingEmbedder  an embedder without files or a model
    ScriptedModel    a language model that returns prepared replies
    HungModel        a language model that never answers

`evaluate(space, questions)` compares settings of recall on questions of your own; `remanence.testing.recall_evaluation`
measures recall on data sets in files. Each name is loaded when it is first used.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from remanence.testing.comparison import evaluate
    from remanence.testing.fakes import FakeClock, HashingEmbedder, HungModel, ScriptedModel
    from remanence.testing.ledger_contract import LedgerContract
    from remanence.testing.port_contracts import (
        ClockContract,
        EmbedderContract,
        ExtractorContract,
        FactExtractorContract,
        LocksContract,
        MergingExtractorContract,
        ModelExtractorContract,
        ReaderContract,
        SignalContract,
        SummarizingExtractorContract,
        VectorStoresContract,
    )
    from remanence.testing.vector_store_contract import SharedVectorStoreContract, VectorStoreContract

_OTHER_MODULES = {
    "FakeClock": "fakes",
    "HashingEmbedder": "fakes",
    "HungModel": "fakes",
    "LedgerContract": "ledger_contract",
    "ScriptedModel": "fakes",
    "SharedVectorStoreContract": "vector_store_contract",
    "VectorStoreContract": "vector_store_contract",
    "evaluate": "comparison",
}
"""Where the names are that are not in `port_contracts`."""

__all__ = [
    "ClockContract",
    "EmbedderContract",
    "ExtractorContract",
    "FactExtractorContract",
    "FakeClock",
    "HashingEmbedder",
    "HungModel",
    "LedgerContract",
    "LocksContract",
    "MergingExtractorContract",
    "ModelExtractorContract",
    "ReaderContract",
    "ScriptedModel",
    "SharedVectorStoreContract",
    "SignalContract",
    "SummarizingExtractorContract",
    "VectorStoreContract",
    "VectorStoresContract",
    "evaluate",
]


def __getattr__(name: str) -> Any:
    if name in __all__:
        module = f"remanence.testing.{_OTHER_MODULES.get(name, 'port_contracts')}"
        if name.endswith("Contract") and module not in sys.modules:
            import pytest

            # So that a failing contract shows the values that it compared.
            pytest.register_assert_rewrite(module)
        return getattr(import_module(module), name)
    raise AttributeError(f"module 'remanence.testing' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
