"""What the operations on entities and on the graph take, as `requests` does for all others."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from remanence.admin.overview import PageStatus
from remanence.core.row_filter import Fraction
from remanence.schema import DisagreementKind
from remanence.service.payloads.base_requests import ListOf, Name, Names, PageSize, ReadRequest, Request
from remanence.service.payloads.requests import NodeRequest

# Entities


class EntitiesRequest(ReadRequest):
    """Which entities to list."""

    kind: str | None = None
    limit: PageSize = 100
    cursor: str | None = None


class ResolveRequest(ReadRequest):
    """A name or id of an entity, and the moment at which it had that name."""

    alias: Name
    at: str | None = None


class ProposeRequest(ReadRequest):
    """A name to compare with."""

    name: Name
    limit: Annotated[int, Field(ge=1, le=100)] = 5


class ProposalsRequest(ReadRequest):
    """How many proposals to return."""

    limit: Annotated[int, Field(ge=1, le=1_000)] = 50


class AliasRequest(Request):
    """An alias for a time."""

    name: str
    valid_from: str | None = None
    valid_until: str | None = None


class RegisterRequest(Request):
    """An entity to register."""

    name: str
    aliases: ListOf[str | AliasRequest] = Field(default_factory=list)
    kind: str | None = None
    observed_by: str | None = None


class RenameRequest(Request):
    """An entity, by name or id, and its new name."""

    entity: str
    name: str
    observed_by: str | None = None


class RevisionRequest(Request):
    """Why an entity is changed, and by whom."""

    why: str | None = None
    observed_by: str | None = None


class MergeRequest(RevisionRequest):
    """The entity that is merged (`entity`), and the one that it becomes part of (`into`), by name or id."""

    entity: str
    into: str


class SplitRequest(RevisionRequest):
    """The names to move from an entity to a new one."""

    entity: str
    names: Names


class UndoRevisionRequest(RevisionRequest):
    """The ledger position of a change of an entity."""

    position: Annotated[int, Field(ge=1)]


# The graph

Depth = Annotated[int, Field(ge=1, le=8)]
Limit = Annotated[int, Field(ge=1, le=10_000)]


class GraphQueryRequest(ReadRequest):
    """Where to start, and which edges to follow."""

    start: Name
    relations: Names | None = None
    depth: Depth = 3
    direction: Literal["out", "in", "both"] = "both"
    at: str | None = None
    limit: Limit = 100


class GraphRequest(ReadRequest):
    """A part of the graph, or without `start` all of it; without `at`, also what has ended."""

    start: Name | None = None
    relations: Names | None = None
    depth: Depth = 3
    at: str | None = None
    limit: Limit = 500


class PathRequest(ReadRequest):
    """Two nodes."""

    start: Name
    end: Name
    depth: Depth = 6
    at: str | None = None


class WhenRequest(ReadRequest):
    """A subject, a predicate, and perhaps an object."""

    subject: Name
    predicate: Name
    object: Name | None = None


class JoinRequest(ReadRequest):
    """Two times (subject, predicate, perhaps object), and how their windows relate."""

    left: Names
    condition: Literal["while", "overlapping", "during", "before", "after"]
    right: Names


class TimelineRequest(NodeRequest):
    """A node, and which of its events."""

    since: str | None = None
    until: str | None = None
    relations: Names | None = None


class RelationsRequest(ReadRequest):
    """The entity whose relations to list; without one, the relations of the whole space."""

    node: Name | None = None
    limit: Limit = 500


class DisagreementsRequest(ReadRequest):
    """Which kinds of disagreement to list, of all memories or of one."""

    kinds: ListOf[DisagreementKind] = Field(default=["conflict"])
    memory: Name | None = Field(default=None, description="Only what disagrees with this memory.")


class ReadGraphRequest(ReadRequest):
    """Which memories to list with their relations, links and use."""

    status: PageStatus = "current"
    page: Annotated[int, Field(ge=1, le=1_000_000)] = 1
    page_size: PageSize = 100


class RelateRequest(Request):
    """A relation to state."""

    subject: str
    predicate: str
    object: str
    valid_from: str | None = None
    valid_until: str | None = None
    confidence: Fraction = 1.0
    observed_by: str | None = None
    evidence: Names = Field(default_factory=list)


class LinkRequest(Request):
    """A link between two memories to state."""

    source: str
    kind: str = "related_to"
    target: str
    valid_from: str | None = None
    valid_until: str | None = None
    confidence: Fraction = 1.0
    observed_by: str | None = None
    why: str | None = None


class DeclareRequest(Request):
    """How a predicate behaves."""

    predicate: str
    single_valued: bool | None = None
    inverse: str | None = None


class EdgeRequest(Request):
    """The id of a relation or link."""

    edge: Name


class InvalidateRequest(Request):
    """The id of a relation or link to end; or, with a predicate, its subject and perhaps its object."""

    edge: str
    predicate: str | None = None
    object: str | None = None
    valid_until: str | None = None
    why: str | None = None
    observed_by: str | None = None
