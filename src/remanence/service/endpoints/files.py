"""Files that become memories: text, Markdown, JSON lines, chat exports, and exports of Remanence itself."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from remanence.errors import InvalidInput
from remanence.ledger.codec import json_objects
from remanence.schema import Memory
from remanence.service.requests import Name, Request
from remanence.space.opening import restore
from remanence.space.space import Space
from remanence.text.text import pluralize
from remanence.transfer.import_file import is_export
from remanence.transfer.imports.importing import SkippedGroup
from remanence.transfer.imports.records import ImportFormat
from remanence.transfer.imports.tables import is_known_row

COUNTS = ("added", "changed", "unchanged", "complete", "dry_run", "kinds", "speakers", "first", "last", "undated")
_TEXT_ENDINGS = (".txt", ".text", ".log")
_LINES_ENDINGS = (".jsonl", ".ndjson")
_IMPORTED_ENDINGS = (*_TEXT_ENDINGS, *_LINES_ENDINGS, ".json", ".md", ".zip", ".csv", ".tsv")
_PARAGRAPH_END = re.compile(r"\n[ \t\r]*\n\s*")


class FileRequest(Request):
    """The name of a file, from which its kind and its source are taken; and how to read it, as for
    `admin.import_from`."""

    name: Name
    format: Literal["text", "rows", "turns"] | ImportFormat | None = None
    user: str | None = None
    users: Literal["separate", "together"] | None = None
    branches: bool = False
    observed_by: str | None = None
    dry_run: bool = False


@dataclass(frozen=True)
class FileReport:
    """The result of storing a file: its detected `kind`, counts, and a `report` as text."""

    name: str
    kind: str
    added: int
    changed: int
    unchanged: int
    skipped: tuple[SkippedGroup, ...]
    complete: bool
    report: str
    dry_run: bool = False
    kinds: dict[str, int] = field(default_factory=dict)
    speakers: dict[str, int] = field(default_factory=dict)
    first: datetime | None = None
    last: datetime | None = None
    undated: int = 0


def add_file(space: Space, path: Path, request: FileRequest) -> FileReport:
    """Store what is in a file as memories whose source is the name of the file.

    Args:
        path: Where the file lies.
        request: Its name, and how to read it.

    Raises:
        InvalidInput: It cannot be read, or is of no known kind. Nothing is stored.
    """
    try:
        return _add_file(space, path, request)
    except InvalidInput as error:
        known = Path(request.name).suffix.lower() in _IMPORTED_ENDINGS
        more = "" if known or request.format else " By their names also text (.txt) and JSON lines (.jsonl)."
        raise InvalidInput(str(error).replace(str(path), request.name) + more) from error


def _add_file(space: Space, path: Path, request: FileRequest) -> FileReport:
    kind = request.format or _kind(path, request.name)
    if kind == "export":
        report = restore(path, into=space)
        return _answer(request, "export", str(report).replace(str(path), request.name), added=report.entries)
    if kind == "text":
        paragraphs = [part.strip() for part in _PARAGRAPH_END.split(_text(path, request.name)) if part.strip()]
        return _store_rows(space, request, "text", [{"text": paragraph} for paragraph in paragraphs])
    if kind in ("rows", "turns"):
        return _store_rows(space, request, kind, _rows(path, request.name))
    options = {name: value for name, value in request.provided_fields("name").items() if value is not None}
    import_report = space.admin.import_from(path, **options)
    text = str(import_report).replace(str(path), request.name)
    counts = {name: getattr(import_report, name) for name in COUNTS}
    return _answer(request, import_report.kind, text, **counts, skipped=import_report.skipped)


def _kind(path: Path, name: str) -> str | None:
    """What a file is, if not something that `import_from` recognizes."""
    ending = Path(name).suffix.lower()
    if ending in _TEXT_ENDINGS:
        return "text"
    if is_export(path):
        return "export"
    if ending in (*_LINES_ENDINGS, ".json"):
        first = next(iter(_rows(path, name, at_most=1)), {})
        if is_known_row(first):
            return None
        return "turns" if "content" in first else "rows" if "text" in first else None
    return None


def _store_rows(space: Space, request: FileRequest, kind: str, rows: Sequence[dict[str, Any]]) -> FileReport:
    if not rows:
        raise InvalidInput(f"{request.name} has nothing to store: it is empty.")
    before = space.count()
    memories: list[Memory]
    if kind == "turns":
        own = {} if request.observed_by is None else {"speaker": request.observed_by}
        memories = space.add_turns([{"conversation": request.name} | _with_speaker(row, own) for row in rows])
    else:
        given = {"source": request.name} | ({"observed_by": request.observed_by} if request.observed_by else {})
        memories = space.add_many([given | row for row in rows])
    added = space.count() - before
    known = len({memory.id for memory in memories}) - added
    text = f"{request.name} ({kind}): {pluralize(added, 'memory', 'memories')} added"
    return _answer(request, kind, text, added=added, unchanged=max(0, known))


def _with_speaker(row: dict[str, Any], own: dict[str, str]) -> dict[str, Any]:
    return row | own if "speaker" not in row and row.get("role") in (None, "user", "human") else row


def _answer(request: FileRequest, kind: str, text: str, **counts: Any) -> FileReport:
    none: dict[str, Any] = {"changed": 0, "unchanged": 0, "skipped": (), "complete": True}
    return FileReport(name=request.name, kind=kind, report=text, **none | counts)


def _text(path: Path, name: str) -> str:
    try:
        return path.read_text("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{name} is not UTF-8 text: {error}. Save it as UTF-8, and send it again.") from None


def _rows(path: Path, name: str, at_most: int | None = None) -> list[dict[str, Any]]:
    """The objects of a file of JSON lines, or of one JSON list."""
    text = _text(path, name)
    if text.lstrip()[:1] == "[":
        try:
            items = json.loads(text)
        except ValueError as error:
            raise InvalidInput(f"{name} is not JSON: {error}.") from None
        if not all(isinstance(item, dict) for item in items):
            raise InvalidInput(f"{name} is a JSON list with something else than objects in it.")
        return list(items)
    if Path(name).suffix.lower() == ".json":
        return []  # one object: perhaps a chat export
    rows = [row for _, row in json_objects(text.split("\n"), name)]
    return rows[:at_most]
