"""Small transformers through onnxruntime: slower than the table by a hundred times, and better."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from remanence.errors import InvalidInput
from remanence.models.catalogue import MODELS, ModelSpec, find_model
from remanence.models.onnx_session import OnnxSession

if TYPE_CHECKING:
    from remanence.ports import Vector


class OnnxEmbedder:
    """A model of text, used as its card says.

    >>> OnnxEmbedder.from_catalogue("bge-small-en-v1.5").embed(["Alice moved to Lisbon."]).shape     # doctest: +SKIP
    (1, 384)
    """

    def __init__(self, model: ModelSpec, session: OnnxSession) -> None:
        self._model, self._session = model, session
        self.name = model.name
        self.dimension = model.dimension
        self.similarity_floor = model.similarity_floor
        if self.dimension is None:
            self.dimension = int(self.embed(["memory"]).shape[1])
        made_of = session.fingerprint(model.pooling, model.max_tokens, model.query_prefix)
        self.fingerprint = f"{self.name}@{self.dimension}:{made_of}"

    @classmethod
    def from_catalogue(cls, name: str) -> OnnxEmbedder:
        """A model of the catalogue, from the cache folder. It is never downloaded here."""
        return cls(find_model(name, "embedder"), OnnxSession.from_catalogue(name, "embedder"))

    @classmethod
    def from_folder(cls, place: Path) -> OnnxEmbedder:
        """A folder as `sentence-transformers` lays it out; its settings are read if they lie there."""
        model = _recipe(place)
        return cls(model, OnnxSession.from_folder(model, place))

    def embed(self, texts: Sequence[str]) -> Vector:
        """One row for each text."""
        rows = [self._pooled(self._session.run(text)) for text in texts]
        return np.stack(rows) if rows else np.zeros((0, self.dimension or 0), np.float32)

    def embed_query(self, text: str) -> Vector:
        """One vector for a question, with the prefix the model was trained with."""
        row: Vector = self.embed([self._model.query_prefix + text])[0]
        return row

    def _pooled(self, states: Vector) -> Vector:
        if states.ndim == 1:  # exported with its pooling
            return states
        row: Vector = states[0] if self._model.pooling == "cls" else states.mean(axis=0)
        return row


def _recipe(place: Path) -> ModelSpec:
    """How a folder's model is to be used: by its name if that is known, else by the settings beside it."""
    name = place.resolve().name
    if name in MODELS:
        model = MODELS[name]
        return replace(model, wheel="", files={})
    pooling = _settings(place / "1_Pooling" / "config.json")
    lengths = _settings(place / "sentence_bert_config.json")
    prompts = _settings(place / "config_sentence_transformers.json").get("prompts") or {}
    return ModelSpec(
        name,
        pooling="cls" if pooling.get("pooling_mode_cls_token") else "mean",
        max_tokens=min(int(lengths.get("max_seq_length") or 512), 512),
        query_prefix=str(prompts.get("query") or ""),
    )


def _settings(file: Path) -> dict[str, Any]:
    if not file.is_file():
        return {}
    try:
        found = json.loads(file.read_text("utf-8"))
    except ValueError as error:
        raise InvalidInput(f"{file} is no JSON: {error}.") from error
    return found if isinstance(found, dict) else {}
