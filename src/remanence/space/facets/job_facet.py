"""The class of `space.jobs`: background jobs of `remember(..., wait=False)`."""

from __future__ import annotations

from collections.abc import Iterator

from remanence.errors import InvalidInput, NotFound
from remanence.index.engine import inputs
from remanence.index.engine.in_thread import in_thread
from remanence.index.engine.inputs import Moment
from remanence.remember.jobs import Job, run_due_jobs
from remanence.remember.unread_turns import spent_on
from remanence.schema import TokenUsage
from remanence.space.facets.facet import Facet
from remanence.text.temporal import parse_moment

_STATUSES = ("queued", "running", "waiting", "done", "given up", "cancelled")


class Jobs(Facet):
    """The background jobs of a space. Iterating gives all of them, oldest first."""

    def __iter__(self) -> Iterator[Job]:
        return iter(self.list())

    def list(self, status: str | None = None) -> list[Job]:
        """The jobs of this space, oldest first.

        Args:
            status: Only jobs of this status: "queued", "running", "waiting" (for another try), "done", "given up" or
                "cancelled".
        """
        if status is not None and status not in _STATUSES:
            raise InvalidInput(f"status={status!r} is none of {', '.join(_STATUSES)}.")
        with self._engine.open_index(self._space) as index:
            jobs = [Job(state.id, self._space, self._engine) for state in [*index.journal.jobs.values()]]
        return jobs if status is None else [job for job in jobs if job.status == status]

    def get(self, id: str) -> Job:
        """The job with this id.

        Args:
            id: `job.id` of what `remember(..., wait=False)` returned.

        Raises:
            NotFound: This space has no such job.
        """
        job_id = inputs.check_text(id, "id")
        with self._engine.open_index(self._space) as index:
            if job_id not in index.journal.jobs:
                raise NotFound(f"space {self._space!r} has no job {job_id!r}. space.jobs.list() lists them.")
        return Job(job_id, self._space, self._engine)

    def spent(self, day: Moment | None = None) -> TokenUsage:
        """The calls of the language model for facts of this space on a day (UTC), and their tokens in and out.

        Args:
            day: A date, a datetime, or text such as "yesterday". By default today.
        """
        now = self._engine.now()
        moment = now if day is None else parse_moment(day, now, argument="day")
        with self._engine.open_index(self._space) as index:
            return spent_on(index, moment)

    def run_due(self) -> int:
        """Do the jobs of this space that are due, in this thread. Use this with `open(..., worker=False)`.

        A job that fails is tried again later, at most five times.

        Returns:
            How many jobs were tried.
        """
        return run_due_jobs(self._engine, self._space)

    alist = in_thread(list)
    aget = in_thread(get)
    aspent = in_thread(spent)
    arun_due = in_thread(run_due)
