"""The tools of CortexGraph for upkeep: gc, promotion, clusters and consolidation."""

from __future__ import annotations

from typing import Annotated, Any, Literal
from weakref import WeakKeyDictionary

from pydantic import Field

from remanence import InvalidInput, NotFound, Space
from remanence.adapters import storage_key
from remanence_server.mcp.access import current_space, report_progress, require_right
from remanence_server.mcp.budget import MaxTokens, fitting, left_out, preview
from remanence_server.mcp.tool_sets import ToolSet

TOOLS = ToolSet(lambda message: {"success": False, "message": message})
_ACTIONS = {"merge": "auto-merge", "review": "llm-review", "keep": "keep-separate"}
_CLUSTERS = "Call cluster_memories first: it returns the ids."
_found: WeakKeyDictionary[Any, dict[tuple[str, str], Any]] = WeakKeyDictionary()
"""The clusters that `cluster_memories` returned last, by engine, and by space and id, for `consolidate_memories`."""


@TOOLS.tool(
    "Forget what has faded", writes=True, destructive=True, only_reads=lambda given: given.get("dry_run", True) is True
)
def gc(
    dry_run: Annotated[bool, Field(description="Only show what would be removed")] = True,
    archive_instead: Annotated[bool, Field(description="Move them to the archive, which can be searched")] = False,
    limit: Annotated[int | None, Field(ge=1, description="The most memories to process")] = None,
    max_tokens: MaxTokens = 4_000,
) -> dict[str, Any]:
    """Remove memories that have faded: their decay score is below the threshold. They can be restored."""
    if not dry_run:
        require_right("admin", "gc with dry_run=false")
    mode: Literal["archive", "forget"] = "archive" if archive_instead else "forget"
    upkeep = current_space().upkeep
    plan = upkeep.gc(dry_run=dry_run, mode=mode, limit=limit, progress=report_progress.get() or False)
    count, verb = len(plan), "archive" if archive_instead else "remove"
    did = f"Would {verb}" if dry_run else f"{verb.capitalize()}d"
    ids = [candidate.memory for candidate in plan]
    shown = fitting(ids, max_tokens)
    return {
        "success": True,
        "dry_run": dry_run,
        "removed_count": 0 if archive_instead else count,
        "archived_count": count if archive_instead else 0,
        "freed_score_sum": round(sum(candidate.score for candidate in plan), 4),
        "memory_ids": shown,
        "total_affected": count,
        "message": f"{did} {count} low-scoring memories (threshold: {upkeep.settings.forget_below:g})",
    } | left_out(ids, shown)


@TOOLS.tool(
    "Promote memories",
    writes=True,
    next_step="Call search_memory first: it returns the ids.",
    only_reads=lambda given: given.get("dry_run") is True,
)
def promote_memory(
    memory_id: Annotated[str | None, Field(description="The memory to promote")] = None,
    auto_detect: Annotated[bool, Field(description="Promote all that meet the criteria")] = False,
    dry_run: Annotated[bool, Field(description="Only show what would be promoted")] = False,
    target: Annotated[
        Literal["obsidian"], Field(description="Where to: the vault, if the server has one")
    ] = "obsidian",
    force: Annotated[bool, Field(description="Promote the memory although it does not meet the criteria")] = False,
    max_tokens: MaxTokens = 4_000,
) -> dict[str, Any]:
    """Promote memories that were used often or score high to long-term memory: they are not removed when they fade."""
    upkeep = current_space().upkeep
    if not dry_run:
        require_right("admin", "promote_memory without dry_run=true")
    if memory_id is None and not auto_detect:
        raise InvalidInput("promote_memory takes a memory_id, or auto_detect=true.")
    if memory_id is None:
        plan = upkeep.promote(dry_run=dry_run, progress=report_progress.get() or False)
    else:
        due = {promotion.memory: promotion for promotion in upkeep.promote(dry_run=True)}
        if not force and memory_id not in due:
            upkeep.promote(memory_id, dry_run=True)  # an unknown memory has its own message
            raise InvalidInput(
                f"memory {memory_id!r} does not meet the criteria: score {upkeep.settings.promote_above:g} and a use, "
                f"or {upkeep.settings.promote_uses} uses in 14 days. Give force=true to promote it anyway."
            )
        plan = upkeep.promote(memory_id, dry_run=dry_run)
    candidates = [
        {
            "id": promotion.memory,
            "content_preview": preview(promotion.text),
            "reason": promotion.why,
            "score": round(promotion.score, 4),
            "use_count": promotion.uses,
            "age_days": round(promotion.age_days, 1),
        }
        for promotion in plan
    ]
    promoted = [] if dry_run else [promotion.memory for promotion in plan]
    shown = fitting(candidates, max_tokens)
    where = target if upkeep.settings.vault is not None else "long-term memory (no vault is set)"
    return {
        "success": True,
        "dry_run": dry_run,
        "candidates_found": len(candidates),
        "promoted_count": len(promoted),
        "promoted_ids": promoted[: len(shown)],
        "candidates": shown,
        "message": f"{'Would promote' if dry_run else 'Promoted'} {len(candidates)} memories to {where}",
    } | left_out(candidates, shown)


