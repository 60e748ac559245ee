"""What people hold as `space.upkeep`: every step alone, all of them in a row, and the way back.

Each step is planned first, and by default only planned. A plan is a value that prints as a table; applying
it does exactly what it says, or nothing at all if what it is about has changed meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from remanence.api.view import View
from remanence.core import inputs
from remanence.core.engine import Engine
from remanence.core.index import Index
from remanence.core.progress import progress_bar
from remanence.errors import InvalidInput
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
    vault_search,
)
from remanence.upkeep import memory_clusters as clustering
from remanence.upkeep.consolidation import ConsolidationPlan
from remanence.upkeep.decay_report import DecayReport
from remanence.upkeep.discovery import DiscoveryPlan
from remanence.upkeep.garbage_collection import GcPlan, Regret
from remanence.upkeep.memory_clusters import Cluster, Clusters
from remanence.upkeep.pipeline import (
    USUAL,
    Pipeline,
    Plan,
    Step,
)
from remanence.upkeep.promotion import PromotionPlan
from remanence.upkeep.reinforcement import Touched
from remanence.upkeep.runs import Run, Undo
from remanence.upkeep.schedule import Schedule, seconds
from remanence.upkeep.scored_memories import Standing, standing
from remanence.upkeep.settings import UpkeepSettings
from remanence.upkeep.vault_import import IndexPlan
from remanence.write.forget import unforget

if TYPE_CHECKING:
    from remanence.ports import Progress
    from remanence.read.answer import Recall

_Plan = TypeVar("_Plan", GcPlan, ConsolidationPlan, PromotionPlan, DiscoveryPlan, IndexPlan, Pipeline)


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
        ids = [inputs.memory_id(memory_id)]
        return reinforcement.touch(self._engine, self._space, ids, self.settings, boost=boost)[0]

    def observe_usage(
        self, memory_ids: str | Sequence[str], context_tags: str | Sequence[str] = ()
    ) -> list[Touched]:
        """Record that memories were of use for something with these tags. One that is filed under others
        was of use in another domain, which makes it stronger."""
        given = [memory_ids] if isinstance(memory_ids, str) else memory_ids
        ids = [inputs.memory_id(memory_id) for memory_id in given]
        context = inputs.tags(context_tags) or ()
        return reinforcement.touch(self._engine, self._space, ids, self.settings, context=context)

    # Looking. `dry_run` is taken here as by the steps that do something, and is all there is.

    def decay(
        self,
        *,
        dry_run: bool = True,
        progress: bool | Progress = False,
    ) -> DecayReport:
        """Which memories are at risk, how urgently, and what could be done. Changes nothing."""
        with self._looking(progress) as (_, there):
            return decay_report.report(there, self.settings)

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
        wanted = inputs.share(similarity, "similarity")
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
        return garbage_collection.regret(self._engine, self._space)

    def runs(self) -> list[Run]:
        """What upkeep has done here, oldest first."""
        return runs.listed(self._engine, self._space)

    def recall_with_vault(self, query: str, *, limit: int = 10, **options: Any) -> Recall:
        """`recall` over the space and over a person's own notes (see `index_vault`), which weigh less; what
        both say is given once."""
        weight = self.settings.vault_weight
        most = inputs.limit(limit)
        found = View(self._engine, self._space).recall(query, limit=most, **options)
        if not vault_import.has_notes(self._engine, self._space):
            return found
        notes = View(self._engine, vault_import.below(self._space)).recall(query, limit=most, **options)
        return vault_search.merge(found, notes, most, weight)

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

        def plan() -> GcPlan:
            with self._looking(progress) as (index, there):
                return garbage_collection.plan(there, index, settings, limit)

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
        way: consolidation.Mode = "link" if mode == "link" else "merge"

        def plan() -> ConsolidationPlan:
            with self._looking(False) as (index, there), progress_bar(progress, "comparing") as shown:
                return consolidation.plan(
                    self._engine, index, there, self.settings, way, shown, chosen=clusters
                )

        return self._settle(plan, mode != "apply" if dry_run is None else dry_run, progress)

    def promote(
        self,
        *,
        vault: str | Path | None = None,
        dry_run: bool = True,
        progress: bool | Progress = False,
    ) -> PromotionPlan:
        """Keep for long what has proved its worth; with a `vault`, also as Markdown notes in that folder."""

        def plan() -> PromotionPlan:
            with self._looking(progress) as (index, there):
                return promotion.plan(index, there, self.settings, self._vault(vault))

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

        def plan() -> IndexPlan:
            with progress_bar(progress, "reading") as shown:
                return vault_import.plan(self._engine, self._space, place, self._engine.now(), shown)

        return self._settle(plan, dry_run, progress)

    def discover(self, *, dry_run: bool = True, progress: bool | Progress = False) -> DiscoveryPlan:
        """Relate memories that are about the same entities."""

        def plan() -> DiscoveryPlan:
            with self._looking(False) as (index, there), progress_bar(progress, "relating") as shown:
                return discovery.plan(index, there, self.settings, shown)

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

        def plan() -> Pipeline:
            with self._looking(False) as (index, there), progress_bar(progress, "upkeep") as shown:
                return pipeline.planned(
                    self._engine, index, there, self.settings, steps, self._vault(vault), shown
                )

        return self._settle(plan, dry_run, progress)

    def apply(self, plan: Plan | Pipeline, *, progress: bool | Progress = False) -> Run | None:
        """Do exactly what a plan says; None if it says nothing. Refused, and nothing done, if what it is
        about has changed, or was done already."""
        plans = pipeline.plans_of(plan)
        if not plans:
            return None
        with runs.alone(self._engine, self._space):
            done = self._do(plans, progress)
        return next(run for run in self.runs() if run.id == done)

    @overload
    def undo(self, run: str | Run) -> Undo: ...
    @overload
    def undo(self, run: str | Run | Plan | Pipeline | None) -> Undo | None: ...
    def undo(self, run: str | Run | Plan | Pipeline | None) -> Undo | None:
        """Take back what a run did, by appending the reverse of it; None if there was nothing to do, and so
        there is nothing to take back: `undo(apply(plan))` is safe for every plan."""
        run_id = pipeline.run_of(run)
        return None if run_id is None else pipeline.undone(self._engine, self._space, run_id)

    def restore(self, what: Regret | GcPlan | Run | str | Iterable[str]) -> int:
        """Bring back what was forgotten or archived: all that was missed, that a `gc` let go, or these ids;
        how many that are. Of what a `gc` let go, what was erased or forgotten by hand since stays away."""
        if isinstance(what, Regret):
            return runs.restore(self._engine, self._space, [missed.memory for missed in what.missed])
        if isinstance(what, GcPlan):
            return runs.restore(self._engine, self._space, [faded.memory for faded in what])
        if isinstance(what, Run):
            return runs.restore(self._engine, self._space, what.hidden)
        ids = inputs.memory_ids([what] if isinstance(what, str) else what)
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

    def _settle(self, plan: Callable[[], _Plan], dry_run: bool, progress: bool | Progress) -> _Plan:
        """What was planned; unless dry it is done too, with no other run in between."""
        if dry_run:
            return plan()
        with runs.alone(self._engine, self._space):
            planned = plan()
            due = pipeline.plans_of(planned)
            return pipeline.done_as(planned, self._do(due, progress)) if due else planned

    def _do(self, plans: Sequence[Plan], progress: bool | Progress) -> str:
        with progress_bar(progress, "writing") as shown:
            return pipeline.done(self._engine, self._space, plans, shown)

    def _vault(self, given: str | Path | None) -> Path | None:
        place = given or self.settings.vault
        return None if place is None else Path(place).expanduser().absolute()
