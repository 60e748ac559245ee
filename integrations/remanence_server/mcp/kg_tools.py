"""The tools of ai-memory for its knowledge graph, with the same names, parameters and shapes.

A namespace is a space below that of the caller: "a/b" is `space.child("a", "b")`.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from remanence import Entity, HistoryEvent, Link, Memory, NotFound, Relation, Space
from remanence_server.mcp.access import current_space, require_right
from remanence_server.mcp.budget import MaxTokens, fitting
from remanence_server.mcp.tool_sets import ToolSet

TOOLS = ToolSet()
_EDGES = "Call `memory_kg_query` to see the edges that hold."
_IDS = "Give an id that `recall` or `memory_entity_get_by_alias` returned."
_ENDED = ("forgotten", "superseded", "expired", "edge invalidated")
_ADDED = ("memory added", "restored", "edge added")
Namespace = Annotated[str | None, Field(description="Where to look, for example 'team/papers'; left out: here")]
Relations = Annotated[list[str] | None, Field(description="Only these relations, for example ['supersedes']")]


@TOOLS.tool("Register an entity", writes=True)
def memory_entity_register(
    canonical_name: Annotated[str, Field(description="The main name, for example 'AlphaOne LLC'")],
    namespace: Namespace = None,
    aliases: Annotated[list[str] | None, Field(description="Other names, for example ['AO']")] = None,
    kind: Annotated[str | None, Field(description="What it is, for example 'organization'")] = None,
) -> dict[str, Any]:
    """Register an entity under its main name, with aliases. Registering it again adds what is new and keeps its id."""
    made = _space(namespace).entities.register(canonical_name, aliases=aliases or (), kind=kind)
    return {"entity_id": made.id, "created": made.created, "aliases_added": list(made.added)}


@TOOLS.tool("Find an entity by name or alias", next_step="Register it with `memory_entity_register`.")
def memory_entity_get_by_alias(alias: str, namespace: Namespace = None) -> dict[str, Any]:
    """Find an entity by name or alias, with its main name and all of its aliases."""
    space = _space(namespace)
    entity = space.entities.resolve(alias)
    if entity is None:
        raise NotFound(f"no entity here goes by the name {alias!r}.")
    aliases = [known_alias.name for known_alias in entity.aliases]
    return {"entity_id": entity.id, "canonical_name": entity.name, "all_aliases": aliases}


@TOOLS.tool("Walk the graph", next_step=_IDS)
def memory_kg_query(
    start_id: Annotated[str, Field(description="The id of a memory or an entity, or a name")],
    relations: Relations = None,
    depth: Annotated[int, Field(ge=1, le=8, description="How many steps to go")] = 3,
    as_of: Annotated[str | None, Field(description="The moment at which the edges hold; left out: now")] = None,
    namespace: Namespace = None,
    direction: Annotated[Literal["out", "in", "both"], Field(description="Which edges to follow")] = "both",
    limit: Annotated[int, Field(ge=1, le=1_000, description="The most nodes")] = 100,
    max_tokens: MaxTokens = 8_000,
) -> dict[str, Any]:
    """Everything within some steps of a memory or an entity, along the edges that hold now, or held at a moment."""
    found = _space(namespace).graph.query(start_id, relations, depth, direction, as_of, limit)
    nodes = [
        {"id": node.id, "kind": node.kind, "label": node.label, "depth": node.depth, "type": node.sort}
        for node in found.nodes
    ]
    kept = fitting(nodes, max_tokens // 2)
    shown = {node["id"] for node in kept}
    edges = [
        {
            "id": edge.id,
            "source_id": edge.source,
            "target_id": edge.target,
            "relation": edge.name,
            "created_at": edge.recorded_at.isoformat(),
            "valid_from": _iso(edge.valid.start),
            "valid_until": _iso(edge.valid.end),
            "observed_by": edge.observed_by,
            "signature": None,
        }
        for edge in found.edges
        if edge.source in shown and edge.target in shown
    ]
    fit = fitting(edges, max_tokens // 2)
    return {
        "nodes": kept,
        "edges": fit,
        "depth_reached": max((int(str(node["depth"])) for node in kept), default=0),
        "edges_walked": found.edges_walked,
        "truncated": found.truncated or len(kept) < len(nodes) or len(fit) < len(edges),
    }


@TOOLS.tool("Timeline of the graph", next_step=_IDS)
def memory_kg_timeline(
    node_id: Annotated[str, Field(description="The id of a memory or an entity, or a name")],
    since: Annotated[str | None, Field(description="Only what was learned at this moment or later")] = None,
    until: Annotated[str | None, Field(description="Only what was learned before this moment")] = None,
    relations: Relations = None,
    namespace: Namespace = None,
    max_tokens: MaxTokens = 8_000,
) -> dict[str, Any]:
    """The edges of a memory or an entity in the order in which they were added and invalidated, also those that no
    longer hold."""
    space = _space(namespace)
    entity = space.entities.resolve(node_id)
    own = {node_id} if entity is None else {entity.id, *entity.names}
    found = space.graph.timeline(node_id, since, until, relations)
    events = [made for event in found if (made := _edge_event(space, own, event)) is not None]
    kept = fitting(events, max_tokens)
    return {"events": kept, "left_out": len(events) - len(kept)}


@TOOLS.tool("Invalidate an edge", writes=True, destructive=True, next_step=_EDGES)
def memory_kg_invalidate(
    source_id: Annotated[str, Field(description="The id of the memory or entity that the edge starts from, or a name")],
    target_id: Annotated[str, Field(description="The id of the memory or entity that it leads to, or a name")],
    relation: Annotated[str, Field(description="The relation, for example 'related_to'")],
    namespace: Namespace = None,
    why: Annotated[str | None, Field(description="Why it no longer holds")] = None,
) -> dict[str, Any]:
    """End an edge now. Walks of the present no longer follow it; those of the past and the timeline still do."""
    ended = _space(namespace).graph.invalidate(source_id, relation, target_id, why=why)
    return {"invalidated": bool(ended), "valid_until": _iso(ended[0].valid.end) if ended else None}


@TOOLS.tool("Erase an edge", writes=True, destructive=True, next_step=_EDGES)
def memory_kg_erase(
    edge_id: Annotated[str, Field(description="The id of an edge, as `memory_kg_query` returned it")],
    namespace: Namespace = None,
) -> dict[str, Any]:
    """Remove a stated edge for good, from the past too, if it should never have been stored. What has only ended is to
    be invalidated. An edge that a memory states goes with that memory."""
    require_right("admin", "memory_kg_erase")
    certificate = _space(namespace).graph.erase(edge_id)
    return {"erased": True, "pending": [str(pending) for pending in certificate.pending]}


def _space(namespace: str | None) -> Space:
    space = current_space()
    parts = [part for part in (namespace or "").split("/") if part]
    return space.child(*parts) if parts else space


def _iso(moment: Any) -> str | None:
    return None if moment is None else str(moment.isoformat())


def _edge_event(space: Space, own: set[str], event: HistoryEvent) -> dict[str, Any] | None:
    """An event as ai-memory has it: which edge, and whether it was added or invalidated. None for other events."""
    if event.kind not in (*_ADDED, *_ENDED):
        return None
    is_added = event.kind in _ADDED or (event.kind, event.edge_name) == ("superseded", "supersedes")
    return {
        "at": event.recorded_at.isoformat(),
        "type": "edge_added" if is_added else "edge_invalidated",
        "relation": event.edge_name,
        "target_id": _other_end(space, own, event.value),
    }


def _other_end(space: Space, own: set[str], value: object) -> str | None:
    """The id of what an edge leads to, seen from one of its ends."""
    if isinstance(value, Link):
        return value.source if value.target in own else value.target
    if isinstance(value, Relation):
        other = space.entities.resolve(value.subject if value.object in own else value.object)
        return None if other is None else other.id
    return value.id if isinstance(value, Memory | Entity) else None
