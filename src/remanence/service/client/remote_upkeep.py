"""Upkeep of a remote space: the server plans and does it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from remanence.errors import InvalidInput
from remanence.service.client.arguments import ids_to_json, like
from remanence.service.client.remote_facets import RemoteFacet
from remanence.service.endpoints import upkeep_operations
from remanence.service.endpoints.upkeep_operations import PlanReport
from remanence.space.facets.upkeep_facet import Upkeep
from remanence.upkeep.pipeline import DEFAULT_STEPS, run_id_of
from remanence.upkeep.runs import Run
from remanence.upkeep.settings import UpkeepSettings
from remanence.upkeep.steps.consolidation import step_of_mode


@like(Upkeep, "start")
class RemoteUpkeep(RemoteFacet):
    """Upkeep of a remote space."""

    def __init__(self, view: Any, changes: dict[str, Any] | None = None) -> None:
        super().__init__(view)
        self._changes = changes or {}

    @property
    def settings(self) -> UpkeepSettings:
        """The settings of the server, with the changes of `with_settings`."""
        found = self._ask(upkeep_operations.settings)
        return UpkeepSettings(**{**found, **self._changes})

    def with_settings(self, settings: UpkeepSettings | None = None, **changes: Any) -> RemoteUpkeep:
        if settings is not None:
            raise InvalidInput("give the settings to change by name; the others are those of the server.")
        self.settings.with_changes(**changes)  # raises an error if one is not valid
        return RemoteUpkeep(self._view, {**self._changes, **changes})

    def gc(self, *, dry_run: bool = False, mode: Any = None, limit: int | None = None, progress: Any = False) -> Any:
        return self._request_plan(dry_run, step="gc", mode=mode, limit=limit)

    def consolidate(
        self, mode: Any = "apply", *, dry_run: bool = False, clusters: Any = None, progress: Any = False
    ) -> Any:
        step = step_of_mode(mode)
        ids = None if clusters is None else [cluster.id for cluster in clusters]
        return self._request_plan(dry_run or mode == "preview", step=step, clusters=ids)

    def promote(self, ids: Any = None, *, vault: Any = None, dry_run: bool = False, progress: Any = False) -> Any:
        _refuse_vault(vault)
        return self._request_plan(dry_run, step="promote", ids=None if ids is None else ids_to_json(ids))

    def discover(self, *, dry_run: bool = False, progress: Any = False) -> Any:
        return self._request_plan(dry_run, step="discover")

    def run(
        self, *, dry_run: bool = False, steps: Sequence[Any] = DEFAULT_STEPS, vault: Any = None, progress: Any = False
    ) -> Any:
        _refuse_vault(vault)
        return self._request_plan(dry_run, step="run", steps=list(steps))

    def apply(self, plan: Any, *, progress: Any = False) -> Run | None:
        if not isinstance(plan, PlanReport):
            raise InvalidInput(f"{plan!r} is not a plan of this server. Give what a method with dry_run=True returned.")
        if plan.run is not None:
            raise InvalidInput(f"this plan was applied already, by run {plan.run}. Make a new one.")
        return self._ask(upkeep_operations.apply, plan=plan.id)

    def undo(self, run: Any) -> Any:
        run_id = run_id_of(run)
        return None if run_id is None else self._ask(upkeep_operations.undo, run=run_id)

    def restore(self, memories: Any) -> int:
        if isinstance(memories, PlanReport):
            memories = memories.memories
        ids = memories.hidden if isinstance(memories, Run) else ids_to_json(memories)
        return self._ask(upkeep_operations.restore, ids=ids)

    def _request_plan(self, dry_run: bool, **options: Any) -> PlanReport:
        plan = self._ask(upkeep_operations.preview, settings=self._changes or None, **options)
        run = None if dry_run else self.apply(plan)
        return plan if run is None else replace(plan, run=run.id)


def _refuse_vault(vault: object) -> None:
    if vault is not None:
        raise InvalidInput(f"vault={vault!r} would be a folder of the server. Set REMANENCE_VAULT there.")
