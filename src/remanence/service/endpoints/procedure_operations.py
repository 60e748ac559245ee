"""The operations of procedures: which steps of a task worked."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from remanence.service.operation import method_operation
from remanence.space.facets.procedure_facet import MAX_STEPS, Procedures

_Steps = Annotated[list[Any], Field(min_length=1, max_length=MAX_STEPS)]

record_procedure = method_operation(
    "POST",
    "/procedures",
    Procedures.record,
    "write",
    name="record_procedure",
    http_status=201,
    tools="procedures",
    steps=_Steps,
)
list_procedures = method_operation("GET", "/procedures", Procedures.list, name="list_procedures")
recall_procedure = method_operation(
    "POST",
    "/procedures/recall",
    Procedures.recall,
    name="recall_procedure",
    tools="procedures",
    missing="space {space!r} knows no task like {task!r}. Record a run of it first.",
)
