"""What of mem0's configuration can be used: where memories are stored, a language model, an embedder."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from remanence.errors import InvalidInput
from remanence.index.vectors.stores.qdrant import Qdrant

_MODELS = {"llm": "extractor", "embedder": "embedder"}
_IGNORED = ("version", "history_db_path")
"""The release of mem0's interface, and where it keeps what changed: that is in the ledger."""
_REFUSED = {
    "graph_store": "The graph is part of every space: leave it out, and ask memory.space.graph.",
    "reranker": "Hits are read by a small model that comes with the package: leave it out.",
    "custom_instructions": "Leave it out, and give an extractor of yours: Memory(extractor=...).",
}


def open_options(config: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of `remanence.open` that a configuration stands for.

    Raises:
        InvalidInput: A part of it cannot be had; the message names it.
    """
    if not isinstance(config, Mapping):
        raise InvalidInput(f"config={config!r} is not a dict such as {{'vector_store': {{...}}}}.")
    options: dict[str, Any] = {"location": os.environ.get("REMANENCE_MEMORY", "./memory")}
    for name, part in config.items():
        if name in _IGNORED or part is None:
            continue
        if name in _REFUSED:
            raise InvalidInput(f"{name}={part!r} has no meaning here. {_REFUSED[name]}")
        if name not in (*_MODELS, "vector_store"):
            raise InvalidInput(f"there is no part {name!r} of a configuration here. Leave it out.")
        provider = part.get("provider") if isinstance(part, Mapping) else None
        settings = (part.get("config") or {}) if isinstance(part, Mapping) else None
        if not isinstance(provider, str) or not isinstance(settings, Mapping):
            raise InvalidInput(f"{name}={part!r} is not of the form {{'provider': '...', 'config': {{...}}}}.")
        if name == "vector_store":
            options |= _store_options(provider, settings)
        else:
            options[_MODELS[name]] = _model(provider, settings.get("model"))
    return options


def _store_options(provider: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    if provider not in ("remanence", "qdrant"):
        raise InvalidInput(
            f"the vector store {provider!r} cannot be used. Give 'remanence' with a path, or 'qdrant' with a path, or "
            "with a url and a path; or leave it out."
        )
    path, url = settings.get("path"), settings.get("url")
    if settings.get("host"):
        url = f"http://{settings['host']}:{settings.get('port') or 6333}"
    if path is not None and (Path(path) / "meta.json").is_file():
        raise InvalidInput(
            f"{path} is a Qdrant folder of mem0. Name another path, write what mem0's get_all returns to a JSON file, "
            "and take it over by memory.space.admin.import_from(file, users='separate')."
        )
    given = {"location": path, "vectors": Qdrant(url, key=settings.get("api_key")) if url else None}
    return {name: value for name, value in given.items() if value is not None}


def _model(provider: str, model: object) -> object:
    if model is None or isinstance(model, str):
        raise InvalidInput(
            f"{provider!r} with model={model!r} cannot be called from here. Give {{'provider': 'langchain', 'config': "
            "{'model': <an object of LangChain or LlamaIndex>}}, or leave it out."
        )
    return model
