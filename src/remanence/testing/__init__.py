"""What you test your own parts with: contracts to subclass, and fakes that behave like the real thing.

LedgerContract        what every ledger promises
VectorStoreContract   what every vector store promises
FakeClock             a clock that stands still until told to move
HashingEmbedder       an embedder without files or model
ScriptedModel         a language model that says what it is told to
HungModel             one that never answers

The contracts need pytest; each name is loaded when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from remanence.testing.fake_clock import FakeClock
    from remanence.testing.fake_embedder import HashingEmbedder
    from remanence.testing.fake_models import HungModel, ScriptedModel
    from remanence.testing.ledger_contract import LedgerContract
    from remanence.testing.vector_store_contract import VectorStoreContract

_HOMES = {
    "FakeClock": "fake_clock",
    "HashingEmbedder": "fake_embedder",
    "HungModel": "fake_models",
    "LedgerContract": "ledger_contract",
    "ScriptedModel": "fake_models",
    "VectorStoreContract": "vector_store_contract",
}

__all__ = ["FakeClock", "HashingEmbedder", "HungModel", "LedgerContract", "ScriptedModel", "VectorStoreContract"]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"remanence.testing.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'remanence.testing' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
