"""Extractions, background jobs, recorded recalls, expiries, uses, promotions and upkeep runs.

These entries contain no knowledge of their own: they record where memories came from, who received them and
how they were used. Uses are only counted on request: reading never writes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, NamedTuple

from remanence.events import (
    Demoted,
    Expired,
    Extracted,
    Promoted,
    Quarantined,
    Queued,
    Ran,
    Released,
    Remembered,
    Restored,
    Reversed,
    Served,
    Spent,
    Used,
    Worked,
)
from remanence.index.arrays.codecs import JSON, Codec, SavedPart, named_tuple_codec, pack, to_tuples, unpack
from remanence.index.batch import Batch
from remanence.index.numbers import Position
from remanence.schema import Entry, TokenUsage, micros

JobStatus = Literal["queued", "waiting", "done", "given up", "cancelled"]
MAX_TRACKED_USES = 64
"""How many uses of a memory are stored with their time, the latest: enough to count those of two weeks."""


class ExtractionRecord(NamedTuple):
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


class JobState(NamedTuple):
    """The state of a job. `due_at_micros` is when it may be tried (again), in microseconds; `conversation` is the chat
    that it reads once that is quiet; `spent` are the calls of its model, and their tokens in and out."""

    id: str
    position: int
    status: JobStatus = "queued"
    tries: int = 0
    due_at_micros: int = 0
    problem: str | None = None
    memories: tuple[str, ...] = ()
    conversation: str | None = None
    spent: tuple[int, int, int] = (0, 0, 0)

    @property
    def is_finished(self) -> bool:
        return self.status in ("done", "given up", "cancelled")


class QuarantineState(NamedTuple):
    """A source whose memories are hidden: from which entry on, since when, which memories, and why.
    `released` is the position at which that was undone."""

    id: str
    source: str
    position: int
    hidden_at_micros: int
    memories: tuple[str, ...] = ()
    why: str | None = None
    released: int | None = None


class MemoryUsage(NamedTuple):
    """How often a memory was used, how much that raised its strength, and when (in microseconds)."""

    use_count: int = 0
    boost: float = 0.0
    used_at: tuple[int, ...] = ()
    position: int = 0
    """The position of the last entry about it."""
    merged_at: int = 0
    """When it was merged of others, whose uses it has. Versions up to then count as used when those were."""

    def up_to(self, moment: int) -> MemoryUsage:
        """The same without the stored uses after `moment`; what those added to the strength stays."""
        later = self.count_since(moment + 1)
        return self._replace(use_count=self.use_count - later, used_at=self.used_at[:-later]) if later else self

    def count_since(self, moment: int) -> int:
        """How many of the stored uses were at `moment` or later."""
        return sum(used_at >= moment for used_at in self.used_at)


NEVER_USED = MemoryUsage()


class RunState(NamedTuple):
    """What one upkeep run did in all its steps; `position` is the position of its last entry, `at` in microseconds."""

    id: str
    at: int
    position: int
    planned_position: int
    steps: tuple[str, ...]
    settings_by_step: Mapping[str, Mapping[str, Any]]
    created_ids: tuple[str, ...] = ()
    source_ids: tuple[str, ...] = ()
    revised: tuple[tuple[str, int], ...] = ()
    hidden_ids: tuple[str, ...] = ()
    promoted: tuple[str, ...] = ()
    edges: tuple[str, ...] = ()
    undone: bool = False


class Journal(SavedPart):
    """Extractions, jobs, recalls served, expiries and promotions of one space."""

    _saved: ClassVar = {
        "extractions": Codec(
            pack,
            lambda array: {
                key: [ExtractionRecord(*to_tuples(o)) for o in values] for key, values in unpack(array).items()
            },
        ),
        "jobs": named_tuple_codec(JobState),
        "quarantines": named_tuple_codec(QuarantineState),
        "recall_positions": JSON,
        "expiry_positions": JSON,
        "spent_by_day": JSON,
        "_promotion_positions": JSON,
        "_extraction_positions": JSON,
    }

    def __init__(self) -> None:
        self.extractions: dict[str, list[ExtractionRecord]] = {}
        """By source memory, oldest first."""
        self.jobs: dict[str, JobState] = {}
        self.quarantines: dict[str, QuarantineState] = {}
        self.recall_positions: dict[str, list[int]] = {}
        """The positions of recorded recalls, by the memories they returned."""
        self.expiry_positions: dict[str, list[int]] = {}
        """The positions of the entries that record an expiry, by memory."""
        self.spent_by_day: dict[str, list[int]] = {}
        """The calls of language models for facts on each day (UTC), and their tokens in and out."""
        self._promotion_positions: dict[str, list[int]] = {}  # also of promotions that were undone
        self._extraction_positions: dict[str, list[int]] = {}  # by source memory, and by resulting memory

    def apply(self, batch: Batch) -> None:
        entry = batch.entry
        if entry is None:
            return
        event = entry.event
        if isinstance(event, Extracted):
            record = ExtractionRecord(entry.position, event.by, event.model, event.prompt, event.facts)
            self.extractions.setdefault(event.memory, []).append(record)
            for memory in dict.fromkeys((event.memory, *event.facts)):
                self._extraction_positions.setdefault(memory, []).append(entry.position)
        elif isinstance(event, Queued):
            chat = event.given.get("conversation")
            self.jobs[event.job] = JobState(event.job, entry.position, conversation=chat)
        elif isinstance(event, Worked) and event.job in self.jobs:
            job = self.jobs[event.job]
            until = 0 if event.until is None else micros(event.until)
            tries = job.tries + (event.status == "waiting")
            self.jobs[job.id] = job._replace(
                status=event.status, tries=tries, due_at_micros=until, problem=event.problem, memories=event.memories
            )
        elif isinstance(event, Spent):
            spent = TokenUsage(event.calls, event.tokens_in, event.tokens_out)
            self.spent_by_day[event.day] = [*_sum(self.spent_by_day.get(event.day, ()), spent)]
            if event.use in self.jobs:
                job = self.jobs[event.use]
                self.jobs[job.id] = job._replace(spent=_sum(job.spent, spent))
        elif isinstance(event, Served):
            for memory in event.memories:
                self.recall_positions.setdefault(memory, []).append(entry.position)
        elif isinstance(event, Expired):
            self.expiry_positions.setdefault(event.memory, []).append(entry.position)
        elif isinstance(event, Promoted | Demoted):
            self._promotion_positions.setdefault(event.memory, []).append(entry.position)
        elif isinstance(event, Quarantined):
            new = QuarantineState(event.quarantine, event.source, entry.position, micros(entry.at), (), event.why)
            known = self.quarantines.get(event.quarantine, new)
            memories = tuple(dict.fromkeys((*known.memories, *event.memories)))
            self.quarantines[event.quarantine] = known._replace(memories=memories)
        elif isinstance(event, Released) and event.quarantine in self.quarantines:
            known = self.quarantines[event.quarantine]
            self.quarantines[event.quarantine] = known._replace(released=entry.position)
        elif isinstance(event, Restored):
            # Somebody has looked at it: its quarantine no longer concerns it.
            for state in [state for state in self.quarantines.values() if event.memory in state.memories]:
                others = tuple(memory for memory in state.memories if memory != event.memory)
                self.quarantines[state.id] = state._replace(memories=others)

    def quarantine_of(self, version: Remembered) -> QuarantineState | None:
        """The quarantine that a version falls under by its source, its observer or its conversation."""
        if not self.quarantines:
            return None
        turn = version.turn
        names = {version.source, version.observed_by, None if turn is None else turn.conversation}
        active = (quarantine for quarantine in self.quarantines.values() if quarantine.released is None)
        return next((quarantine for quarantine in active if quarantine.source in names), None)

    def quarantined_at(self, position: Position) -> set[str]:
        """The memories that were in a quarantine at a position."""
        active = (
            state
            for state in self.quarantines.values()
            if state.position <= position and (state.released is None or position < state.released)
        )
        return {memory for state in active for memory in state.memories}

    def is_quarantined(self, version: Remembered) -> bool:
        return self.quarantine_of(version) is not None

    def facts_found_in(self, memory: str) -> set[str]:
        """The facts that any extractor found in a source memory."""
        return {fact for record in self.extractions.get(memory, ()) for fact in record.facts}

    def extraction_by(self, memory: str, author: tuple[str, str | None, str | None]) -> ExtractionRecord | None:
        """What this author found in a memory, if it has read it."""
        return next((record for record in self.extractions.get(memory, ()) if record.author == author), None)

    def positions_of_memory(self, memory: str) -> list[int]:
        """The positions of the extractions, recorded recalls, expiries and promotions that concern a memory."""
        sources = (
            *(self._extraction_positions, self.recall_positions),
            *(self.expiry_positions, self._promotion_positions),
        )
        return [position for positions in sources for position in positions.get(memory, ())]

    def unfinished_jobs(self) -> list[JobState]:
        """The jobs that are neither done nor given up nor cancelled, oldest first."""
        return [job for job in list(self.jobs.values()) if not job.is_finished]


def _sum(spent: Sequence[int], new: TokenUsage) -> tuple[int, int, int]:
    total = TokenUsage(*spent) + new
    return total.calls, total.tokens_in, total.tokens_out


class Usage(SavedPart):
    """Uses, promotions, recorded recalls and upkeep runs of one space."""

    _saved: ClassVar = {
        "by_memory": named_tuple_codec(MemoryUsage),
        "promoted_notes": JSON,
        "runs": named_tuple_codec(RunState),
        "recall_positions": JSON,
    }

    def __init__(self) -> None:
        self.by_memory: dict[str, MemoryUsage] = {}
        self.promoted_notes: dict[str, str | None] = {}
        """The promoted memories, each with its note in the vault, if it has one."""
        self.runs: dict[str, RunState] = {}
        self.recall_positions: list[int] = []
        """The positions of all recorded recalls, also of those without a result."""

    def get(self, memory: str) -> MemoryUsage:
        return self.by_memory.get(memory, NEVER_USED)

    def promotions(self, position: Position) -> dict[str, int]:
        """The memories that runs up to a position promoted, and when, in microseconds. Demoted ones are left out."""
        done = (run for run in list(self.runs.values()) if run.position <= position and not run.undone)
        return {memory: run.at for run in done for memory in run.promoted if memory in self.promoted_notes}

    def last_run(self, step: str, settings: Mapping[str, Any]) -> RunState | None:
        """The last run of a step with these settings that was not undone."""
        same = (
            run for run in reversed(self.runs.values()) if not run.undone and run.settings_by_step.get(step) == settings
        )
        return next(same, None)

    def apply(self, batch: Batch) -> None:
        entry = batch.entry
        if entry is None:
            return
        event = entry.event
        if isinstance(event, Used):
            before = self.get(event.memory)
            merged = event.last_used is not None
            moment, merged_at = (event.last_used or entry.at), micros(entry.at) if merged else before.merged_at
            moments = tuple(sorted((*before.used_at, micros(moment))))[-MAX_TRACKED_USES:]
            counts = before.use_count + event.times, before.boost + event.boost
            self.by_memory[event.memory] = MemoryUsage(*counts, moments, entry.position, merged_at)
        elif isinstance(event, Promoted):
            self.promoted_notes[event.memory] = event.note
        elif isinstance(event, Demoted):
            self.promoted_notes.pop(event.memory, None)
        elif isinstance(event, Served):
            self.recall_positions.append(entry.position)
        elif isinstance(event, Ran):
            self._add_step(event, entry)
        elif isinstance(event, Reversed) and event.run in self.runs:
            self.runs[event.run] = self.runs[event.run]._replace(undone=True)

    def _add_step(self, event: Ran, entry: Entry) -> None:
        before = self.runs.get(event.run) or RunState(event.run, micros(entry.at), 0, event.planned, (), {})
        lists = {
            "created_ids": "made",
            "source_ids": "used",
            "revised": "revised",
            "hidden_ids": "hidden",
            "promoted": "promoted",
            "edges": "edges",
        }
        self.runs[event.run] = before._replace(
            position=entry.position,
            steps=tuple(dict.fromkeys((*before.steps, event.step))),
            settings_by_step={**before.settings_by_step, event.step: dict(event.given)},
            **{name: getattr(before, name) + getattr(event, field) for name, field in lists.items()},
        )
