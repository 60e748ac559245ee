"""Lock files, in folders that a process removes again when it is closed."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import IO

_ATTEMPTS = 100


def open_lock_file(path: Path, mode: str) -> IO[str]:
    """Open a lock file. Its folder is made, and made again if another process has just removed it."""
    for _ in range(_ATTEMPTS):
        path.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileNotFoundError):
            return path.open(mode)
    raise FileNotFoundError(f"{path.parent} is removed again and again")


def remove_empty_folders(folders: list[Path]) -> None:
    """Remove these folders, the innermost first, as far as they are empty."""
    for folder in sorted(folders, reverse=True):
        with suppress(OSError):  # another process has a file there
            folder.rmdir()
