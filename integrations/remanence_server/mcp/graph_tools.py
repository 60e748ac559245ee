"""The tools of the knowledge-graph memory server, with the same names and shapes; what they read is paged."""

from __future__ import annotations

import json
from typing import Annotated, Any

from mcp_types import CallToolResult, TextContent
from pydantic import BaseModel, ConfigDict, Field

from remanence.adapters import pluralize
from remanence_server.mcp.access import current_space
from remanence_server.mcp.budget import MaxTokens, Page, fitting, page_of, tokens_of
from remanence_server.mcp.knowledge_graph import EntityFields, KnowledgeGraph, RelationFields
from remanence_server.mcp.tool_sets import ToolSet

TOOLS = ToolSet(lambda message: {"success": False, "message": message})
_PAGE_SIZE = 50
_OPEN = "Call `search_nodes` or `read_graph` to see the names."


class GraphEntity(BaseModel):
    """An entity of the graph."""

    name: str = Field(description="The name of the entity")
    entityType: str = Field(description="The type of the entity")
    observations: list[str] = Field(description="What is known about the entity, one fact each")


class GraphRelation(BaseModel):
    """A directed relation between two entities."""

    model_config = ConfigDict(populate_by_name=True)

    from_: str = Field(alias="from", description="The name of the entity where the relation starts")
    to: str = Field(description="The name of the entity where the relation ends")
    relationType: str = Field(description="The type of the relation, in active voice")


class EntityObservations(BaseModel):
    """Observations to add to an entity."""

    entityName: str = Field(description="The name of the entity")
    contents: list[str] = Field(description="The observations to add")


class ObservationDeletion(BaseModel):
    """Observations to delete from an entity."""

    entityName: str = Field(description="The name of the entity")
    observations: list[str] = Field(description="The observations to delete, exactly as they are")


@TOOLS.tool("Create Entities", writes=True)
def create_entities(entities: list[GraphEntity]) -> CallToolResult:
    """Create multiple new entities in the knowledge graph. Entities whose name exists are left out."""
    new = _graph().create_entities(entity.model_dump() for entity in entities)
    return _result(new, {"entities": new})


@TOOLS.tool("Create Relations", writes=True)
def create_relations(relations: list[GraphRelation]) -> CallToolResult:
    """Create multiple new relations between entities in the knowledge graph. Relations should be in active voice."""
    new = _graph().create_relations(relation.model_dump(by_alias=True) for relation in relations)
    return _result(new, {"relations": new})


@TOOLS.tool("Add Observations", writes=True, next_step=_OPEN)
def add_observations(observations: list[EntityObservations]) -> CallToolResult:
    """Add new observations to existing entities in the knowledge graph."""
    results = _graph().add_observations(observation.model_dump() for observation in observations)
    return _result(results, {"results": results})


@TOOLS.tool("Delete Entities", writes=True, destructive=True)
def delete_entities(entityNames: list[str]) -> CallToolResult:
    """Delete multiple entities and their relations from the knowledge graph. The history keeps them."""
    deleted, missing = _graph().delete_entities(entityNames)
    message = "Entities deleted successfully"
    if missing:
        message = f"Deleted {len(deleted)} of {len(entityNames)} entities. Not found: {', '.join(missing)}"
    return _done(message)


@TOOLS.tool("Delete Observations", writes=True, destructive=True)
def delete_observations(deletions: list[ObservationDeletion]) -> CallToolResult:
    """Delete specific observations from entities in the knowledge graph. The history keeps them."""
    count, missing = _graph().delete_observations(deletion.model_dump() for deletion in deletions)
    requested = sum(len(deletion.observations) for deletion in deletions)
    if count == requested:
        return _done("Observations deleted successfully")
    others = f" Entities not found: {', '.join(missing)}" if missing else ""
    return _done(f"Deleted {count} of {requested} observations.{others}")


