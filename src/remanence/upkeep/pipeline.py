"""Several steps in a row, planned together and done as one run; and the way back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Literal, TypeAlias, TypeVar, get_args

from remanence.core.identity import new_id
from remanence.core.index import Index
from remanence.errors import InvalidInput
from remanence.language.text import truncate
from remanence.upkeep import consolidation, decay_report, discovery, garbage_collection, promotion, runs, vault_import
from remanence.upkeep.consolidation import ConsolidationPlan
from remanence.upkeep.decay_report import DecayReport
from remanence.upkeep.discovery import DiscoveryPlan
from remanence.upkeep.garbage_collection import GcPlan
from remanence.upkeep.memory_clusters import Clusters
from remanence.upkeep.merging import Merge
from remanence.upkeep.promotion import PromotionPlan
from remanence.upkeep.runs import Run, UndoReport
from remanence.upkeep.scored_memories import ScoredMemories, StalePlan
from remanence.upkeep.settings import UpkeepSettings
from remanence.upkeep.vault_import import VaultImportPlan

if TYPE_CHECKING:
    from remanence.core.engine import Engine
    from remanence.ports import Progress

Step = Literal["decay", "gc", "clusters", "consolidate", "promote", "discover"]
STEPS: tuple[Step, ...] = get_args(Step)
DEFAULT_STEPS: tuple[Step, ...] = ("decay", "clusters", "consolidate", "promote", "discover")
"""What `run` does unless told otherwise: everything but forgetting."""
_MAKERS = "gc(), consolidate(), promote(), discover(), index_vault() or run()"
_SHOWN = 80

Plan: TypeAlias = GcPlan | ConsolidationPlan | PromotionPlan | DiscoveryPlan | VaultImportPlan
_AnyPlan = TypeVar("_AnyPlan", bound="Plan | Pipeline")
_STEPS: dict[type, ModuleType] = {
    GcPlan: garbage_collection,
    ConsolidationPlan: consolidation,
    PromotionPlan: promotion,
    DiscoveryPlan: discovery,
    VaultImportPlan: vault_import,
}
"""What can check and write each plan."""


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Several steps, planned together: what one of them would change, the later ones know of.

    It prints as a table for each; `space.upkeep.apply(pipeline)` does all of them as one run.
    """

    reports: tuple[DecayReport | Clusters, ...]
    plans: tuple[Plan, ...]
    run: str | None = None
    """The run that did this, once it was done."""

    def __len__(self) -> int:
        return sum(len(plan) for plan in self.plans)

    def __str__(self) -> str:
        done = [f"done as run {self.run}"] if self.run else []
        return "\n\n".join([*(str(part) for part in (*self.reports, *self.plans)), *done])


def plan_steps(
    engine: Engine,
    index: Index,
    memories: ScoredMemories,
    settings: UpkeepSettings,
    steps: Sequence[Step],
    vault: Path | None,
    progress: Progress | None,
) -> Pipeline:
    """What these steps would do one after the other, whichever order they were named in."""
    for step in steps:
        if step not in STEPS:
            raise InvalidInput(f"steps={steps!r} holds {step!r}. The steps are {', '.join(STEPS)}.")
    reports: list[DecayReport | Clusters] = []
    plans: list[Plan] = []
    to_come: Sequence[Merge] = ()
    if "decay" in steps:
        reports.append(decay_report.report(memories, settings))
    if "gc" in steps:
        gone = garbage_collection.plan(memories, index, settings, None)
        plans.append(gone)
        memories = memories.without([faded.memory for faded in gone])
    if "clusters" in steps or "consolidate" in steps:
        # Only what holds something new: a run every hour must not compare everything every hour.
        new = consolidation.find_new_clusters(index, memories, settings, "merge", progress)
        reports += [new] if "clusters" in steps else []
        if "consolidate" in steps:
            merged = consolidation.plan(engine, index, memories, settings, "merge", progress, new_clusters=new)
            plans.append(merged)
            memories, to_come = memories.without(merged.superseded_ids), merged.merges
    if "promote" in steps:
        plans.append(promotion.plan(index, memories, settings, vault))
    if "discover" in steps:
        plans.append(discovery.plan(index, memories, settings, progress, to_come))
    return Pipeline(tuple(reports), tuple(plans))


