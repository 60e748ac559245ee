"""The file that the index of a space is loaded from. It contains plain arrays only: no pickle is ever read."""

from __future__ import annotations

import hashlib
import logging
import os
import zipfile
import zlib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from remanence.state.columns import pack, unpack

log = logging.getLogger(__name__)

_UNREADABLE = (
    *(OSError, EOFError, zipfile.BadZipFile, zlib.error),  # truncated or overwritten
    *(ValueError, TypeError, AttributeError, LookupError),  # an archive, but not one of ours
)


class IndexPart(Protocol):
    def save(self) -> Mapping[str, NDArray[Any]]: ...
    def load(self, arrays: Mapping[str, NDArray[Any]]) -> None: ...


class IndexFile:
    """One file for all parts of an index, and a header that says what they were made of."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def write(self, header: Mapping[str, Any], parts: Mapping[str, IndexPart]) -> None:
        """Write all parts, or none. If that fails, the next opening reads the ledger instead."""
        arrays: dict[str, NDArray[Any]] = {"header": pack(header)}
        for name, part in parts.items():
            arrays |= {f"{name}.{key}": value for key, value in part.save().items()}
        partial = self._path.with_suffix(f".{os.getpid()}.part")
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with partial.open("wb") as out:
                np.savez(out, allow_pickle=False, **arrays)
            partial.replace(self._path)
        except OSError as error:
            log.warning("the index file %s was not written: %s", self._path, error)
            with suppress(OSError):
                partial.unlink()

    def read(self, parts: Mapping[str, IndexPart]) -> dict[str, Any] | None:
        """Load the parts and return the header; None if the file cannot be read (parts may then be incomplete)."""
        if not self._path.exists():
            return None
        try:
            with np.load(self._path, allow_pickle=False) as archive:
                header: dict[str, Any] = unpack(archive["header"])
                arrays = {name: archive[name] for name in archive.files}
            for name, part in parts.items():
                prefix = f"{name}."
                part.load({k[len(prefix) :]: v for k, v in arrays.items() if k.startswith(prefix)})
        except _UNREADABLE as error:
            log.warning("the index file %s cannot be read (%s); it is rebuilt", self._path, error)
            return None
        return header

    def remove(self) -> None:
        """Delete the file and the incomplete ones of killed writers, which may contain text erased since."""
        for stale in self._path.parent.glob(f"{self._path.stem}.*"):
            stale.unlink(missing_ok=True)


def index_file_name(space: str) -> str:
    """The file name for the index of a space, whatever the space is called."""
    return hashlib.sha256(space.encode("utf-8", "surrogatepass")).hexdigest()[:32] + ".npz"
