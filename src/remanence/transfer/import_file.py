"""Import of a file that export_file.py wrote.

The file may come from anywhere, so it is read twice. First everything is checked, and nothing is written if a line is
damaged. Then the entries are written, some at a time: other writers go on in between, and an import that was
interrupted is continued by importing the same file again.
"""

from __future__ import annotations

import zlib
from array import array
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from remanence.errors import InvalidInput, LedgerError, LedgerTooNew
from remanence.events import Emptied, Erased, Event, Remembered, Served
from remanence.index.engine.embedding import embed_missing
from remanence.ledger.codec import event_from_fields, first_invalid_field, kinds_of, remap_positions
from remanence.recall.receipts import Receipt
from remanence.schema import UTC, from_micros
from remanence.text.text import truncate
from remanence.transfer.export_file import EXPORT_VERSION, TransferReport
from remanence.transfer.jsonlines import NOT_AN_EXPORT, JsonLinesReader, open_unpacked

if TYPE_CHECKING:
    from remanence.index.engine.engine import Engine
    from remanence.ports import Progress, Transaction

_CHUNK_LINES, _CHUNK_BYTES = 1_000, 8 << 20
[_REMEMBERED] = kinds_of(Remembered)
_RANGES = {"importance": (0, 1), "confidence": (0, 1), "trust": (0, 1), "strength": (0, 2)}
_END_OF_TIME = datetime.max.replace(tzinfo=UTC)


class SpaceStart(NamedTuple):
    """The line that names the space of the following entries."""

    space: str


class EntryLine(NamedTuple):
    """One entry of a file. Positions in its event are numbers of entries in the file; the first is 1.

    `event` is None if the text was erased. `size` is the length of the line.
    """

    at: datetime
    kind: str
    subject: str
    event: Event | None
    size: int


Line = SpaceStart | EntryLine

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

    def __init__(self, path: Path) -> None:
        self._path = path
        with JsonLinesReader(path) as file:
            header = next(iter(file), {})
            if header.get("remanence") != "export" or not isinstance(header.get("version"), int):
                raise file.damaged_file_error(NOT_AN_EXPORT)
        if header["version"] > EXPORT_VERSION:
            raise LedgerTooNew(
                f"{path}, line 1: this export has version {header['version']}, and this release of Remanence "
                f"reads up to {EXPORT_VERSION}. Upgrade with `pip install -U remanence-memory`; nothing was imported."
            )
        self._expected_counts = header.get("lines"), header.get("spaces")

    def write_to(
        self, engine: Engine, space_name: Callable[[str], str], progress: Progress | None = None
    ) -> TransferReport:
        """Check all lines, then write them. `space_name` gives the name of a space for a relative one."""
        spaces: dict[str, None] = {}
        entry_count = 0
        with JsonLinesReader(self._path) as file:
            for line in self._checked_lines(file, space_name):
                if isinstance(line, SpaceStart):
                    spaces[line.space] = None
                else:
                    entry_count += 1
            digest = file.digest
        writers = {space: _SpaceWriter(engine, space, digest) for space in spaces}  # refuses what is not empty
        if progress is not None:
            progress(0, entry_count)
        self._write(space_name, writers, progress, entry_count)
        for space in spaces:
            _index_imported(engine, space, progress)
        return TransferReport(str(self._path), tuple(spaces), entry_count, digest)

    def _write(
        self,
        space_name: Callable[[str], str],
        writers: Mapping[str, _SpaceWriter],
        progress: Progress | None,
        total: int,
    ) -> None:
        """Write all entries."""
        done = 0
        writer: _SpaceWriter | None = None
        with JsonLinesReader(self._path) as file:
            for line in self._checked_lines(file, space_name):
                if isinstance(line, SpaceStart):
                    if writer is not None:
                        writer.finish()
                    writer = writers[line.space]
                elif writer is None:
                    raise AssertionError("the lines begin with a space")
                else:
                    done += 1
                    if writer.write(line) and progress is not None:
                        progress(done, total)
            if writer is not None:
                writer.finish()

    def _checked_lines(self, file: JsonLinesReader, space_name: Callable[[str], str]) -> Iterator[Line]:
        """Every line after the header, in terms of the ledger. What is wrong raises, with the number of the line."""
        readers: dict[str, _SpaceReader] = {}
        reader: _SpaceReader | None = None
        lines = iter(file)
        next(lines)  # the header
        for fields in lines:
            if "space" in fields:
                if not isinstance(fields["space"], str):
                    raise file.damaged_file_error(f"{fields['space']!r} is not the name of a space")
                space = space_name(fields["space"])
                if space in readers:
                    raise file.damaged_file_error(f"space {space!r} comes twice")
                if reader is not None:
                    reader.finish()
                reader = readers[space] = _SpaceReader(file, space, fields.get("lines"))
                yield SpaceStart(space)
            elif reader is None:
                raise file.damaged_file_error("it comes before the line that names its space")
            elif "vectors" not in fields:  # which earlier builds wrote: they are made again of the texts
                yield reader.read(fields)
        if reader is not None:
            reader.finish()
        if (sum(each.count for each in readers.values()), len(readers)) != self._expected_counts:
            raise file.damaged_file_error("there are more or fewer entries than the first line says")


