"""`gc` hides or archives memories with low scores; `missed_recalls` measures whether recalls have missed them since."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from remanence.events import Forgotten, Served
from remanence.index.engine import inputs
from remanence.index.engine.engine import Engine
from remanence.index.index import Index
from remanence.index.numbers import Position
from remanence.recall.recall import recall_from_index
from remanence.recall.receipts import RecallRequest, Receipt
from remanence.text.text import pluralize
from remanence.upkeep.plans import Change, Plan, ResultTable, TableResult
from remanence.upkeep.runs import still_hidden
from remanence.upkeep.settings import UpkeepSettings
from remanence.upkeep.steps.decay import ScoredMemories


@dataclass(frozen=True, slots=True, kw_only=True)
class FadedMemory(Change):
    """A memory to be hidden, and its score."""

    memory: str
    text: str
    score: float

    @property
    def row(self) -> tuple[object, ...]:
        return f"{self.score:.3f}", self.memory, self.text


def propose_forgetting(
    index: Index, memories: ScoredMemories, settings: UpkeepSettings, limit: int | None
) -> Plan[FadedMemory]:
    """The memories below the threshold, the lowest score first. Memories that were promoted and used are never among
    them."""
    if limit is not None:
        limit = inputs.check_positive_int(limit, "limit")
    archived, promoted = settings.gc == "archive", index.usage.promoted_notes
    why = "upkeep: its score was low" + ("; it is in the archive" if archived else "")
    faded = [
        FadedMemory(
            memory=item.memory.id,
            text=item.memory.text,
            score=item.score,
            sources={item.memory.id: item.position},
            events=(Forgotten(item.memory.id, why, archived),),
        )
        for item in memories.items
        if item.score < settings.forget_below and not (item.usage.use_count and item.memory.id in promoted)
    ]
    faded.sort(key=lambda change: (change.score, change.memory))
    chosen = tuple(faded[:limit])
    title = f"{pluralize(len(chosen), 'memory', 'memories')} scoring less than {settings.forget_below:g} "
    title += f"(together {math.fsum(change.score for change in chosen):.3f})"
    if len(faded) > len(chosen):
        title += f"; {len(faded) - len(chosen)} more are over the limit"
    return Plan(
        step="gc",
        space=index.space,
        position=memories.position,
        items=chosen,
        verbs=("archived", "archive") if archived else ("forgot", "forget"),
        title=title,
        columns=("score", "id", "memory"),
        parameters={"below": settings.forget_below, "how": settings.gc},
        requires="unused",
    )


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
    def hidden(self) -> tuple[str, ...]:
        """The ids of the memories that were missed."""
        return tuple(missed.memory for missed in self.missed_memories)

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
    positions = [position for position in index.usage.recall_positions if position > after][-200:]
    recalls: list[tuple[int, Receipt, Sequence[str]]] = []
    for position, entry in engine.ledger.entries_at(positions).items():
        if isinstance(entry.event, Served):
            receipt = Receipt.from_dict(entry.event.asked)
            if not receipt.own_vector:
                recalls.append((position, receipt, entry.event.memories))
    return recalls


def _top_ids(engine: Engine, index: Index, receipt: Receipt, position: Position) -> set[str]:
    request = replace(RecallRequest.from_receipt(receipt, None), position=position, limit=10)
    # Not through the engine, which would note that these memories were returned to a caller.
    return {hit.memory.id for hit in recall_from_index(index, request, engine.embedder)}
