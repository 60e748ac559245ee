"""Letting go of what has faded: hidden or archived, never destroyed; and whether that was regretted."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from remanence.core.index import Index
from remanence.errors import InvalidInput
from remanence.events import Event, Forgotten, Ran, Served
from remanence.language.text import pluralize
from remanence.read.recall import recall_from_index
from remanence.read.receipts import RecallRequest, Receipt
from remanence.upkeep.runs import still_hidden
from remanence.upkeep.scored_memories import ScoredMemories, check_current, check_unchanged
from remanence.upkeep.settings import UpkeepSettings
from remanence.upkeep.text_tables import format_table

if TYPE_CHECKING:
    from remanence.core.engine import Engine
    from remanence.ports import Progress

STEP = "gc"
_BATCH = 1_000
_FIRST = 10
_MOST_RECALLS = 200


@dataclass(frozen=True, slots=True)
class GcCandidate:
    """A memory to be let go, and what it scores."""

    memory: str
    text: str
    score: float
    line: int


@dataclass(frozen=True, slots=True)
class GcPlan:
    """Which memories are to be forgotten, or archived. It prints as a table; `space.upkeep.apply(plan)` does
    it."""

    candidates: tuple[GcCandidate, ...]
    below: float
    position: int
    over_limit_count: int = 0
    """How many more were below, and are kept because of the limit."""
    how: str = "forget"
    """ "forget" hides them, "archive" puts them where they can be looked up."""
    run: str | None = None
    """The run that did this, once it was done."""

    def __len__(self) -> int:
        return len(self.candidates)

    def __iter__(self) -> Iterator[GcCandidate]:
        return iter(self.candidates)

    @property
    def total_score(self) -> float:
        """What all of them score together."""
        return math.fsum(each.score for each in self.candidates)

    def __str__(self) -> str:
        did = "archived" if self.how == "archive" else "forgot"
        done = f"run {self.run} {did}" if self.run else f"would {self.how}"
        title = (
            f"gc: {done} {pluralize(len(self.candidates), 'memory', 'memories')} scoring less than {self.below:g} "
            f"(together {self.total_score:.3f})"
        )
        title += f"; {self.over_limit_count} more are over the limit" if self.over_limit_count else ""
        rows = [(f"{each.score:.3f}", each.memory, each.text) for each in self.candidates]
        return format_table(title, ("score", "id", "memory"), rows)


def plan(memories: ScoredMemories, index: Index, settings: UpkeepSettings, limit: int | None) -> GcPlan:
    """What has faded below the threshold, the weakest first; what was promoted is kept for long."""
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 1):
        raise InvalidInput(f"limit={limit!r} is not a whole number from 1 on.")
    faded = [
        GcCandidate(item.memory.id, item.memory.text, item.score, item.position)
        for item in memories.items
        if item.score < settings.forget_below and item.memory.id not in index.usage.promoted_notes
    ]
    faded.sort(key=lambda each: (each.score, each.memory))
    chosen = faded if limit is None else faded[:limit]
    left = len(faded) - len(chosen)
    return GcPlan(tuple(chosen), settings.forget_below, memories.position, left, settings.gc)


def check(engine: Engine, space: str, plan: GcPlan) -> None:
    """Refuse if a memory of the plan stands no more, or was used since."""
    with engine.open_index(space) as index:
        lines = {each.memory: each.line for each in plan.candidates}
        check_current(index, lines, engine.now(), used_after=plan.position)


def write(engine: Engine, space: str, plan: GcPlan, run: str, progress: Progress | None = None) -> None:
    """Hide what the plan says, a thousand at a time."""
    for begin in range(0, len(plan.candidates), _BATCH):
        some = plan.candidates[begin : begin + _BATCH]

        def decide(index: Index, some: tuple[GcCandidate, ...] = some) -> list[Event]:
            check_unchanged(index, {each.memory: each.line for each in some}, used_after=plan.position)
            archived = plan.how == "archive"
            why = f"upkeep run {run}: it had faded" + (", and is in the archive" if archived else "")
            hidden = tuple(each.memory for each in some)
            given = {"below": plan.below, "how": plan.how}
            return [
                *(Forgotten(memory, why, archived) for memory in hidden),
                Ran(run, STEP, plan.position, given, hidden=hidden),
            ]

        engine.write(space, decide)
        if progress is not None:
            progress(begin + len(some), len(plan.candidates))


@dataclass(frozen=True, slots=True)
class RegrettedMemory:
    """A memory, forgotten or archived, that recorded recalls would have given; how often, and which run
    hid it."""

    memory: str
    text: str
    times: int
    run: str


@dataclass(frozen=True, slots=True)
class RegretReport:
    """How far what `gc` let go was missed: of so many recalls recorded since, how many would have had one
    of them among the first ten."""

    regretted_memories: tuple[RegrettedMemory, ...]
    recalls: int
    affected: int

    @property
    def rate(self) -> float:
        """The share of the recalls that were the poorer for it."""
        return self.affected / self.recalls if self.recalls else 0.0

    @property
    def suggestion(self) -> str:
        """What to do about it."""
        if not self.recalls:
            return "No recall was recorded since: record some with space.record(recall)."
        if not self.regretted_memories:
            return "Nothing that was forgotten was missed."
        return (
            f"Bring {pluralize(len(self.regretted_memories), 'memory', 'memories')} back "
            "with space.upkeep.restore(regret), "
            f"or one with space.unforget(id); if this goes on, lower forget_below."
        )

    def __str__(self) -> str:
        title = f"regret: {self.affected} of {pluralize(self.recalls, 'recorded recall')} missed something forgotten"
        rows = [(each.times, each.memory, each.text) for each in self.regretted_memories]
        return f"{format_table(title, ('times', 'id', 'memory'), rows)}\n{self.suggestion}"


def measure_regret(engine: Engine, space: str) -> RegretReport:
    """Ask the recorded recalls again, of what was known before each forgetting.

    What was learned after it does not compete, so this errs towards bringing back. Recalls whose vector
    the caller brought cannot be asked again, and do not count.
    """
    with engine.open_index(space) as index:
        gone = _hidden_by_runs(index)
        recalls = _recorded(engine, index, after=min((run.planned for run in gone), default=None))
        times: Counter[str] = Counter()
        affected = 0
        for line, receipt, given in recalls:
            missed = {
                memory
                for run, hidden in gone.items()
                if run.planned < line
                for memory in hidden & _first_ten(engine, index, receipt, run.planned)
            }.difference(given)  # as by `recall_with_archive`
            times.update(missed)
            affected += bool(missed)
        lost = [
            RegrettedMemory(memory, _text(index, memory), times[memory], run.id)
            for run, hidden in gone.items()
            for memory in hidden & times.keys()
        ]
    return RegretReport(tuple(sorted(lost, key=lambda each: (-each.times, each.memory))), len(recalls), affected)


class _Gone(NamedTuple):
    """A run that forgot something, and the line its plan was made at."""

    id: str
    planned: int


def _hidden_by_runs(index: Index) -> dict[_Gone, set[str]]:
    """What `gc` has hidden and is hidden still, if nobody has forgotten it by hand since."""
    with index.lock:
        gone = {_Gone(run.id, run.planned): set(still_hidden(index, run)) for run in index.usage.runs.values()}
    return {run: hidden for run, hidden in gone.items() if hidden}


def _recorded(engine: Engine, index: Index, after: int | None) -> list[tuple[int, Receipt, Sequence[str]]]:
    """The last recalls that were recorded after a line, and can be asked again; with what each gave."""
    if after is None:
        return []
    lines = [line for line in index.usage.recall_positions if line > after][-_MOST_RECALLS:]
    served = ((line, entry.event) for line, entry in engine.ledger.entries_at(lines).items())
    told = [
        (line, Receipt.from_dict(event.asked), event.memories) for line, event in served if isinstance(event, Served)
    ]
    return [(line, receipt, given) for line, receipt, given in told if not receipt.own_vector]


def _first_ten(engine: Engine, index: Index, receipt: Receipt, position: int) -> set[str]:
    question = replace(RecallRequest.from_receipt(receipt, None), position=position, limit=_FIRST)
    # Not by the engine, which would note that these were given to somebody.
    return {hit.memory.id for hit in recall_from_index(index, question, engine.embedder)}


def _text(index: Index, memory: str) -> str:
    version = index.latest_version(memory)
    return "" if version is None else version.text
