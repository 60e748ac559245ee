"""Export of spaces: every ledger entry with its time, as JSON lines. import_file.py reads it back.

Entries are numbered from 1 in each space, and positions inside events are replaced by these numbers, so that
the same entries make the same file whatever ledger they are in. The file has these lines:

    {"remanence": "export", "version": 1, …}              the header
    {"space": "users/bob", "lines": 2}                     for each space; "" is the one that was exported
    {"at": …, "kind": "remembered", "event": {…}}          for each entry; times in microseconds since 1970
    {"at": …, "kind": "remembered", "subject": "…"}        an entry whose text was erased
    {"end": {"lines": …, "sha256": "…"}}                   see jsonlines.py, which also adds the checksums
"""

from __future__ import annotations

import json
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from remanence.ledger.codec import WRONG_TYPES, encode, find_damage, to_portable
from remanence.schema import micros
from remanence.schema.version import __version__
from remanence.text.text import pluralize
from remanence.transfer.jsonlines import JsonLinesWriter

if TYPE_CHECKING:
    from remanence.index.engine.engine import Engine
    from remanence.ports import Progress

EXPORT_VERSION = 1
BATCH_SIZE = 1_000
_FREE_TRIES = 2
"""How often the file is written while others can erase."""


@dataclass(frozen=True, slots=True)
class TransferReport:
    """What was exported or imported: how many entries of which spaces.

    `digest` is the SHA-256 of the uncompressed lines.
    """

    path: str
    spaces: tuple[str, ...]
    entries: int
    digest: str

    def __str__(self) -> str:
        spaces = self.spaces[0] if len(self.spaces) == 1 else f"{len(self.spaces)} spaces"
        return f"{self.path}: {pluralize(self.entries, 'entry', 'entries')} of {spaces}"


def export(
    engine: Engine, root: str, spaces: Sequence[str], path: Path, *, progress: Progress | None = None
) -> TransferReport:
    """Write these spaces, which are `root` or below it, to a file. If a text is erased meanwhile, which may be in the
    file already, the file is written again; at last while nobody else can write."""
    report = None
    for _ in range(_FREE_TRIES):
        if report := _write(engine, root, spaces, path, progress):
            return report
    while report is None:  # a second time if a database ended the transaction
        with engine.transaction():
            report = _write(engine, root, spaces, path, progress)
    return report


def _write(
    engine: Engine, root: str, spaces: Sequence[str], path: Path, progress: Progress | None
) -> TransferReport | None:
    """Write them once; None, and no file, if something was erased meanwhile."""
    ledger = engine.ledger
    head = ledger.head()  # entries that are added meanwhile are not exported
    counts = {space: ledger.count(space, up_to=head) for space in spaces}
    total, entry_count = sum(counts.values()), 0
    with JsonLinesWriter(path) as file:
        file.write(_dump(_header(engine, root, spaces, total)))
        for space in spaces:
            file.write(_dump({"space": space[len(root) + 1 :], "lines": counts[space]}))
            for line in _entry_lines(engine, space, head):
                file.write(line)
                entry_count += 1
                if progress is not None and entry_count % BATCH_SIZE == 0:
                    progress(entry_count, total)
        erased = ("erased", "emptied")
        if any(entry.kind in erased for space in spaces for entry in ledger.read(space, after=head)):
            return None
        return TransferReport(str(path), tuple(spaces), entry_count, file.finish())


def _header(engine: Engine, root: str, spaces: Sequence[str], total: int) -> dict[str, Any]:
    return {
        "remanence": "export",
        "version": EXPORT_VERSION,
        "release": __version__,
        "ledger": engine.ledger_id(),
        "space": root,
        "spaces": len(spaces),
        "lines": total,
    }


def _entry_lines(engine: Engine, space: str, head: int) -> Iterator[str]:
    positions = array("q")
    for entry in engine.ledger.read(space):
        if entry.position > head:
            return
        positions.append(entry.position)
        start = f'{{"at":{micros(entry.at)},"kind":{_dump(entry.kind)}'
        if entry.event is None:
            yield f'{start},"subject":{_dump(entry.subject)}}}'
            continue
        try:
            event = to_portable(entry.event, lambda position: bisect_right(positions, position))
        except WRONG_TYPES as error:
            raise find_damage([entry]) or error from error
        yield f'{start},"event":{encode(event)}}}'


_dump = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
