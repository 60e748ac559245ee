"""Whether the files of a store can be loaded: checksums detect changes from outside, and files without them are loaded
in a child process first, because damaged ones may abort it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from remanence.operating_system import next_data

_BLOCK = 1 << 16
_ZEROS = bytes(_BLOCK)
_TIMEOUT = 120.0
_MEMORY = 16 * 2**30
_CODE = """
import importlib, sys
from pathlib import Path
from remanence.operating_system import limit_this_process
limit_this_process(int(sys.argv[5]))
load = getattr(importlib.import_module(sys.argv[1]), sys.argv[2])
load(Path(sys.argv[3]), int(sys.argv[4]))
"""


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
        while (data := next_data(file.fileno(), place)) is not None:
            place = data // _BLOCK * _BLOCK
            file.seek(place)
            block = file.read(_BLOCK)
            if not block:
                break
            if block != _ZEROS[: len(block)]:
                checksum = zlib.crc32(block, zlib.crc32(place.to_bytes(8, "little"), checksum))
            place += _BLOCK
    return checksum


def loads_in_child_process(load: Callable[[Path, int], Any], folder: Path, dimension: int) -> None:
    """Call `load(folder, dimension)`, a function of a module, in a child process. ValueError if it fails, crashes,
    hangs, or takes too much memory there; the child process cannot take this one with it."""
    limit = _MEMORY + 4 * sum(
        Path(parent, name).stat().st_size for parent, _, names in os.walk(folder) for name in names
    )
    arguments = [load.__module__, load.__qualname__, str(folder), str(dimension), str(limit)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    try:
        done = subprocess.run(
            [sys.executable, "-c", _CODE, *arguments],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            timeout=_TIMEOUT,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ValueError(f"it could not be loaded in a child process: {error}") from error
    if done.returncode:
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        reason = f"signal {-done.returncode}" if done.returncode < 0 else (lines or ["no reason given"])[-1]
        raise ValueError(f"loading it in a child process failed ({reason})")
