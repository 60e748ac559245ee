"""What the operations of upkeep and administration return."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from remanence.read.answer import to_iso
from remanence.service.payloads.base_answers import AnswerModel, MemoryAnswer, Time
from remanence.service.payloads.from_fields import parse_moment_text
from remanence.upkeep.plans import ResultTable
from remanence.upkeep.runs import Run
from remanence.upkeep.steps.decay import DecayReport, MemoryAtRisk
from remanence.upkeep.steps.memory_clusters import Cluster
from remanence.write.quarantine import Quarantine


class AtRiskAnswer(AnswerModel):
    """The memories at risk of being forgotten, the lowest score first, and averages over all memories. `total` counts
    those that the limit left out, too."""

    at_risk: list[MemoryAtRisk]
    total: int
    examined_count: int
    position: int
    average_score: float
    average_uses: float

    @classmethod
    def of(cls, report: DecayReport) -> AtRiskAnswer:
        numbers = {name: getattr(report, name) for name in _REPORT_NUMBERS}
        return cls(at_risk=list(report.at_risk), total=len(report.at_risk) + report.left_out, **numbers)

    def to_report(self) -> DecayReport:
        numbers = {name: getattr(self, name) for name in _REPORT_NUMBERS}
        return DecayReport(tuple(self.at_risk), **numbers, left_out=self.total - len(self.at_risk))


_REPORT_NUMBERS = ("examined_count", "position", "average_score", "average_uses")


class ClusterAnswer(AnswerModel):
    """Memories that say nearly the same: what is suggested ("merge", "review" or "keep"), and why."""

    id: str
    memories: list[MemoryAnswer]
    cohesion: float
    action: str
    why: str

    @classmethod
    def of(cls, cluster: Cluster) -> ClusterAnswer:
        memories = [MemoryAnswer.of(item.memory) for item in cluster.items]
        same = {name: getattr(cluster, name) for name in ("id", "cohesion", "action", "why")}
        return cls(memories=memories, **same)


class ClustersAnswer(AnswerModel):
    """Groups of memories that say nearly the same, the most similar first."""

    items: list[ClusterAnswer]
    examined_count: int
    position: int
    similarity: float


class TableAnswer(AnswerModel):
    """A result as a table: a title, columns, rows of cells and notes."""

    title: str
    columns: list[str]
    rows: list[list[str | int | float | None]]
    notes: list[str]

    @classmethod
    def of(cls, table: ResultTable) -> TableAnswer:
        rows = [[cell if isinstance(cell, int | float | None) else str(cell) for cell in row] for row in table.rows]
        return cls(title=table.title, columns=list(table.columns), rows=rows, notes=list(table.notes))

    def to_table(self) -> ResultTable:
        return ResultTable(self.title, self.columns, self.rows, self.notes)


class PlanAnswer(AnswerModel):
    """What upkeep would do. `id` is for `apply`; `run` is the run that applied it. `tables` has one table for each
    step, and `memories` the ids of all memories in it that are to be hidden or merged."""

    id: str
    step: str
    position: int
    changes: int
    due: bool
    run: str | None
    tables: list[TableAnswer]
    memories: list[str]
    text: str


class RunAnswer(AnswerModel):
    """What one upkeep run did, by the ids of memories. `text` says it in one line."""

    id: str
    recorded_at: Time
    steps: list[str]
    made: list[str]
    revised: list[str]
    hidden: list[str]
    promoted: list[str]
    notes_added: list[str]
    links: int
    undone: bool
    archived: bool
    text: str

    @classmethod
    def of(cls, run: Run) -> RunAnswer:
        lists: dict[str, Any] = {name: list(getattr(run, name)) for name in _RUN_LISTS}
        same = {name: getattr(run, name) for name in ("id", "links", "undone", "archived")}
        return cls(**same, **lists, recorded_at=run.recorded_at.isoformat(), text=str(run))

    def to_run(self) -> Run:
        lists = {name: tuple(getattr(self, name)) for name in _RUN_LISTS}
        at = datetime.fromisoformat(self.recorded_at)
        return Run(self.id, at, **lists, links=self.links, undone=self.undone, archived=self.archived)


_RUN_LISTS = ("steps", "made", "revised", "hidden", "promoted", "notes_added")


class QuarantineAnswer(AnswerModel):
    """A source whose memories are hidden, or, without an id, would be."""

    id: str | None
    source: str
    memories: list[MemoryAnswer]
    why: str | None
    since: Time | None
    released: bool

    @classmethod
    def of(cls, quarantine: Quarantine) -> QuarantineAnswer:
        same = {name: getattr(quarantine, name) for name in ("id", "source", "why", "released")}
        return cls(
            **same, memories=[MemoryAnswer.of(memory) for memory in quarantine.memories], since=to_iso(quarantine.since)
        )

    def to_quarantine(self) -> Quarantine:
        memories = tuple(memory.to_memory() for memory in self.memories)
        return Quarantine(self.id, self.source, memories, self.why, parse_moment_text(self.since), self.released)


class MergeProposal(AnswerModel):
    """Two entities that may be one: how similar their names are, and why."""

    entity: str
    name: str
    other: str
    other_name: str
    score: float
    reason: str


class CountAnswer(AnswerModel):
    """How many."""

    count: int


class SpacesAnswer(AnswerModel):
    """The full names of spaces."""

    spaces: list[str]
