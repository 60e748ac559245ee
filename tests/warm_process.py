"""Processes that run a program with the package imported already.

A new interpreter takes a second until a space is open. A warm process is forked from one that has only imported, so
it takes a hundredth of that. It has its own memory, environment and files, and can be killed like any other.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import IO, Any

_CONTEXT = multiprocessing.get_context("forkserver")
_IMPORTED = """igraph psycopg qdrant_edge remanence.space.opening remanence.space.space remanence.index.engine.engine
    remanence.ledger.postgres_backend.postgres_ledger remanence.ledger.sqlite_backend.sqlite_ledger
    remanence.models.embedders remanence.models.extractors remanence.index.vectors.stores.edge
    remanence.index.vectors.stores.exact remanence.testing.fakes""".split()


def preload(*modules: str) -> None:
    """Have these imported too. A test file calls it when it is imported itself: before the first process is started."""
    _IMPORTED.extend(modules)
    _CONTEXT.set_forkserver_preload(_IMPORTED)


preload()


class WarmProcess:
    """A running program with pipes to it, called like `subprocess.Popen` with `text=True`."""

    def __init__(self, program: str, *args: object) -> None:
        theirs_in, ours_in = _CONTEXT.Pipe(duplex=False)
        ours_out, theirs_out = _CONTEXT.Pipe(duplex=False)
        ours_error, theirs_error = _CONTEXT.Pipe(duplex=False)
        theirs = (theirs_in, theirs_out, theirs_error)
        words = [str(each) for each in args]
        self._process = _CONTEXT.Process(target=_run, args=(program, words, {**os.environ}, os.getcwd(), theirs))
        self._process.start()
        for end in theirs:
            end.close()
        self.stdin, self.stdout, self.stderr = _file(ours_in, "w"), _file(ours_out, "r"), _file(ours_error, "r")
        assert self._process.pid is not None
        self.pid = self._process.pid

    @property
    def returncode(self) -> int | None:
        """None while it runs; minus the number of the signal that ended it."""
        return self._process.exitcode

    def wait(self, timeout: float = 120) -> int:
        """Until the process has ended. What it printed and nobody has read is lost."""
        self._process.join(timeout)
        assert self._process.exitcode is not None, f"process {self.pid} still runs after {timeout} seconds"
        with suppress(BrokenPipeError):
            self.stdin.close()
        self.stdout.close()
        self.stderr.close()
        return self._process.exitcode

    def communicate(self, words: str = "", timeout: float = 120) -> tuple[str, str]:
        """Send the last words; what it printed until its end, and its errors."""
        with suppress(BrokenPipeError):  # it may have ended
            self.stdin.write(words)
            self.stdin.close()
        printed = self.stdout.read(), self.stderr.read()
        self.wait(timeout)
        return printed

    def kill(self) -> None:
        self._process.kill()


def _file(end: Connection[Any, Any], mode: str) -> IO[str]:
    file = open(os.dup(end.fileno()), mode, encoding="utf-8")  # noqa: SIM115 - it is open as long as the process
    end.close()
    return file


def _run(
    program: str, args: list[str], environment: dict[str, str], folder: str, pipes: tuple[Connection[Any, Any], ...]
) -> None:
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    for number, end in enumerate(pipes):
        os.dup2(end.fileno(), number)
        end.close()
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.argv = ["-c", *args]
    exec(compile(program, "<program>", "exec"), {"__name__": "__main__"})
