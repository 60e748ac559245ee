"""Programs in a new interpreter, for tests about what is imported when, about start and end, or about another process.

Starting one takes a second or more: where the program only has to be in another process, use a `WarmProcess`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping


def run_program(
    program: str, *args: object, stdin: str = "", environment: Mapping[str, str | None] | None = None
) -> str:
    """What a program prints. It has to end without an error.

    Args:
        program: Its source.
        args: Its arguments.
        stdin: What it can read.
        environment: Variables that it has other values for; None removes one.
    """
    variables = {**os.environ, **(environment or {})}
    done = subprocess.run(
        [sys.executable, "-c", program, *map(str, args)],
        input=stdin,
        env={name: value for name, value in variables.items() if value is not None},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
