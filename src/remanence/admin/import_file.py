"""A file that `transfer` wrote, on its way into a ledger: all of it in one transaction, or nothing.

Whoever wrote it may not have been us: every line is checked before it is believed.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Container, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from remanence.admin.event_validation import first_invalid_field
from remanence.admin.export_file import EXPORT_VERSION, TransferReport
from remanence.admin.jsonlines import JsonLinesReader
from remanence.admin.position_mapping import remap_positions, with_space
from remanence.errors import InvalidInput, LedgerTooNew
from remanence.events import Erased, Event
from remanence.language.text import truncate
from remanence.ledger.codec import event_from_fields
from remanence.schema import from_micros

if TYPE_CHECKING:
    from remanence.core.engine import Engine
    from remanence.ports import Progress, Transaction, Vector

_BATCH = 1_000


class Importer:
    """A file that is about to be brought into a ledger. Its header is read, and refused if need be."""

    def __init__(self, path: Path, file: JsonLinesReader) -> None:
        self._path, self._file = path, file
        self._lines = iter(file)
        header = next(self._lines, {})
        if header.get("remanence") != "export" or not isinstance(header.get("version"), int):
            raise file.damaged_file_error("this is not the export of a space")
        if header["version"] > EXPORT_VERSION:
            raise LedgerTooNew(
                f"{path}, line 1: this export has version {header['version']}, and this release of Remanence "
                f"reads up to {EXPORT_VERSION}. Upgrade with `pip install -U remanence`; nothing was imported."
            )
        self._expected = header.get("lines"), header.get("spaces")
        self._embedder: Any = header.get("embedder")

    def write_to(self, engine: Engine, below: Callable[[str], str], progress: Progress | None = None) -> TransferReport:
        """Write every line, all of them in one transaction; `below` names the space for a relative name."""
        spaces: dict[str, None] = {}
        vectors = 0
        now: _Arriving | None = None
        with engine.transaction() as pen:
            before = start = engine.ledger.head()
            for fields in self._lines:
                if "space" in fields:
                    space = self._empty(engine, below, fields["space"], spaces)
                    start = self._closed(now, start)
                    now = _Arriving(pen, space, start, fields.get("lines"))
                    spaces[space] = None
                elif now is None:
                    raise self._file.damaged_file_error("a line stands before it is said to which space it belongs")
                elif "vectors" in fields:
                    vectors += self._keep(pen, fields["vectors"])
                else:
                    self._take(now, fields)
                    if progress is not None and now.lines % _BATCH == 0:
                        progress(start - before + now.lines, self._expected[0] or 0)
            lines = self._closed(now, start) - before
            if (lines, len(spaces)) != self._expected:
                raise self._file.damaged_file_error("there are more or fewer lines than the first one says")
        for space in spaces:
            engine.index_imported_entries(space, progress)
        return TransferReport(str(self._path), tuple(spaces), lines, vectors, self._file.digest)

    def _empty(self, engine: Engine, below: Callable[[str], str], relative: object, met: Container[str]) -> str:
        """The name of the space that comes next, which must hold nothing yet."""
        if not isinstance(relative, str):
            raise self._file.damaged_file_error(f"{relative!r} is not the name of a space")
        space = below(relative)
        if space in met:
            raise self._file.damaged_file_error(f"space {space!r} comes twice")
        if held := engine.ledger.count(space):
            raise InvalidInput(
                f"space {space!r} holds {held:,} lines already, and between them the times of an import "
                "could not be kept. Nothing was imported. Bring it into an empty space: another folder, "
                "or a child such as into=space.child('imported')."
            )
        return space

    def _take(self, arriving: _Arriving, fields: Mapping[str, Any]) -> None:
        try:
            arriving.take(fields)
        except LedgerTooNew as error:
            raise LedgerTooNew(f"{self._path}, line {self._file.line_number}: {error} Nothing was imported.") from error
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise self._file.damaged_file_error(f"it is no line of a ledger ({_shown(error)})") from error

    def _closed(self, last: _Arriving | None, start: int) -> int:
        """Finish the space that came last; where the next one starts."""
        if last is None:
            return start
        try:
            last.close()
        except ValueError as error:
            raise self._file.damaged_file_error(f"above it, {error}") from error
        return start + last.lines

    def _keep(self, pen: Transaction, given: Mapping[str, str]) -> int:
        try:
            model, dimension = self._embedder["fingerprint"], self._embedder["dimension"]
            vectors = {bytes.fromhex(h): _unpacked(vector, dimension) for h, vector in given.items()}
            pen.put_vectors(model, vectors)
        except (TypeError, ValueError, AttributeError, LookupError) as error:
            raise self._file.damaged_file_error(f"its vectors cannot be read ({_shown(error)})") from error
        return len(vectors)


class _Arriving:
    """The lines of one space as they come in, the first of them at position `start` + 1."""

    def __init__(self, pen: Transaction, space: str, start: int, expected: object) -> None:
        self._pen, self.space, self._start, self._expected = pen, space, start, expected
        self.lines = 0
        self._at: datetime | None = None
        self._waiting: list[Event] = []  # of one moment, to be written together
        self._blank: set[int] = set()  # lines without words that nothing has accounted for yet

    def take(self, fields: Mapping[str, Any]) -> None:
        """Take in one line of the file."""
        at = from_micros(fields["at"])
        if self._at is not None and at < self._at:
            raise ValueError("it was written before the line above it")
        if at != self._at or len(self._waiting) == _BATCH:
            self._write()
        self._at = at
        self.lines += 1
        if "event" not in fields:
            self._write()
            self._pen.append_erased(self.space, fields["kind"], fields["subject"], at=at)
            self._blank.add(self._start + self.lines)
            return
        event = event_from_fields(fields["kind"], fields["event"])
        if name := first_invalid_field(event):
            raise ValueError(f"{fields['kind']}: {name}={getattr(event, name)!r}")
        event = with_space(remap_positions(event, self._where), self.space)
        if isinstance(event, Erased):
            self._vouch(event)
        self._waiting.append(event)

    def close(self) -> None:
        """Write what is left, and see that it is all there."""
        self._write()
        if self._blank:
            line = min(self._blank) - self._start
            raise ValueError(f"line {line} of space {self.space!r} is blank, and no line says that it was erased")
        if self.lines != self._expected:
            raise ValueError(f"space {self.space!r} has {self.lines} lines in place of {self._expected!r}")

    def _vouch(self, event: Erased) -> None:
        if worded := set(event.positions) - self._blank:
            # Not in a file that we wrote; but what is said to be erased must be.
            self._write()
            self._pen.erase(sorted(worded), ())
        self._blank.difference_update(event.positions)

    def _where(self, line: int) -> int:
        """The position of a line that is known by its number in the file; 0 is before all of them."""
        if not 0 <= line <= self.lines:
            raise ValueError(f"it points at line {line!r}, which does not come before it")
        return self._start + line if line else 0

    def _write(self) -> None:
        if self._waiting and self._at is not None:
            self._pen.append(self.space, self._waiting, at=self._at)
        self._waiting = []


def _unpacked(text: str, dimension: int) -> Vector:
    vector = np.frombuffer(b64decode(text, validate=True), dtype="<f4")
    if len(vector) != dimension or not np.isfinite(vector).all():
        raise ValueError(f"one is not {dimension!r} numbers long, or holds something else than numbers")
    return vector


def _shown(error: Exception) -> str:
    return f"{type(error).__name__}: {truncate(str(error), 200)}"
