"""Which kind of source a file, a folder or a store is, by what is in it."""

from __future__ import annotations

import codecs
from datetime import datetime
from pathlib import Path
from typing import Any

from remanence.admin.import_file import is_export
from remanence.admin.imports.chat_exports import ChatExport, ChatGPTExport, ClaudeExport
from remanence.admin.imports.json_files import ZIP_MAGIC, DamagedFile, JsonFiles
from remanence.admin.imports.langgraph import BaseStore, LangGraphFile, LangGraphStore
from remanence.admin.imports.markdown import NOTE_ENDINGS, MarkdownFolder
from remanence.admin.imports.mem0 import HISTORY_COLUMNS, Mem0Database, qdrant_collections
from remanence.admin.imports.memvara import MemvaraDatabase
from remanence.admin.imports.records import KINDS, ImportKind, Source
from remanence.admin.imports.sqlite_file import SQLITE_MAGIC, SqliteFile
from remanence.admin.jsonlines import GZIP_MAGIC, starts_with
from remanence.core import inputs
from remanence.errors import InvalidInput

_BEGIN = 1_000  # bytes of a file that are looked at
_CHAT_EXPORTS: tuple[tuple[type[ChatExport], tuple[str, ...], ImportKind], ...] = (
    (ChatGPTExport, ("mapping",), "chatgpt"),
    (ClaudeExport, ("chat_messages", "conversations_memory", "project_memories", "prompt_template", "docs"), "claude"),
)
"""Each with the fields by which an object in it is recognized."""


def open_source(
    given: object, kind: str | None, now: datetime, *, branches: bool = False, observed_by: str | None = None
) -> Source:
    """The source that a path leads to, or that a LangGraph store is.

    Raises:
        InvalidInput: It is none that can be imported, or not of the kind that was named.
    """
    if kind is not None and kind not in KINDS:
        raise InvalidInput(f"kind={kind!r} is none of {', '.join(KINDS)}. Leave it out to have it found.")
    if not isinstance(given, str | Path) and isinstance(given, BaseStore):
        return LangGraphStore(given)
    path = inputs.check_path(given, "source")
    try:
        found, name = _find(path, now, {"branches": branches, "observed_by": observed_by})
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror or error}.") from error
    if kind is not None and name != kind:
        raise InvalidInput(f"{path} is of the kind {name!r}, not {kind!r}. Leave kind out, or name another file.")
    return found


def _find(path: Path, now: datetime, chat_options: dict[str, Any]) -> tuple[Source, ImportKind]:
    if path.is_dir():
        return _find_folder(path, now, chat_options)
    if path.suffix.lower() in NOTE_ENDINGS:
        return MarkdownFolder(path), "markdown"
    if starts_with(path, SQLITE_MAGIC):
        return _find_database(path, now)
    if is_export(path):
        raise InvalidInput(
            f"{path} is an export of Remanence. Import it with remanence.import_({str(path)!r}, into=...)."
        )
    if starts_with(path, ZIP_MAGIC) or starts_with(path, GZIP_MAGIC) or _is_json(path):
        return _find_chats(path, chat_options)
    raise _unknown_source_error(path, "it is not a JSON, zip, SQLite or Markdown file")


def _is_json(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(_BEGIN).removeprefix(codecs.BOM_UTF8).lstrip()[:1] in (b"[", b"{")


def _find_folder(path: Path, now: datetime, chat_options: dict[str, Any]) -> tuple[Source, ImportKind]:
    qdrant = [folder for folder in (path, *sorted(path.iterdir())) if (folder / "meta.json").is_file()]
    qdrant = [folder for folder in qdrant if (folder / "collection").is_dir()]
    history = _history(path / "history.db") or (_history(path.parent / "history.db") if qdrant == [path] else None)
    if qdrant or history:
        collections = [file for folder in qdrant for file in qdrant_collections(folder)]
        return Mem0Database(path, collections, history, now), "mem0"
    if any(ChatGPTExport.is_export_file(entry.name) for entry in path.iterdir()):
        return _find_chats(path, chat_options)
    if (path / "ledger.db").is_file():
        raise InvalidInput(f"{path} is a folder of Remanence itself. Export it, and import the file.")
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


def _find_database(path: Path, now: datetime) -> tuple[Source, ImportKind]:
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


def _find_chats(path: Path, chat_options: dict[str, Any]) -> tuple[Source, ImportKind]:
    files = JsonFiles(path)
    problem = "it has no conversations"
    for source, fields, name in _CHAT_EXPORTS:
        for file in files.select(source.is_export_file):
            try:
                first = next(files.objects(file), {})
            except DamagedFile as error:
                problem = str(error)
                continue
            if any(field in first for field in fields):
                files.done = 0
                return source(files, str(path), **chat_options), name
    files.close()
    raise _unknown_source_error(path, problem)


def _unknown_source_error(path: Path, found: str) -> InvalidInput:
    return InvalidInput(
        f"{path} is nothing that can be imported: {found}. What can be: exports of ChatGPT and Claude (the zip file or "
        "conversations.json), SqliteStore files of LangGraph, databases of mem0 and memvara, folders of Markdown "
        "notes, and what `remanence export` wrote."
    )