@TOOLS.tool("Find similar memories")
def cluster_memories(
    strategy: Annotated[Literal["similarity"], Field(description="How to cluster")] = "similarity",
    threshold: Annotated[float, Field(ge=0, le=1, description="The least similarity within a cluster")] = 0.83,
    max_cluster_size: Annotated[
        int, Field(ge=2, le=100, description="The most memories of a cluster; there are never more than 12")
    ] = 12,
    find_duplicates: Annotated[bool, Field(description="Find pairs of duplicates instead")] = False,
    duplicate_threshold: Annotated[float, Field(ge=0, le=1, description="The least similarity of duplicates")] = 0.88,
    min_cluster_size: Annotated[int, Field(ge=2, le=12, description="The least memories of a cluster")] = 2,
    max_tokens: MaxTokens = 4_000,
) -> dict[str, Any]:
    """Find groups of memories that say nearly the same, or pairs of duplicates. Changes nothing."""
    space = current_space()
    if find_duplicates:
        pairs = [
            {
                "id1": pair.first.id,
                "id2": pair.second.id,
                "content1_preview": preview(pair.first.text),
                "content2_preview": preview(pair.second.text),
                "similarity": round(pair.similarity, 4),
            }
            for pair in space.upkeep.clusters(similarity=duplicate_threshold).pairs
        ]
        found = {"success": True, "mode": "duplicate_detection", "duplicates_found": len(pairs)}
        message = f"Found {len(pairs)} potential duplicate pairs"
        shown = fitting(pairs, max_tokens)
        return found | {"duplicates": shown, "message": message} | left_out(pairs, shown)
    clusters = _clusters(space, threshold, max_cluster_size, min_cluster_size)
    rows = [
        {
            "id": cluster.id,
            "size": len(cluster.memories),
            "cohesion": round(cluster.cohesion, 4),
            "suggested_action": _ACTIONS[cluster.action],
            "memory_ids": list(cluster.memory_ids),
            "content_previews": [preview(text) for text in cluster.texts],
        }
        for cluster in clusters
    ]
    kept = fitting(rows, max_tokens)
    return {
        "success": True,
        "mode": "clustering",
        "clusters_found": len(rows),
        "strategy": strategy,
        "threshold": threshold,
        "clusters": kept,
        "message": f"Found {len(rows)} clusters using {strategy} strategy",
    } | left_out(rows, kept)


