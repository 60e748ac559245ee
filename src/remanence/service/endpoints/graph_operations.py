"""The operations on the graph: query, path, when, timeline, relate, link, invalidate, conflicts."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Literal

from pydantic import Field

from remanence.schema import Relation
from remanence.service.operation import method_operation, operation, view_of
from remanence.service.payloads import graph_requests
from remanence.service.payloads.answers import DisagreeingPair, DoneAnswer, ErasureAnswer, MemoryDetailsPage
from remanence.service.payloads.base_answers import Items, LinkAnswer, RelationAnswer
from remanence.service.payloads.base_requests import Name, Names, PageSize
from remanence.service.payloads.graph_answers import (
    EdgesAnswer,
    HistoryEventAnswer,
    OverlapAnswer,
    PathAnswer,
    SubgraphAnswer,
)
from remanence.space.facets.graph_facet import Graph, GraphView
from remanence.space.space import Space
from remanence.transfer.overview import PageStatus


class RelationsAnswer(Items[RelationAnswer]):
    """Relations; `total` counts those that the limit left out, too."""

    total: int


_method = partial(method_operation, facet="graph", tag="graph")


@operation("GET", "/graph")
def graph(space: Space, request: graph_requests.GraphRequest) -> SubgraphAnswer:
    """Return a part of the graph, or all of it up to a limit, with what has ended."""
    found = view_of(space, request).graph._subgraph(
        request.start, request.relations, request.depth, request.at, request.limit
    )
    return SubgraphAnswer.of(found)


query = _method(
    "GET",
    "/graph/query",
    GraphView.query,
    "Return everything within some steps of a node, nearest first.",
    SubgraphAnswer,
    past=True,
    start=Name,
    relations=Names | None,
    direction=Literal["out", "in", "both"],
    depth=graph_requests.Depth,
    limit=graph_requests.Limit,
)
path = _method(
    "GET",
    "/graph/path",
    GraphView.path,
    "Show how two nodes are connected, in the fewest steps.",
    PathAnswer,
    past=True,
    start=Name,
    end=Name,
    depth=graph_requests.Depth,
)


@operation("GET", "/graph/when")
def when(space: Space, request: graph_requests.WhenRequest) -> RelationsAnswer:
    """List from when to when a relation held."""
    return _relations(view_of(space, request).graph.when(**request.provided_fields("as_of")))


timeline = _method(
    "GET",
    "/graph/timeline",
    GraphView.timeline,
    "List the events about a node, in ledger order.",
    Items[HistoryEventAnswer],
    past=True,
    node=Name,
    relations=Names | None,
)


def all_relations(space: Space) -> list[Relation]:
    """All relations of a space, the last learned at the end."""
    return space.graph._all_relations()


@operation("GET", "/graph/relations")
def list_relations(space: Space, request: graph_requests.RelationsRequest) -> RelationsAnswer:
    """List the relations of an entity, or of the whole space; the last learned at the end."""
    facet = view_of(space, request).graph
    if request.node is not None:
        return _relations(facet._relations_of(request.node), request.limit)
    found, total = facet._last_relations(request.limit)
    return RelationsAnswer.of({"items": found, "total": total})


@operation("GET", "/graph/disagreements")
def disagreements(space: Space, request: graph_requests.DisagreementsRequest) -> Items[DisagreeingPair]:
    """List memories that disagree with each other."""
    pairs = view_of(space, request).graph.disagreements(request.kinds, memory=request.memory)
    return Items[DisagreeingPair].of({"memory": memory, "disagreement": found} for memory, found in pairs)


join = _method(
    "POST",
    "/graph/join",
    GraphView.temporal_join,
    "List pairs of relations that meet a condition on their windows.",
    Items[OverlapAnswer],
    name="join",
    past=True,
)
graph_memories = _method(
    "GET",
    "/graph/memories",
    GraphView.memories,
    "List the memories of a status with their relations, links and use.",
    MemoryDetailsPage,
    name="graph_memories",
    past=True,
    status=PageStatus,
    page=Annotated[int, Field(ge=1, le=1_000_000)],
    page_size=PageSize,
)


relate = _method(
    "POST",
    "/graph/relate",
    Graph.relate,
    "State that two entities are related.",
    RelationAnswer,
    "write",
    http_status=201,
)


link = _method("POST", "/graph/link", Graph.link, "Link one memory to another.", LinkAnswer, "write", http_status=201)
declare = _method(
    "POST", "/graph/declare", Graph.declare, "Declare how a predicate behaves from now on.", DoneAnswer, "write"
)
invalidate = _method(
    "POST",
    "/graph/invalidate",
    Graph.invalidate,
    "End relations or links by their subject and predicate. Views of the past still show them.",
    EdgesAnswer,
    "write",
)
invalidate_edge = _method(
    "POST",
    "/graph/invalidate-edge",
    Graph.invalidate_edge,
    "End one relation or link. Views of the past still show it.",
    EdgesAnswer,
    "write",
)


erase_edge = _method(
    "POST",
    "/graph/erase",
    Graph.erase,
    "Remove a stated relation or link for good, from the past and from every file.",
    ErasureAnswer,
    "admin",
    name="erase_edge",
)


def _relations(relations: list[Relation], limit: int | None = None) -> RelationsAnswer:
    page = relations if limit is None else relations[-limit:]
    return RelationsAnswer.of({"items": page, "total": len(relations)})
