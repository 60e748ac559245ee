"""`remember` in the background: jobs are ledger entries, so that they survive a crash.

A worker holds the lock of its job, which is released even if the process dies, and writes the result in the same
transaction as the event that finishes the job. So no job is lost or done twice.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Literal, TypeAlias

from remanence.errors import Closed, JobFailed, NotFound
from remanence.events import Event, Queued, Spent, Worked
from remanence.index.engine.identity import new_id
from remanence.index.engine.in_thread import in_thread
from remanence.index.engine.periodic_thread import PeriodicThread
from remanence.index.index import Index
from remanence.index.journal import JobState, JobStatus
from remanence.ledger.codec import kinds_of
from remanence.ports import FactExtractor
from remanence.remember import remember
from remanence.remember.append import append
from remanence.remember.prepare import PreparedVersion
from remanence.remember.unread_turns import due_at, is_budget_spent, unread_turns
from remanence.schema import Memory, TokenUsage, from_micros, micros

if TYPE_CHECKING:
    from remanence.index.engine.engine import Engine

log = logging.getLogger(__name__)

ShownStatus: TypeAlias = Literal["running"] | JobStatus
TryJob: TypeAlias = "Callable[[Engine, str, JobState], bool]"
"""What tries a job of a space once, as `try_job`: False if it is locked or finished."""

[_QUEUED] = kinds_of(Queued)
_MAX_TRIES = 5
_RETRY_SECONDS = 1.0
_POLL_SECONDS = 0.05
_ENDED = "the try was ended"


@dataclass(frozen=True)
class Job:
    """A `remember` that runs in the background: its status, and its result once it is done."""

    id: str
    space: str
    _engine: Engine

    def __repr__(self) -> str:
        problem = f", {self.problem}" if self.problem else ""
        return f"<Job {self.id} in {self.space!r}: {self.status}{problem}>"

    @property
    def status(self) -> ShownStatus:
        """One of "queued", "running", "waiting" (for another try), "done", "given up" and "cancelled"."""
        state = self._state()
        running = state.status in ("queued", "waiting") and self._engine.locks.is_locked(self.id)
        return "running" if running else state.status

    @property
    def problem(self) -> str | None:
        """What went wrong at the last try, or None."""
        return self._state().problem

    @property
    def usage(self) -> TokenUsage:
        """The calls of the language model so far, and the tokens that it read and wrote."""
        return TokenUsage(*self._state().spent)

    def result(self, timeout: float | None = None) -> list[Memory]:
        """Wait for the memories that this job writes.

        Args:
            timeout: How many seconds to wait at most; None waits without a limit.

        Returns:
            The memories of the facts that were found; without a language model, those of the turns.

        Raises:
            TimeoutError: The job is not finished in time. It continues.
            JobFailed: The job was given up, or cancelled.
        """
        return remember.existing_memories(self._engine, self.space, self._finished_state(timeout).memories)

    def _finished_state(self, timeout: float | None) -> JobState:
        """Wait until the job is done; it raises the same errors as `result`."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while not (state := self._state()).is_finished:
            if deadline is not None and time.monotonic() >= deadline:
                raise TimeoutError(
                    f"job {self.id} is still {self.status} after {timeout} s. It continues: "
                    "call result() again later, or see space.jobs.list()."
                )
            time.sleep(_POLL_SECONDS)
        if state.status == "cancelled":
            raise JobFailed(
                f"job {self.id} was cancelled. The source is stored; `space.admin.reextract()` reads it after all."
            )
        if state.status == "given up":
            raise JobFailed(
                f"job {self.id} was given up: {state.problem} The source is stored. Its turns are read with the next "
                "ones of their chat, or by `space.admin.reextract()`."
            )
        return state

    aresult = in_thread(result)

    def cancel(self) -> bool:
        """Give this job up. Its source stays stored; what a running job finds is not written.

        Returns:
            Whether it was cancelled; False if it was finished already.

        Example:
            >>> import remanence
            >>> with remanence.open(None, worker=False) as space:
            ...     job = space.remember("I live in Porto.", wait=False)
            ...     job.cancel(), job.status, job.cancel()
            (True, 'cancelled', False)
        """
        cancelled: list[bool] = []

        def decide(index: Index) -> list[Event]:
            state = index.journal.jobs.get(self.id)
            cancelled[:] = [state is not None and not state.is_finished]
            return [Worked(self.id, "cancelled")] if cancelled[0] else []

        self._state()  # raises an error if there is no such job
        self._engine.write(self.space, decide)
        return cancelled[0]

    acancel = in_thread(cancel)

    def _state(self) -> JobState:
        with self._engine.open_index(self.space) as index:
            state = index.journal.jobs.get(self.id)
        if state is None:
            raise NotFound(f"space {self.space!r} has no job {self.id!r}.")
        return state


