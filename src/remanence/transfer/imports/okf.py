"""Bundles of the Open Knowledge Format (version 0.1 or 0.2): folders of Markdown files, each of which is a concept.

A concept begins with front matter that has a `type`. `index.md` and `log.md` are lists that are made of the concepts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from remanence.errors import InvalidInput
from remanence.text.front_matter import split_front_matter
from remanence.transfer.imports.markdown import NOTE_ENDINGS, MarkdownFolder
from remanence.transfer.imports.records import Item, SkippedItem, as_mapping, as_moment, as_text

RESERVED_NAMES = ("index.md", "log.md")
_CHECKED_FILES = 50
# `generated: {by: …, at: …}` in one line, or with `at:` in one of the lines after it.
_GENERATED_AT = re.compile(r"^generated:[^\n]*(?:\n[ \t]+[^\n]*)*?[ \t{,]at:[ \t]*[\"']?([^\s,}\"']+)", re.MULTILINE)


def is_bundle(folder: Path) -> bool:
    """Whether a folder says that it is a bundle, or whether all its notes are concepts."""
    index = folder / "index.md"
    if index.is_file() and "okf_version" in _fields(index):
        return True
    notes = (file for ending in NOTE_ENDINGS for file in sorted(folder.rglob(f"*{ending}")))
    checked = [_fields(note) for note, _ in zip(_concepts(notes), range(_CHECKED_FILES), strict=False)]
    return bool(checked) and all("type" in fields for fields in checked)


class OkfBundle(MarkdownFolder):
    """The concepts of a bundle. A section of one is a memory, with what the front matter says."""

    kind = "Open Knowledge Format bundle"

    def check(self) -> None:
        """Refuse a bundle with a concept that has no type."""
        for file in _concepts(sorted(self._path.rglob("*.md"))):
            if not as_text(_fields(file).get("type")):
                raise InvalidInput(
                    f"{file}, line 1: a concept of the Open Knowledge Format begins with front matter that has a type. "
                    "Nothing was imported: add 'type: …', or give format='markdown'."
                )

    def read_note(self, where: str, written: str, changed_at: datetime) -> Iterator[Item]:
        """Yield what a concept says, unless it is deprecated."""
        fields, _ = split_front_matter(written)
        if Path(where).name in RESERVED_NAMES:
            yield SkippedItem(where, "an index or a log")
        elif fields.get("status") == "deprecated":
            yield SkippedItem(where, "a concept that is deprecated")
        else:
            yield from super().read_note(where, written, changed_at)

    def date(self, fields: Mapping[str, Any], where: str, written: str) -> datetime | None:
        """When the concept was written."""
        generated = _GENERATED_AT.search(written.partition("\n---")[0])
        at = as_mapping(fields.get("generated")).get("at") or (generated and generated[1]) or fields.get("timestamp")
        return as_moment(at)


def _concepts(files: Iterator[Path] | list[Path]) -> Iterator[Path]:
    return (file for file in files if file.name not in RESERVED_NAMES and not file.is_symlink())


def _fields(file: Path) -> dict[str, Any]:
    try:
        return split_front_matter(file.read_text("utf-8"))[0]
    except (UnicodeDecodeError, OSError):
        return {}
