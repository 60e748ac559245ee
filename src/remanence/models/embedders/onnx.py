"""Small transformers through onnxruntime: a hundred times slower than the table, and better."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from remanence.errors import InvalidInput
from remanence.models.catalogue import MODELS, ModelSpec
from remanence.models.onnx_session import OnnxSession

if TYPE_CHECKING:
    from remanence.ports import Vector


class OnnxEmbedder:
    """A text embedding model, used as its documentation says.

    >>> OnnxEmbedder.from_catalogue("bge-small-en-v1.5").embed(["Alice moved to Lisbon."]).shape     # doctest: +SKIP
    (1, 384)
    """

    def __init__(self, session: OnnxSession) -> None:
        model = session.model
        self._model, self._session = model, session
        self.name = model.name
        self.dimension = model.dimension
        self.similarity_floor = model.similarity_floor
        if self.dimension is None:
            self.dimension = int(self.embed(["memory"]).shape[1])
        digest = session.fingerprint(model.pooling, model.max_tokens, model.query_prefix)
        self.fingerprint = f"{self.name}@{self.dimension}:{digest}"

    @classmethod
    def from_catalogue(cls, name: str) -> OnnxEmbedder:
        """A model of the catalogue, from the cache folder. It is not downloaded here."""
        return cls(OnnxSession.from_catalogue(name, "embedder"))

    @classmethod
    def from_folder(cls, place: Path) -> OnnxEmbedder:
        """A folder in the layout of `sentence-transformers`; its settings files are read if it has them."""
        return cls(OnnxSession.from_folder(_folder_settings(place), place))

    def embed(self, texts: Sequence[str]) -> Vector:
        """One row for each text."""
        rows = [self._pool(self._session.run(text)) for text in texts]
        return np.stack(rows) if rows else np.zeros((0, self.dimension or 0), np.float32)

    def embed_query(self, text: str) -> Vector:
        """One vector for a question, with the prefix the model was trained with."""
        row: Vector = self.embed([self._model.query_prefix + text])[0]
        return row

    def _pool(self, states: Vector) -> Vector:
        if states.ndim == 1:  # the pooling is part of the exported model
            return states
        row: Vector = states[0] if self._model.pooling == "cls" else states.mean(axis=0)
        return row


def _folder_settings(place: Path) -> ModelSpec:
    """How the model of a folder is used: from the catalogue if its name is there, else from its settings files."""
    name = place.resolve().name
    if name in MODELS:
        return replace(MODELS[name], wheel="", files={})
    pooling = _read_json(place / "1_Pooling" / "config.json")
    lengths = _read_json(place / "sentence_bert_config.json")
    prompts = _read_json(place / "config_sentence_transformers.json").get("prompts") or {}
    return ModelSpec(
        name,
        pooling="cls" if pooling.get("pooling_mode_cls_token") else "mean",
        max_tokens=min(int(lengths.get("max_seq_length") or 512), 512),
        query_prefix=str(prompts.get("query") or ""),
    )


def _read_json(file: Path) -> dict[str, Any]:
    try:
        settings = json.loads(file.read_text("utf-8")) if file.is_file() else {}
    except ValueError as error:
        raise InvalidInput(f"{file} is not valid JSON: {error}. Repair or delete it.") from error
    return settings if isinstance(settings, dict) else {}
