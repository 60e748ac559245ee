"""Which kind of source a file or a folder is, by what is in it."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any

from remanence.errors import InvalidInput
from remanence.index.engine import inputs
from remanence.transfer.import_file import is_export
from remanence.transfer.imports.chat_exports import ChatExport, ChatGPTExport, ClaudeExport
from remanence.transfer.imports.files import ZIP_MAGIC, DamagedFile, Files
from remanence.transfer.imports.markdown import NOTE_ENDINGS, TEXT_ENDINGS, MarkdownFolder, TextFile
from remanence.transfer.imports.records import FORMAT_NAMES, Source
from remanence.transfer.imports.tables import CSV, JSON_FORMATS, TableSource
from remanence.transfer.jsonlines import GZIP_MAGIC, starts_with

_CSV_ENDINGS = (".csv", ".tsv")
_CHAT_EXPORTS: tuple[type[ChatExport], ...] = (ChatGPTExport, ClaudeExport)


def open_source(given: object, format: str | None, *, branches: bool = False, observed_by: str | None = None) -> Source:
    """The source that a path leads to.

    Raises:
        InvalidInput: It is none that can be imported, or not of the format that was named.
    """
    if format is not None and format not in FORMAT_NAMES:
        raise InvalidInput(f"format={format!r} is none of {', '.join(FORMAT_NAMES)}. Leave it out to have it found.")
    path = inputs.check_unlinked_path(given, "source")
    tables = {table.name: table for table in (*JSON_FORMATS, CSV)}
    exports = {export.program: export for export in _CHAT_EXPORTS}
    try:
        name = _find(path) if format is None or format in exports else format
        if format not in (None, name):
            raise InvalidInput(f"{path} is of the format {name!r}, not {format!r}. Leave it out, or name another file.")
        if name in exports:
            return exports[name](path, branches=branches, observed_by=observed_by)
        if name in tables:
            return TableSource(path, tables[name])
        return TextFile(path) if name == "text" else MarkdownFolder(path)
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror or error}.") from error


def _find(path: Path) -> str:
    """The format of a file or a folder."""
    ending = path.suffix.lower()
    if path.is_file() and ending in NOTE_ENDINGS:
        return "markdown"
    problem = "it is not a JSON, CSV, zip, text or Markdown file"
    if path.is_file() and is_export(path):
        raise InvalidInput(
            f"{path} is an export of Remanence. Import it with remanence.restore({str(path)!r}, into=...)."
        )
    if path.is_dir() or _is_packed(path) or _is_json(path):
        found, problem = _find_in_objects(path)
        if found is not None:
            return found
    if path.is_file() and ending in (*TEXT_ENDINGS, *_CSV_ENDINGS) and not _is_packed(path):
        return "text" if ending in TEXT_ENDINGS else "csv"
    if (path / "ledger.db").is_file():
        raise InvalidInput(f"{path} is a folder of Remanence itself. Export it, and import the file.")
    if any(True for ending in NOTE_ENDINGS for _ in path.rglob(f"*{ending}")):
        return "markdown"
    raise InvalidInput(
        f"{path} is nothing that can be imported: {problem}. What can be: exports of ChatGPT and Claude, JSON of mem0, "
        "Zep, Graphiti and the MCP memory server, CSV and text files, Markdown notes or folders of them, and what "
        "`remanence export` wrote. If it is one of these, name it by format= (--format)."
    )


def _is_packed(path: Path) -> bool:
    return starts_with(path, ZIP_MAGIC) or starts_with(path, GZIP_MAGIC)


def _is_json(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(1_000).removeprefix(codecs.BOM_UTF8).lstrip()[:1] in (b"[", b"{")


def _find_in_objects(path: Path) -> tuple[str | None, str]:
    """The format of JSON files, or why they have none. In a folder or a zip file, their names have to say what they
    are: there may be any other JSON files."""
    problem = "it has no notes, conversations or memories of a known format"
    with closing(Files(path)) as files:
        for export in _CHAT_EXPORTS:
            for first in _first_objects(files, files.select(export.file_pattern.search)):
                if isinstance(first, str):
                    problem = first
                elif any(field in first for field in export.known_by):
                    return export.program, ""
        for first in _first_objects(files, files.select(lambda _: False)):
            if not isinstance(first, str) and (known := next((t for t in JSON_FORMATS if t.knows(first)), None)):
                return known.name, ""
    return None, problem


def _first_objects(files: Files, names: Iterable[str]) -> Iterator[Mapping[str, Any] | str]:
    """The first objects of each file, or why it has none."""
    for name in names:
        try:
            yield from islice(files.objects(name), 20)
        except DamagedFile as error:
            yield str(error)
