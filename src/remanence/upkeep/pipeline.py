"""Several steps planned together and applied as one run, once or at intervals; and undoing a run."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

from remanence.errors import InvalidInput
from remanence.index.engine import inputs
from remanence.index.engine.engine import Engine
from remanence.index.engine.identity import new_id
from remanence.index.engine.periodic_thread import PeriodicThread
from remanence.index.index import Index
from remanence.ports import Progress
from remanence.upkeep import runs
from remanence.upkeep.plans import Applicable, Plan, StalePlan, TableResult, UpkeepPlan
from remanence.upkeep.runs import Run, UndoReport
from remanence.upkeep.settings import UpkeepSettings
from remanence.upkeep.steps import consolidation, decay, discovery, garbage_collection
from remanence.upkeep.steps.decay import ScoredMemories
from remanence.upkeep.vault_notes import promotion, vault

Step = Literal["decay", "gc", "clusters", "consolidate", "promote", "discover"]
STEPS: tuple[Step, ...] = get_args(Step)
DEFAULT_STEPS: tuple[Step, ...] = ("decay", "clusters", "consolidate", "promote", "discover")
_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
_INTERVAL = re.compile(r"(\d+(?:\.\d+)?)\s*([smhd])")


AnyPlan = TypeVar("AnyPlan", bound=Plan[Any] | UpkeepPlan)


def plan_steps(
    engine: Engine,
    index: Index,
    memories: ScoredMemories,
    progress: Progress | None,
    *,
    settings: UpkeepSettings,
    steps: Sequence[Step],
    folder: Path | None,
) -> UpkeepPlan:
    """Plan these steps, always in the order of `STEPS`."""
    for step in steps:
        if step not in STEPS:
            raise InvalidInput(f"steps={steps!r} has {step!r}. The steps are {', '.join(STEPS)}.")
    reports: list[TableResult] = []
    plans: list[Plan[Any]] = []
    merges: list[Any] = []
    if "decay" in steps:
        reports.append(decay.report_decay(memories, settings))
    if "gc" in steps:
        plans.append(garbage_collection.propose_forgetting(index, memories, settings, None))
        memories = memories.without(plans[-1].memories)
    if "clusters" in steps or "consolidate" in steps:
        found = consolidation.find_new_clusters(index, memories, settings, "consolidate", progress)
        reports += [found] if "clusters" in steps else []
        if "consolidate" in steps:
            propose = consolidation.propose_consolidation
            plans.append(propose(engine, index, memories, progress, settings=settings, new_clusters=found))
            memories, merges = memories.without(plans[-1].memories), [merge.result for merge in plans[-1]]
    if "promote" in steps:
        plans.append(promotion.propose_promotion(index, memories, settings, folder))
    if "discover" in steps:
        plans.append(discovery.propose_links(index, memories, settings, progress, merges))
    return UpkeepPlan(plans=tuple(plans), reports=tuple(reports), position=memories.position)


def check_applicable(plan: object) -> None:
    """Raise an error if this is not a plan, or was applied already."""
    if not isinstance(plan, Plan | UpkeepPlan):
        raise InvalidInput(
            f"apply({inputs.shorten_repr(plan)}) was given {type(plan).__name__}, which is not a plan. "
            "Give what gc(), consolidate(), promote(), discover(), import_vault() or run() returned."
        )
    if plan.run is not None:
        raise InvalidInput(f"this plan was applied already, by run {plan.run!r}. Make a new plan.")


def run_id_of(run: object) -> str | None:
    """The id of the run to undo; None if nothing was done, because there was nothing to do."""
    if run is None or isinstance(run, str):
        return run
    if isinstance(run, Run):
        return run.id
    if not isinstance(run, Applicable):
        raise InvalidInput(
            f"undo({inputs.shorten_repr(run)}) was given {type(run).__name__}, which is not a run. "
            "Give what apply() returned, or the id of a run: `space.upkeep.runs()` lists them."
        )
    if run.run is None and run.has_changes:
        raise InvalidInput("this plan was not applied, so there is nothing to undo.")
    return run.run


def apply_plan(engine: Engine, space: str, plan: AnyPlan, progress: Progress | None) -> AnyPlan:
    """Apply a plan, or nothing of it if something has changed since; returns the plan with its run.

    Everything is checked before anything is written. What others write in the meantime is checked again in
    each transaction; then a part may have been done, and the error says so.
    """
    run = new_id()
    parts = [part for part in (plan.plans if isinstance(plan, UpkeepPlan) else (plan,)) if part.has_changes]
    try:
        for part in parts:
            part.check(engine)
        for part in parts:
            part.write(engine, run, progress)
    except StalePlan as change:
        outcome = "Nothing was done."
        if _spaces_of_run(engine, space, run):
            outcome = f"A part was done already: space.upkeep.undo({run!r}) reverses it."
        raise InvalidInput(
            f"this plan was made at ledger position {plan.position}, and {change} since. {outcome} Make a new plan."
        ) from None
    if isinstance(plan, UpkeepPlan):
        done = tuple(replace(part, run=run) if part.has_changes else part for part in plan.plans)
        return replace(plan, plans=done, run=run)
    return replace(plan, run=run)


def undo_run(engine: Engine, space: str, run: str) -> UndoReport:
    """Undo a run, in the space and among a person's own notes."""
    with runs.upkeep_lock(engine, space):
        names = _spaces_of_run(engine, space, run) or [space]
        skipped = [memory for name in names for memory in runs.reverse_run(engine, name, run)]
        with engine.open_index(space) as index:
            state = index.usage.runs.get(run)
            vault.remove_undone_notes(index, {} if state is None else state.settings_by_step.get("promote", {}))
    return UndoReport(run, tuple(skipped))


def _spaces_of_run(engine: Engine, space: str, run: str) -> list[str]:
    """Where a run has written: in the space, or among a person's own notes."""
    found: list[str] = []
    for name in runs.spaces_with_runs(engine, space):
        with engine.open_index(name) as index:
            found += [name] if run in index.usage.runs else []
    return found


def parse_interval(interval: str | float | timedelta) -> float:
    """An interval in seconds, from a number of seconds, a timedelta, or a text such as "90s", "15m", "1h", "2d".

    >>> parse_interval("1h"), parse_interval("1.5m"), parse_interval(10), parse_interval(timedelta(minutes=1))
    (3600.0, 90.0, 10.0, 60.0)
    """
    seconds = 0.0
    if isinstance(interval, timedelta):
        seconds = interval.total_seconds()
    elif isinstance(interval, str) and (match := _INTERVAL.fullmatch(interval.strip().lower())):
        seconds = float(match[1]) * _UNITS[match[2]]
    elif isinstance(interval, int | float) and not isinstance(interval, bool):
        seconds = float(interval)
    if not 0 < seconds < threading.TIMEOUT_MAX:
        raise InvalidInput(f"interval={interval!r} is not a valid interval. Use one such as '30m', '1h' or '2d'.")
    return seconds


class Schedule(PeriodicThread):
    """Calls a function at once and then at intervals, in a thread, until it is stopped.

    A call that fails is logged and repeated at the next interval. As a context manager it stops at the end.
    """

    def __init__(self, work: Callable[[], object], interval: float) -> None:
        def run_once() -> float:
            work()
            return interval

        super().__init__("remanence-upkeep", run_once, problem="upkeep did not run", retry_seconds=interval)

    def __enter__(self) -> Schedule:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
