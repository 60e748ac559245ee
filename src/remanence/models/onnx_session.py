"""Runs one model of a folder with onnxruntime."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from remanence.errors import EmbedderBroken, InvalidInput, MissingExtra
from remanence.models import catalogue
from remanence.models.catalogue import MODEL_FILES, ModelSpec, ModelUse

if TYPE_CHECKING:
    from remanence.ports import Vector


class OnnxSession:
    """The `model.onnx` and `tokenizer.json` of a folder.

    Each text is run alone: an 8-bit model scales its numbers over the batch, so the output for a text would
    depend on the other texts. Batches are not faster.
    """

    def __init__(self, model: ModelSpec, place: Path) -> None:
        try:
            import onnxruntime
            from tokenizers import Tokenizer
        except ImportError as error:
            raise MissingExtra(
                f'{model.name!r} needs the package {error.name}. Run: pip install "remanence[onnx]"'
            ) from error
        self.files = catalogue.verify_files(model, place)
        self.model, self._place, self._runtime = model, place, onnxruntime
        self._tokenizer = Tokenizer.from_file(str(place / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(model.max_tokens)
        self._session, self._process = self._open(), os.getpid()

    @classmethod
    def from_catalogue(cls, name: str, use: ModelUse) -> OnnxSession:
        """A model of the catalogue, from the cache folder. It is not downloaded here."""
        model = catalogue.find_model(name, use)
        place = catalogue.installed_folder(name)
        if place is None:
            expected = catalogue.models_folder() / name
            raise InvalidInput(f"The files of {name!r} are not in {expected}. Run `remanence models get {name}`.")
        return cls(model, place)

    @classmethod
    def from_folder(cls, model: ModelSpec, place: Path) -> OnnxSession:
        """The user's own model, from any folder with its files."""
        missing = [file for file in MODEL_FILES if not (place / file).is_file()]
        if missing:
            raise InvalidInput(
                f"The folder {place} is no {model.use}: it lacks {' and '.join(missing)}. "
                "Put them there, or name another folder."
            )
        return cls(model, place)

    def run(self, text: str, second_text: str | None = None) -> Vector:
        """The first output of the model for one text, or for a pair of texts."""
        # `encode`, not `encode_batch`, which starts threads and then warns in every forked process.
        encoded = self._tokenizer.encode(self._prefix(text), None if second_text is None else self._prefix(second_text))
        inputs = {
            "input_ids": np.array([encoded.ids], np.int64),
            "attention_mask": np.array([encoded.attention_mask], np.int64),
            "token_type_ids": np.array([encoded.type_ids], np.int64),
        }
        if self._process != os.getpid():  # the threads of the parent's session do not survive a fork
            self._session, self._process = self._open(), os.getpid()
        required = {required.name for required in self._session.get_inputs()}
        if not required <= inputs.keys():
            names = ", ".join(sorted(required))
            raise EmbedderBroken(f"{self._place / 'model.onnx'} needs the inputs {names}: it is no text model.")
        output: Vector = self._session.run(None, {name: inputs[name] for name in required})[0][0]
        return output

    def fingerprint(self, *settings: object) -> str:
        """A hash of the files and of the settings they are used with."""
        return hashlib.sha256("|".join([self.files, *map(str, settings)]).encode()).hexdigest()[:12]

    def _prefix(self, text: str) -> str:
        """The part of a text that can be within `max_tokens`; a token has about four letters."""
        return text[: self.model.max_tokens * 32].encode("utf-8", "replace").decode("utf-8")

    def _open(self) -> Any:
        options = self._runtime.SessionOptions()
        options.intra_op_num_threads = min(4, os.cpu_count() or 1)
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        # Threads that wait in a loop would take processor time from others.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        return self._runtime.InferenceSession(
            str(self._place / "model.onnx"), options, providers=["CPUExecutionProvider"]
        )
