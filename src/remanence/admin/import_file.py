"""Import of a file that export_file.py wrote: all of it in one transaction, or nothing.

The file may come from anywhere, so every line is checked before it is written.
"""

from __future__ import annotations

import math
import zlib
from base64 import b64decode
from collections.abc import Callable, Container, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import is_dataclass, replace
from datetime import datetime
from functools import cache
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

from remanence.admin.export_file import BATCH_SIZE, EXPORT_VERSION, TransferReport, remap_positions
from remanence.admin.jsonlines import NOT_AN_EXPORT, JsonLinesReader, open_unpacked
from remanence.errors import InvalidInput, LedgerTooNew
from remanence.events import Emptied, Erased, Served
from remanence.language.text import truncate
from remanence.ledger.codec import event_from_fields
from remanence.schema import from_micros

if TYPE_CHECKING:
    from remanence.core.engine import Engine
    from remanence.ports import Progress, Transaction, Vector

_BEGIN = b'{"remanence":'


def is_export(path: Path) -> bool:
    """Whether a file begins as exports of a space do. It may be damaged all the same."""
    try:
        with open_unpacked(path) as file:
            return file.read(len(_BEGIN)) == _BEGIN
    except (OSError, EOFError, zlib.error):
        return False


class Importer:
    """A file to be imported. Its header is read at once, and refused if it is not that of an export."""

    def __init__(self, path: Path, file: JsonLinesReader) -> None:
        self._path, self._file = path, file
        self._lines = iter(file)
        header = next(self._lines, {})
        if header.get("remanence") != "export" or not isinstance(header.get("version"), int):
            raise file.damaged_file_error(NOT_AN_EXPORT)
        if header["version"] > EXPORT_VERSION:
            raise LedgerTooNew(
                f"{path}, line 1: this export has version {header['version']}, and this release of Remanence "
                f"reads up to {EXPORT_VERSION}. Upgrade with `pip install -U remanence`; nothing was imported."
            )
        self._expected_counts = header.get("lines"), header.get("spaces")
        self._embedder: Any = header.get("embedder")

    def write_to(
        self, engine: Engine, space_name: Callable[[str], str], progress: Progress | None = None
    ) -> TransferReport:
        """Write every entry in one transaction. `space_name` gives the name of a space for a relative one."""
        spaces: dict[str, None] = {}
        vector_count = 0
        writer: _SpaceWriter | None = None
        with engine.transaction() as transaction:
            head = start = engine.ledger.head()
            for fields in self._lines:
                if "space" in fields:
                    space = self._empty_space(engine, space_name, fields["space"], spaces)
                    start = self._finish_space(writer, start)
                    writer = _SpaceWriter(transaction, space, start, fields.get("lines"))
                    spaces[space] = None
                elif writer is None:
                    raise self._file.damaged_file_error("it comes before the line that names its space")
                elif "vectors" in fields:
                    vector_count += self._write_vectors(transaction, fields["vectors"])
                else:
                    with self._damage("it is not a ledger entry"):
                        writer.write(fields)
                    if progress is not None and writer.count % BATCH_SIZE == 0:
                        progress(start - head + writer.count, self._expected_counts[0] or 0)
            entry_count = self._finish_space(writer, start) - head
            if (entry_count, len(spaces)) != self._expected_counts:
                raise self._file.damaged_file_error("there are more or fewer entries than the first line says")
        for space in spaces:
            engine.index_imported_entries(space, progress)
        return TransferReport(str(self._path), tuple(spaces), entry_count, vector_count, self._file.digest)

    def _empty_space(
        self, engine: Engine, space_name: Callable[[str], str], relative: object, imported: Container[str]
    ) -> str:
        """The name of the next space, which must be empty."""
        if not isinstance(relative, str):
            raise self._file.damaged_file_error(f"{relative!r} is not the name of a space")
        space = space_name(relative)
        if space in imported:
            raise self._file.damaged_file_error(f"space {space!r} comes twice")
        if count := engine.ledger.count(space):
            raise InvalidInput(
                f"space {space!r} is not empty: it has {count:,} ledger entries, and imported entries could not keep "
                "their times among them. Nothing was imported. Import into an empty space: another folder, "
                "or a child such as into=space.child('imported')."
            )
        return space

    def _finish_space(self, writer: _SpaceWriter | None, start: int) -> int:
        """Finish a space. Returns the position before the first entry of the next one."""
        if writer is None:
            return start
        with self._damage("the space above it is incomplete"):
            writer.finish()
        return start + writer.count

    def _write_vectors(self, transaction: Transaction, encoded: Mapping[str, str]) -> int:
        with self._damage("its vectors cannot be read"):
            model, dimension = self._embedder["fingerprint"], self._embedder["dimension"]
            vectors = {bytes.fromhex(h): _decode_vector(text, dimension) for h, text in encoded.items()}
            transaction.put_vectors(model, vectors)
            return len(vectors)

    @contextmanager
    def _damage(self, problem: str) -> Iterator[None]:
        """Name the line and the problem if what the line holds cannot be written."""
        try:
            yield
        except LedgerTooNew as error:
            raise LedgerTooNew(f"{self._path}, line {self._file.line_number}: {error} Nothing was imported.") from error
        except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
            detail = f"{type(error).__name__}: {truncate(str(error), 200)}"
            raise self._file.damaged_file_error(f"{problem} ({detail})") from error


