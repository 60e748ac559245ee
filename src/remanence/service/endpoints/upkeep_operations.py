"""The operations of upkeep: what is at risk or similar, preview, apply and undo; and quarantine."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from typing import Annotated, Any

from pydantic import Field

from remanence.errors import InvalidInput, NotFound
from remanence.service.hosting.plan_cache import delete_plan, get_plan, store_plan
from remanence.service.operation import method_operation, operation
from remanence.service.payloads import requests
from remanence.service.payloads.answers import CountAnswer
from remanence.service.payloads.base_answers import AnswerModel, Items, MemoryAnswer
from remanence.service.payloads.upkeep_answers import (
    AtRiskAnswer,
    ClustersAnswer,
    PlanAnswer,
    QuarantineAnswer,
    RunAnswer,
    TableAnswer,
)
from remanence.space.facets.audit_facet import Audit
from remanence.space.facets.upkeep_facet import Upkeep
from remanence.space.space import Space
from remanence.upkeep.pipeline import DEFAULT_STEPS, UpkeepPlan
from remanence.upkeep.plans import Plan
from remanence.upkeep.runs import UndoReport
from remanence.upkeep.steps.consolidation import ConsolidationPlan
from remanence.upkeep.steps.discovery import DiscoveryPlan
from remanence.upkeep.steps.garbage_collection import GcPlan
from remanence.upkeep.steps.memory_clusters import MAX_CLUSTER_SIZE
from remanence.upkeep.vault_notes.promotion import PromotionPlan

_method = partial(method_operation, facet="upkeep", tag="upkeep")


class AppliedAnswer(AnswerModel):
    """The run that applied a plan; None if there was nothing to do."""

    run: RunAnswer | None


class SettingsAnswer(AnswerModel):
    """The settings of upkeep by name."""

    settings: dict[str, Any]


@operation("GET", "/upkeep/at-risk", slow=True)
def at_risk(space: Space, request: requests.AtRiskRequest) -> AtRiskAnswer:
    """List the memories that are at risk of being forgotten, the lowest score first."""
    return AtRiskAnswer.of_report(space.upkeep.decay(limit=request.limit))


clusters = _method(
    "GET",
    "/upkeep/clusters",
    Upkeep.clusters,
    "List groups of memories that say nearly the same.",
    ClustersAnswer,
    slow=True,
    max_size=Annotated[int, Field(ge=2, le=MAX_CLUSTER_SIZE)],
)


@operation("POST", "/upkeep/preview", slow=True)
def preview(space: Space, request: requests.UpkeepPreviewRequest) -> PlanAnswer:
    """Plan what upkeep would do, and change nothing. `apply` does it."""
    if "vault" in request.settings:
        raise InvalidInput("the vault is a folder of the server, and cannot be chosen in a request. Leave it out.")
    plan = _plan(space.upkeep.with_settings(**request.settings), request)
    return plan_answer(plan, request.step, store_plan(space, plan))


@operation("POST", "/upkeep/apply", "admin", slow=True)
def apply(space: Space, request: requests.UpkeepApplyRequest) -> AppliedAnswer:
    """Do exactly what a plan says, as one run that can be undone."""
    run = space.upkeep.apply(get_plan(space, request.plan))
    delete_plan(space, request.plan)
    return AppliedAnswer(run=None if run is None else RunAnswer.of(run))


undo = _method("POST", "/upkeep/undo", Upkeep.undo, "Reverse a run.", UndoReport, "admin", run=str)
runs = _method("GET", "/upkeep/runs", Upkeep.runs, "List the upkeep runs, oldest first.", Items[RunAnswer])


@operation("GET", "/upkeep/settings")
def settings(space: Space, request: requests.EmptyRequest) -> SettingsAnswer:
    """Show the settings of upkeep."""
    found = asdict(space.upkeep.settings)
    return SettingsAnswer(settings={name: value for name, value in found.items() if name != "vault"})


expire = _method(
    "POST",
    "/upkeep/expire",
    Upkeep.expire,
    "Record which memories have expired since the last call.",
    Items[MemoryAnswer],
    "write",
)


@operation("POST", "/upkeep/restore", "write")
def restore(space: Space, request: requests.MemoryIdsRequest) -> CountAnswer:
    """Bring back forgotten or archived memories, and count them."""
    return CountAnswer(count=space.upkeep.restore(request.ids))


quarantine = _method(
    "POST",
    "/quarantines",
    Audit.quarantine,
    "Hide everything that came from a source, or show what would be hidden.",
    QuarantineAnswer,
    "admin",
    facet="audit",
)
quarantines = _method(
    "GET",
    "/quarantines",
    Audit.quarantines,
    "List the quarantines, oldest first, released ones too.",
    Items[QuarantineAnswer],
    facet="audit",
)


release = _method(
    "POST", "/quarantines/{id}/release", Audit.release, "Undo a quarantine.", QuarantineAnswer, "admin", facet="audit"
)


def plan_answer(plan: Plan, step: str, plan_id: str) -> PlanAnswer:
    """A plan as an answer."""
    parts = plan.plans if isinstance(plan, UpkeepPlan) else (plan,)
    reports = plan.reports if isinstance(plan, UpkeepPlan) else ()
    return PlanAnswer(
        id=plan_id,
        step=step,
        position=plan.position,
        changes=len(plan),
        due=plan.has_changes,
        run=plan.run,
        tables=[TableAnswer.of(part.table) for part in (*reports, *parts)],
        memories=list(dict.fromkeys(memory for part in parts for memory in _memories_of(part))),
        text=str(plan),
    )


def _plan(upkeep: Upkeep, request: requests.UpkeepPreviewRequest) -> Plan:
    for field, fitting in _STEP_FIELDS.items():
        if getattr(request, field) is not None and request.step not in fitting:
            raise InvalidInput(f"{field} is for {' and '.join(fitting)}, not for step={request.step!r}. Leave it out.")
    if request.step == "gc":
        return upkeep.gc(mode=request.mode, limit=request.limit, dry_run=True)
    if request.step == "promote":
        return upkeep.promote(request.ids, dry_run=True)
    if request.step == "discover":
        return upkeep.discover(dry_run=True)
    if request.step == "run":
        return upkeep.run(steps=request.steps or DEFAULT_STEPS, dry_run=True)
    chosen = None
    if request.clusters is not None:
        known = {cluster.id: cluster for cluster in upkeep.clusters()}
        if missing := [cluster for cluster in request.clusters if cluster not in known]:
            raise NotFound(f"there is no cluster {missing[0]!r}. List the clusters again: they change with memories.")
        chosen = [known[cluster] for cluster in request.clusters]
    return upkeep.consolidate("link" if request.step == "link" else "apply", dry_run=True, clusters=chosen)


_STEP_FIELDS = {
    "steps": ("run",),
    "mode": ("gc",),
    "limit": ("gc",),
    "clusters": ("consolidate", "link"),
    "ids": ("promote",),
}


def _memories_of(plan: Plan) -> list[str]:
    if isinstance(plan, GcPlan):
        return [candidate.memory for candidate in plan.candidates]
    if isinstance(plan, ConsolidationPlan):
        return [*plan.superseded_ids, *(memory for pair in plan.links for memory in pair)]
    if isinstance(plan, PromotionPlan):
        return [promotion.memory for promotion in plan.promotions]
    if isinstance(plan, DiscoveryPlan):
        return [memory for pair in plan.relations for memory in (pair.source, pair.target)]
    return []
