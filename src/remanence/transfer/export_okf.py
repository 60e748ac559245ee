"""Export as a bundle of the Open Knowledge Format 0.2: a folder with a Markdown file for each memory, and an index.

A file has front matter, whose values are JSON, which is YAML, and the text as it is. `imports/markdown.py`
reads bundles.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from remanence.errors import InvalidInput
from remanence.index.index_file import open_private
from remanence.schema import Memory
from remanence.schema.version import __version__
from remanence.text.text import pluralize, truncate
from remanence.transfer.overview import ListedStatus

OKF_VERSION = "0.2"
EXPORTED: tuple[ListedStatus, ...] = ("current", "superseded", "expired")
"""The status of the memories that are written; all but the current ones are deprecated."""
_TYPES = {"episode": "Episode", "semantic": "Fact", "viewpoint": "Viewpoint", "procedure": "Procedure"}
_FOLDERS = {
    "Episode": "episodes",
    "Fact": "facts",
    "Viewpoint": "viewpoints",
    "Procedure": "procedures",
    "Chat Turn": "turns",
}
_TITLE_LENGTH = 80
"""Letters of the title of a note."""
_UNSAFE = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class OkfReport:
    """What was exported: how many memories became concepts of a bundle, and how many of them are deprecated."""

    path: str
    concepts: int
    deprecated: int

    def __str__(self) -> str:
        old = f", {self.deprecated:,} of them deprecated" if self.deprecated else ""
        return f"{self.path}: {pluralize(self.concepts, 'concept', 'concepts')}{old}"


def export_okf(memories: Iterable[tuple[Memory, bool]], folder: Path) -> OkfReport:
    """Write memories, each with whether it is current, to a new or empty folder.

    Raises:
        InvalidInput: The folder has files in it, or cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise InvalidInput(f"{folder} is not empty. Name a new folder: an older bundle is not overwritten.")
        lines: dict[str, list[str]] = {}
        count = deprecated = 0
        for memory, is_current in memories:
            kind = _type(memory)
            file = f"{_FOLDERS[kind]}/{_file_name(memory)}"
            (folder / file).parent.mkdir(exist_ok=True)
            fields = "\n".join(f"{name}: {_dump(value)}" for name, value in _fields(memory, kind, is_current))
            _write(folder / file, f"---\n{fields}\n---\n\n{memory.text}\n")
            lines.setdefault(kind, []).append(f"* [{_link_text(memory.text)}]({file})")
            count, deprecated = count + 1, deprecated + (not is_current)
        sections = (f"# {kind}\n\n" + "\n".join(entries) for kind, entries in sorted(lines.items()))
        index = "\n\n".join((f'---\nokf_version: "{OKF_VERSION}"\n---', *sections)) + "\n"
        _write(folder / "index.md", index)
    except OSError as error:
        raise InvalidInput(f"{folder} cannot be written: {error.strerror or error}. Name another folder.") from error
    return OkfReport(str(folder), count, deprecated)


def _write(path: Path, text: str) -> None:
    with open_private(path) as file:
        file.write(text.encode("utf-8"))


def _type(memory: Memory) -> str:
    return "Chat Turn" if memory.turn is not None else _TYPES[memory.kind]


def _fields(memory: Memory, kind: str, is_current: bool) -> Iterator[tuple[str, Any]]:
    """The front matter. What the format has no field for is in `remanence`, which other programs leave alone."""
    yield "type", kind
    yield "title", truncate(memory.text.partition("\n")[0].strip(), _TITLE_LENGTH)
    if memory.tags:
        yield "tags", list(memory.tags)
    yield "generated", {"by": f"remanence/{__version__}", "at": memory.told_at.isoformat()}
    if memory.source:
        yield "sources", [{"resource": memory.source}]
    if not is_current:
        yield "status", "deprecated"
    own = {
        "id": memory.id,
        "key": memory.key,
        "valid_from": memory.valid.start and memory.valid.start.isoformat(),
        "valid_until": memory.valid.end and memory.valid.end.isoformat(),
        "observed_by": memory.observed_by,
        "speaker": memory.turn and memory.turn.speaker,
        "conversation": memory.turn and memory.turn.conversation,
    }
    yield "remanence", {name: value for name, value in own.items() if value}


def _file_name(memory: Memory) -> str:
    words = _UNSAFE.sub("-", memory.text[:60].lower()).strip("-") or "memory"
    return f"{words}-{_UNSAFE.sub('-', memory.id.lower())[-12:]}.md"


def _link_text(text: str) -> str:
    return truncate(re.sub(r"[\[\]\s]+", " ", text).strip(), _TITLE_LENGTH)


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
