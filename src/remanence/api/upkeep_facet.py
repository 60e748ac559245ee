"""What people hold as `space.upkeep`: every step alone, all of them in a row, and the way back.

Each step is planned first, and by default only planned. A plan is a value that prints as a table; applying
it does exactly what it says, or nothing at all if what it is about has changed meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from remanence.api.facet import Facet
from remanence.api.in_thread import in_thread
from remanence.core import inputs
from remanence.core.engine import Engine
from remanence.core.index import Index
from remanence.core.progress import progress_bar
from remanence.errors import InvalidInput
from remanence.schema import Memory
from remanence.upkeep import (
    consolidation,
    decay_report,
    discovery,
    garbage_collection,
    pipeline,
    promotion,
    reinforcement,
    runs,
    vault_import,
)
from remanence.upkeep import memory_clusters as clustering
from remanence.upkeep.consolidation import ConsolidationPlan
from remanence.upkeep.decay_report import DecayReport
from remanence.upkeep.discovery import DiscoveryPlan
from remanence.upkeep.garbage_collection import GcPlan, RegretReport
from remanence.upkeep.memory_clusters import Cluster, Clusters
from remanence.upkeep.pipeline import DEFAULT_STEPS, Pipeline, Plan, Step
from remanence.upkeep.promotion import PromotionPlan
from remanence.upkeep.reinforcement import TouchReport
from remanence.upkeep.runs import Run, UndoReport
from remanence.upkeep.schedule import Schedule, parse_interval
from remanence.upkeep.scored_memories import ScoredMemories, score_memories
from remanence.upkeep.settings import UpkeepSettings
from remanence.upkeep.vault_import import VaultImportPlan
from remanence.write.forget import sweep, unforget

if TYPE_CHECKING:
    from remanence.ports import Progress

_Plan = TypeVar("_Plan", GcPlan, ConsolidationPlan, PromotionPlan, DiscoveryPlan, VaultImportPlan, Pipeline)


class Upkeep(Facet):
    """Strength, decay, forgetting, consolidation and promotion of one space. Nothing is ever destroyed."""

    def __init__(
        self,
        engine: Engine,
        space: str,
        position: Callable[[Index], int],
        now: Callable[[], datetime],
        settings: UpkeepSettings | None = None,
    ) -> None:
        super().__init__(engine, space, position, now)
        self.settings = UpkeepSettings.from_env() if settings is None else settings

    def using(self, settings: UpkeepSettings | None = None, **changes: Any) -> Upkeep:
        """Upkeep of the same space by other settings.

        >>> import remanence
        >>> with remanence.open(None) as space:
        ...     space.upkeep.using(half_life_days=30).settings.half_life_days
        30
        """
        changed = (settings or self.settings).with_changes(**changes)
        return Upkeep(self._engine, self._space, self._position, self._now, changed)

    # Use

    def observe_usage(
        self, ids: str | Memory | Sequence[str | Memory], context_tags: str | Sequence[str] = ()
    ) -> list[TouchReport]:
        """Record that memories were of use for something with these tags. One that is filed under others
        was of use in another domain, which makes it stronger."""
        given = inputs.memory_ids([ids] if isinstance(ids, str | Memory) else ids)
        context = inputs.tags(context_tags) or ()
        return reinforcement.touch(self._engine, self._space, given, self.settings, context=context)

    aobserve_usage = in_thread(observe_usage)

    # Reports

    def decay(self, *, progress: bool | Progress = False) -> DecayReport:
        """Which memories are at risk, how urgently, and what could be done. Changes nothing."""
        with self._looking(progress) as (_, there):
            return decay_report.report(there, self.settings)

    adecay = in_thread(decay)

    def clusters(
        self, *, similarity: float | None = None, duplicates: bool = False, progress: bool | Progress = False
    ) -> Clusters:
        """Memories that say nearly the same. Changes nothing."""
        usual = self.settings.duplicate_similarity if duplicates else self.settings.cluster_similarity
        wanted = inputs.fraction(similarity, "similarity")
        with self._looking(False) as (index, there), progress_bar(progress, "comparing") as shown:
            return clustering.find_clusters(
                index, there, self.settings, similarity=usual if wanted is None else wanted, progress=shown
            )

    aclusters = in_thread(clusters)

    def regret(self) -> RegretReport:
        """How far what `gc` forgot was missed in the recalls recorded since (`space.audit.record`)."""
        return garbage_collection.measure_regret(self._engine, self._space)

    aregret = in_thread(regret)

    def runs(self) -> list[Run]:
        """What upkeep has done here, oldest first."""
        return runs.list_runs(self._engine, self._space)

    aruns = in_thread(runs)

    def sweep(self) -> list[Memory]:
        """Record which memories have expired since the last sweep. Recall has left them out already."""
        return sweep(self._engine, self._space)

    asweep = in_thread(sweep)

    # Steps

    def gc(
        self,
        *,
        dry_run: bool = True,
        how: Literal["forget", "archive"] | None = None,
        limit: int | None = None,
        progress: bool | Progress = False,
    ) -> GcPlan:
        """Let go of what scores less than `forget_below`, the weakest first.

        To forget is to hide. What is archived is kept apart from that: `space.memories("archived")` lists
        it, `recall(..., include="archive")` searches it. `restore(plan)` or `undo(plan)` brings it back.
        """
        settings = self.settings if how is None else self.settings.with_changes(gc=how)

        def plan() -> GcPlan:
            with self._looking(progress) as (index, there):
                return garbage_collection.plan(there, index, settings, limit)

        return self._settle(plan, dry_run, progress)

    agc = in_thread(gc)

    def consolidate(
        self,
        mode: Literal["preview", "apply", "link"] = "preview",
        *,
        dry_run: bool | None = None,
        clusters: Sequence[Cluster] | None = None,
        progress: bool | Progress = False,
    ) -> ConsolidationPlan:
        """Make one memory of several that say the same; in `link` mode, only tie them together.

        "preview" shows what "apply" does. `clusters` are some of those that `clusters()` found, taken
        whatever was suggested for them; left out, those that are alike enough and have something new.
        """
        if mode not in ("preview", "apply", "link"):
            raise InvalidInput(f"mode={mode!r} is neither 'preview', 'apply' nor 'link'.")
        way: consolidation.Mode = "link" if mode == "link" else "merge"

        def plan() -> ConsolidationPlan:
            with self._looking(False) as (index, there), progress_bar(progress, "comparing") as shown:
                return consolidation.plan(self._engine, index, there, self.settings, way, shown, clusters=clusters)

        return self._settle(plan, mode != "apply" if dry_run is None else dry_run, progress)

    aconsolidate = in_thread(consolidate)

    def promote(
        self, *, vault: str | Path | None = None, dry_run: bool = True, progress: bool | Progress = False
    ) -> PromotionPlan:
        """Keep for long what has proved its worth; with a `vault`, also as Markdown notes in that folder."""

        def plan() -> PromotionPlan:
            with self._looking(progress) as (index, there):
                return promotion.plan(index, there, self.settings, self._vault(vault))

        return self._settle(plan, dry_run, progress)

    apromote = in_thread(promote)

    def index_vault(
        self, vault: str | Path | None = None, *, dry_run: bool = True, progress: bool | Progress = False
    ) -> VaultImportPlan:
        """Take in what a person has edited and written in a vault. Deleted notes are reported, no more."""
        place = self._vault(vault)
        if place is None:
            raise InvalidInput("index_vault() needs a vault: give the folder, or set REMANENCE_VAULT.")

        def plan() -> VaultImportPlan:
            with progress_bar(progress, "reading") as shown:
                return vault_import.plan(self._engine, self._space, place, self._engine.now(), shown)

        return self._settle(plan, dry_run, progress)

    aindex_vault = in_thread(index_vault)

    def discover(self, *, dry_run: bool = True, progress: bool | Progress = False) -> DiscoveryPlan:
        """Relate memories that are about the same entities."""

        def plan() -> DiscoveryPlan:
            with self._looking(False) as (index, there), progress_bar(progress, "relating") as shown:
                return discovery.plan(index, there, self.settings, shown)

        return self._settle(plan, dry_run, progress)

    adiscover = in_thread(discover)

    def run(
        self,
        *,
        dry_run: bool = True,
        steps: Sequence[Step] = DEFAULT_STEPS,
        vault: str | Path | None = None,
        progress: bool | Progress = False,
    ) -> Pipeline:
        """Several steps in a row, as one run: decay, clusters, consolidate, promote, discover.

        Only what is named in `steps` is done; "gc" has to be.
        """

        def plan() -> Pipeline:
            with self._looking(False) as (index, there), progress_bar(progress, "upkeep") as shown:
                return pipeline.plan_steps(self._engine, index, there, self.settings, steps, self._vault(vault), shown)

        return self._settle(plan, dry_run, progress)

    arun = in_thread(run)

    def apply(self, plan: Plan | Pipeline, *, progress: bool | Progress = False) -> Run | None:
        """Do exactly what a plan says; None if it says nothing. Refused, and nothing done, if what it is
        about has changed, or was done already."""
        plans = pipeline.plans_to_apply(plan)
        if not plans:
            return None
        with runs.upkeep_lock(self._engine, self._space):
            done = self._do(plans, progress)
        return next(run for run in self.runs() if run.id == done)

    aapply = in_thread(apply)

    @overload
    def undo(self, run: str | Run) -> UndoReport: ...
    @overload
    def undo(self, run: str | Run | Plan | Pipeline | None) -> UndoReport | None: ...
    def undo(self, run: str | Run | Plan | Pipeline | None) -> UndoReport | None:
        """Take back what a run did, by appending the reverse of it; None if there was nothing to do, and so
        there is nothing to take back: `undo(apply(plan))` is safe for every plan."""
        run_id = pipeline.run_id_of(run)
        return None if run_id is None else pipeline.undo_run(self._engine, self._space, run_id)

    def restore(self, what: RegretReport | GcPlan | Run | str | Memory | Iterable[str | Memory]) -> int:
        """Bring back what was forgotten or archived: all that was missed, that a `gc` let go, or these ids;
        how many that are. Of what a `gc` let go, what was erased or forgotten by hand since stays away."""
        if isinstance(what, RegretReport):
            return runs.restore(self._engine, self._space, [missed.memory for missed in what.regretted_memories])
        if isinstance(what, GcPlan):
            return runs.restore(self._engine, self._space, [faded.memory for faded in what])
        if isinstance(what, Run):
            return runs.restore(self._engine, self._space, what.hidden)
        ids = inputs.memory_ids([what] if isinstance(what, str | Memory) else what)
        return unforget(self._engine, self._space, ids)

    arestore = in_thread(restore)

    def start(
        self,
        every: str | float | timedelta = "1h",
        *,
        steps: Sequence[Step] = DEFAULT_STEPS,
        vault: str | Path | None = None,
    ) -> Schedule:
        """Do `run(dry_run=False)` now and then at intervals, in a thread, until `.stop()`."""
        return Schedule(lambda: self.run(dry_run=False, steps=steps, vault=vault), parse_interval(every))

    # Helpers

    @contextmanager
    def _looking(self, progress: bool | Progress) -> Iterator[tuple[Index, ScoredMemories]]:
        with self._engine.open_index(self._space) as index, progress_bar(progress, "looking") as shown:
            yield index, score_memories(index, self._engine.now(), self.settings, shown)

    def _settle(self, plan: Callable[[], _Plan], dry_run: bool, progress: bool | Progress) -> _Plan:
        """What was planned; unless dry it is done too, with no other run in between."""
        if dry_run:
            return plan()
        with runs.upkeep_lock(self._engine, self._space):
            planned = plan()
            due = pipeline.plans_to_apply(planned)
            return pipeline.mark_done(planned, self._do(due, progress)) if due else planned

    def _do(self, plans: Sequence[Plan], progress: bool | Progress) -> str:
        with progress_bar(progress, "writing") as shown:
            return pipeline.apply_plans(self._engine, self._space, plans, shown)

    def _vault(self, given: str | Path | None) -> Path | None:
        place = given or self.settings.vault
        return None if place is None else Path(place).expanduser().absolute()
