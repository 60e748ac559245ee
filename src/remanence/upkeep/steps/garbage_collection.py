"""`gc` hides or archives memories with low scores; `missed_recalls` measures whether recalls have missed them since."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from remanence.events import Event, Forgotten, Ran, Served
from remanence.index.engine import inputs
from remanence.index.engine.engine import Engine
from remanence.index.index import Index
from remanence.index.numbers import Position
from remanence.ports import Progress
from remanence.recall.recall import recall_from_index
from remanence.recall.receipts import RecallRequest, Receipt
from remanence.text.text import pluralize
from remanence.upkeep.plans import Plan, ResultTable, TableResult, batches, check_current, check_unchanged
from remanence.upkeep.runs import still_hidden
from remanence.upkeep.settings import UpkeepSettings
from remanence.upkeep.steps.decay import ScoredMemories

_BATCH = 1_000
"""Memories that are hidden or archived at once."""
_TOP = 10
"""Hits of a recorded recall when it is asked again."""
_MAX_RECALLS = 200
"""Recorded recalls that are asked again, the last ones. It limits the work."""


@dataclass(frozen=True, slots=True)
class GcCandidate:
    """A memory to be hidden, its score, and the ledger position of its version."""

    memory: str
    text: str
    score: float
    position: int


@dataclass(frozen=True, slots=True)
class GcPlan(Plan):
    """Which memories are to be forgotten or archived."""

    candidates: tuple[GcCandidate, ...]
    threshold: float
    over_limit_count: int
    """How many more score less than the threshold, and stay because of the limit."""
    mode: str
    """ "forget" hides the memories, "archive" moves them to the archive."""

    def __len__(self) -> int:
        return len(self.candidates)

    def __iter__(self) -> Iterator[GcCandidate]:
        return iter(self.candidates)

    @property
    def total_score(self) -> float:
        return math.fsum(candidate.score for candidate in self.candidates)

    @property
    def table(self) -> ResultTable:
        verb = self.verb("archived" if self.mode == "archive" else "forgot", self.mode)
        title = f"gc: {verb} {pluralize(len(self), 'memory', 'memories')} scoring less than {self.threshold:g} "
        title += f"(together {self.total_score:.3f})"
        title += f"; {self.over_limit_count} more are over the limit" if self.over_limit_count else ""
        rows = [(f"{candidate.score:.3f}", candidate.memory, candidate.text) for candidate in self.candidates]
        return ResultTable(title, ("score", "id", "memory"), rows)

    def check(self, engine: Engine, space: str) -> None:
        with engine.open_index(space) as index:
            check_current(index, _positions(self.candidates), engine.now(), used_after=self.position)

    def write(self, engine: Engine, space: str, run: str, progress: Progress | None) -> None:
        for batch in batches(self.candidates, _BATCH, progress):
            engine.write(space, partial(self._hide, run, batch))

    def _hide(self, run: str, batch: Sequence[GcCandidate], index: Index) -> list[Event]:
        check_unchanged(index, _positions(batch), used_after=self.position)
        archived = self.mode == "archive"
        why = f"upkeep run {run}: its score was low" + ("; it is in the archive" if archived else "")
        hidden = tuple(candidate.memory for candidate in batch)
        parameters = {"below": self.threshold, "how": self.mode}
        forgotten = [Forgotten(memory, why, archived) for memory in hidden]
        return [*forgotten, Ran(run, "gc", self.position, parameters, hidden=hidden)]


def plan_gc(index: Index, memories: ScoredMemories, settings: UpkeepSettings, limit: int | None) -> GcPlan:
    """The memories below the threshold, the lowest score first. Memories that were promoted and used are never among
    them."""
    if limit is not None:
        limit = inputs.check_positive_int(limit, "limit")
    found = [
        GcCandidate(item.memory.id, item.memory.text, item.score, item.position)
        for item in memories.items
        if item.score < settings.forget_below
        and not (item.usage.use_count and item.memory.id in index.usage.promoted_notes)
    ]
    found.sort(key=lambda candidate: (candidate.score, candidate.memory))
    chosen = tuple(found[:limit])
    over_limit = len(found) - len(chosen)
    return GcPlan(chosen, settings.forget_below, over_limit, settings.gc, position=memories.position)


def _positions(candidates: Sequence[GcCandidate]) -> dict[str, int]:
    return {candidate.memory: candidate.position for candidate in candidates}


@dataclass(frozen=True, slots=True)
class MissedMemory:
    """A hidden memory that recorded recalls would have returned: how often, and which run hid it."""

    memory: str
    text: str
    times: int
    run: str


@dataclass(frozen=True, slots=True)
class MissedRecallReport(TableResult):
    """Of the recalls recorded since `gc`, how many would have had a hidden memory among the first ten hits."""

    missed_memories: tuple[MissedMemory, ...]
    recall_count: int
    affected_count: int

    @property
    def rate(self) -> float:
        """The share of the recalls that missed a memory."""
        return self.affected_count / self.recall_count if self.recall_count else 0.0

    @property
    def suggestion(self) -> str:
        if not self.recall_count:
            return "No recall was recorded since. Record some with space.audit.record(recall)."
        if not self.missed_memories:
            return "No recall missed a hidden memory."
        count = pluralize(len(self.missed_memories), "memory", "memories")
        return (
            f"Restore {count} with space.upkeep.restore(report), or one with space.unforget(id). "
            "If this happens again, lower forget_below."
        )

    @property
    def table(self) -> ResultTable:
        title = f"{self.affected_count} of {pluralize(self.recall_count, 'recorded recall')} missed a hidden memory"
        rows = [(missed.times, missed.memory, missed.text) for missed in self.missed_memories]
        return ResultTable(title, ("times", "id", "memory"), rows, [self.suggestion])


def find_missed_recalls(engine: Engine, space: str) -> MissedRecallReport:
    """Repeat the recorded recalls on what was known before each run of `gc`.

    Memories added after a run do not compete, so the count is an upper bound. Recalls with a vector of the
    caller's cannot be repeated, and do not count.
    """
    times: Counter[str] = Counter()
    affected = 0
    with engine.open_index(space) as index:
        with index.lock:
            hidden_by_run = [(run, set(still_hidden(index, run))) for run in index.usage.runs.values()]
        hidden_by_run = [(run, hidden) for run, hidden in hidden_by_run if hidden]
        first = min((run.planned_position for run, _ in hidden_by_run), default=math.inf)
        recalls = _recorded_recalls(engine, index, first)
        for position, receipt, returned in recalls:
            missed = {
                memory
                for run, hidden in hidden_by_run
                if run.planned_position < position
                for memory in hidden & _top_ids(engine, index, receipt, Position(run.planned_position))
            }.difference(returned)  # a recall of the archive returned some of them
            times.update(missed)
            affected += bool(missed)
        memories = [
            MissedMemory(memory, version.text if version else "", times[memory], run.id)
            for run, hidden in hidden_by_run
            for memory in hidden & times.keys()
            for version in [index.latest_version(memory)]
        ]
    memories.sort(key=lambda memory: (-memory.times, memory.memory))
    return MissedRecallReport(tuple(memories), len(recalls), affected)


def _recorded_recalls(engine: Engine, index: Index, after: float) -> list[tuple[int, Receipt, Sequence[str]]]:
    """The last recalls recorded after a ledger position that can be repeated, with the ids each returned."""
    positions = [position for position in index.usage.recall_positions if position > after][-_MAX_RECALLS:]
    recalls: list[tuple[int, Receipt, Sequence[str]]] = []
    for position, entry in engine.ledger.entries_at(positions).items():
        if isinstance(entry.event, Served):
            receipt = Receipt.from_dict(entry.event.asked)
            if not receipt.own_vector:
                recalls.append((position, receipt, entry.event.memories))
    return recalls


def _top_ids(engine: Engine, index: Index, receipt: Receipt, position: Position) -> set[str]:
    request = replace(RecallRequest.from_receipt(receipt, None), position=position, limit=_TOP)
    # Not through the engine, which would note that these memories were returned to a caller.
    return {hit.memory.id for hit in recall_from_index(index, request, engine.embedder)}
