"""Models of other makers through onnxruntime: from a wheel of the package registry, or from a folder."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from remanence.errors import InvalidEmbedding, InvalidInput, MissingExtra
from remanence.models import catalogue
from remanence.models.catalogue import MODEL_FILES, MODELS, READER_MAX_TOKENS, ModelPurpose, ModelSpec
from remanence.models.text_model import cpu_threads, start_session

if TYPE_CHECKING:
    from remanence.ports import Vector


class OnnxSession:
    """The `model.onnx` and `tokenizer.json` of a folder.

    Each text is run alone: an 8-bit model scales its numbers over the batch, so the output for a text would
    depend on the other texts. Batches are not faster.
    """

    def __init__(self, model: ModelSpec, place: Path) -> None:
        try:
            from tokenizers import Tokenizer
        except ImportError as error:
            raise MissingExtra(
                f"{model.name!r} needs the package {error.name}. Run: pip install {error.name}"
            ) from error
        self.files = catalogue.verify_files(model, place)
        self.model, self._place = model, place
        self._tokenizer = Tokenizer.from_file(str(place / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(model.max_tokens, strategy="longest_first")
        self._session, self._process = self._open(), os.getpid()

    def run(self, text: str, second_text: str | None = None) -> Vector:
        """The first output of the model, for one text or for a pair of texts."""
        # `encode`, not `encode_batch`, which starts threads and then warns in every forked process.
        encoded = self._tokenizer.encode(self._prefix(text), None if second_text is None else self._prefix(second_text))
        return self._run(encoded.ids, encoded.type_ids)

    def _run(self, ids: Sequence[int], kinds: Sequence[int]) -> Vector:
        inputs = {
            "input_ids": np.array([ids], np.int64),
            "attention_mask": np.ones((1, len(ids)), np.int64),
            "token_type_ids": np.array([kinds], np.int64),
        }
        if self._process != os.getpid():  # the threads of the parent's session do not survive a fork
            self._session, self._process = self._open(), os.getpid()
        required = {required.name for required in self._session.get_inputs()}
        if not required <= inputs.keys():
            names = ", ".join(sorted(required))
            raise InvalidEmbedding(f"{self._place / 'model.onnx'} needs the inputs {names}: it is not a text model.")
        answer: Vector = self._session.run(None, {name: inputs[name] for name in required})[0][0]
        return answer

    def fingerprint(self, *settings: object) -> str:
        """A hash of the files and of the settings they are used with."""
        return hashlib.sha256("|".join([self.files, *map(str, settings)]).encode()).hexdigest()[:12]

    def _prefix(self, text: str) -> str:
        """The part of a text that can be within `max_tokens`; a token has about four letters."""
        return text[: self.model.max_tokens * 32].encode("utf-8", "replace").decode("utf-8")

    def _open(self) -> Any:
        # Pairs of short texts are run side by side instead: a third faster than two threads for each.
        threads = 1 if self.model.use == "reader" else cpu_threads()
        return start_session(str(self._place / "model.onnx"), threads)


class OnnxEmbedder:
    """A text embedding model, used as its documentation says."""

    def __init__(self, session: OnnxSession) -> None:
        self._session, self._model = session, session.model
        model = self._model
        self.name, self.similarity_floor = model.name, model.similarity_floor
        self.dimension: int | None = model.dimension or int(self.embed(["memory"]).shape[1])
        digest = session.fingerprint(model.pooling, model.max_tokens, model.query_prefix)
        self.fingerprint = f"{self.name}@{self.dimension}:{digest}"

    def embed(self, texts: Sequence[str]) -> Vector:
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


def open_session(name: str, use: ModelPurpose) -> OnnxSession:
    """A model of the catalogue, or the model of any other folder. Nothing is downloaded."""
    return OnnxSession(*find_files(name, use))


def find_files(name: str, use: ModelPurpose) -> tuple[ModelSpec, Path]:
    """How a model is used, and the folder with its files: in the cache folder, or as named."""
    folder = Path(name).expanduser()
    if name in catalogue.model_names(use) or not folder.is_dir():
        model, place = catalogue.find_model(name, use), catalogue.installed_folder(name)
        if place is None:
            expected = catalogue.models_folder() / name
            raise InvalidInput(f"The files of {name!r} are not in {expected}. Run `remanence models get {name}`.")
        return model, place
    if missing := [file for file in MODEL_FILES if not (folder / file).is_file()]:
        lacks = " and ".join(missing)
        raise InvalidInput(
            f"The folder {folder} is no {use}: it lacks {lacks}. Put them there, or name another folder."
        )
    return _folder_settings(folder, use), folder


def _folder_settings(place: Path, use: ModelPurpose) -> ModelSpec:
    """How the model of a folder is used: from the catalogue if its name is there, else from its settings files."""
    name = place.resolve().name
    if use == "reader":
        return ModelSpec(name, use, max_tokens=READER_MAX_TOKENS)
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
        raise InvalidInput(f"{file} is not JSON: {error}. Correct it, or remove it to use the defaults.") from error
    return settings if isinstance(settings, dict) else {}
