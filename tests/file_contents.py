"""What the files of a folder hold, for tests that look for what must not be in any of them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path


def content(path: Path) -> bytes:
    """What was written into a file. The holes of a sparse one are left out: the vector engine makes files of 32 MB of
    which it writes a few blocks."""
    if not hasattr(os, "SEEK_DATA"):
        return path.read_bytes()
    with path.open("rb") as file:
        number, end, parts = file.fileno(), 0, list[bytes]()
        size = os.fstat(number).st_size
        while end < size:
            try:
                start = os.lseek(number, end, os.SEEK_DATA)
            except OSError:  # the rest is a hole
                break
            end = os.lseek(number, start, os.SEEK_HOLE)
            parts.append(os.pread(number, end - start, start))
        return b"\0".join(parts)


def contents(folder: Path) -> Iterator[tuple[Path, bytes]]:
    """Each file in a folder and in those below it, with what was written into it."""
    for path in folder.rglob("*"):
        if path.is_file():
            yield path, content(path)
