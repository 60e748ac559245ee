"""What the operations on entities and on the graph take, as `requests` does for all others."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from remanence.schema import DisagreementKind
from remanence.service.payloads.base_requests import ListOf, Name, Names, PageSize, ReadRequest, Request

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


class RevisionRequest(Request):
    """Why an entity is changed, and by whom."""

    why: str | None = None
    observed_by: str | None = None


class UndoRevisionRequest(RevisionRequest):
    """The ledger position of a change of an entity."""

    position: Annotated[int, Field(ge=1)]


# The graph

Depth = Annotated[int, Field(ge=1, le=8)]
Limit = Annotated[int, Field(ge=1, le=10_000)]


class GraphRequest(ReadRequest):
    """A part of the graph, or without `start` all of it; without `at`, also what has ended."""

    start: Name | None = None
    relations: Names | None = None
    depth: Depth = 3
    at: str | None = None
    limit: Limit = 500


class WhenRequest(ReadRequest):
    """A subject, a predicate, and perhaps an object."""

    subject: Name
    predicate: Name
    object: Name | None = None


class RelationsRequest(ReadRequest):
    """The entity whose relations to list; without one, the relations of the whole space."""

    node: Name | None = None
    limit: Limit = 500


class DisagreementsRequest(ReadRequest):
    """Which kinds of disagreement to list, of all memories or of one."""

    kinds: ListOf[DisagreementKind] = Field(default=["conflict"])
    memory: Name | None = Field(default=None, description="Only what disagrees with this memory.")
