"""Merges memories that say nearly the same into one new memory.

The new memory supersedes its sources, which stay reachable through its links. `undo` makes them current again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Literal

from remanence.errors import InvalidInput
from remanence.events import Event, Linked, Remembered, Used
from remanence.index.engine.engine import Engine
from remanence.index.engine.identity import new_id
from remanence.index.index import Index
from remanence.ports import Progress
from remanence.remember.prepare import PreparedVersion
from remanence.schema import LinkKind, Snapshot, Window
from remanence.text.text import pluralize, split_passages, text_hash
from remanence.upkeep.plans import Change, Plan, are_linked, batches
from remanence.upkeep.settings import UpkeepSettings
from remanence.upkeep.steps.clusters import MAX_CLUSTER_SIZE, MAX_NEIGHBOURS, Cluster, Clusters, find_clusters
from remanence.upkeep.steps.decay import MAX_STRENGTH, ScoredMemories, ScoredMemory, last_used, strength_of
from remanence.upkeep.steps.discovery import OBSERVED_BY, RelatedPair, plan_links
from remanence.upkeep.steps.merged_text import MergedText, TextMerger, contains_name

Step = Literal["consolidate", "link"]


def step_of_mode(mode: object) -> Step:
    """The step that a mode of `consolidate` plans."""
    if mode not in ("preview", "apply", "link"):
        raise InvalidInput(f"mode={mode!r} is neither 'preview', 'apply' nor 'link'.")
    return "link" if mode == "link" else "consolidate"


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge(Change):
    """A cluster, the memory that replaces it, and the wording of its text."""

    cluster: Cluster
    result: Remembered
    wording: MergedText

    @property
    def row(self) -> tuple[object, ...]:
        size, summary = len(self.cluster.memories), self.cluster.summary
        return self.cluster.cohesion, size, summary, self.result.text, self.wording.author_label

    def events_at(self, index: Index) -> Sequence[Event]:
        """The uses of the sources count for the new memory, too. If the merge was undone and repeated, it has some."""
        memories, new = self.cluster.memories, self.result.memory
        times = sum(index.usage.get(source.id).use_count for source in memories) - index.usage.get(new).use_count
        latest = max(last_used(source, index.usage.get(source.id)) for source in memories)
        return [*self.events, Used(new, times=max(times, 0), last_used=latest)]


def propose_consolidation(
    engine: Engine,
    index: Index,
    memories: ScoredMemories,
    progress: Progress | None,
    *,
    settings: UpkeepSettings,
    step: Step = "consolidate",
    clusters: Sequence[Cluster] | None = None,
    new_clusters: Clusters | None = None,
) -> Plan[Any]:
    """Merge the clusters that are similar enough and have a memory that the last run did not compare, or link theirs.

    Args:
        clusters: Merge these, whatever is suggested for them.
        new_clusters: What `find_new_clusters` returned, if it was called already.
    """
    is_recorded = False
    if clusters is None:
        found = new_clusters
        if found is None:
            found = find_new_clusters(index, memories, settings, step, progress)
        # A link changes nothing else, so what a person should look at before a merge is linked too.
        wanted = ("merge",) if step == "consolidate" else ("merge", "review")
        clusters = [cluster for cluster in found if cluster.action in wanted]
        # That they were compared is recorded even if nothing is merged: the next run does not compare them again.
        is_recorded = found.examined_count > 0
    current = _check_clusters(memories, clusters)
    if step == "link":
        pairs = [pair for cluster in clusters for pair in _pairs(index, memories.snapshot, cluster, current)]
        return plan_links(step, index, memories, pairs, _parameters(settings), is_recorded=is_recorded)
    merger = TextMerger(engine.extractor)
    made = (_merge(merger, index, cluster, current) for [cluster] in batches(clusters, 1, progress))
    merges = tuple(merge for merge in made if merge is not None)
    sources = pluralize(sum(len(merge.sources) for merge in merges), "memory", "memories")
    problems = dict.fromkeys(merge.wording.problem for merge in merges if merge.wording.problem)
    return Plan(
        step=step,
        space=index.space,
        position=memories.position,
        items=merges,
        verbs=("merged", "merge"),
        title=f"{sources} into {len(merges)}",
        columns=("cohesion", "size", "memories", "become", "written by"),
        notes=tuple(f"the model {problem}, so the rules merged the texts" for problem in problems),
        parameters=_parameters(settings),
        is_recorded=is_recorded,
    )


def find_new_clusters(
    index: Index, memories: ScoredMemories, settings: UpkeepSettings, step: Step, progress: Progress | None
) -> Clusters:
    """The clusters with a memory that no run with the same settings has compared. A run every hour must not
    compare everything every hour."""
    new = _new_memories(index, memories, step, _parameters(settings))
    found = find_clusters(index, memories, settings, settings.cluster_similarity, seeds=new, progress=progress)
    chosen = tuple(cluster for cluster in found if not new.isdisjoint(cluster.memory_ids))
    return replace(found, items=chosen, examined_count=len(new))


def _pairs(
    index: Index, snapshot: Snapshot, cluster: Cluster, current: Mapping[str, ScoredMemory]
) -> Iterator[RelatedPair]:
    """Every two memories of a cluster that no link joins yet."""
    why = "they say similar things"
    for one, other in combinations(cluster.memory_ids, 2):
        if not are_linked(index, one, other, snapshot):
            positions = {memory: current[memory].position for memory in (one, other)}
            link = _link(one, "related_to", other, why)
            yield RelatedPair(
                source=one, target=other, score=cluster.cohesion, why=why, sources=positions, events=(link,)
            )


def _link(source: str, kind: LinkKind, target: str, why: str) -> Linked:
    return Linked(new_id(), source, kind, target, observed_by=OBSERVED_BY, why=why)


def _check_clusters(memories: ScoredMemories, clusters: Sequence[Cluster]) -> dict[str, ScoredMemory]:
    """The current memories by id, if those of the clusters are among them, unchanged, and each is in one cluster."""
    current = {item.memory.id: item for item in memories.items}
    seen: set[str] = set()
    for cluster, memory in ((each, memory) for each in clusters for memory in each.memories):
        if memory.id not in current or current[memory.id].memory != memory:
            raise InvalidInput(
                f"memory {memory.id!r} of cluster {cluster.id} was hidden, merged or changed since the cluster "
                "was found. Look for clusters again: space.upkeep.clusters()."
            )
        if memory.id in seen:
            raise InvalidInput(f"memory {memory.id!r} is in two of the clusters given. Merge one of them first.")
        seen.add(memory.id)
    return current


def _parameters(settings: UpkeepSettings) -> dict[str, Any]:
    """What decides whether a cluster is merged. Recorded in the ledger, where later runs compare it: the keys
    must not change."""
    return {
        "similarity": settings.cluster_similarity,
        "cohesion": settings.merge_cohesion,
        "size": MAX_CLUSTER_SIZE,
        "neighbours": MAX_NEIGHBOURS,
    }


def _new_memories(index: Index, memories: ScoredMemories, step: str, parameters: dict[str, Any]) -> set[str]:
    """The memories that the last such run did not compare. Those that it made itself count as compared."""
    last = index.usage.last_run(step, parameters)
    if last is None:
        return {item.memory.id for item in memories.items}
    new = (item for item in memories.items if item.position > last.planned_position)
    made = set(last.created_ids)
    return {item.memory.id for item in new if item.memory.id not in made or item.position >= last.position}


def _merge(merger: TextMerger, index: Index, cluster: Cluster, current: Mapping[str, ScoredMemory]) -> Merge | None:
    """The memory that replaces a cluster, with everything known about any of its memories; None if one was erased
    meanwhile."""
    found = [index.latest_version(memory) for memory in cluster.memory_ids]
    versions = [version for version in found if version is not None]
    if len(versions) != len(found):
        return None
    mentions = _union_in_order(version.mentions for version in versions)
    texts = cluster.texts
    # Only the names that the texts have: not "Ann" where the text says "I".
    wording = merger.merge(texts, [m.name for m in mentions if contains_name(m.name, "\n".join(texts))])
    details = {"by": wording.author, "model": wording.model, "prompt": wording.prompt, "problem": wording.problem}
    identity = text_hash("|".join(("consolidated", *sorted(cluster.memory_ids)))).hex()
    number = index.catalog.find_by_identity(identity)
    items = [current[memory] for memory in cluster.memory_ids]
    strongest = max(strength_of(item.memory, item.usage) for item in items)
    expiries = [version.expires_at for version in versions]
    told = [memory.told_at for memory in cluster.memories]
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
        strength=round(min(MAX_STRENGTH, max(1 + cluster.cohesion / 2, strongest)), 4),
        tags=_union_in_order(version.tags for version in versions),
        source=_shared_value([version.source for version in versions], None),
        observed_by=_shared_value([version.observed_by for version in versions], None),
        expires_at=None if None in expiries else max(end for end in expiries if end is not None),
        mentions=mentions,
        triples=_union_in_order(version.triples for version in versions),
        times=_union_in_order(version.times for version in versions),
        passages=split_passages(wording.text),
        meta={"merged": {"first_told": min(told).isoformat(), **{k: v for k, v in details.items() if v is not None}}},
        # Not now: what was said long ago would look newer than what was said since.
        told_at=max(told),
        trust=min(version.trust for version in versions),
    )
    why = f"merged by {wording.author_label}, cohesion {cluster.cohesion:.2f}"
    kinds: tuple[LinkKind, ...] = ("derived_from", "supersedes")
    return Merge(
        cluster=cluster,
        result=version,
        wording=wording,
        sources={item.memory.id: item.position for item in items},
        events=tuple(_link(version.memory, kind, source, why) for source in cluster.memory_ids for kind in kinds),
        version=PreparedVersion(version, told[0]),
    )


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
