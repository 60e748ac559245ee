"""The nouns whose JSON form is not simply that of their fields; and values in their JSON forms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Annotated, Any

from pydantic import BeforeValidator, PlainSerializer, TypeAdapter

from remanence.events import Extracted
from remanence.graph.history import HistoryEvent
from remanence.graph.traversal import Path
from remanence.recall.answer import Recall
from remanence.recall.profile import Profile
from remanence.recall.receipts import Receipt
from remanence.remember.jobs import Job, ShownStatus
from remanence.schema import Entity, Evidence, Hit, HitUsage, Link, Memory, Relation, TokenUsage, Triple
from remanence.service.json_forms import FORMS, Form, WrittenAs
from remanence.service.json_forms import json_form as json_form
from remanence.space.playground import Exchange
from remanence.transfer.overview import Stats
from remanence.upkeep.plans import Plan, ResultTable, UpkeepPlan
from remanence.upkeep.runs import Run
from remanence.upkeep.steps.clusters import Clusters
from remanence.upkeep.steps.decay import DecayReport


def _rounded(digits: int) -> Any:
    return Annotated[float, PlainSerializer(lambda number: round(number, digits), return_type=float)]


_AboutAnyOf = {
    "memory": Memory,
    "entity": Entity,
    "relation": Relation,
    "link": Link,
    "receipt": Receipt,
    "extraction": Extracted,
}
"""What an event of a history may be about, each in a field of its own."""
_Number = Annotated[
    float | None,
    BeforeValidator(lambda number: float("nan") if number is None else number),  # JSON has no NaN
    PlainSerializer(lambda number: number if number == number else None, return_type=float | None),
]
_Cell = Annotated[str | int | float | None, PlainSerializer(lambda cell: _as_cell(cell))]
_TEXT = {"text": (str, str)}


def _as_cell(cell: Any) -> str | int | float | None:
    return cell if isinstance(cell, str | int | float | None) else str(cell)


def _read_event(fields: dict[str, Any]) -> HistoryEvent:
    about = [found for name in _AboutAnyOf if (found := fields.pop(name)) is not None]
    del fields["text"]
    return HistoryEvent(**fields, value=about[0] if about else None)


def _read_hit(fields: dict[str, Any]) -> Hit:
    fields["superseded_by"] = fields.pop("replacement")
    return Hit(**{name: value for name, value in fields.items() if name not in ("reason", "answer_probability")})


FORMS |= {
    Triple: WrittenAs(
        tuple[str, str, str],
        lambda triple: (triple.subject, triple.predicate, triple.object),
        lambda parts: Triple(*parts),
    ),
    Memory: Form(
        more={
            "entities": (list[str], lambda memory: [mention.name for mention in memory.mentions]),
            "conversation": (str | None, lambda memory: memory.turn and memory.turn.conversation),
            "speaker": (str | None, lambda memory: memory.turn and memory.turn.speaker),
        }
    ),
    Entity: Form(more={"names": tuple[str, ...]}),
    Relation: Form(more=_TEXT),
    Evidence: Form(types={"share": _rounded(6), "raw_score": _Number}),
    HitUsage: Form(
        types={name: _rounded(3) for name in ("decay_score", "strength", "review_priority")} | {"age_days": _rounded(1)}
    ),
    Hit: Form(
        without=("superseded_by",),
        types={"score": _rounded(6)},
        more={
            "superseded_by": (str | None, lambda hit: hit.superseded_by and hit.superseded_by.text),
            "replacement": (Memory | None, lambda hit: hit.superseded_by),
            "reason": str,
            "answer_probability": float | None,
        },
        read=_read_hit,
    ),
    Receipt: WrittenAs(dict[str, Any], Receipt.to_dict, Receipt.from_dict),
    Recall: Form(more={"confident": bool}),
    Profile: Form(more={"text": str}),
    Job: Form(
        more={"status": ShownStatus, "problem": str | None, "usage": TokenUsage}
        | {
            "tries": (int, lambda job: job._state().tries),
            "memories": (tuple[str, ...], lambda job: tuple(job._state().memories)),
        }
    ),
    Path: Form(more={"text": (str | None, lambda path: str(path) if path.nodes else None)}),
    Extracted: Form(without=("signature",)),
    HistoryEvent: Form(
        without=("value",),
        more=_TEXT
        | {
            name: (kind | None, lambda event, kind=kind: event.value if isinstance(event.value, kind) else None)
            for name, kind in _AboutAnyOf.items()
        },
        read=_read_event,
    ),
    Exchange: Form(
        without=("prompt",),
        more={
            "block": (str, lambda exchange: exchange.prompt.text),
            "missing": (Mapping[str, str], lambda exchange: exchange.prompt.missing),
        },
    ),
    Stats: Form(more={"total": int}),
    ResultTable: Form(types={"rows": Sequence[Sequence[_Cell]]}),
    Clusters: Form(without=("pairs",)),
    DecayReport: Form(more={"total": (int, lambda report: len(report) + report.left_out)}),
    Run: Form(more=_TEXT),
    Plan: Form(
        without=("items", "verbs", "title", "columns", "notes", "files", "requires", "is_recorded"),
        more={"changes": (int, len), "memories": tuple[str, ...], "table": ResultTable},
    ),
    UpkeepPlan: Form(
        without=("reports",),
        more={"reports": (tuple[ResultTable, ...], lambda plan: tuple(report.table for report in plan.reports))},
    ),
}


@cache
def adapter_of(kind: Any) -> TypeAdapter[Any]:
    """Writes and reads values of a type in their JSON form."""
    return TypeAdapter(json_form(kind))


def to_json(value: Any) -> Any:
    """A value in JSON types, as every interface shows it."""
    kind: Any = type(value)
    return adapter_of(kind).dump_python(value, mode="json")
