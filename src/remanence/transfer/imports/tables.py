"""Formats as tables: which fields of an object become which arguments of `add` or `add_turns`.

A format has shapes, one for each sort of object (`formats.txt`). Before that, `rows` takes an object apart: an answer
of mem0 is a row for each of its results, an entity of the MCP memory server one for each observation.
"""

from __future__ import annotations

import csv
import io
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
from remanence.transfer.imports.files import DamagedFile, Files
from remanence.transfer.imports.records import (
    MAX_NAME_LENGTH,
    ImportFormat,
    Item,
    Record,
    SkippedItem,
    Source,
    as_json,
    as_list,
    as_mapping,
    as_moment,
    as_text,
    make_key,
)

Row = Mapping[str, Any]
_TIMES = ("now", "valid_from", "valid_until", "expires_at")
_LISTS = ("tags", "entities")
_FRACTIONS = ("importance", "confidence")
_TRIPLE = ("subject", "predicate", "object")
_NUMBER = re.compile(r"\d{9,13}(\.\d+)?")
_LISTS_OF_ROWS = ("results", "memories", "edges", "nodes", "episodes", "messages")
_DELIMITERS = ",;\t|"
_TEXT_COLUMNS = "text content memory message note fact body".split()
_TURN_COLUMNS = {"speaker", "author", "sender", "from", "role"}


class BadRow(Exception):
    """A row cannot be read; the message says why. `line` is its line, if that is not the one that was read last."""

    def __init__(self, problem: str, line: int | None = None) -> None:
        super().__init__(problem)
        self.line = line


@dataclass(frozen=True, slots=True)
class Shape:
    """One sort of row. For each argument, `fields` has the fields that are tried in order: the first with something in
    it counts.

    `known_by` are the fields that all rows of this sort have. `kinds` translates what `kind` says. `is_turn` says that
    it is a turn of a chat.
    """

    known_by: tuple[str, ...]
    fields: Mapping[str, list[str]]
    kinds: Mapping[str, str] = field(default_factory=dict)
    is_turn: bool = False

    @classmethod
    def parse(cls, line: str) -> Shape:
        """A line of formats.txt."""
        known, _, written = line.partition(": ")
        fields = {name: names.split(",") for name, _, names in (part.partition("=") for part in written.split())}
        kinds = dict(kind.split(":") for kind in fields.pop("kinds", []))
        known_by = tuple(known.removeprefix("turn ").split())
        return cls(known_by, {"id": ["id", "uuid", "uuid_"], **fields}, kinds, known.startswith("turn "))

    def fits(self, row: Row) -> bool:
        """Whether a row is of this sort."""
        return all(name in row for name in self.known_by)

    def record(self, row: Row, format: ImportFormat) -> Item:
        """The memory or turn that a row is.

        Raises:
            BadRow: A field of it cannot be read.
        """
        text = as_text(self._first(row, "text")).strip()
        if not text:
            return SkippedItem(str(self._first(row, "id") or truncate(str(dict(row)), 60)), "an entry without text")
        given = {name: self._argument(row, name) for name in self.fields if name not in ("id", "text", "user", "meta")}
        fields = {name: value for name, value in given.items() if value not in (None, "", [])}
        start, end = fields.get("valid_from"), fields.get("valid_until")
        if start is not None and end is not None and end <= start:
            del fields["valid_until"]
        triple = tuple(fields.pop(name, None) for name in _TRIPLE)
        if all(triple):
            fields["triples"] = [triple]
        if meta := {name: row[name] for name in self.fields.get("meta", ()) if row.get(name)}:
            fields["meta"] = {**as_mapping(as_json(meta.pop("metadata", None))), **as_json(meta)}
        kind = self.kinds.get(fields.pop("kind", ""))
        if self.is_turn:
            fields["time"] = fields.pop("now", None)
            fields["conversation"] = f"{format}:{fields.get('conversation', '')}".rstrip(":")[:MAX_NAME_LENGTH]
        elif kind is not None:
            fields["kind"] = kind
        said = content_digest(*(str(fields.get(name)) for name in ("speaker", "time", "conversation")), text)
        key = make_key(format, as_text(str(self._first(row, "id") or "")) or said)
        user = as_text(self._first(row, "user"))
        return Record(key, fields | {"content" if self.is_turn else "text": text}, self.is_turn, user)

    def _first(self, row: Row, argument: str) -> Any:
        """The first field for this argument that has something in it."""
        names = self.fields.get(argument, ())
        return next((row[name] for name in names if row.get(name) not in (None, "", [], {})), None)

    def _argument(self, row: Row, argument: str) -> Any:
        value = self._first(row, argument)
        if value is None:
            return None
        if argument in _TIMES:
            return _moment(value)
        if argument in _LISTS:
            parts = value.split(",") if isinstance(value, str) else as_list(value)
            names = (as_text(str(part)).strip()[:MAX_NAME_LENGTH] for part in parts)
            return [*dict.fromkeys(filter(None, names))][:MAX_TAGS]
        if argument in _FRACTIONS:
            return _fraction(value)
        return as_text(str(value)).strip()[:MAX_NAME_LENGTH]


@cache
def _shapes(format: ImportFormat) -> tuple[Shape, ...]:
    sections = data_sections(str(Path(__file__).with_name("formats.txt")))
    return tuple(map(Shape.parse, sections[format.replace("-", " ")]))


def _rows(found: Row) -> Iterator[Row]:
    """The objects in the lists of an object, or the object itself. Edges of a graph get the names of their nodes."""
    lists = [name for name in _LISTS_OF_ROWS if isinstance(found.get(name), list)]
    names = {as_mapping(node).get("uuid"): as_mapping(node).get("name") for node in as_list(found.get("nodes"))}
    for row in map(as_mapping, [each for name in lists for each in found[name]] if lists else [found]):
        ends = {f"{end}_node_name": names.get(row.get(f"{end}_node_uuid")) for end in ("source", "target")}
        yield {**{name: value for name, value in ends.items() if value}, **row}


