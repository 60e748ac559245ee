"""Where the index and vector files of a ledger without a folder are kept. They may be lost at any time."""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path

from remanence.errors import InvalidInput

log = logging.getLogger(__name__)


def cache_folder(chosen: str | Path | None, ledger_id: str) -> Path | None:
    """The cache folder of a ledger: below `chosen`, or below the cache folder of the platform. None if the latter is
    not writable; indexes are then built at each opening."""
    folder = (_platform_folder() if chosen is None else Path(chosen).expanduser().absolute()) / ledger_id
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK):
            raise PermissionError(13, "it is read-only")
    except OSError as error:
        reason = error.strerror or error
        if chosen is not None:
            raise InvalidInput(f"cache={str(chosen)!r} cannot be written: {reason}. Name another folder.") from error
        log.warning("%s cannot be written (%s); indexes are kept in memory only", folder, reason)
        return None
    return folder


def _platform_folder() -> Path:
    home = Path(os.path.expanduser("~"))
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local") / "remanence" / "Cache"
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "remanence"
    return Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache") / "remanence"
