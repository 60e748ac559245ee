"""The operations of upkeep: what is at risk or similar, preview, apply and undo."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Literal
from weakref import WeakKeyDictionary

from pydantic import Field

from remanence.errors import InvalidInput, NotFound
from remanence.index.engine.engine import Engine
from remanence.index.engine.identity import new_id
from remanence.schema import Memory
from remanence.service.operation import method_operation, operation
from remanence.service.requests import ListOf, Name, Names
from remanence.space.facets.upkeep_facet import Upkeep
from remanence.space.space import Space
from remanence.upkeep.pipeline import DEFAULT_STEPS, UpkeepPlan
from remanence.upkeep.plans import Plan, ResultTable
from remanence.upkeep.runs import Run, UndoReport
from remanence.upkeep.steps.consolidation import ConsolidationPlan
from remanence.upkeep.steps.discovery import DiscoveryPlan
from remanence.upkeep.steps.garbage_collection import GcPlan
from remanence.upkeep.steps.memory_clusters import MAX_CLUSTER_SIZE, Cluster
from remanence.upkeep.vault_notes.promotion import PromotionPlan

_MAX_PLANS = 64
"""Plans of one space that wait to be applied, the last ones: they are in memory."""
_PLANS: WeakKeyDictionary[Engine, dict[tuple[str, str], Plan]] = WeakKeyDictionary()
"""The last plans between their preview and `apply`: by engine, then by space and id; the oldest first."""
_LOCK = threading.Lock()
Step = Literal["decay", "gc", "clusters", "consolidate", "promote", "discover"]
_Limit = Annotated[int, Field(ge=1)]


@dataclass(frozen=True)
class SimilarMemories:
    """Memories that say nearly the same: what is suggested ("merge", "review" or "keep"), and why."""

    id: str
    memories: tuple[Memory, ...]
    cohesion: float
    action: str
    why: str

    @classmethod
    def of(cls, cluster: Cluster) -> SimilarMemories:
        memories = tuple(item.memory for item in cluster.items)
        return cls(cluster.id, memories, cluster.cohesion, cluster.action, cluster.why)


@dataclass(frozen=True)
class ClusterList:
    """Groups of memories that say nearly the same, the most similar first."""

    items: Sequence[SimilarMemories]
    examined_count: int
    position: int
    similarity: float


@dataclass(frozen=True)
class PlanReport:
    """What upkeep would do. `id` is for `apply`; `run` is the run that applied it. `tables` has one table for each
    step, and `memories` the ids of all memories in it that are to be hidden or merged."""

    id: str
    step: str
    position: int
    changes: int
    due: bool
    run: str | None
    tables: tuple[ResultTable, ...]
    memories: tuple[str, ...]
    text: str


at_risk = method_operation(
    "GET", "/upkeep/at-risk", Upkeep.decay, name="at_risk", slow=True, limit=_Limit | None, tools="upkeep"
)


@operation("GET", "/upkeep/clusters", slow=True, tools="upkeep")
def clusters(
    space: Space,
    similarity: float | None = None,
    duplicates: bool = False,
    max_size: Annotated[int, Field(ge=2, le=MAX_CLUSTER_SIZE)] = MAX_CLUSTER_SIZE,
) -> ClusterList:
    """List groups of memories that say nearly the same."""
    found = space.upkeep.clusters(similarity=similarity, duplicates=duplicates, max_size=max_size)
    items = [SimilarMemories.of(cluster) for cluster in found]
    return ClusterList(items, found.examined_count, found.position, found.similarity)


@operation("POST", "/upkeep/preview", slow=True, tools="upkeep")
def preview(
    space: Space,
    step: Literal["run", "gc", "consolidate", "link", "promote", "discover"] = "run",
    steps: ListOf[Step] | None = None,
    mode: Literal["forget", "archive"] | None = None,
    limit: _Limit | None = None,
    clusters: Names | None = None,
    ids: Names | None = None,
    settings: dict[str, Any] | None = None,
) -> PlanReport:
    """Plan what upkeep would do, and change nothing: several steps as one run (`steps`), or one `step` alone. `apply`
    does it. `mode` and `limit` are for "gc", `clusters` (their ids) for "consolidate" and "link", `ids` for "promote";
    `settings` replaces settings of upkeep."""
    if "vault" in (settings or {}):
        raise InvalidInput("the vault is a folder of the server, and cannot be chosen in a request. Leave it out.")
    given = {"steps": steps, "mode": mode, "limit": limit, "clusters": clusters, "ids": ids}
    for field, fitting in _STEP_FIELDS.items():
        if given[field] is not None and step not in fitting:
            raise InvalidInput(f"{field} is for {' and '.join(fitting)}, not for step={step!r}. Leave it out.")
    upkeep = space.upkeep.with_settings(**settings or {})
    plan: Plan
    if step == "gc":
        plan = upkeep.gc(mode=mode, limit=limit, dry_run=True)
    elif step == "promote":
        plan = upkeep.promote(ids, dry_run=True)
    elif step == "discover":
        plan = upkeep.discover(dry_run=True)
    elif step == "run":
        plan = upkeep.run(steps=steps or DEFAULT_STEPS, dry_run=True)
    else:
        chosen = None if clusters is None else _chosen_clusters(upkeep, clusters)
        plan = upkeep.consolidate("link" if step == "link" else "apply", dry_run=True, clusters=chosen)
    plan_id = new_id()
    with _LOCK:
        plans = _PLANS.setdefault(space._engine, {})
        plans[space.name, plan_id] = plan
        for oldest in list(plans)[:-_MAX_PLANS]:
            del plans[oldest]
    return plan_report(plan, step, plan_id)


_STEP_FIELDS = {
    "steps": ("run",),
    "mode": ("gc",),
    "limit": ("gc",),
    "clusters": ("consolidate", "link"),
    "ids": ("promote",),
}


@operation("POST", "/upkeep/apply", "admin", field="run", slow=True, tools="upkeep")
def apply(space: Space, plan: str) -> Run | None:
    """Do exactly what a plan says, as one run that can be undone; None if there was nothing to do."""
    plans = _PLANS.get(space._engine, {})
    if (found := plans.get((space.name, plan))) is None:
        raise NotFound(
            f"space {space.name!r} has no plan {plan!r}: only the last {_MAX_PLANS} are kept, and none after a "
            "restart. Preview again."
        )
    run = space.upkeep.apply(found)
    plans.pop((space.name, plan), None)
    return run


@operation("POST", "/upkeep/undo", "admin", tools="upkeep")
def undo(space: Space, run: str) -> UndoReport:
    """Reverse a run by appending the opposite changes."""
    return space.upkeep.undo(run)


runs = method_operation("GET", "/upkeep/runs", Upkeep.runs, tools="upkeep")


@operation("GET", "/upkeep/settings", field="settings")
def settings(space: Space) -> dict[str, Any]:
    """Show the settings of upkeep."""
    return {name: value for name, value in asdict(space.upkeep.settings).items() if name != "vault"}


expire = method_operation("POST", "/upkeep/expire", Upkeep.expire, "write")


@operation("POST", "/upkeep/restore", "write", field="count", tools="upkeep")
def restore(space: Space, ids: ListOf[Name]) -> int:
    """Bring back forgotten or archived memories, and count them."""
    return space.upkeep.restore(ids)


def plan_report(plan: Plan, step: str, plan_id: str) -> PlanReport:
    """A plan as an answer."""
    parts = plan.plans if isinstance(plan, UpkeepPlan) else (plan,)
    reports = plan.reports if isinstance(plan, UpkeepPlan) else ()
    return PlanReport(
        id=plan_id,
        step=step,
        position=plan.position,
        changes=len(plan),
        due=plan.has_changes,
        run=plan.run,
        tables=tuple(part.table for part in (*reports, *parts)),
        memories=tuple(dict.fromkeys(memory for part in parts for memory in _memories_of(part))),
        text=str(plan),
    )


def _chosen_clusters(upkeep: Upkeep, ids: list[str]) -> list[Cluster]:
    known = {cluster.id: cluster for cluster in upkeep.clusters()}
    if missing := [cluster for cluster in ids if cluster not in known]:
        raise NotFound(f"there is no cluster {missing[0]!r}. List the clusters again: they change with memories.")
    return [known[cluster] for cluster in ids]


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
