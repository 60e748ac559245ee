"""What the operations on entities and on the graph return. See `base_answers` for what they consist of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import model_validator

from remanence.events import Extracted
from remanence.graph.history import EventKind, HistoryEvent
from remanence.graph.traversal import Edge, Node, OverlapPeriod, Path, Subgraph
from remanence.recall.receipts import Receipt
from remanence.schema import Entity, Link, Memory, Relation
from remanence.service.payloads.base_answers import (
    AnswerModel,
    EntityAnswer,
    LinkAnswer,
    MemoryAnswer,
    ReceiptFields,
    RelationAnswer,
    Time,
    WindowAnswer,
    answer_of,
)
from remanence.space.facets.entity_facet import EntityPage, Registration, Revision, SimilarEntity


class EntityPageAnswer(AnswerModel):
    """Some entities, in the order in which they were learned. `next_cursor` is None on the last page."""

    items: list[EntityAnswer]
    total: int
    next_cursor: str | None

    def to_page(self, page: int, page_size: int) -> EntityPage:
        return EntityPage(tuple(entity.to_value() for entity in self.items), page, page_size, self.total)


class RegistrationAnswer(answer_of(Registration), AnswerModel):  # type: ignore[misc]
    """A registered entity: whether it is new, which aliases were added, and the ledger position for `undo`."""


class RevisionAnswer(answer_of(Revision), AnswerModel):  # type: ignore[misc]
    """The result of a rename, merge, split or undo, and the ledger position for `undo`."""


class SimilarEntityAnswer(answer_of(SimilarEntity), AnswerModel):  # type: ignore[misc]
    """An entity with a similar name: which name, how similar (0 to 1), and why."""


class MergeProposal(AnswerModel):
    """Two entities that may be one: how similar their names are, and why."""

    entity: str
    name: str
    other: str
    other_name: str
    score: float
    reason: str


class ExtractionAnswer(answer_of(Extracted, "signature"), AnswerModel):  # type: ignore[misc]
    """Which extractor read a memory, and the ids of the facts that it found."""


_SUBJECTS = {
    "memory": Memory,
    "entity": Entity,
    "relation": Relation,
    "link": Link,
    "receipt": Receipt,
    "extraction": Extracted,
}
"""What an event may be about, by the field of its answer."""


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
    receipt: ReceiptFields | None = None
    extraction: ExtractionAnswer | None = None

    @model_validator(mode="before")
    @classmethod
    def _from_event(cls, value: Any) -> Any:
        if not isinstance(value, HistoryEvent):
            return value
        names = ("recorded_at", "position", "kind", "description", "actor", "why", "edge_name")
        about = {name: value.value for name, class_ in _SUBJECTS.items() if isinstance(value.value, class_)}
        return {name: getattr(value, name) for name in names} | {"text": str(value)} | about

    def to_value(self) -> HistoryEvent:
        fields = self.values("text", *_SUBJECTS)
        about = [getattr(self, name) for name in _SUBJECTS if getattr(self, name) is not None]
        for found in about:
            fields["value"] = found.to_value() if isinstance(found, AnswerModel) else Receipt.from_dict(found)
        return HistoryEvent(**fields)


class EdgeAnswer(answer_of(Edge), AnswerModel):  # type: ignore[misc]
    """An edge between two nodes, by their ids: a relation, a link, "mentions" or "next_turn"."""


class SubgraphAnswer(answer_of(Subgraph), AnswerModel):  # type: ignore[misc]
    """Nodes, nearest first, and the edges between them; `truncated` says that something was left out."""


class PathAnswer(AnswerModel):
    """How two nodes are connected. Both lists are empty if no path was found; `text` is the path in one line."""

    nodes: list[Node]
    steps: list[EdgeAnswer]
    text: str | None

    @classmethod
    def of(cls, value: object) -> PathAnswer:
        found = value if isinstance(value, Path) else Path((), ())
        return cls.model_validate(
            {"nodes": found.nodes, "steps": found.steps, "text": str(found) if found.nodes else None}
        )

    def to_value(self) -> Path | None:
        return Path(**self.values("text")) if self.nodes else None


class EdgesAnswer(AnswerModel):
    """Relations and links as they hold from now on."""

    relations: list[RelationAnswer]
    links: list[LinkAnswer]

    @model_validator(mode="before")
    @classmethod
    def _from_edges(cls, value: Any) -> Any:
        if isinstance(value, Mapping):
            return value
        return {
            "relations": [edge for edge in value if isinstance(edge, Relation)],
            "links": [edge for edge in value if isinstance(edge, Link)],
        }

    def to_value(self) -> tuple[Relation | Link, ...]:
        return (*(relation.to_value() for relation in self.relations), *(link.to_value() for link in self.links))


class OverlapAnswer(AnswerModel):
    """Two relations, and the time that both share, if any."""

    left: RelationAnswer
    right: RelationAnswer
    overlap: WindowAnswer | None

    def to_value(self) -> OverlapPeriod:
        return OverlapPeriod(**self.values())