@TOOLS.tool("Delete Relations", writes=True, destructive=True)
def delete_relations(relations: list[GraphRelation]) -> CallToolResult:
    """Delete multiple relations from the knowledge graph. The history keeps them."""
    count = _graph().delete_relations(relation.model_dump(by_alias=True) for relation in relations)
    if count == len(relations):
        return _done("Relations deleted successfully")
    return _done(f"Deleted {count} of {len(relations)} relations. The rest matched nothing.")


@TOOLS.tool("Read Graph")
def read_graph(page: Page = 1, max_tokens: MaxTokens = 8_000) -> CallToolResult:
    """Read the knowledge graph, a page at a time: 50 entities and their relations, or fewer if they are long. Prefer
    search_nodes, which returns only what is needed."""
    entities, relations = _graph().read()
    return _part(entities, relations, page, max_tokens)


@TOOLS.tool("Search Nodes")
def search_nodes(
    query: Annotated[str, Field(max_length=2_048, description="Matched with names, types and observations")],
    page: Page = 1,
    max_tokens: MaxTokens = 8_000,
) -> CallToolResult:
    """Search for nodes in the knowledge graph based on a query. If nothing contains it, nodes with that meaning."""
    return _part(*_graph().search_nodes(query), page, max_tokens)


@TOOLS.tool("Open Nodes")
def open_nodes(
    names: Annotated[list[str], Field(description="The names of the entities to read")],
    page: Page = 1,
    max_tokens: MaxTokens = 8_000,
) -> CallToolResult:
    """Open specific nodes in the knowledge graph by their names."""
    return _part(*_graph().open_nodes(names), page, max_tokens)


def _graph() -> KnowledgeGraph:
    return KnowledgeGraph(current_space())


def _result(value: Any, structured: dict[str, Any]) -> CallToolResult:
    text = json.dumps(value, ensure_ascii=False, indent=2)
    return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=structured)


def _done(message: str) -> CallToolResult:
    structured = {"success": True, "message": message}
    return CallToolResult(content=[TextContent(type="text", text=message)], structured_content=structured)


def _part(entities: list[EntityFields], relations: list[RelationFields], page: int, max_tokens: int) -> CallToolResult:
    """A page of entities and their relations that fits. What does not fit is named, never left out in silence."""
    on_page = list(page_of(entities, page, _PAGE_SIZE))
    kept = [_shortened(entity, max_tokens) for entity in fitting(on_page, max_tokens * 3 // 4)]
    names, known = {entity["name"] for entity in kept}, {entity["name"] for entity in entities}
    is_last = len(entities) <= page * _PAGE_SIZE  # it also has the relations between names that are no entities
    tied = [
        relation
        for relation in relations
        if not names.isdisjoint(ends := (relation["from"], relation["to"])) or (is_last and known.isdisjoint(ends))
    ]
    left = max_tokens - sum(map(tokens_of, kept))
    shown = fitting(tied, left) if left > 0 else []
    graph: dict[str, Any] = {"entities": kept, "relations": shown}
    notes = []
    if len(kept) < len(on_page):
        unread = ", ".join(entity["name"] for entity in on_page[len(kept) :][:20])
        count = pluralize(len(on_page) - len(kept), "entity", "entities")
        notes.append(f"{count} of this page did not fit; open_nodes reads them: {unread}")
    if len(shown) < len(tied):
        count = pluralize(len(tied) - len(shown), "relation")
        notes.append(f"{count} did not fit; open_nodes reads those of an entity")
    if len(entities) > page * _PAGE_SIZE:
        notes.append(f"{len(entities)} entities in all; read page={page + 1} next")
    if notes:
        graph["note"] = ". ".join(notes) + "."
    return _result(graph, graph)


def _shortened(entity: EntityFields, max_tokens: int) -> EntityFields:
    """An entity with as many of its last observations as fit, and how many were left out."""
    if tokens_of(entity) <= max_tokens:
        return entity
    kept = fitting(reversed(entity["observations"]), max_tokens * 3 // 4)[::-1]
    left_out = len(entity["observations"]) - len(kept)
    limit = max_tokens * 4
    kept = [text if len(text) <= limit else f"{text[:limit]} [...]" for text in kept]
    return {**entity, "observations": kept} | ({"observationsLeftOut": left_out} if left_out else {})
