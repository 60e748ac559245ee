"""The operations on the graph: query, path, when, timeline, relate, link, invalidate, conflicts."""

from __future__ import annotations

from remanence.api.space import Space
from remanence.schema import Relation
from remanence.service.operation import operation, view_of
from remanence.service.payloads import graph_requests
from remanence.service.payloads.answers import DisagreeingPair, DoneAnswer, ErasureAnswer, MemoryDetailsPage
from remanence.service.payloads.base_answers import Items, LinkAnswer, RelationAnswer
from remanence.service.payloads.graph_answers import (
    EdgesAnswer,
    HistoryEventAnswer,
    OverlapAnswer,
    PathAnswer,
    SubgraphAnswer,
)


class RelationsAnswer(Items[RelationAnswer]):
    """Relations; `total` counts those that the limit left out, too."""

    total: int


@operation("GET", "/graph")
def graph(space: Space, request: graph_requests.GraphRequest) -> SubgraphAnswer:
    """Return a part of the graph, or all of it up to a limit, with what has ended."""
    found = view_of(space, request).graph._subgraph(
        request.start, request.relations, request.depth, request.at, request.limit
    )
    return SubgraphAnswer.of(found)


@operation("GET", "/graph/query")
def query(space: Space, request: graph_requests.GraphQueryRequest) -> SubgraphAnswer:
    """Return everything within some steps of a node, nearest first."""
    return SubgraphAnswer.of(view_of(space, request).graph.query(**request.provided_fields("as_of")))


@operation("GET", "/graph/path")
def path(space: Space, request: graph_requests.PathRequest) -> PathAnswer:
    """Show how two nodes are connected, in the fewest steps."""
    return PathAnswer.of_path(view_of(space, request).graph.path(**request.provided_fields("as_of")))


@operation("GET", "/graph/when")
def when(space: Space, request: graph_requests.WhenRequest) -> RelationsAnswer:
    """List from when to when a relation held."""
    return _relations(view_of(space, request).graph.when(**request.provided_fields("as_of")))


@operation("GET", "/graph/timeline")
def timeline(space: Space, request: graph_requests.TimelineRequest) -> Items[HistoryEventAnswer]:
    """List the events about a node, in ledger order."""
    return Items[HistoryEventAnswer].of_all(view_of(space, request).graph.timeline(**request.provided_fields("as_of")))


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
    return Items[DisagreeingPair].of_all({"memory": memory, "disagreement": found} for memory, found in pairs)


@operation("POST", "/graph/join")
def join(space: Space, request: graph_requests.JoinRequest) -> Items[OverlapAnswer]:
    """List pairs of relations that meet a condition on their windows."""
    found = view_of(space, request).graph.temporal_join(request.left, request.condition, request.right)
    return Items[OverlapAnswer].of_all(found)


@operation("GET", "/graph/memories")
def read_graph(space: Space, request: graph_requests.ReadGraphRequest) -> MemoryDetailsPage:
    """List the memories of a status with their relations, links and use."""
    return MemoryDetailsPage.of(view_of(space, request).graph.read_graph(**request.provided_fields("as_of")))


@operation("POST", "/graph/relate", "write", status=201)
def relate(space: Space, request: graph_requests.RelateRequest) -> RelationAnswer:
    """State that two entities are related."""
    return RelationAnswer.of(space.graph.relate(**request.provided_fields()))


@operation("POST", "/graph/link", "write", status=201)
def link(space: Space, request: graph_requests.LinkRequest) -> LinkAnswer:
    """Link one memory to another."""
    return LinkAnswer.of(
        space.graph.link(
            request.source, request.kind, request.target, **request.provided_fields("source", "kind", "target")
        )
    )


@operation("POST", "/graph/declare", "write")
def declare(space: Space, request: graph_requests.DeclareRequest) -> DoneAnswer:
    """Declare how a predicate behaves from now on."""
    space.graph.declare(**request.provided_fields())
    return DoneAnswer(done=True)


@operation("POST", "/graph/invalidate", "write")
def invalidate(space: Space, request: graph_requests.InvalidateRequest) -> EdgesAnswer:
    """End a relation or a link. Views of the past still show it."""
    return EdgesAnswer.of(space.graph.invalidate(**request.provided_fields()))


@operation("POST", "/graph/erase", "admin")
def erase_edge(space: Space, request: graph_requests.EdgeRequest) -> ErasureAnswer:
    """Remove a stated relation or link for good, from the past and from every file."""
    return ErasureAnswer.of(space.graph.erase(request.edge))


def _relations(relations: list[Relation], limit: int | None = None) -> RelationsAnswer:
    page = relations if limit is None else relations[-limit:]
    return RelationsAnswer.of({"items": page, "total": len(relations)})
