"""Several memories that say the same, as one that says all of it.

The new memory takes the place of its sources: they step back, and are reached through its links. Nothing
is lost, and `undo` puts them forward again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from remanence.core.identity import new_id
from remanence.core.index import Index
from remanence.errors import InvalidInput
from remanence.events import Event, Linked, Ran, Used
from remanence.language.text import pluralize, truncate
from remanence.schema import LinkKind
from remanence.upkeep import memory_clusters
from remanence.upkeep.existing_links import ExistingLinks
from remanence.upkeep.memory_clusters import Cluster, Clusters
from remanence.upkeep.merged_text import TextMerger
from remanence.upkeep.merging import Merge, plan_merges
from remanence.upkeep.scored_memories import ScoredMemories, StalePlan, check_current, check_unchanged
from remanence.upkeep.settings import UpkeepSettings
from remanence.upkeep.text_tables import format_table
from remanence.write.append import append
from remanence.write.extract import PreparedVersion

if TYPE_CHECKING:
    from remanence.core.engine import Engine
    from remanence.ports import Progress

STEP, LINK_STEP = "consolidate", "link"
OBSERVED_BY = "upkeep"
_BATCH = 200

Mode = Literal["merge", "link"]


@dataclass(frozen=True, slots=True)
class ConsolidationPlan:
    """Which memories become one, and in which words; or, in `link` mode, which are only tied together.

    It prints as a table; `space.upkeep.apply(plan)` does it.
    """

    mode: Mode
    merges: tuple[Merge, ...]
    links: tuple[tuple[str, str], ...]
    lines: tuple[tuple[str, int], ...]
    given: dict[str, Any]
    position: int
    has_new_memories: bool = False
    """Whether there was something new to look at. That it was looked at is written down even if nothing
    came of it, so that the next run need not look again."""
    run: str | None = None
    """The run that did this, once it was done."""

    def __len__(self) -> int:
        return len(self.merges) + len(self.links)

    def __iter__(self) -> Iterator[Merge]:
        return iter(self.merges)

    @property
    def step(self) -> str:
        """What the step is called in the ledger."""
        return LINK_STEP if self.mode == "link" else STEP

    @property
    def superseded_ids(self) -> tuple[str, ...]:
        """The memories that step back."""
        return tuple(memory for merging in self.merges for memory in merging.cluster.memory_ids)

    def __str__(self) -> str:
        if self.mode == "link":
            done = f"run {self.run} drew" if self.run else "would draw"
            return format_table(
                f"link: {done} {pluralize(len(self.links), 'link')}", ("memory", "related to"), self.links
            )
        done = f"run {self.run} merged" if self.run else "would merge"
        title = (
            f"consolidate: {done} {pluralize(len(self.superseded_ids), 'memory', 'memories')} into {len(self.merges)}"
        )
        rows = [
            (m.cluster.cohesion, len(m.cluster.items), _short(m.cluster.texts), m.text, m.wording.author_label)
            for m in self.merges
        ]
        problems = dict.fromkeys(m.wording.problem for m in self.merges if m.wording.problem)
        out = [format_table(title, ("cohesion", "size", "memories", "become", "written by"), rows)]
        return "\n".join([*out, *(f"  the model {problem}, so the rules wrote" for problem in problems)])


def plan(
    engine: Engine,
    index: Index,
    memories: ScoredMemories,
    settings: UpkeepSettings,
    mode: Mode,
    progress: Progress | None = None,
    *,
    clusters: Sequence[Cluster] | None = None,
    new_clusters: Clusters | None = None,
) -> ConsolidationPlan:
    """What to merge: the clusters that are alike enough and hold something new since the last run.

    What a run with the same settings has looked at and let be is let be again. `found` are the `news`, where
    they are known. `chosen` clusters are taken whatever is suggested for them.
    """
    looked = False
    if clusters is None:
        new_clusters = (
            find_new_clusters(index, memories, settings, mode, progress) if new_clusters is None else new_clusters
        )
        looked = new_clusters.examined_count > 0
        clusters = [cluster for cluster in new_clusters if cluster.action == "merge"]
    wanted = list(clusters)
    _still_there(memories, wanted)
    lines = {item.memory.id: item.position for cluster in wanted for item in cluster.items}
    if sum(len(cluster.items) for cluster in wanted) != len(lines):
        raise InvalidInput("a memory is in two of the clusters given. Merge one of them, then look again.")
    if mode == "link":
        merges: tuple[Merge, ...] = ()
        drawn = ExistingLinks(index, memories.snapshot)
        pairs = ((first, other) for c in wanted for first, *others in [c.memory_ids] for other in others)
        links = tuple(pair for pair in pairs if not drawn(*pair))
    else:
        merges, links = plan_merges(TextMerger(engine.extractor), index, wanted, progress), ()
    given = _given(settings)
    return ConsolidationPlan(mode, merges, links, tuple(lines.items()), given, memories.position, looked)


def find_new_clusters(
    index: Index, memories: ScoredMemories, settings: UpkeepSettings, mode: Mode, progress: Progress | None = None
) -> Clusters:
    """The clusters that hold something which the last such run has not seen; `looked_at` counts that."""
    fresh = _fresh(index, memories, STEP if mode == "merge" else LINK_STEP, _given(settings))
    similarity = settings.cluster_similarity
    found = memory_clusters.find_clusters(
        index, memories, settings, similarity=similarity, seeds=fresh, progress=progress
    )
    new = tuple(cluster for cluster in found if any(item.row in fresh for item in cluster.items))
    return replace(found, clusters=new, examined_count=len(fresh))


def check(engine: Engine, space: str, plan: ConsolidationPlan) -> None:
    """Refuse if a memory of the plan stands no more, or what it would do was done since."""
    with engine.open_index(space) as index:
        now = engine.now()
        check_current(index, dict(plan.lines), now)
        ExistingLinks(index, index.snapshot(index.catalog.position, now)).check_unlinked(plan.links)
        last = index.usage.last_run(plan.step, plan.given)
        if not len(plan) and last is not None and last.planned >= plan.position:
            raise StalePlan(f"run {last.id!r} has looked at the same")


def write(engine: Engine, space: str, plan: ConsolidationPlan, run: str, progress: Progress | None = None) -> None:
    """Do what the plan says, some clusters in each transaction."""
    if not plan.merges:
        _write_links(engine, space, plan, run)
        return
    lines = dict(plan.lines)
    for begin in range(0, len(plan.merges), _BATCH):
        some = plan.merges[begin : begin + _BATCH]

        def also(index: Index, ids: Sequence[str], some: Sequence[Merge] = some) -> list[Event]:
            sources = [memory for merging in some for memory in merging.cluster.memory_ids]
            check_unchanged(index, {memory: lines[memory] for memory in sources})
            if list(ids) != [merging.version.memory for merging in some]:
                raise StalePlan("the same memories were merged")
            ties = [tie for merging in some for tie in _ties(merging)]
            edges = tuple(tie.link for tie in ties)
            return [
                *ties,
                *(use for merging in some if (use := _carried(index, merging)) is not None),
                Ran(run, STEP, plan.position, plan.given, made=tuple(ids), used=tuple(sources), edges=edges),
            ]

        now = engine.now()
        append(engine, space, [PreparedVersion(merging.version, now) for merging in some], extra_events=also)
        if progress is not None:
            progress(begin + len(some), len(plan.merges))


def _write_links(engine: Engine, space: str, plan: ConsolidationPlan, run: str) -> None:
    def decide(index: Index) -> list[Event]:
        check_unchanged(index, dict(plan.lines))
        ties = [_tie(a, "related_to", b, "they say nearly the same") for a, b in plan.links]
        edges = tuple(tie.link for tie in ties)
        return [*ties, Ran(run, plan.step, plan.position, plan.given, edges=edges)]

    engine.write(space, decide)


def _still_there(there: ScoredMemories, wanted: Sequence[Cluster]) -> None:
    """Refuse clusters with a memory that has changed, or stepped back, since they were found."""
    lines = {item.memory.id: item.position for item in there.items}
    for cluster in wanted:
        for item in cluster.items:
            if lines.get(item.memory.id) != item.position:
                raise InvalidInput(
                    f"memory {item.memory.id!r} of cluster {cluster.id} is gone, was merged or has changed "
                    "since the cluster was found. Look for clusters again: space.upkeep.clusters()."
                )


def _given(settings: UpkeepSettings) -> dict[str, Any]:
    """The settings by which a cluster is merged or not."""
    return {
        "similarity": settings.cluster_similarity,
        "cohesion": settings.merge_cohesion,
        "size": settings.cluster_size,
        "neighbours": settings.cluster_neighbours,
    }


def _fresh(index: Index, there: ScoredMemories, step: str, given: dict[str, Any]) -> set[int]:
    """The rows that the last such run has not seen. What it made itself it has."""
    last = index.usage.last_run(step, given)
    if last is None:
        return {item.row for item in there.items}
    seen = set(last.made)
    return {
        item.row
        for item in there.items
        if item.position > last.planned and not (item.memory.id in seen and item.position < last.line)
    }


def _short(texts: Sequence[str]) -> str:
    return " | ".join(truncate(text, 40) for text in texts)


def _carried(index: Index, merging: Merge) -> Used | None:
    """The uses of the sources are uses of what took their place; one that was made of them before, and
    undone, has some of them already."""
    used = sum(index.usage.get(memory).times for memory in merging.cluster.memory_ids)
    times = used - index.usage.get(merging.version.memory).times
    return Used(merging.version.memory, times=times) if times > 0 else None


def _ties(merging: Merge) -> Iterator[Linked]:
    new, why = (
        merging.version.memory,
        f"merged by {merging.wording.author_label}, cohesion {merging.cluster.cohesion:.2f}",
    )
    for source in merging.cluster.memory_ids:
        yield _tie(new, "derived_from", source, why)
        yield _tie(new, "supersedes", source, why)


def _tie(source: str, kind: LinkKind, target: str, why: str) -> Linked:
    return Linked(new_id(), source, kind, target, observed_by=OBSERVED_BY, why=why)
