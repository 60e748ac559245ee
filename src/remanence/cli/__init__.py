"""The command `remanence`: each verb calls the method of the same name of a space.

parser.py            how a command is declared, and the argument parser
options.json         the options of the commands
memory_commands.py   the commands about memories
recall_flags.py      their options that are those of `recall`
live_commands.py     `remanence tail` and `remanence chat`
graph_commands.py    the commands about entities and the graph
admin_commands.py    the commands about spaces, jobs and upkeep
file_commands.py     the commands about files, and checks of them
doctor.py            `remanence doctor`
model_commands.py    the commands about models, evaluation, and the demo
server_commands.py   `remanence mcp`, `remanence serve`, and tokens
completion.py        `remanence completion`: scripts for bash, zsh and fish
job_process.py       the process that does queued jobs
locations.py         which folder and space is meant
output.py            how results are printed
demo.py              `remanence demo`

Exit codes: 0 done; 1 failed, and stderr says why; 2 wrong usage; 130 interrupted; 141 the reader closed the pipe.
"""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from remanence.cli.output import print_error, safe_streams
from remanence.cli.parser import WrongValue, make_parser
from remanence.errors import RemanenceError

# Importing these modules registers their commands, which `--help` lists in this order.
# isort: off
from remanence.cli import memory_commands, live_commands, graph_commands, admin_commands  # noqa: F401
from remanence.cli import file_commands, doctor, model_commands, server_commands, completion  # noqa: F401
# isort: on

__all__ = ["main"]

_DISCARDED = Path(os.devnull)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    # A shell that closed a stream (`>&-`) wants nothing printed there. A server would fill the memory with it, and a
    # file that is opened later would have the number of the stream, under which a library may print.
    sys.stdout = sys.stdout or _DISCARDED.open("w", encoding="utf-8")
    sys.stderr = sys.stderr or _DISCARDED.open("w", encoding="utf-8")
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a letter shows a question mark in its place.
        if reconfigure := getattr(stream, "reconfigure", None):
            reconfigure(errors="replace")
    args = make_parser().parse(argv)
    if args.run is None:
        args.asked.print_help(sys.stderr)
        return 2
    with safe_streams():
        return _run(args)


def _run(args: Namespace) -> int:
    try:
        code: int = args.run(args)
        sys.stdout.flush()
    except RemanenceError as error:
        from remanence.service.error_wording import with_commands

        name, code = ("WrongUsage", 2) if isinstance(error, WrongValue) else (type(error).__name__, 1)
        print_error(name, with_commands(str(error)), as_json=getattr(args, "json", False))
        return code
    except KeyboardInterrupt:
        print(file=sys.stderr)
        return 130  # 128 and the number of the signal, as shells give it
    except BrokenPipeError:
        # The reader has closed the pipe. What is still in the buffer must not raise again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141  # 128 and the number of SIGPIPE
    except OSError as error:
        # The disk is full, or a file cannot be read or written.
        print_error(type(error).__name__, f"{error}.", as_json=getattr(args, "json", False))
        return 1
    return code