def enqueue(engine: Engine, space: str, prepared: Sequence[PreparedVersion], now: datetime) -> Job:
    """Write the sources, and in the same transaction the job that extracts their facts."""
    job = new_id()
    append(
        engine,
        space,
        prepared,
        extra_events=lambda _, ids: [Queued(job, "remember", {"memories": list(ids), "now": micros(now)})],
    )
    return Job(job, space, engine)


def enqueue_chats(engine: Engine, space: str, prepared: Sequence[PreparedVersion], now: datetime) -> list[Job]:
    """Write these turns, and in the same transaction a job for each of their chats that has none waiting."""
    turns = [draft.version.turn for draft in prepared]
    chats = list(dict.fromkeys(turn.conversation for turn in turns if turn is not None))
    jobs: list[str] = []

    def decide(index: Index, _: Sequence[str]) -> list[Event]:
        waiting = {job.conversation: job.id for job in index.journal.unfinished_jobs()}
        jobs[:] = [waiting.get(chat) or new_id() for chat in chats]
        queued = zip(chats, jobs, strict=True)
        return [_chat_job(job, chat, now) for chat, job in queued if chat not in waiting]

    append(engine, space, prepared, extra_events=decide)
    return [Job(job, space, engine) for job in jobs]


def _chat_job(job: str, conversation: str, now: datetime) -> Queued:
    return Queued(job, "remember", {"conversation": conversation, "now": micros(now)})


def run_due_jobs(engine: Engine, space: str, try_: TryJob | None = None) -> int:
    """Run every job of a space that is due and not locked, with `try_` in place of `try_job`. Returns how many were
    run."""
    with engine.open_index(space) as index:
        now = micros(engine.now())
        due = [job for job in index.journal.unfinished_jobs() if due_at(engine, index, job) <= now]
    return sum((try_ or try_job)(engine, space, job) for job in due)


def try_job(engine: Engine, space: str, job: JobState) -> bool:
    """Try a job once. False if it is locked or finished."""
    with engine.locks.acquire(job.id) as locked:
        if not locked:
            return False
        with engine.open_index(space) as index:
            state = index.journal.jobs.get(job.id)
            if state is None or state.is_finished:  # None: everything in the space was erased in the meantime
                return False
            if is_budget_spent(engine, index, engine.now()):  # by a job that was done since this one was found due
                return False
            event = index.entries_at([job.position])[job.position].event
            assert isinstance(event, Queued), "a job has the position of its Queued event"
            ids = event.given.get("memories", ())
            if job.conversation is not None:
                ids = unread_turns(index, job.conversation)[: remember.BATCH]
        now = from_micros(event.given["now"]) if job.conversation is None else engine.now()
        # Sources that were forgotten since are not read.
        sources = remember.existing_memories(engine, space, ids)
        try:
            if not isinstance(engine.extractor, FactExtractor):  # the sources are all that is remembered
                remember.add_aliases(engine, space, sources, now)
                done = Worked(job.id, "done", memories=tuple(source.id for source in sources))
                _write_unless_finished(engine, space, done, now)
                engine.locks.delete(job.id)
                return True
            if job.conversation is None:
                sources = remember.with_failed_turns(engine, space, sources)
            source_facts = remember.extract_facts(engine, space, sources, now)
            result = source_facts.result
            # Facts that were refused are only logged: the same model would give the same answer again.
            if result.problem and not result.answered and not result.refused and job.tries + 1 < _MAX_TRIES:
                _postpone(engine, space, job, result.problem, remember.spent_events(engine, source_facts, job.id))
                return True

            def finish(index: Index, facts: Sequence[str]) -> list[Event]:
                state = index.journal.jobs.get(job.id)  # None: everything in the space was erased in the meantime
                if state is None or state.is_finished:
                    raise _AlreadyFinished
                status: Literal["done", "given up"] = "given up" if source_facts.unread else "done"
                done = Worked(job.id, status, problem=result.problem, memories=tuple(facts))
                if (
                    source_facts.unread
                    or job.conversation is None
                    or set(ids).issuperset(unread_turns(index, job.conversation))
                ):
                    return [done]
                return [done, _chat_job(new_id(), job.conversation, now)]  # what was said while the model read

            remember.store_facts(engine, space, source_facts, now, job=job.id, extra_events=finish)
            if source_facts.unread:
                remember.report_given_up(engine, space, result.problem or "")
            engine.locks.delete(job.id)
        except _AlreadyFinished:
            return False
        except Closed:
            raise
        except Exception as error:
            log.exception("job %s of space %r failed", job.id, space)
            _postpone(engine, space, job, f"{type(error).__name__}: {error}")
        return True