@TOOLS.tool(
    "Consolidate similar memories",
    writes=True,
    destructive=True,
    next_step=_CLUSTERS,
    only_reads=lambda given: given.get("mode", "preview") == "preview",
)
def consolidate_memories(
    cluster_id: Annotated[str | None, Field(description="A cluster that cluster_memories returned")] = None,
    mode: Annotated[Literal["preview", "apply", "link"], Field(description="Show, merge, or only relate")] = "preview",
    auto_detect: Annotated[bool, Field(description="All clusters that are similar enough")] = False,
    cohesion_threshold: Annotated[float, Field(ge=0, le=1, description="The least cohesion for auto_detect")] = 0.75,
    max_tokens: MaxTokens = 4_000,
) -> dict[str, Any]:
    """Merge memories that say nearly the same into one (apply), relate them (link), or show what would happen
    (preview). The originals are replaced and stay in the history."""
    space = current_space()
    if mode != "preview":
        require_right("admin", f"consolidate_memories with mode={mode!r}")
    chosen = _selected_clusters(space, cluster_id, auto_detect, cohesion_threshold)
    upkeep = space.upkeep.with_settings(merge_cohesion=cohesion_threshold)
    ids, report = [cluster.id for cluster in chosen], report_progress.get() or False
    if mode == "link":
        plan = upkeep.consolidate("link", dry_run=not chosen, clusters=chosen, progress=report)
        message = f"Created {len(plan)} bidirectional relations linking {len(plan.memories)} memories"
        made = {"success": True, "mode": "link", "relations_created": len(plan)}
        return made | {"cluster_id": ids[0] if ids else None, "cluster_ids": ids, "message": message}
    plan = upkeep.consolidate(dry_run=mode == "preview" or not chosen, clusters=chosen, progress=report)
    if mode == "preview":
        previews = [
            {
                "cluster_id": merge.cluster.id,
                "cohesion": round(merge.cluster.cohesion, 4),
                "memory_count": len(merge.cluster.memories),
                "merged_content_preview": preview(merge.result.text),
                "merged_entities": [mention.name for mention in merge.result.mentions],
                "merged_tags": list(merge.result.tags),
                "calculated_strength": merge.result.strength,
            }
            for merge in plan
        ]
        found = {"success": True, "mode": "preview", "auto_detect": auto_detect, "candidates_found": len(previews)}
        shown = fitting(previews, max_tokens)
        return found | {"previews": shown} | left_out(previews, shown)
    new = [merge.result.memory for merge in plan]
    links = [link.id for details in space.get_many(new) for link in details.links_out] if new else []
    merged = f"Merged {len(plan.memories)} memories into {', '.join(new)}" if new else "Nothing to merge"
    return {
        "success": True,
        "mode": "apply",
        "new_memory_id": new[0] if new else None,
        "new_memory_ids": new,
        "source_ids": list(plan.memories),
        "relation_ids": links,
        "archived_count": len(plan.memories),
        "message": merged,
    }


def _clusters(space: Space, threshold: float, most: int, least: int) -> list[Any]:
    found = space.upkeep.clusters(similarity=threshold, max_size=min(most, 12))
    clusters = [cluster for cluster in found if len(cluster.memories) >= least]
    kept = _found.setdefault(storage_key(space), {})
    for cluster in clusters:
        kept[space.name, cluster.id] = cluster
    while len(kept) > 1_000:
        kept.pop(next(iter(kept)))
    return clusters


def _selected_clusters(space: Space, cluster_id: str | None, auto_detect: bool, cohesion: float) -> list[Any]:
    """The cluster that was named, or those that may be merged: similar enough, and without contradictions."""
    if cluster_id is None and not auto_detect:
        raise InvalidInput("consolidate_memories takes a cluster_id, or auto_detect=true.")
    if cluster_id is None:
        return [
            cluster
            for cluster in space.upkeep.with_settings(merge_cohesion=cohesion).clusters()
            if cluster.action == "merge"
        ]
    found = _found.get(storage_key(space), {}).get((space.name, cluster_id))
    if found is None:
        found = next((cluster for cluster in space.upkeep.clusters() if cluster.id == cluster_id), None)
    if found is None:
        raise NotFound(f"there is no cluster {cluster_id!r}.")
    return [found]
