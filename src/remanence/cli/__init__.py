"""`remanence`, the command: each verb does what the verb of the same name on a space does.

parser.py   what may be typed
commands.py what is then done
whole.py    the same, where it is about a space as a whole
places.py   which folder and space is meant
output.py   how the answer is shown, at a terminal and in a pipe
demo.py     the story that `remanence demo` tells

Exit codes: 0 done; 1 it could not be done, and stderr says why; 2 it was typed wrong; 130 interrupted.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from remanence.cli.parser import make_parser
from remanence.errors import RemanenceError

__all__ = ["main"]

_INTERRUPTED = 130
_PIPE_CLOSED = 141


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and give back its exit code."""
    _print_anything()
    parser = make_parser()
    args = parser.parse_args(argv)
    if args.run is None:
        parser.print_help(sys.stderr)
        return 2
    try:
        code = int(args.run(args) or 0)
        sys.stdout.flush()
    except RemanenceError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(file=sys.stderr)
        return _INTERRUPTED
    except BrokenPipeError:
        # Whoever read us has seen enough. What is still in the buffer must not raise again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _PIPE_CLOSED
    return code


def _print_anything() -> None:
    """A terminal that cannot show a letter shows a question mark in its place, and goes on."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")