def _postpone(engine: Engine, space: str, job: JobState, problem: str, spent: Sequence[Spent] = ()) -> None:
    """Try again later, each time after four times the delay; give up after the last try."""
    if job.tries + 1 >= _MAX_TRIES:
        _give_up(engine, space, job, problem)
        return
    until = engine.now() + timedelta(seconds=2) * 4**job.tries
    log.warning("job %s of space %r is tried again at %s: %s", job.id, space, until, problem)
    _write_unless_finished(engine, space, Worked(job.id, "waiting", until=until, problem=problem), extra=spent)


def record_ended_try(engine: Engine, space: str, job: JobState, reason: str) -> None:
    """Try a job again whose try was ended from outside; give it up if that has happened to it before."""
    if (job.problem or "").startswith(_ENDED):
        _give_up(engine, space, job, f"{_ENDED} twice: {reason}")
    else:
        _postpone(engine, space, job, f"{_ENDED}: {reason}")


def _give_up(engine: Engine, space: str, job: JobState, problem: str) -> None:
    remember.report_given_up(engine, space, problem)
    _write_unless_finished(engine, space, Worked(job.id, "given up", problem=problem))
    engine.locks.delete(job.id)


def _write_unless_finished(
    engine: Engine, space: str, event: Worked, at: datetime | None = None, extra: Sequence[Event] = ()
) -> None:
    """Write the result of a try, unless the job was cancelled or finished in the meantime; `extra` in any case."""

    def decide(index: Index) -> list[Event]:
        state = index.journal.jobs.get(event.job)
        return [*extra] if state is None or state.is_finished else [event, *extra]

    engine.write(space, decide, at)


class JobQueue:
    """Runs the queued jobs of all spaces of a ledger. Each round reads only the entries written since the last one."""

    def __init__(self, engine: Engine, try_: TryJob | None = None) -> None:
        self._engine, self._try, self._position = engine, try_, 0
        self._spaces: set[str] = set()  # that may have a job which is not finished

    def run_due(self) -> int:
        """Run every job that is due and not locked. Returns how many were run."""
        ledger = self._engine.ledger
        head = ledger.head()
        if head > self._position:
            self._spaces.update(ledger.spaces_with(_QUEUED, after=self._position))
            self._position = head
        count = 0
        for space in sorted(self._spaces):
            count += run_due_jobs(self._engine, space, self._try)
            with self._engine.open_index(space) as index:
                if not index.journal.unfinished_jobs():
                    self._spaces.discard(space)
        return count


class _AlreadyFinished(Exception):
    """Another process has finished the job in the meantime."""


class Worker:
    """A thread that does the jobs of some spaces when they are due."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._spaces: dict[str, None] = {}
        self._thread = PeriodicThread(
            "remanence-worker", self._run_due_jobs, problem="the jobs could not be read", retry_seconds=_RETRY_SECONDS
        )

    def notify(self, space: str) -> None:
        """Wake the thread, because there may be a job in this space."""
        self._spaces[space] = None
        self._thread.start()
        self._thread.notify()

    def stop(self, wait: float = 5.0) -> None:
        """Start no more jobs, and wait at most `wait` seconds for the current one."""
        self._thread.stop(wait)

    def _run_due_jobs(self) -> float | None:
        """Do the jobs that are due. Returns the seconds until the next one; None if there is none."""
        due: list[int] = []
        for space in list(self._spaces):
            run_due_jobs(self._engine, space)
            with self._engine.open_index(space) as index:
                due += [due_at(self._engine, index, job) for job in index.journal.unfinished_jobs()]
        if not due:
            return None
        return max(_POLL_SECONDS, (from_micros(min(due)) - self._engine.now()).total_seconds())
