"""Checksums of the files of a closed store, to detect changes from outside."""

from __future__ import annotations

import json
import os
import zlib
from pathlib import Path

_BLOCK = 1 << 16
_ZEROS = bytes(_BLOCK)


class Checksums:
    """What the files of `folder` contained when they were last closed, as recorded in the file `record`."""

    def __init__(self, folder: Path, record: Path) -> None:
        self._folder, self._record = folder, record
        self._recorded = record.exists()

    def exist(self) -> bool:
        return self._recorded

    def write(self) -> None:
        """Record the present content, if it is not recorded."""
        if not self._recorded:
            self._record.write_text(json.dumps(_content(self._folder)))
            self._recorded = True

    def remove(self) -> None:
        """Delete the record. To be called before the first change: a process that is killed leaves none behind."""
        if self._recorded:
            self._record.unlink(missing_ok=True)
            self._recorded = False

    def find_change(self) -> str | None:
        """The name of a file that is not as recorded; None if all are."""
        try:
            recorded = json.loads(self._record.read_bytes())
        except (OSError, ValueError):
            return self._record.name
        present = _content(self._folder)
        if not isinstance(recorded, dict):
            return self._record.name
        return next((name for name in {**recorded, **present} if recorded.get(name) != present.get(name)), None)


def _content(folder: Path) -> dict[str, list[int]]:
    """The size and a checksum of each file below a folder."""
    files = (Path(parent, name) for parent, _, names in os.walk(folder) for name in names)
    return {str(path.relative_to(folder)): [path.stat().st_size, _checksum(path)] for path in files}


def _checksum(path: Path) -> int:
    """A checksum of the blocks of a file that are not zeros. Files of the engine are mostly holes, which are skipped
    where the system says where they are; a copy without holes has the same checksum."""
    checksum = place = 0
    with path.open("rb", buffering=0) as file:
        while True:
            try:
                place = os.lseek(file.fileno(), place, os.SEEK_DATA) // _BLOCK * _BLOCK
            except (OSError, AttributeError):  # no data follows, or this system cannot tell
                if hasattr(os, "SEEK_DATA"):
                    return checksum
            file.seek(place)
            block = file.read(_BLOCK)
            if not block:
                return checksum
            if block != _ZEROS[: len(block)]:
                checksum = zlib.crc32(block, zlib.crc32(place.to_bytes(8, "little"), checksum))
            place += _BLOCK
