"""Which kind of source a file, a folder or a store is, by what is in it."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from datetime import datetime
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from remanence.errors import InvalidInput
from remanence.index.engine import inputs
from remanence.transfer.import_file import is_export
from remanence.transfer.imports.chat_exports import ChatExport, ChatGPTExport, ClaudeExport
from remanence.transfer.imports.databases import HISTORY_COLUMNS, Mem0Database, MemvaraDatabase, qdrant_collections
from remanence.transfer.imports.formats import FORMATS
from remanence.transfer.imports.json_files import ZIP_MAGIC, DamagedFile, JsonFiles
from remanence.transfer.imports.langgraph import BaseStore, LangGraphFile, LangGraphStore
from remanence.transfer.imports.markdown import (
    NOTE_ENDINGS,
    TEXT_ENDINGS,
    MarkdownFolder,
    OkfBundle,
    TextFile,
    is_bundle,
)
from remanence.transfer.imports.records import FORMAT_NAMES, SQLITE_MAGIC, ImportFormat, Source, SqliteFile
from remanence.transfer.imports.tables import ANY_JSON, Format, TableSource
from remanence.transfer.imports.whatsapp import DATE_ORDERS, is_whatsapp, whatsapp_rows
from remanence.transfer.jsonlines import GZIP_MAGIC, starts_with

_BEGIN = 1_000
"""Bytes of a file that are looked at to find its format."""
_OBJECTS = 20
"""Objects of a JSON file that are looked at to find its format."""
_CHAT_EXPORTS: tuple[tuple[type[ChatExport], tuple[str, ...], ImportFormat], ...] = (
    (ChatGPTExport, ("mapping",), "chatgpt"),
    (ClaudeExport, ("chat_messages", "conversations_memory", "project_memories", "prompt_template", "docs"), "claude"),
)
"""Each with the fields by which an object in it is recognized."""


def open_source(
    given: object,
    format: str | None,
    now: datetime,
    *,
    branches: bool = False,
    observed_by: str | None = None,
    date_order: str | None = None,
) -> Source:
    """The source that a path leads to, or that a LangGraph store is.

    Raises:
        InvalidInput: It is none that can be imported, or not of the format that was named.
    """
    if format is not None and format not in FORMAT_NAMES:
        raise InvalidInput(f"format={format!r} is none of {', '.join(FORMAT_NAMES)}. Leave it out to have it found.")
    if date_order is not None and date_order not in DATE_ORDERS:
        raise InvalidInput(f"date_order={date_order!r} is none of {', '.join(DATE_ORDERS)}.")
    if not isinstance(given, str | Path) and isinstance(given, BaseStore):
        return LangGraphStore(given)
    path = inputs.check_path(given, "source")
    options = {"branches": branches, "observed_by": observed_by}
    try:
        is_database = path.is_file() and starts_with(path, SQLITE_MAGIC)
        named = next((table for table in FORMATS if table.name == format and not is_database), None)
        if named is not None:
            return _open_table(path, named, date_order)
        if format == "okf" and path.is_dir():
            return OkfBundle(path)
        if format == "markdown" and path.is_dir():
            return MarkdownFolder(path)
        if format == "text" and path.is_file() and not is_database:
            return TextFile(path)
        found, name = _find(path, now, options, date_order)
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror or error}.") from error
    if format is not None and name != format:
        raise InvalidInput(f"{path} is of the format {name!r}, not {format!r}. Leave it out, or name another file.")
    return found


def _open_table(path: Path, table: Format, date_order: str | None) -> TableSource:
    if table.name == "whatsapp":
        table = replace(table, parse=partial(whatsapp_rows, date_order=date_order))
    return TableSource(JsonFiles(path), str(path), table)


def _find(
    path: Path, now: datetime, chat_options: dict[str, Any], date_order: str | None
) -> tuple[Source, ImportFormat]:
    if path.is_dir():
        return _find_folder(path, now, chat_options)
    if path.suffix.lower() in NOTE_ENDINGS:
        return MarkdownFolder(path), "markdown"
    if starts_with(path, SQLITE_MAGIC):
        return _find_database(path, now)
    if is_export(path):
        raise InvalidInput(
            f"{path} is an export of Remanence. Import it with remanence.restore({str(path)!r}, into=...)."
        )
    is_packed = starts_with(path, ZIP_MAGIC) or starts_with(path, GZIP_MAGIC)
    problem = "it is not a JSON, CSV, zip, SQLite, text or Markdown file, or a chat of WhatsApp"
    if is_packed or _is_json(path):
        found, problem = _find_chats(path, chat_options)
        if found is not None:
            return found
    if table := _text_format(path, is_packed):
        return _open_table(path, table, date_order), table.name
    if path.suffix.lower() in TEXT_ENDINGS and not is_packed:
        return TextFile(path), "text"
    raise _unknown_source_error(path, problem)


def _text_format(path: Path, is_packed: bool) -> Format | None:
    """The format of a file that is not JSON, or of one in a zip file."""
    with closing(JsonFiles(path)) as files:
        for table in (table for table in FORMATS if table.parse is not None):
            for name in files.select(partial(_matches, table)):
                is_named = is_packed or _matches(table, name)
                if table.name == "csv" and is_named and not starts_with(path, GZIP_MAGIC):
                    return table
                if table.name == "whatsapp" and is_whatsapp(files.begin(name)):
                    return table
    return None


def _matches(table: Format, name: str) -> bool:
    return re.search(table.files, name, re.IGNORECASE) is not None


def _is_json(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(_BEGIN).removeprefix(codecs.BOM_UTF8).lstrip()[:1] in (b"[", b"{")


def _find_folder(path: Path, now: datetime, chat_options: dict[str, Any]) -> tuple[Source, ImportFormat]:
    qdrant = [folder for folder in (path, *sorted(path.iterdir())) if (folder / "meta.json").is_file()]
    qdrant = [folder for folder in qdrant if (folder / "collection").is_dir()]
    history = _history(path / "history.db") or (_history(path.parent / "history.db") if qdrant == [path] else None)
    if qdrant or history:
        collections = [file for folder in qdrant for file in qdrant_collections(folder)]
        return Mem0Database(path, collections, history, now), "mem0"
    found, _ = _find_chats(path, chat_options)
    if found is not None:
        return found
    if (path / "ledger.db").is_file():
        raise InvalidInput(f"{path} is a folder of Remanence itself. Export it, and import the file.")
    if is_bundle(path):
        return OkfBundle(path), "okf"
    if next((entry for ending in NOTE_ENDINGS for entry in path.rglob(f"*{ending}")), None) is not None:
        return MarkdownFolder(path), "markdown"
    raise _unknown_source_error(path, "the folder has no notes, conversations or Qdrant collections")


def _history(path: Path) -> SqliteFile | None:
    if not path.is_file() or not starts_with(path, SQLITE_MAGIC):
        return None
    file = SqliteFile(path)
    if file.has("history", *HISTORY_COLUMNS):
        return file
    file.close()
    return None


def _find_database(path: Path, now: datetime) -> tuple[Source, ImportFormat]:
    file = SqliteFile(path)
    if file.has("claims", "subject", "recorded_at", "valid_from") and file.has("episodes", "content"):
        return MemvaraDatabase(file, now), "memvara"
    if file.has("store", "prefix", "key", "value"):
        return LangGraphFile(file, now), "langgraph"
    if file.has("points", "id", "point"):
        return Mem0Database(path, [file], None, now), "mem0"
    if file.has("history", *HISTORY_COLUMNS):
        return Mem0Database(path, [], file, now), "mem0"
    tables = ", ".join(sorted(file.tables)) or "none"
    file.close()
    raise _unknown_source_error(path, f"the database has the tables {tables}")


def _find_chats(path: Path, chat_options: dict[str, Any]) -> tuple[tuple[Source, ImportFormat] | None, str]:
    """The source that JSON files are, or why they are none."""
    files = JsonFiles(path)
    problem = "it has no conversations or memories of a known format"
    # In a folder, the name of a file has to say what it is: there may be any other JSON files.
    tables = [table for table in FORMATS if table.files != ANY_JSON or not path.is_dir()]
    for source, fields, name in _CHAT_EXPORTS:
        for first in _first_objects(files, source.file_pattern):
            if isinstance(first, str):
                problem = first
            elif any(field in first for field in fields):
                return (source(files, str(path), **chat_options), name), ""
    for table in tables:
        for first in _first_objects(files, re.compile(table.files, re.IGNORECASE)):
            if not isinstance(first, str) and table.knows(first):
                files.close()
                return (TableSource(JsonFiles(path), str(path), table), table.name), ""
    files.close()
    return None, problem


def _first_objects(files: JsonFiles, pattern: re.Pattern[str]) -> Iterator[Mapping[str, Any] | str]:
    """The first objects of each file, or why it has none."""
    for file in files.select(lambda name: pattern.search(name) is not None):
        try:
            yield from islice(files.objects(file), _OBJECTS)
        except DamagedFile as error:
            yield str(error)


def _unknown_source_error(path: Path, found: str) -> InvalidInput:
    return InvalidInput(
        f"{path} is nothing that can be imported: {found}. What can be: exports of ChatGPT, Claude, Gemini, WhatsApp "
        "and Hindsight, Letta agent files, JSON of Zep, Graphiti, LangGraph stores and the MCP memory server, "
        "databases of LangGraph, mem0 and memvara, CSV and text files, folders of Markdown notes or of the Open "
        "Knowledge Format, and what `remanence export` wrote. If it is one of these, name it by format= (--format)."
    )
