"""The graph of a remote space."""

from __future__ import annotations

from typing import Any

from remanence.admin.overview import MemoryPage
from remanence.api.facets.graph_facet import Graph, GraphView
from remanence.errors import InvalidInput
from remanence.graph.entity_map import EntityMap
from remanence.graph.history import Timeline
from remanence.graph.traversal import OverlapPeriod, Path, Subgraph
from remanence.read.show.recall_tables import RelationList
from remanence.schema import LINK_KINDS, Disagreement, Link, Memory, Relation
from remanence.service.client.arguments import to_json, to_list
from remanence.service.client.remote_facets import RemoteFacet
from remanence.service.endpoints import graph_operations, map_operations


class RemoteGraphView(RemoteFacet, GraphView):
    """The graph of a remote space at the moment of one view. Pictures are drawn here."""

    def query(
        self,
        start: Any,
        relations: Any = None,
        depth: int = 3,
        direction: Any = "both",
        at: Any = None,
        limit: int = 100,
    ) -> Subgraph:
        given = {"start": start, "relations": to_list(relations), "depth": depth, "at": at}
        return self._read(graph_operations.query, direction=direction, limit=limit, **given).to_value()

    def path(self, start: Any, end: Any, depth: int = 6, at: Any = None) -> Path | None:
        return self._read(graph_operations.path, start=start, end=end, depth=depth, at=at).to_value()

    def when(self, subject: Any, predicate: str, object: Any = None) -> RelationList:
        return RelationList(
            self._read(graph_operations.when, subject=subject, predicate=predicate, object=object).to_value()
        )

    def disagreements(self, kinds: Any = "conflict", *, memory: Any = None) -> list[tuple[Memory, Disagreement]]:
        items = self._read(graph_operations.disagreements, kinds=to_list(kinds), memory=memory).items
        return [(item.memory.to_value(), item.disagreement.to_value()) for item in items]

    def entity_map(self, *, limit: int = 5_000) -> EntityMap:
        return self._read(map_operations.entity_map, limit=limit)

    def temporal_join(self, left: Any, condition: str, right: Any) -> list[OverlapPeriod]:
        return self._read(graph_operations.join, left=left, condition=condition, right=right).to_value()

    def timeline(self, node: Any, since: Any = None, until: Any = None, relations: Any = None) -> Timeline:
        given = {"node": node, "since": since, "until": until, "relations": to_list(relations)}
        return Timeline(self._read(graph_operations.timeline, **given).to_value())

    def read_graph(self, status: Any = "current", *, page: int = 1, page_size: int = 100) -> MemoryPage:
        return self._read(graph_operations.read_graph, status=status, page=page, page_size=page_size).to_value()

    def _subgraph(self, start: Any, relations: Any, depth: int, at: Any, limit: int) -> Subgraph:
        given = {"start": start, "relations": to_list(relations), "depth": depth, "at": at, "limit": limit}
        return self._read(graph_operations.graph, **given).to_value()

    def _relations_of(self, node: Any) -> list[Relation]:
        return self._read(graph_operations.list_relations, node=node, limit=10_000).to_value()

    def _all_relations(self) -> list[Relation]:
        return self._read(graph_operations.list_relations, limit=10_000).to_value()


class RemoteGraph(RemoteGraphView, Graph):
    """The graph of a remote space as it is now."""

    def relate(self, subject: Any, predicate: str, object: Any, *, evidence: Any = (), **details: Any) -> Relation:
        several_ids = [evidence] if isinstance(evidence, str | Memory) else evidence
        given = {"subject": subject, "predicate": predicate, "object": object, "evidence": several_ids}
        return self._send(graph_operations.relate, **given, **details).to_value()

    def link(self, source: Any, kind: Any, target: Any = None, **details: Any) -> Link:
        if target is None and isinstance(kind, str) and kind in LINK_KINDS:
            raise InvalidInput(f"link({source!r}, {kind!r}) names one memory. Give the other one too.")
        kind, target = ("related_to", kind) if target is None else (kind, target)
        return self._send(graph_operations.link, source=source, kind=kind, target=target, **details).to_value()

    def declare(self, predicate: str, *, single_valued: bool | None = None, inverse: str | None = None) -> None:
        self._send(graph_operations.declare, predicate=predicate, single_valued=single_valued, inverse=inverse)

    def invalidate(
        self, edge: Any, predicate: str | None = None, object: Any = None, **details: Any
    ) -> list[Relation | Link]:
        given = {"edge": to_json(edge), "predicate": predicate, "object": object}
        return list(self._send(graph_operations.invalidate, **given, **details).to_value())
