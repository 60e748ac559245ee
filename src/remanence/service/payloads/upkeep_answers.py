"""What the operations of upkeep return."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AliasChoices, BeforeValidator, Field, computed_field, model_validator

from remanence.remember.quarantine import Quarantine
from remanence.service.payloads.base_answers import AnswerModel, MemoryAnswer, answer_of
from remanence.upkeep.plans import ResultTable
from remanence.upkeep.runs import Run
from remanence.upkeep.steps.decay import DecayReport, MemoryAtRisk
from remanence.upkeep.steps.memory_clusters import Cluster


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
    def of_report(cls, report: DecayReport) -> AtRiskAnswer:
        fields = {name: getattr(report, name) for name in cls.model_fields if name != "total"}
        return cls(**fields, total=len(report) + report.left_out)

    def to_value(self) -> DecayReport:
        return DecayReport(**self.values("total"), left_out=self.total - len(self.at_risk))


class ClusterAnswer(AnswerModel):
    """Memories that say nearly the same: what is suggested ("merge", "review" or "keep"), and why."""

    id: str
    memories: list[MemoryAnswer]
    cohesion: float
    action: str
    why: str

    @model_validator(mode="before")
    @classmethod
    def _from_cluster(cls, value: Any) -> Any:
        if not isinstance(value, Cluster):
            return value
        same = {name: getattr(value, name) for name in ("id", "cohesion", "action", "why")}
        return same | {"memories": [item.memory for item in value.items]}


class ClustersAnswer(AnswerModel):
    """Groups of memories that say nearly the same, the most similar first."""

    items: list[ClusterAnswer] = Field(validation_alias=AliasChoices("items", "clusters"))
    examined_count: int
    position: int
    similarity: float


Cell = Annotated[
    str | int | float | None,
    BeforeValidator(lambda cell: cell if isinstance(cell, str | int | float | None) else str(cell)),
]


class TableAnswer(AnswerModel):
    """A result as a table: a title, columns, rows of cells and notes."""

    title: str
    columns: list[str]
    rows: list[list[Cell]]
    notes: list[str]

    def to_value(self) -> ResultTable:
        return ResultTable(**self.values())


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


class RunAnswer(answer_of(Run), AnswerModel):  # type: ignore[misc]
    """What one upkeep run did, by the ids of memories. `text` says it in one line."""

    @computed_field  # type: ignore[prop-decorator]
    @property
    def text(self) -> str:
        return str(self.to_value())


class QuarantineAnswer(answer_of(Quarantine), AnswerModel):  # type: ignore[misc]
    """A source whose memories are hidden, or, without an id, would be."""
