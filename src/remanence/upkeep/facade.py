"""What people hold as `space.upkeep`: every step alone, all of them in a row, and the way back.

Each step is planned first, and by default only planned. A plan is a value that prints as a table; applying
it does exactly what it says, or nothing at all if what it is about has changed meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from remanence import drafts
from remanence.engine import Engine
from remanence.errors import InvalidInput
from remanence.forgetting import unforget
from remanence.index import Index
from remanence.progress import progress_bar
from remanence.upkeep import clusters as clustering
from remanence.upkeep import (
    consolidation,
    discovery,
    fading,
    forgetting,
    indexing,
    pipeline,
    promotion,
    reinforcing,
    runs,
    searching,
)
from remanence.upkeep.clusters import Cluster, Clusters
from remanence.upkeep.consolidation import ConsolidationPlan
from remanence.upkeep.discovery import DiscoveryPlan
from remanence.upkeep.fading import DecayReport
from remanence.upkeep.forgetting import GcPlan, Regret
from remanence.upkeep.indexing import IndexPlan
from remanence.upkeep.pipeline import STEPS, USUAL, Pipeline, Plan, Step, is_due
from remanence.upkeep.promotion import PromotionPlan
from remanence.upkeep.reinforcing import Touched
from remanence.upkeep.runs import Run, Undo
from remanence.upkeep.schedule import Schedule, seconds
from remanence.upkeep.settings import UpkeepSettings
from remanence.upkeep.standing import Standing, standing
from remanence.view import View

if TYPE_CHECKING:
    from remanence.answers import Recall
    from remanence.ports import Progress

_Plan = TypeVar("_Plan", GcPlan, ConsolidationPlan, PromotionPlan, DiscoveryPlan, IndexPlan)


class Upkeep:
    """Strength, decay, forgetting, consolidation and promotion of one space. Nothing is ever destroyed."""

    def __init__(self, engine: Engine, space: str, settings: UpkeepSettings | None = None) -> None:
        self._engine = engine
        self._space = space
        self.settings = UpkeepSettings.from_env() if settings is None else settings

    def __repr__(self) -> str:
        return f"<Upkeep of {self._space!r}>"

    def using(self, settings: UpkeepSettings | None = None, **changes: Any) -> Upkeep:
        """Upkeep of the same space by other settings.

        >>> import remanence
        >>> with remanence.open(None) as space:
        ...     space.upkeep.using(half_life_days=30).settings.half_life_days
        30
        """
        return Upkeep(self._engine, self._space, (settings or self.settings).changed(**changes))

    # Use

    def touch(self, memory_id: str, *, boost: bool = False) -> Touched:
        """Record that a memory was of use; with `boost`, make it stronger too."""
        ids = [drafts.memory_id(memory_id)]
        return reinforcing.touch(self._engine, self._space, ids, self.settings, boost=boost)[0]

    def observe_usage(
        self, memory_ids: str | Sequence[str], context_tags: str | Sequence[str] = ()
    ) -> list[Touched]:
        """Record that memories were of use for something with these tags. One that is filed under others
        was of use in another domain, which makes it stronger."""
        given = [memory_ids] if isinstance(memory_ids, str) else memory_ids
        ids = [drafts.memory_id(memory_id) for memory_id in given]
        context = drafts.tags(context_tags) or ()
        return reinforcing.touch(self._engine, self._space, ids, self.settings, context=context)

    # Looking. `dry_run` is taken here as by the steps that do something, and is all there is.

    def decay(
        self,
        *,
        dry_run: bool = True,
        progress: bool | Progress = False,
    ) -> DecayReport:
        """Which memories are at risk, how urgently, and what could be done. Changes nothing."""
        with self._looking(progress) as (_, there):
            return fading.report(there, self.settings)

    def clusters(
        self,
        *,
        similarity: float | None = None,
        duplicates: bool = False,
        dry_run: bool = True,
        progress: bool | Progress = False,
    ) -> Clusters:
        """Memories that say nearly the same. Changes nothing."""
        usual = self.settings.duplicate_similarity if duplicates else self.settings.cluster_similarity
        wanted = drafts.share(similarity, "similarity")
        with self._looking(False) as (index, there), progress_bar(progress, "comparing") as shown:
            return clustering.find(
                index,
                there,
                self.settings,
                similarity=usual if wanted is None else wanted,
                progress=shown,
            )

    def regret(self) -> Regret:
        """How far what `gc` forgot was missed in the recalls recorded since (`space.record`)."""
        return forgetting.regret(self._engine, self._space)

    def runs(self) -> list[Run]:
        """What upkeep has done here, oldest first."""
        with self._engine.using(self._space) as index:
            mine = {run.id: Run.of(run) for run in list(index.usage.runs.values())}
        if indexing.has_notes(self._engine, self._space):
            with self._engine.using(indexing.below(self._space)) as theirs:
                others = [Run.of(run) for run in list(theirs.usage.runs.values())]
            mine |= {run.id: run if run.id not in mine else mine[run.id].and_of(run) for run in others}
        return sorted(mine.values(), key=lambda run: (run.at, run.id))

    def recall_with_vault(self, query: str, *, limit: int = 10, **options: Any) -> Recall:
        """`recall` over the space and over a person's own notes (see `index_vault`), which weigh less; what
        both say is given once."""
        weight = self.settings.vault_weight
        return searching.recall(self._engine, self._space, query, drafts.limit(limit), weight, options)

    def recall_with_archive(self, query: str, *, limit: int = 10, **options: Any) -> Recall:
        """`recall` over the space and over what `gc` has archived, as if it had not been.

        >>> import remanence
        >>> with remanence.open(None) as space:
        ...     _ = space.add("A dog barked.", kind="episode", now="2020-01-01")
        ...     _ = space.upkeep.gc(how="archive", dry_run=False)
        ...     len(space.recall("dog")), len(space.upkeep.recall_with_archive("dog"))
        (0, 1)
        """
        return View(self._engine, self._space, archive=True).recall(query, limit=limit, **options)

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
        it, `recall_with_archive` searches it. `restore(plan)` or `undo(plan)` brings all of it back.
        """
        settings = self.settings if how is None else self.settings.changed(gc=how)
        with self._looking(progress) as (index, there):
            plan = forgetting.plan(there, index, settings, limit)
        return self._settle(plan, dry_run, progress)

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
        dry = mode != "apply" if dry_run is None else dry_run
        with self._looking(False) as (index, there), progress_bar(progress, "comparing") as shown:
            plan = consolidation.plan(
                self._engine,
                index,
                there,
                self.settings,
                "link" if mode == "link" else "merge",
                shown,
                chosen=clusters,
            )
        return self._settle(plan, dry, progress)

    def promote(
        self,
        *,
        vault: str | Path | None = None,
        dry_run: bool = True,
        progress: bool | Progress = False,
    ) -> PromotionPlan:
        """Keep for long what has proved its worth; with a `vault`, also as Markdown notes in that folder."""
        with self._looking(progress) as (index, there):
            plan = promotion.plan(index, there, self.settings, self._vault(vault))
        return self._settle(plan, dry_run, progress)

    def index_vault(
        self,
        vault: str | Path | None = None,
        *,
        dry_run: bool = True,
        progress: bool | Progress = False,
    ) -> IndexPlan:
        """Take in what a person has edited and written in a vault. Deleted notes are reported, no more."""
        place = self._vault(vault)
        if place is None:
            raise InvalidInput("index_vault() needs a vault: give the folder, or set REMANENCE_VAULT.")
        with progress_bar(progress, "reading") as shown:
            plan = indexing.plan(self._engine, self._space, place, self._engine.now(), shown)
        return self._settle(plan, dry_run, progress)

    def discover(self, *, dry_run: bool = True, progress: bool | Progress = False) -> DiscoveryPlan:
        """Relate memories that are about the same entities."""
        with self._looking(False) as (index, there), progress_bar(progress, "relating") as shown:
            plan = discovery.plan(index, there, self.settings, shown)
        return self._settle(plan, dry_run, progress)

    def run(
        self,
        *,
        dry_run: bool = True,
        steps: Sequence[Step] = USUAL,
        vault: str | Path | None = None,
        progress: bool | Progress = False,
    ) -> Pipeline:
        """Several steps in a row, as one run: decay, clusters, consolidate, promote, discover.

        Only what is named in `steps` is done; "gc" has to be.
        """
        for step in steps:
            if step not in STEPS:
                raise InvalidInput(f"steps={steps!r} holds {step!r}. The steps are {', '.join(STEPS)}.")
        with self._looking(False) as (index, there), progress_bar(progress, "upkeep") as shown:
            planned = pipeline.planned(
                self._engine, index, there, self.settings, steps, self._vault(vault), shown
            )
        if dry_run or not is_due(planned):
            return planned
        return planned.done_as(self._do(planned.plans, progress))

    def apply(self, plan: Plan | Pipeline, *, progress: bool | Progress = False) -> Run | None:
        """Do exactly what a plan says; None if it says nothing. Refused if what it is about has changed."""
        if plan.run is not None:
            raise InvalidInput(f"this plan was done already, by run {plan.run!r}. Make a new one.")
        plans = plan.plans if isinstance(plan, Pipeline) else [plan]
        done = self._do(plans, progress) if is_due(plan) else None
        return next((run for run in self.runs() if run.id == done), None)

    def undo(self, run: str | Run | Plan | Pipeline) -> Undo:
        """Take back what a run did, by appending the reverse of it."""
        run_id = run.id if isinstance(run, Run) else run if isinstance(run, str) else run.run
        if run_id is None:
            raise InvalidInput("this plan was not applied, so there is nothing to undo.")
        return pipeline.undone(self._engine, self._space, run_id, self.settings)

    def restore(self, what: Regret | GcPlan | Run | str | Iterable[str]) -> int:
        """Bring back what was forgotten or archived: all that was missed, that a `gc` let go, or these ids;
        how many that are. Of what a `gc` let go, what was erased or forgotten by hand since stays away."""
        if isinstance(what, Regret):
            return runs.restore(self._engine, self._space, [missed.memory for missed in what.missed])
        if isinstance(what, GcPlan):
            return runs.restore(self._engine, self._space, [faded.memory for faded in what])
        if isinstance(what, Run):
            return runs.restore(self._engine, self._space, what.hidden)
        ids = drafts.memory_ids([what] if isinstance(what, str) else what)
        return unforget(self._engine, self._space, ids)

    def start(
        self,
        every: str | float | timedelta = "1h",
        *,
        steps: Sequence[Step] = USUAL,
        vault: str | Path | None = None,
    ) -> Schedule:
        """Do `run(dry_run=False)` now and then at intervals, in a thread, until `.stop()`."""
        return Schedule(lambda: self.run(dry_run=False, steps=steps, vault=vault), seconds(every))

    # Helpers

    @contextmanager
    def _looking(self, progress: bool | Progress) -> Iterator[tuple[Index, Standing]]:
        with self._engine.using(self._space) as index, progress_bar(progress, "looking") as shown:
            yield index, standing(index, self._engine.now(), self.settings, shown)

    def _settle(self, plan: _Plan, dry_run: bool, progress: bool | Progress) -> _Plan:
        return plan if dry_run or not is_due(plan) else replace(plan, run=self._do([plan], progress))

    def _do(self, plans: Sequence[Plan], progress: bool | Progress) -> str:
        with progress_bar(progress, "writing") as shown:
            return pipeline.done(self._engine, self._space, plans, shown)

    def _vault(self, given: str | Path | None) -> Path | None:
        place = given or self.settings.vault
        return None if place is None else Path(place).expanduser().absolute()
