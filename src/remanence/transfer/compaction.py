"""Freeing disk space: indexes are rebuilt, unused files deleted, the ledger file shrunk. No entry is changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from remanence.errors import LedgerUnavailable
from remanence.index.engine.rebuilding import refresh
from remanence.index.index_file import space_hash
from remanence.index.vectors.stores import folder_name
from remanence.index.vectors.stores.edge import StoreBusy
from remanence.transfer.overview import disk_usage, format_bytes

if TYPE_CHECKING:
    from remanence.index.engine.engine import Engine
    from remanence.ports import Progress


@dataclass(frozen=True, slots=True)
class CompactionReport:
    """The spaces whose indexes were rebuilt, and the bytes on disk before and after, by kind of file.

    `skipped` says what could not be done, and why.
    """

    spaces: tuple[str, ...]
    bytes_before: Mapping[str, int]
    bytes_after: Mapping[str, int]
    skipped: tuple[str, ...] = ()

    @property
    def bytes_freed(self) -> int:
        """How many bytes were freed; negative if more are in use now."""
        return sum(self.bytes_before.values()) - sum(self.bytes_after.values())

    def __str__(self) -> str:
        before, after = self.bytes_before, self.bytes_after
        lines = [
            f"{kind:<10} {format_bytes(before.get(kind, 0)):>10} -> {format_bytes(after.get(kind, 0)):>10}"
            for kind in sorted({*before, *after})
        ]
        lines.append(f"indexes rebuilt: {', '.join(self.spaces) or 'none'}")
        lines.append(f"freed: {format_bytes(max(self.bytes_freed, 0))}")
        return "\n".join([*lines, *(f"skipped: {reason}" for reason in self.skipped)])


def compact(engine: Engine, spaces: Sequence[str], progress: Progress | None = None) -> CompactionReport:
    """Rebuild the indexes of these spaces, delete files that belong to no space, and shrink the ledger."""
    before = disk_usage(engine.folder)
    for done, space in enumerate(spaces, 1):
        refresh(engine, space)
        if progress is not None:
            progress(done, len(spaces))
    skipped = _delete_unused_files(engine)
    try:
        engine.ledger.compact()
    except LedgerUnavailable as error:
        skipped.append(str(error))
    return CompactionReport(tuple(spaces), before, disk_usage(engine.folder), tuple(skipped))


def _delete_unused_files(engine: Engine) -> list[str]:
    """Delete the index and vector files of spaces that the ledger does not have, as after restoring a backup."""
    from remanence.index.vectors.stores.edge import remove_store

    if engine.folder is None:
        return []
    skipped: list[str] = []
    spaces = engine.ledger.spaces()
    stems = {space_hash(space) for space in spaces}
    for file in (engine.folder / "index").glob("*/*"):
        if file.name.partition(".")[0] not in stems:
            file.unlink(missing_ok=True)
    folder_names = {folder_name(space) for space in spaces}
    for folder in (engine.folder / "vectors").glob("*"):
        if folder.is_dir() and folder.name not in folder_names:
            try:
                remove_store(folder)
            except StoreBusy as error:
                skipped.append(str(error))
    return skipped
