"""Extractions, background jobs, recorded recalls and expiries.

These entries contain no knowledge of their own: they record where memories came from and who received them.
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
    """What an extractor found in a source memory: which extractor, and the ids of the resulting memories."""

    position: int
    by: str
    model: str | None
    prompt: str | None
    facts: tuple[str, ...]

    @property
    def author(self) -> tuple[str, str | None, str | None]:
        """Extractor, model and prompt: the same source is not read twice by the same author."""
        return self.by, self.model, self.prompt


@dataclass(frozen=True, slots=True)
class JobState:
    """The state of a job. `until` is when it may be tried (again), in microseconds."""

    id: str
    position: int
    status: Status = "queued"
    tries: int = 0
    until: int = 0
    problem: str | None = None
    memories: tuple[str, ...] = ()

    @property
    def is_finished(self) -> bool:
        """Whether it is done or given up."""
        return self.status in ("done", "given up")

    def is_due(self, now: datetime) -> bool:
        """Whether it may be tried now."""
        return not self.is_finished and self.until <= micros(now)


class Journal:
    """Extractions, jobs, recalls served and expiries of one space."""

    def __init__(self) -> None:
        self.extractions: dict[str, list[Opinion]] = {}
        """By source memory, oldest first."""
        self.jobs: dict[str, JobState] = {}
        self.recall_positions: dict[str, list[int]] = {}
        """The positions of recorded recalls, by the memories they returned."""
        self.expiry_positions: dict[str, list[int]] = {}
        """The positions of the entries that record an expiry, by memory."""
        self._extraction_positions: dict[str, list[int]] = {}  # by source memory, and by resulting memory

    def apply_entry(self, entry: Entry) -> None:
        """Apply an entry."""
        event = entry.event
        if isinstance(event, Extracted):
            opinion = Opinion(entry.position, event.by, event.model, event.prompt, event.facts)
            self._add_extraction(event.memory, opinion)
        elif isinstance(event, Queued):
            self.jobs[event.job] = JobState(event.job, entry.position)
        elif isinstance(event, Worked):
            self._update_job(event)
        elif isinstance(event, Served):
            for memory in event.memories:
                self.recall_positions.setdefault(memory, []).append(entry.position)
        elif isinstance(event, Expired):
            self.expiry_positions.setdefault(event.memory, []).append(entry.position)

    def extraction_by(self, memory: str, author: tuple[str, str | None, str | None]) -> Opinion | None:
        """What this author found in a memory, if it has read it."""
        return next((opinion for opinion in self.extractions.get(memory, ()) if opinion.author == author), None)

    def positions_of_memory(self, memory: str) -> list[int]:
        """The positions of the extractions, recorded recalls and expiries that concern a memory."""
        sources = (self._extraction_positions, self.recall_positions, self.expiry_positions)
        return [position for positions in sources for position in positions.get(memory, ())]

    def unfinished_jobs(self) -> list[JobState]:
        """The jobs that are neither done nor given up, oldest first."""
        return [job for job in list(self.jobs.values()) if not job.is_finished]

    def save(self) -> Mapping[str, NDArray[Any]]:
        values = {
            "opinions": {source: [asdict(each) for each in found] for source, found in self.extractions.items()},
            "jobs": [asdict(job) for job in self.jobs.values()],
            "served": self.recall_positions,
            "expired": self.expiry_positions,
        }
        return {"words": pack(values)}

    def load(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        values = unpack(arrays["words"])
        for source, found in values["opinions"].items():
            for opinion in found:
                self._add_extraction(source, Opinion(**{**opinion, "facts": tuple(opinion["facts"])}))
        states = (JobState(**{**job, "memories": tuple(job["memories"])}) for job in values["jobs"])
        self.jobs = {job.id: job for job in states}
        self.recall_positions = values["served"]
        self.expiry_positions = values["expired"]

    def _add_extraction(self, source: str, opinion: Opinion) -> None:
        self.extractions.setdefault(source, []).append(opinion)
        for memory in dict.fromkeys((source, *opinion.facts)):
            self._extraction_positions.setdefault(memory, []).append(opinion.position)

    def _update_job(self, event: Worked) -> None:
        job = self.jobs.get(event.job)
        if job is None:
            return
        until = 0 if event.until is None else micros(event.until)
        tries = job.tries + (event.status == "waiting")
        self.jobs[job.id] = replace(
            job, status=event.status, tries=tries, until=until, problem=event.problem, memories=event.memories
        )
