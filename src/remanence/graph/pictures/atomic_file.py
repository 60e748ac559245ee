"""Writing a picture to a file, whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Mapping
from pathlib import Path

from remanence.errors import InvalidInput


def write_atomically(path: str | os.PathLike[str], formats: Mapping[str, Callable[[Path], object]]) -> Path:
    """Write a file in the format that its suffix names, and give its path.

    What was there before stays until all is written, and if something goes wrong.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise InvalidInput(f"path={path!r} is of type {type(path).__name__}. Give a file, such as 'graph.html'.")
    # Through a link to the file that it leads to: replacing the link would leave that one as it was.
    file = Path(os.path.realpath(path))
    writer = formats.get(Path(path).suffix.lower())
    if writer is None:
        raise InvalidInput(f"{os.fspath(path)!r} ends in none of {', '.join(formats)}. Choose one of these.")
    if not file.parent.is_dir():
        raise InvalidInput(f"there is no folder {str(file.parent)!r} to save {file.name!r} in. Make it first.")
    if file.is_dir():
        raise InvalidInput(f"{str(file)!r} is a folder. Give another name for the file.")
    unfinished = file.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        writer(unfinished)
        os.replace(unfinished, file)
    finally:
        unfinished.unlink(missing_ok=True)
    return file
