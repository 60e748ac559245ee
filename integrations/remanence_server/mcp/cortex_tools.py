"""The tools of CortexGraph that read and write memories, with the same names, parameters, defaults and fields."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field

from remanence import Hit, InvalidInput, Link, Memory, Space
from remanence import analyze_for_recall as recall_analysis
from remanence import analyze_message as message_analysis
from remanence.adapters import SELF, current_moment
from remanence.service.endpoints.admin_operations import count_unembedded
from remanence_server.mcp.access import current_space
from remanence_server.mcp.budget import MaxTokens, Page, cut, fitting, left_out, page_of
from remanence_server.mcp.tool_sets import ToolSet

TOOLS = ToolSet(lambda message: {"success": False, "message": message})
_IDS = "Call search_memory first: it returns the ids."
_KINDS = {
    "related": "related_to",
    "causes": "causes",
    "supports": "supports",
    "contradicts": "contradicts",
    "has_decision": "extends",  # there is no such link; a kind that no other type has: both may hold at once
    "consolidated_from": "derived_from",
}
_TYPES = {"related_to": "related", "derived_from": "consolidated_from"}
_REINFORCE_VARIABLE = "CORTEXGRAPH_AUTO_REINFORCE"
_MARK = "cortex:"
"""What the reason of a link begins with if it holds a type and metadata as JSON."""
Tags = Annotated[list[str] | None, Field(description="Only memories with all of these tags")]
WindowDays = Annotated[int | None, Field(ge=1, description="Only memories told in this many last days")]
MinScore = Annotated[float | None, Field(ge=0, description="Only memories with at least this decay score")]
Ids = Annotated[str | list[str], Field(description="The id of a memory, or several (at most 100)")]
PageSize = Annotated[int, Field(ge=1, le=100, description="Memories on a page")]


def strength_of_importance(importance: float) -> float:
    """The strength, 1 to 2, for an importance: 1.45 for an important memory, 1.9 for one that defines somebody.

    >>> strength_of_importance(0), strength_of_importance(0.6), strength_of_importance(0.9)
    (1.0, 1.45, 1.9)
    """
    return round(min(2.0, max(1.0, 1 + (importance - 0.3) * 1.5)), 2)


@TOOLS.tool("Save a memory", writes=True)
def save_memory(
    content: Annotated[str, Field(description="The content to remember")],
    tags: Annotated[list[str] | None, Field(description="Tags for categorization")] = None,
    entities: Annotated[list[str] | None, Field(description="Names in it; found if left out")] = None,
    source: Annotated[str | None, Field(description="Where it comes from")] = None,
    context: Annotated[str | None, Field(description="What was going on when it was learned")] = None,
    meta: Annotated[dict[str, Any] | None, Field(description="Other metadata")] = None,
    strength: Annotated[float | None, Field(ge=1, le=2, description="1 normal, 1.5 important, 2 never fades")] = None,
    enable_preprocessing: Annotated[bool, Field(description="Find entities and strength if they are left out")] = True,
) -> dict[str, Any]:
    """Save a memory. Entities and strength are found in the content if they are left out."""
    space, found = current_space(), strength
    if found is None and enable_preprocessing:
        found = strength_of_importance(message_analysis(content).strength)
    fields = dict(meta or {}) | ({} if context is None else {"context": context})
    names = entities if entities is not None or enable_preprocessing else []
    memory = space.add(content, tags=tags or (), entities=names, source=source, meta=fields, strength=found)
    return {
        "success": True,
        "memory_id": memory.id,
        "message": f"Memory saved with ID: {memory.id}",
        "has_embedding": count_unembedded(space) == 0,
        "enrichment_applied": enable_preprocessing and (entities is None or strength is None),
    }


@TOOLS.tool("Search memories")
def search_memory(
    query: Annotated[str | None, Field(description="What to look for; left out, what passes the filters")] = None,
    tags: Tags = None,
    top_k: Annotated[int, Field(ge=1, le=100, description="How many results at most")] = 10,
    window_days: WindowDays = None,
    min_score: MinScore = None,
    use_embeddings: Annotated[bool, Field(description="Also return the similarity of each result")] = False,
    max_tokens: MaxTokens = 4_000,
) -> dict[str, Any]:
    """Search memories by meaning, words, names and time. `score` is how well a memory is kept (it decays without use),
    `relevance` how well it answers. Up to a fifth of the results are memories that are about to fade."""
    hits = _search(query, tags, top_k, window_days, min_score, include=("review",))
    results = fitting([_cut(_result(hit, use_embeddings), max_tokens) for hit in hits], max_tokens)
    return {"success": True, "count": len(results), "results": results} | left_out(hits, results)


@TOOLS.tool("Search memories and notes")
def search_unified(
    query: Annotated[str | None, Field(description="What to look for")] = None,
    tags: Tags = None,
    limit: Annotated[int, Field(ge=1, le=100, description="How many results at most")] = 10,
    stm_weight: Annotated[float, Field(ge=0, description="The weight of memories")] = 1.0,
    ltm_weight: Annotated[float, Field(ge=0, description="The weight of notes in the vault")] = 0.7,
    window_days: WindowDays = None,
    min_score: MinScore = None,
    verbose: Annotated[bool, Field(description="Also show ids, tags and paths")] = False,
    max_tokens: MaxTokens = 4_000,
) -> str:
    """Search memories and the notes of the vault together, best first, as text."""
    usual = current_space().upkeep.settings.vault_weight or 1.0
    found = _search(query, tags, limit, None, None, include=("vault",), more=2)
    rows = [(hit.score / usual * ltm_weight, hit, True) for hit in found if _is_note(hit)]
    # The window and the least score are those of memories; a note is found whenever it was written.
    memories = found if window_days is None else _search(query, tags, limit, window_days, None, include=(), more=2)
    rows += [(hit.score * stm_weight, hit, False) for hit in memories if not _is_note(hit) and _is_kept(hit, min_score)]
    rows.sort(key=lambda row: -row[0])
    lines = [_unified_line(number, *row, verbose) for number, row in enumerate(rows[:limit], 1)]
    kept = [cut(line, max_tokens) for line in fitting(lines, max_tokens)]
    more = [f"{len(lines) - len(kept)} more did not fit: give more max_tokens."] if len(kept) < len(lines) else []
    return "\n".join([f"Found {len(lines)} results for {query or 'all memories'!r}:", *kept, *more])


@TOOLS.tool("Reinforce a memory", writes=True, next_step=_IDS)
def touch_memory(
    memory_id: str, boost_strength: Annotated[bool, Field(description="Also make it stronger")] = False
) -> dict[str, Any]:
    """Record that a memory was used, so that it fades later."""
    [report] = current_space().touch(memory_id, boost=boost_strength)
    return {
        "success": True,
        "memory_id": memory_id,
        "old_score": round(report.old_score, 4),
        "new_score": round(report.new_score, 4),
        "use_count": report.uses,
        "strength": round(report.strength, 4),
        "message": f"Memory reinforced. Score: {report.old_score:.2f} -> {report.new_score:.2f}",
    }


@TOOLS.tool("Record the use of memories", writes=True, next_step=_IDS)
def observe_memory_usage(
    memory_ids: Ids,
    context_tags: Annotated[Sequence[str] | None, Field(description="Tags of what they were used for")] = (),
) -> dict[str, Any]:
    """Record that memories were used in an answer, not only found. A memory that was used for another topic than its
    own tags becomes stronger."""
    space, ids = current_space(), _several(memory_ids)
    if os.environ.get(_REINFORCE_VARIABLE, "").strip().lower() in ("false", "0", "no", "off"):
        return {"reinforced": False, "reason": f"{_REINFORCE_VARIABLE} is off", "count": 0}
    known = {details.id for details in space.get_many(ids)} if ids else set()
    wanted = [id_ for id_ in dict.fromkeys(ids) if id_ in known]
    used = space.touch(wanted, context_tags=context_tags or ()) if wanted else []
    reports = {report.memory: report for report in used}
    results: list[dict[str, Any]] = []
    for requested_id in dict.fromkeys(ids):
        if (report := reports.get(requested_id)) is None:
            results.append({"id": requested_id, "status": "not_found"})
            continue
        row = {"id": requested_id, "status": "reinforced", "cross_domain": report.cross_domain}
        row |= {"new_use_count": report.uses, "new_review_count": report.uses}
        results.append(row | {"strength": round(report.strength, 4), "review_priority": round(report.review, 4)})
    crossed = sum(report.cross_domain for report in reports.values())
    return {"reinforced": bool(reports), "count": len(reports), "cross_domain_count": crossed, "results": results}


@TOOLS.tool("Is this worth saving?")
def analyze_message(message: Annotated[str, Field(description="What the user said")]) -> dict[str, Any]:
    """Whether a message has something worth saving. Above 0.7 save it, from 0.4 ask, below leave it."""
    found = message_analysis(message)
    return {
        "should_save": found.save,
        "confidence": _confidence(found.save, found.confidence),
        "suggested_entities": list(found.entities),
        "suggested_tags": [],  # a field that the clients of cortex expect; no tags are suggested
        "suggested_strength": strength_of_importance(found.strength),
        "reasoning": found.reason,
    }


@TOOLS.tool("Does this need a search?")
def analyze_for_recall(message: Annotated[str, Field(description="What the user said")]) -> dict[str, Any]:
    """Whether a message needs a search of memory, and for what. Above 0.7 search, from 0.4 ask, below leave it."""
    found = recall_analysis(message)
    return {
        "should_search": found.recall,
        "confidence": _confidence(found.recall, found.confidence),
        "suggested_query": found.query.rstrip(" ?!."),
        "suggested_tags": [],  # a field that the clients of cortex expect; no tags are suggested
        # "I" and "my" are no name to filter by.
        "suggested_entities": [name for name in found.entities if name != SELF],
        "reasoning": found.reason,
    }


@TOOLS.tool("Read the graph of memories")
def read_graph(
    status: Annotated[Literal["active", "promoted", "archived", "all"], Field(description="Which memories")] = "active",
    include_scores: Annotated[bool, Field(description="Also decay scores and ages")] = True,
    limit: Annotated[int | None, Field(ge=1, le=10_000, description="The most memories of all pages")] = None,
    page: Page = 1,
    page_size: PageSize = 10,
    max_tokens: MaxTokens = 8_000,
) -> dict[str, Any]:
    """Read memories with the relations between them, a page at a time, and their numbers. Prefer search_memory."""
    space = current_space()
    listed_status: Any = "unpromoted" if status == "active" else status
    found = space.graph.memories(listed_status, page=page, page_size=page_size)
    total = found.total if limit is None else min(limit, found.total)
    first = (page - 1) * page_size
    listed = [details for number, details in enumerate(found, first) if number < total and details.memory is not None]
    memories = fitting([_cut(_details(details, include_scores), max_tokens) for details in listed], max_tokens)
    links = {
        link.id: link for each in listed[: len(memories)] for link in _holding(space, *each.links_out, *each.links_in)
    }
    score, uses = _averages(space, status)
    return {
        "success": True,
        "memories": memories,
        "relations": [_relation(link) for link in links.values()],
        "stats": {
            "total_memories": total,
            "total_relations": space.admin.stats().links,
            "avg_score": round(score, 4),
            "avg_use_count": round(uses, 2),
            "status_filter": status,
        },
        "pagination": _pagination(page, page_size, total) | {"left_out": len(listed) - len(memories)},
    }


@TOOLS.tool("Open memories", next_step=_IDS)
def open_memories(
    memory_ids: Ids,
    include_relations: Annotated[bool, Field(description="Also relations from and to these memories")] = True,
    include_scores: Annotated[bool, Field(description="Also decay scores and ages")] = True,
    page: Page = 1,
    page_size: PageSize = 10,
    max_tokens: MaxTokens = 8_000,
) -> dict[str, Any]:
    """Read memories by their ids, with their relations."""
    space, ids = current_space(), list(dict.fromkeys(_several(memory_ids)))
    batch = space.get_many(ids)
    memories = []
    for details in page_of(list(batch), page, page_size):
        memory = details.memory
        if memory is None:
            continue
        promoted_at = details.promoted_at and int(details.promoted_at.timestamp())
        extra: dict[str, Any] = {"source": memory.source, "context": memory.meta.get("context")}
        extra |= {"promoted_at": promoted_at, "promoted_to": details.note}
        if include_relations:
            out = [{"to": link.target, **_typed(link)} for link in _holding(space, *details.links_out)]
            incoming = [{"from": link.source, **_typed(link)} for link in _holding(space, *details.links_in)]
            extra["relations"] = {"outgoing": out, "incoming": incoming}
        memories.append(_cut(_details(details, include_scores), max_tokens) | extra)
    kept = fitting(memories, max_tokens)
    return {
        "success": True,
        "count": len(kept),
        "memories": kept,
        "not_found": list(batch.missing),
        "pagination": _pagination(page, page_size, len(batch)),
    } | left_out(memories, kept)


@TOOLS.tool("Relate two memories", writes=True, next_step=_IDS)
def create_relation(
    from_memory_id: str,
    to_memory_id: str,
    relation_type: Annotated[
        Literal["related", "causes", "supports", "contradicts", "has_decision", "consolidated_from"],
        Field(description="How the first is related to the second"),
    ],
    strength: Annotated[float, Field(ge=0, le=1, description="How strong the relation is")] = 1.0,
    metadata: Annotated[
        dict[str, Any] | None, Field(description="Other metadata", json_schema_extra={"default": {}})
    ] = None,
) -> dict[str, Any]:
    """Relate one memory to another. Relating them again in the same way replaces the strength and the metadata."""
    space, kind = current_space(), _KINDS[relation_type]
    kept: dict[str, Any] = {"type": relation_type} | ({"metadata": metadata} if metadata else {})
    native = relation_type == _TYPES.get(kind, kind)
    why = None if native and not metadata else _MARK + json.dumps(kept, ensure_ascii=False)
    for old in (link for details in space.get_many(from_memory_id) for link in _holding(space, *details.links_out)):
        own = old.why is None or old.why.startswith(_MARK)  # not one that upkeep or a person stated with a reason
        if own and (old.kind, old.target) == (kind, to_memory_id) and (old.confidence, old.why) != (strength, why):
            space.graph.invalidate_edge(old)
    link = space.graph.link(from_memory_id, kind, to_memory_id, confidence=strength, why=why)
    return {
        "success": True,
        "relation_id": link.id,
        "from": from_memory_id,
        "to": to_memory_id,
        "type": relation_type,
        "strength": strength,
        "message": f"Relation created: {from_memory_id} --[{relation_type}]--> {to_memory_id}",
    }


def _search(
    query: str | None,
    tags: list[str] | None,
    limit: int,
    window_days: int | None,
    min_score: float | None,
    include: tuple[Any, ...],
    more: int = 1,
) -> list[Hit]:
    since = None if window_days is None else f"{window_days} days ago"
    asked = limit * (4 if min_score is not None else more)
    options: dict[str, Any] = {"limit": asked, "tags": tags or None, "since": since, "include": include}
    space = current_space()
    found = space.recall(query, **options) if query and query.strip() else space.recent(**options)
    kept = [hit for hit in found if _is_kept(hit, min_score)]
    return kept if more > 1 else kept[:limit]


def _pagination(page: int, page_size: int, total: int) -> dict[str, Any]:
    pages = -(-total // page_size)
    numbers = {"page": page, "page_size": page_size, "total_count": total, "total_pages": pages}
    return numbers | {"has_more": page < pages}


def _is_kept(hit: Hit, min_score: float | None) -> bool:
    return min_score is None or (hit.usage is not None and hit.usage.decay_score >= min_score)


def _cut(row: dict[str, Any], max_tokens: int) -> dict[str, Any]:
    return row | {"content": cut(row["content"], max_tokens)}


def _confidence(advised: bool, confidence: float) -> float:
    """How sure it is that a message should be saved or searched for: low if it is sure that it should not."""
    return round(confidence if advised else 1 - confidence, 2)


def _averages(space: Space, status: str) -> tuple[float, float]:
    """The average decay score and number of uses of the memories of a status."""
    listed: Any = "promoted" if status == "active" else status
    found = space.graph.memories(listed, page_size=1_000)
    usages = [details.usage for details in found if details.usage is not None]
    count = len(usages)
    score, uses = sum(usage.decay_score for usage in usages), float(sum(usage.uses for usage in usages))
    if status == "active":  # all current memories but the promoted ones
        report = space.upkeep.decay(limit=1)
        count = report.examined_count - count
        score = report.average_score * report.examined_count - score
        uses = report.average_uses * report.examined_count - uses
    return (score / count, uses / count) if count > 0 else (0.0, 0.0)


def _result(hit: Hit, similarity: bool) -> dict[str, Any]:
    near = next((evidence.raw_score for evidence in hit.evidence if evidence.signal == "vectors"), None)
    return {
        "id": hit.memory.id,
        "content": hit.memory.text,
        "tags": list(hit.memory.tags),
        "similarity": round(near, 4) if similarity and near is not None else None,
        "relevance": round(hit.score, 4),
        **_usage(hit.usage),
    }


def _usage(usage: Any) -> dict[str, Any]:
    if usage is None:
        return {"score": None, "use_count": 0, "last_used": None, "age_days": None, "review_priority": 0.0}
    return {
        "score": round(usage.decay_score, 4),
        "use_count": usage.uses,
        "last_used": int(usage.last_used.timestamp()),
        "age_days": round(usage.age_days, 1),
        "review_priority": round(usage.review_priority, 4),
    }


def _details(details: Any, include_scores: bool) -> dict[str, Any]:
    memory: Memory = details.memory
    usage = _usage(details.usage)
    status = "promoted" if details.promoted_at else "active" if details.status == "current" else details.status
    return {
        "id": memory.id,
        "content": memory.text,
        "entities": [mention.name for mention in memory.mentions],
        "tags": list(memory.tags),
        "created_at": int(_created_at(memory).timestamp()),
        "last_used": usage["last_used"] or int(memory.revised_at.timestamp()),
        "use_count": usage["use_count"],
        "strength": round(details.usage.strength if details.usage else memory.strength, 4),
        "status": status,
        **({"score": usage["score"], "age_days": usage["age_days"]} if include_scores else {}),
    }


def _created_at(memory: Memory) -> datetime:
    """When a memory was recorded; for a merged one, when the first of its sources was told."""
    merged = memory.meta.get("merged")
    first = merged.get("first_told") if isinstance(merged, dict) else None
    return memory.recorded_at if first is None else datetime.fromisoformat(first)


def _holding(space: Space, *links: Link) -> list[Link]:
    """The links that have not ended."""
    now = current_moment(space)
    return [link for link in links if link.valid.end is None or link.valid.end > now]


def _typed(link: Link) -> dict[str, Any]:
    """The type, strength and metadata with which a relation was created."""
    fields: dict[str, Any] = {"type": _TYPES.get(link.kind, link.kind), "strength": round(link.confidence, 4)}
    if link.why is not None and link.why.startswith(_MARK):
        fields |= json.loads(link.why.removeprefix(_MARK))
    return fields


def _relation(link: Link) -> dict[str, Any]:
    created = int(link.recorded_at.timestamp())
    return {"id": link.id, "from": link.source, "to": link.target, **_typed(link), "created_at": created}


def _is_note(hit: Hit) -> bool:
    return any(evidence.signal == "vault" for evidence in hit.evidence)


def _unified_line(number: int, score: float, hit: Hit, note: bool, verbose: bool) -> str:
    memory = hit.memory
    line = f"{number}. [{'LTM' if note else 'STM'}] {' '.join(memory.text.split())} (score: {score:.2f})"
    if not verbose:
        return line
    where = f"path: {memory.key}" if note else f"id: {memory.id}"
    return f"{line}\n   {where}" + (f", tags: {', '.join(memory.tags)}" if memory.tags else "")


def _several(ids: str | list[str]) -> list[str]:
    several = [ids] if isinstance(ids, str) else ids
    if not several or len(several) > 100:
        raise InvalidInput(f"memory_ids has {len(several)} ids. Give one to 100.")
    return several
