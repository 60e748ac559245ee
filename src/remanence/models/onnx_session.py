"""One model of a folder, through onnxruntime."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from remanence.errors import EmbedderBroken, InvalidInput, MissingExtra
from remanence.models.catalogue import (
    MODEL_FILES,
    ModelSpec,
    ModelUse,
    find_model,
    installed_folder,
    models_folder,
    verify_files,
)

if TYPE_CHECKING:
    from remanence.ports import Vector


class OnnxSession:
    """A folder's `model.onnx` and `tokenizer.json`: text in, what the model says of it out.

    Each text is run alone. 8-bit models scale their numbers by all that is in the run, so in batches the
    same text would get another answer by its company, for the same work.
    """

    def __init__(self, model: ModelSpec, place: Path) -> None:
        try:
            import onnxruntime
            from tokenizers import Tokenizer
        except ImportError as error:
            raise MissingExtra(
                f'{model.name!r} needs the package {error.name}. Run: pip install "remanence[onnx]"'
            ) from error
        self.files = verify_files(model, place)
        self._model, self._place, self._runtime = model, place, onnxruntime
        self._tokenizer = Tokenizer.from_file(str(place / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(model.max_tokens)
        self._session, self._process = self._open(), os.getpid()

    @classmethod
    def from_catalogue(cls, name: str, use: ModelUse) -> OnnxSession:
        """A model of the catalogue, from the cache folder. It is never downloaded here."""
        model = find_model(name, use)
        place = installed_folder(name)
        if place is None:
            raise InvalidInput(
                f"The files of {name!r} are not in {models_folder() / name}. Run `remanence models get {name}`."
            )
        return cls(model, place)

    @classmethod
    def from_folder(cls, model: ModelSpec, place: Path) -> OnnxSession:
        """A model of one's own, from wherever its files lie."""
        lacking = [file for file in MODEL_FILES if not (place / file).is_file()]
        if lacking:
            raise InvalidInput(
                f"The folder {place} is no {model.use}: it lacks {' and '.join(lacking)}. "
                "Put them there, or name another folder."
            )
        return cls(model, place)

    def run(self, text: str, beside: str | None = None) -> Vector:
        """The model's first answer for this text, or for these two."""
        # `encode`, not `encode_batch`: the latter starts threads, and warns in every process forked after.
        encoded = self._tokenizer.encode(self._near(text), None if beside is None else self._near(beside))
        offered = {
            "input_ids": np.array([encoded.ids], np.int64),
            "attention_mask": np.array([encoded.attention_mask], np.int64),
            "token_type_ids": np.array([encoded.type_ids], np.int64),
        }
        session = self._here()
        wanted = {given.name for given in session.get_inputs()}
        if not wanted <= offered.keys():
            raise EmbedderBroken(
                f"{self._place / 'model.onnx'} wants {', '.join(sorted(wanted))}: it is no model of text."
            )
        answer: Vector = session.run(None, {name: offered[name] for name in wanted})[0][0]
        return answer

    def fingerprint(self, *recipe: object) -> str:
        """What changes when the files change, or how they are used."""
        return hashlib.sha256("|".join([self.files, *map(str, recipe)]).encode()).hexdigest()[:12]

    def _near(self, text: str) -> str:
        """A piece has some four letters: what lies far beyond the last one needs no tokenising."""
        return text[: self._model.max_tokens * 32].encode("utf-8", "replace").decode("utf-8")

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
