"""Text files: notes without a format.

A paragraph is a memory. In a paragraph that is a list, each item is one; a file without a blank line is a list of
lines. A line that begins with a small letter or a space goes on with the one before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from remanence.errors import InvalidInput
from remanence.index.engine.identity import content_digest
from remanence.index.engine.inputs import MAX_TEXT_LENGTH
from remanence.schema import UTC
from remanence.text.text import truncate
from remanence.transfer.imports.markdown import date_in_name
from remanence.transfer.imports.records import Item, Record, SkippedItem, Source, as_text, make_key

TEXT_ENDINGS = (".txt", ".text")
_BLANK_LINES = re.compile(r"\n[ \t]*\n\s*")
_ITEM = re.compile(r"[-*+•–][ \t]+|\d{1,3}[.)][ \t]+")


class TextFile(Source):
    """The paragraphs of a text file."""

    kind = "text file"

    def __init__(self, path: Path) -> None:
        super().__init__(str(path), 1)
        self._path = path
        try:
            self._written = as_text(path.read_bytes().decode("utf-8-sig")).replace("\r\n", "\n").strip()
        except UnicodeDecodeError as error:
            raise InvalidInput(f"{path} is not UTF-8 text ({error.reason}). Save it as UTF-8.") from None

    def read(self) -> Iterator[Item]:
        """Yield the notes in the file, in order."""
        at = date_in_name(self._path.name) or datetime.fromtimestamp(self._path.stat().st_mtime, UTC)
        source = self._path.name[-400:]
        for text in dict.fromkeys(_notes(self._written)):
            if len(text) > MAX_TEXT_LENGTH:
                yield SkippedItem(truncate(text, 60), f"a paragraph of more than {MAX_TEXT_LENGTH:,} characters")
            else:
                key = make_key("text", source, content_digest(text))
                yield Record(key, {"text": text, "now": at, "source": source})
        if not self._written:
            yield SkippedItem(source, "a file without text")
        self._done = 1


def _notes(written: str) -> Iterator[str]:
    """The notes of a text."""
    paragraphs = _BLANK_LINES.split(written)
    for paragraph in paragraphs:
        lines = _joined(paragraph.split("\n"))
        is_list = len(paragraphs) == 1 or all(_ITEM.match(line) for line in lines)
        for note in lines if is_list else [paragraph]:
            if text := _ITEM.sub("", note, count=1).strip() if is_list else note.strip():
                yield text


def _joined(lines: list[str]) -> list[str]:
    """The lines, each with those that go on with it."""
    found: list[str] = []
    for line in lines:
        if found and (line[:1].isspace() or line[:1].islower()):
            found[-1] = f"{found[-1]} {line.strip()}"
        else:
            found.append(line.strip())
    return found