def _server_memory_rows(found: Row) -> Iterator[Row]:
    """An observation each, with the name of what it is about; or a relation as a sentence."""
    if found.get("type") == "entity":
        name = as_text(found.get("name"))
        for observation in map(as_text, as_list(found.get("observations"))):
            said = f"{_spoken(name)}: {observation}" if observation else ""
            yield {**found, "observation": said, "entities": [_spoken(name)], "id": content_digest(name, observation)}
    else:
        parts = [as_text(found.get(name)) for name in ("from", "relationType", "to")]
        said = " ".join(map(_spoken, parts)) if all(parts) else ""
        ends = {"subject": _spoken(parts[0]), "object": _spoken(parts[2])}
        yield {**found, **ends, "said": said, "id": content_digest(*parts)}


def _spoken(name: str) -> str:
    """A name without the underscores that the server asks for."""
    return name.replace("_", " ")


def _csv_rows(text: str) -> Iterator[tuple[int, Row | SkippedItem]]:
    """The rows of a file, each with the number of its last line, after the columns that are not read.

    Raises:
        BadRow: The header has no column with texts, or a row has another number of fields.
    """
    first_line = text.lstrip().partition("\n")[0]
    delimiter = max(_DELIMITERS, key=first_line.count)
    csv.field_size_limit(max(csv.field_size_limit(), len(text)))
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        header = [name.strip().lower().replace(" ", "_") for name in next(reader, [])]
        if not set(header) & set(_TEXT_COLUMNS):
            raise BadRow(f"none of the columns {header} is called {', '.join(_TEXT_COLUMNS)}", 1)
        turn, memory = _shapes("csv")
        shape = turn if set(header) & _TURN_COLUMNS else memory
        read = {name for names in shape.fields.values() for name in names}
        for name in header:
            if name and name not in read:
                yield 1, SkippedItem(name, "a column whose name is none of those that are read")
        for row in reader:
            if row and len(row) != len(header):
                raise BadRow(f"it has {len(row)} fields, and the header has {len(header)}", reader.line_num)
            if row:
                yield reader.line_num, dict(zip(header, row, strict=True)) | {shape.known_by[0]: True}
    except csv.Error as error:
        raise BadRow(f"it is not CSV ({error})", reader.line_num) from error


@dataclass(frozen=True, slots=True)
class Format:
    """A format of files, which are recognized by their first `sure` shapes. `rows` takes an object apart."""

    name: ImportFormat
    title: str
    rows: Callable[[Row], Iterable[Row]] = _rows
    sure: int | None = None

    @property
    def shapes(self) -> tuple[Shape, ...]:
        """The sorts of rows that it has."""
        return _shapes(self.name)

    def knows(self, found: Row) -> bool:
        """Whether an object of a JSON file is certainly of this format."""
        return any(shape.fits(row) for row in self.rows(found) for shape in self.shapes[: self.sure])

    def read(self, row: Row | SkippedItem) -> Item:
        """What a row is."""
        if isinstance(row, SkippedItem):
            return row
        shape = next((shape for shape in self.shapes if shape.fits(row)), None)
        if shape is None:
            return SkippedItem(truncate(str(dict(row)), 60), f"an object that is not of a {self.title}")
        return shape.record(row, self.name)


JSON_FORMATS = (
    Format("zep", "Zep or Graphiti graph", sure=1),
    Format("mem0", "mem0 listing"),
    Format("server-memory", "MCP memory server file", rows=_server_memory_rows),
)
CSV = Format("csv", "CSV file")


def is_known_row(found: Row) -> bool:
    """Whether an object of a JSON file is certainly of one of these formats."""
    return any(table.knows(found) for table in JSON_FORMATS)


class TableSource(Source):
    """A file of one format. One that cannot be read to its end is refused before anything is imported."""

    def __init__(self, path: Path, format: Format) -> None:
        self.path, self.kind = str(path), format.title
        self._name, self._format, self._files = path.name, format, Files(path)
        self._done = self._total = 0

    def check(self) -> None:
        """Read everything once, and refuse a file with a line that cannot be read."""
        self._total = sum(isinstance(item, Record) for item in self.read())
        if not self._total:
            known = " or ".join(sorted({", ".join(shape.known_by) for shape in self._format.shapes}))
            raise InvalidInput(
                f"{self.path} has nothing of a {self._format.title}. Its entries have the fields {known}."
            )

    def progress(self) -> tuple[int, int]:
        return self._done, self._total

    def users(self) -> Iterable[str]:
        return dict.fromkeys(item.user for item in self.read() if isinstance(item, Record) and item.user)

    def read(self) -> Iterator[Item]:
        """Yield what the file has.

        Raises:
            InvalidInput: A line of it cannot be read.
        """
        line = 1
        self._done = 0
        try:
            for number, row in self._numbered_rows():
                line = number
                item = self._format.read(row)
                self._done += isinstance(item, Record)
                yield item
        except BadRow as error:
            raise self._error(f"line {error.line or line}: {error}") from error
        except DamagedFile as error:
            raise self._error(str(error)) from error

    def _numbered_rows(self) -> Iterator[tuple[int, Row | SkippedItem]]:
        if self._format is CSV:
            yield from _csv_rows(self._files.text(self._name))
            return
        for found in self._files.objects(self._name):
            for row in self._format.rows(found):
                yield self._files.line, row

    def _error(self, problem: str) -> InvalidInput:
        return InvalidInput(f"{self.path}: {problem}. Nothing was imported: mend it, and import it again.")


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
