"""What was done beside remembering: what was extracted from what, jobs, recalls served, expiries.

These lines hold no knowledge of their own; they say how memories came to be and who was given them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any, Literal

from numpy.typing import NDArray

from remanence.events import Expired, Extracted, Queued, Served, Worked
from remanence.schema import Entry, micros
from remanence.state.columns import pack, unpack

Status = Literal["queued", "waiting", "done", "given up"]


@dataclass(frozen=True, slots=True)
class Opinion:
    """What was found in a source memory: by whom, and which memories came of it."""

    position: int
    by: str
    model: str | None
    prompt: str | None
    facts: tuple[str, ...]

    @property
    def author(self) -> tuple[str, str | None, str | None]:
        """Who said it: the same author has nothing new to say about the same source."""
        return self.by, self.model, self.prompt


@dataclass(frozen=True, slots=True)
class JobState:
    """How far a job has come. `until` is when it may be tried (again), in microseconds."""

    id: str
    position: int
    status: Status = "queued"
    tries: int = 0
    until: int = 0
    problem: str | None = None
    memories: tuple[str, ...] = ()

    @property
    def is_finished(self) -> bool:
        """Whether nothing more will happen."""
        return self.status in ("done", "given up")

    def is_due(self, now: datetime) -> bool:
        """Whether it may be taken up: never tried, or its wait is over."""
        return not self.is_finished and self.until <= micros(now)


class Journal:
    """Extractions, jobs, recalls served and expiries of one space."""

    def __init__(self) -> None:
        self.extractions: dict[str, list[Opinion]] = {}
        """What was found in each source memory, oldest first."""
        self.jobs: dict[str, JobState] = {}
        self.recall_positions: dict[str, list[int]] = {}
        """The lines of recorded recalls, by the memories they gave."""
        self.expiry_positions: dict[str, list[int]] = {}
        """The lines that say that a memory has expired, by its id."""
        self._read: dict[str, list[int]] = {}  # the lines of extractions, by their sources and facts

    def apply_entry(self, entry: Entry) -> None:
        """Take in one line."""
        event = entry.event
        if isinstance(event, Extracted):
            opinion = Opinion(entry.position, event.by, event.model, event.prompt, event.facts)
            self._opine(event.memory, opinion)
        elif isinstance(event, Queued):
            self.jobs[event.job] = JobState(event.job, entry.position)
        elif isinstance(event, Worked):
            self._work(event)
        elif isinstance(event, Served):
            for memory in event.memories:
                self.recall_positions.setdefault(memory, []).append(entry.position)
        elif isinstance(event, Expired):
            self.expiry_positions.setdefault(event.memory, []).append(entry.position)

    def extraction_by(self, memory: str, author: tuple[str, str | None, str | None]) -> Opinion | None:
        """What this author found in a memory, if it was asked already."""
        told = (opinion for opinion in self.extractions.get(memory, ()) if opinion.author == author)
        return next(told, None)

    def positions_of_memory(self, memory: str) -> list[int]:
        """The ledger lines in which something was found in a memory or came to be it, in which it was given
        out, or had expired."""
        return [
            line for told in (self._read, self.recall_positions, self.expiry_positions) for line in told.get(memory, ())
        ]

    def unfinished_jobs(self) -> list[JobState]:
        """Jobs that something is still to be done about, oldest first."""
        return [job for job in list(self.jobs.values()) if not job.is_finished]

    def save(self) -> Mapping[str, NDArray[Any]]:
        """Everything as plain arrays."""
        words = {
            "opinions": {source: [asdict(o) for o in told] for source, told in self.extractions.items()},
            "jobs": [asdict(job) for job in self.jobs.values()],
            "served": self.recall_positions,
            "expired": self.expiry_positions,
        }
        return {"words": pack(words)}

    def load(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Become what `save` wrote."""
        words = unpack(arrays["words"])
        for source, told in words["opinions"].items():
            for opinion in told:
                self._opine(source, Opinion(**{**opinion, "facts": tuple(opinion["facts"])}))
        states = (JobState(**{**job, "memories": tuple(job["memories"])}) for job in words["jobs"])
        self.jobs = {job.id: job for job in states}
        self.recall_positions = words["served"]
        self.expiry_positions = words["expired"]

    def _opine(self, source: str, opinion: Opinion) -> None:
        self.extractions.setdefault(source, []).append(opinion)
        for memory in dict.fromkeys((source, *opinion.facts)):
            self._read.setdefault(memory, []).append(opinion.position)

    def _work(self, event: Worked) -> None:
        job = self.jobs.get(event.job)
        if job is None:
            return
        until = 0 if event.until is None else micros(event.until)
        tries = job.tries + (event.status == "waiting")
        self.jobs[job.id] = replace(
            job, status=event.status, tries=tries, until=until, problem=event.problem, memories=event.memories
        )
