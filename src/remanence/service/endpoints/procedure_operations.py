"""The operations of procedures: which steps of a task worked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from remanence.errors import NotFound
from remanence.recall.procedures import Procedure
from remanence.service.operation import method_operation, operation
from remanence.space.facets.procedure_facet import MAX_STEPS, Procedures
from remanence.space.view import View

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


@operation("POST", "/procedures/recall", method=Procedures.recall, tools="procedures")
def recall_procedure(view: View, task: str, tools: Mapping[str, str] | None = None) -> Procedure:
    """Show the steps that worked for a task, and what to avoid."""
    found = view.procedures.recall(task, tools=tools)
    if found is None:
        raise NotFound(f"space {view.name!r} knows no task like {task!r}. Record a run of it first.")
    return found
