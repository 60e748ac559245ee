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

`evaluate(space, questions)` compares settings of recall on questions of your own, and `remanence eval` on data sets in
files (`remanence.testing.datasets`). Each name is loaded when it is first used.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from remanence.testing.comparison import evaluate as evaluate
    from remanence.testing.fakes import FakeClock as FakeClock
    from remanence.testing.fakes import HashingEmbedder as HashingEmbedder
    from remanence.testing.fakes import HungModel as HungModel
    from remanence.testing.fakes import ScriptedModel as ScriptedModel
    from remanence.testing.ledger_contract import LedgerContract as LedgerContract
    from remanence.testing.port_contracts import ClockContract as ClockContract
    from remanence.testing.port_contracts import EmbedderContract as EmbedderContract
    from remanence.testing.port_contracts import ExtractorContract as ExtractorContract
    from remanence.testing.port_contracts import FactExtractorContract as FactExtractorContract
    from remanence.testing.port_contracts import LocksContract as LocksContract
    from remanence.testing.port_contracts import MergingExtractorContract as MergingExtractorContract
    from remanence.testing.port_contracts import ModelExtractorContract as ModelExtractorContract
    from remanence.testing.port_contracts import ReaderContract as ReaderContract
    from remanence.testing.port_contracts import SignalContract as SignalContract
    from remanence.testing.port_contracts import SummarizingExtractorContract as SummarizingExtractorContract
    from remanence.testing.port_contracts import VectorStoresContract as VectorStoresContract
    from remanence.testing.vector_store_contract import SharedVectorStoreContract as SharedVectorStoreContract
    from remanence.testing.vector_store_contract import VectorStoreContract as VectorStoreContract

_NAMES = {
    "comparison": "evaluate",
    "fakes": "FakeClock HashingEmbedder HungModel ScriptedModel",
    "ledger_contract": "LedgerContract",
    "port_contracts": "ClockContract EmbedderContract ExtractorContract FactExtractorContract LocksContract "
    "MergingExtractorContract ModelExtractorContract ReaderContract SignalContract SummarizingExtractorContract "
    "VectorStoresContract",
    "vector_store_contract": "SharedVectorStoreContract VectorStoreContract",
}
_MODULES = {name: f"remanence.testing.{module}" for module, names in _NAMES.items() for name in names.split()}
__all__ = sorted(_MODULES)


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'remanence.testing' has no attribute {name!r}")
    if name.endswith("Contract") and _MODULES[name] not in sys.modules:
        import pytest

        # So that a failing contract shows the values that it compared.
        pytest.register_assert_rewrite(_MODULES[name])
    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return __all__