def is_due(plan: Plan | Pipeline) -> bool:
    """Whether there is something to write down: something to do, or that all that is new was looked at."""
    if isinstance(plan, Pipeline):
        return any(map(is_due, plan.plans))
    return len(plan) > 0 or (isinstance(plan, ConsolidationPlan) and plan.has_new_memories)


def mark_done(plan: _AnyPlan, run: str) -> _AnyPlan:
    """The same plan, once a run has done it."""
    if isinstance(plan, Pipeline):
        parts = tuple(replace(part, run=run) if is_due(part) else part for part in plan.plans)
        return replace(plan, plans=parts, run=run)
    return replace(plan, run=run)


def plans_to_apply(given: object) -> list[Plan]:
    """The plans to apply, if they can be."""
    if not isinstance(given, Plan | Pipeline):
        raise InvalidInput(
            f"apply({truncate(repr(given), _SHOWN)}) was given {_a_type(given)}, which is no plan. "
            f"Give what {_MAKERS} returned."
        )
    if given.run is not None:
        raise InvalidInput(f"this plan was done already, by run {given.run!r}. Make a new one.")
    return [plan for plan in (given.plans if isinstance(given, Pipeline) else [given]) if is_due(plan)]


def run_id_of(given: object) -> str | None:
    """The id of the run to undo; None if nothing was done, as there was nothing to do."""
    if given is None or isinstance(given, str):
        return given
    if isinstance(given, Run):
        return given.id
    if not isinstance(given, Plan | Pipeline):
        raise InvalidInput(
            f"undo({truncate(repr(given), _SHOWN)}) was given {_a_type(given)}, which is no run. "
            "Give what apply() returned, or the id of a run: `space.upkeep.runs()` lists them."
        )
    if given.run is None and is_due(given):
        raise InvalidInput("this plan was not applied, so there is nothing to undo.")
    return given.run


def apply_plans(engine: Engine, space: str, plans: Sequence[Plan], progress: Progress | None) -> str:
    """Do these plans as one run, or none of them if something they are about has changed; its id.

    Everything is checked before the first line is written. What others write while the plans are being
    written is checked again with each transaction, and then a part may be done: it says so.
    """
    run = new_id()
    planned = min((plan.position for plan in plans), default=0)
    try:
        for plan in plans:
            _STEPS[type(plan)].check(engine, space, plan)
        for plan in plans:
            _STEPS[type(plan)].write(engine, space, plan, run, progress)
    except StalePlan as change:
        outcome = "Nothing was done."
        if _places_of(engine, space, run):
            outcome = f"A part was done already: space.upkeep.undo({run!r}) takes it back."
        raise InvalidInput(
            f"this plan was made at ledger line {planned}, and {change} since. {outcome} Make the plan anew."
        ) from None
    return run


def undo_run(engine: Engine, space: str, run: str) -> UndoReport:
    """Take a run back, here and among a person's own notes."""
    with runs.upkeep_lock(engine, space):
        undos = [runs.reverse_run(engine, place, run) for place in _places_of(engine, space, run) or [space]]
        with engine.open_index(space) as index:
            known = index.usage.runs.get(run)
            given = {} if known is None else known.given.get(promotion.STEP, {})
            promotion.remove_undone_notes(index, index.snapshot(index.catalog.position, engine.now()), given)
    return UndoReport(run, tuple(memory for undo in undos for memory in undo.skipped))


def _places_of(engine: Engine, space: str, run: str) -> list[str]:
    """Where a run has written: in the space, or among a person's own notes."""
    places = [space, *([vault_import.vault_space(space)] if vault_import.has_notes(engine, space) else [])]
    return [place for place in places if _knows(engine, place, run)]


def _knows(engine: Engine, space: str, run: str) -> bool:
    with engine.open_index(space) as index:
        return run in index.usage.runs


def _a_type(value: object) -> str:
    name = type(value).__name__
    return f"{'an' if name[0] in 'AEIOUaeiou' else 'a'} {name}"
