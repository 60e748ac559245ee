"""The two small transformers that come with the package: one reads questions with memories, one makes vectors.

Both take the vectors of word pieces, not their numbers: they have one table of them in common (`word_vectors.npz`,
8-bit numbers with a scale for each piece). Most pieces use 20 to 40 of the 127 steps of such a number: the file counts
those that are used, and has pieces with the same number of them side by side, which packs better.
`training/README.md` says how they were made.

A text is run alone, never in a batch: an 8-bit model scales its numbers over the batch, so the answer for a text would
depend on the other texts. Each core runs one text at a time, and who asks while all cores are taken waits in a queue:
first come, first served. A text that is alone uses all cores.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, cached_property
from importlib import metadata
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from remanence.errors import InvalidEmbedding, InvalidInput, MissingExtra
from remanence.models import catalogue
from remanence.models.catalogue import MODEL_FILES, MODELS, READER_MAX_TOKENS, ModelPurpose, ModelSpec
from remanence.models.time_limit import CallQueue
from remanence.operating_system import after_fork

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from remanence.ports import Vector

FOLDER = Path(__file__).with_name("text_models")
SHA256 = {
    "word_vectors.npz": "7df7d9fa9c9f1b7b59cf587f714fd180b99587638380781a59c15acbe6c8eaec",
    "tokenizer.json": "8282b0e4ae1e4e77b9065efd9f3771dd18a179a10e1c8ee998357e5287ad4b98",
    "reader.onnx": "2fd4a3c72751093b8958dcb524913896f103e1e7d2ebd7e233102cfdbbf9c849",
    "embedder.onnx": "384d356e676e13c871f5652348dd567dc6158804d73f947d174f4c59e69872d7",
}
_MAX_CHARS = 32
"""Characters of a word piece, at most: what is longer than the pieces that are read is cut off before it is split."""


class WordPieces:
    """The word pieces of both models: numbers of a text, and vectors of numbers."""

    def __init__(self, folder: Path = FOLDER) -> None:
        tokenizers = _require("tokenizers")
        self._tokenizer = tokenizers.Tokenizer.from_str(read_checked(folder / "tokenizer.json", SHA256).decode("utf-8"))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self.begin, self.end, self.moment = (self._tokenizer.token_to_id(name) for name in ("[CLS]", "[SEP]", "[MASK]"))
        self._vectors, self._scales = read_word_vectors(read_checked(folder / "word_vectors.npz", SHA256))

    def split(self, text: str, most: int) -> list[int]:
        """The numbers of the first pieces of a text, at most this many."""
        # `encode`, not `encode_batch`, which starts threads and then warns in every forked process.
        head = text[: most * _MAX_CHARS].encode("utf-8", "replace").decode("utf-8")
        pieces: list[int] = self._tokenizer.encode(head, add_special_tokens=False).ids[:most]
        return pieces

    def vectors(self, pieces: Sequence[int]) -> Vector:
        """The vectors of some pieces, one row each."""
        rows: Vector = self._vectors[pieces] * self._scales[pieces, None]
        return rows


def read_word_vectors(content: bytes) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """The vectors in such a file in 8 bits, and their scales."""
    with np.load(BytesIO(content)) as stored:
        counted, steps, pieces, scales = stored["vectors"], stored["steps"], stored["pieces"], stored["scales"]
    vectors = np.empty_like(counted)
    numbers = np.arange(256, dtype=np.uint8).view(np.int8).astype(np.float64)
    for count in np.unique(steps):
        begin, end = np.searchsorted(steps, (count, count + 1))
        table = np.rint(numbers * 127 / count).clip(-127, 127).astype(np.int8)
        whole = np.frombuffer(counted[begin:end].tobytes().translate(table.tobytes()), np.int8)
        vectors[pieces[begin:end]] = whole.reshape(end - begin, -1)
    return vectors, scales.astype(np.float32)


class TextModel:
    """One of the two models, opened when it is first used."""

    def __init__(self, file: str, folder: Path = FOLDER) -> None:
        self._file, self._folder = file, folder
        self._lock = threading.Lock()
        self._process, self._calls = os.getpid(), CallQueue(os.cpu_count() or 1)
        self._sessions: dict[int, Any] = {}

    @cached_property
    def pieces(self) -> WordPieces:
        """The word pieces that it reads."""
        return word_pieces(self._folder)

    def run(self, pieces: Sequence[int], kinds: Sequence[int], **more: Sequence[int]) -> Mapping[str, Vector]:
        """The outputs of the model for one text, by name."""
        inputs = {
            "vectors": self.pieces.vectors(pieces)[None],
            "mask": np.ones((1, len(pieces)), np.float32),
            "kinds": np.array([kinds], np.int64),
        } | {name: np.array([values], np.int64) for name, values in more.items()}

        def call(is_alone: bool) -> Mapping[str, Vector]:
            session = self._session(cpu_threads() if is_alone else 1)
            outputs = session.run(None, inputs)
            return {output.name: values[0] for output, values in zip(session.get_outputs(), outputs, strict=True)}

        return self._queue().call(call)

    def _queue(self) -> CallQueue:
        """The queue of this process."""
        with self._lock:
            if self._process != os.getpid():
                # The threads of the parent's sessions do not survive a fork.
                self._sessions, self._process, self._calls = {}, os.getpid(), CallQueue(os.cpu_count() or 1)
            return self._calls

    def _session(self, threads: int) -> Any:
        """The session with so many threads. Two sessions of one model share nothing, so there are at most two."""
        with self._lock:
            known = self._sessions.get(threads)
            if known is None:
                known = self._sessions[threads] = start_session(
                    read_checked(self._folder / self._file, SHA256), threads
                )
            return known


_started: weakref.WeakSet[Any] = weakref.WeakSet()
"""The sessions of this process that were not freed yet."""


def start_session(model: bytes | str, threads: int) -> Any:
    """An onnxruntime session of a model, given by its content or its file, with so many threads."""
    runtime = load_onnxruntime()
    options = runtime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.log_severity_level = 3
    # Threads that wait in a loop would take processor time from others.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    session = runtime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    _started.add(session)
    return session


def load_onnxruntime() -> Any:
    """onnxruntime without its telemetry. From 1.29 on it would tell its maker what runs here, from a thread for which a
    forked process waits for ever when it ends."""
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")  # read when the module is imported
    runtime = _require("onnxruntime")
    runtime.disable_telemetry_events()  # it may have been imported before
    return runtime


def _keep_sessions() -> None:
    """Never free the sessions of the parent, in a forked process: that would wait for their threads, which do not
    survive a fork. A reference that Python knows of would be dropped when the process ends."""
    if _started:
        import ctypes

        for session in _started:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(session))
        _started.clear()


after_fork(_keep_sessions)


def cpu_threads() -> int:
    """How many threads a model may use for one text."""
    return min(4, os.cpu_count() or 1)


@cache
def word_pieces(folder: Path = FOLDER) -> WordPieces:
    """The word pieces of a folder, read once in a process."""
    return WordPieces(folder)


def read_checked(file: Path, digests: Mapping[str, str]) -> bytes:
    """A file of this package, if it is as it was released. `digests` has the SHA-256 of each file, by its name.

    Raises:
        InvalidEmbedding: Its content is another one.
    """
    content = file.read_bytes()
    found, expected = hashlib.sha256(content).hexdigest(), digests[file.name]
    if found != expected:
        raise InvalidEmbedding(
            f"{file} is not the file of this release: its SHA-256 is {found}, not {expected}. "
            "Run: pip install --force-reinstall --no-deps remanence-memory"
        )
    return content


def check_tokenizers() -> None:
    """Refuse a `tokenizers` with another API at opening, without loading it.

    Raises:
        MissingExtra: It is 1.0 or later. Each call would go on without embedder and reader, with a warning.
    """
    try:
        installed = metadata.version("tokenizers")
    except metadata.PackageNotFoundError:
        return  # `_require` says so, if a model is used
    major = installed.partition(".")[0]
    if major.isdigit() and int(major) >= 1:
        raise MissingExtra(
            f"The models of this package cannot use tokenizers {installed}, which has another API. "
            'Run: pip install "tokenizers<1"'
        )


def _require(module: str) -> Any:
    try:
        return __import__(module)
    except ImportError as error:
        raise MissingExtra(f"The models of this package need {module}. Run: pip install {module}") from error


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
