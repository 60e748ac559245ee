"""Merges memories that say nearly the same into one new memory.

The new memory supersedes its sources, which stay reachable through its links. `undo` makes them current again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import Any, Literal

from remanence.errors import InvalidInput
from remanence.events import Event, Linked, Ran, Remembered, Used
from remanence.index.engine.engine import Engine
from remanence.index.engine.identity import new_id
from remanence.index.index import Index
from remanence.ports import Progress
from remanence.remember.append import append
from remanence.remember.prepare import PreparedVersion
from remanence.schema import LinkKind, Window
from remanence.text.text import pluralize, split_passages, text_hash
from remanence.upkeep import plans
from remanence.upkeep.plans import Plan, ResultTable, StalePlan, batches
from remanence.upkeep.settings import UpkeepSettings
from remanence.upkeep.steps.clusters import MAX_CLUSTER_SIZE, MAX_NEIGHBOURS, Cluster, Clusters, find_clusters
from remanence.upkeep.steps.decay import MAX_STRENGTH, ScoredMemories, last_used, strength_of
from remanence.upkeep.steps.merged_text import MergedText, TextMerger, contains_name

OBSERVED_BY = "upkeep"
_BATCH = 200
"""Merges that are written at once."""
_COHESION_GAIN = 0.5
"""The strength above 1 that a merged memory has for each unit of the cohesion (mean cosine of the pairs). Chosen by
hand."""

Step = Literal["consolidate", "link"]


def step_of_mode(mode: object) -> Step:
    """The step that a mode of `consolidate` plans."""
    if mode not in ("preview", "apply", "link"):
        raise InvalidInput(f"mode={mode!r} is neither 'preview', 'apply' nor 'link'.")
    return "link" if mode == "link" else "consolidate"


@dataclass(frozen=True, slots=True)
class Merge:
    """A cluster, the version of the memory that replaces it, and the wording of its text."""

    cluster: Cluster
    version: Remembered
    wording: MergedText

    @property
    def text(self) -> str:
        return self.version.text


@dataclass(frozen=True, slots=True)
class ConsolidationPlan(Plan):
    """Which memories are merged, and into which text; or, in `link` mode, which are only linked."""

    step: Step
    merges: tuple[Merge, ...]
    links: tuple[tuple[str, str], ...]
    positions: dict[str, int]
    """The memories of the plan with the ledger positions of their versions."""
    parameters: dict[str, Any]
    has_new_memories: bool
    """Whether there were new memories to compare. That they were compared is recorded even if nothing is
    merged, so that the next run does not compare them again."""

    def __len__(self) -> int:
        return len(self.merges) + len(self.links)

    def __iter__(self) -> Iterator[Merge]:
        return iter(self.merges)

    @property
    def has_changes(self) -> bool:
        return len(self) > 0 or self.has_new_memories

    @property
    def superseded_ids(self) -> tuple[str, ...]:
        return tuple(memory for merge in self.merges for memory in merge.cluster.memory_ids)

    @property
    def table(self) -> ResultTable:
        if self.step == "link":
            title = f"link: {self.verb('added', 'add')} {pluralize(len(self.links), 'link')}"
            return ResultTable(title, ("memory", "related to"), self.links)
        sources = pluralize(len(self.superseded_ids), "memory", "memories")
        title = f"consolidate: {self.verb('merged', 'merge')} {sources} into {len(self.merges)}"
        rows = [
            (m.cluster.cohesion, len(m.cluster.items), m.cluster.summary, m.text, m.wording.author_label)
            for m in self.merges
        ]
        problems = dict.fromkeys(m.wording.problem for m in self.merges if m.wording.problem)
        notes = [f"the model {problem}, so the rules merged the texts" for problem in problems]
        return ResultTable(title, ("cohesion", "size", "memories", "become", "written by"), rows, notes)

    def check(self, engine: Engine, space: str) -> None:
        with engine.open_index(space) as index:
            plans.check_current(index, self.positions, engine.now(), unlinked=self.links)
            last = index.usage.last_run(self.step, self.parameters)
            if not len(self) and last is not None and last.planned_position >= self.position:
                raise StalePlan(f"run {last.id!r} has compared the same memories")

    def write(self, engine: Engine, space: str, run: str, progress: Progress | None) -> None:
        if not self.merges:
            engine.write(space, partial(self._link_events, run))
        for batch in batches(self.merges, _BATCH, progress):
            now = engine.now()
            versions = [PreparedVersion(merge.version, now) for merge in batch]
            append(engine, space, versions, extra_events=partial(self._merge_events, run, batch))

    def _merge_events(self, run: str, batch: Sequence[Merge], index: Index, ids: Sequence[str]) -> list[Event]:
        sources = tuple(memory for merge in batch for memory in merge.cluster.memory_ids)
        plans.check_unchanged(index, {memory: self.positions[memory] for memory in sources})
        if list(ids) != [merge.version.memory for merge in batch]:
            raise StalePlan("the same memories were merged")
        links: list[Linked] = []
        uses: list[Used] = []
        for merge in batch:
            new = merge.version.memory
            why = f"merged by {merge.wording.author_label}, cohesion {merge.cluster.cohesion:.2f}"
            for source in merge.cluster.memory_ids:
                links += [_link(new, "derived_from", source, why), _link(new, "supersedes", source, why)]
            # The uses of the sources count for the new memory. If the merge was undone and repeated, it has some.
            times = sum(index.usage.get(memory).use_count for memory in merge.cluster.memory_ids)
            times -= index.usage.get(new).use_count
            latest = max(last_used(item.memory, index.usage.get(item.memory.id)) for item in merge.cluster.items)
            uses.append(Used(new, times=max(times, 0), last_used=latest))
        edges = tuple(link.link for link in links)
        ran = Ran(run, self.step, self.position, self.parameters, made=tuple(ids), used=sources, edges=edges)
        return [*links, *uses, ran]

    def _link_events(self, run: str, index: Index) -> list[Event]:
        plans.check_unchanged(index, self.positions)
        links = [_link(memory, "related_to", other, "they say similar things") for memory, other in self.links]
        edges = tuple(link.link for link in links)
        return [*links, Ran(run, self.step, self.position, self.parameters, edges=edges)]


def plan_consolidation(
    engine: Engine,
    index: Index,
    memories: ScoredMemories,
    progress: Progress | None,
    *,
    settings: UpkeepSettings,
    step: Step = "consolidate",
    clusters: Sequence[Cluster] | None = None,
    new_clusters: Clusters | None = None,
) -> ConsolidationPlan:
    """Plan to merge the clusters that are similar enough and have a memory that the last run did not compare.

    Args:
        clusters: Merge these, whatever is suggested for them.
        new_clusters: What `find_new_clusters` returned, if it was called already.
    """
    has_new, given = False, clusters is not None
    if clusters is None:
        if new_clusters is None:
            new_clusters = find_new_clusters(index, memories, settings, step, progress)
        has_new = new_clusters.examined_count > 0
        # A link changes nothing else, so what a person should look at before a merge is linked too.
        wanted = ("merge",) if step == "consolidate" else ("merge", "review")
        clusters = [cluster for cluster in new_clusters if cluster.action in wanted]
    positions = _check_clusters(memories, clusters)
    merges: tuple[Merge, ...] = ()
    links: tuple[tuple[str, str], ...] = ()
    if step == "link":
        pairs = [pair for cluster in clusters for pair in combinations(cluster.memory_ids, 2)]
        links = tuple(pair for pair in pairs if not plans.are_linked(index, *pair, memories.snapshot))
    else:
        merger = TextMerger(engine.extractor)
        merges = tuple(
            merge
            for [cluster] in batches(clusters, 1, progress)
            if (merge := _merge(merger, index, cluster, is_given=given)) is not None
        )
    parameters = _parameters(settings)
    return ConsolidationPlan(step, merges, links, positions, parameters, has_new, position=memories.position)


def find_new_clusters(
    index: Index, memories: ScoredMemories, settings: UpkeepSettings, step: Step, progress: Progress | None
) -> Clusters:
    """The clusters with a memory that no run with the same settings has compared. A run every hour must not
    compare everything every hour."""
    new = _new_rows(index, memories, step, _parameters(settings))
    found = find_clusters(index, memories, settings, settings.cluster_similarity, seeds=new, progress=progress)
    chosen = tuple(cluster for cluster in found if any(item.row in new for item in cluster.items))
    return replace(found, clusters=chosen, examined_count=len(new))


def _link(source: str, kind: LinkKind, target: str, why: str) -> Linked:
    return Linked(new_id(), source, kind, target, observed_by=OBSERVED_BY, why=why)


def _check_clusters(memories: ScoredMemories, clusters: Sequence[Cluster]) -> dict[str, int]:
    """The memories of the clusters with their positions, if they are unchanged and each is in one cluster."""
    current = {item.memory.id: item.position for item in memories.items}
    positions: dict[str, int] = {}
    for cluster in clusters:
        for item in cluster.items:
            memory = item.memory.id
            if current.get(memory) != item.position:
                raise InvalidInput(
                    f"memory {memory!r} of cluster {cluster.id} was hidden, merged or changed since the cluster "
                    "was found. Look for clusters again: space.upkeep.clusters()."
                )
            if memory in positions:
                raise InvalidInput(f"memory {memory!r} is in two of the clusters given. Merge one of them first.")
            positions[memory] = item.position
    return positions


def _parameters(settings: UpkeepSettings) -> dict[str, Any]:
    """What decides whether a cluster is merged. Recorded in the ledger, where later runs compare it: the keys
    must not change."""
    return {
        "similarity": settings.cluster_similarity,
        "cohesion": settings.merge_cohesion,
        "size": MAX_CLUSTER_SIZE,
        "neighbours": MAX_NEIGHBOURS,
    }


def _new_rows(index: Index, memories: ScoredMemories, step: str, parameters: dict[str, Any]) -> set[int]:
    """The rows that the last such run did not compare. The memories that it made itself count as compared."""
    last = index.usage.last_run(step, parameters)
    if last is None:
        return {item.row for item in memories.items}
    made = set(last.created_ids)
    return {
        item.row
        for item in memories.items
        if item.position > last.planned_position and not (item.memory.id in made and item.position < last.position)
    }


def _merge(merger: TextMerger, index: Index, cluster: Cluster, *, is_given: bool) -> Merge | None:
    """The memory that replaces a cluster, with everything known about any of its memories. None if one was erased
    meanwhile; if the caller gave the cluster, that is an error."""
    found = [index.latest_version(memory) for memory in cluster.memory_ids]
    versions = [version for version in found if version is not None]
    if len(versions) != len(found):
        if not is_given:
            return None
        raise InvalidInput(f"a memory of cluster {cluster.id} was erased meanwhile. Look for clusters again.")
    mentions = _union_in_order(version.mentions for version in versions)
    sources = "\n".join(cluster.texts)
    # Only the names that the texts have: not "Ann" where the text says "I".
    wording = merger.merge(cluster.texts, [m.name for m in mentions if contains_name(m.name, sources)])
    identity = text_hash("|".join(("consolidated", *sorted(cluster.memory_ids)))).hex()
    number = index.catalog.find_by_identity(identity)
    strongest = max(strength_of(item.memory, item.usage) for item in cluster.items)
    expiries = [version.expires_at for version in versions]
    told = [item.memory.told_at for item in cluster.items]
    version = Remembered(
        # A memory that was merged from the same sources and undone is restored.
        memory=new_id() if number is None else index.catalog.ids[number],
        text=wording.text,
        identity=identity,
        content=text_hash(wording.text).hex(),
        kind=_shared_value([version.kind for version in versions], "semantic"),
        valid=_covering_window([version.valid for version in versions]),
        importance=max(version.importance for version in versions),
        confidence=max(version.confidence for version in versions),
        strength=round(min(MAX_STRENGTH, max(1 + _COHESION_GAIN * cluster.cohesion, strongest)), 4),
        tags=_union_in_order(version.tags for version in versions),
        source=_shared_value([version.source for version in versions], None),
        observed_by=_shared_value([version.observed_by for version in versions], None),
        expires_at=None if None in expiries else max(end for end in expiries if end is not None),
        mentions=mentions,
        triples=_union_in_order(version.triples for version in versions),
        times=_union_in_order(version.times for version in versions),
        passages=split_passages(wording.text),
        meta={"merged": {"first_told": min(told).isoformat(), **_authorship(wording)}},
        # Not now: what was said long ago would look newer than what was said since.
        told_at=max(told),
        trust=min(version.trust for version in versions),
    )
    return Merge(cluster, version, wording)


def _authorship(wording: MergedText) -> dict[str, Any]:
    """Who wrote a text, and if a model was asked, the model and the prompt, as with extracted facts."""
    details = {"by": wording.author, "model": wording.model, "prompt": wording.prompt, "problem": wording.problem}
    return {name: value for name, value in details.items() if value is not None}


def _union_in_order(parts: Iterable[Iterable[Any]]) -> tuple[Any, ...]:
    return tuple(dict.fromkeys(item for part in parts for item in part))


def _shared_value(values: Sequence[Any], default: Any) -> Any:
    return values[0] if len(set(values)) == 1 else default


def _covering_window(windows: Sequence[Window]) -> Window:
    """From the earliest known start to the latest end, if all windows end."""
    bounded = [window for window in windows if window.has_bound]
    starts = [window.start for window in bounded if window.start is not None]
    ends = [window.end for window in bounded if window.end is not None]
    return Window(min(starts, default=None), max(ends) if bounded and len(ends) == len(bounded) else None)
