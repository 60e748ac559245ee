"""The operations on the graph: query, path, when, timeline, relate, link, invalidate, conflicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from remanence.graph.traversal import Path, Subgraph
from remanence.schema import Disagreement, DisagreementKind, Memory, Relation
from remanence.service.operation import method_operation, operation
from remanence.service.pages import CountedPage
from remanence.service.requests import Name, Names, PageSize
from remanence.space.facets.graph_facet import Graph
from remanence.space.facets.graph_view import GraphView
from remanence.space.space import Space
from remanence.space.view import View

Depth = Annotated[int, Field(ge=1, le=8)]
Limit = Annotated[int, Field(ge=1, le=10_000)]


@dataclass(frozen=True)
class DisagreeingPair:
    """Two memories that disagree: one, and how the other disagrees with it."""

    memory: Memory
    disagreement: Disagreement


@operation("GET", "/graph")
def graph(
    view: View,
    start: Name | None = None,
    relations: Names | None = None,
    depth: Depth = 3,
    at: str | None = None,
    limit: Limit = 500,
) -> Subgraph:
    """Return a part of the graph, or without `start` all of it up to a limit; without `at`, also what has ended."""
    return view.graph._subgraph(start, relations, depth, at, limit)


query = method_operation(
    "GET",
    "/graph/query",
    GraphView.query,
    start=Name,
    relations=Names | None,
    direction=Literal["out", "in", "both"],
    depth=Depth,
    limit=Limit,
)


@operation("GET", "/graph/path")
def path(view: View, start: Name, end: Name, depth: Depth = 6, at: str | None = None) -> Path:
    """Show how two nodes are connected, in the fewest steps. Without a path, both lists are empty."""
    return view.graph.path(start, end, depth, at) or Path((), ())


@operation("GET", "/graph/when")
def when(view: View, subject: Name, predicate: Name, object: Name | None = None) -> CountedPage[Relation]:
    """List from when to when a relation held."""
    found = view.graph.when(subject, predicate, object)
    return CountedPage(found, len(found))


timeline = method_operation("GET", "/graph/timeline", GraphView.timeline, node=Name, relations=Names | None)


def all_relations(space: Space) -> list[Relation]:
    """All relations of a space, the last learned at the end."""
    return space.graph._all_relations()


@operation("GET", "/graph/relations")
def list_relations(view: View, node: Name | None = None, limit: Limit = 500) -> CountedPage[Relation]:
    """List the relations of an entity, or of the whole space; the last learned at the end."""
    if node is None:
        return CountedPage(*view.graph._last_relations(limit))
    found = view.graph._relations_of(node)
    return CountedPage(found[-limit:], len(found))


@operation("GET", "/graph/disagreements")
def disagreements(
    view: View, kinds: Sequence[DisagreementKind] = ("conflict",), memory: Name | None = None
) -> list[DisagreeingPair]:
    """List memories that disagree with each other, or what disagrees with one memory."""
    pairs = view.graph.disagreements(kinds, memory=memory)
    return [DisagreeingPair(*pair) for pair in pairs]


join = method_operation("POST", "/graph/join", GraphView.temporal_join, name="join")
graph_memories = method_operation(
    "GET",
    "/graph/memories",
    GraphView.memories,
    name="graph_memories",
    page=Annotated[int, Field(ge=1, le=1_000_000)],
    page_size=PageSize,
)
relate = method_operation("POST", "/graph/relate", Graph.relate, "write", http_status=201)
link = method_operation("POST", "/graph/link", Graph.link, "write", http_status=201)
declare = method_operation("POST", "/graph/declare", Graph.declare, "write")
invalidate = method_operation("POST", "/graph/invalidate", Graph.invalidate, "write")
invalidate_edge = method_operation("POST", "/graph/invalidate-edge", Graph.invalidate_edge, "write")
erase_edge = method_operation("POST", "/graph/erase", Graph.erase, "admin", name="erase_edge")
