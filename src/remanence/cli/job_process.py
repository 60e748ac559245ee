"""Jobs in a process of their own, which is ended when one of them takes too long.

A pattern that runs away keeps the lock of the interpreter. In a thread of a server it would hold up every request, and
again after each start, because the job is in the ledger.
"""

from __future__ import annotations

import faulthandler
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from remanence.cli.locations import open_with
from remanence.errors import LedgerUnavailable, RemanenceError
from remanence.index.engine.engine import Engine
from remanence.index.journal import JobState
from remanence.remember.jobs import record_ended_try, try_job

# Isolated, with the path of this process: neither the current folder nor this one is searched for modules.
_MAIN = "import sys; sys.path[:] = sys.argv[1:]; from remanence.cli.job_process import main; main()"


class JobProcess:
    """Tries jobs in another process, one at a time. It is started with the first job, and ends when idle.

    Args:
        options: The location and the options with which the other process opens the spaces.
        seconds: How long a job may take.
    """

    def __init__(self, options: Mapping[str, Any], seconds: float) -> None:
        self._options, self._seconds = options, seconds
        self._process: subprocess.Popen[str] | None = None
        self._lock = threading.Lock()  # held while it is asked
        self._used_at = 0.0
        self._closed = False

    def try_job(self, engine: Engine, space: str, job: JobState) -> bool:
        """Try a job once, as `jobs.try_job` does. The second try that did not end is the last one.

        Raises:
            LedgerUnavailable: The other process cannot read or write the ledger.
            RemanenceError: The other process cannot open the spaces.
        """
        with self._lock:
            process = self._process
            if process is None or process.poll() is not None:
                process = self._start()
            self._used_at = time.monotonic()
            try:
                return bool(_ask(process, [space, job.id]))
            except EOFError:
                self._stop()
        late = time.monotonic() - self._used_at >= self._seconds
        if not self._closed:
            reason = f"it took more than {self._seconds:g} s" if late else "its process ended"
            record_ended_try(engine, space, job, reason)
        return not self._closed

    def end_if_idle(self) -> None:
        """End the other process if it has had nothing to do for a while: its models take memory."""
        with self._lock:
            if time.monotonic() - self._used_at > 60.0:  # its models take memory
                self._stop()

    def close(self) -> None:
        """End the other process, and a job that it does, which is tried again at the next start."""
        self._closed = True
        if (process := self._process) is not None:
            process.kill()  # what waits for its answer goes on then
        with self._lock:
            self._stop()

    def _start(self) -> subprocess.Popen[str]:
        command = [sys.executable, "-I", "-c", _MAIN, *filter(None, sys.path)]
        pipe = subprocess.PIPE
        self._process = process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)
        try:
            _ask(process, [self._options, self._seconds])
        except EOFError:
            self._stop()
            raise RemanenceError("the process for jobs could not be started. Its errors are above.") from None
        return process

    def _stop(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            with suppress(BrokenPipeError), process:  # which closes its pipes
                pass


def _ask(process: subprocess.Popen[str], message: Any) -> object:
    """What the other process answers; raises EOFError if it ends."""
    assert process.stdin is not None, "it is a pipe"
    assert process.stdout is not None, "it is a pipe"
    with suppress(BrokenPipeError):
        process.stdin.write(json.dumps(message) + "\n")
        process.stdin.flush()
    if not (line := process.stdout.readline()):
        raise EOFError
    answer = json.loads(line)
    if "unavailable" in answer:
        raise LedgerUnavailable(answer["unavailable"])
    if "error" in answer:
        raise RemanenceError(answer["error"])
    return answer["done"]


def main() -> None:
    """Try the jobs that standard input names, until it ends: also when the process at its other end is killed.

    A job that takes too long ends this process, and the log has the line at which it was.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of a terminal: the process that started this one decides
    answers = os.dup(1)
    os.dup2(2, 1)  # what an extractor prints is no answer

    def answer(**fields: object) -> None:
        with suppress(BrokenPipeError):  # the process that asked has ended, and with it standard input
            os.write(answers, f"{json.dumps(fields)}\n".encode())

    options, seconds = json.loads(sys.stdin.readline())
    try:
        opened = open_with(options)
    except RemanenceError as error:
        answer(error=str(error))
        return
    with opened as space:
        answer(done=True)
        for line in sys.stdin:
            name, job_id = json.loads(line)
            faulthandler.dump_traceback_later(seconds, exit=True)  # needs no lock of the interpreter
            try:
                with space._engine.open_index(name) as index:
                    job = index.journal.jobs.get(job_id)
                answer(done=job is not None and try_job(space._engine, name, job))
            except LedgerUnavailable as error:
                answer(unavailable=str(error))
            faulthandler.cancel_dump_traceback_later()
