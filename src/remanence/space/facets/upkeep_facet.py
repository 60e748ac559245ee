"""`space.upkeep`: each step on its own, several steps as one run, and undoing a run.

Each step is planned first, then applied; with `dry_run=True` it is only planned. A plan is a value that prints as a
table. Applying it does exactly what it says, or nothing at all if something has changed in the meantime.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

from remanence.errors import InvalidInput
from remanence.index.engine import inputs
from remanence.index.engine.in_thread import in_thread
from remanence.index.engine.inputs import progress_bar
from remanence.index.index import Index
from remanence.remember.forget import record_expired, unforget
from remanence.schema import Memory
from remanence.space.facets.upkeep_reports import UpkeepReports
from remanence.upkeep import pipeline, runs
from remanence.upkeep.pipeline import DEFAULT_STEPS, AnyPlan, Schedule, Step, parse_interval
from remanence.upkeep.plans import Plan, UpkeepPlan
from remanence.upkeep.runs import Run, UndoReport
from remanence.upkeep.settings import UpkeepSettings
from remanence.upkeep.steps import consolidation, discovery, garbage_collection
from remanence.upkeep.steps.clusters import Cluster
from remanence.upkeep.steps.decay import ScoredMemories
from remanence.upkeep.steps.discovery import RelatedPair
from remanence.upkeep.steps.garbage_collection import FadedMemory, MissedRecallReport
from remanence.upkeep.vault_notes import promotion, vault_import
from remanence.upkeep.vault_notes.promotion import Promotion

if TYPE_CHECKING:
    from remanence.ports import Progress


class Upkeep(UpkeepReports):
    """Decay, forgetting, consolidation, promotion and linking of the memories of one space.

    Every step only appends to the ledger and can be undone. Methods with `dry_run` apply their plan and return
    it; with `dry_run=True` they only return it, and `apply` does what it says. A plan prints as a table. With
    `progress=True` a progress bar is shown; a function is called with (done, total).

    Raises:
        LedgerUnavailable: From every method that writes, if another upkeep run is active. Nothing is done then.
    """

    def with_settings(self, settings: UpkeepSettings | None = None, **changes: Any) -> Upkeep:
        """Upkeep of the same space with other settings.

        Args:
            settings: The settings; those of this object if left out.
            **changes: Settings to change, by name.

        Returns:
            An object with the same methods. This one stays as it is.
        """
        changed = (settings or self.settings).with_changes(**changes)
        return Upkeep(self._engine, self._space, self._position, self._now, changed)

    def expire(self) -> list[Memory]:
        """Record which memories have expired since the last call. `recall` omits expired memories in any case."""
        return record_expired(self._engine, self._space)

    def gc(
        self,
        *,
        dry_run: bool = False,
        mode: Literal["forget", "archive"] | None = None,
        limit: int | None = None,
        progress: bool | Progress = False,
    ) -> Plan[FadedMemory]:
        """Hide the memories that score less than `forget_below`, the lowest scores first.

        `restore(plan)` or `undo(plan)` brings them back.

        Args:
            mode: "forget" hides the memories. "archive" moves them to the archive: `space.memories("archived")`
                lists it, `recall(..., include="archive")` searches it. By default the setting `gc`.
            limit: Hide at most this many.
        """
        settings = self.settings if mode is None else self.settings.with_changes(gc=mode)
        return self._step(
            lambda index, memories, _: garbage_collection.propose_forgetting(index, memories, settings, limit),
            dry_run,
            progress,
            below=settings.forget_below,
        )

    def consolidate(
        self,
        mode: Literal["apply", "link", "preview"] = "apply",
        *,
        dry_run: bool = False,
        clusters: Sequence[Cluster] | None = None,
        progress: bool | Progress = False,
    ) -> Plan[Any]:
        """Merge memories that say nearly the same into one.

        The new memory counts as told when the last of them was; `meta["merged"]["first_told"]` is when the first was.

        Args:
            mode: "apply" merges. "link" links each pair of the memories instead of merging them, also those that a
                person should review before a merge. "preview" is "apply" with `dry_run=True`.
            clusters: Some of the clusters that `clusters()` found, to merge regardless of what is suggested for
                them. By default those that are similar enough and have a new memory.

        Returns:
            The plan, whose items are merges or pairs of related memories.

        Raises:
            InvalidInput: The mode is unknown, or a cluster does not fit the memories any more.
        """
        step = consolidation.step_of_mode(mode)
        propose = partial(
            consolidation.propose_consolidation, self._engine, settings=self.settings, step=step, clusters=clusters
        )
        return self._step(propose, dry_run or mode == "preview", progress)

    def promote(
        self,
        ids: str | Memory | Iterable[str | Memory] | None = None,
        *,
        vault: str | Path | None = None,
        dry_run: bool = False,
        progress: bool | Progress = False,
    ) -> Plan[Promotion]:
        """Promote memories that were used often or score high: `gc` will not hide them.

        Args:
            ids: Memories to promote whatever their score and uses, and no others.
            vault: A folder in which to write them as Markdown notes; by default the setting `vault`.

        Raises:
            NotFound: A memory given by its id does not exist, or is not current.
            LedgerUnavailable: The vault cannot be written to, or another upkeep run is active.
        """
        folder, named = self._vault(vault), None if ids is None else inputs.check_one_or_more_ids(ids)
        return self._step(
            lambda index, memories, _: promotion.propose_promotion(index, memories, self.settings, folder, named),
            dry_run,
            progress,
        )

    def import_vault(
        self, vault: str | Path | None = None, *, dry_run: bool = False, progress: bool | Progress = False
    ) -> UpkeepPlan:
        """Store what a person has edited and written in a vault. Deleted notes are only reported.

        Args:
            vault: The folder; by default the setting `vault`.

        Returns:
            The plan: of edited notes, and of notes that a person wrote.

        Raises:
            InvalidInput: No vault is given, or there is no such folder.
        """
        folder = self._vault(vault)
        if folder is None:
            raise InvalidInput("There is no vault to import: give its folder, or set REMANENCE_VAULT.")

        def plan() -> UpkeepPlan:
            with progress_bar(progress, "reading") as report:
                return vault_import.plan_vault_import(self._engine, self._space, folder, self._engine.now(), report)

        return self._preview_or_apply(plan, dry_run, progress)

    def discover(self, *, dry_run: bool = False, progress: bool | Progress = False) -> Plan[RelatedPair]:
        """Link memories that are about the same entities, at least two, from a score of `settings.relate_above` on."""
        return self._step(
            lambda index, memories, report: discovery.propose_links(index, memories, self.settings, report),
            dry_run,
            progress,
        )

    def run(
        self,
        *,
        dry_run: bool = False,
        steps: Sequence[Step] = DEFAULT_STEPS,
        vault: str | Path | None = None,
        progress: bool | Progress = False,
    ) -> UpkeepPlan:
        """Several steps as one run.

        Args:
            steps: Some of "decay", "gc", "clusters", "consolidate", "promote", "discover"; by default all but "gc".
            vault: A folder for the notes of promoted memories; by default the setting `vault`.

        Example:
            >>> import remanence
            >>> with remanence.open(None) as space:
            ...     run = space.upkeep.apply(space.upkeep.run(dry_run=True))
            ...     space.upkeep.undo(run)
        """
        folder, settings = self._vault(vault), self.settings
        plan = partial(pipeline.plan_steps, self._engine, settings=settings, steps=steps, folder=folder)
        return self._step(plan, dry_run, progress)

    def apply(self, plan: Plan | UpkeepPlan, *, progress: bool | Progress = False) -> Run | None:
        """Do exactly what a plan says.

        Args:
            plan: What a method with `dry_run=True` returned.

        Returns:
            The run; None if there was nothing to do.

        Raises:
            InvalidInput: This is not a plan, it was applied already, or something has changed since it was made.
        """
        pipeline.check_applicable(plan)
        if not plan.has_changes:
            return None
        with runs.upkeep_lock(self._engine, self._space):
            applied = self._apply(plan, progress)
        return next(run for run in self.runs() if run.id == applied.run)

    @overload
    def undo(self, run: str | Run) -> UndoReport: ...
    @overload
    def undo(self, run: str | Run | Plan | UpkeepPlan | None) -> UndoReport | None: ...
    def undo(self, run: str | Run | Plan | UpkeepPlan | None) -> UndoReport | None:
        """Reverse a run by appending the opposite changes.

        Args:
            run: The run, its id, or a plan that was applied. None, as `apply` returns when there was nothing to
                do, is allowed: `undo(apply(plan))` is safe for every plan.

        Returns:
            The report; it names the memories that were changed since and left as they are. None if nothing was
            done.

        Raises:
            NotFound: There is no such run.
            InvalidInput: It was undone already, or a later run used what it made.
        """
        run_id = pipeline.run_id_of(run)
        return None if run_id is None else pipeline.undo_run(self._engine, self._space, run_id)

    async def aundo(self, run: str | Run | Plan | UpkeepPlan | None) -> UndoReport | None:
        """`undo` in a worker thread, for use with asyncio."""  # by hand: `in_thread` cannot express overloads
        import asyncio  # here, as it takes long to load and most programs do not use it

        return await asyncio.to_thread(self.undo, run)

    def restore(self, memories: MissedRecallReport | Plan | Run | str | Memory | Iterable[str | Memory]) -> int:
        """Bring back forgotten or archived memories.

        Args:
            memories: A report of `missed_recalls`, a `gc` plan or run, or memories or their ids. Memories that a `gc`
                hid and that were erased or forgotten by hand since are omitted.

        Returns:
            How many memories were restored.

        Raises:
            NotFound: A memory given by its id does not exist, or was erased.
        """
        if isinstance(memories, MissedRecallReport | Plan | Run):
            return runs.restore(self._engine, self._space, memories.hidden)
        return unforget(self._engine, self._space, inputs.check_one_or_more_ids(memories))

    def start(
        self,
        interval: str | float | timedelta = "1h",
        *,
        steps: Sequence[Step] = DEFAULT_STEPS,
        vault: str | Path | None = None,
    ) -> Schedule:
        """Call `expire()` and `run()` at once and then at intervals, in a thread, until `.stop()`.

        Args:
            interval: The interval: seconds, a timedelta, or such as "30m", "1h", "2d".

        Returns:
            The schedule. Call its `stop` to end it.
        """

        def work() -> None:
            self.expire()
            self.run(steps=steps, vault=vault)

        schedule = Schedule(work, parse_interval(interval))
        schedule.start()
        return schedule

    aexpire = in_thread(expire)
    agc = in_thread(gc)
    aconsolidate = in_thread(consolidate)
    apromote = in_thread(promote)
    aimport_vault = in_thread(import_vault)
    adiscover = in_thread(discover)
    arun = in_thread(run)
    aapply = in_thread(apply)
    arestore = in_thread(restore)

    def _step(
        self,
        plan: Callable[[Index, ScoredMemories, Progress | None], AnyPlan],
        dry_run: bool,
        progress: bool | Progress,
        *,
        below: float = math.inf,
    ) -> AnyPlan:
        return self._preview_or_apply(lambda: self._with_memories(plan, progress, below=below), dry_run, progress)

    def _preview_or_apply(self, plan: Callable[[], AnyPlan], dry_run: bool, progress: bool | Progress) -> AnyPlan:
        """Make a plan; unless dry, apply it too, with no other run in between."""
        if dry_run:
            return plan()
        with runs.upkeep_lock(self._engine, self._space):
            planned = plan()
            return self._apply(planned, progress) if planned.has_changes else planned

    def _apply(self, plan: AnyPlan, progress: bool | Progress) -> AnyPlan:
        with progress_bar(progress, "writing") as report:
            return pipeline.apply_plan(self._engine, self._space, plan, report)

    def _vault(self, folder: str | Path | None) -> Path | None:
        folder = folder or self.settings.vault
        return None if folder is None else Path(folder).expanduser().absolute()
