"""Several steps in a row, planned together and done as one run; and the way back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from remanence.index import Index
from remanence.remember import new_id
from remanence.upkeep import consolidation, discovery, fading, forgetting, indexing, promotion, runs
from remanence.upkeep.clusters import Clusters
from remanence.upkeep.consolidation import ConsolidationPlan, Merging
from remanence.upkeep.discovery import DiscoveryPlan
from remanence.upkeep.fading import DecayReport
from remanence.upkeep.forgetting import GcPlan
from remanence.upkeep.indexing import IndexPlan
from remanence.upkeep.promotion import PromotionPlan
from remanence.upkeep.runs import Undo
from remanence.upkeep.settings import UpkeepSettings
from remanence.upkeep.standing import Standing, standing

if TYPE_CHECKING:
    from remanence.engine import Engine
    from remanence.ports import Progress

Step = Literal["decay", "gc", "clusters", "consolidate", "promote", "discover"]
STEPS: tuple[Step, ...] = get_args(Step)
USUAL: tuple[Step, ...] = ("decay", "clusters", "consolidate", "promote", "discover")
"""What `run` does unless told otherwise: everything but forgetting."""

Plan: TypeAlias = GcPlan | ConsolidationPlan | PromotionPlan | DiscoveryPlan | IndexPlan
_WRITERS: dict[type, Callable[..., None]] = {
    GcPlan: forgetting.write,
    ConsolidationPlan: consolidation.write,
    PromotionPlan: promotion.write,
    DiscoveryPlan: discovery.write,
    IndexPlan: indexing.write,
}


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

    def done_as(self, run: str) -> Pipeline:
        """The same, once a run has done it."""
        plans = tuple(replace(plan, run=run) if is_due(plan) else plan for plan in self.plans)
        return replace(self, plans=plans, run=run)

    def __str__(self) -> str:
        done = [f"done as run {self.run}"] if self.run else []
        return "\n\n".join([*(str(part) for part in (*self.reports, *self.plans)), *done])


def planned(
    engine: Engine,
    index: Index,
    there: Standing,
    settings: UpkeepSettings,
    steps: Sequence[Step],
    vault: Path | None,
    progress: Progress | None,
) -> Pipeline:
    """What these steps would do one after the other, whichever order they were named in."""
    reports: list[DecayReport | Clusters] = []
    plans: list[Plan] = []
    to_come: Sequence[Merging] = ()
    if "decay" in steps:
        reports.append(fading.report(there, settings))
    if "gc" in steps:
        gone = forgetting.plan(there, index, settings, None)
        plans.append(gone)
        there = there.without([faded.memory for faded in gone])
    if "clusters" in steps or "consolidate" in steps:
        # Only what holds something new: a run every hour must not compare everything every hour.
        new = consolidation.news(index, there, settings, "merge", progress)
        reports += [new] if "clusters" in steps else []
        if "consolidate" in steps:
            merged = consolidation.plan(engine, index, there, settings, "merge", progress, found=new)
            plans.append(merged)
            there, to_come = there.without(merged.retired), merged.merges
    if "promote" in steps:
        plans.append(promotion.plan(index, there, settings, vault))
    if "discover" in steps:
        plans.append(discovery.plan(index, there, settings, progress, to_come))
    return Pipeline(tuple(reports), tuple(plans))


def is_due(plan: Plan | Pipeline) -> bool:
    """Whether there is something to write down: something to do, or that all that is new was looked at."""
    if isinstance(plan, Pipeline):
        return any(map(is_due, plan.plans))
    return len(plan) > 0 or (isinstance(plan, ConsolidationPlan) and plan.looked)


def done(engine: Engine, space: str, plans: Sequence[Plan], progress: Progress | None) -> str:
    """Do these plans as one run; its id."""
    run = new_id()
    with runs.alone(engine, space):
        for plan in plans:
            if is_due(plan):
                _WRITERS[type(plan)](engine, space, plan, run, progress)
    return run


def undone(engine: Engine, space: str, run: str, settings: UpkeepSettings) -> Undo:
    """Take a run back, here and among a person's own notes."""
    with runs.alone(engine, space):
        places = [space, *([indexing.below(space)] if indexing.has_notes(engine, space) else [])]
        told = [place for place in places if _knows(engine, place, run)]
        undos = [runs.reverse(engine, place, run) for place in told or [space]]
        _tidy(engine, space, run, settings)
    return Undo(run, tuple(memory for undo in undos for memory in undo.left))


def _knows(engine: Engine, space: str, run: str) -> bool:
    with engine.using(space) as index:
        return run in index.usage.runs


def _tidy(engine: Engine, space: str, run: str, settings: UpkeepSettings) -> None:
    """Take the notes of a promotion that was undone out of its vault."""
    with engine.using(space) as index:
        known = index.usage.runs.get(run)
        given: dict[str, Any] = {} if known is None else dict(known.given.get(promotion.STEP, {}))
        if "vault" in given:
            promotion.tidy(index, standing(index, engine.now(), settings), Path(given["vault"]))
