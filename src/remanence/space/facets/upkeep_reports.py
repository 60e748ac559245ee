"""What `space.upkeep` reports without changing anything: decay, clusters, missed recalls, runs."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, TypeVar

from remanence.errors import InvalidInput
from remanence.index.engine import inputs
from remanence.index.engine.engine import Engine
from remanence.index.engine.in_thread import in_thread
from remanence.index.engine.inputs import progress_bar
from remanence.index.index import Index
from remanence.index.numbers import Position
from remanence.space.facets.facet import Facet
from remanence.upkeep import runs
from remanence.upkeep.runs import Run
from remanence.upkeep.settings import UpkeepSettings
from remanence.upkeep.steps import garbage_collection
from remanence.upkeep.steps.clusters import MAX_CLUSTER_SIZE, Clusters, find_clusters
from remanence.upkeep.steps.decay import DecayReport, ScoredMemories, report_decay, risk_bound, score_memories
from remanence.upkeep.steps.garbage_collection import MissedRecallReport

if TYPE_CHECKING:
    from remanence.ports import Progress

T = TypeVar("T")


class UpkeepReports(Facet):
    """The settings of upkeep, and what can be read of the memories of one space with them."""

    def __init__(
        self,
        engine: Engine,
        space: str,
        position: Callable[[Index], Position],
        now: Callable[[], datetime],
        settings: UpkeepSettings | None = None,
    ) -> None:
        super().__init__(engine, space, position, now)
        self._settings = UpkeepSettings.from_env() if settings is None else settings

    @property
    def settings(self) -> UpkeepSettings:
        """The settings, read-only. `with_settings(...)` returns an `Upkeep` with other ones."""
        return self._settings

    def decay(self, *, limit: int | None = None, progress: bool | Progress = False) -> DecayReport:
        """Which memories are at risk of being forgotten, how urgently, and what could be done. Changes nothing.

        Args:
            limit: The most memories to list, those with the lowest scores. `left_out` counts the others.
        """
        return self._with_memories(
            lambda _, memories, __: report_decay(memories, self.settings),
            progress,
            below=risk_bound(self.settings),
            limit=None if limit is None else inputs.check_positive_int(limit, "limit"),
        )

    def clusters(
        self,
        *,
        similarity: float | None = None,
        duplicates: bool = False,
        max_size: int = MAX_CLUSTER_SIZE,
        progress: bool | Progress = False,
    ) -> Clusters:
        """Groups of memories that say nearly the same. Changes nothing.

        Args:
            similarity: The least similarity (cosine) of two memories of a cluster; by default the setting
                `cluster_similarity`.
            duplicates: Use the setting `duplicate_similarity` instead.
            max_size: The most memories of a cluster, from 2 to 12.

        Returns:
            The clusters; `pairs` has each pair of similar memories with its similarity.

        Raises:
            InvalidInput: `similarity` is not a number from 0 to 1, or is given together with `duplicates`.
        """
        if similarity is not None and duplicates:
            raise InvalidInput(f"similarity={similarity!r} and duplicates=True are both given. Leave one of them out.")
        similarity = inputs.check_fraction(similarity, "similarity")
        if similarity is None:
            similarity = self.settings.duplicate_similarity if duplicates else self.settings.cluster_similarity
        if inputs.check_positive_int(max_size, "max_size", MAX_CLUSTER_SIZE) < 2:
            raise InvalidInput("max_size=1: a cluster has at least two memories.")

        return self._with_memories(
            lambda index, memories, shown: find_clusters(
                index, memories, self.settings, similarity, progress=shown, max_size=max_size
            ),
            progress,
        )

    def missed_recalls(self) -> MissedRecallReport:
        """How many recorded recalls (`space.audit.record`) missed a memory that `gc` hid."""
        return garbage_collection.find_missed_recalls(self._engine, self._space)

    def runs(self) -> list[Run]:
        """The upkeep runs of this space, oldest first, also those that were undone. `undo` takes one."""
        return runs.list_runs(self._engine, self._space)

    adecay = in_thread(decay)
    aclusters = in_thread(clusters)
    amissed_recalls = in_thread(missed_recalls)
    aruns = in_thread(runs)

    def _with_memories(
        self,
        function: Callable[[Index, ScoredMemories, Progress | None], T],
        progress: bool | Progress,
        *,
        below: float = math.inf,
        limit: int | None = None,
    ) -> T:
        """Call a function with the current memories; with `below`, those that score less, at most `limit`."""
        with self._engine.open_index(self._space) as index, progress_bar(progress, "planning") as report:
            memories = score_memories(index, self._engine.now(), self.settings, report, below=below, limit=limit)
            return function(index, memories, report)