@contextmanager
def _naming_line(file: JsonLinesReader, problem: str) -> Iterator[None]:
    """Name the line and the problem if what the line holds cannot be written."""
    try:
        yield
    except LedgerTooNew as error:
        raise LedgerTooNew(f"{file.path}, line {file.line_number}: {error} Nothing was imported.") from error
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
        detail = f"{type(error).__name__}: {truncate(str(error), 200)}"
        raise file.damaged_file_error(f"{problem} ({detail})") from error


class _SpaceReader:
    """Reads the entries of one space."""

    def __init__(self, file: JsonLinesReader, space: str, expected_count: object) -> None:
        self._file, self._space, self._expected_count = file, space, expected_count
        self.count = 0
        self._at: datetime | None = None
        self._blank: set[int] = set()  # entries without text for which no Erased has come yet
        self._blank_memories: dict[str, int] = {}  # memories with a version without text, each with its number
        self._erased_memories: set[str] = set()

    def read(self, fields: Mapping[str, Any]) -> EntryLine:
        with _naming_line(self._file, "it is not a ledger entry"):
            at = from_micros(fields["at"])
            if self._at is not None and at < self._at:
                raise ValueError("it is dated before the line above it")
            self._at = at
            self.count += 1
            if "event" not in fields:
                kind, subject = fields["kind"], fields["subject"]
                if not isinstance(kind, str) or not isinstance(subject, str):
                    raise ValueError(f"kind={kind!r}, subject={subject!r}")
                self._blank.add(self.count)
                if kind == _REMEMBERED:
                    self._blank_memories.setdefault(subject, self.count)
                return EntryLine(at, kind, subject, None, self._file.line_size)
            event = event_from_fields(fields["kind"], fields["event"])
            if name := first_invalid_field(event):
                raise ValueError(f"{fields['kind']}: {name}={getattr(event, name)!r}")
            _check_values(event)
            remap_positions(event, self._check_number)
            if isinstance(event, Emptied):
                self._blank.clear()
            if isinstance(event, Erased):
                self._blank.difference_update(event.positions)
                self._erased_memories.add(event.memory)
            if isinstance(event, Served):
                Receipt.from_dict({"space": self._space, **event.asked})
            return EntryLine(at, fields["kind"], "", event, self._file.line_size)

    def finish(self) -> None:
        """Check that the space is complete."""
        with _naming_line(self._file, "the space above it is incomplete"):
            if self._blank:
                number, space = min(self._blank), self._space
                raise ValueError(f"entry {number} of space {space!r} is blank, and no entry says that it was erased")
            for memory, number in self._blank_memories.items():
                if memory not in self._erased_memories:
                    raise ValueError(f"entry {number} is blank, and no entry says that memory {memory!r} was erased")
            if self.count != self._expected_count:
                expected = self._expected_count
                raise ValueError(f"space {self._space!r} has {self.count} entries in place of {expected!r}")

    def _check_number(self, number: int) -> int:
        if not 0 <= number <= self.count:
            raise ValueError(f"it points at entry {number!r}, which does not come before it")
        return number


