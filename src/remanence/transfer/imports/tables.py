"""Formats as tables: which fields of an object become which arguments of `add` or `add_turns`.

A format has shapes, one for each sort of object (`formats.txt`). Before that, `rows` may take objects apart: an entity
of the MCP memory server is one row for each observation. formats.py lists the formats.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from remanence.errors import InvalidInput
from remanence.index.engine.identity import content_digest
from remanence.index.engine.inputs import MAX_TAGS
from remanence.text.lexicon.word_lists import data_sections
from remanence.text.text import truncate
from remanence.transfer.imports.json_files import DamagedFile, FilesSource, JsonFiles
from remanence.transfer.imports.records import (
    ImportFormat,
    Item,
    Record,
    SkippedItem,
    as_json,
    as_list,
    as_moment,
    as_text,
    make_key,
)

Row = Mapping[str, Any]
_TIMES = ("now", "time", "valid_from", "valid_until", "expires_at")
_LISTS = ("tags", "entities")
_FRACTIONS = ("importance", "confidence")
_MAX_NAME = 400
"""Characters of a name, a tag or a conversation of a table."""
_NUMBER = re.compile(r"\d{9,13}(\.\d+)?")


ANY_JSON = r"\.jsonl?$"


class BadRow(Exception):
    """A row cannot be read; the message says why. `line` is its line, if that is not the one that was read last."""

    def __init__(self, problem: str, line: int | None = None) -> None:
        super().__init__(problem)
        self.line = line


@dataclass(frozen=True, slots=True)
class Shape:
    """One sort of row. Each value names the fields that are tried, in order: the first with something in it counts.

    `known_by` names the fields that all rows of this sort have. `kinds` translates what `kind` says, "" if it says
    nothing. The fields of `meta` are kept as metadata. `is_turn` says that it is a turn of a chat.
    """

    known_by: str
    text: str
    id: str = "id uuid uuid_"
    now: str = ""
    valid_from: str = ""
    valid_until: str = ""
    expires_at: str = ""
    importance: str = ""
    confidence: str = ""
    kind: str = ""
    source: str = ""
    tags: str = ""
    entities: str = ""
    subject: str = ""
    predicate: str = ""
    object: str = ""
    observed_by: str = ""
    speaker: str = ""
    role: str = ""
    conversation: str = ""
    owner: str = ""
    meta: str = ""
    is_turn: bool = False
    kinds: Mapping[str, str] = field(default_factory=dict)

    def fits(self, row: Row) -> bool:
        """Whether a row is of this sort."""
        return all(name in row for name in self.known_by.split())

    def names(self) -> set[str]:
        """The fields of a row that are read."""
        arguments = ("text", "id", "owner", "subject", "predicate", "object", "meta", *self._arguments())
        return {name for argument in arguments for name in getattr(self, argument).split()}

    def record(self, row: Row, format: ImportFormat) -> Item:
        """The memory or turn that a row is.

        Raises:
            BadRow: A field of it cannot be read.
        """
        text = as_text(_first(row, self.text)).strip()
        if not text:
            return SkippedItem(_where(row, self.id), "an entry without text")
        given = {name: _argument(row, name, getattr(self, name)) for name in self._arguments()}
        fields = {name: value for name, value in given.items() if value not in (None, "", [])}
        start, end = fields.get("valid_from"), fields.get("valid_until")
        if start is not None and end is not None and end <= start:
            del fields["valid_until"]
        triple = tuple(_argument(row, name, getattr(self, name)) for name in ("subject", "predicate", "object"))
        if all(triple):
            fields["triples"] = [triple]
        if meta := {name: row[name] for name in self.meta.split() if row.get(name)}:
            fields["meta"] = as_json(meta)
        kind = self.kinds.get(str(fields.pop("kind", "")))
        if self.is_turn:
            fields["time"] = fields.pop("now", None)
            fields["conversation"] = f"{format}:{fields.get('conversation', '')}".rstrip(":")[:_MAX_NAME]
        elif kind is not None:
            fields["kind"] = kind
        said = content_digest(*(str(fields.get(name)) for name in ("speaker", "time", "conversation")), text)
        key = make_key(format, as_text(str(_first(row, self.id) or "")) or said)
        owner = as_text(_first(row, self.owner))
        return Record(
            key, fields | {"content" if self.is_turn else "text": text}, self.is_turn, ("users", owner) if owner else ()
        )

    def _arguments(self) -> tuple[str, ...]:
        if self.is_turn:
            return ("now", "expires_at", "tags", "speaker", "role", "conversation")
        return ("now", "expires_at", "tags", "valid_from", "valid_until", *_FRACTIONS, "kind", "source", "entities") + (
            ("observed_by",) if self.observed_by else ()
        )


@cache
def shapes_of(format: ImportFormat) -> tuple[Shape, ...]:
    """The shapes of a format."""
    sections = data_sections(str(Path(__file__).with_name("formats.txt")))
    return tuple(map(_shape, sections[format.replace("-", " ")]))


def _shape(line: str) -> Shape:
    known, _, arguments = line.partition(": ")
    fields = dict(argument.split("=") for argument in arguments.split())
    kinds = dict(kind.split(":") for kind in fields.pop("kinds", "").split(",") if kind)
    tried: dict[str, Any] = {name: names.replace(",", " ") for name, names in fields.items()}
    return Shape(known.removeprefix("turn "), is_turn=known.startswith("turn "), kinds=kinds, **tried)


def _as_it_is(row: Row) -> Iterable[Row | SkippedItem]:
    return [row]


@dataclass(frozen=True, slots=True)
class Format:
    """A format of files.

    `files` is the pattern of the names that are read in a folder or a zip file. `rows` takes an object apart, and says
    what of it is left out. `parse` reads a text that is not JSON, as rows with the number of their line. `item` makes
    a record of a row in place of its shape. A file is recognized by its first `sure` shapes.
    """

    name: ImportFormat
    title: str
    files: str = ANY_JSON
    rows: Callable[[Row], Iterable[Row | SkippedItem]] = _as_it_is
    parse: Callable[[str], Iterator[tuple[int, Row | SkippedItem]]] | None = None
    item: Callable[[Row], Item] | None = None
    sure: int | None = None

    @property
    def shapes(self) -> tuple[Shape, ...]:
        """The sorts of rows that it has."""
        return shapes_of(self.name)

    def knows(self, found: Row) -> bool:
        """Whether an object of a JSON file is certainly of this format."""
        rows = [row for row in self.rows(found) if not isinstance(row, SkippedItem)]
        return self.parse is None and any(shape.fits(row) for shape in self.shapes[: self.sure] for row in rows)

    def read(self, row: Row | SkippedItem) -> Item:
        """What a row is."""
        if isinstance(row, SkippedItem):
            return row
        shape = next((shape for shape in self.shapes if shape.fits(row)), None)
        if shape is None:
            return SkippedItem(truncate(str(dict(row)), 60), f"an object that is not of a {self.title}")
        return self.item(row) if self.item is not None else shape.record(row, self.name)


class TableSource(FilesSource):
    """The files of one format. One that cannot be read to its end is refused before anything is imported."""

    def __init__(self, files: JsonFiles, path: str, format: Format) -> None:
        self.kind = format.title
        self.file_pattern = re.compile(format.files, re.IGNORECASE)
        self.other_files = f"a file that is not of a {format.title}"
        self._format = format
        super().__init__(files, path)

    def check(self) -> None:
        """Read everything once, and refuse a file with a line that cannot be read."""
        if not sum(isinstance(item, Record) for item in self.read()):
            known = " or ".join(sorted({shape.known_by.replace(" ", ", ") for shape in self._format.shapes}))
            raise InvalidInput(
                f"{self.path} has nothing of a {self._format.title}. Its entries have the fields {known}."
            )

    def owners(self) -> list[tuple[str, ...]]:
        """The users that the records belong to."""
        return [*dict.fromkeys(item.owner for item in self.read() if isinstance(item, Record) and item.owner)]

    def read_file(self, name: str) -> Iterator[Item]:
        """Yield what a file has.

        Raises:
            InvalidInput: A line of it cannot be read.
        """
        line = 1
        try:
            for number, row in self._numbered_rows(name):
                line = number
                yield self._format.read(row)
        except BadRow as error:
            raise self._error(name, f"line {error.line or line}: {error}") from error
        except DamagedFile as error:
            raise self._error(name, str(error)) from error

    def _numbered_rows(self, name: str) -> Iterator[tuple[int, Row | SkippedItem]]:
        if self._format.parse is not None:
            yield from self._format.parse(self._files.text(name))
            return
        for found in self._files.objects(name):
            for row in self._format.rows(found):
                yield self._files.line, row

    def _error(self, name: str, problem: str) -> InvalidInput:
        file = self.path if self.path.endswith(name) else f"{self.path}, {name}"
        return InvalidInput(f"{file}: {problem}. Nothing was imported: mend it, and import it again.")


def _first(row: Row, names: str) -> Any:
    """The first of these fields that has something in it."""
    return next((row[name] for name in names.split() if row.get(name) not in (None, "", [], {})), None)


def _where(row: Row, names: str) -> str:
    return str(_first(row, names) or truncate(str(dict(row)), 60))


def _argument(row: Row, argument: str, names: str) -> Any:
    value = _first(row, names)
    if value is None:
        return None
    if argument in _TIMES:
        return _moment(value)
    if argument in _LISTS:
        parts = value.split(",") if isinstance(value, str) else as_list(value)
        return [*dict.fromkeys(name for part in parts if (name := as_text(str(part)).strip()[:_MAX_NAME]))][:MAX_TAGS]
    if argument in _FRACTIONS:
        return _fraction(value)
    return as_text(value if isinstance(value, str) else str(value)).strip()[:_MAX_NAME]


def _moment(value: Any) -> datetime:
    written = float(value) if isinstance(value, str) and _NUMBER.fullmatch(value.strip()) else value
    found = as_moment(written)
    if found is None:
        raise BadRow(f"{truncate(str(value), 40)!r} is not a time. Write it as 2026-05-03 or 2026-05-03T14:30:00Z")
    return found


def _fraction(value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = -1.0
    if not 0 <= number <= 1:
        raise BadRow(f"{truncate(str(value), 40)!r} is not a number from 0 to 1")
    return number
