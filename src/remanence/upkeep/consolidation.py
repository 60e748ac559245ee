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
from remanence.language.text import cut, many
from remanence.schema import LinkKind
from remanence.upkeep import memory_clusters
from remanence.upkeep.existing_links import Drawn
from remanence.upkeep.memory_clusters import Cluster, Clusters
from remanence.upkeep.merged_text import Writer
from remanence.upkeep.merging import Merging, merges_of
from remanence.upkeep.scored_memories import Stale, Standing, still_standing, unchanged
from remanence.upkeep.settings import UpkeepSettings
from remanence.upkeep.text_tables import table
from remanence.write.append import append
from remanence.write.extract import Prepared

if TYPE_CHECKING:
    from remanence.core.engine import Engine
    from remanence.ports import Progress

STEP, LINK_STEP = "consolidate", "link"
BY = "upkeep"
_BATCH = 200

Mode = Literal["merge", "link"]


@dataclass(frozen=True, slots=True)
class ConsolidationPlan:
    """Which memories become one, and in which words; or, in `link` mode, which are only tied together.

    It prints as a table; `space.upkeep.apply(plan)` does it.
    """

    mode: Mode
    merges: tuple[Merging, ...]
    links: tuple[tuple[str, str], ...]
    lines: tuple[tuple[str, int], ...]
    given: dict[str, Any]
    position: int
    looked: bool = False
    """Whether there was something new to look at. That it was looked at is written down even if nothing
    came of it, so that the next run need not look again."""
    run: str | None = None
    """The run that did this, once it was done."""

    def __len__(self) -> int:
        return len(self.merges) + len(self.links)

    def __iter__(self) -> Iterator[Merging]:
        return iter(self.merges)

    @property
    def step(self) -> str:
        """What the step is called in the ledger."""
        return LINK_STEP if self.mode == "link" else STEP

    @property
    def retired(self) -> tuple[str, ...]:
        """The memories that step back."""
        return tuple(memory for merging in self.merges for memory in merging.cluster.memories)

    def __str__(self) -> str:
        if self.mode == "link":
            done = f"run {self.run} drew" if self.run else "would draw"
            return table(
                f"link: {done} {many(len(self.links), 'link')}", ("memory", "related to"), self.links
            )
        done = f"run {self.run} merged" if self.run else "would merge"
        title = f"consolidate: {done} {many(len(self.retired), 'memory', 'memories')} into {len(self.merges)}"
        rows = [
            (m.cluster.cohesion, len(m.cluster.items), _short(m.cluster.texts), m.text, m.wording.writer)
            for m in self.merges
        ]
        problems = dict.fromkeys(m.wording.problem for m in self.merges if m.wording.problem)
        out = [table(title, ("cohesion", "size", "memories", "become", "written by"), rows)]
        return "\n".join([*out, *(f"  the model {problem}, so the rules wrote" for problem in problems)])


def plan(
    engine: Engine,
    index: Index,
    there: Standing,
    settings: UpkeepSettings,
    mode: Mode,
    progress: Progress | None = None,
    *,
    chosen: Sequence[Cluster] | None = None,
    found: Clusters | None = None,
) -> ConsolidationPlan:
    """What to merge: the clusters that are alike enough and hold something new since the last run.

    What a run with the same settings has looked at and let be is let be again. `found` are the `news`, where
    they are known. `chosen` clusters are taken whatever is suggested for them.
    """
    looked = False
    if chosen is None:
        found = news(index, there, settings, mode, progress) if found is None else found
        looked = found.looked_at > 0
        chosen = [cluster for cluster in found if cluster.action == "merge"]
    wanted = list(chosen)
    _still_there(there, wanted)
    lines = {item.memory.id: item.line for cluster in wanted for item in cluster.items}
    if sum(len(cluster.items) for cluster in wanted) != len(lines):
        raise InvalidInput("a memory is in two of the clusters given. Merge one of them, then look again.")
    if mode == "link":
        merges: tuple[Merging, ...] = ()
        drawn = Drawn(index, there.sight)
        pairs = ((first, other) for c in wanted for first, *others in [c.memories] for other in others)
        links = tuple(pair for pair in pairs if not drawn(*pair))
    else:
        merges, links = merges_of(Writer(engine.extractor), index, wanted, progress), ()
    given = _given(settings)
    return ConsolidationPlan(mode, merges, links, tuple(lines.items()), given, there.position, looked)