def _check_values(event: Event) -> None:
    """ValueError if a value is one that no method of a space would have written."""
    if isinstance(event, Remembered) and not event.text.strip():
        raise ValueError("its text is blank")
    for name, (least, most) in _RANGES.items():
        if not least <= getattr(event, name, least) <= most:
            raise ValueError(f"{name}={getattr(event, name)!r} is not from {least} to {most}")


class _SpaceWriter:
    """Writes the entries of one space, some in each transaction. Nobody else may write to this space meanwhile."""

    def __init__(self, engine: Engine, space: str, digest: str) -> None:
        self._engine, self._space, self._digest = engine, space, digest
        self._positions = array("q")  # of each entry of the file that is written
        self._blank: set[int] = set()  # positions of entries without text
        self._waiting: list[EntryLine] = []
        self._waiting_bytes = self._read = 0
        count = engine.ledger.count(space)
        if count and engine.ledger.get_meta(self._marker_name) != digest:
            raise InvalidInput(
                f"space {space!r} is not empty: it has {count:,} ledger entries, and imported entries could not keep "
                "their times among them. Nothing was imported. Import into an empty space: another folder, "
                "or a child such as into=space.child('imported')."
            )
        if count:  # an import of the same file was interrupted
            for entry in engine.ledger.read(space):
                self._positions.append(entry.position)
                if entry.event is None:
                    self._blank.add(entry.position)
        self._known = len(self._positions)

    @property
    def _marker_name(self) -> str:
        """The name under which the ledger keeps which file is being imported into this space."""
        return f"import:{self._space}"

    def write(self, line: EntryLine) -> bool:
        """Write one entry, now or together with the next ones. Returns whether it was now."""
        self._read += 1
        if self._read <= self._known:
            return False
        self._waiting.append(line)
        self._waiting_bytes += line.size
        if len(self._waiting) < _CHUNK_LINES and self._waiting_bytes < _CHUNK_BYTES:
            return False
        self._write_waiting()
        return True

    def finish(self) -> None:
        """Write what is left. The space is complete then."""
        self._write_waiting(last=True)

    def _write_waiting(self, *, last: bool = False) -> None:
        lines, self._waiting, self._waiting_bytes = self._waiting, [], 0
        with self._engine.transaction() as transaction:
            self._check_no_other_writer()
            if not self._positions:
                transaction.put_meta(self._marker_name, self._digest)
            for line in lines:
                self._append(transaction, line)
            if last:
                transaction.put_meta(self._marker_name, "")

    def _check_no_other_writer(self) -> None:
        written = self._positions[-1] if self._positions else 0
        if self._engine.ledger.position_at(self._space, _END_OF_TIME) != written:
            raise LedgerError(
                f"something was written to space {self._space!r} while a file was imported into it, so the import "
                f"stopped after {len(self._positions):,} entries. Import the file into an empty space."
            )

    def _append(self, transaction: Transaction, line: EntryLine) -> None:
        event = line.event
        if event is None:
            entry = transaction.append_erased(self._space, line.kind, line.subject, at=line.at)
            self._blank.add(entry.position)
        elif isinstance(event, Emptied):
            entry = transaction.erase_space(self._space, at=line.at, signature=event.signature)
            self._blank.update(self._positions)
        else:
            self._positions.append(transaction.head + 1)  # an event may name its own entry
            event = remap_positions(event, self._position)
            self._positions.pop()
            if isinstance(event, Served):
                event = replace(event, asked={"space": self._space, **event.asked})
            if isinstance(event, Erased) and (present := set(event.positions) - self._blank):
                # An export has no text that was erased. If this file has, the text is erased here.
                transaction.erase(self._space, sorted(present), ())
                self._blank |= present
            [entry] = transaction.append(self._space, [event], at=line.at)
        self._positions.append(entry.position)

    def _position(self, number: int) -> int:
        """The position of an entry by its number in the file; 0 is before all of them."""
        return self._positions[number - 1] if number else 0


def _index_imported(engine: Engine, space: str, progress: Progress | None) -> None:
    """Index entries that were imported: embed their texts, and start their jobs."""
    with engine.open_index(space) as index:
        if not index.dimension_unknown:
            with engine.transaction() as transaction:
                engine.ledger_embedder.record_first(transaction)
        engine.report_unfinished_jobs(index)
    embed_missing(engine, space, progress)
