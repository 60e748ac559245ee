"""Loads files in a child process first, because loading may abort the process."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

_TIMEOUT = 120.0
_MEMORY = 16 * 2**30
_CODE = """
import importlib, sys
from pathlib import Path
try:
    import resource
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[5]), int(sys.argv[5])))
except (ImportError, ValueError):
    pass  # without a limit, as on Windows, the machine's own applies
load = getattr(importlib.import_module(sys.argv[1]), sys.argv[2])
load(Path(sys.argv[3]), int(sys.argv[4]))
"""


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
