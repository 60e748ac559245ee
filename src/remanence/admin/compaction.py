"""Giving back room: indexes are built anew, what belongs to nothing is dropped, and no line is touched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from remanence.admin.overview import disk_usage, format_bytes
from remanence.core.index_file import index_file_name
from remanence.errors import LedgerUnavailable
from remanence.signals.stores import StoreBusy, folder_name

if TYPE_CHECKING:
    from remanence.core.engine import Engine
    from remanence.ports import Progress


@dataclass(frozen=True, slots=True)
class CompactionReport:
    """The spaces whose indexes were built anew, and how many bytes of the disk were taken before and after.

    `left` says what could not be done, and why.
    """

    spaces: tuple[str, ...]
    bytes_before: Mapping[str, int]
    bytes_after: Mapping[str, int]
    skipped: tuple[str, ...] = ()

    @property
    def bytes_freed(self) -> int:
        """How many bytes were given back in all; less than zero if more are in use now."""
        return sum(self.bytes_before.values()) - sum(self.bytes_after.values())

    def __str__(self) -> str:
        parts = [
            f"{what:<10} {format_bytes(self.bytes_before.get(what, 0)):>10}"
            f" -> {format_bytes(self.bytes_after.get(what, 0)):>10}"
            for what in sorted({*self.bytes_before, *self.bytes_after})
        ]
        rebuilt = f"indexes built anew: {', '.join(self.spaces) or 'none'}"
        parts += [
            rebuilt,
            f"freed: {format_bytes(max(self.bytes_freed, 0))}",
            *(f"left: {what}" for what in self.skipped),
        ]
        return "\n".join(parts)


def compact(engine: Engine, spaces: Sequence[str], progress: Progress | None = None) -> CompactionReport:
    """Build the indexes of these spaces anew, drop files that belong to no space, and shrink the ledger."""
    before, left = disk_usage(engine.folder), list[str]()
    for done, space in enumerate(spaces, 1):
        engine.rebuild(space)
        if progress is not None:
            progress(done, len(spaces))
    if engine.folder is not None:
        _drop_strays(engine, left)
    try:
        engine.ledger.compact()
    except LedgerUnavailable as error:
        left.append(str(error))
    return CompactionReport(tuple(spaces), before, disk_usage(engine.folder), tuple(left))


def _drop_strays(engine: Engine, left: list[str]) -> None:
    """Delete snapshots and vectors of spaces that the ledger does not know, as when a backup was put back."""
    from remanence.signals.stores.edge import remove_store

    assert engine.folder is not None
    known = engine.ledger.spaces()
    stems = {index_file_name(space).partition(".")[0] for space in known}
    for file in (engine.folder / "index").glob("*"):
        if file.name.partition(".")[0] not in stems:
            file.unlink(missing_ok=True)
    names = {folder_name(space) for space in known}
    for folder in (engine.folder / "vectors").glob("*"):
        if folder.is_dir() and folder.name not in names:
            try:
                remove_store(folder)
            except StoreBusy as busy:
                left.append(str(busy))
