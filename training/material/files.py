"""Where the material lies, and how its files are read."""

from __future__ import annotations

import gzip
import json
import lzma
from collections.abc import Iterator
from pathlib import Path
from typing import Any

TRAINING = Path(__file__).resolve().parents[1]
REPOSITORY = TRAINING.parent
TEST_WORLDS = REPOSITORY / "benchmarks" / "worlds"
SHARED = REPOSITORY.parent / "shared"
"""Beside the repository: what is not ours to publish, or too large."""
CHATS, DEVELOPMENT_SETS, PUBLIC_QUESTIONS = SHARED / "chats", SHARED / "data", SHARED / "reader" / "external.jsonl.xz"
_OPEN = {".gz": gzip.open, ".xz": lzma.open}


def read_rows(path: Path) -> Iterator[dict[str, Any]]:
    """The objects of a file of JSON lines, which may be compressed."""
    with _OPEN.get(path.suffix, open)(path, "rt", encoding="utf-8") as file:
        yield from map(json.loads, file)


def read_folder(folder: Path, files: str = "*.jsonl") -> Iterator[dict[str, Any]]:
    """The objects of all files of a folder, in the order of their names."""
    for path in sorted(folder.glob(files)):
        yield from read_rows(path)


def read_topics(name: str) -> list[tuple[str, str]]:
    """Topics ("person" or "project"), each with the question that asks for all about it."""
    lines = (TRAINING / "topics" / f"{name}.tsv").read_text("utf-8").splitlines()
    return [(topic, question) for topic, question in (line.split("\t") for line in lines)]
