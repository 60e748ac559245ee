"""What the operations on entities and on the graph return. See `base_answers` for what they consist of."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import Any

from remanence.api.facets.entity_facet import EntityPage, Registration, Revision, SimilarEntity
from remanence.events import Extracted
from remanence.graph.history import EventKind, HistoryEvent
from remanence.graph.traversal import Edge, Node, Path, Subgraph
from remanence.read.answer import to_iso
from remanence.read.receipts import Receipt
from remanence.schema import Entity, Link, Memory, Relation
from remanence.service.payloads.answers import DisagreementAnswer
from remanence.service.payloads.base_answers import (
    AnswerModel,
    EntityAnswer,
    LinkAnswer,
    MemoryAnswer,
    RelationAnswer,
    Time,
    WindowAnswer,
)
from remanence.service.payloads.from_fields import make_window


class EntityPageAnswer(AnswerModel):
    """Some entities, in the order in which they were learned. `next_cursor` is None on the last page."""

    items: list[EntityAnswer]
    total: int
    next_cursor: str | None

    def to_page(self, page: int, page_size: int) -> EntityPage:
        return EntityPage(tuple(entity.to_entity() for entity in self.items), page, page_size, self.total)


class RegistrationAnswer(AnswerModel):
    """A registered entity: whether it is new, which aliases were added, and the ledger position for `undo`."""

    entity: EntityAnswer
    created: bool
    added: list[str]
    position: int | None

    @classmethod
    def of(cls, registration: Registration) -> RegistrationAnswer:
        entity = EntityAnswer.of(registration.entity)
        return cls(
            entity=entity, created=registration.created, added=list(registration.added), position=registration.position
        )

    def to_registration(self) -> Registration:
        return Registration(self.entity.to_entity(), self.created, tuple(self.added), self.position)


class RevisionAnswer(AnswerModel):
    """The result of a rename, merge, split or undo, and the ledger position for `undo`."""

    kind: str
    entity: EntityAnswer | None
    position: int | None

    @classmethod
    def of(cls, revision: Revision) -> RevisionAnswer:
        return cls(
            kind=revision.kind,
            entity=None if revision.entity is None else EntityAnswer.of(revision.entity),
            position=revision.position,
        )

    def to_revision(self) -> Revision:
        return Revision(self.kind, None if self.entity is None else self.entity.to_entity(), self.position)


class SimilarEntityAnswer(AnswerModel):
    """An entity with a similar name: which name, how similar (0 to 1), and why."""

    entity: EntityAnswer
    name: str
    score: float
    reason: str

    @classmethod
    def of(cls, similar: SimilarEntity) -> SimilarEntityAnswer:
        return cls(
            entity=EntityAnswer.of(similar.entity), name=similar.name, score=similar.score, reason=similar.reason
        )

    def to_candidate(self) -> SimilarEntity:
        return SimilarEntity(self.entity.to_entity(), self.name, self.score, self.reason)


class ExtractionAnswer(AnswerModel):
    """Which extractor read a memory, and the ids of the facts that it found."""

    memory: str
    by: str
    model: str | None
    prompt: str | None
    problem: str | None
    facts: list[str]


class HistoryEventAnswer(AnswerModel):
    """One event in the history of a memory or an entity. `text` is a sentence; one of `memory`, `entity`, `relation`,
    `link`, `receipt` and `extraction` is what it is about."""

    recorded_at: Time
    position: int
    kind: EventKind
    description: str
    actor: str | None
    why: str | None
    edge_name: str | None
    text: str
    memory: MemoryAnswer | None = None
    entity: EntityAnswer | None = None
    relation: RelationAnswer | None = None
    link: LinkAnswer | None = None
    receipt: dict[str, Any] | None = None
    extraction: ExtractionAnswer | None = None

    @classmethod
    def of(cls, event: HistoryEvent) -> HistoryEventAnswer:
        names = ("position", "kind", "description", "actor", "why", "edge_name")
        same = {name: getattr(event, name) for name in names}
        about = _event_value(event.value)
        return cls(**same, recorded_at=event.recorded_at.isoformat(), text=str(event), **about)

    def to_event(self) -> HistoryEvent:
        value: Memory | Entity | Relation | Link | Receipt | Extracted | None = None
        if self.memory is not None:
            value = self.memory.to_memory()
        elif self.entity is not None:
            value = self.entity.to_entity()
        elif self.relation is not None:
            value = self.relation.to_relation()
        elif self.link is not None:
            value = self.link.to_link()
        elif self.receipt is not None:
            value = Receipt.from_dict(self.receipt)
        elif self.extraction is not None:
            value = Extracted(**self.extraction.model_dump() | {"facts": tuple(self.extraction.facts)})
        at = datetime.fromisoformat(self.recorded_at)
        return HistoryEvent(at, self.position, self.kind, self.description, self.actor, self.why, value, self.edge_name)


def _event_value(value: Memory | Entity | Relation | Link | Receipt | Extracted | None) -> dict[str, Any]:
    if isinstance(value, Memory):
        return {"memory": MemoryAnswer.of(value)}
    if isinstance(value, Entity):
        return {"entity": EntityAnswer.of(value)}
    if isinstance(value, Relation):
        return {"relation": RelationAnswer.of(value)}
    if isinstance(value, Link):
        return {"link": LinkAnswer.of(value)}
    if isinstance(value, Receipt):
        return {"receipt": value.to_dict()}
    return {} if value is None else {"extraction": ExtractionAnswer(**asdict(value))}


class EdgeAnswer(AnswerModel):
    """An edge between two nodes, by their ids: a relation, a link, "mentions" or "next_turn"."""

    source: str
    target: str
    name: str
    valid_from: Time | None
    valid_until: Time | None
    recorded_at: Time
    confidence: float
    evidence: list[str]
    id: str
    observed_by: str | None

    @classmethod
    def of(cls, edge: Edge) -> EdgeAnswer:
        return cls(
            **{name: getattr(edge, name) for name in _EDGE_FIELDS},
            valid_from=to_iso(edge.valid.start),
            valid_until=to_iso(edge.valid.end),
            recorded_at=edge.recorded_at.isoformat(),
            evidence=list(edge.evidence),
        )

    def to_edge(self) -> Edge:
        return Edge(
            **{name: getattr(self, name) for name in _EDGE_FIELDS},
            valid=make_window(self.valid_from, self.valid_until),
            recorded_at=datetime.fromisoformat(self.recorded_at),
            evidence=tuple(self.evidence),
        )


_EDGE_FIELDS = ("source", "target", "name", "confidence", "id", "observed_by")


class SubgraphAnswer(AnswerModel):
    """Nodes, nearest first, and the edges between them; `truncated` says that something was left out."""

    nodes: list[Node]
    edges: list[EdgeAnswer]
    depth_reached: int
    edges_walked: int
    truncated: bool

    @classmethod
    def of(cls, subgraph: Subgraph) -> SubgraphAnswer:
        numbers = {name: getattr(subgraph, name) for name in ("depth_reached", "edges_walked", "truncated")}
        return cls(nodes=list(subgraph.nodes), edges=[EdgeAnswer.of(edge) for edge in subgraph.edges], **numbers)

    def to_subgraph(self) -> Subgraph:
        edges = tuple(edge.to_edge() for edge in self.edges)
        return Subgraph(tuple(self.nodes), edges, self.depth_reached, self.edges_walked, self.truncated)


class PathAnswer(AnswerModel):
    """How two nodes are connected. Both lists are empty if no path was found; `text` is the path in one line."""

    nodes: list[Node]
    steps: list[EdgeAnswer]
    text: str | None

    @classmethod
    def of(cls, path: Path | None) -> PathAnswer:
        if path is None:
            return cls(nodes=[], steps=[], text=None)
        return cls(nodes=list(path.nodes), steps=[EdgeAnswer.of(edge) for edge in path.steps], text=str(path))

    def to_path(self) -> Path | None:
        return Path(tuple(self.nodes), tuple(edge.to_edge() for edge in self.steps)) if self.nodes else None


class EdgesAnswer(AnswerModel):
    """Relations and links as they hold from now on."""

    relations: list[RelationAnswer]
    links: list[LinkAnswer]


class DisagreeingPair(AnswerModel):
    """Two memories that disagree."""

    memory: MemoryAnswer
    disagreement: DisagreementAnswer


class OverlapAnswer(AnswerModel):
    """Two relations, and the time that both share, if any."""

    left: RelationAnswer
    right: RelationAnswer
    overlap: WindowAnswer | None