def news(
    index: Index, there: Standing, settings: UpkeepSettings, mode: Mode, progress: Progress | None = None
) -> Clusters:
    """The clusters that hold something which the last such run has not seen; `looked_at` counts that."""
    fresh = _fresh(index, there, STEP if mode == "merge" else LINK_STEP, _given(settings))
    similarity = settings.cluster_similarity
    found = memory_clusters.find(
        index, there, settings, similarity=similarity, seeds=fresh, progress=progress
    )
    new = tuple(cluster for cluster in found if any(item.row in fresh for item in cluster.items))
    return replace(found, found=new, looked_at=len(fresh))


def check(engine: Engine, space: str, plan: ConsolidationPlan) -> None:
    """Refuse if a memory of the plan stands no more, or what it would do was done since."""
    with engine.using(space) as index:
        now = engine.now()
        still_standing(index, dict(plan.lines), now)
        Drawn(index, index.sight(index.catalog.position, now)).refuse(plan.links)
        last = index.usage.last_run(plan.step, plan.given)
        if not len(plan) and last is not None and last.planned >= plan.position:
            raise Stale(f"run {last.id!r} has looked at the same")


def write(
    engine: Engine, space: str, plan: ConsolidationPlan, run: str, progress: Progress | None = None
) -> None:
    """Do what the plan says, some clusters in each transaction."""
    if not plan.merges:
        _write_links(engine, space, plan, run)
        return
    lines = dict(plan.lines)
    for begin in range(0, len(plan.merges), _BATCH):
        some = plan.merges[begin : begin + _BATCH]

        def also(index: Index, ids: Sequence[str], some: Sequence[Merging] = some) -> list[Event]:
            sources = [memory for merging in some for memory in merging.cluster.memories]
            unchanged(index, {memory: lines[memory] for memory in sources})
            if list(ids) != [merging.version.memory for merging in some]:
                raise Stale("the same memories were merged")
            ties = [tie for merging in some for tie in _ties(merging)]
            edges = tuple(tie.link for tie in ties)
            return [
                *ties,
                *(use for merging in some if (use := _carried(index, merging)) is not None),
                Ran(run, STEP, plan.position, plan.given, made=tuple(ids), used=tuple(sources), edges=edges),
            ]

        now = engine.now()
        append(engine, space, [Prepared(merging.version, now) for merging in some], also=also)
        if progress is not None:
            progress(begin + len(some), len(plan.merges))


def _write_links(engine: Engine, space: str, plan: ConsolidationPlan, run: str) -> None:
    def decide(index: Index) -> list[Event]:
        unchanged(index, dict(plan.lines))
        ties = [_tie(a, "related_to", b, "they say nearly the same") for a, b in plan.links]
        edges = tuple(tie.link for tie in ties)
        return [*ties, Ran(run, plan.step, plan.position, plan.given, edges=edges)]

    engine.write(space, decide)


def _still_there(there: Standing, wanted: Sequence[Cluster]) -> None:
    """Refuse clusters with a memory that has changed, or stepped back, since they were found."""
    lines = {item.memory.id: item.line for item in there.items}
    for cluster in wanted:
        for item in cluster.items:
            if lines.get(item.memory.id) != item.line:
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


def _fresh(index: Index, there: Standing, step: str, given: dict[str, Any]) -> set[int]:
    """The rows that the last such run has not seen. What it made itself it has."""
    last = index.usage.last_run(step, given)
    if last is None:
        return {item.row for item in there.items}
    seen = set(last.made)
    return {
        item.row
        for item in there.items
        if item.line > last.planned and not (item.memory.id in seen and item.line < last.line)
    }


def _short(texts: Sequence[str]) -> str:
    return " | ".join(cut(text, 40) for text in texts)


def _carried(index: Index, merging: Merging) -> Used | None:
    """The uses of the sources are uses of what took their place; one that was made of them before, and
    undone, has some of them already."""
    used = sum(index.usage.of(memory).times for memory in merging.cluster.memories)
    times = used - index.usage.of(merging.version.memory).times
    return Used(merging.version.memory, times=times) if times > 0 else None


def _ties(merging: Merging) -> Iterator[Linked]:
    new, why = (
        merging.version.memory,
        f"merged by {merging.wording.writer}, cohesion {merging.cluster.cohesion:.2f}",
    )
    for source in merging.cluster.memories:
        yield _tie(new, "derived_from", source, why)
        yield _tie(new, "supersedes", source, why)


def _tie(source: str, kind: LinkKind, target: str, why: str) -> Linked:
    return Linked(new_id(), source, kind, target, observed_by=BY, why=why)