class _SpaceWriter:
    """Writes the entries of one space, the first at position `start` + 1. What is wrong is a ValueError."""

    def __init__(self, transaction: Transaction, space: str, start: int, expected_count: object) -> None:
        self._transaction, self._space, self._start = transaction, space, start
        self._expected_count = expected_count
        self.count = 0
        self._at: datetime | None = None
        self._blank: set[int] = set()  # positions of entries without text for which no Erased has come yet

    def write(self, fields: Mapping[str, Any]) -> None:
        """Write one entry of the file."""
        at = from_micros(fields["at"])
        if self._at is not None and at < self._at:
            raise ValueError("it is dated before the line above it")
        self._at = at
        self.count += 1
        if "event" not in fields:
            self._transaction.append_erased(self._space, fields["kind"], fields["subject"], at=at)
            self._blank.add(self._start + self.count)
            return
        event = event_from_fields(fields["kind"], fields["event"])
        if name := _first_invalid_field(event):
            raise ValueError(f"{fields['kind']}: {name}={getattr(event, name)!r}")
        if isinstance(event, Emptied):
            self._transaction.erase_space(self._space, at=at)
            self._blank.clear()
            return
        event = remap_positions(event, self._position)
        if isinstance(event, Served):
            event = replace(event, asked={"space": self._space, **event.asked})
        if isinstance(event, Erased):
            if present := set(event.positions) - self._blank:
                # An export has no text that was erased. If this file has, the text is erased here.
                self._transaction.erase(sorted(present), ())
            self._blank.difference_update(event.positions)
        self._transaction.append(self._space, [event], at=at)

    def finish(self) -> None:
        """Check that the space is complete."""
        if self._blank:
            number = min(self._blank) - self._start
            raise ValueError(f"entry {number} of space {self._space!r} is blank, and no entry says that it was erased")
        if self.count != self._expected_count:
            raise ValueError(f"space {self._space!r} has {self.count} entries in place of {self._expected_count!r}")

    def _position(self, number: int) -> int:
        """The position of an entry by its number in the file; 0 is before all of them."""
        if not 0 <= number <= self.count:
            raise ValueError(f"it points at entry {number!r}, which does not come before it")
        return self._start + number if number else 0


def _decode_vector(text: str, dimension: int) -> Vector:
    vector = np.frombuffer(b64decode(text, validate=True), dtype="<f4")
    if len(vector) != dimension or not np.isfinite(vector).all():
        raise ValueError(f"a vector does not consist of {dimension!r} finite numbers")
    return vector


def _first_invalid_field(value: Any) -> str | None:
    """The first field of an event with a value of a wrong type; None if there is none."""
    kind: Any = type(value)
    return next((name for name, hint in _hints(kind).items() if not _fits(getattr(value, name), hint)), None)


_hints = cache(get_type_hints)


def _fits(value: Any, hint: Any) -> bool:
    """Whether a value is of a type. JSON values only: mappings are dicts, and True is not a number."""
    origin, args = get_origin(hint), get_args(hint)
    if hint is Any:
        return True
    if origin in (Union, UnionType):
        return any(_fits(value, each) for each in args)
    if origin is Literal:
        return isinstance(value, str) and value in args
    if origin is tuple:
        hints = args[:1] * len(value) if type(value) is tuple and args[-1] is ... else args
        return type(value) is tuple and len(value) == len(hints) and all(map(_fits, value, hints))
    if hint is float:
        return type(value) in (int, float) and math.isfinite(value)
    if is_dataclass(hint):
        return type(value) is hint and _first_invalid_field(value) is None
    return type(value) is (dict if origin is Mapping else origin or hint)
