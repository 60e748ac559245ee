"""Work that may wait: kept in the ledger, done once, taken up again after a crash.

A job is a line. Whoever works on it holds its lock (a file lock in the folder, so that it is let go of
even by a process that dies), and writes what came of it in the same transaction as the line that says it
is done. So a job is never lost, and never done twice.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from remanence.core.identity import new_id
from remanence.core.index import Index
from remanence.core.locks import is_locked, remove_lock_file, try_lock
from remanence.errors import Closed, JobFailed, NotFound
from remanence.events import Event, Queued, Worked
from remanence.schema import Memory, from_micros, micros
from remanence.state.journal import JobState
from remanence.write import remember
from remanence.write.append import append
from remanence.write.extract import PreparedVersion

if TYPE_CHECKING:
    from remanence.core.engine import Engine

log = logging.getLogger(__name__)

MOST_TRIES = 5
_FIRST_WAIT = timedelta(seconds=2)
_AFTER_TROUBLE = 1.0
"""Seconds before a worker that met with an error looks again."""
_LOOK_EVERY = 0.05
"""Seconds between looks at a job that another process may be doing."""


@dataclass(frozen=True)
class Job:
    """Something that is being remembered. Ask it how far it is, or wait for what comes of it."""

    id: str
    space: str
    _engine: Engine

    def __repr__(self) -> str:
        return f"<Job {self.id} in {self.space!r}: {self.status}>"

    @property
    def status(self) -> str:
        """One of "queued", "running", "waiting" (for another try), "done" and "given up"."""
        state = self._state()
        running = state.status in ("queued", "waiting") and is_locked(self._engine, self.id)
        return "running" if running else state.status

    @property
    def problem(self) -> str | None:
        """What went wrong at the last try, if something did."""
        return self._state().problem

    def result(self, timeout: float | None = None) -> list[Memory]:
        """The memories that came of it, waiting for them at most so many seconds (TimeoutError)."""
        ends = None if timeout is None else time.monotonic() + timeout
        while not (state := self._state()).is_finished:
            if ends is not None and time.monotonic() >= ends:
                raise TimeoutError(
                    f"job {self.id} is still {self.status} after {timeout} s. It goes on by itself: "
                    "ask again later, or look at space.jobs.list()."
                )
            time.sleep(_LOOK_EVERY)
        if state.status == "given up":
            raise JobFailed(
                f"job {self.id} was given up after {state.tries} tries: {state.problem}. "
                "The source is kept; `space.admin.reextract()` reads it again."
            )
        found = (self._engine.get(self.space, memory, None) for memory in state.memories)
        return [memory for memory in found if memory is not None]

    async def aresult(self, timeout: float | None = None) -> list[Memory]:
        """`result`, off the event loop."""
        return await asyncio.to_thread(self.result, timeout)

    def _state(self) -> JobState:
        with self._engine.open_index(self.space) as index:
            state = index.journal.jobs.get(self.id)
        if state is None:
            raise NotFound(f"space {self.space!r} has no job {self.id!r}.")
        return state


def enqueue(engine: Engine, space: str, prepared: Sequence[PreparedVersion], now: datetime) -> Job:
    """Keep the sources, and with them the wish that they be read."""
    job = new_id()
    append(
        engine,
        space,
        prepared,
        extra_events=lambda _, ids: [Queued(job, "remember", {"memories": list(ids), "now": micros(now)})],
    )
    return Job(job, space, engine)


def run_due_jobs(engine: Engine, space: str) -> int:
    """Do every job of a space that is due and that nobody else is at; how many were done or tried."""
    with engine.open_index(space) as index:
        due = [job for job in index.journal.unfinished_jobs() if job.is_due(engine.now())]
    return sum(_work(engine, space, job) for job in due)


def soonest(engine: Engine, space: str) -> datetime | None:
    """When the next job of a space may be tried; None if none is open."""
    with engine.open_index(space) as index:
        waits = [job.until for job in index.journal.unfinished_jobs()]
    return from_micros(min(waits)) if waits else None


def _work(engine: Engine, space: str, job: JobState) -> bool:
    """One try at one job. False if somebody else is at it, or it is over."""
    with try_lock(engine, job.id) as mine:
        if not mine:
            return False
        with engine.open_index(space) as index:
            if index.journal.jobs[job.id].is_finished:
                return False
            given = engine.ledger.entries_at([job.position])[job.position].event
            assert isinstance(given, Queued), "a job's line is the one that queued it"
        # What was forgotten meanwhile is not read.
        kept = (engine.get(space, memory, None) for memory in given.given["memories"])
        sources = [memory for memory in kept if memory is not None]
        try:
            reading = remember.extract_facts(engine.extractor, sources, from_micros(given.given["now"]))
            if reading.result.problem and job.tries + 1 < MOST_TRIES:
                _put_off(engine, space, job, reading.result.problem)
                return True

            def done(index: Index, facts: Sequence[str]) -> list[Event]:
                if index.journal.jobs[job.id].is_finished:
                    raise _Overtaken
                return [Worked(job.id, "done", problem=reading.result.problem, memories=tuple(facts))]

            remember.store_facts(engine, space, reading, from_micros(given.given["now"]), extra_events=done)
            remove_lock_file(engine, job.id)
        except _Overtaken:
            return False
        except Closed:
            raise
        except Exception as error:
            log.exception("job %s of space %r failed", job.id, space)
            _put_off(engine, space, job, f"{type(error).__name__}: {error}")
        return True


def _put_off(engine: Engine, space: str, job: JobState, problem: str) -> None:
    """Try again later, each time four times as late; give up in the end."""
    if job.tries + 1 >= MOST_TRIES:
        engine.write(space, lambda _: [Worked(job.id, "given up", problem=problem)])
        remove_lock_file(engine, job.id)
        return
    until = engine.now() + _FIRST_WAIT * 4**job.tries
    log.warning("job %s of space %r is tried again at %s: %s", job.id, space, until, problem)
    engine.write(space, lambda _: [Worked(job.id, "waiting", until=until, problem=problem)])


class _Overtaken(Exception):
    """Somebody else finished the job meanwhile."""


class Worker:
    """A thread that does the jobs of the spaces it was told of, as they fall due."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._spaces: dict[str, None] = {}
        self._wake = threading.Event()
        self._stopped = False
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def notify(self, space: str) -> None:
        """There may be something to do in this space."""
        with self._lock:
            if self._stopped:
                return
            self._spaces[space] = None
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="remanence-worker", daemon=True)
                self._thread.start()
        self._wake.set()

    def stop(self, wait: float = 5.0) -> None:
        """Finish what is at hand, as far as it takes no longer than `wait` seconds, and start nothing new."""
        with self._lock:
            self._stopped = True
            thread = self._thread
        self._wake.set()
        if thread is not None and thread is not threading.current_thread():
            thread.join(wait)

    def _run(self) -> None:
        while not self._stopped:
            self._wake.clear()
            try:
                pause = self._work_off()
            except Closed:
                return
            except Exception:
                # The jobs are safe in the ledger. A folder that is locked or full may be well again soon.
                log.exception("the jobs could not be looked at; trying again")
                pause = _AFTER_TROUBLE
            self._wake.wait(pause)

    def _work_off(self) -> float | None:
        """Do what is due; how many seconds until there is more, None for until somebody says so."""
        for space in list(self._spaces):
            run_due_jobs(self._engine, space)
        waits = [at for space in list(self._spaces) if (at := soonest(self._engine, space)) is not None]
        if not waits:
            return None
        return max(_LOOK_EVERY, (min(waits) - self._engine.now()).total_seconds())
